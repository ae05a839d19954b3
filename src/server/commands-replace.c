/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that take away what a disk holds, and so ask first who uses it:
 * delete, rollback, reset, resize. As commands-disks.c, one at a time, but for the memory of
 * a larger disk. See commands.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cleanup.h"
#include "clients.h"
#include "commands.h"
#include "note.h"
#include "parse.h"
#include "renew.h"

static int fail_open(struct call *call, const char *name, unsigned n,
		     bool writers)
{
	return call_fail(call, "in-use",
			 "%s: %u client%s it open%s; --force disconnects first",
			 shown(name), n, n == 1 ? " has" : "s have",
			 writers ? " for writing" : "");
}

int call_seclude(struct call *call, struct ram_disk *disk, const char *name,
		 bool writers, struct export **e)
{
	bool force = control_truth(call->request.args, "force");
	struct exports *exports = &call->server->exports;
	unsigned closed, n;
	int error = 0;

	*e = exports_get(exports, name);
	if (*e && exports_withdraw_unused(exports, name, writers) == -EBUSY) {
		if (!force) {
			n = writers ? export_writers(*e)
				    : export_connections(*e);
			export_put(exports, *e);
			return fail_open(call, name, n, writers);
		}
		exports_withdraw(exports, name);
	}
	/* Some may have it open although it is in no list any more. */
	n = exports_clients(exports, disk, writers);
	if (n > 0 && force)
		error = clients_disconnect_export(call->server, name, &closed);
	else if (n > 0)
		error = -EBUSY;
	if (!error)
		return 0;
	if (error == -EBUSY)
		fail_open(call, name, n, writers);
	else
		call_no_memory(call);
	if (*e && exports_restore(exports, *e))
		export_put(exports, *e);
	return -1;
}

void call_let_in(struct call *call, const char *name, struct export *e)
{
	struct exports *exports = &call->server->exports;

	if (!e || exports_restore(exports, e) == 0)
		return;
	export_put(exports, e);
	call_note(call, "%s: cannot be exported again; reload", shown(name));
}

/* It is in no list any more, but some may have asked what has changed since. */
static void note_holders(struct call *call, const char *name,
			 const struct export *e)
{
	unsigned n = e ? atomic_load(&e->refs) - 1 : 0;

	if (n > 0)
		call_note(
			call,
			"%s: %u connection%s with it (qemu:dirty-bitmap); its "
			"memory comes back when %s gone",
			shown(name), n,
			n == 1 ? " still compares" : "s still compare",
			n == 1 ? "that has" : "they have");
}

static int delete_disk(struct call *call, const char *name)
{
	struct exports *exports = &call->server->exports;
	struct ram_disk *disk;
	struct export *e;
	char where[300];
	int error;

	if (call_open_disk(call, name, &disk))
		return -1;
	call_configured(call->server, name, where, sizeof(where));
	if (*where) {
		ram_disk_put(disk);
		return call_fail(call, "configured",
				 "%s: is in the configuration (%s); take it "
				 "out there and reload, then delete it",
				 shown(name), where);
	}
	if (call_seclude(call, disk, name, false, &e)) {
		ram_disk_put(disk);
		return -1;
	}
	error = ram_disk_delete(disk);
	ram_disk_put(disk);
	if (!error)
		note_holders(call, name, e);
	export_put(exports, e);
	if (error)
		return call_fail(call, "not-found",
				 "%s: has been deleted meanwhile", shown(name));
	return 0;
}

int command_delete(struct call *call)
{
	CLEANUP_FREE char *name = call_name(call, "name");
	int error;

	if (!name)
		return -1;
	if (call_lock(call))
		return -1;
	error = delete_disk(call, name);
	call_unlock(call);
	return error;
}

/* Whether `from` is a snapshot of the same ancestor. */
static int related(struct call *call, struct ram_disk *disk,
		   struct ram_disk *from)
{
	struct ram_disk_info a, b;

	ram_disk_info(disk, NULL, 0, &a);
	ram_disk_info(from, NULL, 0, &b);
	if (a.readonly)
		return call_fail(call, "read-only",
				 "%s: is a snapshot itself, which never "
				 "changes",
				 shown(a.name));
	if (!b.readonly)
		return call_fail(call, "usage",
				 "%s: is no snapshot; to copy a disk as it is "
				 "now, make a snapshot of it first",
				 shown(b.name));
	if (memcmp(a.origin, b.origin, sizeof(a.origin)) != 0)
		return call_fail(call, "usage",
				 "%s: is no snapshot of %s or of what that is "
				 "a clone of",
				 shown(b.name), shown(a.name));
	return 0;
}

/* The configuration has another size than the disk has now: it says so, and what the
 * next start or reload does. */
static void note_size(struct call *call, const char *name, uint64_t size,
		      const char *then)
{
	char where[300];
	uint64_t said =
		call_configured(call->server, name, where, sizeof(where));

	if (said > 0 && said != size)
		call_note(call,
			  "%s says size = %" PRIu64 ": change it there too, "
			  "or the next start or reload %s",
			  where, said, then);
}

static int replace(struct call *call, struct ram_disk *disk,
		   struct ram_disk *from, const char *name)
{
	/* Who only reads may stay, unless what he was told is there is not. */
	bool cuts = ram_disk_size(from) < ram_disk_size(disk);
	struct export *e;
	int error;

	if (related(call, disk, from) ||
	    call_seclude(call, disk, name, !cuts, &e))
		return -1;
	error = ram_disk_replace(disk, from);
	call_let_in(call, name, e);
	if (error == -ENOSPC)
		return call_fail(call, "no-space",
				 "%s: the pool has not got the memory that it "
				 "is to be guaranteed",
				 shown(name));
	if (error)
		return call_fail(call, "failed",
				 "%s: cannot be rolled back: %s", shown(name),
				 strerror(-error));
	note_size(call, name, ram_disk_size(disk),
		  "sets it, or fails where that would cut data");
	return 0;
}

static int rollback(struct call *call, const char *name, const char *snapshot)
{
	struct ram_disk *disk, *from;
	int error = -1;

	if (call_open_disk(call, name, &disk))
		return -1;
	if (call_open_disk(call, snapshot, &from) == 0) {
		error = replace(call, disk, from, name);
		ram_disk_put(from);
	}
	ram_disk_put(disk);
	return error;
}

int command_rollback(struct call *call)
{
	CLEANUP_FREE char *name = call_name(call, "name");
	CLEANUP_FREE char *from = name ? call_name(call, "snapshot") : NULL;
	int error;

	if (!from)
		return -1;
	if (call_lock(call))
		return -1;
	error = rollback(call, name, from);
	call_unlock(call);
	return error;
}

/* ----------------------------------------------------------------- reset */

/* The name of what it is a clone of, to be freed; *clone NULL: of nothing. */
static int find_source(struct call *call, const struct ram_disk_info *info,
		       char **clone)
{
	static const uint8_t none[16];
	struct family *family;
	const char *name;

	*clone = NULL;
	if (memcmp(info->parent, none, sizeof(none)) == 0)
		return 0;
	family = family_new(call);
	if (!family)
		return call_no_memory(call);
	name = family_name(family, info->parent);
	if (name)
		*clone = strdup(name);
	family_free(family);
	if (!name)
		return call_fail(call, "not-found",
				 "%s: what it was made of is not there any "
				 "more; rollback and clone know other ways",
				 shown(info->name));
	return *clone ? 0 : call_no_memory(call);
}

/* Take over what says how a new disk is made; texts that `to` has are kept. */
static void take_making(struct config_export *to, struct config_export *from)
{
	char **const all[][2] = {
		{&to->clone, &from->clone},   {&to->image, &from->image},
		{&to->format, &from->format}, {&to->label, &from->label},
		{&to->files, &from->files},
	};
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		if (*all[i][0])
			continue;
		*all[i][0] = *all[i][1];
		*all[i][1] = NULL;
	}
	to->block = from->block;
}

/* What its section says, if it has one; a clone is one of what the disk says. */
static int take_section(struct server *s, struct config_export *o)
{
	struct config_export copy;
	unsigned i;
	int found = 0;

	pthread_mutex_lock(&s->config_lock);
	for (i = 0; i < s->config->export_count && !found; i++) {
		if (strcmp(s->config->exports[i].name, o->name) == 0)
			found = config_export_copy(&copy,
						   &s->config->exports[i])
					? -ENOMEM
					: 1;
	}
	pthread_mutex_unlock(&s->config_lock);
	if (found <= 0)
		return found;
	free(copy.clone);
	copy.clone = NULL;
	take_making(o, &copy);
	config_export_free(&copy);
	return 0;
}

/* What its template says now; -ENOENT: there is none (any more). */
static int take_template(struct server *s, const struct note *note,
			 struct config_export *o)
{
	struct template_disk t;
	int error = -ENOENT;

	if (*note->template) {
		pthread_mutex_lock(&s->config_lock);
		error = template_again(s->config, note->template, o->name, &t);
		pthread_mutex_unlock(&s->config_lock);
	}
	if (error)
		return error;
	take_making(o, &t.o);
	template_disk_free(&t);
	return 0;
}

/* What it was made of, and not smaller than it is: those who read were told. What
 * a template says comes before what it said then. Free it by
 * config_export_free(). */
static int reset_to(struct call *call, const struct ram_disk_info *info,
		    struct config_export *o)
{
	struct server *s = call->server;
	struct config_errors errors = {0};
	struct note note;
	struct ram_disk *source;
	int error = config_export_init(o, info->name, "reset", &errors);

	config_errors_free(&errors);
	if (error)
		return call_no_memory(call);
	note_read(info->note, info->note_len, &note);
	if (take_template(s, &note, o))
		error = find_source(call, info, &o->clone);
	if (!error && !*note.template && take_section(s, o))
		error = call_no_memory(call);
	if (!error && o->image && !o->clone)
		error = call_fail(call, "usage",
				  "%s: was loaded from a file; nbdramctl load "
				  "%s %s does that again",
				  shown(info->name), shown(info->name),
				  shown(o->image));
	o->size = info->size;
	if (!error && o->clone &&
	    ram_disk_open(s->pool, o->clone, &source) == 0) {
		o->size = max_u64(o->size, ram_disk_size(source));
		ram_disk_put(source);
	}
	if (error)
		config_export_free(o);
	return error;
}

static bool filling(void *arg, uint64_t done, uint64_t all)
{
	call_progress(arg, "MiB of what is to be in it", done >> 20, all >> 20);
	return call_cancelled(arg);
}

static int fail_reset(struct call *call, int error, const struct ram_why *why)
{
	return call_fail(call,
			 error == -ENOSPC      ? "no-space"
			 : error == -ENOENT    ? "not-found"
			 : error == -ECANCELED ? "cancelled"
					       : "failed",
			 "%s", why->text);
}

/* With change_lock. */
static int exchange(struct call *call, struct ram_disk *disk,
		    const struct config_export *o, struct ram_disk *model)
{
	struct ram_why why;
	struct export *e;
	int error;

	if (call_seclude(call, disk, o->name, true, &e))
		return -1;
	error = renew_disk(call->server, disk, o, model, &why);
	call_let_in(call, o->name, e);
	return error ? fail_reset(call, error, &why) : 0;
}

/* What it becomes is made first, while others change what they like. */
static int reset(struct call *call, struct ram_disk *disk)
{
	struct ram_disk_info info;
	struct config_export o;
	struct ram_disk *model = NULL;
	struct ram_why why;
	int error;

	ram_disk_info(disk, NULL, 0, &info);
	if (info.readonly)
		return call_fail(call, "read-only",
				 "%s: is a snapshot, which never changes",
				 shown(info.name));
	if (reset_to(call, &info, &o))
		return -1;
	error = o.clone ? 0
			: renew_model(call->server, &o, info.size, filling,
				      call, &model, &why);
	if (error) {
		fail_reset(call, error, &why);
	} else if (call_lock(call)) {
		error = -1;
	} else {
		error = exchange(call, disk, &o, model);
		call_unlock(call);
	}
	renew_drop(model);
	config_export_free(&o);
	return error;
}

int command_reset(struct call *call)
{
	CLEANUP_FREE char *name = call_name(call, "name");
	struct ram_disk *disk;
	int error;

	if (!name || call_open_disk(call, name, &disk))
		return -1;
	error = reset(call, disk);
	ram_disk_put(disk);
	return error;
}

/* ---------------------------------------------------------------- resize */

/* A smaller size only while nobody has it open, who was told the old one. */
static int give_size(struct call *call, struct ram_disk *disk, const char *name,
		     uint64_t size, int *error)
{
	struct export *e;

	if (size >= ram_disk_size(disk) || ram_disk_readonly(disk)) {
		*error = ram_disk_resize(disk, size);
		return 0;
	}
	if (call_seclude(call, disk, name, false, &e))
		return -1;
	*error = ram_disk_resize(disk, size);
	call_let_in(call, name, e);
	return 0;
}

static int fail_size(struct call *call, const char *name, uint64_t size,
		     int error)
{
	if (error == -EBUSY)
		return call_fail(call, "in-use",
				 "%s: has data behind %" PRIu64
				 " bytes; trim it first",
				 shown(name), size);
	if (error == -EROFS)
		return call_fail(call, "read-only",
				 "%s: is a snapshot, which never changes",
				 shown(name));
	if (error == -ENOSPC)
		return call_fail(
			call, "no-space",
			"%s: the pool has not got the memory that this "
			"size is to be guaranteed",
			shown(name));
	if (error == -ECANCELED)
		return call_fail(call, "cancelled",
				 "%s: has the size it had, and no more memory",
				 shown(name));
	if (error == -ENOENT)
		return call_fail(call, "not-found",
				 "%s: has been deleted meanwhile", shown(name));
	return call_fail(call, "failed", "%s: cannot be resized: %s",
			 shown(name), strerror(-error));
}

static bool taking(void *arg, uint64_t done, uint64_t all)
{
	call_progress(arg, "MiB of memory", done >> 20, all >> 20);
	return call_cancelled(arg);
}

/* Memory that a larger fixed disk is guaranteed; nobody sees anything of it yet, so
 * others need not wait. */
static int take_memory(struct call *call, struct ram_disk *disk,
		       const char *name, uint64_t size)
{
	int error = 0;

	if (size > ram_disk_size(disk))
		error = ram_disk_reserve(disk, size, taking, call);
	return error ? fail_size(call, name, size, error) : 0;
}

static int resize(struct call *call, struct ram_disk *disk, const char *name,
		  uint64_t size)
{
	int error;

	if (give_size(call, disk, name, size, &error))
		return -1;
	if (error) {
		ram_disk_unreserve(disk);
		return fail_size(call, name, size, error);
	}
	note_size(call, name, size, "does that again");
	return 0;
}

int command_resize(struct call *call)
{
	CLEANUP_FREE char *name = call_name(call, "name");
	CLEANUP_FREE char *text = name ? call_name(call, "size") : NULL;
	struct ram_disk *disk;
	uint64_t size;
	int error;

	if (!text)
		return -1;
	if (parse_size(text, &size) || size == 0)
		return call_fail(call, "usage",
				 "%s: is no size of a disk; 64K, 512M, 16G are",
				 shown(text));
	if (call_open_disk(call, name, &disk))
		return -1;
	error = take_memory(call, disk, name, size);
	if (!error && call_lock(call)) {
		ram_disk_unreserve(disk);
		error = fail_size(call, name, size, -ECANCELED);
	} else if (!error) {
		error = resize(call, disk, name, size);
		call_unlock(call);
	}
	ram_disk_put(disk);
	return error;
}
