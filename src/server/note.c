/* SPDX-License-Identifier: BSD-3-Clause */
/* See note.h. */
#include "note.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "nbdram-note 1\n"

/* --------------------------------------------------------------- reading */

/* Digits alone, as note_write() makes them. */
static bool read_count(const char *text, unsigned *value)
{
	size_t n = strlen(text);

	if (n == 0 || n > 9 || strspn(text, "0123456789") != n)
		return false;
	*value = strtoul(text, NULL, 10);
	return true;
}

static bool read_yes(const char *text, bool *value)
{
	*value = strcmp(text, "yes") == 0;
	return *value || strcmp(text, "no") == 0;
}

/* False: not ours, or not a value that we would have written. */
static bool read_line(const char *line, struct note *note)
{
	if (strncmp(line, "by-command=", 11) == 0)
		return read_yes(line + 11, &note->by_command);
	if (strncmp(line, "readonly=", 9) == 0)
		return read_yes(line + 9, &note->readonly);
	if (strncmp(line, "default=", 8) == 0)
		return read_yes(line + 8, &note->is_default);
	if (strncmp(line, "detect-zeroes=", 14) == 0)
		return read_yes(line + 14, &note->detect_zeroes);
	if (strncmp(line, "max-connections=", 16) == 0)
		return read_count(line + 16, &note->max_connections);
	if (strcmp(line, "writers=many") == 0)
		return note->many_writers = true;
	if (strncmp(line, "allow=", 6) == 0) {
		/* Whether it can be understood or not: what cannot lets nobody
		 * in. */
		strcpy(note->allow, line + 6);
		return true;
	}
	return false;
}

void note_read(const void *bytes, uint32_t len, struct note *note)
{
	char text[RAM_NOTE_MAX + 1], *line = text + strlen(HEAD), *end;
	size_t kept = 0, n;

	memset(note, 0, sizeof(*note));
	if (len == 0)
		return;
	if (len > RAM_NOTE_MAX || len < strlen(HEAD) || memchr(bytes, 0, len) ||
	    memcmp(bytes, HEAD, strlen(HEAD)) != 0 ||
	    ((const char *)bytes)[len - 1] != '\n') {
		note->foreign = true;
		return;
	}
	memcpy(text, bytes, len);
	text[len] = 0;
	for (; *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = 0;
		if (read_line(line, note))
			continue;
		n = end - line;
		memcpy(note->other + kept, line, n);
		note->other[kept + n] = '\n';
		kept += n + 1;
	}
	note->other[kept] = 0;
}

/* --------------------------------------------------------------- writing */

__attribute__((format(printf, 3, 4))) static void put(char *buf, size_t *len,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	*len += vsnprintf(buf + *len, 256, format, args);
	va_end(args);
}

int note_write(const struct note *note, char buf[RAM_NOTE_MAX])
{
	char text[256 * 7]; /* each line of ours is short, but for allow */
	size_t len = 0, other = strlen(note->other);
	size_t allow = strlen(note->allow);

	if (note->foreign)
		return -EEXIST;
	put(text, &len, "%s", HEAD);
	if (note->by_command)
		put(text, &len, "by-command=yes\n");
	if (note->readonly)
		put(text, &len, "readonly=yes\n");
	if (note->is_default)
		put(text, &len, "default=yes\n");
	if (note->detect_zeroes)
		put(text, &len, "detect-zeroes=yes\n");
	if (note->max_connections > 0)
		put(text, &len, "max-connections=%u\n", note->max_connections);
	if (note->many_writers)
		put(text, &len, "writers=many\n");
	if (len + other + (allow ? allow + strlen("allow=\n") : 0) >
	    RAM_NOTE_MAX)
		return -ENOSPC;
	memcpy(buf, text, len);
	if (allow > 0) {
		memcpy(buf + len, "allow=", 6);
		memcpy(buf + len + 6, note->allow, allow);
		buf[len + 6 + allow] = '\n';
		len += allow + 7;
	}
	memcpy(buf + len, note->other, other);
	return len + other;
}

bool note_same(const struct note *a, const struct note *b)
{
	return a->by_command == b->by_command && a->readonly == b->readonly &&
	       a->is_default == b->is_default &&
	       a->detect_zeroes == b->detect_zeroes &&
	       a->many_writers == b->many_writers &&
	       a->max_connections == b->max_connections &&
	       a->foreign == b->foreign && strcmp(a->allow, b->allow) == 0 &&
	       strcmp(a->other, b->other) == 0;
}

/* ----------------------------------------------------------------- disks */

void note_load(struct ram_disk *disk, struct note *note)
{
	struct ram_disk_info info;

	ram_disk_info(disk, NULL, 0, &info);
	note_read(info.note, info.note_len, note);
}

int note_save(struct ram_disk *disk, const struct note *note)
{
	char buf[RAM_NOTE_MAX];
	int len = note_write(note, buf);

	return len < 0 ? len : ram_disk_note(disk, buf, len);
}

void note_settings(const struct note *note, struct config_export *settings)
{
	memset(settings, 0, sizeof(*settings));
	settings->readonly = note->readonly;
	settings->is_default = note->is_default;
	settings->detect_zeroes = note->detect_zeroes;
	settings->max_connections = note->max_connections;
	settings->many_writers = note->many_writers;
	settings->allow = *note->allow ? (char *)note->allow : NULL;
}
