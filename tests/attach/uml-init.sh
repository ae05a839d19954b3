#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of the guests of ../attach.sh.
. /guest-init.sh
. /files/attach.sh
. /files/script
pass
