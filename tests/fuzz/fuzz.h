/* SPDX-License-Identifier: BSD-3-Clause */
/* What every fuzz target is: one function in libFuzzer's form, which takes any
 * bytes and ends the process when a property does not hold. replay.c runs it
 * without libFuzzer. */
#ifndef NBDRAM_TESTS_FUZZ_H
#define NBDRAM_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The target's folder below fuzz/corpus. */
extern const char fuzz_corpus[];

#define REQUIRE(condition)                                               \
	do {                                                             \
		if (!(condition)) {                                      \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, \
				__LINE__, #condition);                   \
			abort();                                         \
		}                                                        \
	} while (0)

/* A number that depends on all bytes, so that one input is always cut alike. */
static inline uint64_t fuzz_hash(const uint8_t *data, size_t size)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
	return hash | 1;
}

static inline uint64_t fuzz_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
