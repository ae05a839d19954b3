/* SPDX-License-Identifier: BSD-3-Clause */
/* See ini.h. */
#include "ini.h"

#include <stdbool.h>
#include <string.h>

#define BLANKS " \t"

/* Cut blanks at both ends, in place. */
static char *trim(char *text)
{
	size_t len;

	text += strspn(text, BLANKS);
	len = strlen(text);
	while (len > 0 && strchr(BLANKS, text[len - 1]))
		len--;
	text[len] = 0;
	return text;
}

/* Is there anything in it that no editor would write? */
static bool has_control(const char *text)
{
	for (; *text; text++) {
		if (((unsigned char)*text < ' ' && *text != '\t') ||
		    *text == 127)
			return true;
	}
	return false;
}

static void wrong(struct ini_line *line, const char *what)
{
	line->kind = INI_WRONG;
	line->value = what;
}

/* What is between [ and ]. */
static void split_head(struct ini_line *line, char *text)
{
	size_t len = strcspn(text, BLANKS);
	char *name = text + len;

	if (*name) {
		*name++ = 0;
		name = trim(name);
	}
	if (!*text) {
		wrong(line, "a section without a name");
		return;
	}
	len = strlen(name);
	if (*name == '"') {
		if (len < 2 || name[len - 1] != '"') {
			wrong(line, "no \" at the end of the name");
			return;
		}
		name[len - 1] = 0;
		name++;
	}
	line->kind = INI_SECTION;
	line->word = text;
	line->name = name;
}

static void split_key(struct ini_line *line, char *text)
{
	char *value = strchr(text, '=');

	if (!value) {
		wrong(line, "neither [SECTION] nor KEY = VALUE; a comment "
			    "begins with #");
		return;
	}
	*value++ = 0;
	line->kind = INI_KEY;
	line->word = trim(text);
	line->value = trim(value);
	if (!*line->word)
		wrong(line, "there is no key in front of =");
}

/* One line, changed in place. False: nothing that counts. */
static bool split(struct ini_line *line, char *text)
{
	size_t len = strlen(text);

	if (len > 0 && text[len - 1] == '\r')
		text[--len] = 0;
	if (has_control(text)) {
		wrong(line, "a control character; only text is wanted here");
		return true;
	}
	text = trim(text);
	len = strlen(text);
	if (len == 0 || *text == '#' || *text == ';')
		return false;
	if (*text != '[') {
		split_key(line, text);
	} else if (text[len - 1] != ']') {
		wrong(line, strchr(text, ']')
				    ? "something behind [SECTION]; a comment "
				      "stands on a line of its own"
				    : "no ] at the end of the section's name");
	} else {
		text[len - 1] = 0;
		split_head(line, trim(text + 1));
	}
	return true;
}

/* Marks that editors put in front: that of UTF-8 means nothing, the others
 * that every second byte will be 0. */
static size_t skip_mark(const char *text, size_t len, const char **what)
{
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		return 3;
	if (len >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 ||
			 memcmp(text, "\xfe\xff", 2) == 0))
		*what = "UTF-16; save it as UTF-8";
	return 0;
}

void ini_parse(const char *text, size_t len,
	       void (*seen)(void *arg, const struct ini_line *line), void *arg)
{
	const char *not_text = NULL;
	size_t at = skip_mark(text, len, &not_text), n;
	struct ini_line line = {0};
	char buf[INI_LINE_MAX + 1];
	const char *end;

	for (; at < len && !not_text; at += n + 1) {
		end = memchr(text + at, '\n', len - at);
		n = end ? (size_t)(end - text) - at : len - at;
		line.number++;
		if (memchr(text + at, 0, n)) {
			not_text = "a byte of value 0; this is no text file";
			break;
		}
		if (n > INI_LINE_MAX) {
			wrong(&line, "longer than 4095 bytes");
			seen(arg, &line);
			continue;
		}
		memcpy(buf, text + at, n);
		buf[n] = 0;
		if (split(&line, buf))
			seen(arg, &line);
	}
	if (not_text) {
		line.number += line.number == 0;
		wrong(&line, not_text);
		seen(arg, &line);
	}
}
