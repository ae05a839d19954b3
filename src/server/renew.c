/* SPDX-License-Identifier: BSD-3-Clause */
/* See renew.h. */
#include "renew.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
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

/* What it is to become, beside it: a disk that no restart finds again. */
static int make_model(struct server *s, const struct config_export *o,
		      uint64_t size, struct ram_disk **model,
		      struct ram_why *why)
{
	static _Atomic uint64_t last;
	char name[40];
	struct ram_disk_spec spec = {
		.name = name,
		.size = size,
		.state = RAM_TEMPORARY,
	};
	struct ram_disk *source;
	int error;

	/* No other can be called so: clients and commands cannot say it. */
	snprintf(name, sizeof(name), "\001renew-%" PRIu64,
		 atomic_fetch_add(&last, 1));
	if (!o->clone) {
		error = ram_disk_create(s->pool, &spec, model);
		return error ? fail(why, error, o->name) : 0;
	}
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
		ram_disk_delete(*model);
		ram_disk_put(*model);
		return fail(why, error, o->name);
	}
	return 0;
}

int renew_disk(struct server *server, struct ram_disk *disk,
	       const struct config_export *o, struct ram_why *why)
{
	uint64_t size = o->size > 0 ? o->size : ram_disk_size(disk);
	struct ram_disk *model;
	int error;

	if (ram_disk_readonly(disk))
		return fail(why, -EROFS, o->name);
	error = make_model(server, o, size, &model, why);
	if (error)
		return error;
	error = ram_disk_replace(disk, model);
	ram_disk_delete(model);
	ram_disk_put(model);
	return error ? fail(why, error, o->name) : 0;
}

int renew_unused(struct server *server, struct export *e,
		 const struct config_export *o,
		 int (*then)(void *arg, struct ram_disk *disk), void *arg,
		 struct ram_why *why)
{
	struct exports *exports = &server->exports;
	int error = exports_withdraw_unused(exports, e->name, false);

	if (error)
		return error;
	error = renew_disk(server, e->disk, o, why);
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
