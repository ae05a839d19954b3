/* SPDX-License-Identifier: BSD-3-Clause */
/* See link.h. */
#include "link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "print.h"

static const char *hint(int error)
{
	switch (error) {
	case ENOENT:
	case ECONNREFUSED:
		return "; is nbdramd running, with this control socket (-s)?";
	case EACCES:
	case EPERM:
		return "; only root and the user that runs nbdramd may";
	case EAGAIN:
		return "; it has no time just now, try again";
	}
	return "";
}

bool link_open(struct link *l, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memset(l, 0, sizeof(*l));
	control_lines_init(&l->lines, CONTROL_ANSWER_MAX);
	l->path = path;
	if (!*path || strlen(path) >= sizeof(address.sun_path)) {
		complain("%s: a socket's path has 1 to %zu bytes", path,
			 sizeof(address.sun_path) - 1);
		l->fd = -1;
		return false;
	}
	strcpy(address.sun_path, path);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l->fd < 0 ||
	    connect(l->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		complain("%s: cannot connect: %s%s", path, strerror(errno),
			 hint(errno));
		link_close(l);
		return false;
	}
	return true;
}

bool link_send(struct link *l, const char *line, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = send(l->fd, line, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		/* It may have said why it does not listen. */
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return true;
		if (n < 0) {
			complain("%s: cannot send: %s", l->path,
				 strerror(errno));
			return false;
		}
		line += n;
		len -= n;
	}
	return true;
}

bool link_receive(struct link *l, struct control_answer *answer)
{
	char buf[16384], *line;
	const char *why = "it is too long";
	size_t len;
	ssize_t n;
	int got;

	while ((got = control_lines_next(&l->lines, &line, &len)) == 0) {
		n = recv(l->fd, buf, sizeof(buf), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			complain("%s: nbdramd has closed the connection%s%s",
				 l->path, n < 0 ? ": " : "",
				 n < 0 ? strerror(errno) : "");
			return false;
		}
		if (control_lines_add(&l->lines, buf, n)) {
			complain("no memory for the answer");
			return false;
		}
	}
	if (got > 0 && control_answer_read(line, len, answer, &why) == 0)
		return true;
	complain("%s: the answer cannot be understood: %s", l->path, why);
	return false;
}

void link_close(struct link *l)
{
	control_lines_free(&l->lines);
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}
