/* SPDX-License-Identifier: BSD-3-Clause */
/* See histogram.h. A bucket above the exact ones is found by the place of the highest
 * bit and the 7 bits below it. */
#include "histogram.h"

#include "check.h"

/* How many low bits a value loses in its bucket. */
static unsigned bits_lost(uint64_t value)
{
	if (value < 2 * HISTOGRAM_PARTS)
		return 0;
	return 63 - __builtin_clzll(value) - HISTOGRAM_PARTS_LOG2;
}

static unsigned bucket_of(uint64_t value)
{
	unsigned lost = bits_lost(value);

	/* What is left of it has 8 bits, the highest of them set. */
	return lost * HISTOGRAM_PARTS + (unsigned)(value >> lost);
}

static uint64_t middle_of(unsigned bucket)
{
	unsigned lost;
	uint64_t low;

	if (bucket < 2 * HISTOGRAM_PARTS)
		return bucket;
	lost = bucket / HISTOGRAM_PARTS - 1;
	low = (uint64_t)(bucket - lost * HISTOGRAM_PARTS) << lost;
	return low + (UINT64_C(1) << lost) / 2;
}

void histogram_add(struct histogram *h, uint64_t value)
{
	h->count++;
	h->sum += (double)value;
	h->most = max_u64(h->most, value);
	h->buckets[bucket_of(value)]++;
}

uint64_t histogram_at(const struct histogram *h, double share)
{
	/* Rounded up, but for what arithmetic itself adds: 0.99 of 100 is 99. */
	double wanted = share * (double)h->count - 1e-9 * (double)h->count;
	uint64_t seen = 0;
	unsigned i;

	if (h->count == 0)
		return 0;
	for (i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen > 0 && (double)seen >= wanted)
			return min_u64(middle_of(i), h->most);
	}
	return h->most;
}

double histogram_mean(const struct histogram *h)
{
	return h->count > 0 ? h->sum / (double)h->count : 0;
}
