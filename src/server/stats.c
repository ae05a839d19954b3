/* SPDX-License-Identifier: BSD-3-Clause */
/* See stats.h. */
#include "stats.h"

#include "nbd.h"

const char *const stats_words[STATS] = {
	[STAT_READS] = "reads",
	[STAT_WRITES] = "writes",
	[STAT_TRIMS] = "trims",
	[STAT_ZEROES] = "zeroes",
	[STAT_FLUSHES] = "flushes",
	[STAT_OTHERS] = "others",
	[STAT_READ] = "read",
	[STAT_WRITTEN] = "written",
	[STAT_ERRORS] = "errors",
	[STAT_WAITS] = "waits",
	[STAT_CONNECTIONS] = "accepted",
	[STAT_REFUSED] = "refused",
	[STAT_TURNED_AWAY] = "turned-away",
};

void stats_command(struct stats *s, uint16_t command)
{
	enum stat_kind what = STAT_OTHERS;

	switch (command) {
	case NBD_CMD_READ:
		what = STAT_READS;
		break;
	case NBD_CMD_WRITE:
		what = STAT_WRITES;
		break;
	case NBD_CMD_TRIM:
		what = STAT_TRIMS;
		break;
	case NBD_CMD_WRITE_ZEROES:
		what = STAT_ZEROES;
		break;
	case NBD_CMD_FLUSH:
		what = STAT_FLUSHES;
		break;
	}
	stats_add(s, what, 1);
}
