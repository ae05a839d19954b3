/* SPDX-License-Identifier: BSD-3-Clause */
/* cmocka with what it wants to be included before it. */
#ifndef NBDRAM_TESTS_UNIT_H
#define NBDRAM_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#endif
