/* SPDX-License-Identifier: BSD-3-Clause */
/* Disks by the names under which clients find them. The list changes while
 * workers run: an export is never changed but replaced by another of the same
 * name; who holds the old one goes on with it. All functions: any thread,
 * outside every epoch of the store; none is on the way of a request. */
#ifndef NBDRAM_SERVER_EXPORTS_H
#define NBDRAM_SERVER_EXPORTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "access.h"
#include "config.h"
#include "store.h"
#include "template.h"

struct server;

/* What is counted for a disk, whatever exports it has had. */
struct export_use {
	struct export_use *next; /* guarded by exports.lock */
	struct ram_disk *disk;	 /* fixed */
	unsigned refs;		 /* exports; guarded by exports.lock */
	/* Clients that have it open, and those of them that may write. Changed
	 * with exports.lock held; read by anybody. */
	_Atomic unsigned connections, writers;
	uint64_t entered; /* clients that have ever; guarded by exports.lock */
	/* Who writes, and in which session; guarded by exports.lock, valid while
	 * there are writers. */
	char *writer; /* NULL: one that is not known */
	bool in_session;
	uint8_t session[16];
	/* Since when nobody has had it open, in msec of now_msec(), as far as
	 * has been seen: expire.c's. 0: somebody has. Guarded by exports.lock. */
	uint64_t unused_since;
	uint64_t seen; /* of `entered`, when expire.c looked last; likewise */
};

/* A client that wants in. */
struct guest {
	const struct identity *who; /* NULL: one of ours */
	bool in_session;
	uint8_t session[16]; /* its UUID, if in_session */
};

struct export
{
	/* Fixed once it is in the list. */
	char *name;
	struct ram_disk *disk; /* a handle of ours */
	struct export_use *use;
	unsigned max_connections; /* 0: no limit */
	bool readonly;
	bool detect_zeroes; /* of the disk, once the export is in the list */
	bool is_default;    /* found by the empty name too */
	bool by_command;    /* not by a section of the configuration */
	bool many_writers;  /* else one host at a time may write */
	struct access_list *allow; /* NULL: everybody may open it */
	char *allow_text;	   /* the same as it was written; NULL too */
	/* Of a disk that a template has made: the pattern, and whose it is (see
	 * identity_owner()), who alone may open it, unless many_writers. NULL:
	 * of any other. */
	char *template, *owner;
	unsigned expire_msec; /* deleted so long after its last client; or 0 */
	bool fresh;	      /* made anew for each session */
	/* Who holds it: the list, connections, and so on. */
	_Atomic unsigned refs;
	/* While it is in the list, guarded by exports.lock: where, and the next one in
	 * the chain of its name; see exports-index.c. */
	unsigned place;
	struct export *next_named;
};

/* Chains from the start on. */
#define EXPORTS_FEW 16

struct exports {
	pthread_mutex_t lock;
	struct export **list; /* guarded by lock, as are the counts */
	unsigned count, room;
	struct export
		*fallback; /* the default one; likewise, as is what follows */
	struct export **named;
	struct export_use **used;
	unsigned chains; /* of each; a power of two */
	struct export *few_named[EXPORTS_FEW];
	struct export_use *few_used[EXPORTS_FEW];
	_Atomic bool stopping; /* whoever makes disks is to give up */
};

static inline void exports_stop(struct exports *exports)
{
	atomic_store(&exports->stopping, true);
}

static inline bool exports_stopping(struct exports *exports)
{
	return atomic_load(&exports->stopping);
}

void exports_init(struct exports *exports);
/* Empty the list, at the end; nobody holds an export any more. */
void exports_destroy(struct exports *exports);

/* The export of that name ("": the default one), counted: give it back by
 * export_put(). NULL: there is none. */
struct export *exports_get(struct exports *exports, const char *name);
void export_put(struct exports *exports, struct export *e); /* NULL is fine */

/* All of them as they are now, each counted, in a new array that the caller
 * gives back by exports_free(). NULL with *count 0: there are none, or (count
 * not 0) no memory. */
struct export **exports_all(struct exports *exports, unsigned *count);
void exports_free(struct exports *exports, struct export **all, unsigned count);

/* The one after `last` in the list, counted (NULL: the end), so that all can be
 * gone through without holding any but one. last is given back; NULL: from the
 * beginning. *at is the walk's own. The list may change meanwhile: what stays in
 * it is met once, unless its order changes too. */
struct export *exports_next(struct exports *exports, struct export *last,
			    unsigned *at);

/* A client opens it: as exports_get(), and takes one of its max_connections,
 * until export_leave(), which also gives it back. *writes: it may write, which
 * export_leave() is told. -ENOENT (or not for this guest), *e is NULL then;
 * -EBUSY: no place is left; -ETXTBSY: another host writes; *e is counted then. */
int exports_enter(struct exports *exports, const char *name,
		  const struct guest *guest, struct export **e, bool *writes);
void export_leave(struct exports *exports, struct export *e, bool writes);

/* What the guest may do with it. */
enum access export_access(const struct export *e, const struct identity *who);

/* Clients that have the disk open now, and those of them that may write. */
unsigned export_connections(const struct export *e);
unsigned export_writers(const struct export *e);

/* The same for a disk, be it in the list or not. */
unsigned exports_clients(struct exports *exports, const struct ram_disk *disk,
			 bool writers);

/* Give a disk a smaller size, unless clients have it open, who were told the old
 * one: -ETXTBSY then, and *clients is how many. Otherwise as ram_disk_resize(). */
int exports_cut(struct exports *exports, struct ram_disk *disk, uint64_t size,
		unsigned *clients);

/* How many clients have opened the disk, since it has been exported; and the old size
 * again, if none has opened it since then: -ETXTBSY otherwise. */
uint64_t exports_entered(struct exports *exports, const struct ram_disk *disk);
int exports_cut_back(struct exports *exports, struct ram_disk *disk,
		     uint64_t size, uint64_t since);

/* Note in the disk what the export lets clients do, so that it is known when the
 * export is gone; by_command: it will be exported again after a restart. An
 * allow that is too long is noted as one that lets nobody in. -EEXIST: the note
 * is of another release, and left alone; -ENOSPC. */
int export_note(const struct export *e);

/* Put a disk into the list, in the place of an export of the same name if there
 * is one; connections go on, and go on being counted. settings: the keys for
 * clients (readonly, is_default, max_connections, allow, writers,
 * detect_zeroes; the rest is not looked at);
 * NULL: as they are by default. by_command: it is noted in the disk, so that it
 * will be exported again after a restart; a disk in state making becomes whole
 * between note and list. The handle is taken over if the result is 0.
 * -EEXIST (another is the default), -ENOSPC (note), -ENOMEM; why says it in one
 * line. */
int exports_publish(struct exports *exports, struct ram_disk *disk,
		    const struct config_export *settings, bool by_command,
		    struct ram_why *why);

/* Take it out of the list: new clients are told that there is none, those that
 * are there go on. The note in the disk stays. -ENOENT. */
int exports_withdraw(struct exports *exports, const char *name);

/* The same only if no client has the disk open (`writers`: for writing), so
 * that none can come in between. -EBUSY, -ENOENT. */
int exports_withdraw_unused(struct exports *exports, const char *name,
			    bool writers);

/* Undo a withdrawal, or put an export into the list that was made otherwise; the
 * caller's count goes to the list. -EEXIST: there is one of that name, or
 * another default; -ENOMEM; the count stays the caller's then. */
int exports_restore(struct exports *exports, struct export *e);

/* Close all connections that have an export of that name open, on all workers,
 * then call done(arg, how many) once, on a worker's thread, which it must not
 * hold up. Withdraw it before, or they come back. -ENOMEM: nothing happens. */
int exports_disconnect(struct server *server, const char *name,
		       void (*done)(void *arg, unsigned closed), void *arg);

/* An export of the disk under its own name, not in any list; the caller's,
 * counted once. The handle is taken over unless the result is NULL (no
 * memory). */
struct export *export_new(struct exports *exports, struct ram_disk *disk,
			  const struct config_export *settings,
			  bool by_command);

/* It is of that template from now on, and t->owner's, or its owner's of before if
 * there is none; before it is in the list. -ENOMEM. */
int export_set_template(struct export *e, const struct template_disk *t,
			const char *owner);

/* Put e in the place of the export of that disk and name, as a reload does; the
 * caller's count goes to the list. -ENOENT: there is none; it stays the caller's. */
int exports_renew(struct exports *exports, struct export *e);

/* How many of the list that template has made, and of them for that owner. */
void exports_count(struct exports *exports, const char *template,
		   const char *owner, unsigned *all, unsigned *own);

/* At once: the list is `fresh` (in which it counts itself; the caller's counts
 * stay its own) and those that were made by command or by a template and have no
 * namesake there.
 * -EEXIST: two would be the default; -ENOMEM; nothing has changed then. */
int exports_replace(struct exports *exports, struct export **fresh,
		    unsigned count);

/* What a client is told about it: what it is for, and which contents it has. */
void export_describe(const struct export *e, char *buf, size_t size);

#endif
