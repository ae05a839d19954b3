/* SPDX-License-Identifier: BSD-3-Clause */
/* See print.h. */
#include "print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "cleanup.h"
#include "table.h"

#define END       \
	{         \
		0 \
	}

void complain(const char *format, ...)
{
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE char *clean = NULL;
	va_list args;

	progress_clear();
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (text)
		clean = harmless(text);
	fprintf(stderr, "nbdramctl: %s\n", clean ? clean : "no memory");
}

int print_list(struct json_t *result)
{
	static const struct column columns[] = {
		{"name", "NAME", COLUMN_NAME},
		{"size", "SIZE", COLUMN_SIZE},
		{"taken", "HELD", COLUMN_SIZE},
		{"clients", "CLIENTS", COLUMN_COUNT},
		{"state", "STATE", COLUMN_TEXT},
		END, /* room for two more */
		END,
		END,
	};
	const struct json_t *disks = control_member(result, "disks");
	struct column shown[ARRAY_SIZE(columns)];
	size_t i;

	memcpy(shown, columns, sizeof(shown));
	for (i = 0; i < control_count(disks); i++) {
		if (!control_member(control_at(disks, i), "template"))
			continue;
		shown[5] = (struct column){"template", "TEMPLATE", COLUMN_NAME};
		shown[6] = (struct column){"owner", "OWNER", COLUMN_NAME};
		break;
	}
	return table_print(disks, shown);
}

int print_clients(struct json_t *result)
{
	static const struct column columns[] = {
		{"id", "ID", COLUMN_COUNT},
		{"peer", "FROM", COLUMN_TEXT},
		{"identity", "WHO", COLUMN_TEXT},
		{"tls", "TLS", COLUMN_TEXT},
		{"cipher", "CIPHER", COLUMN_TEXT},
		{"export", "EXPORT", COLUMN_NAME},
		{"access", "ACCESS", COLUMN_TEXT},
		{"seconds", "SINCE", COLUMN_SECS},
		{"requests", "REQUESTS", COLUMN_COUNT},
		{"read", "READ", COLUMN_SIZE},
		{"written", "WRITTEN", COLUMN_SIZE},
		{"state", "STATE", COLUMN_TEXT},
		END,
	};

	return table_print(control_member(result, "clients"), columns);
}

/* ------------------------------------------------------------------ show */

static int print_disk(const struct json_t *disk)
{
	static const struct column columns[] = {
		{"name", "name", COLUMN_NAME},
		{"state", "state", COLUMN_TEXT},
		{"size", "size", COLUMN_SIZE},
		{"held", "held", COLUMN_SIZE},
		{"own", "own", COLUMN_SIZE},
		{"shared", "shared", COLUMN_SIZE},
		{"kept", "kept for it beside that", COLUMN_SIZE},
		{"to-load", "not loaded yet", COLUMN_SIZE},
		{"loaded-from", "loaded from", COLUMN_NAME},
		{"load-state", "load", COLUMN_TEXT},
		{"alloc", "alloc", COLUMN_TEXT},
		{"quota", "quota", COLUMN_SIZE},
		{"guarantee", "guarantee", COLUMN_SIZE},
		{"readonly", "readonly", COLUMN_TEXT},
		{"default", "default", COLUMN_TEXT},
		{"detect-zeroes", "detect-zeroes", COLUMN_TEXT},
		{"allow", "allow", COLUMN_NAME},
		{"writers-policy", "writers allowed", COLUMN_TEXT},
		{"max-connections", "max-connections", COLUMN_COUNT},
		{"clients", "clients", COLUMN_COUNT},
		{"writers", "of them, writers", COLUMN_COUNT},
		{"made", "made by", COLUMN_TEXT},
		{"template", "template", COLUMN_NAME},
		{"save", "saved to", COLUMN_NAME},
		{"saved-ago", "saved before", COLUMN_SECS},
		{"save-state", "save", COLUMN_TEXT},
		{"save-error", "not saved for", COLUMN_NAME},
		{"owner", "owner", COLUMN_NAME},
		{"uuid", "uuid", COLUMN_TEXT},
		{"generation", "generation", COLUMN_COUNT},
		{"parent", "parent", COLUMN_TEXT},
		{"parent-name", "parent's name", COLUMN_NAME},
		{"origin", "origin", COLUMN_TEXT},
		END,
	};

	return pairs_print(disk, columns);
}

/* Each disk below what it was made of. */
static int print_lineage(const struct json_t *lineage)
{
	static const struct column columns[] = {
		{"name", "LINEAGE", COLUMN_TREE},
		{"size", "SIZE", COLUMN_SIZE},
		{"held", "HELD", COLUMN_SIZE},
		{"own", "OWN", COLUMN_SIZE},
		{"shared", "SHARED", COLUMN_SIZE},
		{"generation", "GEN", COLUMN_COUNT},
		{"kind", "KIND", COLUMN_TEXT},
		END,
	};

	if (control_count(lineage) == 0)
		return 0;
	putchar('\n');
	return table_print(lineage, columns);
}

static int print_pool(const struct json_t *pool)
{
	static const struct column columns[] = {
		{"size", "pool size", COLUMN_SIZE},
		{"most", "of it for disks", COLUMN_SIZE},
		{"held", "pool held", COLUMN_SIZE},
		{"tables", "of that, tables", COLUMN_SIZE},
		{"freed", "freed, not yet free", COLUMN_SIZE},
		{"guaranteed", "guaranteed", COLUMN_SIZE},
		{"landing", "landing", COLUMN_SIZE},
		{"landing-used", "landing used", COLUMN_SIZE},
		{"warm", "warm", COLUMN_SIZE},
		{"backing", "memory taken", COLUMN_SIZE},
		{"headroom", "left to the host", COLUMN_SIZE},
		{"headroom-left", "before that is reached", COLUMN_SIZE},
		{"refusals", "refusals", COLUMN_COUNT},
		END,
	};

	return pairs_print(pool, columns);
}

static int print_server(const struct json_t *server)
{
	static const struct column columns[] = {
		{"version", "version", COLUMN_TEXT},
		{"pid", "process", COLUMN_COUNT},
		{"seconds", "running for", COLUMN_SECS},
		{"workers", "workers", COLUMN_COUNT},
		{"connections", "connections", COLUMN_COUNT},
		{"exports", "exports", COLUMN_COUNT},
		END,
	};

	return pairs_print(server, columns);
}

static int print_keys(const struct json_t *keys)
{
	static const struct column columns[] = {
		{"section", "SECTION", COLUMN_TEXT},
		{"key", "KEY", COLUMN_TEXT},
		{"value", "VALUE", COLUMN_NAME},
		END,
	};

	return table_print(keys, columns);
}

/* Configuration is for files: the bytes as they are, unless somebody looks at
 * them. */
static int print_config(const char *form)
{
	CLEANUP_FREE char *bytes = NULL;
	size_t len, i;

	bytes = control_name_read(form, &len);
	if (!bytes)
		return -ENOMEM;
	for (i = 0; i < len; i++) {
		if (isatty(STDOUT_FILENO) && bytes[i] != '\n' &&
		    (bytes[i] < ' ' || bytes[i] == 127))
			printf("\\x%02x", (unsigned char)bytes[i]);
		else
			putchar(bytes[i]);
	}
	return 0;
}

int print_show(struct json_t *result)
{
	const char *config = control_text(result, "config");
	int error;

	if (config)
		return print_config(config);
	if (control_member(result, "disk")) {
		error = print_disk(control_member(result, "disk"));
		return error ? error
			     : print_lineage(control_member(result, "lineage"));
	}
	error = print_server(control_member(result, "server"));
	putchar('\n');
	if (!error)
		error = print_pool(control_member(result, "pool"));
	putchar('\n');
	if (!error)
		error = print_keys(control_member(result, "keys"));
	if (!error)
		error = print_lineage(control_member(result, "lineage"));
	return error;
}

/* --------------------------------------------------- what changes something */

/* An array of lines. */
static int print_lines(const struct json_t *lines)
{
	size_t i, len;
	const char *form;

	for (i = 0; i < control_count(lines); i++) {
		CLEANUP_FREE char *bytes = NULL;
		CLEANUP_FREE char *clean = NULL;

		form = control_text(control_at(lines, i), NULL);
		if (!form)
			continue;
		bytes = control_name_read(form, &len);
		clean = harmless(bytes ? bytes : form);
		if (!clean)
			return -ENOMEM;
		puts(clean);
	}
	return 0;
}

int print_notes(struct json_t *result)
{
	return print_lines(control_member(result, "notes"));
}

int print_name(struct json_t *result)
{
	static const struct column column = {"name", "", COLUMN_NAME};
	char *name = cell_text(result, &column);

	if (!name)
		return -ENOMEM;
	puts(name);
	free(name);
	return print_notes(result);
}

int print_reload(struct json_t *result)
{
	const struct json_t *lines = control_member(result, "changes");

	if (control_count(lines) == 0) {
		puts("nothing has changed");
		return 0;
	}
	return print_lines(lines);
}

int print_check(struct json_t *result)
{
	char size[16];

	printf("sound: %" PRIu64 " disks and snapshots, %s of data and "
	       "tables\n",
	       control_number(result, "disks"),
	       human_size(control_number(result, "bytes"), size));
	return 0;
}

/* ----------------------------------------------------------------- stats */

int print_stats(struct json_t *result)
{
	static const struct column commands[] = {
		{"worker", "WORKER", COLUMN_TEXT},
		{"connections", "CONNECTIONS", COLUMN_COUNT},
		{"reads", "READS", COLUMN_COUNT},
		{"writes", "WRITES", COLUMN_COUNT},
		{"trims", "TRIMS", COLUMN_COUNT},
		{"zeroes", "ZEROES", COLUMN_COUNT},
		{"flushes", "FLUSHES", COLUMN_COUNT},
		{"others", "OTHERS", COLUMN_COUNT},
		{"read", "READ", COLUMN_SIZE},
		{"written", "WRITTEN", COLUMN_SIZE},
		{"errors", "ERRORS", COLUMN_COUNT},
		{"waits", "WAITS", COLUMN_COUNT},
		END,
	};
	static const struct column saves[] = {
		{"name", "SAVE OF", COLUMN_NAME},
		{"state", "STATE", COLUMN_TEXT},
		{"saved-ago", "SAVED BEFORE", COLUMN_SECS},
		{"done", "DONE", COLUMN_SIZE},
		{"all", "OF", COLUMN_SIZE},
		{"file", "FILE", COLUMN_NAME},
		END,
	};
	static const struct column server[] = {
		{"connections", "connections now", COLUMN_COUNT},
		{"accepted", "accepted", COLUMN_COUNT},
		{"turned-away", "turned away", COLUMN_COUNT},
		{"refused", "exports refused", COLUMN_COUNT},
		END,
	};
	int error;

	error = table_print(control_member(result, "workers"), commands);
	putchar('\n');
	if (!error)
		error = pairs_print(control_member(result, "server"), server);
	putchar('\n');
	if (!error)
		error = print_pool(control_member(result, "pool"));
	if (error || control_count(control_member(result, "saves")) == 0)
		return error;
	putchar('\n');
	return table_print(control_member(result, "saves"), saves);
}

/* -------------------------------------------------------------- progress */

static bool on_screen;

void progress_text(const char *text)
{
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r\033[K%s", text);
	fflush(stderr);
	on_screen = true;
}

void progress_print(const struct json_t *progress)
{
	CLEANUP_FREE char *clean = NULL;
	uint64_t done = control_number(progress, "done");
	uint64_t all = control_number(progress, "all");
	const char *what = control_text(progress, "what");

	if (!isatty(STDERR_FILENO))
		return;
	clean = harmless(what ? what : "working");
	progress_text(clean ? clean : "");
	if (done > 0 || all > 0)
		fprintf(stderr, ": %" PRIu64, done);
	if (all > 0)
		fprintf(stderr, " of %" PRIu64, all);
	fflush(stderr);
}

void progress_clear(void)
{
	if (on_screen)
		fputs("\r\033[K", stderr);
	on_screen = false;
}
