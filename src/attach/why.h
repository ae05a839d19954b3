/* SPDX-License-Identifier: BSD-3-Clause */
/* How functions of this room fail: a negative errno, and one line that says what,
 * where, and what to do. */
#ifndef NBDRAM_ATTACH_WHY_H
#define NBDRAM_ATTACH_WHY_H

struct attach_why {
	char text[400]; /* no newline; what is foreign in it is escaped */
};

/* One line, cut at its end if it is too long; returns error. */
__attribute__((format(printf, 3, 4))) int attach_fail(struct attach_why *why,
						      int error,
						      const char *format, ...);

#endif
