/* SPDX-License-Identifier: BSD-3-Clause */
/* Big-endian numbers at any address, and text that has to fit. */
#ifndef NBDRAM_PROTO_WIRE_H
#define NBDRAM_PROTO_WIRE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t get_u16(const void *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return be16toh(value);
}

static inline uint32_t get_u32(const void *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return be32toh(value);
}

static inline uint64_t get_u64(const void *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return be64toh(value);
}

/* How many bytes of text to send if at most max fit: characters of UTF-8 stay
 * whole. */
static inline size_t text_cut(const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);

	if (len <= max)
		return len;
	/* 10xxxxxx continues a character. */
	for (len = max; len > 0 && (text[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

#endif
