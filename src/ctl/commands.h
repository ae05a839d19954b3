/* SPDX-License-Identifier: BSD-3-Clause */
/* All commands, in one table: the command line, --help, the completion and the
 * test of the manual page read it. */
#ifndef NBDRAM_CTL_COMMANDS_H
#define NBDRAM_CTL_COMMANDS_H

#include "control.h"

#define ARGUMENTS_MOST 2

struct flag {
	const char *name; /* without the dashes: also the member sent */
	const char *help;
};

struct command {
	const char *name;
	const char *synopsis; /* what follows the name */
	const char *help;     /* one line */
	/* Arguments in their order: as which members they are sent. */
	const char *arguments[ARGUMENTS_MOST];
	int least;	  /* how many of them must be there */
	bool keys;	  /* KEY=VALUE may follow */
	struct flag flag; /* that it knows; name NULL: none */
	/* Show the result. -ENOMEM. */
	int (*print)(struct json_t *result);
	/* NULL, or it asks no nbdramd: it is given all words behind it but for
	 * those of the options that all commands have, and returns the exit
	 * status. */
	int (*alone)(int argc, char **argv, bool json);
	/* NULL, or with an argument it asks none either. */
	int (*with_argument)(const char *argument, bool json);
};

extern const struct command commands[];
extern const unsigned command_count;

/* NULL: there is no such command. */
const struct command *command_find(const char *name);

/* The known name that is most like it, or NULL. */
const char *command_like(const char *name);

#endif
