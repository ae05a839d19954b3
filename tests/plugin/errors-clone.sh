#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# clone= with another word, and beside alloc=fixed.
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

refused "clone=always: not known; per-connection gives" 16M clone=always
refused "clone=: not known" 16M clone=
refused "alloc=fixed: with clone=per-connection nobody writes" 16M alloc=fixed \
	clone=per-connection
