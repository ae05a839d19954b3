/* SPDX-License-Identifier: BSD-3-Clause */
/* The connection to nbdramd. */
#ifndef NBDRAM_CTL_LINK_H
#define NBDRAM_CTL_LINK_H

#include "control.h"

struct link {
	const char *path;
	int fd;
	struct control_lines lines;
};

/* Connect to the socket at path. Functions that fail have said why in one line
 * on standard error; false then. */
bool link_open(struct link *l, const char *path);

bool link_send(struct link *l, const char *line, size_t len);

/* The next answer; free it by control_answer_free(). */
bool link_receive(struct link *l, struct control_answer *answer);

void link_close(struct link *l);

#endif
