/* SPDX-License-Identifier: BSD-3-Clause */
/* See disks.h. */
#include "disks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"

/* How often a long start says how far it is. */
#define TELL_SECONDS 2

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
static int take(struct exports *exports, struct ram_disk *disk,
		const struct config_export *o, struct config_errors *errors)
{
	uint64_t now = ram_disk_size(disk);
	unsigned clients;
	int error;

	if (o->size == 0 || o->size == now)
		return 0;
	error = o->size < now ? exports_cut(exports, disk, o->size, &clients)
			      : ram_disk_resize(disk, o->size);
	if (error == -ETXTBSY)
		config_error(errors,
			     "%s: export %s: has %" PRIu64
			     " bytes, and %u clients have it open; %" PRIu64
			     " would cut it under them, so disconnect them "
			     "first, or say size = %" PRIu64,
			     o->where, o->name, now, clients, o->size, now);
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

/* What a disk would be promised under these keys: where they say nothing it is
 * what it has. */
static void wanted(const struct ram_disk_info *info,
		   const struct config_export *o, struct config_export *w)
{
	*w = *o;
	w->size = o->size ? o->size : info->size;
	w->fixed = o->fixed || (info->fixed && !o->alloc_asked);
	w->quota = o->quota ? o->quota : info->quota;
	/* That of a fixed disk is its size. */
	if (!o->guarantee && !info->fixed)
		w->guarantee = info->guarantee;
}

/* Whether that is less than it is promised now. */
static bool takes_back(const struct ram_disk_info *info,
		       const struct config_export *w)
{
	return (info->fixed && !w->fixed) ||
	       (!w->fixed &&
		whole_blocks(w->guarantee) < whole_blocks(info->guarantee));
}

static bool same_promise(const struct ram_disk_info *info,
			 const struct config_export *w)
{
	return w->fixed == info->fixed && w->quota == info->quota &&
	       (w->fixed ||
		whole_blocks(w->guarantee) == whole_blocks(info->guarantee));
}

/* What keys say is given to it; where none says anything it stays. -> step, if
 * there is something to undo. */
static int promise(struct ram_disk *disk, const struct config_export *o,
		   struct disks_step *step, struct config_errors *errors)
{
	struct config_export w;
	struct ram_disk_info info;
	int error;

	ram_disk_info(disk, NULL, 0, &info);
	wanted(&info, o, &w);
	if (same_promise(&info, &w) && w.size == info.size)
		return 0;
	/* Each may be right, and all together not. */
	error = config_export_check(&w, errors);
	if (error || same_promise(&info, &w))
		return error;
	error = ram_disk_promise(disk, w.fixed, w.quota, w.guarantee);
	if (error == -ENOSPC)
		config_error(errors,
			     "%s: export %s: the pool has not got the memory "
			     "it is to guarantee; make the pool larger (-m)",
			     o->where, o->name);
	else if (error == -EROFS)
		config_error(errors,
			     "%s: export %s: is a snapshot, which never "
			     "changes; leave alloc, quota and guarantee out",
			     o->where, o->name);
	else if (error)
		config_error(errors,
			     "%s: export %s: alloc, quota and guarantee "
			     "cannot be changed: %s",
			     o->where, o->name, strerror(-error));
	step->promised = !error;
	step->fixed = info.fixed;
	step->quota = info.quota;
	step->guarantee = info.fixed ? 0 : info.guarantee;
	return error;
}

/* Memory is taken for a disk that is guaranteed some. */
struct taking {
	struct exports *exports;
	const char *name;
	uint64_t began, told; /* seconds */
};

static uint64_t seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static bool taking(void *arg, uint64_t done, uint64_t all)
{
	struct taking *t = arg;
	uint64_t now = seconds();

	if (exports_stopping(t->exports))
		return true;
	if (now - t->told < TELL_SECONDS)
		return false;
	t->told = now;
	log_info("export %s: %" PRIu64 " of %" PRIu64
		 " MiB of its memory are there",
		 t->name, done >> 20, all >> 20);
	return false;
}

static int make(struct exports *exports, struct ram_pool *pool,
		const struct config_export *o, struct ram_disk **disk,
		struct config_errors *errors)
{
	struct taking taken = {exports, o->name, seconds(), seconds()};
	struct ram_disk_spec spec = {
		.name = o->name,
		.size = o->size,
		.fixed = o->fixed,
		.quota = o->quota,
		.guarantee = o->guarantee,
		.state = RAM_WHOLE,
		.progress = taking,
		.arg = &taken,
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
	if (!error && taken.told > taken.began)
		log_info("export %s: all of its memory is there, after %" PRIu64
			 " s",
			 o->name, seconds() - taken.began);
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

/* It is there: what can be undone is done at once; giving back (another may take
 * it) when all else is done. */
static bool gives_back(struct ram_disk *disk, const struct config_export *o)
{
	struct ram_disk_info info;
	struct config_export w;

	ram_disk_info(disk, NULL, 0, &info);
	wanted(&info, o, &w);
	return w.size < info.size || takes_back(&info, &w);
}

static void add_step(struct disks_plan *plan, struct disks_step *step,
		     struct export *e)
{
	step->disk = e->disk;
	step->name = e->name;
	step->now = ram_disk_size(e->disk);
	if (step->now == step->old && !step->promised) {
		free(step);
		return;
	}
	step->next = plan->steps;
	plan->steps = step;
}

static int change(struct exports *exports, struct export *e,
		  const struct config_export *o, struct disks_step *step,
		  struct config_errors *errors)
{
	int error = promise(e->disk, o, step, errors);

	return error ? error : take(exports, e->disk, o, errors);
}

static int prepare(struct exports *exports, struct ram_pool *pool,
		   const struct config_export *o, struct disks_plan *plan,
		   struct config_errors *errors)
{
	struct disks_step *step = calloc(1, sizeof(*step));
	struct ram_disk *disk = NULL;
	struct export *e;
	bool is_new;
	int error = 0;

	if (!step)
		return no_memory(o, errors);
	is_new = ram_disk_open(pool, o->name, &disk) != 0;
	if (is_new)
		error = make(exports, pool, o, &disk, errors);
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
	if (!is_new && !gives_back(disk, o))
		error = change(exports, e, o, step, errors);
	add_step(plan, step, e);
	return error;
}

/* Those that give something back; the plan is complete otherwise. */
static int give_back(struct exports *exports, struct disks_plan *plan,
		     const struct config *config, struct config_errors *errors)
{
	struct disks_step *step;
	int result = 0, error;
	unsigned i;

	for (i = 0; i < config->export_count; i++) {
		const struct config_export *o = &config->exports[i];
		struct export *e = plan->fresh[i];

		if (!gives_back(e->disk, o))
			continue;
		step = calloc(1, sizeof(*step));
		if (!step)
			return no_memory(o, errors);
		step->old = ram_disk_size(e->disk);
		error = change(exports, e, o, step, errors);
		if (error)
			result = error;
		add_step(plan, step, e);
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
	return result ? result : give_back(exports, plan, config, errors);
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

/* Who may open it is kept with the disk: when its section is gone, so that it is
 * not exported any more, copies of it are still for the same clients. What was
 * made by command is the section's from now on. */
static void note(const struct export *e)
{
	int error = export_note(e);

	if (error && error != -EEXIST)
		log_warning("export %s: its note cannot be changed: %s",
			    e->name, strerror(-error));
}

void disks_keep(struct exports *exports, struct disks_plan *plan)
{
	struct disks_step *step;
	unsigned i;

	for (i = 0; i < plan->count; i++) {
		note(plan->fresh[i]);
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
		config_error(lines, "export %s: alloc = %s", step->name,
			     info.fixed ? "fixed" : "thin");
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
				     "export %s: alloc = fixed stays, as no "
				     "key says otherwise",
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
