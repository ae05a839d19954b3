/* SPDX-License-Identifier: BSD-3-Clause */
/* See ktls.h. OpenSSL 3.0 could do this too, but for receiving in TLS 1.3, and does
 * not tell when the kernel has no such cipher; so both directions are set up here. */
#include "ktls.h"

#include <endian.h>
#include <errno.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SOL_TLS
#define SOL_TLS 282
#endif
#ifndef TCP_ULP
#define TCP_ULP 31
#endif

union info {
	struct tls_crypto_info head;
	struct tls12_crypto_info_aes_gcm_128 aes_128;
	struct tls12_crypto_info_aes_gcm_256 aes_256;
	struct tls12_crypto_info_chacha20_poly1305 chacha;
};

/* What AES-GCM wants besides its key: a salt, and where the part of the nonce that
 * changes begins. In TLS 1.3 that comes from the secrets like the salt. In 1.2 the
 * sender may choose it as long as none comes twice; OpenSSL has begun at a random
 * place among 2^64 and used a handful, the kernel counts from the record's number on,
 * so that the two never meet but with a chance of one in 2^64 for each record. */
static void fill_gcm(const struct attach_keys *keys, const struct attach_key *k,
		     uint8_t *salt, uint8_t *iv, uint8_t *sequence)
{
	uint64_t number = htobe64(k->sequence);

	memcpy(salt, k->iv, 4);
	memcpy(iv, keys->tls13 ? (const void *)(k->iv + 4) : &number, 8);
	memcpy(sequence, &number, 8);
}

/* Returns its length. */
static socklen_t fill(union info *info, const struct attach_keys *keys,
		      const struct attach_key *k)
{
	uint64_t number = htobe64(k->sequence);

	memset(info, 0, sizeof(*info));
	info->head.version = keys->tls13 ? TLS_1_3_VERSION : TLS_1_2_VERSION;
	switch (keys->cipher) {
	case ATTACH_AES_128_GCM:
		info->head.cipher_type = TLS_CIPHER_AES_GCM_128;
		memcpy(info->aes_128.key, k->key, sizeof(info->aes_128.key));
		fill_gcm(keys, k, info->aes_128.salt, info->aes_128.iv,
			 info->aes_128.rec_seq);
		return sizeof(info->aes_128);
	case ATTACH_AES_256_GCM:
		info->head.cipher_type = TLS_CIPHER_AES_GCM_256;
		memcpy(info->aes_256.key, k->key, sizeof(info->aes_256.key));
		fill_gcm(keys, k, info->aes_256.salt, info->aes_256.iv,
			 info->aes_256.rec_seq);
		return sizeof(info->aes_256);
	case ATTACH_CHACHA20_POLY1305:
		break;
	}
	info->head.cipher_type = TLS_CIPHER_CHACHA20_POLY1305;
	memcpy(info->chacha.key, k->key, sizeof(info->chacha.key));
	memcpy(info->chacha.iv, k->iv, sizeof(info->chacha.iv));
	memcpy(info->chacha.rec_seq, &number, sizeof(number));
	return sizeof(info->chacha);
}

static int set(int fd, int direction, const struct attach_keys *keys,
	       const struct attach_key *k)
{
	union info info;
	socklen_t len = fill(&info, keys, k);
	int error = 0;

	if (setsockopt(fd, SOL_TLS, direction, &info, len) < 0)
		error = -errno;
	explicit_bzero(&info, sizeof(info));
	return error;
}

/* A socket that is not connected is told ENOTCONN, if there is a module. */
bool attach_ktls_known(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error = EOPNOTSUPP;

	if (fd < 0)
		return false;
	if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 4) < 0)
		error = errno;
	close(fd);
	return error == ENOTCONN;
}

int attach_ktls_start(int fd, const struct attach_keys *keys)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 4) < 0)
		return -EOPNOTSUPP;
	/* With the module alone the socket is as any other. */
	if (set(fd, TLS_RX, keys, &keys->receiving))
		return -EOPNOTSUPP;
	return set(fd, TLS_TX, keys, &keys->sending);
}
