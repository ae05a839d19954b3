/* SPDX-License-Identifier: BSD-3-Clause */
/* See log.h. */
#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "log-limit.h"

#define LINE_MAX_BYTES 1024

enum log_level log_level_now = LOG_INFO;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void log_set_level(enum log_level level)
{
	log_level_now = level;
}

char *log_escape(const void *text, size_t len, char *buf, size_t size)
{
	static const char hex[] = "0123456789abcdef";
	const uint8_t *byte = text;
	size_t at = 0, i;

	for (i = 0; i < len; i++) {
		if (byte[i] > ' ' && byte[i] < 127 && byte[i] != '\\') {
			if (at + 1 >= size)
				break;
			buf[at++] = byte[i];
		} else if (byte[i] == ' ') {
			if (at + 1 >= size)
				break;
			buf[at++] = ' ';
		} else {
			if (at + 4 >= size)
				break;
			buf[at++] = '\\';
			buf[at++] = 'x';
			buf[at++] = hex[byte[i] >> 4];
			buf[at++] = hex[byte[i] & 15];
		}
	}
	if (size > 0)
		buf[at] = 0;
	return buf;
}

static const char *const prefix[] = {"error: ", "warning: ", "", "debug: "};

/* In one write, so that lines of threads do not mix. Room for the newline is
 * there. */
static void put(char *line, int len)
{
	if (len > LINE_MAX_BYTES - 2)
		len = LINE_MAX_BYTES - 2;
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, len) < 0) {
		/* Nobody is there to be told. */
	}
}

/* Under lock: tell of what was held back in seconds that are over. */
static void tell_held(time_t now)
{
	char line[LINE_MAX_BYTES];
	const struct log_held *held;

	while ((held = log_limit_over(now)))
		put(line, snprintf(line, sizeof(line) - 1,
				   "nbdramd: %u more within a second like: %s",
				   held->lines, held->text));
}

static void write_line(enum log_level level, uint64_t about, const char *format,
		       va_list args)
{
	char line[LINE_MAX_BYTES];
	struct log_held *held = NULL;
	int error = errno, at;
	time_t now;
	bool good = true;

	pthread_mutex_lock(&lock);
	if (level != LOG_DEBUG) {
		now = time(NULL);
		tell_held(now);
		good = log_limit(format, about, now, &held);
	}
	if (held)
		vsnprintf(held->text, sizeof(held->text), format, args);
	if (good) {
		at = snprintf(line, sizeof(line), "nbdramd: %s", prefix[level]);
		at += vsnprintf(line + at, sizeof(line) - at - 1, format, args);
		put(line, at);
	}
	pthread_mutex_unlock(&lock);
	errno = error;
}

void log_line(enum log_level level, const char *format, ...)
{
	va_list args;

	if (!log_wants(level))
		return;
	va_start(args, format);
	write_line(level, 0, format, args);
	va_end(args);
}

void log_about(enum log_level level, uint64_t about, const char *format, ...)
{
	va_list args;

	if (!log_wants(level))
		return;
	va_start(args, format);
	write_line(level, about, format, args);
	va_end(args);
}

bool log_catch_up(bool all)
{
	bool more;

	pthread_mutex_lock(&lock);
	/* No line was ever written in that second. */
	tell_held(all ? -1 : time(NULL));
	more = log_limit_holds();
	pthread_mutex_unlock(&lock);
	return more;
}

void log_text(enum log_level level, const char *text)
{
	char newline[] = "\n", head[32];
	const struct iovec parts[] = {
		{head,
		 snprintf(head, sizeof(head), "nbdramd: %s", prefix[level])},
		{(void *)text, strlen(text)},
		{newline, 1},
	};
	int error = errno;

	if (!log_wants(level))
		return;
	pthread_mutex_lock(&lock);
	if (writev(STDERR_FILENO, parts, 3) < 0) {
		/* Nobody is there to be told. */
	}
	pthread_mutex_unlock(&lock);
	errno = error;
}
