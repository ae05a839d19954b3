/* SPDX-License-Identifier: BSD-3-Clause */
/* The watcher: the one process of a host that makes and keeps attached devices. Its
 * death disturbs none of them; the next one finds them again by their state files
 * and what the kernel says. */
#ifndef NBDRAM_ATTACH_WATCH_H
#define NBDRAM_ATTACH_WATCH_H

#include <stdbool.h>

#include "why.h"

/* Run until it is killed, once there is no other one; while_needed: or until nothing
 * is attached any more, and -EBUSY if there is another. */
int attach_watch(bool while_needed, struct attach_why *why);

#endif
