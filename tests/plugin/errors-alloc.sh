#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A way of taking memory that there is not.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

for wrong in '' fix FIXED thin,fixed yes malloc; do
	refused "alloc=$wrong: not known; thin .* fixed" 1G "alloc=$wrong"
done
