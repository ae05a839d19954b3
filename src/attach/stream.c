/* SPDX-License-Identifier: BSD-3-Clause */
/* See stream.h. */
#include "stream.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

/* One call that moves bytes. -EAGAIN: not now. */
static ssize_t move(struct attach_stream *s, void *in, const void *out,
		    size_t len)
{
	ssize_t n = in ? recv(s->fd, in, len, 0)
		       : send(s->fd, out, len, MSG_NOSIGNAL);

	if (n > 0)
		return n;
	if (n == 0 || errno == EPIPE)
		return -ECONNRESET;
	return -errno;
}

static int move_all(struct attach_stream *s, char *in, const char *out,
		    size_t len)
{
	ssize_t n;
	int error;

	while (len > 0) {
		n = move(s, in, out, len);
		if (n == -EAGAIN) {
			error = attach_wait_for(&s->wait, s->fd,
						in ? POLLIN : POLLOUT);
			if (error)
				return error;
		} else if (n < 0 && n != -EINTR) {
			return n;
		} else if (n > 0) {
			if (in)
				in += n;
			else
				out += n;
			len -= n;
		}
	}
	return 0;
}

int attach_stream_read(struct attach_stream *s, void *buf, size_t len)
{
	return move_all(s, buf, NULL, len);
}

int attach_stream_write(struct attach_stream *s, const void *buf, size_t len)
{
	return move_all(s, NULL, buf, len);
}
