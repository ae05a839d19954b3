/* SPDX-License-Identifier: BSD-3-Clause */
/* Single exports and templates; mistakes. See config.h. */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "config-keys.h"
#include "config-load.h"
#include "log.h"
#include "parse.h"
#include "store.h"

#define ERRORS_MAX 100u

/* -------------------------------------------------------------- mistakes */

void config_error(struct config_errors *errors, const char *format, ...)
{
	char **list, *line = NULL;
	va_list args;

	list = errors->count < ERRORS_MAX
		       ? realloc(errors->lines,
				 (errors->count + 1) * sizeof(*list))
		       : NULL;
	if (list) {
		errors->lines = list;
		va_start(args, format);
		if (vasprintf(&line, format, args) < 0)
			line = NULL;
		va_end(args);
	}
	if (line)
		list[errors->count++] = line;
	else
		errors->more++;
}

unsigned config_errors_total(const struct config_errors *errors)
{
	return errors->count + errors->more;
}

void config_errors_free(struct config_errors *errors)
{
	unsigned i;

	for (i = 0; i < errors->count; i++)
		free(errors->lines[i]);
	free(errors->lines);
	memset(errors, 0, sizeof(*errors));
}

char *config_short(const char *text, char *buf, size_t size)
{
	log_escape(text, strlen(text), buf, size);
	if (strlen(buf) + 4 >= size)
		memcpy(buf + size - 4, "...", 4);
	return buf;
}

/* ----------------------------------------------------------------- names */

const char *config_name_fault(const char *name)
{
	size_t len = strlen(name), i;

	if (len == 0 || len > RAM_NAME_MAX)
		return "a name has 1 to 255 bytes";
	if (strchr(name, ';'))
		return "there is no ; in names, for it begins the session in "
		       "what clients ask for";
	for (i = 0; i < len; i++) {
		if ((unsigned char)name[i] < ' ' || name[i] == 127)
			return "there are no control characters in names";
	}
	return NULL;
}

/* --------------------------------------------------- setting up and copies */

int config_export_init(struct config_export *e, const char *name,
		       const char *where, struct config_errors *errors)
{
	const char *fault = config_name_fault(name);
	char shown[CONFIG_SHORT];

	if (fault) {
		config_error(errors, "%s: export \"%s\": %s", where,
			     config_short(name, shown, sizeof(shown)), fault);
		return -EINVAL;
	}
	memset(e, 0, sizeof(*e));
	e->name = strdup(name);
	e->where = strdup(where);
	if (!e->name || !e->where || config_defaults(CONFIG_EXPORT, e)) {
		config_export_free(e);
		config_error(errors, "%s: no memory", where);
		return -ENOMEM;
	}
	return 0;
}

int config_export_set(struct config_export *e, const char *key,
		      const char *value, struct config_errors *errors)
{
	return config_key_set(CONFIG_EXPORT, e, e->where, key, value, errors);
}

/* A key that means nothing without another. */
static int check_needs(const struct config_export *e, const char *name,
		       struct config_errors *errors)
{
	const char *key = e->label ? "label" : e->files ? "files" : NULL;
	const char *needs = "format";

	if (!key && e->block > 0)
		key = "block";
	if (e->format)
		key = NULL;
	if (!key && e->save_msec > 0 && !e->save) {
		key = "save-every";
		needs = "save";
	}
	if (!key && e->lazy && !e->image && !e->save) {
		key = "load";
		needs = "image";
	}
	/* What is missing was meant to be there, perhaps. */
	if (!key || e->wrong)
		return 0;
	config_error(errors,
		     "%s: export \"%s\": %s means nothing without %s; add "
		     "that, or leave it out",
		     e->where, name, key, needs);
	return -EINVAL;
}

int config_export_check(const struct config_export *e,
			struct config_errors *errors)
{
	char name[CONFIG_SHORT];

	config_short(e->name, name, sizeof(name));
	if (check_needs(e, name, errors))
		return -EINVAL;
	if (e->clone && strcmp(e->clone, e->name) == 0) {
		config_error(errors,
			     "%s: export \"%s\": cannot be a clone of itself; "
			     "name another disk",
			     e->where, name);
		return -EINVAL;
	}
	if (e->quota > 0 && e->guarantee > e->quota) {
		config_error(errors,
			     "%s: export \"%s\": its guarantee is larger than "
			     "its quota; it could never be used up",
			     e->where, name);
		return -EINVAL;
	}
	if (e->quota > 0 && e->fixed && e->size > e->quota) {
		config_error(errors,
			     "%s: export \"%s\": alloc = fixed guarantees all "
			     "of its size, and its quota is smaller; leave "
			     "one of them out",
			     e->where, name);
		return -EINVAL;
	}
	return 0;
}

/* All that is text of its own. */
static char **strings(struct config_export *e, unsigned i)
{
	char **all[] = {&e->name,   &e->where, &e->allow, &e->clone, &e->image,
			&e->format, &e->label, &e->files, &e->save};

	return i < ARRAY_SIZE(all) ? all[i] : NULL;
}

int config_export_copy(struct config_export *to,
		       const struct config_export *from)
{
	char **text;
	bool good = true;
	unsigned i;

	*to = *from;
	to->texts = NULL;
	to->text_count = 0;
	for (i = 0; (text = strings(to, i)); i++) {
		if (*text) {
			*text = strdup(*text);
			good = good && *text;
		}
	}
	if (!good)
		goto fail;
	for (i = 0; i < from->text_count; i++) {
		if (config_text_set(to, from->texts[i].key,
				    from->texts[i].value))
			goto fail;
	}
	return 0;
fail:
	config_export_free(to);
	return -ENOMEM;
}

void config_export_free(struct config_export *e)
{
	char **text;
	unsigned i;

	for (i = 0; i < e->text_count; i++)
		free(e->texts[i].value);
	free(e->texts);
	for (i = 0; (text = strings(e, i)); i++)
		free(*text);
	memset(e, 0, sizeof(*e));
}

/* ------------------------------------------------------ texts of templates */

static struct config_text *text_of(const struct config_export *e,
				   const struct config_key *key)
{
	unsigned i;

	for (i = 0; i < e->text_count; i++) {
		if (e->texts[i].key == key)
			return &e->texts[i];
	}
	return NULL;
}

int config_text_set(struct config_export *e, const struct config_key *key,
		    const char *value)
{
	struct config_text *text = text_of(e, key), *list;
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	if (text) {
		free(text->value);
		text->value = copy;
		return 0;
	}
	list = realloc(e->texts, (e->text_count + 1) * sizeof(*list));
	if (!list) {
		free(copy);
		return -ENOMEM;
	}
	e->texts = list;
	list[e->text_count].key = key;
	list[e->text_count++].value = copy;
	return 0;
}

const char *config_text_get(const struct config_export *e,
			    const struct config_key *key)
{
	const struct config_text *text = text_of(e, key);

	return text ? text->value : "";
}

/* "" if it is not said. */
static const char *said(const struct config_export *e, const char *key)
{
	return config_text_get(e, config_key_find(CONFIG_TEMPLATE, key));
}

/* 0 if it is not said; values have been looked at. */
static uint64_t said_size(const struct config_export *e, const char *key)
{
	uint64_t size;

	return parse_size(said(e, key), &size) == 0 ? size : 0;
}

/* The pattern itself, and what refers to it. */
static int check_pattern(const struct config_export *e, const char *name,
			 struct config_errors *errors)
{
	const char *star = strchr(e->name, '*');

	if (star && strchr(star + 1, '*')) {
		config_error(errors,
			     "%s: template \"%s\": a pattern has one * at most",
			     e->where, name);
		return -EINVAL;
	}
	if (!star && strstr(said(e, "allow"), "%*")) {
		config_error(errors,
			     "%s: template \"%s\": allow has %%*, for which a "
			     "* in the pattern would have to stand",
			     e->where, name);
		return -EINVAL;
	}
	return 0;
}

int config_template_check(const struct config_export *e,
			  struct config_errors *errors)
{
	uint64_t quota = said_size(e, "quota");
	char name[CONFIG_SHORT];
	int result;

	config_short(e->name, name, sizeof(name));
	result = check_pattern(e, name, errors);
	if (quota > 0 && said_size(e, "guarantee") > quota) {
		config_error(errors,
			     "%s: template \"%s\": its guarantee is larger "
			     "than its quota; it could never be used up",
			     e->where, name);
		result = -EINVAL;
	}
	if (strcmp(said(e, "fresh"), "always") == 0 && *said(e, "image") &&
	    !*said(e, "clone")) {
		config_error(errors,
			     "%s: template \"%s\": fresh = always would read "
			     "the image each time; load it as an export, and "
			     "make clones of that",
			     e->where, name);
		result = -EINVAL;
	}
	if (strcmp(said(e, "size"), "from-name") == 0 &&
	    !*said(e, "max-size")) {
		config_error(errors,
			     "%s: template \"%s\": size = from-name needs "
			     "max-size, or clients could ask for any",
			     e->where, name);
		result = -EINVAL;
	}
	return result;
}
