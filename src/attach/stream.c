/* SPDX-License-Identifier: BSD-3-Clause */
/* See stream.h. */
#include "stream.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

/* One call that moves bytes. -EAGAIN: not now. */
static ssize_t move_plain(struct attach_stream *s, void *in, const void *out,
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

static ssize_t move(struct attach_stream *s, void *in, const void *out,
		    size_t len, short *wants)
{
	ssize_t n;

	*wants = in ? POLLIN : POLLOUT;
	if (!s->secure)
		return move_plain(s, in, out, len);
	n = in ? attach_secure_read(s->secure, in, len)
	       : attach_secure_write(s->secure, out, len);
	*wants = attach_secure_wants(s->secure);
	return n;
}

static int move_all(struct attach_stream *s, char *in, const char *out,
		    size_t len)
{
	short wants;
	ssize_t n;
	int error;

	while (len > 0) {
		n = move(s, in, out, len, &wants);
		if (n == -EAGAIN) {
			error = attach_wait_for(&s->wait, s->fd, wants);
			if (error)
				return error;
		} else if (n < 0 && n != -EINTR) {
			return (int)n;
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
