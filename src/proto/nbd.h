/* SPDX-License-Identifier: BSD-3-Clause */
/* The NBD protocol as it is on the wire: numbers and layouts, nothing else.
 * Every field of more than one byte is big-endian there.
 *
 * The lists are macros so that the constants here and the texts in names.c
 * come from one place. */
#ifndef NBDRAM_PROTO_NBD_H
#define NBDRAM_PROTO_NBD_H

#include <stdint.h>

/* ---------------------------------------------------------------- magics */

#define NBD_MAGIC UINT64_C(0x4e42444d41474943)	      /* "NBDMAGIC" */
#define NBD_OPTION_MAGIC UINT64_C(0x49484156454f5054) /* "IHAVEOPT" */
#define NBD_OPTION_REPLY_MAGIC UINT64_C(0x0003e889045565a9)
#define NBD_REQUEST_MAGIC UINT32_C(0x25609513)
#define NBD_EXTENDED_REQUEST_MAGIC UINT32_C(0x21e41c71)
#define NBD_SIMPLE_REPLY_MAGIC UINT32_C(0x67446698)
#define NBD_STRUCTURED_REPLY_MAGIC UINT32_C(0x668e33ef)
#define NBD_EXTENDED_REPLY_MAGIC UINT32_C(0x6e8a278c)

/* --------------------------------------------------------------- numbers */

/* The server's first flags, and the client's answer to them. */
#define NBD_HANDSHAKE_FLAGS(X)                            \
	X(NBD_FLAG_FIXED_NEWSTYLE, 0x1, "fixed-newstyle") \
	X(NBD_FLAG_NO_ZEROES, 0x2, "no-zeroes")

#define NBD_FLAG_C_FIXED_NEWSTYLE UINT32_C(1)
#define NBD_FLAG_C_NO_ZEROES UINT32_C(2)

#define NBD_OPTIONS(X)                                       \
	X(NBD_OPT_EXPORT_NAME, 1, "EXPORT_NAME")             \
	X(NBD_OPT_ABORT, 2, "ABORT")                         \
	X(NBD_OPT_LIST, 3, "LIST")                           \
	X(NBD_OPT_PEEK_EXPORT, 4, "PEEK_EXPORT")             \
	X(NBD_OPT_STARTTLS, 5, "STARTTLS")                   \
	X(NBD_OPT_INFO, 6, "INFO")                           \
	X(NBD_OPT_GO, 7, "GO")                               \
	X(NBD_OPT_STRUCTURED_REPLY, 8, "STRUCTURED_REPLY")   \
	X(NBD_OPT_LIST_META_CONTEXT, 9, "LIST_META_CONTEXT") \
	X(NBD_OPT_SET_META_CONTEXT, 10, "SET_META_CONTEXT")  \
	X(NBD_OPT_EXTENDED_HEADERS, 11, "EXTENDED_HEADERS")

/* Answers to options; those with the highest bit are errors and final. */
#define NBD_REPS(X)                                                       \
	X(NBD_REP_ACK, 1, "ACK")                                          \
	X(NBD_REP_SERVER, 2, "SERVER")                                    \
	X(NBD_REP_INFO, 3, "INFO")                                        \
	X(NBD_REP_META_CONTEXT, 4, "META_CONTEXT")                        \
	X(NBD_REP_ERR_UNSUP, 0x80000001, "ERR_UNSUP")                     \
	X(NBD_REP_ERR_POLICY, 0x80000002, "ERR_POLICY")                   \
	X(NBD_REP_ERR_INVALID, 0x80000003, "ERR_INVALID")                 \
	X(NBD_REP_ERR_PLATFORM, 0x80000004, "ERR_PLATFORM")               \
	X(NBD_REP_ERR_TLS_REQD, 0x80000005, "ERR_TLS_REQD")               \
	X(NBD_REP_ERR_UNKNOWN, 0x80000006, "ERR_UNKNOWN")                 \
	X(NBD_REP_ERR_SHUTDOWN, 0x80000007, "ERR_SHUTDOWN")               \
	X(NBD_REP_ERR_BLOCK_SIZE_REQD, 0x80000008, "ERR_BLOCK_SIZE_REQD") \
	X(NBD_REP_ERR_TOO_BIG, 0x80000009, "ERR_TOO_BIG")                 \
	X(NBD_REP_ERR_EXT_HEADER_REQD, 0x8000000a, "ERR_EXT_HEADER_REQD")

#define NBD_REP_ERROR UINT32_C(0x80000000)

#define NBD_INFOS(X)                              \
	X(NBD_INFO_EXPORT, 0, "EXPORT")           \
	X(NBD_INFO_NAME, 1, "NAME")               \
	X(NBD_INFO_DESCRIPTION, 2, "DESCRIPTION") \
	X(NBD_INFO_BLOCK_SIZE, 3, "BLOCK_SIZE")

#define NBD_TRANSMISSION_FLAGS(X)                       \
	X(NBD_FLAG_HAS_FLAGS, 0x1, "flags")             \
	X(NBD_FLAG_READ_ONLY, 0x2, "read-only")         \
	X(NBD_FLAG_SEND_FLUSH, 0x4, "flush")            \
	X(NBD_FLAG_SEND_FUA, 0x8, "fua")                \
	X(NBD_FLAG_ROTATIONAL, 0x10, "rotational")      \
	X(NBD_FLAG_SEND_TRIM, 0x20, "trim")             \
	X(NBD_FLAG_SEND_WRITE_ZEROES, 0x40, "zeroes")   \
	X(NBD_FLAG_SEND_DF, 0x80, "df")                 \
	X(NBD_FLAG_CAN_MULTI_CONN, 0x100, "multi-conn") \
	X(NBD_FLAG_SEND_RESIZE, 0x200, "resize")        \
	X(NBD_FLAG_SEND_CACHE, 0x400, "cache")          \
	X(NBD_FLAG_SEND_FAST_ZERO, 0x800, "fast-zero")  \
	X(NBD_FLAG_BLOCK_STATUS_PAYLOAD, 0x1000, "block-status-payload")

#define NBD_COMMANDS(X)                            \
	X(NBD_CMD_READ, 0, "READ")                 \
	X(NBD_CMD_WRITE, 1, "WRITE")               \
	X(NBD_CMD_DISC, 2, "DISC")                 \
	X(NBD_CMD_FLUSH, 3, "FLUSH")               \
	X(NBD_CMD_TRIM, 4, "TRIM")                 \
	X(NBD_CMD_CACHE, 5, "CACHE")               \
	X(NBD_CMD_WRITE_ZEROES, 6, "WRITE_ZEROES") \
	X(NBD_CMD_BLOCK_STATUS, 7, "BLOCK_STATUS") \
	X(NBD_CMD_RESIZE, 8, "RESIZE")

#define NBD_COMMAND_FLAGS(X)                         \
	X(NBD_CMD_FLAG_FUA, 0x1, "FUA")              \
	X(NBD_CMD_FLAG_NO_HOLE, 0x2, "NO_HOLE")      \
	X(NBD_CMD_FLAG_DF, 0x4, "DF")                \
	X(NBD_CMD_FLAG_REQ_ONE, 0x8, "REQ_ONE")      \
	X(NBD_CMD_FLAG_FAST_ZERO, 0x10, "FAST_ZERO") \
	X(NBD_CMD_FLAG_PAYLOAD_LEN, 0x20, "PAYLOAD_LEN")

/* Types of reply chunks; those with the highest bit tell of errors. */
#define NBD_REPLY_TYPES(X)                                        \
	X(NBD_REPLY_TYPE_NONE, 0, "NONE")                         \
	X(NBD_REPLY_TYPE_OFFSET_DATA, 1, "OFFSET_DATA")           \
	X(NBD_REPLY_TYPE_OFFSET_HOLE, 2, "OFFSET_HOLE")           \
	X(NBD_REPLY_TYPE_BLOCK_STATUS, 5, "BLOCK_STATUS")         \
	X(NBD_REPLY_TYPE_BLOCK_STATUS_EXT, 6, "BLOCK_STATUS_EXT") \
	X(NBD_REPLY_TYPE_ERROR, 0x8001, "ERROR")                  \
	X(NBD_REPLY_TYPE_ERROR_OFFSET, 0x8002, "ERROR_OFFSET")

#define NBD_REPLY_FLAG_DONE UINT16_C(1)

/* Errors have numbers of their own, whatever errno.h of this host says. */
#define NBD_ERRORS(X)                     \
	X(NBD_SUCCESS, 0, "success")      \
	X(NBD_EPERM, 1, "EPERM")          \
	X(NBD_EIO, 5, "EIO")              \
	X(NBD_ENOMEM, 12, "ENOMEM")       \
	X(NBD_EINVAL, 22, "EINVAL")       \
	X(NBD_ENOSPC, 28, "ENOSPC")       \
	X(NBD_EOVERFLOW, 75, "EOVERFLOW") \
	X(NBD_ENOTSUP, 95, "ENOTSUP")     \
	X(NBD_ESHUTDOWN, 108, "ESHUTDOWN")

/* Of the context base:allocation. */
#define NBD_STATE_HOLE UINT32_C(1)
#define NBD_STATE_ZERO UINT32_C(2)
/* Of a context qemu:dirty-bitmap:NAME. */
#define NBD_STATE_DIRTY UINT32_C(1)

#define NBD_CONSTANT(name, value, text) name = value,
enum nbd_handshake_flag {
	NBD_HANDSHAKE_FLAGS(NBD_CONSTANT)
};
enum nbd_option {
	NBD_OPTIONS(NBD_CONSTANT)
};
enum nbd_rep {
	NBD_REPS(NBD_CONSTANT)
};
enum nbd_info {
	NBD_INFOS(NBD_CONSTANT)
};
enum nbd_transmission_flag {
	NBD_TRANSMISSION_FLAGS(NBD_CONSTANT)
};
enum nbd_command {
	NBD_COMMANDS(NBD_CONSTANT)
};
enum nbd_command_flag {
	NBD_COMMAND_FLAGS(NBD_CONSTANT)
};
enum nbd_reply_type {
	NBD_REPLY_TYPES(NBD_CONSTANT)
};
enum nbd_error {
	NBD_ERRORS(NBD_CONSTANT)
};
#undef NBD_CONSTANT

/* -------------------------------------------------------------- layouts */

#define NBD_PACKED __attribute__((packed))

/* The server's first words; the client answers with its 32 bits of flags. */
struct nbd_greeting {
	uint64_t magic;
	uint64_t option_magic;
	uint16_t flags;
} NBD_PACKED;

struct nbd_option_header {
	uint64_t magic;
	uint32_t option;
	uint32_t length; /* of the data that follows */
} NBD_PACKED;

struct nbd_option_reply {
	uint64_t magic;
	uint32_t option; /* the one that is answered */
	uint32_t type;	 /* enum nbd_rep */
	uint32_t length; /* of the data that follows */
} NBD_PACKED;

/* Answer to EXPORT_NAME. The zeroes only without NBD_FLAG_C_NO_ZEROES. */
struct nbd_export_reply {
	uint64_t size;
	uint16_t flags;
	uint8_t zeroes[124];
} NBD_PACKED;

struct nbd_info_export {
	uint16_t type;
	uint64_t size;
	uint16_t flags;
} NBD_PACKED;

struct nbd_info_block_size {
	uint16_t type;
	uint32_t minimum;
	uint32_t preferred;
	uint32_t maximum;
} NBD_PACKED;

struct nbd_request {
	uint32_t magic;
	uint16_t flags;
	uint16_t type;
	uint64_t cookie;
	uint64_t offset;
	uint32_t length;
} NBD_PACKED;

struct nbd_extended_request {
	uint32_t magic;
	uint16_t flags;
	uint16_t type;
	uint64_t cookie;
	uint64_t offset;
	uint64_t
		length; /* of the payload with PAYLOAD_LEN, else of the range */
} NBD_PACKED;

struct nbd_simple_reply {
	uint32_t magic;
	uint32_t error;
	uint64_t cookie;
} NBD_PACKED;

struct nbd_structured_reply {
	uint32_t magic;
	uint16_t flags;
	uint16_t type;
	uint64_t cookie;
	uint32_t length; /* of the payload that follows */
} NBD_PACKED;

struct nbd_extended_reply {
	uint32_t magic;
	uint16_t flags;
	uint16_t type;
	uint64_t cookie;
	uint64_t offset; /* of the request */
	uint64_t length; /* of the payload that follows */
} NBD_PACKED;

/* What follows a chunk's header; OFFSET_DATA is an offset and then the data. */
struct nbd_chunk_hole {
	uint64_t offset;
	uint32_t length;
} NBD_PACKED;

struct nbd_chunk_error {
	uint32_t error;
	uint16_t length; /* of the text that follows */
} NBD_PACKED;

struct nbd_chunk_status {
	uint32_t context;
} NBD_PACKED;

struct nbd_extent {
	uint32_t length;
	uint32_t flags;
} NBD_PACKED;

struct nbd_chunk_status_ext {
	uint32_t context;
	uint32_t count; /* of extents that follow */
} NBD_PACKED;

struct nbd_extent_ext {
	uint64_t length;
	uint64_t flags;
} NBD_PACKED;

/* Payload of BLOCK_STATUS with PAYLOAD_LEN: the range, then context ids. */
struct nbd_status_payload {
	uint64_t length;
	uint32_t contexts[];
} NBD_PACKED;

#endif
