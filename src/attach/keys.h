/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys of a TLS stream in the middle of it, as the kernel wants them. */
#ifndef NBDRAM_ATTACH_KEYS_H
#define NBDRAM_ATTACH_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "secure.h"

enum attach_cipher {
	ATTACH_AES_128_GCM,
	ATTACH_AES_256_GCM,
	ATTACH_CHACHA20_POLY1305,
};

struct attach_key {
	uint8_t key[32]; /* 16 of AES-128 */
	uint8_t iv[12];	 /* 4 of AES in TLS 1.2, where the rest is in records */
	uint64_t sequence; /* of the next record */
};

struct attach_keys {
	bool tls13; /* else 1.2 */
	enum attach_cipher cipher;
	struct attach_key sending, receiving;
};

/* 0; -EOPNOTSUPP: a cipher of another kind, or keys that were exchanged since the
 * handshake; -ENOMEM. Wipe it when it is no longer wanted. */
int attach_keys_take(const struct attach_secure *s, struct attach_keys *keys);

#endif
