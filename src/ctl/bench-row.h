/* SPDX-License-Identifier: BSD-3-Clause */
/* One row of the table of nbdramctl bench: requests of one kind to an export for some
 * seconds, so many of them in flight. One thread; libnbd's own loop is not used. */
#ifndef NBDRAM_CTL_BENCH_ROW_H
#define NBDRAM_CTL_BENCH_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "nbd-library.h"

#define BENCH_DEPTH_MOST 32u

struct run;

struct bench_row {
	bool write;
	bool random;	/* else one request behind the other */
	uint32_t bytes; /* of each request */
	unsigned depth; /* requests in flight; at most BENCH_DEPTH_MOST */
	bool once;	/* a stream that ends when it is through */
};

/* What a row came to. */
struct bench_figures {
	uint64_t requests;
	double seconds; /* from the first request to the last answer */
	double average_us, p99_us, p999_us,
		most_us; /* from request to answer */
};

/* Where the rows go; one for all of them, zero but for the first group. */
struct bench_ground {
	const struct nbd_library *nbd;
	struct nbd_handle *handle; /* connected */
	uint64_t area;	/* bytes of the export, from 0 on, to be used */
	double seconds; /* of each row */

	uint64_t places; /* the number that random offsets come from */
	uint64_t stamps; /* likewise what is written, which is never the same */
	/* Freed by bench_ground_free(). */
	struct run *run; /* the row's own */
	uint8_t *memory; /* of all its requests */
	uint64_t memory_len;
};

/* After the handle was closed, which may still use it. */
void bench_ground_free(struct bench_ground *ground);

/* "write 4K random", in a buffer of 32 bytes. Returns it. */
char *bench_row_title(const struct bench_row *row, char title[32]);

/* From now on SIGINT and SIGTERM end the row that is under way, and a second one the
 * process. */
void bench_heed_signals(void);

/* Run one; n of all says which, for the person who watches. Returns 0; -EINTR: a
 * signal came, nothing was told; else told, and the connection is no longer to be
 * used. */
int bench_row_run(struct bench_ground *ground, const struct bench_row *row,
		  unsigned n, unsigned all, struct bench_figures *figures);

#endif
