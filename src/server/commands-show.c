/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that look: list, show. See commands.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "cleanup.h"
#include "commands.h"
#include "config-keys.h"
#include "note.h"
#include "saver.h"
#include "worker.h"

/* ------------------------------------------------------------------ list */

static int by_name(const void *a, const void *b)
{
	const struct export *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int same_name(const void *name, const void *e)
{
	return strcmp(name, (*(struct export *const *)e)->name);
}

/* A word or two for people. */
static const char *state_text(const struct export *e, bool snapshot)
{
	if (snapshot)
		return e ? "snapshot" : "snapshot, not exported";
	if (!e)
		return "not exported";
	return e->readonly ? "exported, read-only" : "exported";
}

/* Guaranteed to it, and so nobody else's, though it does not use it yet. */
static uint64_t kept_for(const struct ram_disk_info *info)
{
	return info->guarantee > info->own ? info->guarantee - info->own : 0;
}

/* Which template has made it, and whose it is. */
static void put_template(struct control_writer *w, const struct note *note)
{
	if (*note->template)
		control_put_name(w, "template", note->template,
				 strlen(note->template));
	if (*note->owner)
		control_put_name(w, "owner", note->owner, strlen(note->owner));
}

static void put_listed(struct call *call, const struct ram_disk_info *info,
		       const struct export *e, unsigned clients)
{
	struct control_writer *w = &call->out;
	struct note note;

	control_open(w, NULL, '{');
	control_put_name(w, "name", info->name, strlen(info->name));
	control_put_number(w, "size", info->size);
	control_put_number(w, "held", info->held);
	control_put_number(w, "taken", info->held + kept_for(info));
	control_put_truth(w, "exported", e);
	control_put_truth(w, "snapshot", info->readonly);
	control_put_truth(w, "readonly", info->readonly || (e && e->readonly));
	control_put_number(w, "clients", clients);
	control_put_text(w, "state", state_text(e, info->readonly));
	note_read(info->note, info->note_len, &note);
	put_template(w, &note);
	control_close(w, '}');
}

/* 0; or the call has failed. */
static int list_disks(struct call *call, struct export **all, unsigned count)
{
	struct exports *exports = &call->server->exports;
	struct ram_pool *pool = call->server->pool;
	struct ram_disk_info info;
	struct ram_disk *disk;
	struct export **e;
	uint64_t cursor = 0, done = 0;

	while (!call_cancelled(call) &&
	       ram_disk_next(pool, &cursor, &disk) == 0) {
		ram_disk_info(disk, call->ram, RAM_INFO_USAGE, &info);
		e = count > 0 ? bsearch(info.name, all, count, sizeof(*all),
					same_name)
			      : NULL;
		put_listed(call, &info, e ? *e : NULL,
			   exports_clients(exports, disk, false));
		ram_disk_put(disk);
		call_progress(call, "disks", ++done, 0);
	}
	return 0;
}

int command_list(struct call *call)
{
	struct exports *exports = &call->server->exports;
	struct export **all;
	unsigned count;
	int error;

	all = exports_all(exports, &count);
	if (!all && count > 0)
		return call_no_memory(call);
	if (count > 0)
		qsort(all, count, sizeof(*all), by_name);
	control_open(&call->out, "disks", '[');
	error = list_disks(call, all, count);
	control_close(&call->out, ']');
	exports_free(exports, all, count);
	return error;
}

/* ------------------------------------------------------------- one disk */

static const char *uuid_text(const uint8_t u[16], char buf[37])
{
	snprintf(buf, 37,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9],
		 u[10], u[11], u[12], u[13], u[14], u[15]);
	return buf;
}

static int put_uuids(struct call *call, const struct ram_disk_info *info)
{
	static const uint8_t none[16];
	struct control_writer *w = &call->out;
	struct family *family;
	const char *name;
	char buf[37];

	control_put_text(w, "uuid", uuid_text(info->uuid, buf));
	control_put_number(w, "generation", info->generation);
	control_put_text(w, "origin", uuid_text(info->origin, buf));
	if (memcmp(info->parent, none, sizeof(none)) == 0)
		return 0;
	control_put_text(w, "parent", uuid_text(info->parent, buf));
	family = family_new(call);
	if (!family)
		return call_no_memory(call);
	name = family_name(family, info->parent);
	if (name)
		control_put_name(w, "parent-name", name, strlen(name));
	family_free(family);
	return 0;
}

/* Who may open it; of one that is not exported: as it was when it was. */
static void put_rules(struct control_writer *w, const struct export *e,
		      const struct note *note)
{
	const char *allow = e ? e->allow_text : note->allow;
	bool many = e ? e->many_writers : note->many_writers;

	if (allow && *allow)
		control_put_name(w, "allow", allow, strlen(allow));
	else
		control_put_text(w, "allow", "any");
	control_put_text(w, "writers-policy", many ? "many" : "host");
}

/* Where and when it was saved, if it is at all. */
static int put_save(struct call *call, const char *name)
{
	struct control_writer *w = &call->out;
	struct saver_state *state;
	uint64_t now = time(NULL);
	int n = saver_states(call->server, name, &state);

	if (n <= 0)
		return n;
	control_put_name(w, "save", state->file, strlen(state->file));
	if (state->saved > 0) {
		control_put_number(w, "saved", state->saved);
		control_put_number(w, "saved-ago",
				   now - min_u64(now, state->saved));
	}
	control_put_text(w, "save-state", saver_word(state));
	if (state->error[0])
		control_put_name(w, "save-error", state->error,
				 strlen(state->error));
	saver_states_free(state, n);
	return 0;
}

/* How far it has come, of a disk that is loaded behind. */
static void put_loading(struct control_writer *w,
			const struct ram_disk_info *info)
{
	char path[RAM_SOURCE_MAX + 1];

	if (!info->lazy)
		return;
	control_put_number(w, "to-load", info->missing);
	if (image_source_path(info->source, info->source_len, path,
			      sizeof(path)))
		control_put_name(w, "loaded-from", path, strlen(path));
	control_put_text(w, "load-state",
			 info->fetch_error == -ENOSPC ? "waits for memory"
			 : info->fetch_error	      ? "failed, see the log"
						      : "loading");
}

static int put_disk(struct call *call, const struct ram_disk *disk,
		    const struct ram_disk_info *info, const struct export *e)
{
	struct exports *exports = &call->server->exports;
	struct control_writer *w = &call->out;
	struct note note;

	note_read(info->note, info->note_len, &note);
	control_open(w, "disk", '{');
	control_put_name(w, "name", info->name, strlen(info->name));
	control_put_text(w, "state", state_text(e, info->readonly));
	control_put_number(w, "size", info->size);
	control_put_number(w, "held", info->held);
	control_put_number(w, "own", info->own);
	control_put_number(w, "shared", info->shared);
	if (kept_for(info) > 0)
		control_put_number(w, "kept", kept_for(info));
	put_loading(w, info);
	control_put_text(w, "alloc", info->fixed ? "fixed" : "thin");
	if (info->quota > 0)
		control_put_number(w, "quota", info->quota);
	if (info->guarantee > 0)
		control_put_number(w, "guarantee", info->guarantee);
	control_put_truth(w, "exported", e);
	control_put_truth(w, "snapshot", info->readonly);
	control_put_truth(w, "readonly", info->readonly || (e && e->readonly));
	control_put_truth(w, "default", e && e->is_default);
	control_put_truth(w, "detect-zeroes", e && e->detect_zeroes);
	put_rules(w, e, &note);
	if (e && e->max_connections > 0)
		control_put_number(w, "max-connections", e->max_connections);
	control_put_number(w, "clients", exports_clients(exports, disk, false));
	control_put_number(w, "writers", exports_clients(exports, disk, true));
	control_put_text(w, "made",
			 (e ? e->by_command : note.by_command) ? "command"
			 : *note.template		       ? "template"
					  : "configuration");
	put_template(w, &note);
	if (put_save(call, info->name))
		return call_no_memory(call);
	if (put_uuids(call, info))
		return -1;
	control_close(w, '}');
	return put_lineage(call, info->origin);
}

/* Its section as the configuration has it, with the size that the disk has now. 0
 * and *text NULL: it has none. */
static int configured_section(struct server *s,
			      const struct ram_disk_info *info, char **text)
{
	struct config_export copy;
	unsigned i;
	int found = 0;

	*text = NULL;
	pthread_mutex_lock(&s->config_lock);
	for (i = 0; i < s->config->export_count && !found; i++) {
		if (strcmp(s->config->exports[i].name, info->name) == 0)
			found = config_export_copy(&copy,
						   &s->config->exports[i])
					? -ENOMEM
					: 1;
	}
	pthread_mutex_unlock(&s->config_lock);
	if (found > 0) {
		if (!info->readonly)
			copy.size = info->size;
		*text = config_write_export(&copy);
		config_export_free(&copy);
	}
	return found < 0 ? found : 0;
}

/* Each line of a section as a comment. Takes text over; NULL stays NULL. */
static char *commented(char *text, const char *why)
{
	char *result = NULL, *line, *end;
	size_t len = 0;
	FILE *file = text ? open_memstream(&result, &len) : NULL;

	if (file) {
		fprintf(file, "# %s\n", why);
		for (line = text; *line; line = end + (*end == '\n')) {
			end = strchrnul(line, '\n');
			fprintf(file, "# %.*s\n", (int)(end - line), line);
		}
		if (fclose(file) != 0) {
			free(result);
			result = NULL;
		}
	}
	free(text);
	return result;
}

/* A section that makes the disk empty, although it was a copy of something that no
 * section can name. Takes text over. */
static char *begins_empty(char *text)
{
	char *result = NULL;

	if (text && asprintf(&result,
			     "# a copy of what no file can make; this one "
			     "begins empty\n%s",
			     text) < 0)
		result = NULL;
	free(text);
	return result;
}

/* Whether it can stand behind a = as it is. */
static bool is_plain(const char *name)
{
	size_t len = strlen(name);

	return !strchr(" \t\"", name[0]) && !strchr(" \t", name[len - 1]);
}

/* Why no file can make a disk as it is; NULL: one can. */
static const char *unwritten(const struct ram_disk_info *info,
			     const struct note *note)
{
	if (note->foreign || strcmp(note->allow, NOTE_NOBODY) == 0)
		return "who may open it is not known";
	if (*note->template)
		return "made by a template, for the client that opened it";
	return info->readonly ? "a snapshot, which no file can make" : NULL;
}

/* Whether a section of a file makes the disk of that name, so that another one may
 * be a clone of it. */
static bool is_written(struct server *s, const char *name)
{
	struct ram_disk_info info;
	struct ram_disk *disk;
	struct note note;

	if (!is_plain(name) || ram_disk_open(s->pool, name, &disk))
		return false;
	ram_disk_info(disk, NULL, 0, &info);
	ram_disk_put(disk);
	note_read(info.note, info.note_len, &note);
	return !unwritten(&info, &note);
}

/* What a section would have to say for the disk to be as it is, or, when the
 * pool is gone, as it was made; a comment where that would not be true, or not be
 * safe. */
static char *section_of(struct server *s, const struct family *family,
			const struct ram_disk_info *info)
{
	const char *parent = family_name(family, info->parent), *why;
	static const uint8_t none[16];
	struct note note;
	struct config_export e;
	char *text;

	note_read(info->note, info->note_len, &note);
	note_settings(&note, &e);
	e.name = (char *)info->name;
	if (parent && is_written(s, parent))
		e.clone = (char *)parent;
	/* A snapshot has the size that it has. */
	e.size = info->readonly ? 0 : info->size;
	e.quota = info->quota;
	e.fixed = info->fixed;
	/* Of a fixed one it follows from its size. */
	e.guarantee = info->fixed ? 0 : info->guarantee;
	e.readonly = e.readonly || info->readonly;
	text = config_write_export(&e);
	why = unwritten(info, &note);
	if (why)
		return commented(text, why);
	if (!e.clone && memcmp(info->parent, none, sizeof(none)) != 0)
		return begins_empty(text);
	return text;
}

/* The section of a disk, which the caller frees. -ENOMEM; 0 and NULL: its name
 * cannot stand in a file. */
static int section(struct server *s, const struct family *family,
		   const struct ram_disk_info *info, char **text)
{
	int error = configured_section(s, info, text);

	if (!error && !*text)
		*text = section_of(s, family, info);
	return error;
}

static int show_config(struct call *call, const struct ram_disk_info *info)
{
	struct family *family = family_new(call);
	CLEANUP_FREE char *text = NULL;
	int error = family ? section(call->server, family, info, &text)
			   : -ENOMEM;

	family_free(family);
	if (error)
		return call_no_memory(call);
	if (!text)
		return call_fail(call, "failed",
				 "%s: this name cannot stand in a file",
				 shown(info->name));
	control_put_name(&call->out, "config", text, strlen(text));
	return 0;
}

static int show_disk(struct call *call, const char *name)
{
	bool config = control_truth(call->request.args, "config");
	struct ram_disk_info info;
	struct ram_disk *disk;
	struct export *e;
	int error;

	if (ram_disk_open(call->server->pool, name, &disk))
		return call_fail(call, "not-found", "%s: there is no such disk",
				 shown(name));
	ram_disk_info(disk, call->ram, config ? 0 : RAM_INFO_USAGE, &info);
	if (config) {
		ram_disk_put(disk);
		return show_config(call, &info);
	}
	e = exports_get(&call->server->exports, name);
	error = put_disk(call, disk, &info, e);
	export_put(&call->server->exports, e);
	ram_disk_put(disk);
	return error;
}

/* ------------------------------------------------------------ the server */

void put_pool(struct call *call)
{
	struct control_writer *w = &call->out;
	struct ram_usage usage;

	ram_pool_usage(call->server->pool, &usage);
	control_open(w, "pool", '{');
	control_put_number(w, "size", usage.size);
	control_put_number(w, "most", usage.most);
	control_put_number(w, "held", usage.held);
	control_put_number(w, "tables", usage.tables);
	control_put_number(w, "freed", usage.freed);
	control_put_number(w, "guaranteed", usage.guaranteed);
	control_put_number(w, "landing", usage.landing);
	control_put_number(w, "landing-used", usage.landing_used);
	control_put_number(w, "warm", usage.warm);
	control_put_number(w, "backing", usage.backing);
	if (usage.headroom > 0)
		control_put_number(w, "headroom", usage.headroom);
	if (usage.spare != UINT64_MAX)
		control_put_number(w, "headroom-left", usage.spare);
	control_put_number(w, "refusals", usage.refusals);
	control_close(w, '}');
}

/* With config_lock. */
static void put_keys(struct call *call, enum config_section section)
{
	struct control_writer *w = &call->out;
	const struct config_key *keys;
	unsigned count, i;
	char *value;

	keys = config_keys(section, &count);
	for (i = 0; i < count; i++) {
		value = config_key_text(&keys[i], call->server->config);
		control_open(w, NULL, '{');
		control_put_text(w, "section", config_section_words[section]);
		control_put_text(w, "key", keys[i].name);
		control_put_text(w, "value", value ? value : "");
		control_close(w, '}');
		free(value);
	}
}

/* The sections of all disks into one text. */
static int write_sections(struct server *s, const struct family *family,
			  FILE *file)
{
	struct ram_disk_info info;
	struct ram_disk *disk;
	uint64_t cursor = 0;
	int error = 0;
	char *text;

	while (!error && ram_disk_next(s->pool, &cursor, &disk) == 0) {
		ram_disk_info(disk, NULL, 0, &info);
		ram_disk_put(disk);
		error = section(s, family, &info, &text);
		if (text)
			fprintf(file, "%s%s", ftell(file) > 0 ? "\n" : "",
				text);
		free(text);
	}
	return error;
}

static int show_all_config(struct call *call)
{
	struct family *family = family_new(call);
	size_t len = 0;
	char *all = NULL;
	FILE *file = open_memstream(&all, &len);
	int error = -ENOMEM;

	if (file && family)
		error = write_sections(call->server, family, file);
	if ((file && fclose(file) != 0) || error)
		error = call_no_memory(call);
	else
		control_put_name(&call->out, "config", all, len);
	family_free(family);
	free(all);
	return error;
}

static int show_server(struct call *call)
{
	struct control_writer *w = &call->out;
	struct server *s = call->server;
	unsigned count;

	if (control_truth(call->request.args, "config"))
		return show_all_config(call);
	pthread_mutex_lock(&s->exports.lock);
	count = s->exports.count;
	pthread_mutex_unlock(&s->exports.lock);
	control_open(w, "server", '{');
	control_put_text(w, "version", PACKAGE_VERSION);
	control_put_number(w, "pid", getpid());
	control_put_number(w, "seconds", (now_msec() - s->began) / 1000);
	control_put_number(w, "workers", s->worker_count);
	control_put_number(w, "connections", atomic_load(&s->connections));
	control_put_number(w, "exports", count);
	control_close(w, '}');
	put_pool(call);
	control_open(w, "keys", '[');
	pthread_mutex_lock(&s->config_lock);
	put_keys(call, CONFIG_SERVER);
	put_keys(call, CONFIG_POOL);
	pthread_mutex_unlock(&s->config_lock);
	control_close(w, ']');
	return put_lineage(call, NULL);
}

int command_show(struct call *call)
{
	CLEANUP_FREE char *name = NULL;

	if (!call_has(call, "name"))
		return show_server(call);
	name = call_name(call, "name");
	return name ? show_disk(call, name) : -1;
}
