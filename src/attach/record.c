/* SPDX-License-Identifier: BSD-3-Clause */
/* See record.h. One table says what is in it. */
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "parse.h"

enum kind {
	TEXT,
	NUMBER,
	SIGNED,
	TRUTH,
	BYTES
};

struct field {
	const char *key;
	enum kind kind;
	size_t at, size;
	uint64_t most; /* of a NUMBER or SIGNED */
	bool status;
};

#define AT(member)                              \
	offsetof(struct attach_record, member), \
		sizeof(((struct attach_record *)NULL)->member)

static const struct field fields[] = {
	{"uri", TEXT, AT(wish.uri), 0, false},
	{"wish-device", SIGNED, AT(wish.device), INT32_MAX, false},
	{"readonly", TRUTH, AT(wish.readonly), 0, false},
	{"wish-connections", NUMBER, AT(wish.connections),
	 ATTACH_CONNECTIONS_MOST, false},
	{"wish-timeout", SIGNED, AT(wish.timeout), 86400, false},
	{"give-up", NUMBER, AT(wish.give_up), INT32_MAX, false},
	{"phase", NUMBER, AT(phase), ATTACH_FAILED, false},
	{"index", SIGNED, AT(index), INT32_MAX, false},
	{"target", TEXT, AT(target), 0, false},
	{"identifier", TEXT, AT(identifier), 0, false},
	{"session", BYTES, AT(session.uuid), 0, false},
	{"epoch", NUMBER, AT(session.epoch), UINT64_MAX, false},
	{"size", NUMBER, AT(size), INT64_MAX, false},
	{"block", NUMBER, AT(block), UINT32_MAX, false},
	{"flags", NUMBER, AT(flags), UINT16_MAX, false},
	{"connections", NUMBER, AT(connections), ATTACH_CONNECTIONS_MOST,
	 false},
	{"timeout", NUMBER, AT(timeout), 86400, false},
	{"payload", NUMBER, AT(payload), UINT32_MAX, false},
	{"identity", TRUTH, AT(has_identity), 0, false},
	{"uuid", TEXT, AT(uuid), 0, false},
	{"gen", NUMBER, AT(gen), UINT64_MAX, false},
	{"tls", TEXT, AT(tls), 0, false},
	{"since", NUMBER, AT(since), UINT64_MAX, false},
	{"fresh", TRUTH, AT(fresh), 0, true},
	{"live", NUMBER, AT(live), UINT32_MAX, true},
	{"away", NUMBER, AT(away), UINT64_MAX, true},
	{"trouble", TEXT, AT(trouble), 0, true},
};

void attach_record_clear(struct attach_record *r)
{
	memset(r, 0, sizeof(*r));
	r->index = -1;
	r->wish.device = -1;
	r->wish.timeout = -1;
	r->wish.give_up = ATTACH_GIVE_UP_DEFAULT;
}

const char *attach_phase_text(enum attach_phase phase)
{
	switch (phase) {
	case ATTACH_MAKING:
		return "being attached";
	case ATTACH_ATTACHED:
		return "attached";
	case ATTACH_FAILED:
		return "given up";
	}
	return "?";
}

static uint64_t number_of(const struct field *f, const void *member)
{
	switch (f->size) {
	case 2:
		return *(const uint16_t *)member;
	case 4:
		return *(const uint32_t *)member;
	default:
		return *(const uint64_t *)member;
	}
}

static void set_number(const struct field *f, void *member, uint64_t value)
{
	switch (f->size) {
	case 2:
		*(uint16_t *)member = value;
		break;
	case 4:
		*(uint32_t *)member = value;
		break;
	default:
		*(uint64_t *)member = value;
		break;
	}
}

static size_t write_value(const struct field *f, const void *member, char *text,
			  size_t room)
{
	const uint8_t *bytes = member;
	size_t i;

	switch (f->kind) {
	case TEXT:
		return snprintf(text, room, "%s", (const char *)member);
	case NUMBER:
		return snprintf(text, room, "%" PRIu64, number_of(f, member));
	case SIGNED:
		return snprintf(text, room, "%d", *(const int *)member);
	case TRUTH:
		return snprintf(text, room, "%d", *(const bool *)member);
	case BYTES:
		for (i = 0; i < f->size; i++)
			snprintf(text + 2 * i, room - 2 * i, "%02x", bytes[i]);
		return 2 * f->size;
	}
	return 0;
}

size_t attach_record_write(const struct attach_record *r, bool status,
			   char *text)
{
	const size_t room = ATTACH_RECORD_TEXT_MOST;
	size_t at = 0, i;

	/* All texts together are shorter than the room. */
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].status && !status)
			continue;
		at += snprintf(text + at, room - at, "%s=", fields[i].key);
		at += write_value(&fields[i], (const char *)r + fields[i].at,
				  text + at, room - at);
		at += snprintf(text + at, room - at, "\n");
	}
	return at;
}

/* Texts are of one line and of printable characters. */
static int read_text(const struct field *f, void *member, const char *value)
{
	const char *c;

	if (strlen(value) >= f->size)
		return -EINVAL;
	for (c = value; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			return -EINVAL;
	memcpy(member, value, strlen(value) + 1);
	return 0;
}

static int read_number(const struct field *f, void *member, const char *value)
{
	const bool minus = f->kind == SIGNED && *value == '-';
	const char *digits = value + minus;
	uint64_t number;
	char *end;

	if (*digits < '0' || *digits > '9')
		return -EINVAL;
	errno = 0;
	number = strtoull(digits, &end, 10);
	if (errno || *end || number > f->most)
		return -EINVAL;
	if (f->kind == SIGNED)
		*(int *)member = minus ? -1 : (int)number;
	else
		set_number(f, member, number);
	return 0;
}

static int read_bytes(const struct field *f, void *member, const char *value)
{
	uint8_t *bytes = member;
	size_t i;
	int high, low;

	if (strlen(value) != 2 * f->size)
		return -EINVAL;
	for (i = 0; i < f->size; i++) {
		high = parse_hex_digit(value[2 * i]);
		low = parse_hex_digit(value[2 * i + 1]);
		if (high < 0 || low < 0)
			return -EINVAL;
		bytes[i] = high << 4 | low;
	}
	return 0;
}

static int read_value(const struct field *f, void *member, const char *value)
{
	switch (f->kind) {
	case TEXT:
		return read_text(f, member, value);
	case NUMBER:
	case SIGNED:
		return read_number(f, member, value);
	case TRUTH:
		return parse_bool(value, member);
	case BYTES:
		return read_bytes(f, member, value);
	}
	return -EINVAL;
}

int attach_record_read(char *text, struct attach_record *r)
{
	char *line, *rest = NULL, *value;
	size_t i;

	attach_record_clear(r);
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		value = strchr(line, '=');
		if (!value)
			return -EINVAL;
		*value++ = 0;
		for (i = 0; i < ARRAY_SIZE(fields); i++)
			if (strcmp(fields[i].key, line) == 0 &&
			    read_value(&fields[i], (char *)r + fields[i].at,
				       value))
				return -EINVAL;
	}
	return 0;
}
