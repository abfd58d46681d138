/*
 * hold holds a pod's namespaces open, as pause does, and makes them ready
 * itself. The shim starts it in new namespaces, where it would otherwise have
 * runc start pause: two starts of a large program less for each pod.
 *
 * Standard input brings a user, a group and strings, each ended by a zero: the
 * name that the process is to have, the path of the network namespace (or
 * nothing), the host name (or nothing), the root directory, and files of
 * /proc/sys with their values. Standard output
 * takes a zero once the pod is held, or an error number and the step that
 * failed.
 *
 * Nothing is left to the process then: it sees an empty root that it cannot
 * write to, has no capability and no open file, and may make only the calls of
 * the filter below.
 */
#include <stddef.h>

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#include "calls.h"

enum { SIG_BLOCK = 0, SIGINT = 2, SIGTERM = 15, SIGCHLD = 17, WNOHANG = 1, MNT_DETACH = 2, INVALID = 22 };

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#else
#define MACHINE AUDIT_ARCH_AARCH64
#endif

static struct {
	unsigned int user, group;
	char strings[16384];
} setup;
static long left; /* of the strings */
static const char *next = setup.strings;

static long length(const char *s)
{
	long n = 0;

	while (s[n])
		n++;
	return n;
}

static void end(int status)
{
	for (;;)
		call5(__NR_exit_group, status, 0, 0, 0, 0);
}

/* must ends the process unless a step has worked. */
static long must(const char *step, long result)
{
	char number = -result;

	if (result >= 0)
		return result;
	call5(__NR_write, 1, (long)&number, 1, 0, 0);
	call5(__NR_write, 1, (long)step, length(step), 0, 0);
	end(1);
	return result;
}

static const char *take(void)
{
	const char *taken = next;
	long n = length(taken) + 1;

	must("read what to do", n > left ? -INVALID : 0);
	next += n;
	left -= n;
	return taken;
}

/* read_setup leaves room for a zero, so that the last string has an end. */
static void read_setup(void)
{
	char *at = (char *)&setup;
	long room = sizeof(setup) - 1, n;

	while (room > 0 && (n = must("read what to do", call5(__NR_read, 0, (long)at, room, 0, 0))) > 0) {
		at += n;
		room -= n;
	}
	left = at - setup.strings;
	must("read what to do", room == 0 || left < 0 ? -INVALID : 0);
}

static long open_file(const char *step, const char *path, int flags)
{
	return must(step, call5(__NR_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, 0, 0));
}

static void join_network(const char *path)
{
	const char *step = "enter the network namespace";
	long file;

	if (!*path)
		return;
	file = open_file(step, path, O_RDONLY);
	must(step, call5(__NR_setns, file, CLONE_NEWNET, 0, 0, 0));
	call5(__NR_close, file, 0, 0, 0, 0);
}

static void set_host_name(const char *name)
{
	if (*name)
		must("set the host name", call5(__NR_sethostname, (long)name, length(name), 0, 0, 0));
}

static void set_kernel(const char *path, const char *value)
{
	const char *step = "set a kernel parameter of the pod";
	long file = open_file(step, path, O_WRONLY);

	must(step, call5(__NR_write, file, (long)value, length(value), 0, 0));
	call5(__NR_close, file, 0, 0, 0, 0);
}

/* see_only makes a directory, on which a file system is mounted, the root and unmounts all else. */
static void see_only(const char *directory)
{
	const unsigned long still = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;

	must("keep mounts apart", call5(__NR_mount, 0, (long)"/", 0, MS_REC | MS_PRIVATE, 0));
	must("enter the root directory", call5(__NR_chdir, (long)directory, 0, 0, 0, 0));
	must("change the root directory", call5(__NR_pivot_root, (long)".", (long)".", 0, 0, 0));
	must("leave the old root directory", call5(__NR_umount2, (long)".", MNT_DETACH, 0, 0, 0));
	must("enter the new root directory", call5(__NR_chdir, (long)"/", 0, 0, 0, 0));
	must("make the root read-only", call5(__NR_mount, 0, (long)"/", 0, still, 0));
}

static void drop_rights(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	static struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
	int capability = 0;

	while (call5(__NR_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0) >= 0)
		capability++;
	must("drop groups", call5(__NR_setgroups, 0, 0, 0, 0, 0));
	must("change the group", call5(__NR_setresgid, setup.group, setup.group, setup.group, 0, 0));
	must("change the user", call5(__NR_setresuid, setup.user, setup.user, setup.user, 0, 0));
	must("hide the memory", call5(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0));
	must("drop capabilities", call5(__NR_capset, (long)&header, (long)none, 0, 0, 0));
	must("refuse privileges", call5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

#define ALLOW(call) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* give_up_calls leaves the calls that are still to come. With no file open, write and close reach nothing. */
static void give_up_calls(void)
{
	static struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(__NR_rt_sigtimedwait),
		ALLOW(__NR_wait4),
		ALLOW(__NR_write),
		ALLOW(__NR_close),
		ALLOW(__NR_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = { sizeof(steps) / sizeof(steps[0]), steps };

	must("filter system calls", call5(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&filter, 0, 0));
}

static void report(void)
{
	char held = 0;

	call5(__NR_write, 1, (long)&held, 1, 0, 0);
	for (int file = 0; file < 3; file++)
		call5(__NR_close, file, 0, 0, 0, 0);
}

/* wait_for_end buries orphans, of which process 1 of a pod that shares process IDs has some. */
static void wait_for_end(const unsigned long *set)
{
	for (;;) {
		long signal = call5(__NR_rt_sigtimedwait, (long)set, 0, 0, sizeof(*set), 0);

		if (signal == SIGINT || signal == SIGTERM)
			end(0);
		while (call5(__NR_wait4, -1, 0, WNOHANG, 0, 0) > 0)
			;
	}
}

void _start(void)
{
	/* Blocked, not handled: process 1 never gets a signal that it ignores,
	 * but may wait for one that it blocks. */
	unsigned long set = 1UL << (SIGINT - 1) | 1UL << (SIGTERM - 1) | 1UL << (SIGCHLD - 1);
	const char *root, *path;

	call5(__NR_close_range, 3, ~0U, 0, 0, 0); /* the shim leaves none open; kernels before 5.9 have no such call */
	read_setup();
	must("take the name", call5(__NR_prctl, PR_SET_NAME, (long)take(), 0, 0, 0));
	join_network(take());
	set_host_name(take());
	root = take();
	while (left > 0) {
		path = take();
		set_kernel(path, take());
	}
	see_only(root);
	drop_rights();
	call5(__NR_rt_sigprocmask, SIG_BLOCK, (long)&set, 0, sizeof(set), 0);
	give_up_calls();
	report();
	wait_for_end(&set);
}
