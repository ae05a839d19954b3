/* SPDX-License-Identifier: BSD-3-Clause */
/* How often which value was seen, for percentiles of any number of values in little
 * memory: exact up to 255, and from there on each power of two is divided into 128
 * parts of one width, so that a percentile is off by less than 0.4 %.
 *
 * For one thread at a time. */
#ifndef NBDRAM_UTIL_HISTOGRAM_H
#define NBDRAM_UTIL_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_PARTS_LOG2 7
#define HISTOGRAM_PARTS (1u << HISTOGRAM_PARTS_LOG2)
/* The first 256 are exact; then 128 for each of the other 56 powers of two. */
#define HISTOGRAM_BUCKETS \
	(2 * HISTOGRAM_PARTS + (63 - HISTOGRAM_PARTS_LOG2) * HISTOGRAM_PARTS)

/* All zero: nothing was seen. */
struct histogram {
	uint64_t count; /* values */
	uint64_t most;	/* the largest of them, exactly */
	double sum;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t value);

/* The smallest value that at least `share` (0 to 1) of all values do not exceed: the
 * middle of its bucket, but never more than h->most. 0 if nothing was seen. Larger
 * shares never give smaller values. */
uint64_t histogram_at(const struct histogram *h, double share);

/* The mean, without the buckets' error; 0 if nothing was seen. */
double histogram_mean(const struct histogram *h);

#endif
