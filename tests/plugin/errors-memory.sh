#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A bound on memory that is none, or that no pool can have.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

for wrong in -1 16Q '' all 50%; do
	refused 'memory=.*: not a size; write' 1G "memory=$wrong"
done
refused 'memory=8E: more than the largest size' 1G memory=8E
for small in 0 1 4096 1048575; do
	refused "memory=$small: the least this can be is 1M" 1G memory="$small"
done
for large in 9T 8796093022209 7E; do
	refused "memory=$large: the most this can be is 8T" 1G memory="$large"
done
