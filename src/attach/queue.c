/* SPDX-License-Identifier: BSD-3-Clause */
/* See queue.h. */
#include "queue.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "cleanup.h"
#include "device.h"

/* Longer ones bring no more, and are more to send again. */
#define REQUEST_KB 1024u
/* With one link a request is only sent again when this has passed, rounded up to the
 * kernel's next whole second: so it is how much longer than the server's absence a
 * pause may be. */
#define TICK_MS 500

struct attach_queue attach_queue_for(uint32_t payload, unsigned timeout)
{
	struct attach_queue q;

	q.request_kb = min_u64(max_u64(payload / 1024, 4), REQUEST_KB);
	q.read_ahead_kb = max_u64(q.request_kb, 128);
	q.tick_ms = timeout ? 0 : TICK_MS;
	return q;
}

static int set(int index, const char *name, unsigned value,
	       struct attach_why *why)
{
	CLEANUP_CLOSE int fd = -1;
	char path[PATH_MAX], text[16];
	int len;

	snprintf(path, sizeof(path), "%s/sys/block/nbd%d/queue/%s", attach_root,
		 index, name);
	len = snprintf(text, sizeof(text), "%u", value);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, len) != len)
		return attach_fail(why, -errno, "%s cannot be set to %u: %s",
				   path, value, strerror(errno));
	return 0;
}

int attach_queue_set_tick(int index, const struct attach_queue *q,
			  struct attach_why *why)
{
	return q->tick_ms ? set(index, "io_timeout", q->tick_ms, why) : 0;
}

int attach_queue_set(int index, const struct attach_queue *q,
		     struct attach_why *why)
{
	int error = attach_queue_set_tick(index, q, why), now;

	now = set(index, "max_sectors_kb", q->request_kb, why);
	error = error ? error : now;
	now = set(index, "read_ahead_kb", q->read_ahead_kb, why);
	return error ? error : now;
}
