/* SPDX-License-Identifier: BSD-3-Clause */
/* One request -> its effect on a disk -> a reply in the queue. No descriptor
 * here. */
#ifndef NBDRAM_SERVER_EXECUTE_H
#define NBDRAM_SERVER_EXECUTE_H

#include "conn.h"

/* Execute a legal request other than a write. *cursor is 0 at first. 0: it has
 * been answered; -EAGAIN, -ENOSPC: not yet, call again with the same while there
 * is time; -EINPROGRESS: nor is it, however long it takes; -ENOMEM: the connection cannot be served. */
int execute_request(struct conn *c, const struct proto_request *request,
		    uint64_t *cursor);

/* Publish the payload of a write, all of it staged and received: 0: done, not
 * answered; -EAGAIN, -EINPROGRESS as above; else the error for the client. */
int execute_publish(struct conn *c, struct payload *payload);

/* A write whose payload is in memory. As execute_publish(). */
int execute_write(struct conn *c, const struct proto_request *request,
		  const void *payload);

/* Answers, which cannot be anything but queued or fatal (-ENOMEM). */
int execute_ack(struct conn *c, const struct proto_request *request);
int execute_error(struct conn *c, const struct proto_request *request,
		  int error, const char *text);

#endif
