/* SPDX-License-Identifier: BSD-3-Clause */
/* qemu:dirty-bitmap:SNAPSHOT: with which snapshots a client compares the disk
 * that it has open. */
#ifndef NBDRAM_SERVER_BITMAPS_H
#define NBDRAM_SERVER_BITMAPS_H

#include "conn.h"

/* The codec asks which snapshots there are. It may have to be called again when
 * there is room for more (wants_room). Negative: the connection has to end,
 * conn->why says why. */
int bitmaps_answer(struct conn *c);

/* The terms are agreed: only the snapshots that they name are held. */
void bitmaps_agreed(struct conn *c);

/* The snapshot that a context of the terms compares with; NULL: it compares with
 * none. */
struct ram_disk *bitmaps_base(const struct conn *c, unsigned context);

/* No snapshot is held any more. */
void bitmaps_drop(struct conn *c);

#endif
