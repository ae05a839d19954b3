/* SPDX-License-Identifier: BSD-3-Clause */
/* A connected stream: bytes in and out, plain or through TLS (see tls.h); the
 * caller cannot tell. Never blocks. Used by one thread. */
#ifndef NBDRAM_IO_H
#define NBDRAM_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct io;
struct tls_stream;

struct io_ops {
	ssize_t (*readv)(struct io *io, const struct iovec *iov, int n);
	ssize_t (*writev)(struct io *io, const struct iovec *iov, int n);
	size_t (*pending)(const struct io *io);
	int (*flush)(struct io *io);
	size_t (*unsent)(const struct io *io);
	void (*close)(struct io *io);
};

/* Embedded in its owner; set up by io_plain(). */
struct io {
	const struct io_ops *ops;
	int fd;
	struct tls_stream *tls; /* NULL: plain */
};

/* Take over a connected stream socket, which is made non-blocking. */
void io_plain(struct io *io, int fd);

/* Bytes moved; 0 from reading: the peer has ended its side. -EAGAIN: not now;
 * other negative errnos: the connection is gone. Never a signal. The memory is
 * read or written before the call returns, and not later. */
static inline ssize_t io_readv(struct io *io, const struct iovec *iov, int n)
{
	return io->ops->readv(io, iov, n);
}

static inline ssize_t io_writev(struct io *io, const struct iovec *iov, int n)
{
	return io->ops->writev(io, iov, n);
}

/* Not 0: reading is worth while although the descriptor may not say so. */
static inline size_t io_pending(const struct io *io)
{
	return io->ops->pending(io);
}

/* Bytes that writing has taken and the socket has not. */
static inline size_t io_unsent(const struct io *io)
{
	return io->ops->unsent(io);
}

/* Give the socket what is unsent. 0: nothing is left; -EAGAIN; else the
 * connection is gone. */
static inline int io_flush(struct io *io)
{
	return io->ops->flush(io);
}

/* End it: politely if that can be done at once, without waiting. */
static inline void io_close(struct io *io)
{
	io->ops->close(io);
}

#endif
