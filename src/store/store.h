/* SPDX-License-Identifier: BSD-3-Clause */
/* RAM disks in one pool of memory: the only header of the store that other
 * rooms see.
 *
 * Units are bytes unless a name says blocks; a block is 4096 bytes. Functions
 * that return int or int64_t give a negative errno on failure. `[off, off+len)`
 * lies inside the disk, else -EINVAL and no effect; len 0 is fine everywhere.
 *
 * Threads. A thread that uses disks holds a registration (ram_pool_join()),
 * which only one thread at a time may use, and passes it to each call. Calls
 * without a registration in their arguments may come from any thread.
 *
 * -EAGAIN. Any call that takes a registration may answer -EAGAIN: memory may
 * come back soon, the disk is frozen for a moment, or the slice of long work is
 * over. Nothing but finished parts has taken effect. The registration's wake-up
 * is then called once when trying again makes sense, possibly before the call
 * has returned; ram_wait() is the blocking form.
 *
 * -EINPROGRESS. The same for a disk of which not all is fetched (see below): the call
 * needs something that is not there yet, which may take as long as it takes. All that
 * read or write may answer so, or -EIO: it will not come, or nobody fetches.
 *
 * The store prints nothing and keeps no global state. The one thread that it
 * starts is the pool's housekeeper. */
#ifndef NBDRAM_STORE_H
#define NBDRAM_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define RAM_BLOCK 4096u
#define RAM_DISK_MAX INT64_MAX /* bytes of the largest disk */
#define RAM_NAME_MAX 255u      /* bytes of a name, without the final 0 */
#define RAM_NOTE_MAX 2048u
#define RAM_SOURCE_MAX 1600u
#define RAM_POOL_MIN (UINT64_C(1) << 20) /* bytes of the smallest pool */
#define RAM_POOL_MAX (UINT64_C(1) << 43) /* 8 TiB: block numbers have 31 bits */
#define RAM_PIECE (UINT64_C(8) << 20) /* most that one stage or write takes */
#define RAM_DEFAULT UINT64_MAX	      /* "as the store sees fit" */

struct ram_pool;
struct ram_thread;
struct ram_disk;

/* One line of text for a person: what went wrong, where, what to do. Filled by
 * calls that fail for a reason that an errno cannot tell. */
struct ram_why {
	char text[1024];
};

/* ------------------------------------------------------------------ pool */

enum ram_pages {
	RAM_PAGES_SMALL, /* of 4 KiB */
	RAM_PAGES_2M,	 /* huge pages that the system has set aside */
	RAM_PAGES_THP,	 /* transparent huge pages, where the kernel has any */
};

#define RAM_NUMA_ANY 0		 /* as the kernel does it */
#define RAM_NUMA_INTERLEAVE (-1) /* by turns from all nodes that have memory */
#define RAM_NUMA_NODE(n) ((n) + 1)

struct ram_pool_config {
	/* Bound on all memory of the pool. RAM_DEFAULT: what the host has left,
	 * less headroom, or if that is less the limit of the cgroup (v1, v2)
	 * less a sixteenth; in a folder also at most what its file system
	 * holds. */
	uint64_t size;
	/* Memory that is left to the host: when no more than that is available,
	 * what would take new memory is refused as if the pool were full, while
	 * overwriting goes on. In a control group with a limit, a sixteenth of
	 * that limit is left at least. RAM_DEFAULT: the larger of 1 GiB and a
	 * tenth of the memory, at most a quarter. 0: none. */
	uint64_t headroom;
	/* Free memory kept populated ahead of writers. RAM_DEFAULT: 256 MiB, at
	 * most an eighth of the pool. 0: none. */
	uint64_t warm;
	/* The folder of a pool that outlives the process, made if its parent
	 * is there; NULL: anonymous memory. */
	const char *path;
	/* The folder must be in memory: on a tmpfs, or a hugetlbfs for
	 * RAM_PAGES_2M. What is on a disk takes effect there whenever the kernel
	 * sees fit, at its speed. */
	bool memory_only;
	/* Huge pages save the processor's translation buffers. Memory is taken
	 * and given back 2 MiB at a time then: only when all of them are free.
	 * Of 2M the system must have set aside as many as the pool may have
	 * (headroom has no say, they are no longer the host's), and a folder
	 * must be on a hugetlbfs. */
	enum ram_pages hugepages;
	/* What is touched stays in memory and is never swapped. Needs a limit
	 * on locked memory (RLIMIT_MEMLOCK) of the pool's size and 1/256 of it,
	 * or the right to lock any. A fork loses it until ram_pool_start(). */
	bool lock;
	/* Where memory comes from: RAM_NUMA_ANY, RAM_NUMA_INTERLEAVE, or
	 * RAM_NUMA_NODE(n): from that node while it has any. */
	int numa;
	/* If `given`, fd is the memory of a pool that another process, or we,
	 * had open before (ram_pool_descriptor()) and have closed; it is opened
	 * as one in a folder is, and stays the caller's. path, which is not
	 * looked at then, must be the one it had, and hugepages too. */
	bool given;
	int fd;
};

/* Open the pool in config->path or make a new one, and check all of it. Starts
 * no thread; see ram_pool_start(). On success *pool is the caller's until
 * ram_pool_close(). On failure nothing was changed and why->text says what is
 * wrong.
 * -EINVAL  config; not a pool, unknown feature, truncated, damaged
 * -EBUSY   another process owns it
 * -EACCES  folder not ours, or its mode not 0700; a link where none may be
 * -EOPNOTSUPP, -EPERM  hugepages, lock or numa cannot be had here
 * -ENOMEM, -ENOSPC, and what the system calls gave */
int ram_pool_open(const struct ram_pool_config *config, struct ram_pool **pool,
		  struct ram_why *why);

/* Start the housekeeper (warm, punch, delete). Once, after any fork. Until then
 * ram_pool_tidy() does its work. 0; -EAGAIN; or memory cannot be locked, which
 * it could be before the fork: -EPERM, -ENOMEM. */
int ram_pool_start(struct ram_pool *pool);

/* Stop the housekeeper and unmap. Every disk, view and registration has been
 * given back before. What is in a folder stays. NULL is fine. */
void ram_pool_close(struct ram_pool *pool);

/* A descriptor of the pool's memory, the caller's, for struct ram_pool_config:
 * whoever has it owns the pool, also when this one has been closed, and an
 * anonymous one lives as long. Or a negative errno. */
int ram_pool_descriptor(const struct ram_pool *pool);

/* Change the bound. -EBUSY: more is in use; -EINVAL: beyond what the pool was
 * opened for (growing needs a new open); unchanged then. */
int ram_pool_resize(struct ram_pool *pool, uint64_t size);

struct ram_usage {
	uint64_t size;	       /* the bound */
	uint64_t held;	       /* data, tables and slots; and what was freed and
				 is not yet free, as far as it was not
				 overwritten but trimmed or deleted */
	uint64_t most;	       /* that held and guaranteed may be together */
	uint64_t freed;	       /* no longer reachable, not yet free */
	uint64_t landing;      /* set aside for payloads on their way */
	uint64_t landing_used; /* of that, taken now */
	uint64_t guaranteed;   /* promised to disks and not yet used by them */
	uint64_t warm;	       /* free, populated */
	uint64_t backing;      /* what the memfd or file occupies (st_blocks) */
	uint64_t refusals;     /* how many times -ENOSPC was answered */
	uint64_t tables;       /* of held: what leads to data */
	uint64_t headroom;     /* what is left to the host; 0: not watched */
	uint64_t spare;	       /* what may be taken before that is reached;
				  UINT64_MAX: nobody knows, or watches */
};
void ram_pool_usage(struct ram_pool *pool, struct ram_usage *usage);

/* Do all housekeeping that can be done now: free what no thread can see any
 * more, go on with deletes, punch, populate. Blocks; any thread outside every
 * epoch. For tests, and before ram_pool_start(). */
void ram_pool_tidy(struct ram_pool *pool);

/* Walk everything and compare with the counts. The caller sees to it that
 * nothing else uses the pool meanwhile. 0, or -EINVAL and why. */
int ram_pool_check(struct ram_pool *pool, struct ram_why *why);

struct ram_scrub {
	uint64_t disks, done; /* how many there are; of them, looked at */
	uint64_t bytes;	      /* data and tables found so far */
};

/* Look while the pool is in use whether it is sound: walk each disk as it is at
 * one moment (a temporary snapshot, which is gone afterwards), and compare uses
 * with counts. Takes 8 bytes of memory for each block in use. stop(arg, so far)
 * is asked again and again, with no lock held; true ends it. Blocks;
 * any thread outside every epoch.
 * -EINVAL     it is damaged; why says what and where
 * -ECANCELED  stop() said so
 * -ENOSPC     the pool has become full, and writers need what we held
 * -ENOMEM */
int ram_pool_scrub(struct ram_pool *pool,
		   bool (*stop)(void *arg, const struct ram_scrub *so_far),
		   void *arg, struct ram_scrub *result, struct ram_why *why);

/* Look whether the pool in the folder `path` is sound, as ram_pool_open() would,
 * and write nothing: a pool that nobody has open, or a copy of one, on any file
 * system, whosever it is. Of result, all but `done` says what there is.
 * -EBUSY: somebody has it open; -EINVAL: damaged, or no pool; -ENOMEM, and what the
 * system calls gave. */
int ram_pool_look(const char *path, struct ram_scrub *result,
		  struct ram_why *why);

/* Register a thread. wake (may be NULL) is called with arg when a call that
 * answered -EAGAIN is worth repeating: from any thread, with locks of the store
 * held, so it must only post a message. 0 or -ENOMEM. */
int ram_pool_join(struct ram_pool *pool, void (*wake)(void *arg), void *arg,
		  struct ram_thread **thread);

/* Give the registration back: outside every epoch, all its views released. */
void ram_pool_leave(struct ram_thread *thread);

/* After -EAGAIN: block until the wake-up or until msec milliseconds are over
 * (then -ETIMEDOUT). Outside every epoch. */
int ram_wait(struct ram_thread *thread, unsigned msec);

/* What answered -EAGAIN will not be repeated: let others go before it. Outside
 * every epoch. */
void ram_wait_cancel(struct ram_thread *thread);

/* Bracket several calls so that they share one entry; nests. Everything below
 * enters by itself as well. Keep it short (1 ms): clone waits for it. A call that
 * must have memory from the kernel steps out meanwhile. */
void ram_epoch_enter(struct ram_thread *thread);
void ram_epoch_leave(struct ram_thread *thread);

/* ----------------------------------------------------------------- disks */

enum ram_state {
	RAM_MAKING = 1,	   /* gone after a restart, not shown */
	RAM_WHOLE = 2,	   /* kept, shown */
	RAM_DELETING = 3,  /* gone after a restart, not shown */
	RAM_TEMPORARY = 4, /* as making; for the time of a save */
};

/* Told now and then while memory is taken: how many bytes of how many are there.
 * True ends it. */
typedef bool ram_progress(void *arg, uint64_t done, uint64_t all);

struct ram_disk_spec {
	const char *name;     /* 1 to RAM_NAME_MAX bytes, unique in the pool */
	uint64_t size;	      /* 1 to RAM_DISK_MAX; for a clone ignored */
	bool fixed;	      /* guarantee: the whole size and its tables */
	uint64_t quota;	      /* most that `own` may become; 0: no bound */
	uint64_t guarantee;   /* memory that is always there for it */
	enum ram_state state; /* RAM_WHOLE, RAM_MAKING or RAM_TEMPORARY */
	/* While what is guaranteed to a new disk gets its memory: called by the
	 * same thread, several times a second, outside of all locks. May be
	 * NULL. */
	ram_progress *progress;
	void *arg;
};

/* Disks are handles that are counted: create, clone, open and next give one,
 * ram_disk_put() takes it back. */

/* A new disk that reads as zeroes. Memory for what it is guaranteed is taken by
 * several threads, and writers go on meanwhile; what does not fit is refused before
 * any is taken. -EEXIST, -EINVAL (name, size, state), -ENOSPC (guarantee does not
 * fit), -ENOMEM, -ECANCELED (progress said so; there is no disk). */
int ram_disk_create(struct ram_pool *pool, const struct ram_disk_spec *spec,
		    struct ram_disk **disk);

#define RAM_SNAPSHOT 1u /* the clone never changes */

/* A disk that is as src is at one moment, at the cost of one slot. Freezes src
 * for microseconds; waits for calls that are under way. Only outside every
 * epoch, and while the caller itself holds no view that is older than 100 ms
 * (likewise replacing and shrinking): it would wait for itself. -EEXIST, -EINVAL, -ENOSPC (no block for the slot; a guarantee that
 * does not fit: what a guaranteed src shared with the clone must be guaranteed
 * anew), -ENOMEM. */
int ram_disk_clone(struct ram_disk *src, const struct ram_disk_spec *spec,
		   unsigned flags, struct ram_disk **disk);

/* The whole disk of that name. -ENOENT. */
int ram_disk_open(struct ram_pool *pool, const char *name,
		  struct ram_disk **disk);

/* All whole disks, in the order of their slots: *cursor is 0 at first. Disks
 * made or deleted meanwhile may be passed over. -ENOENT at the end. */
int ram_disk_next(struct ram_pool *pool, uint64_t *cursor,
		  struct ram_disk **disk);

/* Whether two disks of a pool are of one lineage: made of each other, or of a
 * common ancestor, by clones and snapshots; a disk and itself too. */
bool ram_disk_related(const struct ram_disk *a, const struct ram_disk *b);

void ram_disk_put(struct ram_disk *disk); /* NULL is fine */

/* Take the disk away: its name is free at once, its memory comes back after the
 * last handle is put. The caller still owns its handle. -ENOENT: deleted
 * already. */
int ram_disk_delete(struct ram_disk *disk);

/* From making or temporary to whole, or whole to temporary. -EINVAL. */
int ram_disk_state(struct ram_disk *disk, enum ram_state state);

/* Growing is constant work, but for the memory of a fixed disk, which is taken
 * before anybody sees the size: see ram_disk_reserve(). -ENOSPC, -ENOMEM,
 * -ENOENT: unchanged. Shrinking freezes (only outside every epoch) and is
 * -EBUSY while a block that is not a hole, or a byte that is not zero, lies
 * beyond. -EROFS for snapshots. */
int ram_disk_resize(struct ram_disk *disk, uint64_t size);

/* Have the memory ready that the disk is to be guaranteed with that size, as when
 * one is created; ram_disk_resize() is short then. Nothing but usage shows it, it is
 * gone after a restart, and ram_disk_unreserve() gives it back. -EINVAL (size),
 * -EROFS, -ENOENT (deleted), -ENOSPC, -ENOMEM, -ECANCELED (progress, which may be
 * NULL, said so): nothing is reserved. */
int ram_disk_reserve(struct ram_disk *disk, uint64_t size,
		     ram_progress *progress, void *arg);
void ram_disk_unreserve(struct ram_disk *disk);

/* Change what the disk is promised: as the fields of its spec, progress (may be
 * NULL) likewise. `own` may be above the new quota: then it gets nothing new.
 * -EROFS for snapshots, -ENOSPC (the guarantee does not fit), -ECANCELED;
 * nothing has changed then. */
int ram_disk_promise(struct ram_disk *disk, bool fixed, uint64_t quota,
		     uint64_t guarantee, ram_progress *progress, void *arg);

/* Make `disk` what `from` is now: contents and size; new generation. One store;
 * freezes both; only outside every epoch. -EROFS, -ENOSPC, -EINVAL (two
 * pools). */
int ram_disk_replace(struct ram_disk *disk, struct ram_disk *from);

struct ram_disk_info {
	char name[RAM_NAME_MAX + 1];
	uint8_t uuid[16];
	uint8_t parent[16]; /* all zero: none */
	uint8_t origin[16];
	uint64_t generation;
	uint64_t size;
	uint64_t quota;
	uint64_t guarantee;
	bool readonly;
	bool fixed;
	enum ram_state state;
	/* Only with RAM_INFO_USAGE: counted by walking the tree (16 GiB of
	 * data: tens of milliseconds, in slices). */
	uint64_t held;	     /* reachable from it: data and tables */
	uint64_t own;	     /* of that, reachable from nowhere else */
	uint64_t shared;     /* held - own */
	uint64_t missing;    /* not yet fetched */
	bool lazy;	     /* some of it may be not yet fetched, */
	int fetch_error;     /* ... and cannot be now: why; else 0 */
	uint32_t source_len; /* ... and where it comes from */
	uint8_t source[RAM_SOURCE_MAX];
	uint32_t note_len;
	uint8_t note[RAM_NOTE_MAX];
};
#define RAM_INFO_USAGE 1u

/* `thread` may be NULL without RAM_INFO_USAGE; with it, outside every epoch. */
int ram_disk_info(struct ram_disk *disk, struct ram_thread *thread,
		  unsigned flags, struct ram_disk_info *info);

/* Replace the note: the server's own bytes, which survive with the disk.
 * -EINVAL (len), -ENOSPC. */
int ram_disk_note(struct ram_disk *disk, const void *note, uint32_t len);

/* Whole blocks of zeroes that are written become holes, as if they were trimmed;
 * costs a look at each block written. Off at first, and after a restart; any
 * thread, any time. */
void ram_disk_detect_zeroes(struct ram_disk *disk, bool on);

/* Cheap, without locks: the size now, and whether it is a snapshot. */
uint64_t ram_disk_size(const struct ram_disk *disk);
bool ram_disk_readonly(const struct ram_disk *disk);

/* ------------------------------------------------------------------ data */

/* Read or write up to len bytes; the count that was done, at least 1 unless len
 * is 0, comes back (at most RAM_PIECE for a write), and the caller goes on from
 * there. Each block is old or new as a whole, for readers and after a kill.
 * read:  -EINVAL, -EAGAIN
 * write: -EINVAL, -EROFS, -EAGAIN, -ENOSPC (nothing of this call written) */
int64_t ram_disk_read(struct ram_disk *disk, struct ram_thread *thread,
		      void *buf, uint64_t len, uint64_t off);
int64_t ram_disk_write(struct ram_disk *disk, struct ram_thread *thread,
		       const void *buf, uint64_t len, uint64_t off);

#define RAM_VIEW_MAX 64

/* Bytes lent: by a disk for sending (ram_disk_view), or as a place for a
 * payload (ram_disk_stage). Fixed while lent; the fields above the line may be
 * read by the holder. */
struct ram_view {
	struct iovec iov[RAM_VIEW_MAX];
	unsigned count; /* pieces in iov */
	uint64_t len;	/* bytes in all */
	uint64_t off;	/* where they begin in the disk */
	/* ---- the store's own */
	struct ram_disk *disk;
	struct ram_thread *thread;
	uint64_t epoch;
	uint64_t done;	 /* stage: bytes already published */
	uint32_t charge; /* stage: blocks set aside that publish may use */
	uint32_t kind;
	uint32_t cold; /* stage: the first block of a run without memory, whose
			  payload comes to a buffer of the thread; 0: none */
};

/* Lend [off, off+view->len) without copying: as much of len as RAM_VIEW_MAX
 * pieces hold. Until ram_view_release() the bytes neither move nor change,
 * whatever is written, trimmed or deleted meanwhile; hold them no longer than
 * 100 ms, for memory that is freed waits for it. Holes come from one area of
 * zeroes that must not be written. Pass the pieces only to system calls that
 * copy. -EINVAL, -EAGAIN. */
int ram_disk_view(struct ram_disk *disk, struct ram_thread *thread,
		  uint64_t len, uint64_t off, struct ram_view *view);

/* Copy a view's bytes out (view->len of them). */
void ram_view_copy(const struct ram_view *view, void *buf);

/* Give a view back, once; from any thread, which passes its registration (NULL
 * if it has none). A stage that was not published has no effect. */
void ram_view_release(struct ram_view *view, struct ram_thread *thread);

#define RAM_LAST 1u /* this may draw on the last piece's worth of landing */
#define RAM_UNCHARGED 2u /* memory for it is asked for when it is published */

/* Bytes that one payload may hold of landing at a time: RAM_PIECE, or a quarter
 * of landing in a small pool. */
uint64_t ram_pool_piece(struct ram_pool *pool);

/* Lend a place for a payload: blocks in as long runs as there are, seen by
 * nobody; as much of [off, off+len) as RAM_VIEW_MAX pieces and a piece hold.
 * The receiver fills all view->len bytes, then publishes, then releases. So that
 * of many who hold a part of what they need one can always finish, the last
 * piece's worth of landing is only for whom the caller lets pass RAM_LAST: one
 * at a time, until its payload is whole. Only a part of what was asked for ends where
 * a block ends.
 * -EAGAIN and -ENOSPC change nothing; -EROFS, -EINVAL. */
int ram_disk_stage(struct ram_disk *disk, struct ram_thread *thread,
		   uint64_t len, uint64_t off, unsigned flags,
		   struct ram_view *view);

/* All view->len bytes have come: worth telling at once, since who receives into
 * memory that is to be made holds what others could use. Optional; -ENOSPC and -ENOMEM
 * change nothing, and publishing tries it again. The thread is the one that staged. */
int ram_view_filled(struct ram_view *view);

/* Make what was received the disk's, block by block, each whole. -EAGAIN
 * (frozen, memory) and -ENOSPC (a snapshot or trim came between) leave the rest
 * in the view for another try. The thread is the one that staged. */
int ram_view_publish(struct ram_view *view);

#define RAM_KEEP 1u /* blocks are allocated afterwards, not holes */

/* One slice (at most 1 ms, or 2 MiB filled) of making [off, off+len) zero.
 * *cursor is 0 at first and belongs to the call; -EAGAIN until it is through,
 * and for the usual reasons: repeat with the same arguments. Cost follows the
 * blocks that are present. Whole blocks become holes (without RAM_KEEP).
 * -EINVAL, -EROFS, -ENOSPC (RAM_KEEP; or cutting into what is shared). */
int ram_disk_zero(struct ram_disk *disk, struct ram_thread *thread,
		  uint64_t len, uint64_t off, unsigned flags, uint64_t *cursor);

enum ram_extent_kind {
	RAM_HOLE,    /* reads as zeroes, takes no memory */
	RAM_OWN,     /* data that only this disk holds */
	RAM_SHARED,  /* data that another disk holds as well */
	RAM_DATA,    /* data; asked without RAM_EXTENT_SHARED */
	RAM_SAME,    /* with a base: both have the same */
	RAM_CHANGED, /* with a base: written or trimmed since */
};

struct ram_extent {
	uint64_t len; /* at least 1 */
	enum ram_extent_kind kind;
};

#define RAM_EXTENT_SHARED 1u /* tell own from shared (dearer) */

/* The run of one kind that begins at off, at most len (which is not 0); it may
 * be shorter than it could be (a bounded amount of work a call), the caller
 * loops and merges. With base (a disk or snapshot of the same pool; else NULL):
 * changed or same. -EINVAL, -EAGAIN. */
int ram_disk_extent(struct ram_disk *disk, struct ram_thread *thread,
		    struct ram_disk *base, uint64_t len, uint64_t off,
		    unsigned flags, struct ram_extent *extent);

/* ------------------------------------------------------------ fetching
 * A disk may be used before its data is here: parts of it are "not yet fetched", and
 * so they stay over a death. Somebody who knows where they come from, the fetcher,
 * brings them; clones and snapshots share what comes. Writing and trimming whole
 * blocks needs none of it, but for this: what is not yet fetched of 2 MiB that other
 * disks share has to come before the first write there, or each would have to fetch
 * it for itself. */

/* Such a disk begins as any other, in state RAM_MAKING: it becomes lazy by the name
 * of its source, bytes that the store does not read (1 to RAM_SOURCE_MAX) and that
 * go with its contents to clones, and by ram_disk_replace(). -EINVAL, -ENOSPC. */
int ram_disk_source(struct ram_disk *disk, const void *source, uint32_t len);

/* [*off, *off+*len), which holds nothing so far, is not yet fetched; blocks of which
 * that is a part are as a whole. While it is RAM_MAKING, before anybody else uses
 * it. On -EAGAIN and -ENOSPC *off and *len are what is left. -EINVAL. */
int ram_disk_unfetched(struct ram_disk *disk, struct ram_thread *thread,
		       uint64_t *len, uint64_t *off);

/* Who fetches: it is woken when a call has met what is not yet fetched and when
 * there is another lazy disk. NULL: nobody does (any more); before it leaves. */
void ram_pool_fetcher(struct ram_pool *pool, struct ram_thread *thread);

/* Changes when there is another lazy disk, or a disk has become one. */
uint64_t ram_pool_fetch_news(struct ram_pool *pool);

/* As ram_disk_next(), for all that are lazy, temporary ones too. */
int ram_disk_next_lazy(struct ram_pool *pool, uint64_t *cursor,
		       struct ram_disk **disk);

/* Whether some of it may be not yet fetched. Cheap. */
bool ram_disk_lazy(const struct ram_disk *disk);

/* Where a call has met what is not yet fetched, the oldest one, which is forgotten
 * then. -ENOENT. */
int ram_disk_wanted(struct ram_disk *disk, uint64_t *off);

/* The first run from *off on that is not yet fetched, at most *len bytes of it; in
 * whole blocks, so that it may reach beyond the disk's end. -ENOENT: there is none, or the
 * disk is deleted, and nothing is to be brought any more. */
int ram_disk_missing(struct ram_disk *disk, struct ram_thread *thread,
		     uint64_t *off, uint64_t *len);

/* Bring what is in [off, off+len), in whole blocks but for the disk's last one: what
 * is not yet fetched takes it, all else is left alone. Blocks of zeroes become
 * holes. As for writing, the count that was done comes back. -EINVAL, -EAGAIN,
 * -ENOSPC, -ENOMEM. */
int64_t ram_disk_fetched(struct ram_disk *disk, struct ram_thread *thread,
			 const void *buf, uint64_t len, uint64_t off);

/* What calls that meet what is not yet fetched are to answer: -EIO, -ENOSPC; 0: that
 * it comes. */
void ram_disk_fetch_error(struct ram_disk *disk, int error);

/* All of it has come: it is a disk as any other. -EBUSY: not so; -ENOENT (deleted),
 * -ENOSPC (later). */
int ram_disk_fetch_end(struct ram_disk *disk, struct ram_thread *thread);

/* Whether all of [off, off+len) is there: 0, or as reading it would answer,
 * -EINPROGRESS, -EIO, -ENOSPC. */
int ram_disk_ready(struct ram_disk *disk, struct ram_thread *thread,
		   uint64_t len, uint64_t off);

#endif
