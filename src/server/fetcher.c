/* SPDX-License-Identifier: BSD-3-Clause */
/* See fetcher.h. */
#include "fetcher.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "image.h"
#include "log.h"

/* Read at a time: so long does who needs something else wait. */
#define CHUNK (UINT64_C(256) << 10)

/* A file that cannot be read is looked for again so often; memory that is missing
 * likewise. */
#define FILE_MSEC 1000
#define MEMORY_MSEC 500

/* A file, for all disks that wait for something of it. */
struct origin {
	struct origin *next;
	unsigned refs;
	uint8_t source[RAM_SOURCE_MAX]; /* as disks have it */
	uint32_t len;
	struct image_fetch *image; /* NULL: not open */
	bool broken;		   /* it cannot be read, */
	char said[200];		   /* ... and the log says why; as much of it */
	uint64_t retry;		   /* msec: ... and is not looked for before */
};

/* One disk. */
struct fetched {
	struct fetched *next;
	struct ram_disk *disk;
	struct origin *origin;
	uint64_t generation; /* of the contents that come from there */
	char name[120];	     /* for the log; "": of no interest there */
	bool is_copy;	     /* of another disk */
	uint64_t at;	     /* nothing is missing before it */
	bool starved;	     /* there is no memory for it, as the log says */
	uint64_t retry;	     /* msec: ... and none is looked for before */
	bool gone;	     /* to be taken out of the list */
};

struct fetcher {
	struct ram_pool *pool;
	struct ram_thread *ram;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool woken; /* guarded by lock */
	_Atomic bool stop;
	/* The thread's. */
	struct fetched *list;
	struct origin *origins;
	uint64_t news; /* of the pool, when the list was made */
	uint8_t *buf;  /* CHUNK bytes */
};

static uint64_t now_msec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---------------------------------------------------------------- sleeping */

/* The store's: with locks held. */
static void on_wake(void *arg)
{
	struct fetcher *f = arg;

	pthread_mutex_lock(&f->lock);
	f->woken = true;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
}

/* Until something is to be done; msec 0: as long as that takes. */
static void doze(struct fetcher *f, uint64_t msec)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += msec / 1000;
	until.tv_nsec += msec % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&f->lock);
	while (!f->woken && !atomic_load(&f->stop)) {
		if (msec == 0)
			pthread_cond_wait(&f->wake, &f->lock);
		else if (pthread_cond_clockwait(&f->wake, &f->lock,
						CLOCK_MONOTONIC, &until))
			break;
	}
	f->woken = false;
	pthread_mutex_unlock(&f->lock);
}

/* --------------------------------------------------------------- the files */

static struct origin *origin_of(struct fetcher *f,
				const struct ram_disk_info *info)
{
	struct origin *o;

	for (o = f->origins; o; o = o->next) {
		if (o->len == info->source_len &&
		    memcmp(o->source, info->source, o->len) == 0)
			break;
	}
	if (!o) {
		o = calloc(1, sizeof(*o));
		if (!o)
			return NULL;
		o->len = info->source_len;
		memcpy(o->source, info->source, o->len);
		o->next = f->origins;
		f->origins = o;
	}
	o->refs++;
	return o;
}

static void origin_put(struct fetcher *f, struct origin *o)
{
	struct origin **at;

	if (!o || --o->refs > 0)
		return;
	for (at = &f->origins; *at != o; at = &(*at)->next)
		;
	*at = o->next;
	image_fetch_close(o->image);
	free(o);
}

/* ---------------------------------------------------------------- the list */

static void fetched_free(struct fetcher *f, struct fetched *d)
{
	origin_put(f, d->origin);
	ram_disk_put(d->disk);
	free(d);
}

static void sweep(struct fetcher *f)
{
	struct fetched **at = &f->list, *d;

	while ((d = *at)) {
		if (!d->gone) {
			at = &d->next;
			continue;
		}
		*at = d->next;
		fetched_free(f, d);
	}
}

static struct fetched *find(struct fetcher *f, const struct ram_disk *disk)
{
	struct fetched *d;

	for (d = f->list; d && d->disk != disk; d = d->next)
		;
	return d;
}

/* What is missing of it, and where it comes from; false: no memory. */
static bool set_origin(struct fetcher *f, struct fetched *d,
		       const struct ram_disk_info *info)
{
	struct origin *o = origin_of(f, info);

	if (!o)
		return false;
	origin_put(f, d->origin);
	d->origin = o;
	d->generation = info->generation;
	d->at = 0;
	d->retry = 0;
	d->starved = false;
	ram_disk_fetch_error(d->disk, o->broken ? -EIO : 0);
	return true;
}

/* Takes the handle over. */
static bool add(struct fetcher *f, struct ram_disk *disk)
{
	static const uint8_t none[16];
	struct fetched *d = find(f, disk), **end;
	struct ram_disk_info info;

	ram_disk_info(disk, NULL, 0, &info);
	if (d) {
		ram_disk_put(disk);
		return info.generation == d->generation ||
		       set_origin(f, d, &info);
	}
	d = calloc(1, sizeof(*d));
	if (d)
		d->disk = disk;
	if (!d || !set_origin(f, d, &info)) {
		free(d);
		ram_disk_put(disk);
		return false;
	}
	/* Those of a save or a check nobody knows. */
	if (info.state == RAM_WHOLE)
		log_escape(info.name, strlen(info.name), d->name,
			   sizeof(d->name));
	d->is_copy = memcmp(info.parent, none, sizeof(none)) != 0;
	for (end = &f->list; *end; end = &(*end)->next)
		;
	*end = d;
	return true;
}

/* Of all that are there now. */
static void look(struct fetcher *f)
{
	uint64_t news = ram_pool_fetch_news(f->pool), cursor = 0;
	struct ram_disk *disk;
	bool good = true;

	if (news == f->news)
		return;
	while (ram_disk_next_lazy(f->pool, &cursor, &disk) == 0)
		good = add(f, disk) && good;
	/* Without memory it is looked at again. */
	if (good)
		f->news = news;
}

/* --------------------------------------------------------------- the result */

static uint64_t missing(struct fetcher *f, const struct fetched *d)
{
	struct ram_disk_info info;

	ram_disk_info(d->disk, f->ram, RAM_INFO_USAGE, &info);
	return info.missing;
}

/* To what calls are answered, of all disks of a file. */
static void set_error(struct fetcher *f, const struct origin *o, int error)
{
	struct fetched *d;

	for (d = f->list; d; d = d->next) {
		if (d->origin == o)
			ram_disk_fetch_error(d->disk, error);
	}
}

/* The file is not what it was, or not there. */
static void file_failed(struct fetcher *f, struct fetched *d,
			const struct ram_why *why)
{
	struct origin *o = d->origin;

	image_fetch_close(o->image);
	o->image = NULL;
	o->retry = now_msec() + FILE_MSEC;
	set_error(f, o, -EIO);
	/* Once, but who has put a wrong one there is told so. */
	if (!o->broken || strncmp(o->said, why->text, sizeof(o->said) - 1) != 0)
		log_error("disk %s: %s; %" PRIu64 " MiB of it are not loaded "
			  "yet and cannot be read: put that file back as it "
			  "was, or load another one (nbdramctl load)",
			  *d->name ? d->name : "(being saved)", why->text,
			  div_up(missing(f, d), 1 << 20));
	o->broken = true;
	snprintf(o->said, sizeof(o->said), "%.199s", why->text);
}

static void memory_failed(struct fetcher *f, struct fetched *d)
{
	d->retry = now_msec() + MEMORY_MSEC;
	ram_disk_fetch_error(d->disk, -ENOSPC);
	if (!d->starved && *d->name)
		log_warning("disk %s: %" PRIu64 " MiB of it are not loaded "
			    "yet, and the pool has not got the memory for "
			    "them; it goes on when there is some",
			    d->name, div_up(missing(f, d), 1 << 20));
	d->starved = true;
}

static void worked(struct fetcher *f, struct fetched *d)
{
	struct origin *o = d->origin;

	if (o->broken) {
		log_info("%s: is there again, and loading goes on",
			 image_fetch_path(o->image));
		set_error(f, o, 0);
	}
	if (d->starved) {
		log_info("disk %s: its loading goes on", d->name);
		ram_disk_fetch_error(d->disk, 0);
	}
	o->broken = d->starved = false;
	o->retry = d->retry = 0;
}

static void end(struct fetcher *f, struct fetched *d)
{
	int error = ram_disk_fetch_end(d->disk, f->ram);

	/* Others have come in the place of what was looked at. */
	if (error == -EBUSY && ram_disk_lazy(d->disk)) {
		d->at = 0;
		return;
	}
	/* No block for its slot: later. */
	if (error == -ENOSPC || error == -EAGAIN) {
		d->retry = now_msec() + MEMORY_MSEC;
		return;
	}
	d->gone = true;
	if (!error && *d->name && !d->is_copy)
		log_info("disk %s: all of it is loaded", d->name);
}

/* --------------------------------------------------------------- bringing */

static bool opened(struct fetcher *f, struct fetched *d)
{
	struct origin *o = d->origin;
	struct ram_why why;

	if (o->image ||
	    image_fetch_open(o->source, o->len, &o->image, &why) == 0)
		return true;
	file_failed(f, d, &why);
	return false;
}

/* What has been read to its place. */
static int put(struct fetcher *f, struct fetched *d, uint64_t len, uint64_t off)
{
	uint64_t done = 0;
	int64_t n = 0;

	while (done < len && n >= 0 && !atomic_load(&f->stop)) {
		n = ram_disk_fetched(d->disk, f->ram, f->buf + done, len - done,
				     off + done);
		if (n == -EAGAIN) {
			doze(f, MEMORY_MSEC);
			n = 0;
		}
		done += n;
	}
	if (n < 0 || done < len)
		ram_wait_cancel(f->ram);
	return n < 0 ? (int)n : 0;
}

/* The run of missing blocks at *off: at most *len bytes of it are read, and put.
 * False: it could not be done, or there is nothing from there on. */
static bool bring(struct fetcher *f, struct fetched *d, uint64_t *off,
		  uint64_t *len)
{
	struct ram_why why;
	uint64_t size;
	int error;

	if (ram_disk_missing(d->disk, f->ram, off, len) || !opened(f, d))
		return false;
	size = ram_disk_size(d->disk);
	*len = min_u64(*len, CHUNK - *off % CHUNK);
	if (*off + *len > size)
		*len = size - *off;
	if (image_fetch_read(d->origin->image, f->buf, *len, *off, &why)) {
		file_failed(f, d, &why);
		return false;
	}
	error = put(f, d, *len, *off);
	/* Another size came in between: it is looked at again. */
	if (error == -EINVAL)
		return false;
	if (error)
		memory_failed(f, d);
	else
		worked(f, d);
	return !error;
}

static bool is_due(const struct fetched *d)
{
	uint64_t retry = max_u64(d->retry, d->origin->retry);

	return !d->gone && (retry == 0 || now_msec() >= retry);
}

/* What somebody waits for, and what is around it. */
static bool bring_wanted(struct fetcher *f, struct fetched *d)
{
	uint64_t off, len, at, end_at;

	if (ram_disk_wanted(d->disk, &off))
		return false;
	at = round_down(off, CHUNK);
	end_at = at + CHUNK;
	len = CHUNK;
	while (at < end_at && bring(f, d, &at, &len)) {
		at += len;
		len = CHUNK;
	}
	return true;
}

/* A look of each at what is wanted of it, and each has its turn. */
static bool serve_wanted(struct fetcher *f)
{
	struct fetched *d;
	bool any = false;

	for (d = f->list; d && !atomic_load(&f->stop); d = d->next) {
		if (!ram_disk_lazy(d->disk))
			d->gone = true;
		if (is_due(d))
			any = bring_wanted(f, d) || any;
	}
	return any;
}

/* The next part of the first disk that is not complete. */
static bool serve_next(struct fetcher *f)
{
	struct fetched *d;
	uint64_t len = CHUNK;

	for (d = f->list; d && !is_due(d); d = d->next)
		;
	if (!d)
		return false;
	if (ram_disk_missing(d->disk, f->ram, &d->at, &len)) {
		end(f, d);
		return true;
	}
	len = CHUNK;
	if (bring(f, d, &d->at, &len))
		d->at += len;
	return true;
}

/* How long nothing is to be done, if nobody wants anything; 0: for ever. */
static uint64_t pause_msec(const struct fetcher *f)
{
	uint64_t now = now_msec(), least = 0, left, retry;
	const struct fetched *d;

	for (d = f->list; d; d = d->next) {
		retry = max_u64(d->retry, d->origin->retry);
		left = retry > now ? retry - now : 1;
		if (least == 0 || left < least)
			least = left;
	}
	return least;
}

static void *work(void *arg)
{
	struct fetcher *f = arg;

	pthread_setname_np(pthread_self(), "fetcher");
	while (!atomic_load(&f->stop)) {
		look(f);
		if (!serve_wanted(f) && !serve_next(f))
			doze(f, pause_msec(f));
		sweep(f);
	}
	return NULL;
}

/* ------------------------------------------------------------ start and stop */

static void fetcher_free(struct fetcher *f)
{
	struct fetched *d;

	while ((d = f->list)) {
		f->list = d->next;
		fetched_free(f, d);
	}
	if (f->ram) {
		ram_pool_fetcher(f->pool, NULL);
		ram_pool_leave(f->ram);
	}
	pthread_cond_destroy(&f->wake);
	pthread_mutex_destroy(&f->lock);
	free(f->buf);
	free(f);
}

struct fetcher *fetcher_start(struct ram_pool *pool)
{
	struct fetcher *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->pool = pool;
	/* Of those that have come with the pool nobody has told. */
	f->news = UINT64_MAX;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->wake, NULL);
	f->buf = malloc(CHUNK);
	if (!f->buf || ram_pool_join(pool, on_wake, f, &f->ram)) {
		fetcher_free(f);
		return NULL;
	}
	ram_pool_fetcher(pool, f->ram);
	if (pthread_create(&f->thread, NULL, work, f)) {
		fetcher_free(f);
		return NULL;
	}
	return f;
}

void fetcher_stop(struct fetcher *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	atomic_store(&f->stop, true);
	pthread_cond_broadcast(&f->wake);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	fetcher_free(f);
}
