/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line as data. Pure: opens nothing. */
#ifndef NBDRAM_SERVER_OPTIONS_H
#define NBDRAM_SERVER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct export_options {
	char *name;
	uint64_t size; /* 0: not given */
	uint64_t quota, guarantee;
	bool fixed, readonly, is_default;
};

struct options {
	struct export_options *exports;
	unsigned export_count;
	char **listen; /* "HOST:PORT", "[V6]:PORT", ":PORT", "unix:PATH" */
	unsigned listen_count;
	uint64_t pool_size, warm; /* RAM_DEFAULT: as the store sees fit */
	char *pool_path;	  /* NULL: anonymous memory */
	unsigned workers;	  /* 0: as many as processors */
	unsigned max_connections; /* 0: as many as descriptors allow */
	unsigned max_unfinished;
	unsigned max_per_address; /* 0: no limit */
	unsigned handshake_msec;
	unsigned busy_poll_usec;
	bool insecure;
	bool verbose;
	bool check_only; /* -t */
};

enum options_result {
	OPTIONS_RUN,
	OPTIONS_DONE,  /* --help or --version was printed */
	OPTIONS_WRONG, /* said why; exit with 2 */
};

/* Fill *options; what is wrong is told in the log, all of it. Free it by
 * options_free() in any case. */
enum options_result options_parse(struct options *options, int argc,
				  char **argv);
void options_free(struct options *options);

#endif
