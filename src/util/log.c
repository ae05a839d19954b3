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

/* Lines of one format in a second, before the rest is held back. */
#define BURST 20
#define FORMATS 64
#define LINE_MAX_BYTES 1024

enum log_level log_level_now = LOG_INFO;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* By the address of the format; two that share a place share the limit. */
static struct burst {
	const char *format;
	time_t second;
	unsigned lines, held;
} bursts[FORMATS];

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

/* Under lock: may this line be written? *held: how many before were not. */
static bool may_write(const char *format, unsigned *held)
{
	struct burst *b = &bursts[(uintptr_t)format / 8 % FORMATS];
	time_t now = time(NULL);

	*held = 0;
	if (b->format != format || b->second != now) {
		if (b->format == format)
			*held = b->held;
		b->format = format;
		b->second = now;
		b->lines = b->held = 0;
	}
	if (b->lines++ < BURST)
		return true;
	b->held++;
	return false;
}

static const char *const prefix[] = {"error: ", "warning: ", "", "debug: "};

void log_line(enum log_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	int error = errno, at;
	unsigned held;
	va_list args;
	bool write_it;

	if (!log_wants(level))
		return;
	pthread_mutex_lock(&lock);
	write_it = level == LOG_DEBUG || may_write(format, &held);
	if (level == LOG_DEBUG)
		held = 0;
	if (write_it) {
		at = snprintf(line, sizeof(line), "nbdramd: %s", prefix[level]);
		if (held)
			at += snprintf(line + at, sizeof(line) - at,
				       "(%u lines like this one held back) ",
				       held);
		va_start(args, format);
		at += vsnprintf(line + at, sizeof(line) - at - 1, format, args);
		va_end(args);
		if (at > (int)sizeof(line) - 2)
			at = sizeof(line) - 2;
		line[at++] = '\n';
		/* In one write, so that lines of threads do not mix. */
		if (write(STDERR_FILENO, line, at) < 0) {
			/* Nobody is there to be told. */
		}
	}
	pthread_mutex_unlock(&lock);
	errno = error;
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
