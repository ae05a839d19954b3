/* SPDX-License-Identifier: BSD-3-Clause */
/* Filling in struct ram_why, on this side of the store. */
#ifndef NBDRAM_SERVER_REASON_H
#define NBDRAM_SERVER_REASON_H

#include <stdarg.h>
#include <stdio.h>

#include "store.h"

/* One line of text, cut at its end if it is too long; returns error. */
__attribute__((format(printf, 3, 4))) static inline int reason(
	struct ram_why *why, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	return error;
}

#endif
