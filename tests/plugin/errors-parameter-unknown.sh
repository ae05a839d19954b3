#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A parameter that there is not.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

refused "unknown parameter 'siez'; there are size, image, save, alloc, memory" siez=1G
refused "unknown parameter 'allocator'" 1G allocator=malloc
refused "unknown parameter 'SIZE'" SIZE=1G
