/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory this host and this process's control group have. */
#ifndef NBDRAM_UTIL_HOSTMEM_H
#define NBDRAM_UTIL_HOSTMEM_H

#include <stdint.h>

struct host_memory {
	uint64_t total;	    /* bytes; MemTotal of /proc/meminfo */
	uint64_t available; /* bytes; MemAvailable of /proc/meminfo */
	/* The smallest memory limit on the way from our control group to the
	 * root: memory.max (v2) or memory.limit_in_bytes (v1); UINT64_MAX when
	 * there is none. */
	uint64_t cgroup_max;
	/* What a control group on that way may still take, and which limit it
	 * has: the one that leaves least. What it holds of files that need not
	 * be written back counts as free. UINT64_MAX: none. */
	uint64_t cgroup_left, cgroup_left_of;
};

/* Read all of it now. Any thread; allocates nothing that outlives the call.
 * 0, or a negative errno when /proc/meminfo cannot be read or parsed (a control
 * group that cannot be read counts as one without a limit). */
int host_memory_read(struct host_memory *memory);

/* The same from files under `root` instead of /, for tests. */
int host_memory_read_at(const char *root, struct host_memory *memory);

#endif
