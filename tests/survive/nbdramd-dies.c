/* SPDX-License-Identifier: BSD-3-Clause */
/* nbdramd that dies, as if by kill -9, before or after the n-th store by which
 * something in the pool becomes visible: NBDRAM_TEST_DIE=before:N or after:N. It is
 * linked with the store that tests can make fail. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "fault.h"
#include "main.c"

static enum ram_fault die_kind;
static _Atomic long die_left;

static bool die(enum ram_fault kind)
{
	if (kind == die_kind && atomic_fetch_sub(&die_left, 1) == 1)
		raise(SIGKILL);
	return false;
}

__attribute__((constructor)) static void listen_to_test(void)
{
	const char *text = getenv("NBDRAM_TEST_DIE");
	char word[8];
	long n;

	if (!text || sscanf(text, "%7[a-z]:%ld", word, &n) != 2)
		return;
	die_kind = word[0] == 'b' ? RAM_FAULT_BEFORE_PUBLISH
				  : RAM_FAULT_AFTER_PUBLISH;
	die_left = n;
	ram_fault_hook = die;
}
