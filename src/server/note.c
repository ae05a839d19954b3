/* SPDX-License-Identifier: BSD-3-Clause */
/* See note.h. */
#include "note.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

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

static bool read_text(const char *text, char *to, size_t size)
{
	size_t n = strlen(text);

	if (n == 0 || n >= size)
		return false;
	memcpy(to, text, n + 1);
	return true;
}

static bool read_seconds(const char *text, uint64_t *value)
{
	size_t n = strlen(text);

	if (n == 0 || n > 18 || strspn(text, "0123456789") != n)
		return false;
	*value = strtoull(text, NULL, 10);
	return true;
}

static bool read_session(const char *text, struct note *note)
{
	uint8_t id[sizeof(note->session)];
	unsigned i;

	if (strlen(text) != 2 * sizeof(id) ||
	    strspn(text, "0123456789abcdef") != 2 * sizeof(id))
		return false;
	for (i = 0; i < sizeof(id); i++)
		id[i] = parse_hex_digit(text[2 * i]) << 4 |
			parse_hex_digit(text[2 * i + 1]);
	memcpy(note->session, id, sizeof(id));
	return note->in_session = true;
}

/* What a template says of it. */
static bool read_template_line(const char *line, struct note *note)
{
	if (strncmp(line, "template=", 9) == 0)
		return read_text(line + 9, note->template,
				 sizeof(note->template));
	if (strncmp(line, "owner=", 6) == 0)
		return read_text(line + 6, note->owner, sizeof(note->owner));
	if (strncmp(line, "session=", 8) == 0)
		return read_session(line + 8, note);
	if (strncmp(line, "unused-since=", 13) == 0)
		return read_seconds(line + 13, &note->unused_since);
	return false;
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
	return read_template_line(line, note);
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

#define TEXT_MAX (2 * RAM_NOTE_MAX)

/* Each line is far shorter than RAM_NOTE_MAX; what is too long together is seen by
 * the length. */
__attribute__((format(printf, 3, 4))) static void put(char *buf, size_t *len,
						      const char *format, ...)
{
	va_list args;

	if (*len > RAM_NOTE_MAX)
		return;
	va_start(args, format);
	*len += vsnprintf(buf + *len, TEXT_MAX - *len, format, args);
	va_end(args);
}

static void put_template(const struct note *note, char *buf, size_t *len)
{
	unsigned i;

	if (*note->template)
		put(buf, len, "template=%s\n", note->template);
	if (*note->owner)
		put(buf, len, "owner=%s\n", note->owner);
	if (note->in_session) {
		put(buf, len, "session=");
		for (i = 0; i < sizeof(note->session); i++)
			put(buf, len, "%02x", note->session[i]);
		put(buf, len, "\n");
	}
	if (note->unused_since > 0)
		put(buf, len, "unused-since=%" PRIu64 "\n", note->unused_since);
}

int note_write(const struct note *note, char buf[RAM_NOTE_MAX])
{
	char text[TEXT_MAX];
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
	put_template(note, text, &len);
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
	       strcmp(a->template, b->template) == 0 &&
	       strcmp(a->owner, b->owner) == 0 &&
	       a->unused_since == b->unused_since &&
	       a->in_session == b->in_session &&
	       memcmp(a->session, b->session, sizeof(a->session)) == 0 &&
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
