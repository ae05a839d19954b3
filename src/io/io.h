/* SPDX-License-Identifier: BSD-3-Clause */
/* A connected stream: bytes in and out, plain or (later) through TLS; the caller
 * cannot tell. Never blocks. Used by one thread. */
#ifndef NBDRAM_IO_H
#define NBDRAM_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct io;

struct io_ops {
	ssize_t (*readv)(struct io *io, const struct iovec *iov, int n);
	ssize_t (*writev)(struct io *io, const struct iovec *iov, int n);
	size_t (*pending)(const struct io *io);
	void (*close)(struct io *io);
};

/* Embedded in its owner; set up by io_plain(). */
struct io {
	const struct io_ops *ops;
	int fd;
};

/* Take over a connected stream socket, which is made non-blocking. */
void io_plain(struct io *io, int fd);

/* Bytes moved; 0 from reading: the peer has ended its side. -EAGAIN: not now;
 * other negative errnos: the connection is gone. Never a signal. */
static inline ssize_t io_readv(struct io *io, const struct iovec *iov, int n)
{
	return io->ops->readv(io, iov, n);
}

static inline ssize_t io_writev(struct io *io, const struct iovec *iov, int n)
{
	return io->ops->writev(io, iov, n);
}

/* Bytes that can be read although the descriptor does not say so. */
static inline size_t io_pending(const struct io *io)
{
	return io->ops->pending(io);
}

static inline void io_close(struct io *io)
{
	io->ops->close(io);
}

#endif
