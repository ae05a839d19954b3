/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes as they come into lines. See control.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

#define ROOM_LEAST 4096u

void control_lines_init(struct control_lines *l, size_t most)
{
	memset(l, 0, sizeof(*l));
	l->most = most;
}

void control_lines_free(struct control_lines *l)
{
	free(l->bytes);
	control_lines_init(l, l->most);
}

int control_lines_add(struct control_lines *l, const void *bytes, size_t len)
{
	size_t room = l->room ? l->room : ROOM_LEAST;
	char *larger;

	if (l->used > 0) {
		memmove(l->bytes, l->bytes + l->used, l->len - l->used);
		l->len -= l->used;
		l->looked -= l->used;
		l->used = 0;
	}
	if (len > SIZE_MAX / 4 - l->len)
		return -ENOMEM;
	while (room < l->len + len)
		room *= 2;
	if (room != l->room) {
		larger = realloc(l->bytes, room);
		if (!larger)
			return -ENOMEM;
		l->bytes = larger;
		l->room = room;
	}
	memcpy(l->bytes + l->len, bytes, len);
	l->len += len;
	return 0;
}

int control_lines_next(struct control_lines *l, char **line, size_t *len)
{
	char *from, *end;

	if (l->len == l->used)
		return 0;
	from = l->bytes + l->used;
	/* What was looked at before has no end of a line in it. */
	end = memchr(l->bytes + l->looked, '\n', l->len - l->looked);
	if (!end) {
		l->looked = l->len;
		return l->len - l->used > l->most ? -EMSGSIZE : 0;
	}
	if ((size_t)(end - from) > l->most)
		return -EMSGSIZE;
	*end = 0;
	*line = from;
	*len = end - from;
	l->used = l->looked = end + 1 - l->bytes;
	return 1;
}

bool control_lines_partial(const struct control_lines *l)
{
	return l->len > l->used;
}
