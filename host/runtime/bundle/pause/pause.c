/*
 * pause holds a pod's namespaces open. It is process 1 where a pod's
 * containers share process ids, so it buries orphans; a polite signal ends it.
 *
 * It makes four system calls itself instead of linking a C library: there is
 * one of it a pod, and this way it is a few kilobytes on disk and in memory.
 */
#include <asm/unistd.h>

enum { SIG_BLOCK = 0, SIGINT = 2, SIGTERM = 15, SIGCHLD = 17, WNOHANG = 1 };

static long syscall4(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	long result;
	register long fourth __asm__("r10") = d;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long call __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(call), "r"(x1), "r"(x2), "r"(x3)
			 : "memory");
	return x0;
#else
#error "pause knows the system calls of amd64 and arm64 only"
#endif
}

void _start(void)
{
	/* Blocked, not handled: process 1 never gets a signal that it ignores,
	 * but may wait for one that it blocks. */
	unsigned long set = 1UL << (SIGINT - 1) | 1UL << (SIGTERM - 1) | 1UL << (SIGCHLD - 1);
	syscall4(__NR_rt_sigprocmask, SIG_BLOCK, (long)&set, 0, sizeof(set));
	for (;;) {
		long signal = syscall4(__NR_rt_sigtimedwait, (long)&set, 0, 0, sizeof(set));
		if (signal == SIGINT || signal == SIGTERM)
			syscall4(__NR_exit_group, 0, 0, 0, 0);
		/* Signals of the same kind are merged: there may be more dead
		 * children than signals. */
		while (syscall4(__NR_wait4, -1, 0, WNOHANG, 0) > 0)
			;
	}
}
