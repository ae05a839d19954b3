/* SPDX-License-Identifier: BSD-3-Clause */
/* See exports.h. */
#include "exports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exports-index.h"
#include "note.h"
#include "reason.h"

void exports_init(struct exports *exports)
{
	memset(exports, 0, sizeof(*exports));
	pthread_mutex_init(&exports->lock, NULL);
	exports_index_init(exports);
}

/* ---------------------------------------------------------- single ones */

/* With the lock. What is counted for the disk; `spare` if it is new. */
static struct export_use *use_of(struct exports *exports, struct ram_disk *disk,
				 struct export_use **spare)
{
	struct export_use *use = exports_use(exports, disk);

	if (!use) {
		use = *spare;
		*spare = NULL;
		use->disk = disk;
		exports_use_add(exports, use);
	}
	use->refs++;
	return use;
}

static void use_put(struct exports *exports, struct export_use *use)
{
	bool gone;

	pthread_mutex_lock(&exports->lock);
	gone = --use->refs == 0;
	if (gone)
		exports_use_remove(exports, use);
	pthread_mutex_unlock(&exports->lock);
	if (gone) {
		free(use->writer);
		free(use);
	}
}

static void export_free(struct export *e)
{
	access_free(e->allow);
	free(e->allow_text);
	free(e->template);
	free(e->owner);
	free(e->name);
	free(e);
}

/* False: no memory. A rule that cannot be understood, of a note that another
 * release has written, lets nobody in. */
static bool set_allow(struct export *e, const char *text)
{
	char wrong[256];

	if (!text)
		return true;
	e->allow_text = strdup(text);
	if (!e->allow_text)
		return false;
	if (access_parse(text, &e->allow, wrong, sizeof(wrong)) == -EINVAL)
		e->allow = access_nobody();
	return e->allow != NULL;
}

struct export *export_new(struct exports *exports, struct ram_disk *disk,
			  const struct config_export *settings, bool by_command)
{
	struct export_use *spare = calloc(1, sizeof(*spare));
	struct export *e = calloc(1, sizeof(*e));
	struct ram_disk_info info;

	ram_disk_info(disk, NULL, 0, &info);
	if (e)
		e->name = strdup(info.name);
	if (!spare || !e || !e->name ||
	    !set_allow(e, settings ? settings->allow : NULL)) {
		if (e)
			export_free(e);
		free(spare);
		return NULL;
	}
	if (settings) {
		e->many_writers = settings->many_writers;
		e->readonly = settings->readonly;
		e->is_default = settings->is_default;
		e->detect_zeroes = settings->detect_zeroes;
		e->max_connections = settings->max_connections;
	}
	e->by_command = by_command;
	e->disk = disk;
	e->refs = 1;
	pthread_mutex_lock(&exports->lock);
	e->use = use_of(exports, disk, &spare);
	pthread_mutex_unlock(&exports->lock);
	free(spare);
	return e;
}

int export_set_template(struct export *e, const struct template_disk *t,
			const char *owner)
{
	char *pattern = strdup(t->pattern);
	char *whose = strdup(owner);

	if (!pattern || !whose) {
		free(pattern);
		free(whose);
		return -ENOMEM;
	}
	free(e->template);
	free(e->owner);
	e->template = pattern;
	e->owner = whose;
	e->expire_msec = t->expire_msec;
	e->fresh = t->fresh;
	return 0;
}

void export_put(struct exports *exports, struct export *e)
{
	if (!e || atomic_fetch_sub(&e->refs, 1) > 1)
		return;
	use_put(exports, e->use);
	ram_disk_put(e->disk);
	export_free(e);
}

unsigned export_connections(const struct export *e)
{
	return atomic_load(&e->use->connections);
}

unsigned export_writers(const struct export *e)
{
	return atomic_load(&e->use->writers);
}

/* With the lock. */
static unsigned count_clients(const struct exports *exports,
			      const struct ram_disk *disk, bool writers)
{
	const struct export_use *use = exports_use(exports, disk);

	if (!use)
		return 0;
	return writers ? use->writers : use->connections;
}

unsigned exports_clients(struct exports *exports, const struct ram_disk *disk,
			 bool writers)
{
	unsigned n;

	pthread_mutex_lock(&exports->lock);
	n = count_clients(exports, disk, writers);
	pthread_mutex_unlock(&exports->lock);
	return n;
}

int exports_cut(struct exports *exports, struct ram_disk *disk, uint64_t size,
		unsigned *clients)
{
	int error = -ETXTBSY;

	/* Nobody comes in, and is told the old size, as long as that is held. */
	pthread_mutex_lock(&exports->lock);
	*clients = count_clients(exports, disk, false);
	if (*clients == 0)
		error = ram_disk_resize(disk, size);
	pthread_mutex_unlock(&exports->lock);
	return error;
}

/* With the lock. */
static uint64_t entered(const struct exports *exports,
			const struct ram_disk *disk)
{
	const struct export_use *use = exports_use(exports, disk);

	return use ? use->entered : 0;
}

uint64_t exports_entered(struct exports *exports, const struct ram_disk *disk)
{
	uint64_t n;

	pthread_mutex_lock(&exports->lock);
	n = entered(exports, disk);
	pthread_mutex_unlock(&exports->lock);
	return n;
}

int exports_cut_back(struct exports *exports, struct ram_disk *disk,
		     uint64_t size, uint64_t since)
{
	int error = -ETXTBSY;

	pthread_mutex_lock(&exports->lock);
	if (entered(exports, disk) == since)
		error = ram_disk_resize(disk, size);
	pthread_mutex_unlock(&exports->lock);
	return error;
}

/* A template's disk is for whom it was made, unless many may write to it. */
static bool is_anothers(const struct export *e, const struct identity *who)
{
	char owner[IDENTITY_OWNER_MAX];

	if (!e->owner || e->many_writers)
		return false;
	return !identity_owner(who, owner, sizeof(owner)) ||
	       strcmp(owner, e->owner) != 0;
}

enum access export_access(const struct export *e, const struct identity *who)
{
	enum access access = who ? access_of(e->allow, who) : ACCESS_WRITE;

	if (who && access != ACCESS_NONE && is_anothers(e, who))
		access = ACCESS_NONE;

	if (access == ACCESS_WRITE &&
	    (e->readonly || ram_disk_readonly(e->disk)))
		access = ACCESS_READ;
	return access;
}

void export_describe(const struct export *e, char *buf, size_t size)
{
	struct ram_disk_info info;
	const uint8_t *u = info.uuid;

	ram_disk_info(e->disk, NULL, 0, &info);
	snprintf(buf, size,
		 "RAM disk [uuid=%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x gen=%" PRIu64 "]",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9],
		 u[10], u[11], u[12], u[13], u[14], u[15], info.generation);
}

/* ------------------------------------------------------ looking, with lock */

/* Whether the default is another than the one of that name. */
static bool other_default(const struct exports *exports, const char *name)
{
	unsigned i = exports_find(exports, "");

	return i < exports->count && strcmp(exports->list[i]->name, name) != 0;
}

/* --------------------------------------------------------------- finding */

struct export *exports_get(struct exports *exports, const char *name)
{
	struct export *e = NULL;
	unsigned i;

	pthread_mutex_lock(&exports->lock);
	i = exports_find(exports, name);
	if (i < exports->count) {
		e = exports->list[i];
		atomic_fetch_add(&e->refs, 1);
	}
	pthread_mutex_unlock(&exports->lock);
	return e;
}

struct export **exports_all(struct exports *exports, unsigned *count)
{
	struct export **all = NULL;
	unsigned i;

	pthread_mutex_lock(&exports->lock);
	*count = exports->count;
	if (exports->count > 0)
		all = malloc(exports->count * sizeof(*all));
	for (i = 0; all && i < exports->count; i++) {
		all[i] = exports->list[i];
		atomic_fetch_add(&all[i]->refs, 1);
	}
	pthread_mutex_unlock(&exports->lock);
	return all;
}

void exports_free(struct exports *exports, struct export **all, unsigned count)
{
	unsigned i;

	for (i = 0; all && i < count; i++)
		export_put(exports, all[i]);
	free(all);
}

/* With the lock. Where the walk goes on: behind that export, or one of its name
 * that has come in its place; or where it was. */
static unsigned place_after(const struct exports *exports,
			    const struct export *last, unsigned at)
{
	unsigned i;

	if (at <= exports->count && at > 0 && exports->list[at - 1] == last)
		return at;
	i = exports_find(exports, last->name);
	if (i < exports->count)
		return i + 1;
	return at > 0 ? at - 1 : 0;
}

struct export *exports_next(struct exports *exports, struct export *last,
			    unsigned *at)
{
	struct export *e = NULL;
	unsigned i;

	pthread_mutex_lock(&exports->lock);
	i = last ? place_after(exports, last, *at) : 0;
	if (i < exports->count) {
		e = exports->list[i];
		atomic_fetch_add(&e->refs, 1);
	}
	*at = i + 1;
	pthread_mutex_unlock(&exports->lock);
	export_put(exports, last);
	return e;
}

/* With the lock. Two hosts that write to one file system destroy it; one host, or
 * one device of it, may have any number of connections. */
static bool other_writes(const struct export *e, const struct guest *guest)
{
	const struct export_use *use = e->use;

	if (e->many_writers || use->writers == 0 || !use->writer)
		return false;
	if (use->in_session && guest->in_session &&
	    memcmp(use->session, guest->session, sizeof(use->session)) == 0)
		return false;
	return !guest->who || strcmp(use->writer, guest->who->host) != 0;
}

/* With the lock. */
static int enter(struct export *e, const struct guest *guest, bool writes)
{
	struct export_use *use = e->use;

	if (e->max_connections > 0 && use->connections >= e->max_connections)
		return -EBUSY;
	if (writes && other_writes(e, guest))
		return -ETXTBSY;
	if (writes && use->writers == 0) {
		free(use->writer);
		use->writer = guest->who ? strdup(guest->who->host) : NULL;
		use->in_session = guest->in_session;
		memcpy(use->session, guest->session, sizeof(use->session));
		if (guest->who && !use->writer)
			return -ENOMEM;
	}
	use->entered++;
	use->connections++;
	use->writers += writes;
	return 0;
}

int exports_enter(struct exports *exports, const char *name,
		  const struct guest *guest, struct export **e, bool *writes)
{
	enum access access = ACCESS_NONE;
	int error = -ENOENT;
	unsigned i;

	*e = NULL;
	pthread_mutex_lock(&exports->lock);
	i = exports_find(exports, name);
	if (i < exports->count)
		access = export_access(exports->list[i], guest->who);
	if (access != ACCESS_NONE) {
		*e = exports->list[i];
		*writes = access == ACCESS_WRITE;
		atomic_fetch_add(&(*e)->refs, 1);
		error = enter(*e, guest, *writes);
	}
	pthread_mutex_unlock(&exports->lock);
	return error;
}

void export_leave(struct exports *exports, struct export *e, bool writes)
{
	pthread_mutex_lock(&exports->lock);
	e->use->connections--;
	e->use->writers -= writes;
	pthread_mutex_unlock(&exports->lock);
	export_put(exports, e);
}

/* -------------------------------------------------------------- changing */

/* Take over the caller's count of e; *old is what it has displaced, or NULL,
 * and its count the caller's. */
static int insert(struct exports *exports, struct export *e, bool replace,
		  struct export **old)
{
	int error = 0;
	unsigned i;

	*old = NULL;
	pthread_mutex_lock(&exports->lock);
	i = exports_find(exports, e->name);
	if ((!replace && i < exports->count) ||
	    (e->is_default && other_default(exports, e->name)))
		error = -EEXIST;
	else if (i == exports->count)
		error = exports_make_room(exports);
	if (!error && i == exports->count)
		exports_append(exports, e);
	else if (!error) {
		*old = exports->list[i];
		exports_exchange(exports, i, e);
	}
	if (!error)
		ram_disk_detect_zeroes(e->disk, e->detect_zeroes);
	pthread_mutex_unlock(&exports->lock);
	return error;
}

int exports_renew(struct exports *exports, struct export *e)
{
	struct export *old = NULL;
	unsigned i;

	pthread_mutex_lock(&exports->lock);
	i = exports_find(exports, e->name);
	if (i < exports->count && exports->list[i]->disk == e->disk) {
		old = exports->list[i];
		exports_exchange(exports, i, e);
		ram_disk_detect_zeroes(e->disk, e->detect_zeroes);
	}
	pthread_mutex_unlock(&exports->lock);
	if (!old)
		return -ENOENT;
	export_put(exports, old);
	return 0;
}

void exports_count(struct exports *exports, const char *template,
		   const char *owner, unsigned *all, unsigned *own)
{
	const struct export *e;
	unsigned i;

	*all = *own = 0;
	pthread_mutex_lock(&exports->lock);
	for (i = 0; i < exports->count; i++) {
		e = exports->list[i];
		if (!e->template || strcmp(e->template, template) != 0)
			continue;
		++*all;
		*own += strcmp(e->owner, owner) == 0;
	}
	pthread_mutex_unlock(&exports->lock);
}

int exports_restore(struct exports *exports, struct export *e)
{
	struct export *old;

	return insert(exports, e, false, &old);
}

static void note_text(char *to, const char *text, size_t size)
{
	memset(to, 0, size);
	if (text && strlen(text) < size)
		memcpy(to, text, strlen(text));
}

int export_note(const struct export *e)
{
	const char *allow = e->allow_text ? e->allow_text : "";
	struct note note, old;
	int error;

	note_load(e->disk, &note);
	old = note;
	note.by_command = e->by_command;
	note.readonly = e->readonly;
	note.is_default = e->is_default;
	note.detect_zeroes = e->detect_zeroes;
	note.max_connections = e->max_connections;
	note.many_writers = e->many_writers;
	/* Cut, it would be another rule: the section in the file counts, and
	 * without it nobody is let in. */
	if (strlen(allow) > NOTE_ALLOW_MAX)
		allow = NOTE_NOBODY;
	note_text(note.allow, allow, sizeof(note.allow));
	note_text(note.template, e->template, sizeof(note.template));
	note_text(note.owner, e->owner, sizeof(note.owner));
	if (!e->template) {
		note.unused_since = 0;
		note.in_session = false;
	}
	error = note_same(&note, &old) ? 0 : note_save(e->disk, &note);
	if (error == -ENOSPC && e->template) {
		note_text(note.allow, NOTE_NOBODY, sizeof(note.allow));
		error = note_save(e->disk, &note);
	}
	return error;
}

/* So that it is exported again after a restart. */
static int note_command(const struct export *e, struct ram_why *why)
{
	struct ram_disk_info info;
	int error;

	if (e->allow_text && strlen(e->allow_text) > NOTE_ALLOW_MAX)
		return reason(why, -ENOSPC,
			      "%s: allow has more than the %u bytes that a "
			      "disk's note has room for",
			      e->name, NOTE_ALLOW_MAX);
	error = export_note(e);
	if (error == -EEXIST)
		return reason(why, error,
			      "%s: its note in the pool is of another "
			      "release, and is left alone",
			      e->name);
	ram_disk_info(e->disk, NULL, 0, &info);
	if (!error && info.state == RAM_MAKING)
		error = ram_disk_state(e->disk, RAM_WHOLE);
	if (error)
		reason(why, error, "%s: cannot be noted in the pool: %s",
		       e->name, strerror(-error));
	return error;
}

int exports_publish(struct exports *exports, struct ram_disk *disk,
		    const struct config_export *settings, bool by_command,
		    struct ram_why *why)
{
	struct export *e, *old = NULL;
	int error = 0;

	e = export_new(exports, disk, settings, by_command);
	if (!e)
		return reason(why, -ENOMEM, "no memory for an export");
	if (by_command)
		error = note_command(e, why);
	if (!error) {
		error = insert(exports, e, true, &old);
		if (error == -EEXIST)
			reason(why, error,
			       "%s: another export is the default; there can "
			       "be one",
			       e->name);
		else if (error)
			reason(why, error, "no memory for an export");
	}
	if (error) {
		/* The handle stays the caller's. */
		use_put(exports, e->use);
		export_free(e);
		return error;
	}
	export_put(exports, old);
	return 0;
}

static int withdraw(struct exports *exports, const char *name, bool any,
		    bool writers)
{
	struct export *e = NULL;
	int error = -ENOENT;
	unsigned i;

	pthread_mutex_lock(&exports->lock);
	i = *name ? exports_find(exports, name) : exports->count;
	if (i < exports->count) {
		e = exports->list[i];
		error = 0;
		if (!any && (writers ? e->use->writers : e->use->connections))
			error = -EBUSY;
		else
			exports_take_out(exports, i);
	}
	pthread_mutex_unlock(&exports->lock);
	if (!error)
		export_put(exports, e);
	return error;
}

int exports_withdraw(struct exports *exports, const char *name)
{
	return withdraw(exports, name, true, false);
}

int exports_withdraw_unused(struct exports *exports, const char *name,
			    bool writers)
{
	return withdraw(exports, name, false, writers);
}

/* With the lock: what was made by command and is not named anew, behind the
 * fresh ones. -EEXIST: a second default. */
static int add_commands(const struct exports *exports, struct export **list,
			unsigned *count)
{
	unsigned i, k, fresh = *count, defaults = 0;

	for (i = 0; i < exports->count; i++) {
		struct export *e = exports->list[i];

		if (!e->by_command && !e->template)
			continue;
		for (k = 0; k < fresh && strcmp(list[k]->name, e->name); k++)
			;
		if (k == fresh)
			list[(*count)++] = e;
	}
	for (i = 0; i < *count; i++)
		defaults += list[i]->is_default;
	return defaults > 1 ? -EEXIST : 0;
}

int exports_replace(struct exports *exports, struct export **fresh,
		    unsigned count)
{
	struct export **list, **old = NULL;
	unsigned old_count, i, k, all = count;
	int error;

	pthread_mutex_lock(&exports->lock);
	old_count = exports->count;
	list = calloc(count + old_count + 1, sizeof(*list));
	if (list && count > 0)
		memcpy(list, fresh, count * sizeof(*list));
	error = list ? add_commands(exports, list, &all) : -ENOMEM;
	if (!error)
		error = exports_take_list(exports, list, all,
					  count + old_count + 1, &old);
	for (i = 0; !error && i < count; i++) {
		atomic_fetch_add(&fresh[i]->refs, 1);
		ram_disk_detect_zeroes(fresh[i]->disk, fresh[i]->detect_zeroes);
	}
	pthread_mutex_unlock(&exports->lock);
	if (error) {
		free(list);
		return error;
	}
	/* Those that are in both lists were made by command or a template, and
	 * nothing else can have been: only they are still the list's. */
	for (i = 0; i < old_count; i++) {
		for (k = count; k < all && list[k] != old[i]; k++)
			;
		if (k == all)
			export_put(exports, old[i]);
	}
	free(old);
	return 0;
}

void exports_destroy(struct exports *exports)
{
	unsigned i;

	for (i = 0; i < exports->count; i++)
		export_put(exports, exports->list[i]);
	exports_index_free(exports);
	pthread_mutex_destroy(&exports->lock);
}
