/* SPDX-License-Identifier: BSD-3-Clause */
/* Control commands: a table of them, and one call of one of them. A command runs
 * on a command thread; the main thread owns the call before and after. */
#ifndef NBDRAM_SERVER_COMMANDS_H
#define NBDRAM_SERVER_COMMANDS_H

#include "control.h"
#include "jobs.h"
#include "server.h"

struct call;
struct caller;
struct callers;
struct post;

struct server_command {
	const char *name;
	const char *args; /* members of "args", with blanks between */
	bool changes;	  /* takes change_lock for all that it does */
	bool is_long;	  /* may take seconds */
	/* Write members of the result to call->out. 0, or call_fail(). */
	int (*run)(struct call *call);
};

struct call {
	struct job job; /* the first */
	/* The main thread's. */
	struct caller *caller; /* NULL: has gone */
	struct callers *callers;

	/* Fixed. */
	struct server *server;
	const struct server_command *command;
	struct control_request request;

	/* Of the thread on which it runs. */
	struct ram_thread *ram;
	struct control_writer out, notes;
	unsigned note_count;
	uint64_t told; /* msec: when progress was told last */
	struct post *end;
	char code[24];	  /* of the failure; empty: none */
	char error[1024]; /* one line */

	_Atomic unsigned progress; /* lines that are on their way */
};

/* A call of the request, or NULL: there is no such command, or not with these
 * arguments, or no memory; *why says so then. Takes the request over if it is
 * not NULL. */
struct call *call_new(struct callers *callers, struct server *server,
		      struct control_request *request, struct ram_why *why);
void call_free(struct call *call);

/* Run it, and make the line that answers it. NULL: no memory for that. */
char *call_run(struct call *call, size_t *len);

/* ------------------------------------------------------- for the commands */

/* It has failed: a word for programs, and a line for people. Returns -1. */
__attribute__((format(printf, 3, 4))) int call_fail(struct call *call,
						    const char *code,
						    const char *format, ...);
int call_no_memory(struct call *call);

/* Something that a person should know beside the result. */
__attribute__((format(printf, 2, 3))) void call_note(struct call *call,
						     const char *format, ...);

/* How far it is; what is a few words. Not for each step: only what is due is
 * told. */
void call_progress(struct call *call, const char *what, uint64_t done,
		   uint64_t all);

/* Whether nobody waits for it any more. */
bool call_cancelled(struct call *call);

/* Take server.change_lock, which a reload may hold for long, unless nobody waits for
 * it any more: the call has failed then. */
int call_lock(struct call *call);
void call_unlock(struct call *call);

/* An argument as bytes, to be freed; NULL: it is not there or no name, and the
 * call has failed. */
char *call_name(struct call *call, const char *key);
bool call_has(struct call *call, const char *key);

/* The disk of that name, or the call has failed. */
int call_open_disk(struct call *call, const char *name, struct ram_disk **disk);

/* Where the configuration speaks of that disk; "" if it does not. Returns the size
 * that it says, 0 if none. */
uint64_t call_configured(struct server *server, const char *name, char *where,
			 size_t size);

/* A name for messages, made harmless; of the four last ones that were asked for
 * on this thread. */
const char *shown(const char *name);

/* See to it that nobody has the disk open (`writers`: for writing), and that nobody
 * comes before call_let_in(): by "force" those who have are disconnected, else the
 * call has failed. With change_lock. *e: what the second needs. */
int call_seclude(struct call *call, struct ram_disk *disk, const char *name,
		 bool writers, struct export **e);
void call_let_in(struct call *call, const char *name, struct export *e);

/* In commands-show.c, commands-disks.c, commands-image.c, commands-replace.c, commands-server.c. */
int command_list(struct call *call);
int command_show(struct call *call);
int command_create(struct call *call);
int command_delete(struct call *call);
int command_resize(struct call *call);
int command_clone(struct call *call);
int command_snapshot(struct call *call);
int command_rollback(struct call *call);
int command_save(struct call *call);
int command_load(struct call *call);
int command_reset(struct call *call);
int command_clients(struct call *call);
int command_disconnect(struct call *call);
int command_stats(struct call *call);
int command_reload(struct call *call);
int command_check(struct call *call);

/* The pool's usage as a member of the result. */
void put_pool(struct call *call);

/* Disks of one origin (16 bytes), or all (NULL), as a member: each one behind
 * what it was made of. Outside every epoch. 0, or the call has failed. */
int put_lineage(struct call *call, const uint8_t *origin);

/* The names of all disks as they are now, by uuid. NULL: no memory. */
struct family;
struct family *family_new(struct call *call);
const char *family_name(const struct family *f, const uint8_t uuid[16]);
void family_free(struct family *f); /* NULL is fine */

#endif
