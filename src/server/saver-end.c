/* SPDX-License-Identifier: BSD-3-Clause */
/* The last save, when the daemon ends and its memory with it. See saver.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "aside.h"
#include "check.h"
#include "early-stop.h"
#include "log.h"
#include "saver.h"

/* systemd waits so long from each moment in which something went on. */
#define EXTEND_USEC UINT64_C(300000000)

struct ending {
	struct server *server;
	int result;
	_Atomic bool stop;
	/* Of the one that is being saved now. */
	_Atomic(const char *) name;
	_Atomic uint64_t done, all;
	/* The main thread's. */
	uint64_t told;
	unsigned ticks;
};

static bool on_step(void *arg, uint64_t done, uint64_t all)
{
	struct ending *e = arg;

	atomic_store(&e->done, done);
	atomic_store(&e->all, all);
	return atomic_load(&e->stop);
}

static int save_one(struct ending *e, struct ram_thread *thread,
		    const struct config_export *o)
{
	struct server *s = e->server;
	char clean[300];
	struct image_saved saved;
	struct ram_disk *disk;
	struct ram_why why;
	int error = ram_disk_open(s->pool, o->name, &disk);

	/* Deleted by command. */
	if (error)
		return 0;
	atomic_store(&e->name, o->name);
	error = saver_may_replace(s, o->name, o->save, &why);
	if (!error)
		error = disk_save(s->pool, disk, thread, o->save,
				  DISK_STILL | IMAGE_UNLESS_SAME, on_step, e,
				  &saved, &why);
	ram_disk_put(disk);
	log_escape(o->save, strlen(o->save), clean, sizeof(clean));
	if (error)
		log_error("export %s: what was written to it is lost, for it "
			  "was not saved: %s",
			  o->name, why.text);
	else if (saved.same)
		log_info("export %s: is as %s has it already", o->name, clean);
	else
		log_info("export %s: saved to %s, %" PRIu64 " MiB written",
			 o->name, clean, div_up(saved.bytes, 1 << 20));
	return error;
}

static void work(void *arg)
{
	struct ending *e = arg;
	const struct config *config = e->server->config;
	struct ram_thread *thread;
	unsigned i;
	int error = ram_pool_join(e->server->pool, NULL, NULL, &thread);

	if (error) {
		log_error("no memory to save disks; they are lost");
		e->result = error;
		return;
	}
	/* One that fails is no reason for others. */
	for (i = 0; i < config->export_count; i++) {
		if (!config->exports[i].save)
			continue;
		error = save_one(e, thread, &config->exports[i]);
		if (error)
			e->result = error;
	}
	ram_pool_leave(thread);
}

/* Who waits for the end is told why that takes so long; a file system that hangs does
 * not hold it up for ever. */
static void tick(void *arg)
{
	struct ending *e = arg;
	const char *name = atomic_load(&e->name);
	uint64_t done = atomic_load(&e->done), all = atomic_load(&e->all);

	if (early_stop_asked() && !atomic_exchange(&e->stop, true))
		log_warning("a second signal: disks are not saved any more");
	sd_notify(0, "WATCHDOG=1");
	if (!name)
		return;
	if (e->ticks == 0 || e->told != done)
		sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, EXTEND_USEC);
	sd_notifyf(0, "STATUS=Saving %s: %" PRIu64 " of %" PRIu64 " MiB", name,
		   done >> 20, all >> 20);
	e->told = done;
	if (e->ticks++ % 4 == 1)
		log_info("export %s: %" PRIu64 " of %" PRIu64 " MiB are saved",
			 name, done >> 20, all >> 20);
}

int saver_save_all(struct server *server)
{
	struct ending e = {.server = server};
	bool any = false;
	unsigned i;

	for (i = 0; i < server->config->export_count; i++)
		any = any || server->config->exports[i].save;
	if (!any)
		return 0;
	sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, EXTEND_USEC);
	aside_run(work, &e, tick, &e);
	return e.result;
}
