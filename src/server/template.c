/* SPDX-License-Identifier: BSD-3-Clause */
/* See template.h. */
#include "template.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cleanup.h"
#include "config-keys.h"
#include "parse.h"

void template_disk_free(struct template_disk *t)
{
	config_export_free(&t->o);
	free(t->pattern);
	free(t->owner);
	memset(t, 0, sizeof(*t));
}

/* --------------------------------------------------------------- patterns */

/* What a name has in the place of the *, of which there is at most one. */
struct taken {
	const char *text;
	size_t len;
	bool is_own; /* written %*: it has to be the client's own name */
};

static bool pattern_takes(const char *pattern, const char *name, size_t len,
			  struct taken *taken)
{
	const char *star = strchr(pattern, '*');
	size_t head, tail;

	memset(taken, 0, sizeof(*taken));
	if (!star)
		return strlen(pattern) == len &&
		       memcmp(pattern, name, len) == 0;
	taken->is_own = star > pattern && star[-1] == '%';
	head = star - pattern - taken->is_own;
	tail = strlen(star + 1);
	if (len <= head + tail || memcmp(name, pattern, head) != 0 ||
	    memcmp(name + len - tail, star + 1, tail) != 0)
		return false;
	taken->text = name + head;
	taken->len = len - head - tail;
	return true;
}

/* Whether that is what the client is called: by its certificate or key, else by
 * its number or address. */
static bool is_own_name(const struct taken *taken, const struct identity *who)
{
	const char *name;
	unsigned i;

	for (i = 0; i < who->name_count; i++) {
		name = strchr(who->names[i], ':');
		name = name ? name + 1 : who->names[i];
		if (strlen(name) == taken->len &&
		    memcmp(name, taken->text, taken->len) == 0)
			return true;
	}
	if (who->name_count > 0)
		return false;
	name = who->text;
	if (who->local && strncmp(name, "uid:", 4) == 0)
		name += 4;
	return strlen(name) == taken->len &&
	       memcmp(name, taken->text, taken->len) == 0;
}

/* ---------------------------------------------------------------- its keys */

/* Those that an export has not got, and where they go. */
static const struct {
	const char *key;
	size_t at;
} own_keys[] = {
	{"expire", offsetof(struct template_disk, expire_msec)},
	{"fresh", offsetof(struct template_disk, fresh)},
	{"max-size", offsetof(struct template_disk, max_size)},
	{"max-disks", offsetof(struct template_disk, max_disks)},
	{"max-per-identity", offsetof(struct template_disk, max_each)},
};

static int set_own_keys(struct template_disk *t,
			const struct config_export *from)
{
	struct config_key key;
	const char *text;
	unsigned i;
	int error = 0;

	for (i = 0; !error && i < ARRAY_SIZE(own_keys); i++) {
		key = *config_key_find(CONFIG_TEMPLATE, own_keys[i].key);
		text = config_text_get(from, config_key_find(CONFIG_TEMPLATE,
							     own_keys[i].key));
		if (!*text)
			text = key.initial;
		key.at = own_keys[i].at;
		error = text ? config_value_set(&key, t, text) : 0;
	}
	return error;
}

/* All that it has in common with exports; allow stands for others there. */
static int set_common_keys(struct template_disk *t,
			   const struct config_export *from,
			   const struct taken *taken)
{
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE char *allow = NULL;
	const struct config_key *key;
	unsigned i;
	int error = 0;

	if (taken->text && !(text = strndup(taken->text, taken->len)))
		return -ENOMEM;
	for (i = 0; !error && i < from->text_count; i++) {
		const struct config_text *said = &from->texts[i];

		key = config_key_find(CONFIG_EXPORT, said->key->name);
		if (!key)
			continue;
		if (strcmp(key->name, "size") == 0 &&
		    strcmp(said->value, "from-name") == 0) {
			t->size_in_name = true;
		} else if (strcmp(key->name, "allow") == 0) {
			error = access_fill(said->value, text ? text : "",
					    &allow);
			if (!error)
				error = config_value_set(key, &t->o, allow);
		} else {
			error = config_value_set(key, &t->o, said->value);
		}
	}
	return error;
}

/* -EINVAL: what stands for * cannot be in a rule. */
static int fill(struct template_disk *t, const struct config_export *from,
		const char *name, size_t len, const struct taken *taken)
{
	struct config_errors errors = {0};
	CLEANUP_FREE char *own = strndup(name, len);
	int error;

	memset(t, 0, sizeof(*t));
	if (!own)
		return -ENOMEM;
	error = config_export_init(&t->o, own, from->where, &errors);
	config_errors_free(&errors);
	if (error)
		return error;
	t->pattern = strdup(from->name);
	error = t->pattern ? set_common_keys(t, from, taken) : -ENOMEM;
	if (!error)
		error = set_own_keys(t, from);
	if (error)
		template_disk_free(t);
	return error;
}

/* ----------------------------------------------------------------- finding */

static bool says_size_from_name(const struct config_export *e)
{
	const struct config_key *key = config_key_find(CONFIG_TEMPLATE, "size");

	return strcmp(config_text_get(e, key), "from-name") == 0;
}

/* NAME@SIZE: the length of NAME, and the size; else all of it, and 0. */
static size_t split(const char *name, uint64_t *size)
{
	const char *at = strrchr(name, '@');

	*size = 0;
	if (!at || parse_size(at + 1, size) || *size == 0) {
		*size = 0;
		return strlen(name);
	}
	return at - name;
}

/* Of NAME@SIZE@SIZE a disk would be made that NAME@SIZE finds later. */
static bool has_size(const char *name, size_t len)
{
	const char *at = memrchr(name, '@', len);
	uint64_t size;
	char text[32];
	size_t n;

	if (!at)
		return false;
	n = name + len - at - 1;
	if (n >= sizeof(text))
		return false;
	memcpy(text, at + 1, n);
	text[n] = 0;
	return parse_size(text, &size) == 0 && size > 0;
}

static int too_large(struct template_disk *t, struct ram_why *why)
{
	snprintf(why->text, sizeof(why->text),
		 "a size of at most %" PRIu64
		 " bytes may be named here (max-size)",
		 t->max_size);
	template_disk_free(t);
	return -ERANGE;
}

static int take(const struct config_export *from, const char *name,
		const struct identity *who, struct template_disk *t,
		struct ram_why *why)
{
	bool from_name = says_size_from_name(from);
	uint64_t size = 0;
	size_t len = from_name ? split(name, &size) : strlen(name);
	char owner[IDENTITY_OWNER_MAX];
	struct access_list *allow = NULL;
	struct taken taken;
	char wrong[8];
	int error;

	if (!pattern_takes(from->name, name, len, &taken) ||
	    (size > 0 && has_size(name, len)))
		return -ENOENT;
	if ((taken.is_own && !is_own_name(&taken, who)) ||
	    !identity_owner(who, owner, sizeof(owner)))
		return -EACCES;
	error = fill(t, from, name, len, &taken);
	if (error)
		return error == -EINVAL ? -EACCES : error;
	t->owner = strdup(owner);
	error = t->owner ? 0 : -ENOMEM;
	if (!error && t->o.allow)
		error = access_parse(t->o.allow, &allow, wrong, sizeof(wrong));
	if (!error && access_of(allow, who) == ACCESS_NONE)
		error = -EINVAL;
	access_free(allow);
	if (error) {
		template_disk_free(t);
		return error == -EINVAL ? -EACCES : error;
	}
	if (from_name && size > 0) {
		if (t->max_size > 0 && size > t->max_size)
			return too_large(t, why);
		t->o.size = size;
	}
	return 0;
}

int template_find(const struct config *config, const char *name,
		  const struct identity *who, struct template_disk *t,
		  struct ram_why *why)
{
	int error = -ENOENT;
	unsigned i;

	memset(t, 0, sizeof(*t));
	if (config_name_fault(name))
		return -ENOENT;
	for (i = 0; error == -ENOENT && i < config->template_count; i++)
		error = take(&config->templates[i], name, who, t, why);
	return error;
}

int template_again(const struct config *config, const char *pattern,
		   const char *name, struct template_disk *t)
{
	const struct config_export *from;
	struct taken taken;
	unsigned i;

	for (i = 0; i < config->template_count; i++) {
		from = &config->templates[i];
		if (strcmp(from->name, pattern) == 0 &&
		    pattern_takes(pattern, name, strlen(name), &taken))
			return fill(t, from, name, strlen(name), &taken);
	}
	return -ENOENT;
}
