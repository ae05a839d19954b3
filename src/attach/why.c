/* SPDX-License-Identifier: BSD-3-Clause */
/* See why.h. */
#include "why.h"

#include <stdarg.h>
#include <stdio.h>

int attach_fail(struct attach_why *why, int error, const char *format, ...)
{
	char text[sizeof(why->text)]; /* format may want what was there */
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(why->text, sizeof(why->text), "%s", text);
	return error;
}
