/* SPDX-License-Identifier: BSD-3-Clause */
/* The note in a disk's slot: what is written is read again, unknown lines are
 * kept, and nothing that may be found there does any harm. */
#include "unit/unit.h"

#include <errno.h>
#include <stdlib.h>

#include "note.h"

static void read_text(const char *text, struct note *note)
{
	note_read(text, strlen(text), note);
}

static void write_text(const struct note *note, const char *want)
{
	char buf[RAM_NOTE_MAX];
	int len = note_write(note, buf);

	assert_int_equal(len, strlen(want));
	assert_memory_equal(buf, want, len);
}

static void round_trip(void **state)
{
	static const char all[] =
		"nbdram-note 1\nby-command=yes\nreadonly=yes\n"
		"default=yes\ndetect-zeroes=yes\nmax-connections=4\n";
	struct config_export settings;
	struct note note;

	(void)state;
	note_read(NULL, 0, &note);
	assert_false(note.by_command || note.foreign);
	write_text(&note, "nbdram-note 1\n");
	read_text(all, &note);
	assert_true(note.by_command && note.readonly && note.is_default);
	assert_int_equal(note.max_connections, 4);
	write_text(&note, all);
	note_settings(&note, &settings);
	assert_true(settings.readonly && settings.is_default);
	assert_true(settings.detect_zeroes);
	assert_int_equal(settings.max_connections, 4);
	assert_null(settings.name);
}

/* What templates say of a disk. */
static void of_templates(void **state)
{
	static const char all[] =
		"nbdram-note 1\nwriters=many\ntemplate=host-*\n"
		"owner=cert:a, \\x0ab\n"
		"session=00112233445566778899aabbccddeeff\n"
		"unused-since=1790000000\nallow=any\n";
	static const char wrong[] =
		"nbdram-note 1\nallow=any\ntemplate=\nowner=\n"
		"session=0011\nsession=00112233445566778899aabbccddeefg\n"
		"unused-since=\nunused-since=-1\n"
		"unused-since=1234567890123456789\n";
	char text[RAM_NOTE_MAX];
	struct note note;

	(void)state;
	read_text(all, &note);
	assert_string_equal(note.template, "host-*");
	assert_string_equal(note.owner, "cert:a, \\x0ab");
	assert_true(note.in_session && note.session[15] == 0xff);
	assert_true(note.unused_since == 1790000000);
	write_text(&note, all);
	read_text(wrong, &note);
	assert_true(!*note.template && !*note.owner && !note.in_session);
	assert_true(note.unused_since == 0);
	write_text(&note, wrong);
	/* Longer than any is: kept as it is, and nobody's. */
	memset(text, 'x', sizeof(text));
	memcpy(text, "nbdram-note 1\nowner=", 20);
	text[sizeof(text) - 1] = '\n';
	note_read(text, sizeof(text), &note);
	assert_true(!*note.owner && !note.foreign);
}

/* A later release may have written them; so may a mistake. */
static void unknown_lines(void **state)
{
	struct note note;

	(void)state;
	read_text("nbdram-note 1\nowner=cert:17\nby-command=yes\n\n"
		  "readonly=perhaps\nmax-connections=-1\n"
		  "max-connections=4294967296\nby-command\n",
		  &note);
	assert_true(note.by_command);
	assert_false(note.readonly || note.foreign);
	assert_int_equal(note.max_connections, 0);
	note.by_command = false;
	write_text(&note, "nbdram-note 1\nowner=cert:17\n\nreadonly=perhaps\n"
			  "max-connections=-1\nmax-connections=4294967296\n"
			  "by-command\n");
}

static void foreign(void **state)
{
	static const char *const texts[] = {
		"x",
		"nbdram-note 2\nby-command=yes\n",
		"nbdram-note 1",
		"nbdram-note 1\nby-command=yes",
		"\n",
		"nbdram-note 10\n",
	};
	char buf[RAM_NOTE_MAX], zero[] = "nbdram-note 1\nby-command=yes\n\0\n";
	struct note note;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		read_text(texts[i], &note);
		assert_true(note.foreign);
		assert_false(note.by_command);
		assert_int_equal(note_write(&note, buf), -EEXIST);
	}
	note_read(zero, sizeof(zero) - 1, &note);
	assert_true(note.foreign);
	note_read(buf, RAM_NOTE_MAX + 1, &note);
	assert_true(note.foreign);
}

/* As large as can be: it is kept, and there is no room for more. */
static void full(void **state)
{
	char text[RAM_NOTE_MAX], buf[RAM_NOTE_MAX];
	struct note note;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "nbdram-note 1\n", 14);
	text[sizeof(text) - 1] = '\n';
	note_read(text, sizeof(text), &note);
	assert_false(note.foreign);
	assert_int_equal(note_write(&note, buf), sizeof(text));
	assert_memory_equal(buf, text, sizeof(text));
	note.by_command = true;
	assert_int_equal(note_write(&note, buf), -ENOSPC);
}

/* Any bytes: what is written of them reads the same again. */
static void any_bytes(void **state)
{
	static const char letters[] = "\n\n=yesno-by-commandreadlfutmxin1\xff";
	const char *seed = getenv("NBDRAM_TEST_SEED");
	char text[300], once[RAM_NOTE_MAX], twice[RAM_NOTE_MAX];
	struct note note;
	int len, again;

	(void)state;
	srandom(seed ? atoi(seed) : 1);
	for (int round = 0; round < 20000; round++) {
		size_t n = 14 + random() % (sizeof(text) - 14);

		memcpy(text, "nbdram-note 1\n", 14);
		for (size_t i = 14; i < n; i++)
			text[i] = letters[random() % (sizeof(letters) - 1)];
		note_read(text, n, &note);
		if (note.foreign)
			continue;
		len = note_write(&note, once);
		assert_true(len > 0);
		note_read(once, len, &note);
		again = note_write(&note, twice);
		assert_int_equal(len, again);
		assert_memory_equal(once, twice, len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),	 cmocka_unit_test(of_templates),
		cmocka_unit_test(unknown_lines), cmocka_unit_test(foreign),
		cmocka_unit_test(full),		 cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
