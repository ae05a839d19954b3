/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration file, made of anything. Whatever comes in, there are either
 * mistakes, each a line that is safe to print, or a configuration that is the
 * same when it is written out and read again. If the first byte is 0xff, what
 * comes behind the first 1 are words of the command line. */
#include "fuzz/fuzz.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config-keys.h"

const char fuzz_corpus[] = "config";

#define WORDS_MAX 16u

static int load(const void *text, size_t len, struct config_sources *sources,
		struct config *config, struct config_errors *errors)
{
	int fd = memfd_create("conf", MFD_CLOEXEC), result;
	char path[32];

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, text, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(errors, 0, sizeof(*errors));
	sources->file = path;
	result = config_load(sources, config, errors);
	close(fd);
	return result;
}

static void check_errors(const struct config *config,
			 const struct config_errors *errors)
{
	REQUIRE(errors->count > 0 && errors->count <= 100);
	REQUIRE(errors->usage <= errors->count + errors->more);
	REQUIRE(config->export_count == 0 && config->template_count == 0 &&
		config->listen_count == 0 && !config->control);
	for (unsigned i = 0; i < errors->count; i++) {
		const char *p = errors->lines[i];

		REQUIRE(strlen(p) < 3000);
		for (; *p; p++)
			REQUIRE(*p >= ' ' && *p < 127);
	}
}

static void check_keys(enum config_section section, const void *a,
		       const void *b)
{
	unsigned count;
	const struct config_key *keys = config_keys(section, &count);

	for (unsigned i = 0; i < count; i++) {
		char *one = config_key_text(&keys[i], a);
		char *other = config_key_text(&keys[i], b);

		REQUIRE(one && other && strcmp(one, other) == 0);
		REQUIRE(!*one || config_value_check(&keys[i], one) == 0);
		free(one);
		free(other);
	}
}

static void check_named(enum config_section section,
			const struct config_export *a, unsigned count,
			const struct config_export *b, unsigned other)
{
	REQUIRE(count == other);
	for (unsigned i = 0; i < count; i++) {
		REQUIRE(strcmp(a[i].name, b[i].name) == 0);
		check_keys(section, &a[i], &b[i]);
	}
}

/* Written out and read again. */
static void check_again(const struct config *config)
{
	struct config_sources sources = {0};
	struct config_errors errors;
	struct config again;
	char *text = config_write(config);

	REQUIRE(text);
	REQUIRE(load(text, strlen(text), &sources, &again, &errors) == 0);
	check_keys(CONFIG_SERVER, config, &again);
	check_keys(CONFIG_POOL, config, &again);
	REQUIRE(config->control_asked == again.control_asked);
	REQUIRE(config->listen_count == again.listen_count);
	check_named(CONFIG_EXPORT, config->exports, config->export_count,
		    again.exports, again.export_count);
	check_named(CONFIG_TEMPLATE, config->templates, config->template_count,
		    again.templates, again.template_count);
	config_free(&again);
	free(text);
}

/* Words at the end of the input, each a byte, the option, its text, 0; how many
 * bytes are left for the file. No -l: a comma in an address cannot stand in a
 * file. */
static size_t take_words(char *text, size_t size,
			 struct config_sources *sources,
			 struct config_word words[WORDS_MAX])
{
	static const char options[] = "eompsIS";
	size_t at, begin;

	for (at = 0; at < size && text[at] != '\x1'; at++)
		;
	begin = at;
	while (at < size && sources->word_count < WORDS_MAX) {
		size_t len = strnlen(text + at, size - at);

		if (at + len == size)
			break; /* not ended by a 0 */
		if (len > 1) {
			struct config_word *w = &words[sources->word_count++];

			w->option = options[(unsigned char)text[at + 1] %
					    (sizeof(options) - 1)];
			w->text = text + at + 2;
		}
		at += len + 1;
	}
	return begin;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_word words[WORDS_MAX];
	struct config_sources sources = {.words = words};
	struct config_errors errors;
	struct config config;
	bool has_words = size > 0 && data[0] == 0xff;
	char *text = malloc(size + 1);

	REQUIRE(text);
	data += has_words;
	size -= has_words;
	if (size > 0)
		memcpy(text, data, size);
	if (has_words)
		size = take_words(text, size, &sources, words);
	if (load(text, size, &sources, &config, &errors) == 0) {
		REQUIRE(errors.count == 0 && errors.more == 0);
		check_again(&config);
	} else {
		check_errors(&config, &errors);
	}
	config_free(&config);
	config_errors_free(&errors);
	free(text);
	return 0;
}
