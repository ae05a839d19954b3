#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two exports for clients that name none.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

wrong 2 '-e b: export "b": there can be one default, and "a" is it' \
	-e a,size=1M,default=yes -e b,size=1M,default
wrong 2 'SIZE: export "default": there can be one default' -e a,size=1M,default 1M
