/* SPDX-License-Identifier: BSD-3-Clause */
/* Configurations out of texts. */
#ifndef NBDRAM_TESTS_CONF_H
#define NBDRAM_TESTS_CONF_H

#include "unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"

/* A file of memory that holds this; its path in buf. Close the result. */
static inline int conf_file(const void *text, size_t len, char buf[32])
{
	int fd = memfd_create("conf", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		abort();
	snprintf(buf, 32, "/proc/self/fd/%d", fd);
	return fd;
}

/* Load it. Free both. */
static inline int conf_load_bytes(const void *text, size_t len,
				  struct config *config,
				  struct config_errors *errors)
{
	char path[32];
	struct config_sources sources = {.file = path};
	int fd = conf_file(text, len, path), result;

	memset(errors, 0, sizeof(*errors));
	result = config_load(&sources, config, errors);
	close(fd);
	return result;
}

static inline int conf_load(const char *text, struct config *config,
			    struct config_errors *errors)
{
	return conf_load_bytes(text, strlen(text), config, errors);
}

#endif
