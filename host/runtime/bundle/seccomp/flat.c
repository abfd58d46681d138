/*
 * runc asks libseccomp to sort a container's filter into a tree, so that the
 * kernel finds a call in it within few steps. Linux 5.11 and later remember
 * which calls a filter allows whatever their arguments, and do not run it for
 * those at all. There the tree gains next to nothing, and sorting it takes some
 * milliseconds of each container's start; so it is left out.
 *
 * The linker leads runc's calls of seccomp_attr_set here (--wrap).
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/utsname.h>

#include <seccomp.h>

int __real_seccomp_attr_set(scmp_filter_ctx filter, enum scmp_filter_attr attribute, uint32_t value);

static int kernel_remembers(void)
{
	struct utsname kernel;
	int major, minor;

	return uname(&kernel) == 0 && sscanf(kernel.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 11));
}

int __wrap_seccomp_attr_set(scmp_filter_ctx filter, enum scmp_filter_attr attribute, uint32_t value)
{
	if (attribute == SCMP_FLTATR_CTL_OPTIMIZE && kernel_remembers())
		return 0;
	return __real_seccomp_attr_set(filter, attribute, value);
}
