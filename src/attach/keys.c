/* SPDX-License-Identifier: BSD-3-Clause */
/* See keys.h. RFC 8446, 7.3 and RFC 5246, 6.3 say how keys come from secrets;
 * OpenSSL does it. */
#include "keys.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/objects.h>
#include <string.h>

#include "check.h"

static const struct {
	int nid;
	enum attach_cipher cipher;
	size_t key_len;
	size_t iv_len_12; /* what of it comes from the key block in TLS 1.2 */
} ciphers[] = {
	{NID_aes_128_gcm, ATTACH_AES_128_GCM, 16, 4},
	{NID_aes_256_gcm, ATTACH_AES_256_GCM, 32, 4},
	{NID_chacha20_poly1305, ATTACH_CHACHA20_POLY1305, 32, 12},
};

static int derive(const char *kdf, const OSSL_PARAM *params, uint8_t *out,
		  size_t len)
{
	EVP_KDF *algorithm = EVP_KDF_fetch(NULL, kdf, NULL);
	EVP_KDF_CTX *ctx = algorithm ? EVP_KDF_CTX_new(algorithm) : NULL;
	int good = ctx ? EVP_KDF_derive(ctx, out, len, params) : 0;

	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(algorithm);
	ERR_clear_error();
	return good == 1 ? 0 : -ENOMEM;
}

/* ---------------------------------------------------------------- TLS 1.3 */

/* HKDF-Expand-Label(secret, label, "", len). */
static int expand(const char *digest, const uint8_t *secret, size_t secret_len,
		  const char *label, uint8_t *out, size_t len)
{
	static char prefix[] = "tls13 ";
	int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST,
						 (char *)digest, 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY,
						  (void *)secret, secret_len),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PREFIX, prefix,
						  strlen(prefix)),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_LABEL,
						  (void *)label, strlen(label)),
		OSSL_PARAM_construct_end(),
	};

	return derive("TLS13-KDF", params, out, len);
}

static int take_13(const struct attach_secure *s, const char *digest,
		   size_t key_len, struct attach_keys *keys)
{
	int error = s->secret_len ? 0 : -EOPNOTSUPP;

	if (!error)
		error = expand(digest, s->client_secret, s->secret_len, "key",
			       keys->sending.key, key_len);
	if (!error)
		error = expand(digest, s->client_secret, s->secret_len, "iv",
			       keys->sending.iv, sizeof(keys->sending.iv));
	if (!error)
		error = expand(digest, s->server_secret, s->secret_len, "key",
			       keys->receiving.key, key_len);
	if (!error)
		error = expand(digest, s->server_secret, s->secret_len, "iv",
			       keys->receiving.iv, sizeof(keys->receiving.iv));
	keys->sending.sequence = s->sent;
	keys->receiving.sequence = s->received;
	return error;
}

/* ---------------------------------------------------------------- TLS 1.2 */

/* The key block: both keys, then both IVs, the client's first. */
static int take_12(const struct attach_secure *s, const char *digest,
		   size_t key_len, size_t iv_len, struct attach_keys *keys)
{
	static const char label[] = "key expansion";
	uint8_t master[SECRET_MOST], seed[sizeof(label) - 1 + 64];
	uint8_t block[2 *
		      (sizeof(keys->sending.key) + sizeof(keys->sending.iv))];
	size_t master_len, at = sizeof(label) - 1;
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST,
						 (char *)digest, 0),
		OSSL_PARAM_construct_end(), /* the secret */
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, seed,
						  sizeof(seed)),
		OSSL_PARAM_construct_end(),
	};
	int error;

	master_len = SSL_SESSION_get_master_key(SSL_get0_session(s->ssl),
						master, sizeof(master));
	params[1] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET,
						      master, master_len);
	memcpy(seed, label, at);
	SSL_get_server_random(s->ssl, seed + at, 32);
	SSL_get_client_random(s->ssl, seed + at + 32, 32);
	error = derive("TLS1-PRF", params, block, 2 * (key_len + iv_len));
	memcpy(keys->sending.key, block, key_len);
	memcpy(keys->receiving.key, block + key_len, key_len);
	memcpy(keys->sending.iv, block + 2 * key_len, iv_len);
	memcpy(keys->receiving.iv, block + 2 * key_len + iv_len, iv_len);
	/* Number 0 has ended the handshake, in both directions. */
	keys->sending.sequence = 1 + s->sent;
	keys->receiving.sequence = 1 + s->received;
	OPENSSL_cleanse(master, sizeof(master));
	OPENSSL_cleanse(block, sizeof(block));
	return error;
}

int attach_keys_take(const struct attach_secure *s, struct attach_keys *keys)
{
	const SSL_CIPHER *used = SSL_get_current_cipher(s->ssl);
	const EVP_MD *md = used ? SSL_CIPHER_get_handshake_digest(used) : NULL;
	const char *digest = md ? EVP_MD_get0_name(md) : NULL;
	int version = SSL_version(s->ssl);

	memset(keys, 0, sizeof(*keys));
	for (unsigned i = 0; digest && i < ARRAY_SIZE(ciphers); i++) {
		if (SSL_CIPHER_get_cipher_nid(used) != ciphers[i].nid)
			continue;
		keys->cipher = ciphers[i].cipher;
		keys->tls13 = version == TLS1_3_VERSION;
		if (s->rekeyed || (!keys->tls13 && version != TLS1_2_VERSION))
			break;
		return keys->tls13
			       ? take_13(s, digest, ciphers[i].key_len, keys)
			       : take_12(s, digest, ciphers[i].key_len,
					 ciphers[i].iv_len_12, keys);
	}
	return -EOPNOTSUPP;
}
