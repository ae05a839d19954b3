/* SPDX-License-Identifier: BSD-3-Clause */
/* Pre-shared keys: files of them, and how OpenSSL asks a server for one.
 *
 * A user that is not there is given a key that nobody knows, so that his
 * handshake fails in the same way, and after the same work, as one with a wrong
 * key: the client does not learn who has a key here. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "log.h"
#include "parse.h"
#include "tls-private.h"

#define USER_MOST 128u /* what OpenSSL takes from a client, in TLS 1.2 */
#define KEY_LEAST 16u  /* bytes */
#define KEY_MOST sizeof(((struct psk_key *)0)->bytes)

struct psk_keys {
	char *text;
	size_t text_len;
	struct psk_key *list; /* sorted by user */
	unsigned count;
	struct psk_key nobody;
};

void psk_free(struct psk_keys *keys)
{
	if (!keys)
		return;
	if (keys->list)
		OPENSSL_cleanse(keys->list, keys->count * sizeof(*keys->list));
	free(keys->list);
	tls_file_free(keys->text, keys->text_len);
	free(keys);
}

/* ------------------------------------------------------------- reading it */

/* NULL, or what is wrong with it. */
static const char *parse_key(const char *hex, struct psk_key *key)
{
	size_t i, len = strlen(hex);

	if (len == 0)
		return "the key is missing";
	if (hex[strcspn(hex, " \t")])
		return "there is a blank in the key";
	if (len % 2 != 0)
		return "the key has an odd number of hexadecimal digits";
	for (i = 0; i < len; i++) {
		if (parse_hex_digit(hex[i]) < 0)
			return "the key is not all hexadecimal digits";
	}
	if (len / 2 < KEY_LEAST)
		return "the key is weak: it needs 16 bytes (32 digits)";
	if (len / 2 > KEY_MOST)
		return "the key is longer than 64 bytes (128 digits)";
	for (i = 0; i < len / 2; i++)
		key->bytes[i] = (uint8_t)(parse_hex_digit(hex[2 * i]) << 4 |
					  parse_hex_digit(hex[2 * i + 1]));
	key->len = len / 2;
	return NULL;
}

/* One line, which is cut in two. NULL, or what is wrong with it. */
static const char *parse_line(char *line, struct psk_key *key)
{
	char *colon = strrchr(line, ':');

	if (!colon)
		return "no colon; a line is USER:KEY, the key in hexadecimal";
	if (colon == line)
		return "the user is missing";
	*colon = 0;
	if (colon - line > USER_MOST)
		return "the user is longer than 128 bytes";
	key->user = line;
	return parse_key(colon + 1, key);
}

static int by_user(const void *a, const void *b)
{
	return strcmp(((const struct psk_key *)a)->user,
		      ((const struct psk_key *)b)->user);
}

static void find_doubles(struct tls_faults *f, const char *file,
			 const struct psk_keys *keys)
{
	const struct psk_key *a, *b;
	char name[128];
	unsigned i;

	for (i = 1; i < keys->count; i++) {
		a = &keys->list[i - 1];
		b = &keys->list[i];
		if (strcmp(a->user, b->user) != 0)
			continue;
		log_escape(a->user, strlen(a->user), name, sizeof(name));
		tls_fault(f, file,
			  "lines %u and %u: both are of the user \"%s\"; "
			  "remove one",
			  (unsigned)min_u64(a->line, b->line),
			  (unsigned)max_u64(a->line, b->line), name);
	}
}

/* Empty lines are passed over; what is wrong is told line by line. */
static void parse_file(struct tls_faults *f, const char *file,
		       struct psk_keys *keys)
{
	char *line = keys->text, *end = keys->text + keys->text_len, *next;
	const char *wrong;
	unsigned number;

	for (number = 1; line < end; line = next, number++) {
		next = memchr(line, '\n', end - line);
		next = next ? next + 1 : end + 1;
		next[-1] = 0;
		if (next - 2 >= line && next[-2] == '\r')
			next[-2] = 0;
		if (!*line)
			continue;
		wrong = parse_line(line, &keys->list[keys->count]);
		keys->list[keys->count].line = number;
		if (wrong)
			tls_fault(f, file, "line %u: %s", number, wrong);
		else
			keys->count++;
	}
	qsort(keys->list, keys->count, sizeof(*keys->list), by_user);
	find_doubles(f, file, keys);
	if (keys->count == 0 && !f->failed)
		tls_fault(f, file, "there is no key in it; a line is USER:KEY");
}

struct psk_keys *psk_load(struct tls_faults *f, const char *file, bool needed)
{
	struct psk_keys *keys = calloc(1, sizeof(*keys));
	size_t i, lines = 1;

	if (keys)
		keys->text =
			tls_file_read(f, file, needed, true, &keys->text_len);
	if (!keys || !keys->text) {
		free(keys);
		return NULL;
	}
	for (i = 0; i < keys->text_len; i++)
		lines += keys->text[i] == '\n';
	if (strlen(keys->text) != keys->text_len)
		tls_fault(f, file, "has a zero byte in it");
	keys->list = calloc(lines, sizeof(*keys->list));
	keys->nobody.len = 32;
	if (!keys->list ||
	    RAND_bytes(keys->nobody.bytes, keys->nobody.len) != 1) {
		tls_fault(f, file, "no memory for its keys");
		psk_free(keys);
		return NULL;
	}
	parse_file(f, file, keys);
	return keys;
}

const struct psk_key *psk_find(const struct psk_keys *keys, const char *user)
{
	const struct psk_key wanted = {.user = user};

	if (!user)
		return keys->count == 1 ? keys->list : NULL;
	return bsearch(&wanted, keys->list, keys->count, sizeof(*keys->list),
		       by_user);
}

/* ------------------------------------------------------------- being asked */

/* The user's key, or nobody's; who it was is noted. NULL: no memory. */
static const struct psk_key *look_up(struct tls_stream *t, const char *user,
				     size_t len)
{
	const struct psk_keys *keys = t->context->keys;
	const struct psk_key *found = NULL;

	free(t->user);
	t->user = strndup(user, len);
	if (!t->user)
		return NULL;
	if (strlen(t->user) == len)
		found = psk_find(keys, t->user);
	t->key_fake = !found;
	return found ? found : &keys->nobody;
}

/* TLS 1.2. Returns the length of the key. */
static unsigned int ask_12(SSL *ssl, const char *user, unsigned char *key,
			   unsigned int most)
{
	const struct psk_key *found =
		look_up(SSL_get_app_data(ssl), user, strlen(user));

	if (!found || found->len > most)
		return 0;
	memcpy(key, found->bytes, found->len);
	return found->len;
}

/* TLS 1.3 knows keys as sessions that were agreed upon elsewhere, with a hash:
 * SHA-256 where nothing was said of it (RFC 8446, 4.2.11), so with a cipher that
 * uses that one. */
static int ask_13(SSL *ssl, const unsigned char *user, size_t len,
		  SSL_SESSION **session)
{
	static const unsigned char cipher_id[] = {0x13, 0x01};
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, cipher_id);
	const struct psk_key *found;
	SSL_SESSION *s;

	*session = NULL;
	found = look_up(SSL_get_app_data(ssl), (const char *)user, len);
	s = found && cipher ? SSL_SESSION_new() : NULL;
	if (!s)
		return 0;
	if (!SSL_SESSION_set1_master_key(s, found->bytes, found->len) ||
	    !SSL_SESSION_set_cipher(s, cipher) ||
	    !SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION)) {
		SSL_SESSION_free(s);
		return 0;
	}
	*session = s;
	return 1;
}

void psk_use(SSL_CTX *ctx)
{
	SSL_CTX_set_psk_server_callback(ctx, ask_12);
	SSL_CTX_set_psk_find_session_callback(ctx, ask_13);
}
