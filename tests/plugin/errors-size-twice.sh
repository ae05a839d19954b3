#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two sizes: which one was meant?
. ./functions.sh
. "$abs_top_srcdir/tests/client.sh"

refused 'size=2G: a size was given before' 1G 2G
refused 'size=1G: a size was given before' size=1G size=1G
