/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration as the text of a file. See config.h. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "config-keys.h"

/* Whether a name needs quotes to be read again as it is. */
static bool needs_quotes(const char *name)
{
	size_t len = strlen(name);

	return strchr(" \t\"", name[0]) || strchr(" \t", name[len - 1]);
}

/* Whether it would be the same without a word. Addresses replace sockets that
 * were handed over, even those of the default; what a template says stays. */
static bool is_default(const struct config_key *key, const char *text)
{
	return key->initial && strcmp(text, key->initial) == 0 &&
	       key->type != CONFIG_ADDRESSES && key->at != CONFIG_NOWHERE;
}

/* Lines of what is not default. False: no memory. */
static bool write_keys(FILE *out, enum config_section section,
		       const void *holder,
		       bool (*also)(const void *holder, const char *key))
{
	unsigned count, i;
	const struct config_key *list = config_keys(section, &count);

	for (i = 0; i < count; i++) {
		CLEANUP_FREE char *text = config_key_text(&list[i], holder);

		if (!text)
			return false;
		if (!*text || (is_default(&list[i], text) &&
			       !(also && also(holder, list[i].name))))
			continue;
		fprintf(out, "%s = %s\n", list[i].name, text);
	}
	return true;
}

/* It may take back what a disk has. */
static bool alloc_asked(const void *holder, const char *key)
{
	return strcmp(key, "alloc") == 0 &&
	       ((const struct config_export *)holder)->alloc_asked;
}

static bool write_named(FILE *out, enum config_section section,
			const struct config_export *e)
{
	const char *quote = needs_quotes(e->name) ? "\"" : "";

	fprintf(out, "[%s %s%s%s]\n", config_section_words[section], quote,
		e->name, quote);
	return write_keys(out, section, e,
			  section == CONFIG_EXPORT ? alloc_asked : NULL);
}

/* A control socket that was asked for may not be missing. */
static bool asked(const void *holder, const char *key)
{
	return strcmp(key, "control") == 0 &&
	       ((const struct config *)holder)->control_asked;
}

static bool write_all(FILE *out, const struct config *config)
{
	bool good;
	unsigned i;

	fprintf(out, "[server]\n");
	good = write_keys(out, CONFIG_SERVER, config, asked);
	fprintf(out, "\n[pool]\n");
	good = good && write_keys(out, CONFIG_POOL, config, NULL);
	for (i = 0; i < config->export_count; i++) {
		fprintf(out, "\n");
		good = good &&
		       write_named(out, CONFIG_EXPORT, &config->exports[i]);
	}
	for (i = 0; i < config->template_count; i++) {
		fprintf(out, "\n");
		good = good &&
		       write_named(out, CONFIG_TEMPLATE, &config->templates[i]);
	}
	return good;
}

/* What was written into memory; NULL: not all of it. */
static char *finish(FILE *out, char **text, bool good)
{
	good = good && !ferror(out);
	if (fclose(out) == 0 && good)
		return *text;
	free(*text);
	return NULL;
}

char *config_write(const struct config *config)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	return out ? finish(out, &text, write_all(out, config)) : NULL;
}

char *config_write_export(const struct config_export *e)
{
	char *text = NULL;
	size_t len;
	FILE *out;

	if (config_name_fault(e->name))
		return NULL;
	out = open_memstream(&text, &len);
	return out ? finish(out, &text, write_named(out, CONFIG_EXPORT, e))
		   : NULL;
}
