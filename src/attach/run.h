/* SPDX-License-Identifier: BSD-3-Clause */
/* Other programs, run to their end. */
#ifndef NBDRAM_ATTACH_RUN_H
#define NBDRAM_ATTACH_RUN_H

#include <stddef.h>

/* Run it, found in PATH and the folders for administrators, with nothing to read.
 * text: the last of what it has said, as one line, escaped. Returns its exit
 * status; -ENOENT: there is no such program; another negative errno: it could not
 * be run, or was ended by a signal (-EINTR). */
int attach_run(const char *const *words, char *text, size_t size);

#endif
