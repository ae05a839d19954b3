/* SPDX-License-Identifier: BSD-3-Clause */
/* One scenario that goes through all that changes a pool, a step at a time, for
 * tests that let it fail or die at every place: the steps as data, how a step
 * is done with the store, and what it means for the model. */
#ifndef NBDRAM_TESTS_STORE_SCRIPT_H
#define NBDRAM_TESTS_STORE_SCRIPT_H

#include "model.h"
#include "util.h"

#define WORLD_DISKS 8

enum step_op {
	STEP_CREATE, /* len: size; flags: RAM_MAKING, ... */
	STEP_CREATE_FIXED,
	STEP_WRITE,
	STEP_STAGE, /* as a write, by stage and publish */
	STEP_ZERO,
	STEP_KEEP,  /* zero with RAM_KEEP */
	STEP_CLONE, /* other: of whom; a snapshot with flags RAM_SNAPSHOT */
	STEP_DELETE,
	STEP_RESIZE,
	STEP_REPLACE, /* other: from whom */
	STEP_NOTE,    /* len */
	STEP_STATE,   /* flags: the state */
	STEP_LAZY,    /* len, off: is to be fetched */
	STEP_FETCH,   /* len, off: has come */
	STEP_FETCH_END,
	STEP_TIDY,
};

struct step {
	enum step_op op;
	unsigned disk; /* 0 to WORLD_DISKS - 1; its name is world_name() */
	unsigned other;
	uint64_t len, off;
	unsigned flags;
};

extern const struct step script[];
extern const unsigned script_steps;

/* One disk as it should be. */
struct world_disk {
	struct model *model; /* NULL: there is none */
	bool readonly;
	bool fixed;
	enum ram_state state;
	uint64_t generation;
	uint32_t note_len;
	uint8_t note[RAM_NOTE_MAX];
};

struct world {
	struct world_disk disk[WORLD_DISKS];
};

const char *world_name(unsigned disk);
const char *step_text(unsigned number);

struct world *world_new(void);
struct world *world_copy(const struct world *world);
void world_free(struct world *world);

/* What step `number` of the script does to the world. */
void world_step(struct world *world, unsigned number);

/* What a restart does to it: only whole disks are left. */
void world_restart(struct world *world);

/* Handles of those that exist, kept from step to step. */
struct handles {
	struct ram_disk *disk[WORLD_DISKS];
};

/* Do it; 0 or what the store answered. *done: bytes of a write that were
 * written before it failed. Never repeats after an error. */
int script_step(struct env *env, struct handles *handles, unsigned number,
		uint64_t *done);
void handles_put(struct handles *handles);

/* What is still to be fetched comes, so that all can be looked at. */
void handles_complete(struct env *env, struct handles *handles);

/* Open all whole disks of the world anew. */
void handles_open(struct env *env, struct handles *handles,
		  const struct world *world);

/* The pool is as the world says, in every byte, and nothing else is there. */
void world_verify(const struct world *world, struct env *env,
		  struct handles *handles, const char *what);

/* True if it is so for all but the contents (sizes included). */
bool world_same_list(const struct world *world, struct env *env);

/* Does the step change bytes of one disk, block by block, and no slot? */
bool step_is_data(unsigned number);

#endif
