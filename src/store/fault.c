/* SPDX-License-Identifier: BSD-3-Clause */
/* The hook of fault.h, in builds that have it. */
#include "fault.h"

#ifdef RAM_FAULTS
bool (*ram_fault_hook)(enum ram_fault kind);
#else
typedef int fault_unused; /* a translation unit is not empty */
#endif
