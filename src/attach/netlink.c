/* SPDX-License-Identifier: BSD-3-Clause */
/* See netlink.h. */
#include "netlink.h"

#include <errno.h>
#include <linux/nbd-netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

struct attach_kernel {
	struct nl_sock *socket;
	int family;
	int index; /* of the answer; negative: none has come */
	int error; /* as the kernel has said it */
};

/* The library has errors of its own, which tell less. */
static int hear_error(struct sockaddr_nl *from, struct nlmsgerr *message,
		      void *arg)
{
	struct attach_kernel *k = arg;

	(void)from;
	k->error = message->error;
	return NL_STOP;
}

static int hear_answer(struct nl_msg *message, void *arg)
{
	struct attach_kernel *k = arg;
	struct nlattr *attributes[NBD_ATTR_MAX + 1];

	if (genlmsg_parse(nlmsg_hdr(message), 0, attributes, NBD_ATTR_MAX,
			  NULL) == 0 &&
	    attributes[NBD_ATTR_INDEX])
		k->index = nla_get_u32(attributes[NBD_ATTR_INDEX]);
	return NL_OK;
}

int attach_kernel_open(struct attach_kernel **kernel, struct attach_why *why)
{
	struct attach_kernel *k = calloc(1, sizeof(*k));
	int error;

	if (k)
		k->socket = nl_socket_alloc();
	if (!k || !k->socket) {
		free(k);
		return attach_fail(why, -ENOMEM, "no memory");
	}
	nl_socket_modify_err_cb(k->socket, NL_CB_CUSTOM, hear_error, k);
	nl_socket_modify_cb(k->socket, NL_CB_VALID, NL_CB_CUSTOM, hear_answer,
			    k);
	error = genl_connect(k->socket);
	if (error) {
		attach_kernel_close(k);
		return attach_fail(why, -ENODEV, "no generic netlink: %s",
				   nl_geterror(error));
	}
	k->family = genl_ctrl_resolve(k->socket, NBD_GENL_FAMILY_NAME);
	if (k->family < 0) {
		attach_kernel_close(k);
		return attach_fail(
			why, -ENODEV,
			"the kernel has no NBD client: its module nbd is not "
			"loaded");
	}
	*kernel = k;
	return 0;
}

void attach_kernel_close(struct attach_kernel *k)
{
	if (!k)
		return;
	nl_socket_free(k->socket);
	free(k);
}

static struct nl_msg *begin(const struct attach_kernel *k, int command)
{
	struct nl_msg *message = nlmsg_alloc();

	if (message &&
	    !genlmsg_put(message, NL_AUTO_PORT, NL_AUTO_SEQ, k->family, 0,
			 NLM_F_ACK, command, NBD_GENL_VERSION)) {
		nlmsg_free(message);
		return NULL;
	}
	return message;
}

static int put_sockets(struct nl_msg *message, const int *fds, unsigned count)
{
	struct nlattr *list, *item;
	unsigned i;

	list = nla_nest_start(message, NBD_ATTR_SOCKETS);
	if (!list)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		item = nla_nest_start(message, NBD_SOCK_ITEM);
		if (!item || nla_put_u32(message, NBD_SOCK_FD, fds[i]) < 0)
			return -ENOMEM;
		nla_nest_end(message, item);
	}
	nla_nest_end(message, list);
	return 0;
}

/* Send it and wait for the acknowledgement. The message is freed. */
static int ask(struct attach_kernel *k, struct nl_msg *message)
{
	int error;

	k->error = 0;
	k->index = -1;
	error = nl_send_auto(k->socket, message);
	nlmsg_free(message);
	if (error >= 0)
		error = nl_wait_for_ack(k->socket);
	if (k->error)
		return k->error;
	return error < 0 ? -EIO : 0;
}

int attach_kernel_connect(struct attach_kernel *k, const struct attach_setup *s,
			  int *index)
{
	struct nl_msg *m = begin(k, NBD_CMD_CONNECT);
	int error;

	if (!m)
		return -ENOMEM;
	if ((s->index >= 0 && nla_put_u32(m, NBD_ATTR_INDEX, s->index) < 0) ||
	    nla_put_u64(m, NBD_ATTR_SIZE_BYTES, s->size) < 0 ||
	    nla_put_u64(m, NBD_ATTR_BLOCK_SIZE_BYTES, s->block) < 0 ||
	    nla_put_u64(m, NBD_ATTR_SERVER_FLAGS, s->flags) < 0 ||
	    /* 0 too: else the last one of this device counts. */
	    nla_put_u64(m, NBD_ATTR_TIMEOUT, s->timeout) < 0 ||
	    nla_put_u64(m, NBD_ATTR_DEAD_CONN_TIMEOUT, s->give_up) < 0 ||
	    nla_put_string(m, NBD_ATTR_BACKEND_IDENTIFIER, s->identifier) < 0 ||
	    put_sockets(m, s->fds, s->count) < 0) {
		nlmsg_free(m);
		return -ENOMEM;
	}
	error = ask(k, m);
	if (error)
		return error;
	if (k->index < 0)
		return -EPROTO;
	*index = k->index;
	return 0;
}

/* A change of a device; NULL: no memory. */
static struct nl_msg *begin_change(struct attach_kernel *k, int index,
				   const char *identifier)
{
	struct nl_msg *m = begin(k, NBD_CMD_RECONFIGURE);

	if (m &&
	    (nla_put_u32(m, NBD_ATTR_INDEX, index) < 0 ||
	     nla_put_string(m, NBD_ATTR_BACKEND_IDENTIFIER, identifier) < 0)) {
		nlmsg_free(m);
		return NULL;
	}
	return m;
}

/* The kernel gives what it takes its own time limit for sending, if it has one;
 * nothing else tells that it took a socket. So a device that has none gets one for
 * the moment. Seconds: the time limit has no other meaning than to be seen. */
#define TIMEOUT_SEEN 5

static int change_timeout(struct attach_kernel *k, int index,
			  const char *identifier, unsigned timeout, int fd)
{
	struct nl_msg *m = begin_change(k, index, identifier);

	if (!m)
		return -ENOMEM;
	if (nla_put_u64(m, NBD_ATTR_TIMEOUT, timeout) < 0 ||
	    (fd >= 0 && put_sockets(m, &fd, 1) < 0)) {
		nlmsg_free(m);
		return -ENOMEM;
	}
	return ask(k, m);
}

int attach_kernel_replace(struct attach_kernel *k, int index,
			  const char *identifier, unsigned timeout, int fd,
			  bool *taken)
{
	struct timeval limit = {0};
	socklen_t len = sizeof(limit);
	int error;

	*taken = false;
	error = change_timeout(k, index, identifier,
			       timeout ? timeout : TIMEOUT_SEEN, fd);
	if (error)
		return error;
	if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, &len) < 0)
		return -errno;
	*taken = limit.tv_sec || limit.tv_usec;
	if (timeout)
		return 0;
	memset(&limit, 0, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return change_timeout(k, index, identifier, 0, -1);
}

int attach_kernel_resize(struct attach_kernel *k, int index,
			 const char *identifier, uint64_t size)
{
	struct nl_msg *m = begin_change(k, index, identifier);

	if (!m)
		return -ENOMEM;
	if (nla_put_u64(m, NBD_ATTR_SIZE_BYTES, size) < 0) {
		nlmsg_free(m);
		return -ENOMEM;
	}
	return ask(k, m);
}

int attach_kernel_disconnect(struct attach_kernel *k, int index)
{
	struct nl_msg *m = begin(k, NBD_CMD_DISCONNECT);

	if (!m)
		return -ENOMEM;
	if (nla_put_u32(m, NBD_ATTR_INDEX, index) < 0) {
		nlmsg_free(m);
		return -ENOMEM;
	}
	return ask(k, m);
}
