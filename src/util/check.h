/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic that cannot wrap unnoticed, and rounding to powers of two.
 *
 * Every size that comes from a file, a peer or a command line passes through
 * here before it is used. All functions are pure and may be called anywhere. */
#ifndef NBDRAM_UTIL_CHECK_H
#define NBDRAM_UTIL_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* a + b into *sum; true when it does not fit (then *sum is not to be used). */
static inline bool add_overflows(uint64_t a, uint64_t b, uint64_t *sum)
{
	return __builtin_add_overflow(a, b, sum);
}

/* a * b into *product; true when it does not fit. */
static inline bool mul_overflows(uint64_t a, uint64_t b, uint64_t *product)
{
	return __builtin_mul_overflow(a, b, product);
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* value / unit, rounded up, without the overflow of (value + unit - 1). */
static inline uint64_t div_up(uint64_t value, uint64_t unit)
{
	return value / unit + (value % unit != 0);
}

/* value rounded down to a multiple of unit, a power of two. */
static inline uint64_t round_down(uint64_t value, uint64_t unit)
{
	return value & ~(unit - 1);
}

/* value rounded up to a multiple of unit, a power of two; the caller knows
 * that value is at most 2^64 - unit. */
static inline uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) & ~(unit - 1);
}

#endif
