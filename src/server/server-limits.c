/* SPDX-License-Identifier: BSD-3-Clause */
/* See server-limits.h. */
#include "server-limits.h"

#include <sys/resource.h>

#include "log.h"

/* Descriptors that are not for clients: files, the pool, logs. */
#define OTHER_DESCRIPTORS 100
#define CONNECTIONS_USUAL 20000

static unsigned connection_limit(unsigned asked)
{
	unsigned most = asked ? asked : CONNECTIONS_USUAL;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return most;
	/* As many as we may have without asking anybody. */
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur >= most + OTHER_DESCRIPTORS)
		return most;
	if (asked)
		log_warning("%u connections were asked for, but there are only "
			    "%llu descriptors (ulimit -n)",
			    asked, (unsigned long long)limit.rlim_cur);
	return limit.rlim_cur > 2 * OTHER_DESCRIPTORS
		       ? limit.rlim_cur - OTHER_DESCRIPTORS
		       : limit.rlim_cur / 2;
}

void limits_apply(struct server *server)
{
	const struct config *config = server->config;

	server->max_connections = connection_limit(config->max_connections);
	atomic_store(&server->limits.unfinished, config->max_unfinished);
	atomic_store(&server->limits.handshake_msec, config->handshake_msec);
	atomic_store(&server->limits.tls, config->tls);
	atomic_store(&server->limits.busy_poll_usec, config->busy_poll_usec);
	atomic_store(&server->limits.full_msec, config->full_msec);
}
