/* SPDX-License-Identifier: BSD-3-Clause */
/* Which keys of a template go together. See config-load.h. */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "config-keys.h"
#include "config-load.h"
#include "parse.h"

/* "" if it is not said. */
static const char *said(const struct config_export *e, const char *key)
{
	return config_text_get(e, config_key_find(CONFIG_TEMPLATE, key));
}

/* What a new disk holds is said once. */
static int check_contents(const struct config_export *e, const char *name,
			  struct config_errors *errors)
{
	static const char *const keys[] = {"clone", "image", "format"};
	const char *first = NULL;
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!*said(e, keys[i]))
			continue;
		if (first) {
			config_error(errors,
				     "%s: template \"%s\": has both %s and %s, "
				     "and a new disk can be made from one; "
				     "leave the other out",
				     e->where, name, first, keys[i]);
			return -EINVAL;
		}
		first = keys[i];
	}
	if (!first && !*said(e, "size")) {
		config_error(errors,
			     "%s: template \"%s\": what are its disks? size, "
			     "clone or image has to say so",
			     e->where, name);
		return -EINVAL;
	}
	return 0;
}

/* A key that means nothing without another. */
static int check_needs(const struct config_export *e, const char *name,
		       struct config_errors *errors)
{
	static const struct {
		const char *key, *needs, *value;
	} rules[] = {
		{"format", "size", NULL},  {"label", "format", NULL},
		{"block", "format", NULL}, {"files", "format", NULL},
		{"load", "image", NULL},   {"max-size", "size", "from-name"},
	};
	int result = 0;
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		const char *key = rules[i].key, *value = rules[i].value;
		const char *other = said(e, rules[i].needs);

		if (!*said(e, key) ||
		    (value ? strcmp(other, value) == 0 : *other != 0))
			continue;
		config_error(errors,
			     "%s: template \"%s\": %s means nothing without "
			     "%s%s%s; add that, or leave it out",
			     e->where, name, key, rules[i].needs,
			     value ? " = " : "", value ? value : "");
		result = -EINVAL;
	}
	return result;
}

int config_check_template(const struct config_export *e,
			  struct config_errors *errors)
{
	uint64_t size, quota;
	char name[CONFIG_SHORT];
	int contents, needs;

	config_short(e->name, name, sizeof(name));
	contents = check_contents(e, name, errors);
	needs = check_needs(e, name, errors);
	if (strcmp(said(e, "alloc"), "fixed") == 0 &&
	    parse_size(said(e, "size"), &size) == 0 &&
	    parse_size(said(e, "quota"), &quota) == 0 && size > quota) {
		config_error(errors,
			     "%s: template \"%s\": alloc = fixed guarantees "
			     "all of its size, and its quota is smaller; leave "
			     "one of them out",
			     e->where, name);
		return -EINVAL;
	}
	return contents ? contents : needs;
}
