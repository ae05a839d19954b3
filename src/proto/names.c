/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts for the numbers of the wire, from the lists in nbd.h. For logs; pure. */
#include "proto.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

struct name {
	uint32_t value;
	const char *text;
};

#define NAME(constant, value, text) {value, text},

static const struct name handshake_flags[] = {NBD_HANDSHAKE_FLAGS(NAME)};
static const struct name options[] = {NBD_OPTIONS(NAME)};
static const struct name reps[] = {NBD_REPS(NAME)};
static const struct name infos[] = {NBD_INFOS(NAME)};
static const struct name transmission_flags[] = {NBD_TRANSMISSION_FLAGS(NAME)};
static const struct name commands[] = {NBD_COMMANDS(NAME)};
static const struct name command_flags[] = {NBD_COMMAND_FLAGS(NAME)};
static const struct name reply_types[] = {NBD_REPLY_TYPES(NAME)};
static const struct name errors[] = {NBD_ERRORS(NAME)};

#define FIND(list, value) find(list, ARRAY_SIZE(list), value)

static const char *find(const struct name *names, size_t count, uint32_t value)
{
	for (size_t i = 0; i < count; i++) {
		if (names[i].value == value)
			return names[i].text;
	}
	return "unknown";
}

const char *proto_option_name(uint32_t option)
{
	return FIND(options, option);
}

const char *proto_rep_name(uint32_t rep)
{
	return FIND(reps, rep);
}

const char *proto_info_name(uint32_t info)
{
	return FIND(infos, info);
}

const char *proto_command_name(uint32_t command)
{
	return FIND(commands, command);
}

const char *proto_reply_type_name(uint32_t type)
{
	return FIND(reply_types, type);
}

const char *proto_error_name(uint32_t error)
{
	return FIND(errors, error);
}

const char *proto_event_name(enum proto_event event)
{
	static const char *const texts[] = {
		[PROTO_MORE] = "MORE",	       [PROTO_SEND] = "SEND",
		[PROTO_STARTTLS] = "STARTTLS", [PROTO_LOOKUP] = "LOOKUP",
		[PROTO_LIST] = "LIST",	       [PROTO_BITMAPS] = "BITMAPS",
		[PROTO_READY] = "READY",       [PROTO_ABORT] = "ABORT",
		[PROTO_HANGUP] = "HANGUP",
	};

	return (size_t)event < ARRAY_SIZE(texts) ? texts[event] : "unknown";
}

const char *proto_replies_name(enum proto_replies replies)
{
	static const char *const texts[] = {
		[PROTO_SIMPLE] = "simple",
		[PROTO_STRUCTURED] = "structured",
		[PROTO_EXTENDED] = "extended",
	};

	return (size_t)replies < ARRAY_SIZE(texts) ? texts[replies] : "unknown";
}

/* Append text to the string in buf, as much as fits. */
static void append(char *buf, size_t len, const char *text)
{
	size_t at = strnlen(buf, len);

	if (at < len)
		snprintf(buf + at, len - at, "%s%s", at ? "," : "", text);
}

static char *flags_text(const struct name *names, size_t count, uint32_t flags,
			char *buf, size_t len)
{
	char rest[16];

	if (len == 0)
		return buf;
	buf[0] = 0;
	for (size_t i = 0; i < count; i++) {
		if (flags & names[i].value)
			append(buf, len, names[i].text);
		flags &= ~names[i].value;
	}
	if (flags || !buf[0]) {
		snprintf(rest, sizeof(rest), flags ? "0x%x" : "%u",
			 (unsigned)flags);
		append(buf, len, rest);
	}
	return buf;
}

char *proto_transmission_flags_text(uint32_t flags, char *buf, size_t len)
{
	return flags_text(transmission_flags, ARRAY_SIZE(transmission_flags),
			  flags, buf, len);
}

char *proto_command_flags_text(uint32_t flags, char *buf, size_t len)
{
	return flags_text(command_flags, ARRAY_SIZE(command_flags), flags, buf,
			  len);
}

char *proto_handshake_flags_text(uint32_t flags, char *buf, size_t len)
{
	return flags_text(handshake_flags, ARRAY_SIZE(handshake_flags), flags,
			  buf, len);
}
