/* SPDX-License-Identifier: BSD-3-Clause */
/* See saver.h. */
#include "saver.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "check.h"
#include "log.h"
#include "worker.h"

/* One that failed is tried again after that, or sooner if it is due. */
#define AGAIN_MSEC 60000u

/* What is known of a file since we have been running. Guarded by saver.lock. */
struct record {
	struct record *next;
	struct saver_state state;
	uint64_t due; /* of now_msec(); 0: not yet looked at */
	/* The file was not there when we began, and we have not made it since: one
	 * that is there now comes from elsewhere, as when it is mounted late. */
	bool absent;
};

struct saver {
	struct server *server;
	struct ram_thread *ram;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	_Atomic bool stop;
	struct record *records;
};

/* One disk of the configuration that has a file. */
struct wish {
	char *name, *file;
	unsigned msec; /* 0: not every so often */
};

/* -------------------------------------------------------- what is asked for */

static void wishes_free(struct wish *wishes, unsigned count)
{
	unsigned i;

	for (i = 0; wishes && i < count; i++) {
		free(wishes[i].name);
		free(wishes[i].file);
	}
	free(wishes);
}

/* With config_lock. */
static bool is_wanted(const struct config_export *e, const char *name)
{
	return e->save && (!name || strcmp(e->name, name) == 0);
}

/* Of all, or of one. NULL with *count not 0: no memory. */
static struct wish *wishes_of(struct server *s, const char *name,
			      unsigned *count)
{
	struct wish *wishes = NULL;
	bool good = true;
	unsigned i, n = 0;

	*count = 0;
	pthread_mutex_lock(&s->config_lock);
	for (i = 0; i < s->config->export_count; i++)
		*count += is_wanted(&s->config->exports[i], name);
	if (*count > 0)
		wishes = calloc(*count, sizeof(*wishes));
	for (i = 0; wishes && i < s->config->export_count; i++) {
		const struct config_export *e = &s->config->exports[i];

		if (!is_wanted(e, name))
			continue;
		wishes[n].name = strdup(e->name);
		wishes[n].file = strdup(e->save);
		wishes[n].msec = e->save_msec;
		good = good && wishes[n].name && wishes[n].file;
		n++;
	}
	pthread_mutex_unlock(&s->config_lock);
	if (!good) {
		wishes_free(wishes, n);
		wishes = NULL;
	}
	return wishes;
}

char *saver_file(struct server *server, const char *name)
{
	unsigned count;
	struct wish *wishes = wishes_of(server, name, &count);
	char *file = NULL;

	if (wishes) {
		file = wishes[0].file;
		wishes[0].file = NULL;
	}
	wishes_free(wishes, count);
	return file;
}

/* --------------------------------------------------------- what is known */

/* With the lock. That of the disk and file; NULL: no memory. */
static struct record *record_of(struct saver *saver, const char *name,
				const char *file)
{
	struct record *r;
	struct stat st;

	for (r = saver->records; r; r = r->next) {
		if (strcmp(r->state.name, name) == 0 &&
		    strcmp(r->state.file, file) == 0)
			return r;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->state.name = strdup(name);
	r->state.file = strdup(file);
	if (!r->state.name || !r->state.file) {
		free(r->state.name);
		free(r->state.file);
		free(r);
		return NULL;
	}
	r->absent = lstat(file, &st) < 0 && errno == ENOENT;
	r->next = saver->records;
	saver->records = r;
	return r;
}

/* Before us somebody may have saved it; then the file says when. */
static uint64_t time_of(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 ? (uint64_t)st.st_mtime : 0;
}

struct telling {
	struct saver *saver;
	struct record *record;
	ram_progress *progress;
	void *arg;
};

static bool tell(void *arg, uint64_t done, uint64_t all)
{
	struct telling *t = arg;

	pthread_mutex_lock(&t->saver->lock);
	t->record->state.done = done;
	t->record->state.all = all;
	pthread_mutex_unlock(&t->saver->lock);
	return t->progress(t->arg, done, all);
}

static void begin(struct saver *saver, struct record *r)
{
	pthread_mutex_lock(&saver->lock);
	r->state.running = true;
	r->state.done = r->state.all = 0;
	pthread_mutex_unlock(&saver->lock);
}

static void end(struct saver *saver, struct record *r, uint64_t began,
		int error, const struct ram_why *why)
{
	pthread_mutex_lock(&saver->lock);
	r->state.running = false;
	if (!error) {
		r->absent = false;
		r->state.saved = began;
		r->state.error[0] = 0;
	} else if (error != -ECANCELED) {
		snprintf(r->state.error, sizeof(r->state.error), "%.299s",
			 why->text);
	}
	pthread_mutex_unlock(&saver->lock);
}

int saver_save(struct server *server, struct ram_disk *disk, const char *name,
	       struct ram_thread *thread, const char *file, unsigned flags,
	       ram_progress *progress, void *arg, struct image_saved *saved,
	       struct ram_why *why)
{
	struct saver *saver = server->saver;
	struct telling t = {.saver = saver, .progress = progress, .arg = arg};
	char *own = saver_file(server, name);
	uint64_t began = time(NULL);
	int error;

	if (own && strcmp(own, file) == 0) {
		pthread_mutex_lock(&saver->lock);
		t.record = record_of(saver, name, file);
		pthread_mutex_unlock(&saver->lock);
	}
	free(own);
	if (!t.record)
		return disk_save(server->pool, disk, thread, file, flags,
				 progress, arg, saved, why);
	begin(saver, t.record);
	error = disk_save(server->pool, disk, thread, file, flags, tell, &t,
			  saved, why);
	end(saver, t.record, began, error, why);
	return error;
}

int saver_may_replace(struct server *server, const char *name, const char *file,
		      struct ram_why *why)
{
	struct saver *saver = server->saver;
	struct record *r;
	struct stat st;
	char clean[300];
	bool absent;

	pthread_mutex_lock(&saver->lock);
	r = record_of(saver, name, file);
	absent = r && r->absent;
	pthread_mutex_unlock(&saver->lock);
	if (!absent || lstat(file, &st) < 0)
		return 0;
	snprintf(
		why->text, sizeof(why->text),
		"%s: was not there before, and is now: what is in it may be "
		"what the disk should have begun with; nbdramctl save replaces "
		"it",
		log_escape(file, strlen(file), clean, sizeof(clean)));
	if (r) {
		pthread_mutex_lock(&saver->lock);
		snprintf(r->state.error, sizeof(r->state.error), "%.299s",
			 why->text);
		pthread_mutex_unlock(&saver->lock);
	}
	return -EEXIST;
}

static int copy_state(struct saver *saver, const struct wish *wish,
		      struct saver_state *to)
{
	struct record *r;

	pthread_mutex_lock(&saver->lock);
	r = record_of(saver, wish->name, wish->file);
	if (r)
		*to = r->state;
	pthread_mutex_unlock(&saver->lock);
	to->name = strdup(wish->name);
	to->file = strdup(wish->file);
	if (r && to->saved == 0)
		to->saved = time_of(wish->file);
	return r && to->name && to->file ? 0 : -ENOMEM;
}

int saver_states(struct server *server, const char *name,
		 struct saver_state **states)
{
	unsigned count, i;
	struct wish *wishes = wishes_of(server, name, &count);
	int error = 0;

	*states = NULL;
	if (count == 0)
		return 0;
	if (wishes)
		*states = calloc(count, sizeof(**states));
	if (!*states)
		error = -ENOMEM;
	for (i = 0; i < count && !error; i++)
		error = copy_state(server->saver, &wishes[i], &(*states)[i]);
	wishes_free(wishes, count);
	if (!error)
		return count;
	saver_states_free(*states, count);
	*states = NULL;
	return error;
}

const char *saver_word(const struct saver_state *state)
{
	if (state->running)
		return "saving";
	if (state->error[0])
		return "failed";
	return state->saved > 0 ? "saved" : "never";
}

void saver_states_free(struct saver_state *states, int count)
{
	int i;

	for (i = 0; states && i < count; i++) {
		free(states[i].name);
		free(states[i].file);
	}
	free(states);
}

/* -------------------------------------------------------------- log lines */

static void tell_done(const char *name, const char *file,
		      const struct image_saved *saved)
{
	char disk[120], clean[300];

	log_escape(name, strlen(name), disk, sizeof(disk));
	log_escape(file, strlen(file), clean, sizeof(clean));
	if (saved->same)
		log_info("export %s: is as %s has it already", disk, clean);
	else
		log_info("export %s: saved to %s, %" PRIu64 " MiB written",
			 disk, clean, div_up(saved->bytes, 1 << 20));
}

static void tell_failed(const char *name, const struct ram_why *why,
			const char *then)
{
	char disk[120];

	log_escape(name, strlen(name), disk, sizeof(disk));
	log_warning("export %s: not saved: %s%s", disk, why->text, then);
}

/* ---------------------------------------------------------- every so often */

static bool on_step(void *arg, uint64_t done, uint64_t all)
{
	struct saver *saver = arg;

	(void)done;
	(void)all;
	return atomic_load(&saver->stop);
}

static void save_due(struct saver *saver, const struct wish *wish)
{
	struct server *s = saver->server;
	struct image_saved saved;
	struct ram_disk *disk;
	struct ram_why why;
	int error;

	/* It may have been deleted, or not be made yet. */
	if (ram_disk_open(s->pool, wish->name, &disk))
		return;
	error = saver_may_replace(s, wish->name, wish->file, &why);
	if (!error)
		error = saver_save(s, disk, wish->name, saver->ram, wish->file,
				   IMAGE_UNLESS_SAME, on_step, saver, &saved,
				   &why);
	ram_disk_put(disk);
	if (!error && !saved.same)
		tell_done(wish->name, wish->file, &saved);
	else if (error && error != -ECANCELED)
		tell_failed(wish->name, &why, "; it is tried again");
}

/* With the lock. Whether it is time for it; then when the next time is, if this fails
 * sooner. */
static bool is_due(struct saver *saver, const struct wish *wish, uint64_t now)
{
	struct record *r = record_of(saver, wish->name, wish->file);

	if (!r || wish->msec == 0)
		return false;
	/* One that is asked for more often than before. */
	if (r->due == 0 || r->due > now + wish->msec) {
		r->due = now + wish->msec;
		return false;
	}
	if (r->due > now)
		return false;
	r->due = now + wish->msec;
	return true;
}

static void set_again(struct saver *saver, const struct wish *wish)
{
	struct record *r;
	uint64_t again = now_msec() + min_u64(wish->msec, AGAIN_MSEC);

	pthread_mutex_lock(&saver->lock);
	r = record_of(saver, wish->name, wish->file);
	if (r && r->state.error[0])
		r->due = min_u64(r->due, again);
	pthread_mutex_unlock(&saver->lock);
}

static void look_at_all(struct saver *saver)
{
	unsigned count, i;
	struct wish *wishes = wishes_of(saver->server, NULL, &count);
	bool due;

	for (i = 0; wishes && i < count && !atomic_load(&saver->stop); i++) {
		pthread_mutex_lock(&saver->lock);
		due = is_due(saver, &wishes[i], now_msec());
		pthread_mutex_unlock(&saver->lock);
		if (due) {
			save_due(saver, &wishes[i]);
			set_again(saver, &wishes[i]);
		}
	}
	wishes_free(wishes, count);
}

static void *work(void *arg)
{
	struct saver *saver = arg;
	struct timespec until;

	while (!atomic_load(&saver->stop)) {
		look_at_all(saver);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec++;
		pthread_mutex_lock(&saver->lock);
		if (!atomic_load(&saver->stop))
			pthread_cond_clockwait(&saver->wake, &saver->lock,
					       CLOCK_MONOTONIC, &until);
		pthread_mutex_unlock(&saver->lock);
	}
	return NULL;
}

/* ------------------------------------------------------------ start and stop */

void saver_free(struct saver *saver)
{
	struct record *r;

	if (!saver)
		return;
	while ((r = saver->records)) {
		saver->records = r->next;
		free(r->state.name);
		free(r->state.file);
		free(r);
	}
	pthread_cond_destroy(&saver->wake);
	pthread_mutex_destroy(&saver->lock);
	free(saver);
}

/* Which files are there, before anybody is served: one that comes later is seen to be
 * from elsewhere. */
static void know_all(struct saver *saver)
{
	unsigned count, i;
	struct wish *wishes = wishes_of(saver->server, NULL, &count);

	pthread_mutex_lock(&saver->lock);
	for (i = 0; wishes && i < count; i++)
		record_of(saver, wishes[i].name, wishes[i].file);
	pthread_mutex_unlock(&saver->lock);
	wishes_free(wishes, count);
}

struct saver *saver_start(struct server *server)
{
	struct saver *saver = calloc(1, sizeof(*saver));

	if (!saver)
		return NULL;
	saver->server = server;
	pthread_mutex_init(&saver->lock, NULL);
	pthread_cond_init(&saver->wake, NULL);
	if (ram_pool_join(server->pool, NULL, NULL, &saver->ram)) {
		saver_free(saver);
		return NULL;
	}
	know_all(saver);
	if (pthread_create(&saver->thread, NULL, work, saver)) {
		ram_pool_leave(saver->ram);
		saver_free(saver);
		return NULL;
	}
	return saver;
}

void saver_stop(struct saver *saver)
{
	if (!saver)
		return;
	pthread_mutex_lock(&saver->lock);
	atomic_store(&saver->stop, true);
	pthread_cond_broadcast(&saver->wake);
	pthread_mutex_unlock(&saver->lock);
	pthread_join(saver->thread, NULL);
	ram_pool_leave(saver->ram);
}
