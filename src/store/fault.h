/* SPDX-License-Identifier: BSD-3-Clause */
/* Places where tests make the store fail or die. Built in only with RAM_FAULTS
 * (libstore-test); elsewhere fault() is the constant false. */
#ifndef NBDRAM_STORE_FAULT_H
#define NBDRAM_STORE_FAULT_H

#include <stdbool.h>

enum ram_fault {
	RAM_FAULT_ALLOC,	  /* malloc or a mapping: true makes it fail */
	RAM_FAULT_BACKING,	  /* fallocate, pwrite: true is ENOSPC */
	RAM_FAULT_BEFORE_PUBLISH, /* a publishing store comes; result unused */
	RAM_FAULT_AFTER_PUBLISH,  /* ... has been done; result unused */
};

#ifdef RAM_FAULTS
/* Set by a test before it opens a pool; called from any thread. NULL: no
 * faults. */
extern bool (*ram_fault_hook)(enum ram_fault kind);

static inline bool fault(enum ram_fault kind)
{
	return ram_fault_hook && ram_fault_hook(kind);
}

/* Likewise: what host_memory_read() would say. NULL: it itself. */
struct host_memory;
extern int (*ram_host_hook)(struct host_memory *memory);
int ram_host_read(struct host_memory *memory);
#else
#define ram_host_read host_memory_read

static inline bool fault(enum ram_fault kind)
{
	(void)kind;
	return false;
}
#endif

#endif
