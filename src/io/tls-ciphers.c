/* SPDX-License-Identifier: BSD-3-Clause */
/* See tls-ciphers.h. */
#include "tls-ciphers.h"

#include <stdbool.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#ifndef HWCAP_AES
#define HWCAP_AES (1 << 3)
#endif
#endif

/* AES of 128 bits comes first, even before 256: in TLS 1.3 a pre-shared key fits
 * a cipher with SHA-256 only, and where clients decide it is ChaCha20, a fifth as
 * fast. Keys come before certificates in TLS 1.2: a client that offers them has
 * one. */
#define AES_128_13 "TLS_AES_128_GCM_SHA256"
#define AES_13 AES_128_13 ":TLS_AES_256_GCM_SHA384"
#define CHACHA_13 "TLS_CHACHA20_POLY1305_SHA256"
#define AES_12                                                       \
	"DHE-PSK-AES128-GCM-SHA256:DHE-PSK-AES256-GCM-SHA384:"       \
	"PSK-AES128-GCM-SHA256:PSK-AES256-GCM-SHA384:"               \
	"ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:" \
	"ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384"
#define CHACHA_12                                                \
	"ECDHE-PSK-CHACHA20-POLY1305:DHE-PSK-CHACHA20-POLY1305:" \
	"ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"

static bool has_aes(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_cpu_supports("aes") &&
	       __builtin_cpu_supports("pclmul");
#elif defined(__aarch64__)
	return getauxval(AT_HWCAP) & HWCAP_AES;
#else
	return false;
#endif
}

const char *tls_usual_13(void)
{
	return has_aes() ? AES_13 ":" CHACHA_13 : CHACHA_13 ":" AES_13;
}

const char *tls_usual_13_sha256(void)
{
	return has_aes() ? AES_128_13 ":" CHACHA_13 : CHACHA_13 ":" AES_128_13;
}

/* With ChaCha20 first, keys of TLS 1.2 are before certificates still. */
const char *tls_usual_12(void)
{
	return has_aes() ? AES_12 ":" CHACHA_12 : CHACHA_12 ":" AES_12;
}
