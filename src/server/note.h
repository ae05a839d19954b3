/* SPDX-License-Identifier: BSD-3-Clause */
/* What the server keeps with a disk, in the note of its slot: lines of text,
 *
 *	nbdram-note 1
 *	by-command=yes
 *	readonly=yes
 *	max-connections=4
 *	writers=many
 *	allow=cert:host-1
 *	template=host-*
 *	owner=cert:host-1
 *	session=00112233445566778899aabbccddeeff
 *	unused-since=1790000000
 *
 * Lines that this release does not know are kept as they are. A note comes from
 * a file, so anything may be in it. */
#ifndef NBDRAM_SERVER_NOTE_H
#define NBDRAM_SERVER_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "access.h"
#include "config.h"
#include "store.h"

/* Bytes of allow that always find room, and a rule that is none: nobody can be
 * let in by it, nor can it stand in a file. */
#define NOTE_ALLOW_MAX 1600u
#define NOTE_NOBODY "?"

struct note {
	/* Exported without a section in the configuration; else the rest is
	 * what its last section said. */
	bool by_command;
	bool readonly, is_default, detect_zeroes;
	bool many_writers;
	unsigned max_connections;
	char allow[RAM_NOTE_MAX + 1]; /* "": everybody */
	/* Which template has made it (its pattern), and for whom, see
	 * identity_owner(); "": none. */
	char template[RAM_NAME_MAX + 1];
	char owner[IDENTITY_OWNER_MAX];
	/* Of a template with fresh = always: for which session. */
	bool in_session;
	uint8_t session[16];
	/* When its last client left, in seconds of time(2); 0: it has one, or
	 * had when this was noted last. */
	uint64_t unused_since;
	/* Not ours: of another version, or no text. It is left alone. */
	bool foreign;
	char other[RAM_NOTE_MAX + 1]; /* lines that are not known */
};

/* Any bytes into *note; none: as nothing was ever noted. Pure. */
void note_read(const void *bytes, uint32_t len, struct note *note);

/* The note's bytes into buf, without a 0 behind them; the length. -ENOSPC: more
 * than there is room for; -EEXIST: foreign. Pure. */
int note_write(const struct note *note, char buf[RAM_NOTE_MAX]);

/* Whether both say the same. */
bool note_same(const struct note *a, const struct note *b);

/* The same from and to a disk. -EEXIST: a foreign note is there. */
void note_load(struct ram_disk *disk, struct note *note);
int note_save(struct ram_disk *disk, const struct note *note);

/* Its settings for clients as those of an export; the rest is zero, and nothing
 * is to be freed: texts are the note's. */
void note_settings(const struct note *note, struct config_export *settings);

#endif
