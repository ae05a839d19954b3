/* SPDX-License-Identifier: BSD-3-Clause */
/* TLS in this process, where the kernel cannot do it: a thread between the server's
 * socket and one end of a pair, whose other end is the kernel's. The link lives no
 * longer than the process then. */
#ifndef NBDRAM_ATTACH_RELAY_H
#define NBDRAM_ATTACH_RELAY_H

#include "secure.h"

struct attach_relay;

/* On success it owns s and its socket; *fd is the kernel's end, the caller's to
 * close. Negative errno: nothing was taken. */
int attach_relay_start(struct attach_secure *s, struct attach_relay **relay,
		       int *fd);

/* End it, and the link with it. NULL is fine. It ends by itself too when either
 * side is closed; what the kernel has sent before is sent on. */
void attach_relay_stop(struct attach_relay *relay);

#endif
