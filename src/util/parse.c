/* SPDX-License-Identifier: BSD-3-Clause */
/* Text into numbers. strtoull() and its kin are not used: they take signs,
 * blanks and other bases, and wrap "-1" into a huge size. */
#include "parse.h"

#include <errno.h>
#include <strings.h>

#include "check.h"

/* The power of two that a suffix stands for; -1: it is none. */
static int suffix_shift(char suffix)
{
	switch (suffix) {
	case 'b':
	case 'B':
		return 0;
	case 's':
	case 'S':
		return 9;
	case 'k':
	case 'K':
		return 10;
	case 'm':
	case 'M':
		return 20;
	case 'g':
	case 'G':
		return 30;
	case 't':
	case 'T':
		return 40;
	case 'p':
	case 'P':
		return 50;
	case 'e':
	case 'E':
		return 60;
	default:
		return -1;
	}
}

int parse_size(const char *text, uint64_t *size)
{
	const char *p = text;
	uint64_t value = 0;
	bool too_large = false;
	int shift = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	/* To the end even when it does not fit any more, so that "99...9x" is
	 * called malformed and not too large. */
	for (; *p >= '0' && *p <= '9'; p++)
		too_large |= mul_overflows(value, 10, &value) ||
			     add_overflows(value, (uint64_t)(*p - '0'), &value);
	if (*p) {
		shift = suffix_shift(*p++);
		if (shift < 0 || *p)
			return -EINVAL;
	}
	if (too_large || value > (uint64_t)INT64_MAX >> shift)
		return -ERANGE;
	*size = value << shift;
	return 0;
}

int parse_bool(const char *text, bool *value)
{
	static const struct {
		const char *text;
		bool value;
	} words[] = {
		{"yes", true}, {"no", false},  {"true", true}, {"false", false},
		{"on", true},  {"off", false}, {"1", true},    {"0", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcasecmp(text, words[i].text) == 0) {
			*value = words[i].value;
			return 0;
		}
	}
	return -EINVAL;
}
