/* SPDX-License-Identifier: BSD-3-Clause */
/* The ciphers that servers and clients of ours take, what is fastest here first:
 * such as the kernel can do too, all of them. OpenSSL's names; fixed texts. */
#ifndef NBDRAM_IO_TLS_CIPHERS_H
#define NBDRAM_IO_TLS_CIPHERS_H

const char *tls_usual_13(void);	       /* TLS 1.3 */
const char *tls_usual_13_sha256(void); /* those that a pre-shared key fits */
const char *tls_usual_12(
	void); /* TLS 1.2, pre-shared keys before certificates */

#endif
