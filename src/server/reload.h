/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the configuration again while clients work: all of it is read and
 * checked, what it asks for is made ready, then it takes effect at once; or
 * nothing changes. */
#ifndef NBDRAM_SERVER_RELOAD_H
#define NBDRAM_SERVER_RELOAD_H

#include "disk-make.h"
#include "server.h"

/* Lines for a person, fit for a terminal. */
struct reload_report {
	struct config_errors errors;  /* why nothing was changed */
	struct config_errors changes; /* what is different now, or would be
				       * after a restart */
};

/* Any thread but the main one, without locks; the main thread does its part of it and
 * is not held up. 0: done, report says what is different now (no lines: nothing is).
 * Negative: nothing was changed, report says why. The report is made anew, and freed
 * by reload_report_free() in any case. watch: hears of memory that is taken for
 * disks, and may give all of it up (-ECANCELED) until the main thread does its part;
 * NULL: nobody wants to. */
int server_reload(struct server *server, const struct disks_watch *watch,
		  struct reload_report *report);
void reload_report_free(struct reload_report *report);

/* The same with the report in the log too, and told to the service manager. */
int server_reload_told(struct server *server, const struct disks_watch *watch,
		       struct reload_report *report);

/* Tell the service manager that something is about to change; READY=1 ends it. */
void tell_reloading(void);

/* The same for SIGHUP, on a thread of its own, once more if it is asked for while it
 * is under way. The main thread's. NULL: no memory. */
struct reloader *reloader_open(struct server *server);
void reloader_run(struct reloader *reloader);

/* Wait until it is through; after mainbox_close(). NULL is fine. */
void reloader_close(struct reloader *reloader);

#endif
