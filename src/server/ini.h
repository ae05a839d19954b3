/* SPDX-License-Identifier: BSD-3-Clause */
/* The form of a configuration file: sections, keys, comments. Pure; knows none
 * of them by name.
 *
 *	# a comment, on a line of its own
 *	[word]
 *	[word name]
 *	[word " a name with blanks at its ends "]
 *	key = value
 *
 * Blanks around each part are cut; a value is taken as it is, to the end of its
 * line, which is that of Unix or of DOS. */
#ifndef NBDRAM_SERVER_INI_H
#define NBDRAM_SERVER_INI_H

#include <stddef.h>

#define INI_LINE_MAX 4095u /* bytes, without its end */

enum ini_kind {
	INI_SECTION, /* word, name ("": none) */
	INI_KEY,     /* word, value */
	INI_WRONG,   /* value: what is wrong with the line */
};

/* One line; its texts last as long as the call. */
struct ini_line {
	enum ini_kind kind;
	unsigned number; /* from 1 */
	const char *word;
	const char *name;
	const char *value;
};

/* Call seen() for each line that is not empty and no comment, in order. A line
 * that is wrong is told and passed over; what cannot be text (bytes of value 0,
 * UTF-16) is told once and ends it. */
void ini_parse(const char *text, size_t len,
	       void (*seen)(void *arg, const struct ini_line *line), void *arg);

#endif
