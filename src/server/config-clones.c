/* SPDX-License-Identifier: BSD-3-Clause */
/* What exports have to do with each other: which are clones of which, and that no two
 * are saved to one file. See config.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "config-load.h"

static int by_name(const void *a, const void *b)
{
	const struct config_export *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int same_name(const void *name, const void *e)
{
	return strcmp(name, (*(struct config_export *const *)e)->name);
}

unsigned *config_parents(const struct config *config)
{
	const struct config_export *all = config->exports, **found;
	unsigned n = config->export_count, i;
	CLEANUP_FREE const struct config_export **sorted =
		calloc(n + 1, sizeof(*sorted));
	unsigned *parents = calloc(n + 1, sizeof(*parents));

	if (!sorted || !parents) {
		free(parents);
		return NULL;
	}
	for (i = 0; i < n; i++)
		sorted[i] = &all[i];
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (i = 0; i < n; i++) {
		found = all[i].clone ? bsearch(all[i].clone, sorted, n,
					       sizeof(*sorted), same_name)
				     : NULL;
		parents[i] = found ? (unsigned)(*found - all)
				   : CONFIG_NO_PARENT;
	}
	return parents;
}

/* From `e` on through its ancestors to itself. */
static void tell_loop(const struct config_export *e,
		      struct config_errors *errors)
{
	char name[CONFIG_SHORT], parent[CONFIG_SHORT];

	config_error(errors,
		     "%s: export \"%s\": it is a clone of \"%s\", and that, "
		     "by way of its clone =, one of it; one of them must be "
		     "made otherwise",
		     e->where, config_short(e->name, name, sizeof(name)),
		     config_short(e->clone, parent, sizeof(parent)));
}

int config_check_clones(const struct config *config,
			struct config_errors *errors)
{
	CLEANUP_FREE unsigned *parents = config_parents(config);
	/* In the search from which export each was met first, plus one. */
	CLEANUP_FREE unsigned *met =
		calloc(config->export_count + 1, sizeof(*met));
	unsigned i, at;
	int result = 0;

	if (!parents || !met)
		return -ENOMEM;
	for (i = 0; i < config->export_count; i++) {
		for (at = i; at != CONFIG_NO_PARENT && !met[at];
		     at = parents[at])
			met[at] = i + 1;
		/* Of itself: that has been told already. */
		if (at == CONFIG_NO_PARENT || met[at] != i + 1 ||
		    parents[at] == at)
			continue;
		tell_loop(&config->exports[at], errors);
		result = -EINVAL;
	}
	return result;
}

static int by_save(const void *a, const void *b)
{
	const struct config_export *const *x = a, *const *y = b;

	return strcmp((*x)->save, (*y)->save);
}

int config_check_saves(const struct config *config,
		       struct config_errors *errors)
{
	CLEANUP_FREE const struct config_export **sorted =
		calloc(config->export_count + 1, sizeof(*sorted));
	char name[CONFIG_SHORT], other[CONFIG_SHORT];
	unsigned n = 0, i;
	int result = 0;

	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < config->export_count; i++) {
		if (config->exports[i].save)
			sorted[n++] = &config->exports[i];
	}
	qsort(sorted, n, sizeof(*sorted), by_save);
	for (i = 1; i < n; i++) {
		if (strcmp(sorted[i - 1]->save, sorted[i]->save) != 0)
			continue;
		config_error(errors,
			     "%s: export \"%s\": is saved to the file that "
			     "\"%s\" is saved to; name another",
			     sorted[i]->where,
			     config_short(sorted[i]->name, name, sizeof(name)),
			     config_short(sorted[i - 1]->name, other,
					  sizeof(other)));
		result = -EINVAL;
	}
	return result;
}
