/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes in JSON strings. See control.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

/* How long the UTF-8 sequence at p is; 0: there is none that is whole and
 * shortest, and no surrogate. *code is what it says. */
static unsigned sequence(const uint8_t *p, size_t left, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned n, i;

	if (p[0] < 0x80) {
		*code = p[0];
		return 1;
	}
	n = p[0] >= 0xf0 && p[0] < 0xf8	  ? 4
	    : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
	    : p[0] >= 0xc0 && p[0] < 0xe0 ? 2
					  : 0;
	if (n == 0 || n > left)
		return 0;
	*code = p[0] & (0xffu >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (p[i] & 0x3f);
	}
	if (*code < least[n] || *code > 0x10ffff ||
	    (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return n;
}

/* Whether it may stand in a name as it is: what moves a cursor, breaks a line or
 * turns the direction of text could show another name than there is. */
static bool harmless(uint32_t code)
{
	return code >= 0x20 && code != '\\' && (code < 0x7f || code > 0x9f) &&
	       code != 0x2028 && code != 0x2029 && code != 0x200e &&
	       code != 0x200f && code != 0x061c && code != 0xfeff &&
	       !(code >= 0x202a && code <= 0x202e) &&
	       !(code >= 0x2066 && code <= 0x2069);
}

char *control_name_write(const void *bytes, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	const uint8_t *p = bytes, *end = p + len;
	char *text, *to;
	uint32_t code;
	unsigned n;

	if (len > (SIZE_MAX - 1) / 4)
		return NULL;
	text = to = malloc(len * 4 + 1);
	if (!text)
		return NULL;
	while (p < end) {
		n = sequence(p, end - p, &code);
		if (n > 0 && harmless(code)) {
			memcpy(to, p, n);
			to += n;
			p += n;
		} else if (*p == '\\') {
			*to++ = '\\';
			*to++ = '\\';
			p++;
		} else {
			*to++ = '\\';
			*to++ = 'x';
			*to++ = hex[*p >> 4];
			*to++ = hex[*p & 15];
			p++;
		}
	}
	*to = 0;
	return text;
}

static int digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

char *control_name_read(const char *text, size_t *len)
{
	char *bytes = malloc(strlen(text) + 1), *to = bytes;
	int high, low;

	if (!bytes)
		return NULL;
	while (*text) {
		if (*text != '\\') {
			*to++ = *text++;
			continue;
		}
		if (text[1] == '\\') {
			*to++ = '\\';
			text += 2;
			continue;
		}
		high = text[1] == 'x' ? digit(text[2]) : -1;
		low = high >= 0 ? digit(text[3]) : -1;
		if (low < 0 || (high == 0 && low == 0)) {
			free(bytes);
			return NULL;
		}
		*to++ = (char)(high << 4 | low);
		text += 4;
	}
	*to = 0;
	*len = to - bytes;
	return bytes;
}
