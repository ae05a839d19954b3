/* SPDX-License-Identifier: BSD-3-Clause */
/* One line an event, on standard error. Any thread; errno is kept. */
#ifndef NBDRAM_UTIL_LOG_H
#define NBDRAM_UTIL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
	LOG_ERROR,   /* something asked for cannot be had */
	LOG_WARNING, /* the administrator should look at it */
	LOG_INFO,    /* what happens: start, stop, who came and went */
	LOG_DEBUG,   /* every step, with -v */
};

/* Lines above this level are not written. Set before threads start. */
void log_set_level(enum log_level level);

/* Cheap enough for any path: a load and a branch. */
extern enum log_level log_level_now;
static inline bool log_wants(enum log_level level)
{
	return level <= log_level_now;
}

/* Write one line: "nbdramd: warning: ..." (no prefix of the level for info).
 * What comes from outside has gone through log_escape(). Lines that repeat the
 * same format are held back after 20 in a second; how many is told when it is
 * over, by the next line or log_catch_up(). */
__attribute__((format(printf, 2, 3))) void log_line(enum log_level level,
						    const char *format, ...);

/* The same for what others bring about: lines are held back when 20 of the same
 * format are about the same, or 200 of the format at all. about: any number but
 * UINT64_MAX. */
__attribute__((format(printf, 3, 4))) void log_about(enum log_level level,
						     uint64_t about,
						     const char *format, ...);

/* Tell of what was held back in seconds that are over; all: in this one too.
 * Returns whether there is more to be told later. */
bool log_catch_up(bool all);

/* One line of any length that is there already, and is not held back: for
 * lists that are bounded by whoever made them. */
void log_text(enum log_level level, const char *text);

/* A copy of foreign text that cannot harm a terminal or forge a line: anything
 * but printable ASCII becomes \xNN, cut to size. Returns buf. */
char *log_escape(const void *text, size_t len, char *buf, size_t size);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...)                                    \
	do {                                              \
		if (log_wants(LOG_DEBUG))                 \
			log_line(LOG_DEBUG, __VA_ARGS__); \
	} while (0)

#endif
