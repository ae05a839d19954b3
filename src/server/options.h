/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line as data. Pure: opens nothing but configuration files. */
#ifndef NBDRAM_SERVER_OPTIONS_H
#define NBDRAM_SERVER_OPTIONS_H

#include <stdbool.h>

#include "config.h"

struct options {
	struct config config;
	struct config_sources sources; /* for config_load() once more */
	bool verbose;
	bool check_only; /* -t */
};

enum options_result {
	OPTIONS_RUN,
	OPTIONS_DONE,	/* --help or --version was printed */
	OPTIONS_WRONG,	/* the command line; said why; exit with 2 */
	OPTIONS_FAILED, /* a file, or no memory; said why; exit with 1 */
};

/* Fill *options; what is wrong is told in the log, all of it. Free it by
 * options_free() in any case. */
enum options_result options_parse(struct options *options, int argc,
				  char **argv);
void options_free(struct options *options);

#endif
