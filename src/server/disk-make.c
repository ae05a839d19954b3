/* SPDX-License-Identifier: BSD-3-Clause */
/* See disk-make.h. */
#include "disk-make.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "disk-fill.h"
#include "log.h"

/* How often a long start says how far it is. */
#define TELL_SECONDS 2

static uint64_t seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

void disk_taking_begin(struct disk_taking *t, struct exports *exports,
		       const char *name, const struct disks_watch *watch)
{
	t->exports = exports;
	t->name = name;
	t->what = "of its memory are there";
	t->watch = watch;
	t->began = t->told = seconds();
}

bool disk_taking(void *arg, uint64_t done, uint64_t all)
{
	struct disk_taking *t = arg;
	uint64_t now = seconds();

	if (exports_stopping(t->exports))
		return true;
	if (t->watch && t->watch->progress(t->watch->arg, done, all))
		return true;
	if (now - t->told < TELL_SECONDS)
		return false;
	t->told = now;
	log_info("export %s: %" PRIu64 " of %" PRIu64 " MiB %s", t->name,
		 done >> 20, all >> 20, t->what);
	return false;
}

static void tell_given_up(const struct config_export *o,
			  struct config_errors *errors)
{
	config_error(errors,
		     "%s: export %s: given up before all of its memory was "
		     "there",
		     o->where, o->name);
}

static int fail_size(const struct ram_disk *disk, const struct config_export *o,
		     int error, unsigned clients, struct config_errors *errors)
{
	uint64_t now = ram_disk_size(disk);

	if (error == -ETXTBSY)
		config_error(
			errors,
			"%s: export %s: has %" PRIu64
			" bytes, and %u client%s it open; %" PRIu64
			" would cut it underneath, so disconnect first, or "
			"say size = %" PRIu64,
			o->where, o->name, now, clients,
			clients == 1 ? " has" : "s have", o->size, now);
	else if (error == -EBUSY)
		config_error(errors,
			     "%s: export %s: has %" PRIu64
			     " bytes and data behind %" PRIu64
			     "; trim it, or leave size as it was",
			     o->where, o->name, now, o->size);
	else if (error == -EROFS)
		config_error(errors,
			     "%s: export %s: is a snapshot of %" PRIu64
			     " bytes, which never changes; leave size out",
			     o->where, o->name, now);
	else if (error == -ECANCELED)
		tell_given_up(o, errors);
	else if (error == -ENOSPC)
		config_error(errors,
			     "%s: export %s: the pool has not got the memory "
			     "it is to guarantee with %" PRIu64
			     " bytes; make the pool larger (-m)",
			     o->where, o->name, o->size);
	else if (error)
		config_error(errors,
			     "%s: export %s: cannot be given %" PRIu64
			     " bytes: %s",
			     o->where, o->name, o->size, strerror(-error));
	return error;
}

int disk_reserve(struct exports *exports, struct ram_disk *disk,
		 const struct config_export *o, const struct disks_watch *watch,
		 struct config_errors *errors)
{
	struct disk_taking taken;
	int error;

	if (o->size <= ram_disk_size(disk))
		return 0;
	disk_taking_begin(&taken, exports, o->name, watch);
	error = ram_disk_reserve(disk, o->size, disk_taking, &taken);
	return error ? fail_size(disk, o, error, 0, errors) : 0;
}

int disk_take(struct exports *exports, struct ram_disk *disk,
	      const struct config_export *o, const struct disks_watch *watch,
	      struct config_errors *errors)
{
	uint64_t now = ram_disk_size(disk);
	unsigned clients = 0;
	int error;

	if (o->size == 0 || o->size == now)
		return 0;
	error = disk_reserve(exports, disk, o, watch, errors);
	if (error)
		return error;
	error = o->size < now ? exports_cut(exports, disk, o->size, &clients)
			      : ram_disk_resize(disk, o->size);
	return error ? fail_size(disk, o, error, clients, errors) : 0;
}

/* What a new disk may be told on the command line, and how. */
static void tell_size(const struct config_export *o,
		      struct config_errors *errors)
{
	bool words = o->where[0] == '-'; /* of the command line */

	config_error(errors,
		     "%s: export %s: there is no such disk yet; say how large "
		     "it is to be, as in %s%s%ssize=16G",
		     o->where, o->name, words ? "-e " : "",
		     words ? o->name : "", words ? "," : "");
}

static void tell_failed(struct ram_pool *pool, const struct config_export *o,
			int error, struct config_errors *errors)
{
	struct ram_usage usage;

	if (error == -ECANCELED) {
		tell_given_up(o, errors);
		return;
	}
	if (error != -ENOSPC) {
		config_error(errors, "%s: export %s: cannot be made: %s",
			     o->where, o->name, strerror(-error));
		return;
	}
	ram_pool_usage(pool, &usage);
	config_error(errors,
		     "%s: export %s: the pool of %" PRIu64
		     " MiB has not got the memory it is to guarantee; "
		     "make the pool larger (-m) or use alloc=thin",
		     o->where, o->name, usage.size >> 20);
}

static void tell_parent(const struct config_export *o,
			struct config_errors *errors)
{
	config_error(errors,
		     "%s: export %s: clone = %s: there is no such disk, in the "
		     "pool or in the configuration",
		     o->where, o->name, o->clone);
}

int disk_try(const struct config_export *o, bool parent,
	     struct config_errors *errors)
{
	struct disk_contents contents;

	disk_contents(o, &contents);
	if (o->clone && !parent && !contents.saved)
		tell_parent(o, errors);
	else if (!o->clone && !contents.file && o->size == 0)
		tell_size(o, errors);
	else
		return disk_contents_try(o, errors);
	return -EINVAL;
}

static int make_clone(struct exports *exports, struct ram_pool *pool,
		      const struct config_export *o,
		      const struct disks_watch *watch,
		      const struct ram_disk_spec *spec, struct ram_disk **disk,
		      struct config_errors *errors)
{
	struct ram_disk *parent;
	int error = ram_disk_open(pool, o->clone, &parent);

	if (error) {
		tell_parent(o, errors);
		return error;
	}
	error = ram_disk_clone(parent, spec, 0, disk);
	ram_disk_put(parent);
	if (error) {
		tell_failed(pool, o, error, errors);
		return error;
	}
	error = disk_take(exports, *disk, o, watch, errors);
	if (error) {
		ram_disk_delete(*disk);
		ram_disk_put(*disk);
	}
	return error;
}

/* Nobody finds it before all of it is there, a restart neither. */
static int make_filled(struct exports *exports, struct ram_pool *pool,
		       const struct config_export *o,
		       const struct disk_contents *contents,
		       enum ram_state state, const struct disks_watch *watch,
		       struct ram_disk **disk, struct config_errors *errors)
{
	bool filled = disk_is_filled(contents);
	struct disk_taking taken;
	struct ram_disk_spec spec = {
		.name = o->name,
		.size = o->size ? o->size : 1,
		.fixed = o->size && o->fixed,
		.quota = o->quota,
		.guarantee = o->size ? o->guarantee : 0,
		.state = filled ? RAM_MAKING : state,
		.progress = disk_taking,
		.arg = &taken,
	};
	struct ram_why why = {"it cannot be kept in the pool"};
	char text[DISK_CONTENTS_TEXT];
	int error;

	disk_taking_begin(&taken, exports, o->name, watch);
	error = ram_disk_create(pool, &spec, disk);
	if (error) {
		tell_failed(pool, o, error, errors);
		return error;
	}
	if (taken.told > taken.began)
		log_info("export %s: all of its memory is there, after %" PRIu64
			 " s",
			 o->name, seconds() - taken.began);
	if (!filled)
		return 0;
	taken.what = "of what is to be in it are there";
	error = disk_fill(pool, *disk, o, contents, disk_taking, &taken, &why);
	if (!error && state != RAM_MAKING)
		error = ram_disk_state(*disk, state);
	if (!error) {
		log_info("export %s: %s", o->name,
			 disk_contents_text(contents, text));
		return 0;
	}
	config_error(errors, "%s: export %s: %s", o->where, o->name, why.text);
	ram_disk_delete(*disk);
	ram_disk_put(*disk);
	return error;
}

int disk_make(struct exports *exports, struct ram_pool *pool,
	      const struct config_export *o, enum ram_state state,
	      const struct disks_watch *watch, struct ram_disk **disk,
	      struct config_errors *errors)
{
	struct ram_disk_spec spec = {
		.name = o->name,
		.fixed = o->fixed,
		.quota = o->quota,
		.guarantee = o->guarantee,
		.state = state,
	};
	struct disk_contents contents;

	disk_contents(o, &contents);
	if (o->clone && !contents.saved)
		return make_clone(exports, pool, o, watch, &spec, disk, errors);
	if (o->size == 0 && !contents.file) {
		tell_size(o, errors);
		return -EINVAL;
	}
	return make_filled(exports, pool, o, &contents, state, watch, disk,
			   errors);
}

void disk_compare_parent(struct ram_pool *pool, struct ram_disk *disk,
			 const struct config_export *o,
			 struct config_errors *lines)
{
	struct ram_disk_info parent, info;
	struct ram_disk *other;

	if (!o->clone || ram_disk_open(pool, o->clone, &other))
		return;
	ram_disk_info(other, NULL, 0, &parent);
	ram_disk_put(other);
	ram_disk_info(disk, NULL, 0, &info);
	if (memcmp(info.parent, parent.uuid, sizeof(info.parent)) != 0)
		config_error(lines,
			     "export %s: was there before, and stays as it is: "
			     "no clone of %s",
			     o->name, o->clone);
}
