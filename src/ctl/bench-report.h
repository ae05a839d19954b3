/* SPDX-License-Identifier: BSD-3-Clause */
/* What nbdramctl bench prints: the table, row by row as they are measured, or all of
 * it as JSON in the end. */
#ifndef NBDRAM_CTL_BENCH_REPORT_H
#define NBDRAM_CTL_BENCH_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "bench-row.h"
#include "control.h"

/* What was measured. */
struct bench_about {
	const char *uri;
	bool destroy; /* may it be written to? */

	/* As the server tells it; 0 for sizes that it does not. */
	uint64_t size, block_least, block_preferred, payload_most;
	bool readonly, tls;

	uint64_t area;	/* bytes of it, from 0 on, that are used */
	double seconds; /* of each row */
};

/* On standard output: what stands above the rows, a row, and what stands below. */
void bench_print_head(const struct bench_about *about);
void bench_print_row(const struct bench_row *row,
		     const struct bench_figures *figures);
void bench_print_foot(const struct bench_about *about);

/* The same as JSON, into `out`; the end prints it. False: no memory. */
void bench_put_head(struct control_writer *out,
		    const struct bench_about *about);
void bench_put_row(struct control_writer *out, const struct bench_row *row,
		   const struct bench_figures *figures);
bool bench_put_end(struct control_writer *out, bool complete);

#endif
