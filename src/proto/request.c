/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: from bytes to an item, and whether the terms allow it. */
#include "proto.h"

#include <errno.h>

#include "check.h"
#include "wire.h"

/* --------------------------------------------------------------- parsing */

static int parse_extended(const uint8_t *buf, size_t n,
			  struct proto_request *request)
{
	struct nbd_extended_request wire;

	if (n < sizeof(wire))
		return 0;
	memcpy(&wire, buf, sizeof(wire));
	request->cookie = wire.cookie;
	request->offset = be64toh(wire.offset);
	request->length = be64toh(wire.length);
	request->command = be16toh(wire.type);
	request->flags = be16toh(wire.flags);
	request->contexts = 0;
	request->payload = 0;
	if (request->flags & NBD_CMD_FLAG_PAYLOAD_LEN) {
		request->payload = request->length;
		/* What else it is about, only the payload tells. */
		if (request->command != NBD_CMD_WRITE)
			request->length = 0;
	}
	return sizeof(wire);
}

static int parse_compact(const uint8_t *buf, size_t n,
			 struct proto_request *request)
{
	struct nbd_request wire;

	if (n < sizeof(wire))
		return 0;
	memcpy(&wire, buf, sizeof(wire));
	request->cookie = wire.cookie;
	request->offset = be64toh(wire.offset);
	request->length = be32toh(wire.length);
	request->command = be16toh(wire.type);
	request->flags = be16toh(wire.flags);
	request->contexts = 0;
	request->payload = request->command == NBD_CMD_WRITE ? request->length
							     : 0;
	return sizeof(wire);
}

int proto_parse_request(const struct proto_terms *terms, const void *buf,
			size_t n, struct proto_request *request)
{
	bool extended = terms->replies == PROTO_EXTENDED;
	uint32_t magic = extended ? NBD_EXTENDED_REQUEST_MAGIC
				  : NBD_REQUEST_MAGIC;

	if (n < sizeof(magic))
		return 0;
	if (get_u32(buf) != magic)
		return -EPROTO;
	return extended ? parse_extended(buf, n, request)
			: parse_compact(buf, n, request);
}

/* -------------------------------------------------------------- checking */

/* Properties of commands: what they need to be offered, and which flags are
 * theirs besides FUA, which any command may carry. */
struct command {
	uint16_t offered; /* a transmission flag, or 0 */
	uint16_t flags;	  /* command flags that mean something */
	bool known;
	bool changes;	/* the contents of the export */
	bool past_full; /* beyond the end there is no space, not no sense */
};

static const struct command commands[] = {
	[NBD_CMD_READ] = {.known = true, .flags = NBD_CMD_FLAG_DF},
	[NBD_CMD_WRITE] = {.known = true,
			   .flags = NBD_CMD_FLAG_PAYLOAD_LEN,
			   .changes = true,
			   .past_full = true},
	[NBD_CMD_FLUSH] = {.known = true, .offered = NBD_FLAG_SEND_FLUSH},
	[NBD_CMD_TRIM] = {.known = true,
			  .offered = NBD_FLAG_SEND_TRIM,
			  .changes = true},
	[NBD_CMD_CACHE] = {.known = true, .offered = NBD_FLAG_SEND_CACHE},
	[NBD_CMD_WRITE_ZEROES] = {.known = true,
				  .offered = NBD_FLAG_SEND_WRITE_ZEROES,
				  .flags = NBD_CMD_FLAG_NO_HOLE |
					   NBD_CMD_FLAG_FAST_ZERO,
				  .changes = true,
				  .past_full = true},
	[NBD_CMD_BLOCK_STATUS] = {.known = true,
				  .flags = NBD_CMD_FLAG_REQ_ONE |
					   NBD_CMD_FLAG_PAYLOAD_LEN},
};

static int refuse(int err, const char *message, const char **text)
{
	*text = message;
	return err;
}

/* The flags that this command may carry under these terms. */
static uint16_t flags_allowed(const struct proto_terms *terms,
			      const struct proto_request *request,
			      const struct command *command)
{
	uint16_t allowed = command->flags;

	if (terms->flags & NBD_FLAG_SEND_FUA)
		allowed |= NBD_CMD_FLAG_FUA;
	if (!(terms->flags & NBD_FLAG_SEND_DF))
		allowed &= (uint16_t)~NBD_CMD_FLAG_DF;
	if (!(terms->flags & NBD_FLAG_SEND_FAST_ZERO))
		allowed &= (uint16_t)~NBD_CMD_FLAG_FAST_ZERO;
	if (terms->replies != PROTO_EXTENDED ||
	    (request->command == NBD_CMD_BLOCK_STATUS &&
	     !(terms->flags & NBD_FLAG_BLOCK_STATUS_PAYLOAD)))
		allowed &= (uint16_t)~NBD_CMD_FLAG_PAYLOAD_LEN;
	return allowed;
}

/* Is it a command that was offered, with flags that belong to it? */
static int check_command(const struct proto_terms *terms,
			 const struct proto_request *request, const char **text)
{
	const struct command *command;

	if (request->command >= ARRAY_SIZE(commands) ||
	    !commands[request->command].known)
		return refuse(-EINVAL, "unknown command", text);
	command = &commands[request->command];
	if (request->flags & ~flags_allowed(terms, request, command))
		return refuse(-EINVAL, "a flag that this command has not",
			      text);
	if (terms->flags & NBD_FLAG_READ_ONLY && command->changes)
		return refuse(-EPERM, "the export is read-only", text);
	if (command->offered && !(terms->flags & command->offered))
		return refuse(-EINVAL, "a command that was not offered", text);
	return 0;
}

/* Does the range lie inside the export, in whole units? */
static int check_range(const struct proto_terms *terms, uint64_t size,
		       const struct proto_request *request, const char **text)
{
	uint64_t end;

	if (request->length == 0)
		return refuse(-EINVAL, "the length is zero", text);
	/* The least unit is a power of two. */
	if ((request->offset | request->length) & (terms->block_min - 1))
		return refuse(-EINVAL, "not aligned to the minimum block size",
			      text);
	if (add_overflows(request->offset, request->length, &end) || end > size)
		return refuse(commands[request->command].past_full ? -ENOSPC
								   : -EINVAL,
			      "beyond the end of the export", text);
	return 0;
}

static int check_read(const struct proto_terms *terms, uint64_t size,
		      const struct proto_request *request, const char **text)
{
	int err = check_range(terms, size, request, text);

	if (err)
		return err;
	if (request->length <= terms->payload_max)
		return 0;
	return refuse(request->flags & NBD_CMD_FLAG_DF ? -EOVERFLOW : -EINVAL,
		      "longer than the maximum payload", text);
}

static int check_write(const struct proto_terms *terms, uint64_t size,
		       const struct proto_request *request, const char **text)
{
	if (terms->replies == PROTO_EXTENDED &&
	    !(request->flags & NBD_CMD_FLAG_PAYLOAD_LEN))
		return refuse(-EINVAL, "a WRITE without PAYLOAD_LEN", text);
	if (request->length > terms->payload_max)
		return refuse(-EINVAL, "longer than the maximum payload", text);
	return check_range(terms, size, request, text);
}

static int check_flush(const struct proto_request *request, const char **text)
{
	if (request->offset || request->length)
		return refuse(-EINVAL, "a FLUSH of a range", text);
	return 0;
}

static int check_status(const struct proto_terms *terms, uint64_t size,
			struct proto_request *request, const char **text)
{
	if (terms->context_count == 0)
		return refuse(-EINVAL, "no context was selected", text);
	if (request->flags & NBD_CMD_FLAG_PAYLOAD_LEN) {
		/* Distinct ids, so no more than there are. */
		if (request->payload < 8 + 4 || request->payload % 4 ||
		    request->payload > 8 + 4 * terms->context_count)
			return refuse(-EINVAL, "no list of contexts", text);
		return 0;
	}
	request->contexts = (UINT32_C(1) << terms->context_count) - 1;
	return check_range(terms, size, request, text);
}

int proto_check_request(const struct proto_terms *terms, uint64_t size,
			struct proto_request *request, const char **text)
{
	int err;

	/* There is no answer to it, whatever it carries. */
	if (request->command == NBD_CMD_DISC)
		return 0;
	/* Who announces more than was agreed, in a field that can say 2^64, is
	 * not waited for. In compact headers 4 GiB is the most: dropped. */
	if (terms->replies == PROTO_EXTENDED &&
	    request->payload > terms->payload_max)
		return refuse(-ECONNABORTED,
			      "a payload above the maximum that was agreed",
			      text);
	err = check_command(terms, request, text);
	if (err)
		return err;
	switch (request->command) {
	case NBD_CMD_READ:
		return check_read(terms, size, request, text);
	case NBD_CMD_WRITE:
		return check_write(terms, size, request, text);
	case NBD_CMD_FLUSH:
		return check_flush(request, text);
	case NBD_CMD_BLOCK_STATUS:
		return check_status(terms, size, request, text);
	default:
		return check_range(terms, size, request, text);
	}
}

/* The index of the context that the client calls id; context_count: none. */
static unsigned find_context(const struct proto_terms *terms, uint32_t id)
{
	unsigned i = 0;

	while (i < terms->context_count && terms->contexts[i].id != id)
		i++;
	return i;
}

int proto_parse_status(const struct proto_terms *terms, const void *buf,
		       uint64_t size, struct proto_request *request,
		       const char **text)
{
	const uint8_t *ids = (const uint8_t *)buf + 8;
	uint64_t count = (request->payload - 8) / 4;

	request->length = get_u64(buf);
	request->contexts = 0;
	for (uint64_t i = 0; i < count; i++) {
		unsigned index = find_context(terms, get_u32(ids + 4 * i));

		if (index == terms->context_count)
			return refuse(-EINVAL, "an unknown context", text);
		if (request->contexts & UINT32_C(1) << index)
			return refuse(-EINVAL, "a context named twice", text);
		request->contexts |= UINT32_C(1) << index;
	}
	return check_range(terms, size, request, text);
}
