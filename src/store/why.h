/* SPDX-License-Identifier: BSD-3-Clause */
/* Filling in struct ram_why. */
#ifndef NBDRAM_STORE_WHY_H
#define NBDRAM_STORE_WHY_H

#include <stdarg.h>
#include <stdio.h>

#include "store.h"

/* One line of text (cut at its end if it is too long); returns error, so that a
 * caller can say `return why_set(why, -EINVAL, ...)`. why may be NULL. */
__attribute__((format(printf, 3, 4))) static inline int why_set(
	struct ram_why *why, int error, const char *format, ...)
{
	va_list args;

	if (why) {
		va_start(args, format);
		vsnprintf(why->text, sizeof(why->text), format, args);
		va_end(args);
	}
	return error;
}

#endif
