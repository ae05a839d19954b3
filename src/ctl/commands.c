/* SPDX-License-Identifier: BSD-3-Clause */
/* See commands.h. */
#include "commands.h"

#include <string.h>

#include "attach-command.h"
#include "bench-command.h"
#include "check-pool.h"
#include "check.h"
#include "print.h"
#include "tls-init.h"

#define FORCE(text)            \
	{                      \
		"force", text, \
	}

const struct command commands[] = {
	{"list",
	 "",
	 "all disks of the pool, and which are exported",
	 {0},
	 0,
	 false,
	 {0},
	 print_list,
	 NULL,
	 NULL},
	{"show",
	 "[NAME]",
	 "all about a disk; without NAME: about the server",
	 {"name"},
	 0,
	 false,
	 {"config", "write it as a section of the configuration"},
	 print_show,
	 NULL,
	 NULL},
	{"create",
	 "NAME KEY=VALUE...",
	 "make a disk and export it",
	 {"name"},
	 1,
	 true,
	 {0},
	 print_notes,
	 NULL,
	 NULL},
	{"delete",
	 "NAME",
	 "take a disk away, and all that is in it",
	 {"name"},
	 1,
	 false,
	 FORCE("disconnect its clients first"),
	 print_notes,
	 NULL,
	 NULL},
	{"resize",
	 "NAME SIZE",
	 "give a disk another size",
	 {"name", "size"},
	 2,
	 false,
	 FORCE("disconnect its clients first, if it gets smaller"),
	 print_notes,
	 NULL,
	 NULL},
	{"clone",
	 "FROM TO [KEY=VALUE...]",
	 "make a disk that begins as a copy of another",
	 {"from", "to"},
	 2,
	 true,
	 {0},
	 print_notes,
	 NULL,
	 NULL},
	{"snapshot",
	 "NAME [AS] [KEY=VALUE...]",
	 "keep a disk as it is now",
	 {"name", "as"},
	 1,
	 true,
	 {0},
	 print_name,
	 NULL,
	 NULL},
	{"rollback",
	 "NAME SNAPSHOT",
	 "make a disk what its snapshot is",
	 {"name", "snapshot"},
	 2,
	 false,
	 FORCE("disconnect its clients first, if any may write"),
	 print_notes,
	 NULL,
	 NULL},
	{"reset",
	 "NAME",
	 "make a disk what it was made of, as that is now, or empty",
	 {"name"},
	 1,
	 false,
	 FORCE("disconnect its clients first, if any may write"),
	 print_notes,
	 NULL,
	 NULL},
	{"save",
	 "NAME [FILE]",
	 "write a disk to a file, compressed if that ends in .zst",
	 {"name", "file"},
	 1,
	 false,
	 {0},
	 print_notes,
	 NULL,
	 NULL},
	{"load",
	 "NAME FILE",
	 "make a disk what a file has",
	 {"name", "file"},
	 2,
	 false,
	 FORCE("disconnect its clients first, if any may write"),
	 print_notes,
	 NULL,
	 NULL},
	{"clients",
	 "",
	 "who is connected",
	 {0},
	 0,
	 false,
	 {0},
	 print_clients,
	 NULL,
	 NULL},
	{"disconnect",
	 "ID",
	 "close a connection",
	 {"id"},
	 1,
	 false,
	 {0},
	 print_notes,
	 NULL,
	 NULL},
	{"stats",
	 "",
	 "what was done since the start",
	 {0},
	 0,
	 false,
	 {0},
	 print_stats,
	 NULL,
	 NULL},
	{"reload",
	 "",
	 "read the configuration again",
	 {0},
	 0,
	 false,
	 {0},
	 print_reload,
	 NULL,
	 NULL},
	{"attach",
	 "URI [--device D] [--connections N] [--readonly] [--format FS] "
	 "[--mount DIR] [--timeout S] [--give-up S]",
	 "make a disk of any NBD server a block device of this host",
	 {0},
	 0,
	 false,
	 {0},
	 NULL,
	 attach_command,
	 NULL},
	{"detach",
	 "DEVICE|URI [--force]",
	 "give a block device of attach back",
	 {0},
	 0,
	 false,
	 {0},
	 NULL,
	 detach_command,
	 NULL},
	{"attached",
	 "",
	 "the block devices of attach, and how they are",
	 {0},
	 0,
	 false,
	 {0},
	 NULL,
	 attached_command,
	 NULL},
	{"attach-watch",
	 "[--while-needed]",
	 "keep them connected; attach starts it by itself",
	 {0},
	 0,
	 false,
	 {0},
	 NULL,
	 attach_watch_command,
	 NULL},
	{"bench",
	 "URI [--destroy] [--secs N]",
	 "how fast a disk of any NBD server is; writes to it with --destroy "
	 "alone",
	 {0},
	 0,
	 false,
	 {0},
	 NULL,
	 bench_command,
	 NULL},
	{"check",
	 "[FOLDER]",
	 "look whether the pool is sound; or a pool that nobody has open",
	 {"folder"},
	 0,
	 false,
	 {0},
	 print_check,
	 NULL,
	 check_pool},
	{"tls-init",
	 "DIR [--host NAME]... [--client NAME]... [--psk USER]...",
	 "make certificates and keys for TLS; what is there is kept",
	 {0},
	 0,
	 false,
	 {0},
	 NULL,
	 tls_init,
	 NULL},
};
const unsigned command_count = ARRAY_SIZE(commands);

const struct command *command_find(const char *name)
{
	unsigned i;

	for (i = 0; i < command_count; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

#define WORD_MOST 16

/* How many letters are to be changed, added or left out. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[WORD_MOST + 1], corner, above, i, j;
	size_t la = strlen(a), lb = strlen(b);

	if (la > WORD_MOST || lb > WORD_MOST)
		return WORD_MOST;
	for (j = 0; j <= lb; j++)
		row[j] = j;
	for (i = 1; i <= la; i++) {
		corner = row[0];
		row[0] = i;
		for (j = 1; j <= lb; j++) {
			above = row[j];
			corner += a[i - 1] != b[j - 1];
			row[j] =
				min_u64(corner, min_u64(above, row[j - 1]) + 1);
			corner = above;
		}
	}
	return row[lb];
}

const char *command_like(const char *name)
{
	const char *best = NULL;
	unsigned least = 3, now, i;

	for (i = 0; i < command_count; i++) {
		now = distance(name, commands[i].name);
		if (now < least) {
			least = now;
			best = commands[i].name;
		}
	}
	return best;
}
