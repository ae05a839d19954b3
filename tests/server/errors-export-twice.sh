#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One name for two exports.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"

wrong 2 'export "a" is named twice' -e a,size=1M -e a,size=1M
wrong 2 'export "a" is named twice' -e a,size=1M -e b,size=1M -e a,size=2M
wrong 2 'export "default" is named twice' -e default,size=1M 1M
