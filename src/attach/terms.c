/* SPDX-License-Identifier: BSD-3-Clause */
/* See terms.h. */
#include "terms.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

/* " [uuid=8-4-4-4-12 gen=NUMBER]", as our servers end descriptions. */
#define BEGIN " [uuid="
#define MIDDLE " gen="
#define UUID_LEN 36u

static bool is_uuid(const char *text)
{
	for (unsigned i = 0; i < UUID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : parse_hex_digit(text[i]) < 0)
			return false;
	}
	return true;
}

/* Digits and then "]" alone. */
static bool read_gen(const char *text, uint64_t *gen)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*gen = strtoull(text, &end, 10);
	return errno == 0 && strcmp(end, "]") == 0;
}

/* Where the identity begins; NULL: there is none. */
static const char *find_identity(struct attach_terms *terms, const char *text)
{
	const char *at = strrchr(text, '[');
	const char *uuid, *gen;

	if (!at || at == text || strncmp(at - 1, BEGIN, strlen(BEGIN)) != 0)
		return NULL;
	uuid = at - 1 + strlen(BEGIN);
	gen = uuid + UUID_LEN;
	if (strlen(uuid) < UUID_LEN || !is_uuid(uuid) ||
	    strncmp(gen, MIDDLE, strlen(MIDDLE)) != 0 ||
	    !read_gen(gen + strlen(MIDDLE), &terms->gen))
		return NULL;
	for (unsigned i = 0; i < UUID_LEN; i++)
		terms->uuid[i] = (char)tolower((unsigned char)uuid[i]);
	return at - 1;
}

void attach_terms_take(struct attach_terms *terms,
		       const struct proto_client_terms *told)
{
	const char *identity;
	size_t len;

	memset(terms, 0, sizeof(*terms));
	terms->size = told->size;
	terms->flags = told->flags;
	terms->block_size_told = told->block_size_told;
	terms->block_min = told->block_min;
	terms->block_preferred = told->block_preferred;
	terms->payload_max = told->payload_max;
	if (strlen(told->name) < sizeof(terms->name))
		strcpy(terms->name, told->name);
	identity = find_identity(terms, told->description);
	terms->has_identity = identity;
	if (!identity)
		terms->gen = 0;
	len = identity ? (size_t)(identity - told->description)
		       : strlen(told->description);
	if (len >= sizeof(terms->description))
		len = sizeof(terms->description) - 1;
	memcpy(terms->description, told->description, len);
}
