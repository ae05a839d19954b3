/* SPDX-License-Identifier: BSD-3-Clause */
/* All that is known of an attached device, as plain data, and as text of lines
 * KEY=VALUE: in its state file, and between nbdramctl and the watcher. */
#ifndef NBDRAM_ATTACH_RECORD_H
#define NBDRAM_ATTACH_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "proto.h"

#define ATTACH_URI_MOST 4096
/* More are of no use: the kernel has one queue for each processor. */
#define ATTACH_CONNECTIONS_MOST 16
#define ATTACH_RECORD_TEXT_MOST 12288
#define ATTACH_GIVE_UP_DEFAULT 3600
/* Above the longest wait of a server that is well: a request that is sent again
 * while the first copy is still on its way is what all this avoids. */
#define ATTACH_TIMEOUT_SEVERAL 10

enum attach_phase {
	ATTACH_MAKING,	 /* nobody was told of it yet */
	ATTACH_ATTACHED, /* the kernel has it */
	ATTACH_FAILED,	 /* given up; kept so that one can see why */
};

/* What was asked for. */
struct attach_wish {
	char uri[ATTACH_URI_MOST + 1];
	int device; /* negative: any */
	bool readonly;
	unsigned connections; /* 0: as many as are of use */
	int timeout;	  /* seconds; negative: by the number of connections */
	unsigned give_up; /* seconds */
};

struct attach_record {
	struct attach_wish wish;
	enum attach_phase phase;
	int index; /* negative: none yet */
	char target[256];
	char identifier[ATTACH_IDENTIFIER_MOST + 1];
	/* of this device, whether the server knows of sessions or not; the epoch
	 * is one that was not used yet, nor any above */
	struct proto_session session;
	uint64_t size;
	uint32_t block;
	uint16_t flags;
	unsigned connections, timeout;
	uint32_t payload; /* the largest that the server takes */
	bool has_identity;
	char uuid[37];
	uint64_t gen;
	char tls[96];
	uint64_t since; /* seconds of the wall clock */
	/* How it is now; not in the file. */
	bool fresh;	   /* it was made for who asked just now */
	unsigned live;	   /* connections that are up */
	uint64_t away;	   /* seconds without any */
	char trouble[400]; /* "": none */
};

/* text: room for ATTACH_RECORD_TEXT_MOST; returns the length. status: with how it
 * is now. */
size_t attach_record_write(const struct attach_record *record, bool status,
			   char *text);

/* Lines of text with a 0 behind it; keys that are not known are passed over, what
 * is not there is as attach_record_clear() makes it. -EINVAL: it is none. */
int attach_record_read(char *text, struct attach_record *record);

void attach_record_clear(struct attach_record *record);

const char *attach_phase_text(enum attach_phase phase);

#endif
