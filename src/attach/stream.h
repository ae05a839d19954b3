/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection while it is negotiated, plain or through TLS: whole messages in
 * and out, within a time. The socket is non-blocking. */
#ifndef NBDRAM_ATTACH_STREAM_H
#define NBDRAM_ATTACH_STREAM_H

#include <stddef.h>

#include "secure.h"
#include "wait.h"

struct attach_stream {
	int fd;
	struct attach_secure *secure; /* NULL: plain */
	struct attach_wait wait;
};

/* All of len bytes; not one more is taken from the socket. 0, -ECONNRESET (the
 * other side has gone, before or within them), other errors of the socket,
 * of attach_wait_for() and of TLS (secure->reason may have more to say). */
int attach_stream_read(struct attach_stream *s, void *buf, size_t len);
int attach_stream_write(struct attach_stream *s, const void *buf, size_t len);

#endif
