/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC-32C (Castagnoli, RFC 3720 appendix B.4), for superblock and slots. */
#ifndef NBDRAM_STORE_CRC32C_H
#define NBDRAM_STORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of len more bytes, after `crc` (0 at first). Pure. */
uint32_t crc32c(uint32_t crc, const void *buf, size_t len);

#endif
