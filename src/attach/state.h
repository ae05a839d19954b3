/* SPDX-License-Identifier: BSD-3-Clause */
/* State files: one for each attached device, so that a watcher that starts anew
 * finds all of them. In a folder that is root's alone, on the tmpfs /run: what they
 * tell of is gone with the kernel too. */
#ifndef NBDRAM_ATTACH_STATE_H
#define NBDRAM_ATTACH_STATE_H

#include <stdbool.h>

#include "record.h"
#include "why.h"

/* The folder; another one for tests. */
extern const char *attach_state_folder;

/* Open it, and make it if it is not there; *fd is the caller's. -EACCES: it is not
 * ours alone; else as opening fails. */
int attach_state_open(int *fd, struct attach_why *why);

/* Take the lock that one process has, as long as it lives or until *lock is closed.
 * wait: until another that has it ends; else -EBUSY then. */
int attach_state_lock(int folder, bool wait, int *lock, struct attach_why *why);

/* Write a record's file, whole or not at all; it is called nbdN, or, while there is
 * no N, by its session. */
int attach_state_write(int folder, const struct attach_record *record,
		       struct attach_why *why);

/* Take the record's files away, those of both names. */
void attach_state_remove(int folder, const struct attach_record *record);

/* Each record there is; a file that is none is told to `bad` and left. Stops when
 * each() says other than 0, and returns that. */
int attach_state_each(int folder,
		      int (*each)(const struct attach_record *record,
				  void *arg),
		      void (*bad)(const char *file, void *arg), void *arg);

#endif
