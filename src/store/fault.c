/* SPDX-License-Identifier: BSD-3-Clause */
/* The hooks of fault.h, in builds that have it. */
#include "fault.h"

#include "hostmem.h"

#ifdef RAM_FAULTS
bool (*ram_fault_hook)(enum ram_fault kind);
int (*ram_host_hook)(struct host_memory *memory);

int ram_host_read(struct host_memory *memory)
{
	return ram_host_hook ? ram_host_hook(memory) : host_memory_read(memory);
}
#else
typedef int fault_unused; /* a translation unit is not empty */
#endif
