/* SPDX-License-Identifier: BSD-3-Clause */
/* How functions of this room fail: one line, which begins with the file's name. */
#ifndef NBDRAM_IMAGE_FAIL_H
#define NBDRAM_IMAGE_FAIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "store.h"

/* Returns error. */
__attribute__((format(printf, 4, 5))) static inline int image_fail(
	struct ram_why *why, int error, const char *path, const char *format,
	...)
{
	char shown[400];
	size_t len;
	va_list args;

	log_escape(path, strlen(path), shown, sizeof(shown));
	len = snprintf(why->text, sizeof(why->text), "%s: ", shown);
	va_start(args, format);
	vsnprintf(why->text + len, sizeof(why->text) - len, format, args);
	va_end(args);
	return error;
}

/* Whether the name says that it is zstd's. */
static inline bool image_is_zst(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && strcmp(path + len - 4, ".zst") == 0;
}

/* Bytes that are read or written at a time. */
#define IMAGE_CHUNK (256u << 10)

#endif
