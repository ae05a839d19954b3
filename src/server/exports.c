/* SPDX-License-Identifier: BSD-3-Clause */
/* See exports.h. */
#include "exports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* A disk that is there already is given as it is, or grown. */
static int take(struct export *e, const struct config_export *o)
{
	uint64_t now = ram_disk_size(e->disk);
	int error;

	if (o->size == 0 || o->size == now)
		return 0;
	error = ram_disk_resize(e->disk, o->size);
	if (error == -EBUSY)
		log_error("export %s: has %" PRIu64
			  " bytes and data behind %" PRIu64
			  "; trim it, or leave size as it was",
			  e->name, now, o->size);
	else if (error)
		log_error("export %s: cannot be given %" PRIu64 " bytes: %s",
			  e->name, o->size, strerror(-error));
	return error;
}

static int make(struct export *e, const struct config_export *o,
		struct ram_pool *pool)
{
	struct ram_disk_spec spec = {
		.name = o->name,
		.size = o->size,
		.fixed = o->fixed,
		.quota = o->quota,
		.guarantee = o->guarantee,
		.state = RAM_WHOLE,
	};
	struct ram_usage usage;
	int error;

	if (o->size == 0) {
		log_error("export %s: there is no such disk yet; say how large "
			  "it is to be, as in -e %s,size=16G",
			  o->name, o->name);
		return -EINVAL;
	}
	error = ram_disk_create(pool, &spec, &e->disk);
	if (error == -ENOSPC) {
		ram_pool_usage(pool, &usage);
		log_error("export %s: the pool of %" PRIu64
			  " MiB has not got the memory it is to guarantee; "
			  "make the pool larger (-m) or use alloc=thin",
			  o->name, usage.size >> 20);
	} else if (error) {
		log_error("export %s: cannot be made: %s", o->name,
			  strerror(-error));
	}
	return error;
}

int exports_open(struct exports *exports, const struct config *config,
		 struct ram_pool *pool)
{
	const struct config_export *o;
	struct export *e;
	int error, result = 0;
	unsigned i;

	exports->list = calloc(config->export_count, sizeof(*exports->list));
	if (!exports->list && config->export_count > 0) {
		log_error("no memory for %u exports", config->export_count);
		return -ENOMEM;
	}
	for (i = 0; i < config->export_count; i++) {
		o = &config->exports[i];
		e = &exports->list[exports->count];
		e->name = o->name;
		e->readonly = o->readonly;
		e->is_default = o->is_default;
		error = ram_disk_open(pool, o->name, &e->disk);
		error = error ? make(e, o, pool) : take(e, o);
		if (error && e->disk) {
			ram_disk_put(e->disk);
			e->disk = NULL;
		}
		if (!error)
			exports->count++;
		else
			result = error;
	}
	return result;
}

void exports_close(struct exports *exports)
{
	unsigned i;

	for (i = 0; i < exports->count; i++)
		ram_disk_put(exports->list[i].disk);
	free(exports->list);
	exports->list = NULL;
	exports->count = 0;
}

const struct export *exports_find(const struct exports *exports,
				  const char *name)
{
	unsigned i;

	for (i = 0; i < exports->count; i++) {
		if (strcmp(exports->list[i].name, name) == 0 ||
		    (!*name && exports->list[i].is_default))
			return &exports->list[i];
	}
	return NULL;
}

void export_describe(const struct export *export, char *buf, size_t size)
{
	struct ram_disk_info info;
	const uint8_t *u = info.uuid;

	ram_disk_info(export->disk, NULL, 0, &info);
	snprintf(buf, size,
		 "RAM disk [uuid=%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x gen=%" PRIu64 "]",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9],
		 u[10], u[11], u[12], u[13], u[14], u[15], info.generation);
}
