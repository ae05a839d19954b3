/* SPDX-License-Identifier: BSD-3-Clause */
/* See say.h. */
#include "say.h"

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe or socket that has room has room for a line; what has none loses it. The
 * kernel's log always has, and does not say so. */
static bool has_room(void)
{
	struct pollfd reader = {.fd = STDERR_FILENO, .events = POLLOUT};
	struct stat st;

	if (fstat(STDERR_FILENO, &st) == 0 && S_ISCHR(st.st_mode))
		return true;
	return poll(&reader, 1, 0) == 1 && (reader.revents & POLLOUT);
}

void attach_say(const char *format, ...)
{
	char line[1024] = "nbdram-attach: ";
	size_t at = strlen(line);
	va_list args;

	va_start(args, format);
	vsnprintf(line + at, sizeof(line) - at - 1, format, args);
	va_end(args);
	at = strlen(line);
	line[at++] = '\n';
	if (has_room() && write(STDERR_FILENO, line, at) < 0)
		return;
}
