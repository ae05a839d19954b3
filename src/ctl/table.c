/* SPDX-License-Identifier: BSD-3-Clause */
/* See table.h. */
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cleanup.h"
#include "log.h"

char *human_size(uint64_t bytes, char buf[16])
{
	static const char units[] = " KMGTPE";
	uint64_t unit = 1, tenths;
	unsigned i = 0;

	while (bytes / unit >= 1024 && i < sizeof(units) - 2) {
		unit *= 1024;
		i++;
	}
	/* Without a multiplication that could wrap. */
	tenths = bytes / unit * 10 + bytes % unit / (unit < 10 ? 1 : unit / 10);
	if (unit > 1 && bytes % unit != 0 && tenths % 10 != 0 && tenths < 1000)
		snprintf(buf, 16, "%" PRIu64 ".%" PRIu64 "%c", tenths / 10,
			 tenths % 10, units[i]);
	else if (unit > 1)
		snprintf(buf, 16, "%" PRIu64 "%c", bytes / unit, units[i]);
	else
		snprintf(buf, 16, "%" PRIu64, bytes);
	return buf;
}

static void human_seconds(uint64_t s, char buf[32])
{
	if (s < 60)
		snprintf(buf, 32, "%" PRIu64 "s", s);
	else if (s < 3600)
		snprintf(buf, 32, "%" PRIu64 "m%02us", s / 60,
			 (unsigned)(s % 60));
	else if (s < 86400)
		snprintf(buf, 32, "%" PRIu64 "h%02um", s / 3600,
			 (unsigned)(s / 60 % 60));
	else
		snprintf(buf, 32, "%" PRIu64 "d%02uh", s / 86400,
			 (unsigned)(s / 3600 % 24));
}

char *harmless(const char *text)
{
	size_t len = strlen(text), i, at = 0;
	char *copy = len < SIZE_MAX / 4 ? malloc(4 * len + 1) : NULL;

	if (!copy)
		return NULL;
	for (i = 0; i < len; i++) {
		if (text[i] >= ' ' && text[i] < 127)
			copy[at++] = text[i];
		else
			at += sprintf(copy + at, "\\x%02x",
				      (unsigned char)text[i]);
	}
	copy[at] = 0;
	return copy;
}

/* A name as the log writes it. */
static char *name_text(const char *form)
{
	CLEANUP_FREE char *bytes = NULL;
	char *text;
	size_t len;

	bytes = control_name_read(form, &len);
	if (!bytes)
		return harmless(form);
	text = malloc(4 * len + 1);
	if (text)
		log_escape(bytes, len, text, 4 * len + 1);
	return text;
}

/* Deeper ones are set in no further: they would leave the screen. */
#define TREE_DEPTH 24

static char *tree_text(const char *form, uint64_t depth)
{
	CLEANUP_FREE char *name = name_text(form);
	char *text;

	if (!name ||
	    asprintf(&text, "%*s%s", (int)(2 * min_u64(depth, TREE_DEPTH)), "",
		     name) < 0)
		return NULL;
	return text;
}

char *cell_text(const struct json_t *object, const struct column *column)
{
	CLEANUP_FREE char *text = NULL;
	const char *string = control_text(object, column->key);
	char buf[32];

	if (!control_member(object, column->key))
		return strdup("-");
	if (column->kind == COLUMN_NAME && string)
		return name_text(string);
	if (column->kind == COLUMN_TREE && string)
		return tree_text(string, control_number(object, "depth"));
	if (column->kind == COLUMN_SIZE) {
		human_size(control_number(object, column->key), buf);
		return strdup(buf);
	}
	if (column->kind == COLUMN_SECS) {
		human_seconds(control_number(object, column->key), buf);
		return strdup(buf);
	}
	text = control_value_text(control_member(object, column->key));
	return text ? harmless(*text ? text : "-") : strdup("?");
}

static bool right(const struct column *c)
{
	return c->kind == COLUMN_SIZE || c->kind == COLUMN_COUNT ||
	       c->kind == COLUMN_SECS;
}

static void print_cell(const struct column *c, const char *text, size_t width,
		       bool last)
{
	/* No blanks at the end of a line. */
	if (last && !right(c))
		printf("%s\n", text);
	else
		printf("%*s%s", right(c) ? (int)width : -(int)width, text,
		       last ? "\n" : "  ");
}

#define COLUMNS_MOST 16

int table_print(const struct json_t *array, const struct column *columns)
{
	size_t rows = control_count(array), width[COLUMNS_MOST], i, n;
	char **cells;
	int error = 0;

	for (n = 0; columns[n].key; n++)
		width[n] = strlen(columns[n].heading);
	cells = calloc(rows * n + 1, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	for (i = 0; i < rows * n && !error; i++) {
		cells[i] = cell_text(control_at(array, i / n), &columns[i % n]);
		if (!cells[i])
			error = -ENOMEM;
		else
			width[i % n] = max_u64(width[i % n], strlen(cells[i]));
	}
	for (i = 0; i < n && !error; i++)
		print_cell(&columns[i], columns[i].heading, width[i],
			   i == n - 1);
	for (i = 0; i < rows * n && !error; i++)
		print_cell(&columns[i % n], cells[i], width[i % n],
			   i % n == n - 1);
	for (i = 0; i < rows * n; i++)
		free(cells[i]);
	free(cells);
	return error;
}

int pairs_print(const struct json_t *object, const struct column *columns)
{
	const struct column *c;
	size_t width = 0;
	char *text;

	for (c = columns; c->key; c++)
		width = max_u64(width, strlen(c->heading));
	for (c = columns; c->key; c++) {
		if (!control_member(object, c->key))
			continue;
		text = cell_text(object, c);
		if (!text)
			return -ENOMEM;
		printf("%-*s  %s\n", (int)width, c->heading, text);
		free(text);
	}
	return 0;
}
