/* SPDX-License-Identifier: BSD-3-Clause */
/* See disks.h. */
#include "disks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "note.h"

/* What was done to one disk. */
struct disks_step {
	struct disks_step *next;
	struct ram_disk
		*disk; /* of an export of the plan, which has a handle */
	const char *name;
	uint64_t old, now; /* sizes; old 0: it was made */
	bool promised;	   /* ... else its promise was changed: before that */
	bool fixed;
	uint64_t quota, guarantee;
};

/* --------------------------------------------------------------- one disk */

/* A disk that is there already is given as it is, or with another size. */
static int take(struct ram_disk *disk, const struct config_export *o,
		struct config_errors *errors)
{
	uint64_t now = ram_disk_size(disk);
	int error;

	if (o->size == 0 || o->size == now)
		return 0;
	error = ram_disk_resize(disk, o->size);
	if (error == -EBUSY)
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
	else if (error)
		config_error(errors,
			     "%s: export %s: cannot be given %" PRIu64
			     " bytes: %s",
			     o->where, o->name, o->size, strerror(-error));
	return error;
}

static uint64_t whole_blocks(uint64_t bytes)
{
	return bytes / RAM_BLOCK + (bytes % RAM_BLOCK != 0);
}

/* What keys say is given to it; where none says anything it stays. -> step, if
 * there is something to undo. */
static int promise(struct ram_disk *disk, const struct config_export *o,
		   struct disks_step *step, struct config_errors *errors)
{
	struct ram_disk_info info;
	uint64_t quota, guarantee;
	int error;

	ram_disk_info(disk, NULL, 0, &info);
	/* That of a fixed disk is its size. */
	if (info.fixed)
		info.guarantee = 0;
	quota = o->quota ? o->quota : info.quota;
	guarantee = o->guarantee ? o->guarantee : info.guarantee;
	if (quota == info.quota && (info.fixed || !o->fixed) &&
	    (info.fixed ||
	     whole_blocks(guarantee) == whole_blocks(info.guarantee)))
		return 0;
	error = ram_disk_promise(disk, info.fixed || o->fixed, quota,
				 guarantee);
	if (error == -ENOSPC)
		config_error(errors,
			     "%s: export %s: the pool has not got the memory "
			     "it is to guarantee; make the pool larger (-m)",
			     o->where, o->name);
	else if (error)
		config_error(errors,
			     "%s: export %s: alloc, quota and guarantee "
			     "cannot be changed: %s",
			     o->where, o->name, strerror(-error));
	step->promised = !error;
	step->fixed = info.fixed;
	step->quota = info.quota;
	step->guarantee = info.guarantee;
	return error;
}

static int make(struct ram_pool *pool, const struct config_export *o,
		struct ram_disk **disk, struct config_errors *errors)
{
	struct ram_disk_spec spec = {
		.name = o->name,
		.size = o->size,
		.fixed = o->fixed,
		.quota = o->quota,
		.guarantee = o->guarantee,
		.state = RAM_WHOLE,
	};
	bool words = o->where[0] == '-'; /* of the command line */
	struct ram_usage usage;
	int error;

	if (o->size == 0) {
		config_error(errors,
			     "%s: export %s: there is no such disk yet; say "
			     "how large it is to be, as in %s%s%ssize=16G",
			     o->where, o->name, words ? "-e " : "",
			     words ? o->name : "", words ? "," : "");
		return -EINVAL;
	}
	error = ram_disk_create(pool, &spec, disk);
	if (error == -ENOSPC) {
		ram_pool_usage(pool, &usage);
		config_error(errors,
			     "%s: export %s: the pool of %" PRIu64
			     " MiB has not got the memory it is to guarantee; "
			     "make the pool larger (-m) or use alloc=thin",
			     o->where, o->name, usage.size >> 20);
	} else if (error) {
		config_error(errors, "%s: export %s: cannot be made: %s",
			     o->where, o->name, strerror(-error));
	}
	return error;
}

/* ------------------------------------------------------------- all of them */

static int no_memory(const struct config_export *o,
		     struct config_errors *errors)
{
	config_error(errors, "%s: export %s: no memory for an export", o->where,
		     o->name);
	return -ENOMEM;
}

static int prepare(struct exports *exports, struct ram_pool *pool,
		   const struct config_export *o, struct disks_plan *plan,
		   struct config_errors *errors)
{
	struct disks_step *step = calloc(1, sizeof(*step));
	struct ram_disk *disk = NULL;
	bool is_new, shrinks;
	struct export *e;
	int error = 0;

	if (!step)
		return no_memory(o, errors);
	is_new = ram_disk_open(pool, o->name, &disk) != 0;
	if (is_new)
		error = make(pool, o, &disk, errors);
	if (error) {
		free(step);
		return error;
	}
	step->old = is_new ? 0 : ram_disk_size(disk);
	e = export_new(exports, disk, o, false);
	if (!e) {
		if (is_new)
			ram_disk_delete(disk);
		ram_disk_put(disk);
		free(step);
		return no_memory(o, errors);
	}
	plan->fresh[plan->count++] = e;
	/* Shrinking comes last of all: it cannot always be undone. */
	shrinks = !is_new && o->size > 0 && o->size < step->old;
	if (!is_new)
		error = promise(disk, o, step, errors);
	if (!error && !is_new && !shrinks)
		error = take(disk, o, errors);
	step->disk = disk;
	step->name = e->name;
	step->now = ram_disk_size(disk);
	if (step->now == step->old && !step->promised) {
		free(step);
		return error;
	}
	step->next = plan->steps;
	plan->steps = step;
	return error;
}

/* Those that are to be smaller; the plan is complete otherwise. */
static int shrink(struct disks_plan *plan, const struct config *config,
		  struct config_errors *errors)
{
	struct disks_step *step;
	struct ram_disk *disk;
	int result = 0, error;
	unsigned i;

	for (i = 0; i < config->export_count; i++) {
		const struct config_export *o = &config->exports[i];

		disk = plan->fresh[i]->disk;
		if (o->size == 0 || o->size >= ram_disk_size(disk))
			continue;
		step = calloc(1, sizeof(*step));
		if (!step)
			return no_memory(o, errors);
		step->disk = disk;
		step->name = plan->fresh[i]->name;
		step->old = ram_disk_size(disk);
		step->now = o->size;
		error = take(disk, o, errors);
		if (error) {
			free(step);
			result = error;
			continue;
		}
		step->next = plan->steps;
		plan->steps = step;
	}
	return result;
}

int disks_prepare(struct exports *exports, struct ram_pool *pool,
		  const struct config *config, struct disks_plan *plan,
		  struct config_errors *errors)
{
	int error, result = 0;
	unsigned i;

	memset(plan, 0, sizeof(*plan));
	plan->fresh = calloc(config->export_count + 1, sizeof(*plan->fresh));
	if (!plan->fresh) {
		config_error(errors, "no memory for %u exports",
			     config->export_count);
		return -ENOMEM;
	}
	for (i = 0; i < config->export_count; i++) {
		error = prepare(exports, pool, &config->exports[i], plan,
				errors);
		if (error)
			result = error;
	}
	return result ? result : shrink(plan, config, errors);
}

void disks_undo(struct exports *exports, struct disks_plan *plan)
{
	struct disks_step *step;
	unsigned i;
	int error;

	while ((step = plan->steps)) {
		plan->steps = step->next;
		if (step->old == 0)
			error = ram_disk_delete(step->disk);
		else
			error = ram_disk_resize(step->disk, step->old);
		if (!error && step->promised)
			error = ram_disk_promise(step->disk, step->fixed,
						 step->quota, step->guarantee);
		if (error)
			log_warning("export %s: cannot be made as it was: %s",
				    step->name, strerror(-error));
		free(step);
	}
	for (i = 0; i < plan->count; i++)
		export_put(exports, plan->fresh[i]);
	free(plan->fresh);
	memset(plan, 0, sizeof(*plan));
}

/* A section takes over what was made by command: without the section it will no
 * longer be exported. */
static void forget_command(struct ram_disk *disk, const char *name)
{
	struct note note;
	int error;

	note_load(disk, &note);
	if (!note.by_command)
		return;
	note.by_command = note.readonly = note.is_default = false;
	note.many_writers = false;
	note.allow[0] = 0;
	note.max_connections = 0;
	error = note_save(disk, &note);
	if (error)
		log_warning("export %s: its note cannot be changed: %s", name,
			    strerror(-error));
}

void disks_keep(struct exports *exports, struct disks_plan *plan)
{
	struct disks_step *step;
	unsigned i;

	for (i = 0; i < plan->count; i++) {
		forget_command(plan->fresh[i]->disk, plan->fresh[i]->name);
		export_put(exports, plan->fresh[i]);
	}
	while ((step = plan->steps)) {
		plan->steps = step->next;
		free(step);
	}
	free(plan->fresh);
	memset(plan, 0, sizeof(*plan));
}

static void tell_promise(const struct disks_step *step,
			 struct config_errors *lines)
{
	struct ram_disk_info info;

	ram_disk_info(step->disk, NULL, 0, &info);
	if (info.fixed != step->fixed)
		config_error(lines, "export %s: alloc = fixed", step->name);
	if (info.quota != step->quota)
		config_error(lines, "export %s: quota = %" PRIu64, step->name,
			     info.quota);
	if (!info.fixed &&
	    whole_blocks(info.guarantee) != whole_blocks(step->guarantee))
		config_error(lines, "export %s: guarantee = %" PRIu64,
			     step->name, info.guarantee);
}

void disks_changes(const struct disks_plan *plan, struct config_errors *lines)
{
	const struct disks_step *step;

	for (step = plan->steps; step; step = step->next) {
		if (step->old == 0)
			config_error(lines,
				     "export %s: a new disk of %" PRIu64
				     " bytes",
				     step->name, step->now);
		else if (step->old != step->now)
			config_error(lines,
				     "export %s: has %" PRIu64
				     " bytes now, and had %" PRIu64,
				     step->name, step->now, step->old);
		if (step->promised)
			tell_promise(step, lines);
	}
}

/* Not made by this plan. */
static bool was_there(const struct disks_plan *plan, const struct export *e)
{
	const struct disks_step *step;

	for (step = plan->steps; step; step = step->next) {
		if (step->disk == e->disk && step->old == 0)
			return false;
	}
	return true;
}

void disks_differences(const struct disks_plan *plan,
		       const struct config *config, struct config_errors *lines)
{
	const struct config_export *o;
	struct ram_disk_info info;
	unsigned i;

	for (i = 0; i < plan->count && i < config->export_count; i++) {
		o = &config->exports[i];
		if (!was_there(plan, plan->fresh[i]))
			continue;
		ram_disk_info(plan->fresh[i]->disk, NULL, 0, &info);
		if (info.fixed && !o->fixed)
			config_error(lines,
				     "export %s: alloc = fixed stays, as the "
				     "disk was made",
				     o->name);
		if (info.quota > 0 && o->quota == 0)
			config_error(lines,
				     "export %s: quota = %" PRIu64
				     " stays, as no key says otherwise",
				     o->name, info.quota);
		if (!info.fixed && info.guarantee > 0 && o->guarantee == 0)
			config_error(lines,
				     "export %s: guarantee = %" PRIu64
				     " stays, as no key says otherwise",
				     o->name, info.guarantee);
	}
}

/* --------------------------------------------------------------- at start */

/* Takes the handle over. */
static void restore(struct exports *exports, struct ram_disk *disk,
		    const char *name, const struct note *note)
{
	struct config_export settings;
	struct export *e;
	int error;

	note_settings(note, &settings);
	e = export_new(exports, disk, &settings, true);
	if (!e) {
		log_error("disk %s: no memory to export it", name);
		ram_disk_put(disk);
		return;
	}
	error = exports_restore(exports, e);
	if (error == -EEXIST && e->is_default) {
		log_warning("disk %s: another is the default, so it answers to "
			    "its name only",
			    name);
		e->is_default = false;
		error = exports_restore(exports, e);
	}
	if (error) {
		log_error("disk %s: cannot be exported: %s", name,
			  strerror(-error));
		export_put(exports, e);
	}
}

void disks_restore(struct exports *exports, struct ram_pool *pool)
{
	struct ram_disk_info info;
	struct ram_disk *disk;
	struct export *e;
	uint64_t cursor = 0;
	struct note note;
	char clean[120];

	while (ram_disk_next(pool, &cursor, &disk) == 0) {
		ram_disk_info(disk, NULL, 0, &info);
		log_escape(info.name, strlen(info.name), clean, sizeof(clean));
		note_read(info.note, info.note_len, &note);
		e = exports_get(exports, info.name);
		if (!e && note.by_command) {
			restore(exports, disk, clean, &note);
			continue;
		}
		if (!e)
			log_info("disk %s: kept, and not exported: the "
				 "configuration does not name it",
				 clean);
		export_put(exports, e);
		ram_disk_put(disk);
	}
}
