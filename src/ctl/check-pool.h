/* SPDX-License-Identifier: BSD-3-Clause */
/* nbdramctl check FOLDER: a pool, or a copy of one, that nobody has open. */
#ifndef NBDRAM_CTL_CHECK_POOL_H
#define NBDRAM_CTL_CHECK_POOL_H

#include <stdbool.h>

/* Say what is found; json: as JSON. Returns the exit status. */
int check_pool(const char *folder, bool json);

#endif
