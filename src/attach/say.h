/* SPDX-License-Identifier: BSD-3-Clause */
/* The watcher's log: lines on standard error, never waiting for whoever reads it,
 * who may wait for a disk of ours. Any thread. */
#ifndef NBDRAM_ATTACH_SAY_H
#define NBDRAM_ATTACH_SAY_H

/* What comes from outside in it was escaped. */
__attribute__((format(printf, 1, 2))) void attach_say(const char *format, ...);

#endif
