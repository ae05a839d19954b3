/* SPDX-License-Identifier: BSD-3-Clause */
/* What templates have made already, when they change or the daemon starts. See
 * making.h. */
#include <errno.h>
#include <string.h>

#include "config-keys.h"
#include "log.h"
#include "making.h"
#include "note.h"

/* An export of the disk as the template says now; NULL and *error. */
static struct export *again(struct server *s, struct ram_disk *disk,
			    const char *name, const char *pattern,
			    const char *owner, int *error)
{
	struct export *e = NULL;
	struct template_disk t;

	pthread_mutex_lock(&s->config_lock);
	*error = template_again(s->config, pattern, name, &t);
	pthread_mutex_unlock(&s->config_lock);
	if (*error)
		return NULL;
	e = export_new(&s->exports, disk, &t.o, false);
	*error = e ? export_set_template(e, &t, owner) : -ENOMEM;
	template_disk_free(&t);
	return e;
}

/* ------------------------------------------------------------------ reload */

static const struct config_export *find(const struct config *config,
					const char *pattern)
{
	unsigned i;

	for (i = 0; i < config->template_count; i++) {
		if (strcmp(config->templates[i].name, pattern) == 0)
			return &config->templates[i];
	}
	return NULL;
}

/* By what they say, in whichever order. */
static bool say_the_same(const struct config_export *a,
			 const struct config_export *b)
{
	unsigned i;

	for (i = 0; i < a->text_count; i++) {
		if (strcmp(config_text_get(b, a->texts[i].key),
			   a->texts[i].value) != 0)
			return false;
	}
	return a->text_count == b->text_count;
}

void makers_differences(const struct config *old, const struct config *now,
			struct config_errors *lines)
{
	const struct config_export *t;
	unsigned i;

	for (i = 0; i < now->template_count; i++) {
		t = find(old, now->templates[i].name);
		if (!t)
			config_error(lines, "template %s: is there now",
				     now->templates[i].name);
		else if (!say_the_same(t, &now->templates[i]))
			config_error(lines, "template %s: is another now",
				     t->name);
	}
	for (i = 0; i < old->template_count; i++) {
		if (!find(now, old->templates[i].name))
			config_error(lines, "template %s: is gone",
				     old->templates[i].name);
	}
}

/* Whether the clients of one would notice when it becomes the other. */
static bool same(const struct export *a, const struct export *b)
{
	const char *x = a->allow_text ? a->allow_text : "";
	const char *y = b->allow_text ? b->allow_text : "";

	return a->readonly == b->readonly && a->fresh == b->fresh &&
	       a->detect_zeroes == b->detect_zeroes &&
	       a->many_writers == b->many_writers &&
	       a->max_connections == b->max_connections &&
	       a->expire_msec == b->expire_msec && strcmp(x, y) == 0;
}

/* Another handle of its disk. */
static struct ram_disk *handle(struct server *s, const struct export *e)
{
	struct ram_disk *disk;

	return ram_disk_open(s->pool, e->name, &disk) == 0 ? disk : NULL;
}

static void renew(struct server *s, const struct export *old, unsigned *changed,
		  unsigned *gone)
{
	struct ram_disk *disk = handle(s, old);
	struct export *e = NULL;
	int error = -ENOENT;

	if (disk)
		e = again(s, disk, old->name, old->template, old->owner,
			  &error);
	if (!error && same(old, e)) {
		export_put(&s->exports, e);
		return;
	}
	if (!error) {
		if (export_note(e))
			log_warning("disk %s: its note cannot be changed",
				    e->name);
		error = exports_renew(&s->exports, e);
	}
	if (error && e)
		export_put(&s->exports, e);
	else if (error && disk)
		ram_disk_put(disk);
	if (error && exports_withdraw(&s->exports, old->name) == 0)
		++*gone;
	*changed += !error;
}

void makers_reloaded(struct server *s, struct config_errors *lines)
{
	unsigned count, i, changed = 0, gone = 0;
	struct export **all = exports_all(&s->exports, &count);

	if (!all && count > 0)
		config_error(lines, "templates: no memory; their disks are as "
				    "they were");
	for (i = 0; all && i < count; i++) {
		if (all[i]->template)
			renew(s, all[i], &changed, &gone);
	}
	exports_free(&s->exports, all, count);
	if (changed > 0)
		config_error(lines,
			     "templates: %u disks are exported otherwise now",
			     changed);
	if (gone > 0)
		config_error(lines,
			     "templates: %u disks are no longer exported, as "
			     "their templates are gone; they are kept",
			     gone);
}

/* ----------------------------------------------------------------- restart */

/* Takes the handle over. */
static void restore(struct server *s, struct ram_disk *disk, const char *name,
		    const struct note *note)
{
	char clean[120];
	int error;
	struct export *e =
		again(s, disk, name, note->template, note->owner, &error);

	log_escape(name, strlen(name), clean, sizeof(clean));
	if (!error)
		error = exports_restore(&s->exports, e);
	if (!error)
		return;
	if (error == -ENOENT)
		log_info("disk %s: kept, and not exported: its template is "
			 "gone",
			 clean);
	else
		log_error("disk %s: cannot be exported: %s", clean,
			  strerror(-error));
	if (e)
		export_put(&s->exports, e);
	else
		ram_disk_put(disk);
}

void makers_restore(struct server *s)
{
	struct ram_disk_info info;
	struct ram_disk *disk;
	struct export *e;
	uint64_t cursor = 0;
	struct note note;

	while (ram_disk_next(s->pool, &cursor, &disk) == 0) {
		ram_disk_info(disk, NULL, 0, &info);
		note_read(info.note, info.note_len, &note);
		e = exports_get(&s->exports, info.name);
		if (!e && *note.template && *note.owner && !note.by_command)
			restore(s, disk, info.name, &note);
		else
			ram_disk_put(disk);
		export_put(&s->exports, e);
	}
}
