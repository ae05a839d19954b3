/* SPDX-License-Identifier: BSD-3-Clause */
/* See renew.h. */
#include "renew.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "disk-fill.h"
#include "reason.h"

static int fail(struct ram_why *why, int error, const char *name)
{
	const char *what = strerror(-error);

	if (error == -ENOSPC)
		what = "the pool has not got the memory for it";
	else if (error == -EROFS)
		what = "it is a snapshot, which never changes";
	else if (error == -EBUSY)
		what = "what it is made of has data behind its size";
	return reason(why, error, "%s: cannot be made anew: %s", name, what);
}

void renew_drop(struct ram_disk *model)
{
	if (!model)
		return;
	ram_disk_delete(model);
	ram_disk_put(model);
}

static int make_empty(struct server *s, const struct config_export *o,
		      const struct ram_disk_spec *spec, ram_progress *progress,
		      void *arg, struct ram_disk **model, struct ram_why *why)
{
	const struct disk_contents contents = {.format = o->format};
	int error = ram_disk_create(s->pool, spec, model);

	if (error)
		return fail(why, error, o->name);
	if (!o->format)
		return 0;
	error = disk_fill(s->pool, *model, o, &contents, progress, arg, why);
	if (error)
		renew_drop(*model);
	return error;
}

int renew_model(struct server *s, const struct config_export *o, uint64_t size,
		ram_progress *progress, void *arg, struct ram_disk **model,
		struct ram_why *why)
{
	static _Atomic uint64_t last;
	char name[40];
	struct ram_disk_spec spec = {
		.name = name,
		.size = o->size > 0 ? o->size : size,
		.state = RAM_TEMPORARY,
	};
	struct ram_disk *source;
	int error;

	/* No other can be called so: clients and commands cannot say it. */
	snprintf(name, sizeof(name), "\001renew-%" PRIu64,
		 atomic_fetch_add(&last, 1));
	if (!o->clone)
		return make_empty(s, o, &spec, progress, arg, model, why);
	error = ram_disk_open(s->pool, o->clone, &source);
	if (error)
		return reason(why, error,
			      "%s: cannot be made anew: %s, of which it is a "
			      "clone, is not there",
			      o->name, o->clone);
	error = ram_disk_clone(source, &spec, 0, model);
	ram_disk_put(source);
	if (error)
		return fail(why, error, o->name);
	if (o->size > 0)
		error = ram_disk_resize(*model, o->size);
	if (error) {
		renew_drop(*model);
		return fail(why, error, o->name);
	}
	return 0;
}

static bool stopping(void *arg, uint64_t done, uint64_t all)
{
	struct server *s = arg;

	(void)done;
	(void)all;
	return exports_stopping(&s->exports);
}

int renew_disk(struct server *server, struct ram_disk *disk,
	       const struct config_export *o, struct ram_disk *model,
	       struct ram_why *why)
{
	struct ram_disk *own = NULL;
	int error;

	if (ram_disk_readonly(disk))
		return fail(why, -EROFS, o->name);
	if (!model) {
		error = renew_model(server, o, ram_disk_size(disk), stopping,
				    server, &own, why);
		if (error)
			return error;
	}
	error = ram_disk_replace(disk, model ? model : own);
	renew_drop(own);
	return error ? fail(why, error, o->name) : 0;
}

int renew_unused(struct server *server, struct export *e,
		 const struct config_export *o, struct ram_disk *model,
		 int (*then)(void *arg, struct ram_disk *disk), void *arg,
		 struct ram_why *why)
{
	struct exports *exports = &server->exports;
	int error = exports_withdraw_unused(exports, e->name, false);

	if (error)
		return error;
	error = renew_disk(server, e->disk, o, model, why);
	/* Of a disk that nobody has open, -EBUSY would say that somebody has. */
	if (error == -EBUSY)
		error = -EFBIG;
	if (!error)
		error = then(arg, e->disk);
	/* It was in the list, where there is room for it still. */
	atomic_fetch_add(&e->refs, 1);
	if (exports_restore(exports, e))
		export_put(exports, e);
	return error;
}
