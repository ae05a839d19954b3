/* SPDX-License-Identifier: BSD-3-Clause */
/* See commands.h. */
#include "commands.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "caller.h"
#include "check.h"
#include "cleanup.h"
#include "log.h"
#include "reason.h"
#include "worker.h"

/* Time between two lines about progress. */
#define PROGRESS_MSEC 200

/* How often one that waits for others looks whether it is still wanted. */
#define LOCK_MSEC 200

static const struct server_command commands[] = {
	{"list", "", false, true, command_list},
	{"show", "name config", false, true, command_show},
	{"create", "name keys", true, false, command_create},
	{"delete", "name force", true, false, command_delete},
	{"resize", "name size force", true, false, command_resize},
	{"clone", "from to keys", true, false, command_clone},
	{"snapshot", "name as keys", true, false, command_snapshot},
	{"rollback", "name snapshot force", true, false, command_rollback},
	{"reset", "name force", true, false, command_reset},
	{"save", "name file", false, true, command_save},
	{"load", "name file force", true, true, command_load},
	{"clients", "", false, false, command_clients},
	{"disconnect", "id", false, false, command_disconnect},
	{"stats", "", false, false, command_stats},
	{"reload", "", false, true, command_reload},
	{"check", "", false, true, command_check},
};

static const struct server_command *find(const char *name)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* Whether `word` is one of the words of `list`. */
static bool among(const char *list, const char *word)
{
	size_t len = strlen(word), n;

	for (; *list; list += n + (list[n] == ' ')) {
		n = strcspn(list, " ");
		if (n == len && memcmp(list, word, n) == 0)
			return true;
	}
	return false;
}

/* Whether the disk of that name has all of its memory from the start. */
static bool is_fixed(struct server *s, const struct json_t *args)
{
	const char *text = control_text(args, "name");
	CLEANUP_FREE char *name = NULL;
	struct ram_disk_info info;
	struct ram_disk *disk;
	size_t len;

	name = text ? control_name_read(text, &len) : NULL;
	if (!name || ram_disk_open(s->pool, name, &disk))
		return false;
	ram_disk_info(disk, NULL, 0, &info);
	ram_disk_put(disk);
	return info.fixed;
}

/* A disk that is guaranteed memory gets all of it before it is there, or before it is
 * larger; what is to be in it likewise. */
static bool takes_memory(struct server *s, const struct server_command *command,
			 const struct json_t *args)
{
	const struct json_t *keys = control_member(args, "keys");
	const char *text;
	size_t i;

	if (command->run == command_resize)
		return is_fixed(s, args);
	for (i = 0; i < control_count(keys); i++) {
		text = control_text(control_at(keys, i), NULL);
		if (text && (strcmp(text, "alloc=fixed") == 0 ||
			     strncmp(text, "guarantee=", 10) == 0 ||
			     strncmp(text, "image=", 6) == 0 ||
			     strncmp(text, "format=", 7) == 0))
			return true;
	}
	return false;
}

/* Whether it walks through disks, and changes nothing. */
static bool looks(const struct server_command *command)
{
	return command->run == command_list || command->run == command_show ||
	       command->run == command_check;
}

/* An argument that is not known would not be obeyed. */
static const char *stranger(const struct server_command *command,
			    struct json_t *args)
{
	void *at = args ? control_next(args, NULL) : NULL;

	for (; at; at = control_next(args, at))
		if (!among(command->args, control_key_at(at)))
			return control_key_at(at);
	return NULL;
}

/* An argument that is of another kind than it is taken for: it would be passed
 * over. NULL: none is. */
static const char *wrong_kind(struct json_t *args)
{
	void *at = args ? control_next(args, NULL) : NULL;
	const struct json_t *value;
	const char *key;
	size_t i;
	bool good;

	for (; at; at = control_next(args, at)) {
		key = control_key_at(at);
		value = control_value_at(at);
		if (strcmp(key, "keys") == 0) {
			good = control_is_array(value);
			for (i = 0; i < control_count(value); i++)
				good = good &&
				       control_is_text(control_at(value, i));
		} else if (strcmp(key, "force") == 0 ||
			   strcmp(key, "config") == 0) {
			good = control_is_truth(value);
		} else {
			good = control_is_text(value);
		}
		if (!good)
			return key;
	}
	return NULL;
}

static void run_job(struct job *job, struct ram_thread *ram)
{
	struct call *call = (struct call *)job;
	struct post *end = call->end;

	call->ram = ram;
	end->text = call_run(call, &end->len);
	callers_post(call->callers, end);
}

struct call *call_new(struct callers *callers, struct server *server,
		      struct control_request *request, struct ram_why *why)
{
	const struct server_command *command = find(request->command);
	struct call *call;
	const char *word;

	if (!command) {
		reason(why, 0, "there is no command \"%s\"",
		       shown(request->command));
		return NULL;
	}
	word = stranger(command, request->args);
	if (word) {
		reason(why, 0, "%s has no argument \"%s\"", command->name,
		       shown(word));
		return NULL;
	}
	word = wrong_kind(request->args);
	if (word) {
		reason(why, 0,
		       "%s: \"%s\" is of the wrong kind; keys is an array of "
		       "strings, force and config are true or false, all else "
		       "is a string",
		       command->name, word);
		return NULL;
	}
	call = calloc(1, sizeof(*call));
	if (call)
		call->end = calloc(1, sizeof(*call->end));
	if (!call || !call->end) {
		free(call);
		reason(why, 0, "no memory for a command");
		return NULL;
	}
	call->end->call = call;
	call->end->last = true;
	call->job.run = run_job;
	call->job.is_long = command->is_long ||
			    takes_memory(server, command, request->args);
	call->job.looks = looks(command);
	call->job.changes = command->changes && !call->job.is_long;
	call->callers = callers;
	call->server = server;
	call->command = command;
	call->request = *request;
	memset(request, 0, sizeof(*request));
	return call;
}

void call_free(struct call *call)
{
	if (!call)
		return;
	control_writer_drop(&call->out);
	control_writer_drop(&call->notes);
	control_request_free(&call->request);
	free(call->end);
	free(call);
}

char *call_run(struct call *call, size_t *len)
{
	char *result, *line;
	size_t n;

	/* What is over at once needs no telling. */
	call->told = now_msec();
	control_open(&call->out, NULL, '{');
	control_open(&call->notes, NULL, '[');
	/* It may have waited for a thread. */
	if (!call_cancelled(call) && call->command->run(call) && !call->code[0])
		call_fail(call, "failed", "it cannot be done");
	if (call_cancelled(call) && !call->code[0])
		call_fail(call, "cancelled", "it was cancelled");
	log_debug("control: %s: %s", call->command->name,
		  call->code[0] ? call->error : "done");
	if (call->code[0])
		return control_failed(call->code, call->error, len);
	control_close(&call->notes, ']');
	if (call->note_count > 0 && call->notes.text)
		control_put_json(&call->out, "notes", call->notes.text);
	control_close(&call->out, '}');
	result = control_finish(&call->out, &n);
	if (!result)
		return control_failed("too-long",
				      "the answer is too long, or "
				      "there is no memory for it",
				      len);
	result[n - 1] = 0; /* the end of a line comes behind all of it */
	line = control_ok(result, len);
	free(result);
	return line;
}

/* ------------------------------------------------------- for the commands */

int call_fail(struct call *call, const char *code, const char *format, ...)
{
	va_list args;

	snprintf(call->code, sizeof(call->code), "%s", code);
	va_start(args, format);
	vsnprintf(call->error, sizeof(call->error), format, args);
	va_end(args);
	return -1;
}

int call_no_memory(struct call *call)
{
	return call_fail(call, "no-memory", "no memory for this command");
}

void call_note(struct call *call, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	control_put_text(&call->notes, NULL, text);
	call->note_count++;
}

bool call_cancelled(struct call *call)
{
	return job_cancelled(&call->job);
}

/* The thread sanitizer does not know of locks that are taken by another clock than
 * that on the wall. */
#ifdef __SANITIZE_THREAD__
#define LOCK_CLOCK CLOCK_REALTIME
#define lock_until(lock, until) pthread_mutex_timedlock(lock, until)
#else
#define LOCK_CLOCK CLOCK_MONOTONIC
#define lock_until(lock, until) pthread_mutex_clocklock(lock, LOCK_CLOCK, until)
#endif

int call_lock(struct call *call)
{
	pthread_mutex_t *lock = &call->server->change_lock;
	struct timespec until;
	int error;

	do {
		clock_gettime(LOCK_CLOCK, &until);
		until.tv_nsec += LOCK_MSEC * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		error = lock_until(lock, &until);
		if (error == ETIMEDOUT)
			call_progress(call, "waiting for other changes", 0, 0);
	} while (error == ETIMEDOUT && !call_cancelled(call));
	if (!error && !call_cancelled(call))
		return 0;
	if (!error)
		pthread_mutex_unlock(lock);
	return call_fail(call, "cancelled", "it was cancelled");
}

void call_unlock(struct call *call)
{
	pthread_mutex_unlock(&call->server->change_lock);
}

void call_progress(struct call *call, const char *what, uint64_t done,
		   uint64_t all)
{
	struct control_writer w = {0};
	uint64_t now = now_msec();
	struct post *post;

	/* One at a time: a caller that does not read is owed no more. */
	if (now - call->told < PROGRESS_MSEC || atomic_load(&call->progress))
		return;
	call->told = now;
	control_open(&w, NULL, '{');
	control_open(&w, "progress", '{');
	control_put_text(&w, "what", what);
	control_put_number(&w, "done", done);
	control_put_number(&w, "all", all);
	control_close(&w, '}');
	control_close(&w, '}');
	post = calloc(1, sizeof(*post));
	if (post)
		post->text = control_finish(&w, &post->len);
	if (!post || !post->text) {
		control_writer_drop(&w);
		free(post);
		return;
	}
	post->call = call;
	atomic_fetch_add(&call->progress, 1);
	callers_post(call->callers, post);
}

bool call_has(struct call *call, const char *key)
{
	return control_member(call->request.args, key);
}

char *call_name(struct call *call, const char *key)
{
	const char *text = control_text(call->request.args, key);
	char *bytes;
	size_t len;

	if (!text) {
		call_fail(call, "usage", "%s needs \"%s\", a string",
			  call->command->name, key);
		return NULL;
	}
	bytes = control_name_read(text, &len);
	if (!bytes)
		call_fail(call, "usage",
			  "\"%s\" of %s is no name: a backslash stands as two, "
			  "other bytes as \\xNN",
			  key, call->command->name);
	return bytes;
}

const char *shown(const char *name)
{
	static _Thread_local char buf[4][300];
	static _Thread_local unsigned next;
	char *to = buf[next++ % 4];

	return log_escape(name, strlen(name), to, sizeof(buf[0]));
}
