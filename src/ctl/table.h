/* SPDX-License-Identifier: BSD-3-Clause */
/* Text for people: aligned columns, sizes that can be read, and foreign text made
 * harmless for a terminal. */
#ifndef NBDRAM_CTL_TABLE_H
#define NBDRAM_CTL_TABLE_H

#include <stdint.h>

#include "control.h"

enum column_kind {
	COLUMN_NAME,  /* bytes in the form of control_name_write() */
	COLUMN_TREE,  /* the same, set in by its member "depth" */
	COLUMN_SIZE,  /* bytes, written as 1.5G */
	COLUMN_COUNT, /* a number as it is */
	COLUMN_TEXT,  /* words of the server's, or whatever is there */
	COLUMN_SECS,  /* seconds, written as 3h12m */
};

struct column {
	const char *key;     /* of the member */
	const char *heading; /* of a table, or what stands in front of it */
	enum column_kind kind;
};

/* One member as people read it; the caller frees it. NULL: no memory. What is not
 * there is "-". */
char *cell_text(const struct json_t *object, const struct column *column);

/* An array of objects as a table with headings. -ENOMEM. */
int table_print(const struct json_t *array, const struct column *columns);

/* An object, one member a line: those of the columns, and no others. -ENOMEM. */
int pairs_print(const struct json_t *object, const struct column *columns);

/* A copy of text from outside: printable ASCII stays, all else becomes \xNN. The
 * caller frees it. NULL: no memory. */
char *harmless(const char *text);

/* 1536 -> "1.5K", in a buffer of 16 bytes. Returns it. */
char *human_size(uint64_t bytes, char buf[16]);

#endif
