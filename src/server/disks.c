/* SPDX-License-Identifier: BSD-3-Clause */
/* See disks.h. */
#include "disks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

struct work {
	struct exports *exports;
	struct ram_pool *pool;
	const struct config *config;
	const struct disks_watch *watch;
	struct disks_plan *plan;
	struct config_errors *errors;
	/* By place in config->exports. */
	unsigned *parents; /* see config_parents() */
	unsigned *chain;   /* room for one */
	bool *tried;
};

/* What was done to one disk. */
struct disks_step {
	struct disks_step *next;
	struct ram_disk
		*disk; /* of an export of the plan, which has a handle */
	const char *name;
	uint64_t old, now; /* sizes; old 0: it was made */
	uint64_t entered;  /* ... larger: clients that had come before */
	bool reserved;	   /* memory for a larger size */
	bool promised;	   /* ... else its promise was changed: before that */
	bool fixed;
	uint64_t quota, guarantee;
};

/* --------------------------------------------------------------- one disk */

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
static int promise(struct work *work, struct ram_disk *disk,
		   const struct config_export *o, struct disks_step *step)
{
	struct config_errors *errors = work->errors;
	struct disk_taking taken;
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
	disk_taking_begin(&taken, work->exports, o->name, work->watch);
	error = ram_disk_promise(disk, w.fixed, w.quota, w.guarantee,
				 disk_taking, &taken);
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

/* ------------------------------------------------------------- all of them */

static int no_memory(const struct config_export *o,
		     struct config_errors *errors)
{
	config_error(errors, "%s: export %s: no memory for an export", o->where,
		     o->name);
	return -ENOMEM;
}

/* Giving back (another may take it) comes when all else is done. */
static bool gives_back(struct ram_disk *disk, const struct config_export *o)
{
	struct ram_disk_info info;
	struct config_export w;

	ram_disk_info(disk, NULL, 0, &info);
	wanted(&info, o, &w);
	return w.size < info.size || takes_back(&info, &w);
}

static bool grows(struct ram_disk *disk, const struct config_export *o)
{
	return o->size > ram_disk_size(disk) && !gives_back(disk, o);
}

static void add_step(struct disks_plan *plan, struct disks_step *step,
		     struct export *e)
{
	step->disk = e->disk;
	step->name = e->name;
	step->now = ram_disk_size(e->disk);
	if (step->now == step->old && !step->promised && !step->reserved) {
		free(step);
		return;
	}
	step->next = plan->steps;
	plan->steps = step;
}

/* It is there: memory for what it is to become. */
static int ready(struct work *w, struct export *e,
		 const struct config_export *o, struct disks_step *step)
{
	int error = promise(w, e->disk, o, step);

	if (!error)
		error = disk_reserve(w->exports, e->disk, o, w->watch,
				     w->errors);
	step->reserved = !error && grows(e->disk, o);
	return error;
}

/* -> *place, which stays NULL if nothing was found or made. */
static int prepare(struct work *w, const struct config_export *o,
		   struct export **place)
{
	struct disks_step *step = calloc(1, sizeof(*step));
	struct ram_disk *disk = NULL;
	struct export *e;
	bool is_new;
	int error = 0;

	if (!step)
		return no_memory(o, w->errors);
	is_new = ram_disk_open(w->pool, o->name, &disk) != 0;
	if (is_new)
		error = disk_make(w->exports, w->pool, o, RAM_WHOLE, w->watch,
				  &disk, w->errors);
	if (error) {
		free(step);
		return error;
	}
	step->old = is_new ? 0 : ram_disk_size(disk);
	e = export_new(w->exports, disk, o, false);
	if (!e) {
		if (is_new)
			ram_disk_delete(disk);
		ram_disk_put(disk);
		free(step);
		return no_memory(o, w->errors);
	}
	*place = e;
	if (!is_new && !gives_back(disk, o))
		error = ready(w, e, o, step);
	add_step(w->plan, step, e);
	return error;
}

/* What is there gets its size, and what it is promised, if which() says so. */
static int change_all(struct work *w,
		      bool (*which)(struct ram_disk *disk,
				    const struct config_export *o))
{
	struct disks_step *step;
	int result = 0, error;
	unsigned i;

	for (i = 0; i < w->config->export_count; i++) {
		const struct config_export *o = &w->config->exports[i];
		struct export *e = w->plan->fresh[i];

		if (!which(e->disk, o))
			continue;
		step = calloc(1, sizeof(*step));
		if (!step)
			return no_memory(o, w->errors);
		step->old = ram_disk_size(e->disk);
		step->entered = exports_entered(w->exports, e->disk);
		error = promise(w, e->disk, o, step);
		if (!error)
			error = disk_take(w->exports, e->disk, o, w->watch,
					  w->errors);
		if (error)
			result = error;
		add_step(w->plan, step, e);
	}
	return result;
}

/* What is a clone comes after that of which it is one. */
static int prepare_with_parents(struct work *w, unsigned i)
{
	struct export **fresh = w->plan->fresh;
	unsigned n = 0, parent;
	int error, result = 0;

	for (; i != CONFIG_NO_PARENT && !w->tried[i]; i = w->parents[i]) {
		w->chain[n++] = i;
		w->tried[i] = true;
	}
	while (n-- > 0) {
		i = w->chain[n];
		parent = w->parents[i];
		/* Why not has been told there. */
		if (parent != CONFIG_NO_PARENT && !fresh[parent])
			error = -ENOENT;
		else
			error = prepare(w, &w->config->exports[i], &fresh[i]);
		if (error)
			result = error;
	}
	return result;
}

int disks_prepare(struct exports *exports, struct ram_pool *pool,
		  const struct config *config, const struct disks_watch *watch,
		  struct disks_plan *plan, struct config_errors *errors)
{
	struct work w = {.exports = exports,
			 .pool = pool,
			 .config = config,
			 .watch = watch,
			 .plan = plan,
			 .errors = errors};
	int error, result = 0;
	unsigned i;

	memset(plan, 0, sizeof(*plan));
	plan->fresh = calloc(config->export_count + 1, sizeof(*plan->fresh));
	w.parents = config_parents(config);
	w.chain = calloc(config->export_count + 1, sizeof(*w.chain));
	w.tried = calloc(config->export_count + 1, sizeof(*w.tried));
	if (!plan->fresh || !w.parents || !w.chain || !w.tried) {
		config_error(errors, "no memory for %u exports",
			     config->export_count);
		result = -ENOMEM;
	}
	if (!result)
		plan->count = config->export_count;
	for (i = 0; i < plan->count; i++) {
		error = prepare_with_parents(&w, i);
		if (error)
			result = error;
		if (error == -ECANCELED)
			break;
	}
	free(w.parents);
	free(w.chain);
	free(w.tried);
	if (!result)
		result = change_all(&w, grows);
	return result ? result : change_all(&w, gives_back);
}

static int undo(struct exports *exports, struct disks_step *step)
{
	int error = 0;

	if (step->old == 0)
		return ram_disk_delete(step->disk);
	if (step->reserved)
		ram_disk_unreserve(step->disk);
	if (step->now > step->old)
		error = exports_cut_back(exports, step->disk, step->old,
					 step->entered);
	else if (step->now < step->old)
		error = ram_disk_resize(step->disk, step->old);
	if (error == -ETXTBSY) {
		log_warning("export %s: stays as large as it was to become: a "
			    "client has opened it meanwhile",
			    step->name);
		error = 0;
	}
	if (!error && step->promised)
		error = ram_disk_promise(step->disk, step->fixed, step->quota,
					 step->guarantee, NULL, NULL);
	return error;
}

void disks_undo(struct exports *exports, struct disks_plan *plan)
{
	struct disks_step *step;
	unsigned i;
	int error;

	while ((step = plan->steps)) {
		plan->steps = step->next;
		error = undo(exports, step);
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

void disks_differences(const struct disks_plan *plan, struct ram_pool *pool,
		       const struct config *config, struct config_errors *lines)
{
	const struct config_export *o;
	struct ram_disk_info info;
	unsigned i;

	for (i = 0; i < plan->count && i < config->export_count; i++) {
		o = &config->exports[i];
		if (!was_there(plan, plan->fresh[i]))
			continue;
		disk_compare_parent(pool, plan->fresh[i]->disk, o, lines);
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
