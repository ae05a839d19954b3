/* SPDX-License-Identifier: BSD-3-Clause */
/* Text from a command line or a file into numbers. Pure; nothing is written to
 * the result unless 0 is returned. */
#ifndef NBDRAM_UTIL_PARSE_H
#define NBDRAM_UTIL_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* A size in bytes: decimal digits and at most one suffix, B, K, M, G, T, P or E
 * (powers of 1024) or S (sectors of 512 bytes, as nbdkit has it), in either case:
 * "512", "64K", "16G", "2T". No sign, no blanks, no fraction. 0 is a size here.
 * -EINVAL: not of that form; -ERANGE: more than 2^63 - 1. */
int parse_size(const char *text, uint64_t *size);

/* "yes", "no", "true", "false", "on", "off", "1", "0", in either case.
 * -EINVAL: anything else. */
int parse_bool(const char *text, bool *value);

/* The value of a hexadecimal digit; -1: it is none. */
static inline int parse_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

#endif
