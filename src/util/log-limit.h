/* SPDX-License-Identifier: BSD-3-Clause */
/* How many lines of a kind the log takes in a second. What is too much is counted
 * for each kind on its own, so that no kind hides another. All functions: under
 * the caller's lock; now is in seconds, of any clock that does not go back far. */
#ifndef NBDRAM_UTIL_LOG_LIMIT_H
#define NBDRAM_UTIL_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Lines of one kind in a second, and of all kinds that have a format in common. */
#define LOG_LIMIT_KIND 20u
#define LOG_LIMIT_FORMAT 200u

#define LOG_LIMIT_TEXT 200u

/* Lines of one kind that were not written. */
struct log_held {
	unsigned lines;
	char text[LOG_LIMIT_TEXT]; /* the first one of them, cut */
};

/* May a line be written? If not it is counted; then *held is where to put its
 * text, if that is the first one of its kind in this second, else NULL. */
bool log_limit(const void *format, uint64_t about, time_t now,
	       struct log_held **held);

/* Those of a second that is over: one kind a call. NULL: that was all. Valid until
 * the next call of either. */
const struct log_held *log_limit_over(time_t now);

/* Whether there is any that log_limit_over() will tell of, now or later. */
bool log_limit_holds(void);

#endif
