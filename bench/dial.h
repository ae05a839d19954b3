/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to an NBD server, many at a time, with the least that a client can
 * say: newstyle, GO, simple replies. */
#ifndef NBDRAM_BENCH_DIAL_H
#define NBDRAM_BENCH_DIAL_H

#include <stddef.h>
#include <stdint.h>

struct dial {
	int fd; /* -1: not in use */
	int stage;
	uint64_t size; /* of the export, once it is open */
	size_t have;
	uint8_t in[2048];
};

/* Where to: "HOST:PORT" or "unix:PATH", and the name of the export. Ends the
 * program with one line if there is no such address. */
void dial_to(const char *address, const char *export);

/* Begin. The descriptor does not block. Its owner waits until it can be read (or
 * written, as long as dial_connecting()) and calls dial_go_on(). */
void dial_begin(struct dial *d);
int dial_connecting(const struct dial *d);

/* 1: open, requests may be sent; 0: not yet. */
int dial_go_on(struct dial *d);

/* One line on standard error, and the end of the program. */
void die(const char *what, const char *why) __attribute__((noreturn));

#endif
