/* SPDX-License-Identifier: BSD-3-Clause */
/* TLS by the kernel, in both directions, on a socket in the middle of a stream. */
#ifndef NBDRAM_ATTACH_KTLS_H
#define NBDRAM_ATTACH_KTLS_H

#include "keys.h"

/* Whether this kernel has TLS at all; loads the module if there is one. */
bool attach_ktls_known(void);

/* 0: the socket takes and gives what is inside of TLS. -EOPNOTSUPP: the kernel does
 * not do this, and the socket is as it was. Else only one direction was changed, and
 * the connection is of no use any more. */
int attach_ktls_start(int fd, const struct attach_keys *keys);

#endif
