/* SPDX-License-Identifier: BSD-3-Clause */
/* Who else has a file open. */
#ifndef NBDRAM_STORE_OWNER_H
#define NBDRAM_STORE_OWNER_H

#include <sys/types.h>

/* The number of another process that has the file open that fd is of; 0: there is
 * none, or we may not know. Looks at all processes, so it is for messages. */
pid_t owner_of(int fd);

#endif
