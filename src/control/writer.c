/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON, written piece by piece: an answer about many disks needs no tree in
 * memory. See control.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

#define ROOM_LEAST 256u

static void put(struct control_writer *w, const char *bytes, size_t len)
{
	size_t room = w->room ? w->room : ROOM_LEAST;
	char *larger;

	if (w->failed)
		return;
	if (len > CONTROL_ANSWER_MAX - w->len) {
		w->failed = true;
		return;
	}
	while (room <= w->len + len)
		room *= 2;
	if (room != w->room) {
		larger = realloc(w->text, room);
		if (!larger) {
			w->failed = true;
			return;
		}
		w->text = larger;
		w->room = room;
	}
	memcpy(w->text + w->len, bytes, len);
	w->len += len;
	w->text[w->len] = 0;
}

static void begin(struct control_writer *w, const char *key)
{
	if (w->comma)
		put(w, ",", 1);
	w->comma = true;
	if (!key)
		return;
	put(w, "\"", 1);
	put(w, key, strlen(key));
	put(w, "\":", 2);
}

void control_open(struct control_writer *w, const char *key, char bracket)
{
	begin(w, key);
	put(w, &bracket, 1);
	w->depth++;
	w->comma = false;
}

void control_close(struct control_writer *w, char bracket)
{
	put(w, &bracket, 1);
	w->depth--;
	w->comma = true;
}

void control_put_name(struct control_writer *w, const char *key,
		      const void *bytes, size_t len)
{
	char *text = control_name_write(bytes, len), *p, *from;

	begin(w, key);
	if (!text) {
		w->failed = true;
		return;
	}
	put(w, "\"", 1);
	/* Nothing else in it needs escaping. */
	for (from = p = text; *p; p++) {
		if (*p != '"' && *p != '\\')
			continue;
		put(w, from, p - from);
		put(w, "\\", 1);
		from = p;
	}
	put(w, from, p - from);
	put(w, "\"", 1);
	free(text);
}

void control_put_text(struct control_writer *w, const char *key,
		      const char *text)
{
	control_put_name(w, key, text, strlen(text));
}

void control_put_number(struct control_writer *w, const char *key,
			uint64_t number)
{
	char text[24];
	int n;

	/* Readers of JSON have signed numbers. */
	if (number > INT64_MAX)
		number = INT64_MAX;
	begin(w, key);
	n = snprintf(text, sizeof(text), "%" PRIu64, number);
	put(w, text, n);
}

void control_put_truth(struct control_writer *w, const char *key, bool value)
{
	begin(w, key);
	put(w, value ? "true" : "false", value ? 4 : 5);
}

void control_put_json(struct control_writer *w, const char *key,
		      const char *json)
{
	begin(w, key);
	put(w, json, strlen(json));
}

char *control_finish(struct control_writer *w, size_t *len)
{
	char *text;

	put(w, "\n", 1);
	if (w->failed) {
		control_writer_drop(w);
		return NULL;
	}
	text = w->text;
	*len = w->len;
	memset(w, 0, sizeof(*w));
	return text;
}

void control_writer_drop(struct control_writer *w)
{
	free(w->text);
	memset(w, 0, sizeof(*w));
}
