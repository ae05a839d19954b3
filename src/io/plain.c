/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain sockets. See io.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io.h"

static ssize_t plain_readv(struct io *io, const struct iovec *iov, int n)
{
	struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = n};
	ssize_t got;

	do {
		got = recvmsg(io->fd, &msg, MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return got;
}

static ssize_t plain_writev(struct io *io, const struct iovec *iov, int n)
{
	struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = n};
	ssize_t put;

	do {
		put = sendmsg(io->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (put < 0 && errno == EINTR);
	if (put < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return put;
}

static size_t plain_pending(const struct io *io)
{
	(void)io;
	return 0;
}

static int plain_flush(struct io *io)
{
	(void)io;
	return 0;
}

static void plain_close(struct io *io)
{
	if (io->fd >= 0)
		close(io->fd);
	io->fd = -1;
}

static const struct io_ops plain_ops = {
	.readv = plain_readv,
	.writev = plain_writev,
	.pending = plain_pending,
	.flush = plain_flush,
	.unsent = plain_pending,
	.close = plain_close,
};

void io_plain(struct io *io, int fd)
{
	io->ops = &plain_ops;
	io->fd = fd;
	io->tls = NULL;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}
