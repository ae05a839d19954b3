/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC-32C. See crc32c.h. */
#include "crc32c.h"

#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* reflected 0x1edc6f41 */

/* Four bits by hand, from which a small table is made: slots change rarely. */
static uint32_t nibble(uint32_t crc)
{
	int i;

	for (i = 0; i < 4; i++)
		crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
	return crc;
}

static uint32_t portable(uint32_t crc, const uint8_t *byte, size_t len)
{
	uint32_t step[16];
	unsigned i;

	for (i = 0; i < 16; i++)
		step[i] = nibble(i);
	while (len-- > 0) {
		crc ^= *byte++;
		crc = crc >> 4 ^ step[crc & 15];
		crc = crc >> 4 ^ step[crc & 15];
	}
	return crc;
}

#ifdef __x86_64__
/* The processor has an instruction for just this polynomial; opening a pool of
 * 10,000 disks takes 5 ms with it and 100 ms without. */
__attribute__((target("sse4.2"))) static uint32_t native(uint32_t crc,
							 const uint8_t *byte,
							 size_t len)
{
	uint64_t word, wide = crc;

	for (; len >= sizeof(word); len -= sizeof(word), byte += sizeof(word)) {
		memcpy(&word, byte, sizeof(word));
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = wide;
	while (len-- > 0)
		crc = __builtin_ia32_crc32qi(crc, *byte++);
	return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *buf, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~native(~crc, buf, len);
#endif
	return ~portable(~crc, buf, len);
}
