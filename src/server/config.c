/* SPDX-License-Identifier: BSD-3-Clause */
/* Files and the command line -> struct config. What comes later replaces what
 * came before, key by key: defaults, the main file, conf.d in order of names, the
 * command line. See config.h. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "check.h"
#include "cleanup.h"
#include "config-keys.h"
#include "config-load.h"
#include "ini.h"

#define KEYS_MAX 64u /* of one section */
#define WHERE 1100u  /* bytes of "FILE:LINE" */

struct loader {
	struct config *config;
	struct config_errors *errors;
	char file[1024];     /* for messages */
	unsigned turn;	     /* number of the file, or of the command line */
	unsigned line_of[2]; /* of [server] and [pool] in this file; 0: none */
	bool sections;	     /* there has been one */

	/* The present section; no holder: none, or one to be passed over. */
	enum config_section section;
	void *holder;
	unsigned seen[KEYS_MAX]; /* lines of its keys; 0: not there */
	bool passing;
};

/* ------------------------------------------------------------------ keys */

static void unknown_key(enum config_section section, const char *where,
			const char *key, struct config_errors *errors)
{
	char hint[CONFIG_SHORT], shown[CONFIG_SHORT];

	config_key_hint(section, key, hint, sizeof(hint));
	config_error(errors, "%s: there is no key \"%s\" in [%s]%s", where,
		     config_short(key, shown, sizeof(shown)),
		     config_section_words[section],
		     *hint ? hint : "; see nbdramd --help");
}

int config_key_set(enum config_section section, void *holder, const char *where,
		   const char *key, const char *value,
		   struct config_errors *errors)
{
	const struct config_key *found = config_key_find(section, key);
	char wanted[256], shown[CONFIG_SHORT], wrong[256] = "";
	int error;

	if (!found) {
		unknown_key(section, where, key, errors);
		return -EINVAL;
	}
	error = config_value_set(found, holder, value);
	if (error && found->type == CONFIG_ACCESS && section != CONFIG_TEMPLATE)
		access_parse(value, NULL, wrong, sizeof(wrong));
	if (error == -ENOMEM)
		config_error(errors, "%s: no memory", where);
	else if (error == -EEXIST)
		config_error(
			errors, "%s: %s = %s: one address stands there twice",
			where, key, config_short(value, shown, sizeof(shown)));
	else if (error)
		config_error(errors, "%s: %s = %s: %s is wanted%s%s%s", where,
			     key, config_short(value, shown, sizeof(shown)),
			     config_value_wanted(found, wanted, sizeof(wanted)),
			     strstr(value, " #") || strstr(value, " ;")
				     ? "; a comment stands on a line of its own"
				     : "",
			     *wrong ? "; " : "", wrong);
	if (!error && section == CONFIG_EXPORT && strcmp(key, "alloc") == 0)
		((struct config_export *)holder)->alloc_asked = true;
	return error;
}

static void forget_listen(struct config *config)
{
	while (config->listen_count > 0)
		free(config->listen[--config->listen_count]);
	free(config->listen_where);
	config->listen_where = NULL;
}

/* A key of [server] or [pool]. */
static void set_config(struct loader *l, enum config_section section,
		       const char *where, const char *key, const char *value)
{
	if (config_key_set(section, l->config, where, key, value, l->errors))
		return;
	if (section == CONFIG_SERVER && strcmp(key, "control") == 0)
		l->config->control_asked = true;
}

/* --------------------------------------------------------------- exports */

/* The one of that name, or a new one. NULL: told. *twice: it has been there in
 * this turn. */
static struct config_export *get_export(struct loader *l, bool template,
					const char *name, const char *where,
					bool *twice)
{
	struct config *c = l->config;
	struct config_export **list = template ? &c->templates : &c->exports;
	unsigned *count = template ? &c->template_count : &c->export_count, i;
	struct config_export *e;

	for (i = 0; i < *count; i++) {
		e = &(*list)[i];
		if (strcmp(e->name, name) == 0) {
			*twice = e->seen_turn == l->turn;
			e->seen_turn = l->turn;
			return e;
		}
	}
	*twice = false;
	if (*count == CONFIG_EXPORTS_MAX) {
		config_error(l->errors, "%s: more than %u of them", where,
			     CONFIG_EXPORTS_MAX);
		return NULL;
	}
	/* Room for as many again whenever it is used up. */
	if ((*count & (*count - 1)) == 0) {
		e = realloc(*list, (*count ? 2 * *count : 1) * sizeof(*e));
		if (!e) {
			config_error(l->errors, "%s: no memory", where);
			return NULL;
		}
		*list = e;
	}
	e = &(*list)[*count];
	if (config_export_init(e, name, where, l->errors))
		return NULL;
	e->seen_turn = l->turn;
	++*count;
	return e;
}

/* ----------------------------------------------------------------- files */

static const char *section_word(void *arg, unsigned i)
{
	(void)arg;
	return config_section_words[i];
}

static void unknown_section(struct loader *l, const char *where,
			    const char *word)
{
	const char *near =
		config_nearest(word, CONFIG_SECTIONS, section_word, NULL);
	char shown[CONFIG_SHORT];

	config_short(word, shown, sizeof(shown));
	if (near)
		config_error(l->errors,
			     "%s: there is no section [%s]; did you mean "
			     "[%s]?",
			     where, shown, near);
	else
		config_error(l->errors,
			     "%s: there is no section [%s]; [server], [pool], "
			     "[export NAME] and [template PATTERN] are",
			     where, shown);
}

/* [server] or [pool]. */
static void begin_single(struct loader *l, const struct ini_line *line,
			 const char *where)
{
	unsigned *before = &l->line_of[l->section == CONFIG_POOL];

	if (*line->name)
		config_error(l->errors, "%s: [%s] takes no name", where,
			     line->word);
	else if (*before)
		config_error(l->errors,
			     "%s: [%s] stands in line %u already; put its "
			     "keys there",
			     where, line->word, *before);
	*before = line->number;
	l->holder = l->config;
}

/* [export NAME] or [template PATTERN]. */
static void begin_named(struct loader *l, const struct ini_line *line,
			const char *where)
{
	struct config_export *e;
	char shown[CONFIG_SHORT];
	bool twice;

	if (!*line->name) {
		config_error(l->errors, "%s: [%s] needs a name, as in [%s %s]",
			     where, line->word, line->word,
			     l->section == CONFIG_EXPORT ? "scratch"
							 : "host-*");
		return;
	}
	e = get_export(l, l->section == CONFIG_TEMPLATE, line->name, where,
		       &twice);
	if (e && twice)
		config_error(l->errors,
			     "%s: [%s %s] stands in line %u already; put its "
			     "keys there",
			     where, line->word,
			     config_short(line->name, shown, sizeof(shown)),
			     e->seen_line);
	if (e && !twice)
		e->seen_line = line->number;
	l->holder = e;
}

static void begin_section(struct loader *l, const struct ini_line *line,
			  const char *where)
{
	unsigned i;

	memset(l->seen, 0, sizeof(l->seen));
	l->holder = NULL;
	l->passing = true;
	l->sections = true;
	for (i = 0; i < CONFIG_SECTIONS; i++) {
		if (strcmp(line->word, config_section_words[i]) == 0)
			break;
	}
	if (i == CONFIG_SECTIONS) {
		unknown_section(l, where, line->word);
		return;
	}
	l->section = i;
	if (i == CONFIG_SERVER || i == CONFIG_POOL)
		begin_single(l, line, where);
	else
		begin_named(l, line, where);
}

static void read_key(struct loader *l, const struct ini_line *line,
		     const char *where)
{
	const struct config_key *key;
	char shown[CONFIG_SHORT];
	unsigned count, *seen;

	if (!l->holder) {
		if (!l->passing)
			config_error(
				l->errors,
				"%s: the key \"%s\" stands in front of "
				"all sections; put it below [server], "
				"[pool] or [export NAME]",
				where,
				config_short(line->word, shown, sizeof(shown)));
		return;
	}
	key = config_key_find(l->section, line->word);
	seen = key ? &l->seen[key - config_keys(l->section, &count)] : NULL;
	if (seen && *seen) {
		config_error(l->errors, "%s: \"%s\" is set in line %u already",
			     where, line->word, *seen);
		return;
	}
	if (seen)
		*seen = line->number;
	if (key && key->type == CONFIG_ADDRESSES) {
		forget_listen(l->config);
		/* Without memory for that the address has to do. */
		l->config->listen_where = strdup(where);
	}
	if (l->holder == l->config)
		set_config(l, l->section, where, line->word, line->value);
	else if (config_key_set(l->section, l->holder, where, line->word,
				line->value, l->errors))
		((struct config_export *)l->holder)->wrong = true;
}

static void on_line(void *arg, const struct ini_line *line)
{
	struct loader *l = arg;
	char where[WHERE];

	snprintf(where, sizeof(where), "%s:%u", l->file, line->number);
	switch (line->kind) {
	case INI_SECTION:
		begin_section(l, line, where);
		break;
	case INI_KEY:
		read_key(l, line, where);
		break;
	case INI_WRONG:
		config_error(l->errors, "%s: %s", where, line->value);
		break;
	}
}

/* One file, read once. */
static void read_file(struct loader *l, const char *path, bool main_file)
{
	unsigned before = config_errors_total(l->errors);
	CLEANUP_FREE char *text = NULL;
	size_t len;

	text = config_file_read(path, &len, l->errors);
	if (!text)
		return;
	config_short(path, l->file, sizeof(l->file));
	l->turn++;
	memset(l->line_of, 0, sizeof(l->line_of));
	l->holder = NULL;
	l->passing = l->sections = false;
	ini_parse(text, len, on_line, l);
	/* Cut off, most likely; as it is it would take all exports away. */
	if (main_file && !l->sections &&
	    config_errors_total(l->errors) == before)
		config_error(l->errors,
			     "%s: there is nothing in it; [server] alone would "
			     "do",
			     l->file);
}

static void read_files(struct loader *l, const char *file)
{
	unsigned count, i;
	char **paths;

	read_file(l, file, true);
	config_files_beside(file, &paths, &count, l->errors);
	for (i = 0; i < count; i++)
		read_file(l, paths[i], false);
	config_files_free(paths, count);
}

/* ---------------------------------------------------------- command line */

/* Cut "KEY=VALUE" in two; KEY alone stands for a yes. */
static const char *cut(char *pair)
{
	char *value = strchr(pair, '=');

	if (!value)
		return "yes";
	*value = 0;
	return value + 1;
}

/* The next KEY=VALUE of a list with commas between; NULL: there is none. What is
 * behind allow= and has no = in it, and is no key, is another rule of it. */
static char *next_pair(char **rest)
{
	char *pair, *end, *more, word[32];
	size_t len;

	*rest += strspn(*rest, ",");
	pair = *rest;
	if (!*pair)
		return NULL;
	end = pair + strcspn(pair, ",");
	while (*end && strncmp(pair, "allow=", 6) == 0) {
		more = end + 1;
		len = strcspn(more, ",");
		if (memchr(more, '=', len))
			break;
		snprintf(word, sizeof(word), "%.*s", (int)len, more);
		if (len < sizeof(word) && config_key_find(CONFIG_EXPORT, word))
			break;
		end = more + len;
	}
	*rest = *end ? end + 1 : end;
	*end = 0;
	return pair;
}

/* -e NAME,KEY=VALUE... */
static void word_export(struct loader *l, char *text)
{
	char *pair, *keys = text + strcspn(text, ",");
	char where[CONFIG_SHORT + 8], shown[CONFIG_SHORT];
	struct config_export *e;
	const char *value;
	bool twice;

	if (*keys)
		*keys++ = 0;
	config_short(text, shown, sizeof(shown));
	snprintf(where, sizeof(where), "-e %s", shown);
	e = get_export(l, false, text, where, &twice);
	if (!e)
		return;
	if (twice)
		config_error(l->errors, "%s: export \"%s\" is named twice",
			     where, shown);
	while ((pair = next_pair(&keys))) {
		value = cut(pair);
		config_key_set(CONFIG_EXPORT, e, where, pair, value, l->errors);
	}
}

/* SIZE alone: the disk "default". */
static void word_size(struct loader *l, const char *text)
{
	const struct config_key *key = config_key_find(CONFIG_EXPORT, "size");
	struct config_export *e;
	char shown[CONFIG_SHORT];
	bool twice;

	if (config_value_check(key, text)) {
		config_error(l->errors,
			     "\"%s\" is no size for a disk; 512M, 16G and 2T "
			     "are",
			     config_short(text, shown, sizeof(shown)));
		return;
	}
	e = get_export(l, false, "default", "SIZE", &twice);
	if (!e)
		return;
	if (twice)
		config_error(l->errors, "SIZE: export \"default\" is named "
					"twice");
	config_value_set(key, e, text);
	e->is_default = true;
}

/* -o KEY=VALUE: [server] or [pool]. */
static void word_key(struct loader *l, char *pair)
{
	const char *value = cut(pair);
	enum config_section section = CONFIG_SERVER;
	char hint[CONFIG_SHORT];

	/* Where it is, or where it seems to be meant. */
	if (config_key_find(CONFIG_POOL, pair))
		section = CONFIG_POOL;
	else if (!config_key_find(CONFIG_SERVER, pair) &&
		 !*config_key_hint(CONFIG_SERVER, pair, hint, sizeof(hint)))
		section = CONFIG_POOL;
	set_config(l, section, "-o", pair, value);
}

/* One address as it is, with all commas in it. */
static void word_listen(struct loader *l, const char *text)
{
	char shown[CONFIG_SHORT];
	int error = config_listen_add(l->config, text);

	if (error == -ENOMEM)
		config_error(l->errors, "-l: no memory");
	else if (error == -EEXIST)
		config_error(l->errors, "-l %s: is given twice",
			     config_short(text, shown, sizeof(shown)));
	else if (error)
		config_error(l->errors,
			     "-l %s: no address; HOST:PORT, [IPV6]:PORT, :PORT "
			     "and unix:PATH are, with a path of 1 to 107 bytes",
			     config_short(text, shown, sizeof(shown)));
}

static void apply_word(struct loader *l, char option, char *text)
{
	switch (option) {
	case 'e':
		word_export(l, text);
		break;
	case 'o':
		word_key(l, text);
		break;
	case 'l':
		word_listen(l, text);
		break;
	case 'm':
		set_config(l, CONFIG_POOL, "-m", "size", text);
		break;
	case 'p':
		set_config(l, CONFIG_POOL, "-p", "path", text);
		break;
	case 's':
		set_config(l, CONFIG_SERVER, "-s", "control", text);
		break;
	case 'I':
		l->config->insecure = true;
		break;
	case 'S':
		word_size(l, text);
		break;
	}
}

static bool is_listen(const struct config_word *word)
{
	return word->option == 'l' ||
	       (word->option == 'o' && strncmp(word->text, "listen", 6) == 0 &&
		(!word->text[6] || word->text[6] == '='));
}

static void apply_words(struct loader *l, const struct config_sources *sources)
{
	unsigned before = config_errors_total(l->errors), i;
	bool listens = false;

	l->turn++;
	for (i = 0; i < sources->word_count; i++) {
		CLEANUP_FREE char *text = strdup(sources->words[i].text);

		if (!text) {
			config_error(l->errors, "no memory");
			continue;
		}
		/* The first one takes the place of what files say. */
		if (!listens && is_listen(&sources->words[i])) {
			forget_listen(l->config);
			listens = true;
		}
		apply_word(l, sources->words[i].option, text);
	}
	l->errors->usage += config_errors_total(l->errors) - before;
}

/* ------------------------------------------------------------------ all */

static void check_exports(struct loader *l)
{
	const struct config_export *e, *first = NULL;
	char shown[CONFIG_SHORT], other[CONFIG_SHORT];
	unsigned i;

	for (i = 0; i < l->config->export_count; i++) {
		e = &l->config->exports[i];
		config_export_check(e, l->errors);
		if (!e->is_default)
			continue;
		if (first)
			config_error(
				l->errors,
				"%s: export \"%s\": there can be one "
				"default, and \"%s\" is it (%s)",
				e->where,
				config_short(e->name, shown, sizeof(shown)),
				config_short(first->name, other, sizeof(other)),
				first->where);
		else
			first = e;
	}
	if (config_check_clones(l->config, l->errors) == -ENOMEM ||
	    config_check_saves(l->config, l->errors) == -ENOMEM)
		config_error(l->errors, "no memory for a configuration");
}

static void check_templates(struct loader *l)
{
	unsigned i;

	for (i = 0; i < l->config->template_count; i++) {
		config_template_check(&l->config->templates[i], l->errors);
		/* What is missing was meant to be there, perhaps. */
		if (!l->config->templates[i].wrong)
			config_check_template(&l->config->templates[i],
					      l->errors);
	}
}

/* Clients and nbdramctl at one socket. */
static void check_sockets(struct loader *l)
{
	const struct config *c = l->config;
	char shown[CONFIG_SHORT];
	unsigned i;

	for (i = 0; i < c->listen_count; i++) {
		if (strncmp(c->listen[i], "unix:", 5) != 0 ||
		    strcmp(c->listen[i] + 5, c->control) != 0)
			continue;
		config_error(l->errors,
			     "%s%s%s: is the control socket, too; take another "
			     "path for one of them (listen, control)",
			     c->listen_where ? c->listen_where : "",
			     c->listen_where ? ": " : "",
			     config_short(c->listen[i], shown, sizeof(shown)));
	}
}

int config_load(const struct config_sources *sources, struct config *config,
		struct config_errors *errors)
{
	struct loader l = {.config = config, .errors = errors};
	unsigned before = config_errors_total(errors), so_far;

	memset(config, 0, sizeof(*config));
	if (config_defaults(CONFIG_SERVER, config) ||
	    config_defaults(CONFIG_POOL, config)) {
		config_error(errors, "no memory for a configuration");
		config_free(config);
		return -ENOMEM;
	}
	if (sources->file)
		read_files(&l, sources->file);
	apply_words(&l, sources);
	so_far = config_errors_total(errors);
	check_exports(&l);
	check_templates(&l);
	check_sockets(&l);
	if (!sources->file)
		errors->usage += config_errors_total(errors) - so_far;
	if (config_errors_total(errors) == before)
		return 0;
	config_free(config);
	return -EINVAL;
}

void config_free(struct config *config)
{
	unsigned i;

	for (i = 0; i < config->export_count; i++)
		config_export_free(&config->exports[i]);
	for (i = 0; i < config->template_count; i++)
		config_export_free(&config->templates[i]);
	forget_listen(config);
	free(config->exports);
	free(config->templates);
	free(config->listen);
	free(config->control);
	free(config->pool_path);
	free(config->tls_dir);
	free(config->tls_ciphers);
	memset(config, 0, sizeof(*config));
}
