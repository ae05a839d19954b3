/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies: headers into the caller's buffer, in the form that was agreed. */
#include "proto.h"

#include <assert.h>
#include <errno.h>

#include "check.h"
#include "wire.h"

/* ---------------------------------------------------------------- headers */

static size_t put_simple(uint64_t cookie, uint32_t error, uint8_t *buf)
{
	struct nbd_simple_reply reply = {
		.magic = htobe32(NBD_SIMPLE_REPLY_MAGIC),
		.error = htobe32(error),
		.cookie = cookie,
	};

	memcpy(buf, &reply, sizeof(reply));
	return sizeof(reply);
}

static size_t put_structured(const struct proto_request *request, uint16_t type,
			     uint32_t length, bool last, uint8_t *buf)
{
	struct nbd_structured_reply reply = {
		.magic = htobe32(NBD_STRUCTURED_REPLY_MAGIC),
		.flags = htobe16(last ? NBD_REPLY_FLAG_DONE : 0),
		.type = htobe16(type),
		.cookie = request->cookie,
		.length = htobe32(length),
	};

	memcpy(buf, &reply, sizeof(reply));
	return sizeof(reply);
}

static size_t put_extended(const struct proto_request *request, uint16_t type,
			   uint64_t length, bool last, uint8_t *buf)
{
	struct nbd_extended_reply reply = {
		.magic = htobe32(NBD_EXTENDED_REPLY_MAGIC),
		.flags = htobe16(last ? NBD_REPLY_FLAG_DONE : 0),
		.type = htobe16(type),
		.cookie = request->cookie,
		.offset = htobe64(request->offset),
		.length = htobe64(length),
	};

	memcpy(buf, &reply, sizeof(reply));
	return sizeof(reply);
}

/* A chunk's header; `length` bytes belong to it. */
static size_t put_chunk(const struct proto_terms *terms,
			const struct proto_request *request, uint16_t type,
			uint64_t length, bool last, uint8_t *buf)
{
	assert(terms->replies != PROTO_SIMPLE);
	if (terms->replies == PROTO_EXTENDED)
		return put_extended(request, type, length, last, buf);
	assert(length <= UINT32_MAX);
	return put_structured(request, type, (uint32_t)length, last, buf);
}

/* ---------------------------------------------------------- done or failed */

size_t proto_put_done(const struct proto_terms *terms,
		      const struct proto_request *request, void *buf)
{
	return put_chunk(terms, request, NBD_REPLY_TYPE_NONE, 0, true, buf);
}

size_t proto_put_ack(const struct proto_terms *terms,
		     const struct proto_request *request, void *buf)
{
	/* The short form is allowed to all that have no data to tell. */
	if (terms->replies == PROTO_EXTENDED ||
	    (terms->replies == PROTO_STRUCTURED &&
	     (request->command == NBD_CMD_READ ||
	      request->command == NBD_CMD_BLOCK_STATUS)))
		return proto_put_done(terms, request, buf);
	return put_simple(request->cookie, NBD_SUCCESS, buf);
}

/* The body that all error chunks begin with. */
static size_t put_error_body(int err, const char *text, size_t len,
			     uint8_t *buf)
{
	struct nbd_chunk_error body = {
		.error = htobe32(proto_error(err)),
		.length = htobe16((uint16_t)len),
	};

	memcpy(buf, &body, sizeof(body));
	if (len)
		memcpy(buf + sizeof(body), text, len);
	return sizeof(body) + len;
}

size_t proto_put_error(const struct proto_terms *terms,
		       const struct proto_request *request, int err,
		       const char *text, void *buf)
{
	size_t len = text ? text_cut(text, PROTO_TEXT_MAX) : 0;
	size_t at;

	if (terms->replies == PROTO_SIMPLE)
		return put_simple(request->cookie, proto_error(err), buf);
	at = put_chunk(terms, request, NBD_REPLY_TYPE_ERROR,
		       sizeof(struct nbd_chunk_error) + len, true, buf);
	return at + put_error_body(err, text, len, (uint8_t *)buf + at);
}

size_t proto_put_error_at(const struct proto_terms *terms,
			  const struct proto_request *request, int err,
			  const char *text, uint64_t off, bool last, void *buf)
{
	size_t len = text ? text_cut(text, PROTO_TEXT_MAX) : 0;
	uint8_t *out = buf;

	out += put_chunk(terms, request, NBD_REPLY_TYPE_ERROR_OFFSET,
			 sizeof(struct nbd_chunk_error) + len + sizeof(off),
			 last, out);
	out += put_error_body(err, text, len, out);
	off = htobe64(off);
	memcpy(out, &off, sizeof(off));
	return (size_t)(out + sizeof(off) - (uint8_t *)buf);
}

/* ------------------------------------------------------------------- data */

size_t proto_put_data(const struct proto_terms *terms,
		      const struct proto_request *request, uint64_t len,
		      uint64_t off, bool last, void *buf)
{
	uint64_t wire = htobe64(off);
	size_t at;

	if (terms->replies == PROTO_SIMPLE) {
		assert(off == request->offset && len == request->length);
		return put_simple(request->cookie, NBD_SUCCESS, buf);
	}
	at = put_chunk(terms, request, NBD_REPLY_TYPE_OFFSET_DATA,
		       sizeof(wire) + len, last, buf);
	memcpy((uint8_t *)buf + at, &wire, sizeof(wire));
	return at + sizeof(wire);
}

size_t proto_put_hole(const struct proto_terms *terms,
		      const struct proto_request *request, uint32_t len,
		      uint64_t off, bool last, void *buf)
{
	struct nbd_chunk_hole hole = {
		.offset = htobe64(off),
		.length = htobe32(len),
	};
	size_t at = put_chunk(terms, request, NBD_REPLY_TYPE_OFFSET_HOLE,
			      sizeof(hole), last, buf);

	memcpy((uint8_t *)buf + at, &hole, sizeof(hole));
	return at + sizeof(hole);
}

/* ----------------------------------------------------------------- status */

size_t proto_put_status(const struct proto_terms *terms,
			const struct proto_request *request,
			const struct proto_context *context, uint32_t count,
			bool last, void *buf)
{
	struct nbd_chunk_status_ext wide = {
		.context = htobe32(context->id),
		.count = htobe32(count),
	};
	struct nbd_chunk_status narrow = {.context = htobe32(context->id)};
	size_t at;

	if (terms->replies == PROTO_EXTENDED) {
		at = put_chunk(terms, request, NBD_REPLY_TYPE_BLOCK_STATUS_EXT,
			       sizeof(wide) +
				       (uint64_t)count *
					       sizeof(struct nbd_extent_ext),
			       last, buf);
		memcpy((uint8_t *)buf + at, &wide, sizeof(wide));
		return at + sizeof(wide);
	}
	at = put_chunk(terms, request, NBD_REPLY_TYPE_BLOCK_STATUS,
		       sizeof(narrow) +
			       (uint64_t)count * sizeof(struct nbd_extent),
		       last, buf);
	memcpy((uint8_t *)buf + at, &narrow, sizeof(narrow));
	return at + sizeof(narrow);
}

size_t proto_put_extent(const struct proto_terms *terms, uint64_t len,
			uint32_t flags, void *buf)
{
	struct nbd_extent_ext wide = {
		.length = htobe64(len),
		.flags = htobe64(flags),
	};
	struct nbd_extent narrow = {
		.length = htobe32((uint32_t)len),
		.flags = htobe32(flags),
	};

	assert(len > 0 && len <= proto_extent_max(terms));
	if (terms->replies == PROTO_EXTENDED) {
		memcpy(buf, &wide, sizeof(wide));
		return sizeof(wide);
	}
	memcpy(buf, &narrow, sizeof(narrow));
	return sizeof(narrow);
}

uint64_t proto_extent_max(const struct proto_terms *terms)
{
	/* Of the unit that block_min may be at most. */
	const uint64_t unit = UINT64_C(1) << 16;

	return round_down(terms->replies == PROTO_EXTENDED ? INT64_MAX
							   : UINT32_MAX,
			  unit);
}

/* ----------------------------------------------------------------- errors */

uint32_t proto_error(int err)
{
	switch (err < 0 ? -err : err) {
	case 0:
		return NBD_SUCCESS;
	case EPERM:
	case EACCES:
	case EROFS:
		return NBD_EPERM;
	case ENOMEM:
		return NBD_ENOMEM;
	case EINVAL:
		return NBD_EINVAL;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return NBD_ENOSPC;
	case EOVERFLOW:
		return NBD_EOVERFLOW;
	case EOPNOTSUPP: /* and ENOTSUP, which is the same here */
		return NBD_ENOTSUP;
	case ESHUTDOWN:
		return NBD_ESHUTDOWN;
	default:
		return NBD_EIO;
	}
}
