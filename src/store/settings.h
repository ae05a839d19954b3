/* SPDX-License-Identifier: BSD-3-Clause */
/* What a pool's memory is to be like: huge pages, locked, from which node. What
 * was asked for and cannot be had is an error, said in one line with what the
 * system lacks. */
#ifndef NBDRAM_STORE_SETTINGS_H
#define NBDRAM_STORE_SETTINGS_H

#include "backing.h"
#include "store.h"

/* Before anything is opened or made: can the system do this at all?
 * -EINVAL, -EOPNOTSUPP. */
int settings_check(const struct ram_pool_config *config, struct ram_why *why);

/* Once the folder is open (b->dir): is it on a file system that can,
 * and in memory, if it must be? */
int settings_folder(const struct backing *b, bool memory_only,
		    struct ram_why *why);

/* Once it is mapped, and before anything of it is touched. -EPERM, -ENOMEM,
 * -EOPNOTSUPP. */
int settings_apply(const struct backing *b,
		   const struct ram_pool_config *config, struct ram_why *why);

/* Lock an area when it is touched. -EPERM, -ENOMEM. */
int settings_lock(const void *area, uint64_t len, struct ram_why *why);

/* Bytes of huge pages of 2 MiB that are free, for anybody. 0: none. */
uint64_t settings_huge_free(void);

#endif
