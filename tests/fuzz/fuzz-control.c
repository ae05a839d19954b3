/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes by the control socket, made of anything, in pieces of any length.
 * Whatever it is:
 * - lines are the same however they are cut, and never longer than they may be;
 * - what is called a request has a command, and what it says in names gives
 *   bytes that have one form;
 * - what is called an answer, written out, is JSON again. */
#include "fuzz/fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

const char fuzz_corpus[] = "control";

#define MOST 300 /* so that inputs can be too long */

static void check_name(const char *text)
{
	size_t len, again;
	char *bytes, *form, *back;

	if (!text)
		return;
	bytes = control_name_read(text, &len);
	if (!bytes)
		return;
	REQUIRE(strlen(bytes) == len);
	form = control_name_write(bytes, len);
	REQUIRE(form);
	for (const char *p = form; *p; p++)
		REQUIRE((unsigned char)*p >= ' ' && *p != 127);
	back = control_name_read(form, &again);
	REQUIRE(back && again == len && memcmp(back, bytes, len) == 0);
	free(back);
	free(form);
	free(bytes);
}

static void check_request(const char *line, size_t len)
{
	struct control_request r;
	const char *why = NULL;
	void *at;
	char *text;

	if (control_request_read(line, len, &r, &why)) {
		REQUIRE(why && *why);
		return;
	}
	REQUIRE(r.command);
	check_name(r.command);
	at = r.args ? control_next(r.args, NULL) : NULL;
	for (; at; at = control_next(r.args, at)) {
		check_name(control_key_at(at));
		check_name(control_text(control_value_at(at), NULL));
		text = control_value_text(control_value_at(at));
		free(text);
		control_number(r.args, control_key_at(at));
	}
	control_request_free(&r);
}

static void check_answer(const char *line, size_t len)
{
	struct control_answer a, b;
	const char *why = NULL;
	size_t n;
	char *json, *again;

	if (control_answer_read(line, len, &a, &why)) {
		REQUIRE(why && *why);
		return;
	}
	if (a.kind == CONTROL_FAILED) {
		check_name(a.error);
	} else {
		json = control_dump(a.value, false);
		REQUIRE(json);
		again = control_ok(json, &n);
		REQUIRE(again);
		REQUIRE(control_answer_read(again, n - 1, &b, &why) == 0);
		control_answer_free(&b);
		free(again);
		free(json);
	}
	control_answer_free(&a);
}

/* Returns a sum over all lines. */
static uint64_t feed(const uint8_t *data, size_t size, size_t piece, bool look)
{
	struct control_lines l;
	uint64_t sum = 0;
	size_t n, len, i;
	char *line;
	int got = 0;

	control_lines_init(&l, MOST);
	while (size > 0 && got >= 0) {
		n = size < piece ? size : piece;
		REQUIRE(control_lines_add(&l, data, n) == 0);
		data += n;
		size -= n;
		while ((got = control_lines_next(&l, &line, &len)) == 1) {
			REQUIRE(len <= MOST);
			for (i = 0; i < len; i++)
				sum = sum * 31 + (uint8_t)line[i] + 1;
			sum = sum * 31 + 999;
			if (!look)
				continue;
			check_request(line, len);
			check_answer(line, len);
		}
	}
	control_lines_free(&l);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t sum;

	if (size < 1)
		return 0;
	sum = feed(data + 1, size - 1, size, true);
	REQUIRE(feed(data + 1, size - 1, 1, false) == sum);
	REQUIRE(feed(data + 1, size - 1, data[0] % 64 + 1, false) == sum);
	return 0;
}
