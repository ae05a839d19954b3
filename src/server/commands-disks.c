/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that make disks: create, clone, snapshot.
 * One at a time, and not while a reload is under way (server.change_lock): the
 * work of each is short, but for the memory of a new disk. See commands.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "commands.h"
#include "disk-fill.h"
#include "note.h"

/* ---------------------------------------------------------------- helpers */

/* What config.h has found, as the failure of the call. */
static int fail_config(struct call *call, struct config_errors *errors)
{
	if (errors->count > 0)
		call_fail(call, "usage", "%s", errors->lines[0]);
	else
		call_no_memory(call);
	config_errors_free(errors);
	return -1;
}

/* One KEY=VALUE. */
static int set_key(struct call *call, struct config_export *e, const char *text,
		   struct config_errors *errors)
{
	CLEANUP_FREE char *word = NULL;
	char *equals;
	size_t len;

	word = text ? control_name_read(text, &len) : NULL;
	equals = word ? strchr(word, '=') : NULL;
	if (!equals) {
		call_fail(call, "usage", "%s: \"keys\" are strings KEY=VALUE",
			  e->where);
		return -1;
	}
	*equals = 0;
	return config_export_set(e, word, equals + 1, errors)
		       ? fail_config(call, errors)
		       : 0;
}

/* Whether the key of "keys" at `i` is there before: one of them would not be
 * obeyed. */
static bool said_before(const struct json_t *keys, size_t i)
{
	const char *text = control_text(control_at(keys, i), NULL), *other;
	size_t len = text ? strcspn(text, "=") : 0, k;

	for (k = 0; k < i && text; k++) {
		other = control_text(control_at(keys, k), NULL);
		if (other && strcspn(other, "=") == len &&
		    memcmp(other, text, len) == 0)
			return true;
	}
	return false;
}

static int set_keys(struct call *call, struct config_export *e,
		    struct config_errors *errors)
{
	const struct json_t *keys = control_member(call->request.args, "keys");
	const char *text;
	size_t i;

	for (i = 0; i < control_count(keys); i++) {
		text = control_text(control_at(keys, i), NULL);
		if (said_before(keys, i))
			return call_fail(call, "usage", "%s: %s: a key twice",
					 e->where, shown(text));
		if (set_key(call, e, text, errors))
			return -1;
	}
	return 0;
}

/* The settings of a new export: those in "keys". Free them after 0. */
static int read_settings(struct call *call, const char *name,
			 struct config_export *e)
{
	struct config_errors errors = {0};

	if (config_export_init(e, name, call->command->name, &errors))
		return fail_config(call, &errors);
	if (set_keys(call, e, &errors)) {
		config_export_free(e);
		return -1;
	}
	if (e->save || e->save_msec > 0) {
		config_export_free(e);
		return call_fail(call, "usage",
				 "%s: save and save-every are for disks of the "
				 "configuration; nbdramctl save %s FILE writes "
				 "any",
				 shown(name), shown(name));
	}
	if (config_export_check(e, &errors)) {
		config_export_free(e);
		return fail_config(call, &errors);
	}
	config_errors_free(&errors);
	return 0;
}

int call_open_disk(struct call *call, const char *name, struct ram_disk **disk)
{
	if (ram_disk_open(call->server->pool, name, disk) == 0)
		return 0;
	return call_fail(call, "not-found", "%s: there is no such disk",
			 shown(name));
}

uint64_t call_configured(struct server *s, const char *name, char *where,
			 size_t size)
{
	const struct config_export *e;
	uint64_t result = 0;
	unsigned i;

	*where = 0;
	pthread_mutex_lock(&s->config_lock);
	for (i = 0; i < s->config->export_count; i++) {
		e = &s->config->exports[i];
		if (strcmp(e->name, name) != 0)
			continue;
		snprintf(where, size, "%s", e->where);
		result = e->size;
	}
	pthread_mutex_unlock(&s->config_lock);
	return result;
}

/* What went wrong when a disk was made. */
static int fail_made(struct call *call, const char *name, int error)
{
	struct ram_usage usage;

	switch (error) {
	case -EEXIST:
		return call_fail(call, "exists",
				 "%s: there is a disk of this name already",
				 shown(name));
	case -ENOSPC:
		ram_pool_usage(call->server->pool, &usage);
		return call_fail(call, "no-space",
				 "%s: the pool, with %" PRIu64
				 " MiB for disks, of "
				 "which %" PRIu64 " MiB are in use and %" PRIu64
				 " MiB promised, has not got the memory for it",
				 shown(name), usage.most >> 20,
				 usage.held >> 20, usage.guaranteed >> 20);
	case -ECANCELED:
		return call_fail(call, "cancelled",
				 "%s: was not made, its memory is free again",
				 shown(name));
	case -EINVAL:
		return call_fail(call, "usage",
				 "%s: no disk can have this name or size",
				 shown(name));
	}
	return call_fail(call, "failed", "%s: cannot be made: %s", shown(name),
			 strerror(-error));
}

/* Export a disk that has just been made, or take it away again. Takes the
 * handle over. */
static int publish(struct call *call, struct ram_disk *disk,
		   const struct config_export *e)
{
	struct ram_why why;
	int error;

	error = exports_publish(&call->server->exports, disk, e, true, &why);
	if (!error)
		return 0;
	ram_disk_delete(disk);
	ram_disk_put(disk);
	return call_fail(call, error == -EEXIST ? "exists" : "failed", "%s",
			 why.text);
}

/* --------------------------------------------------------- create, clone */

/* Whether "keys" have that one. */
static bool has_key(struct call *call, const char *key)
{
	const struct json_t *keys = control_member(call->request.args, "keys");
	size_t len = strlen(key), i;
	const char *text;

	for (i = 0; i < control_count(keys); i++) {
		text = control_text(control_at(keys, i), NULL);
		if (text && strncmp(text, key, len) == 0 && text[len] == '=')
			return true;
	}
	return false;
}

/* A template's disk is for whom it was made, and so is a copy of it. */
static int inherit_owner(struct call *call, const char *from, const char *owner,
			 struct config_export *e)
{
	int error = access_of_owner(owner, &e->allow);

	if (error == -EINVAL)
		return call_fail(call, "usage",
				 "%s: is %s's, and no rule can say that; say "
				 "allow=...",
				 shown(from), shown(owner));
	return error ? call_no_memory(call) : 0;
}

/* A copy is for those whom what it is made of is for, unless keys say otherwise:
 * else it would show to all what only some may see. */
static int inherit(struct call *call, struct ram_disk *source, const char *from,
		   struct config_export *e)
{
	struct exports *exports = &call->server->exports;
	struct export *x = exports_get(exports, from);
	struct config_export known;
	const char *allow;
	struct note note;
	bool many;
	int error = 0;

	note_load(source, &note);
	note_settings(&note, &known);
	allow = x ? x->allow_text : known.allow;
	many = x ? x->many_writers : known.many_writers;
	if (!has_key(call, "writers"))
		e->many_writers = many;
	if (!has_key(call, "allow") && !note.foreign && *note.owner && !many)
		error = inherit_owner(call, from, note.owner, e);
	else if (!has_key(call, "allow") && !x && note.foreign) {
		error = call_fail(call, "usage",
				  "%s: is not exported, and who may open it is "
				  "not known; say allow=...",
				  shown(from));
	} else if (!has_key(call, "allow") && allow) {
		e->allow = strdup(allow);
		if (!e->allow)
			error = call_no_memory(call);
	}
	export_put(exports, x);
	return error;
}

/* A clone that is to have another size, or it is taken away. */
static int size_clone(struct call *call, struct ram_disk *disk,
		      const struct config_export *e)
{
	int error = e->size > 0 ? ram_disk_resize(disk, e->size) : 0;

	if (!error)
		return 0;
	ram_disk_delete(disk);
	ram_disk_put(disk);
	if (error == -EBUSY)
		return call_fail(call, "in-use",
				 "%s: %s has data behind %" PRIu64
				 " bytes; a clone of it can only be larger",
				 shown(e->name), shown(e->clone), e->size);
	return fail_made(call, e->name, error);
}

/* A copy of `from`, exported. flags: of ram_disk_clone(). */
static int make_clone(struct call *call, const char *from,
		      struct config_export *e, unsigned flags)
{
	struct ram_disk_spec spec = {
		.name = e->name,
		.fixed = e->fixed,
		.quota = e->quota,
		.guarantee = e->guarantee,
		.state = RAM_MAKING,
	};
	struct ram_disk *source, *disk;
	int error;

	if (call_open_disk(call, from, &source))
		return -1;
	if (inherit(call, source, from, e)) {
		ram_disk_put(source);
		return -1;
	}
	error = ram_disk_clone(source, &spec, flags, &disk);
	ram_disk_put(source);
	if (error)
		return fail_made(call, e->name, error);
	return size_clone(call, disk, e) ? -1 : publish(call, disk, e);
}

/* Memory of a disk that is guaranteed some. */
static bool taking(void *arg, uint64_t done, uint64_t all)
{
	call_progress(arg, "MiB of memory", done >> 20, all >> 20);
	return call_cancelled(arg);
}

static bool filling(void *arg, uint64_t done, uint64_t all)
{
	call_progress(arg, "MiB of what is to be in it", done >> 20, all >> 20);
	return call_cancelled(arg);
}

/* What is to be in a new disk, which is taken away if that cannot be had. */
static int fill(struct call *call, struct ram_disk *disk,
		const struct config_export *e,
		const struct disk_contents *contents)
{
	struct ram_why why;
	int error = 0;

	if (disk_is_filled(contents))
		error = disk_fill(call->server->pool, disk, e, contents,
				  filling, call, &why);
	if (error && error != -ECANCELED)
		call_fail(call, error == -ENOSPC ? "no-space" : "failed",
			  "%s: %s", shown(e->name), why.text);
	/* Who gave it up, or ended the server, shall not find it there. */
	else if (error || call_cancelled(call))
		error = fail_made(call, e->name, -ECANCELED);
	if (error) {
		ram_disk_delete(disk);
		ram_disk_put(disk);
	}
	return error;
}

static int create(struct call *call, struct config_export *e)
{
	/* How large an image is, only its end may tell. */
	bool later = e->image && e->size == 0;
	struct ram_disk_spec spec = {
		.name = e->name,
		.size = later ? 1 : e->size,
		.fixed = e->fixed && !later,
		.quota = e->quota,
		.guarantee = later ? 0 : e->guarantee,
		.state = RAM_MAKING,
		.progress = taking,
		.arg = call,
	};
	struct disk_contents contents;
	struct ram_disk *disk;
	int error;

	disk_contents(e, &contents);
	if (e->clone) {
		if (call_lock(call))
			return -1;
		error = make_clone(call, e->clone, e, 0);
		call_unlock(call);
		return error;
	}
	if (e->size == 0 && !e->image)
		return call_fail(call, "usage",
				 "create %s: how large? As in size=16G, or of "
				 "which disk is it a copy? As in clone=NAME",
				 shown(e->name));
	/* Nobody sees it before it is published, so others need not wait while
	 * it gets its memory. */
	error = ram_disk_create(call->server->pool, &spec, &disk);
	if (error)
		return fail_made(call, e->name, error);
	if (fill(call, disk, e, &contents))
		return -1;
	/* Who gave it up, or ended the server, shall not find it there. */
	if (call_lock(call)) {
		ram_disk_delete(disk);
		ram_disk_put(disk);
		return fail_made(call, e->name, -ECANCELED);
	}
	error = publish(call, disk, e);
	call_unlock(call);
	return error;
}

int command_create(struct call *call)
{
	CLEANUP_FREE char *name = call_name(call, "name");
	struct config_export e;
	int error;

	if (!name || read_settings(call, name, &e))
		return -1;
	error = create(call, &e);
	config_export_free(&e);
	return error;
}

int command_clone(struct call *call)
{
	CLEANUP_FREE char *from = call_name(call, "from");
	CLEANUP_FREE char *to = from ? call_name(call, "to") : NULL;
	struct config_export e;
	int error = -1;

	if (!to || read_settings(call, to, &e))
		return -1;
	if (e.clone || e.image || e.format) {
		call_fail(call, "usage",
			  "clone %s: of which disk stands before its name; "
			  "leave clone=, image= and format= out",
			  shown(to));
	} else if (e.size > 0) {
		call_fail(call, "usage",
			  "clone %s: a clone has the size of what it is made "
			  "of; resize it afterwards",
			  shown(to));
	} else if (call_lock(call) == 0) {
		error = make_clone(call, from, &e, 0);
		call_unlock(call);
	}
	config_export_free(&e);
	return error;
}

/* -------------------------------------------------------------- snapshot */

/* NAME@20260131T235959, in UTC, with a number behind it when two are made in one
 * second. NULL: no memory. */
static char *dated(struct call *call, const char *name)
{
	time_t now = time(NULL);
	struct ram_disk *disk;
	char date[32], *text;
	struct tm tm;
	unsigned i;

	gmtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y%m%dT%H%M%S", &tm);
	if (asprintf(&text, "%s@%s", name, date) < 0)
		return NULL;
	for (i = 2; ram_disk_open(call->server->pool, text, &disk) == 0; i++) {
		ram_disk_put(disk);
		free(text);
		if (asprintf(&text, "%s@%s-%u", name, date, i) < 0)
			return NULL;
	}
	return text;
}

static int snapshot(struct call *call, const char *name, const char *as)
{
	struct config_export e;
	int error;

	if (read_settings(call, as, &e))
		return -1;
	e.readonly = true;
	if (e.clone || e.image || e.format)
		error = call_fail(
			call, "usage",
			"snapshot %s: of which disk stands before its "
			"name; leave clone=, image= and format= out",
			shown(as));
	else if (e.size > 0 || e.alloc_asked || e.quota > 0 || e.guarantee > 0)
		error = call_fail(call, "usage",
				  "snapshot %s: it never changes, so it has "
				  "no size, alloc, quota or guarantee",
				  shown(as));
	else
		error = make_clone(call, name, &e, RAM_SNAPSHOT);
	if (!error)
		control_put_name(&call->out, "name", as, strlen(as));
	config_export_free(&e);
	return error;
}

int command_snapshot(struct call *call)
{
	CLEANUP_FREE char *name = call_name(call, "name");
	CLEANUP_FREE char *as = NULL;
	bool named = call_has(call, "as");
	int error = -1;

	if (!name)
		return -1;
	if (call_lock(call))
		return -1;
	as = named ? call_name(call, "as") : dated(call, name);
	if (as)
		error = snapshot(call, name, as);
	else if (!named)
		call_no_memory(call);
	call_unlock(call);
	return error;
}
