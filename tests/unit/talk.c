/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit/talk.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

/* ------------------------------------------------------------------ bytes */

size_t bytes_of(const char *text, uint8_t *buf, size_t size)
{
	size_t len = 0;

	while (*text) {
		char pair[3] = {0};
		unsigned long repeat = 1;

		if (isspace((unsigned char)*text)) {
			text++;
			continue;
		}
		if (*text == '\'') {
			for (text++; *text != '\''; text++) {
				assert_true(*text && len < size);
				buf[len++] = (uint8_t)*text;
			}
			text++;
			continue;
		}
		pair[0] = text[0];
		pair[1] = text[1];
		assert_true(isxdigit((unsigned char)pair[0]) &&
			    isxdigit((unsigned char)pair[1]));
		text += 2;
		if (*text == '*') {
			char *end;

			repeat = strtoul(text + 1, &end, 10);
			text = end;
		}
		assert_true(repeat <= size - len);
		memset(buf + len, (int)strtoul(pair, NULL, 16), repeat);
		len += repeat;
	}
	return len;
}

/* --------------------------------------------------------------- a server */

static void __attribute__((format(printf, 2, 3)))
note(struct talk *t, const char *format, ...)
{
	size_t at = strlen(t->events);
	va_list args;

	va_start(args, format);
	vsnprintf(t->events + at, sizeof(t->events) - at, format, args);
	va_end(args);
	assert_true(strlen(t->events) < sizeof(t->events) - 1);
}

static void take(struct talk *t)
{
	size_t len;
	const void *out = proto_handshake_output(t->h, &len);

	assert_true(len > 0 && len <= sizeof(t->out) - t->out_len);
	memcpy(t->out + t->out_len, out, len);
	t->out_len += len;
	/* In two parts, so that taking a part is tried as well. */
	proto_handshake_sent(t->h, len / 2);
	proto_handshake_sent(t->h, len - len / 2);
	proto_handshake_output(t->h, &len);
	assert_int_equal(len, 0);
}

static void answer_lookup(struct talk *t)
{
	const struct proto_lookup *lookup = proto_handshake_lookup(t->h);
	struct proto_export export = {
		.size = UINT64_C(1) << 30,
		.flags = PROTO_FLAGS_WRITABLE,
		.block_min = 1,
		.block_preferred = 4096,
		.payload_max = PROTO_PAYLOAD_MAX,
	};

	assert_int_equal(strlen(lookup->name), lookup->name_len);
	note(t, "LOOKUP(%s %s", lookup->option, lookup->name);
	if (lookup->has_session) {
		note(t, " ");
		for (int i = 0; i < 16; i++)
			note(t, "%02x", lookup->session.uuid[i]);
		note(t, ".%llu", (unsigned long long)lookup->session.epoch);
	}
	note(t, ")%s", lookup->secured ? "* " : " ");
	if (strcmp(lookup->name, "disk") == 0 || !lookup->name_len) {
		export.name = "disk";
		export.description = t->setup.description ? t->setup.description
							  : "a disk";
		proto_handshake_found(t->h, &export);
	} else if (strcmp(lookup->name, "ro") == 0) {
		export.size = 4096;
		export.flags = PROTO_FLAGS_READONLY;
		proto_handshake_found(t->h, &export);
	} else if (strcmp(lookup->name, "busy") == 0) {
		proto_handshake_refuse(t->h, NBD_REP_ERR_POLICY, "in use");
	} else if (strcmp(lookup->name, "secret") == 0 && lookup->secured) {
		export.size = 512;
		proto_handshake_found(t->h, &export);
	} else if (strcmp(lookup->name, "secret") == 0) {
		proto_handshake_refuse(t->h, NBD_REP_ERR_TLS_REQD, NULL);
	} else {
		proto_handshake_refuse(t->h, NBD_REP_ERR_UNKNOWN, NULL);
	}
}

static void list_item(struct talk *t, const char *name, const char *text)
{
	if (proto_handshake_list_item(t->h, name, text) == 0)
		return;
	take(t);
	assert_int_equal(proto_handshake_list_item(t->h, name, text), 0);
}

static void answer_list(struct talk *t)
{
	note(t, "LIST ");
	list_item(t, "disk", "a disk");
	list_item(t, "ro", NULL);
	for (unsigned i = 0; i < t->setup.list_count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "more-%u", i);
		list_item(t, name, "one of many");
	}
	proto_handshake_list_end(t->h);
}

static void bitmap(struct talk *t, const char *name)
{
	if (proto_handshake_bitmap(t->h, name) >= 0)
		return;
	take(t);
	assert_true(proto_handshake_bitmap(t->h, name) >= 0);
}

static void answer_bitmaps(struct talk *t)
{
	note(t, "BITMAPS ");
	if (t->setup.only_snapshot) {
		bitmap(t, t->setup.only_snapshot);
	} else {
		bitmap(t, "before");
		bitmap(t, "after");
	}
	for (unsigned i = 0; i < t->setup.snapshot_count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "snapshot-%u", i);
		bitmap(t, name);
	}
	proto_handshake_bitmaps_end(t->h);
}

/* ----------------------------------------------------------- conversation */

/* True: it goes on. */
static bool answer(struct talk *t, enum proto_event event)
{
	switch (event) {
	case PROTO_SEND:
		take(t);
		if (t->setup.stopping)
			proto_handshake_stop(t->h);
		return true;
	case PROTO_STARTTLS:
		note(t, "STARTTLS ");
		proto_handshake_secured(t->h);
		return true;
	case PROTO_LOOKUP:
		answer_lookup(t);
		return true;
	case PROTO_LIST:
		answer_list(t);
		return true;
	case PROTO_BITMAPS:
		answer_bitmaps(t);
		return true;
	case PROTO_READY:
	case PROTO_ABORT:
		note(t, "%s ", proto_event_name(event));
		return false;
	case PROTO_HANGUP:
		note(t, "HANGUP(%s) ", proto_handshake_reason(t->h));
		return false;
	default:
		fail_msg("event %d", (int)event);
		return false;
	}
}

static bool waits_for_caller(enum proto_event event)
{
	return event == PROTO_STARTTLS || event == PROTO_LOOKUP ||
	       event == PROTO_LIST || event == PROTO_BITMAPS;
}

/* What asks is asked again, and uses nothing meanwhile. */
static void ask_again(struct talk *t, enum proto_event event, const uint8_t *in,
		      size_t n)
{
	for (unsigned i = 0; i < t->setup.unanswered && waits_for_caller(event);
	     i++) {
		size_t used = 99;

		assert_int_equal(proto_handshake_feed(t->h, in, n, &used),
				 event);
		assert_int_equal(used, 0);
	}
}

void talk_feed(struct talk *t, const uint8_t *in, size_t n, size_t step)
{
	size_t end = t->used;

	if (!t->h) {
		t->h = proto_handshake_new(t->setup.tls, t->setup.secured);
		assert_non_null(t->h);
	}
	for (;;) {
		/* Bytes behind what has arrived so far must not be read, which
		 * a copy of the right size lets sanitizers see. */
		size_t part = end - t->used, used;
		uint8_t *copy = malloc(part ? part : 1);
		enum proto_event event;

		assert_non_null(copy);
		if (part)
			memcpy(copy, in + t->used, part);
		event = proto_handshake_feed(t->h, copy, part, &used);
		ask_again(t, event, copy, part - used);
		free(copy);
		assert_true(used <= part);
		t->used += used;
		t->last = event;
		if (event == PROTO_MORE) {
			assert_int_equal(used, part);
			if (end == n)
				return;
			end = n - end > step ? end + step : n;
		} else if (!answer(t, event)) {
			return;
		}
	}
}

void talk_end(struct talk *t)
{
	proto_handshake_free(t->h);
	t->h = NULL;
	t->out_len = 0;
	t->used = 0;
	t->events[0] = 0;
}

static void print_bytes(const char *what, const uint8_t *buf, size_t len)
{
	print_error("%s, %zu bytes:", what, len);
	for (size_t i = 0; i < len && i < 2048; i++)
		print_error("%s%02x", i % 4 ? "" : " ", buf[i]);
	print_error("\n");
}

static void compare(struct talk *t, const uint8_t *out, size_t out_len,
		    const char *events, const char *how, size_t where)
{
	size_t len = strlen(t->events);

	if (len)
		t->events[len - 1] = 0;
	if (t->out_len != out_len || memcmp(t->out, out, out_len) != 0) {
		print_bytes("got", t->out, t->out_len);
		print_bytes("not", out, out_len);
		fail_msg("wrong bytes, %s %zu", how, where);
	}
	if (strcmp(t->events, events) != 0)
		fail_msg("events \"%s\" instead of \"%s\", %s %zu", t->events,
			 events, how, where);
}

void talk_check_all(const struct talk_setup *setup, const char *in_text,
		    const char *out_text, const char *events)
{
	static uint8_t in[1 << 16], out[1 << 16];
	static struct talk t;
	size_t in_len = bytes_of(in_text, in, sizeof(in));
	size_t out_len = bytes_of(out_text, out, sizeof(out));

	/* A failed test may have left one. */
	talk_end(&t);
	t.setup = *setup;
	talk_feed(&t, in, in_len, in_len ? in_len : 1);
	compare(&t, out, out_len, events, "whole", 0);
	talk_end(&t);
	talk_feed(&t, in, in_len, 1);
	compare(&t, out, out_len, events, "in steps of", 1);
	talk_end(&t);
	for (size_t cut = 1; cut < in_len && in_len <= 1024; cut++) {
		/* The first part alone, then the rest at once. */
		talk_feed(&t, in, cut, cut);
		if (t.last == PROTO_MORE)
			talk_feed(&t, in, in_len, in_len);
		compare(&t, out, out_len, events, "cut at", cut);
		talk_end(&t);
	}
}

void talk_check(const struct talk_setup *setup, const char *in, const char *out,
		const char *events)
{
	static char all_in[1 << 16], all_out[1 << 16];

	snprintf(all_in, sizeof(all_in), "00000003 %s", in);
	snprintf(all_out, sizeof(all_out), GREETING "%s", out);
	talk_check_all(setup, all_in, all_out, events);
}
