/* SPDX-License-Identifier: BSD-3-Clause */
/* See attach.h: how a device goes on.
 *
 * When any link is dead, all of them are made anew, with the next epoch of the
 * session. The server then drops whatever it still has of the old ones, so that
 * nothing of it can land on what is written later; what had no answer is sent again
 * by the kernel. Which of the old links are dead at the server's end does not
 * matter, and cannot be known. Servers without sessions get a new link for each
 * dead one.
 *
 * Nothing here looks up names, reads files of a disk or starts programs: it may be
 * the system's own disk that waits for it. */
#include "attach.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "attach-private.h"
#include "check.h"
#include "device.h"
#include "nbd.h"
#include "queue.h"
#include "say.h"
#include "state.h"
#include "wait.h"

/* A lost packet that asks for a connection is only sent again after a second and
 * after three, so that trying anew is faster; TLS takes a while too. */
#define LINK_MS 5000
/* The kernel notices at once that a link is dead, but by another thread. */
#define TAKE_MS 3000
#define TAKE_AGAIN_MS 5
/* How many epochs a state file is ahead: it is not written on the way back. */
#define EPOCHS 1000
/* Without these the kernel's device is another one. */
#define FLAGS_KEPT                                                      \
	(NBD_FLAG_SEND_FLUSH | NBD_FLAG_SEND_FUA | NBD_FLAG_SEND_TRIM | \
	 NBD_FLAG_CAN_MULTI_CONN)

int attach_disk_save(struct attach_disk *d, struct attach_why *why)
{
	struct attach_record *ahead = malloc(sizeof(*ahead));
	int error;

	if (!ahead)
		return attach_fail(why, -ENOMEM, "no memory");
	*ahead = d->record;
	ahead->session.epoch += EPOCHS;
	error = attach_state_write(d->folder, ahead, why);
	if (!error)
		d->epochs = ahead->session.epoch;
	free(ahead);
	return error;
}

/* A full /run is no reason to leave a device: with an old state file the next
 * watcher only takes longer to find the epoch. It is told once. */
static void save_if_possible(struct attach_disk *d)
{
	struct attach_why why;
	const bool failed = attach_disk_save(d, &why);

	if (failed && !d->unsaved)
		attach_say("nbd%d: %s", d->record.index, why.text);
	d->unsaved = failed;
}

int attach_disk_adopt(struct attach_disk *d, const struct attach_record *record,
		      int folder, int cancel_fd, struct attach_why *why)
{
	int error;

	memset(d, 0, sizeof(*d));
	d->record = *record;
	d->folder = folder;
	d->cancel_fd = cancel_fd;
	d->links_unknown = true;
	error = attach_device_find(record->identifier, &d->record.index);
	if (error == -ENOENT)
		return attach_fail(why, error, "it is not there any more");
	/* Where it was it will be found again. */
	if (error && record->index < 0)
		return attach_fail(why, error, "it cannot be looked for: %s",
				   strerror(-error));
	d->links = attach_links_new(max_u64(record->connections, 1));
	if (!d->links)
		return attach_fail(why, -ENOMEM, "no memory");
	save_if_possible(d);
	return 0;
}

int attach_disk_check(const struct attach_disk *d)
{
	return d->record.index < 0 ? -ENOENT
				   : attach_device_check(d->record.index,
							 d->record.identifier);
}

unsigned attach_disk_live(struct attach_disk *d)
{
	struct pollfd fds[ATTACH_CONNECTIONS_MOST];
	unsigned i, live = 0;

	/* Nothing is read from them, which the kernel does: only whether they
	 * are dead is asked. */
	for (i = 0; i < d->record.connections; i++)
		fds[i] = (struct pollfd){.fd = d->links[i].fd};
	if (poll(fds, d->record.connections, 0) < 0)
		return 0;
	for (i = 0; i < d->record.connections; i++) {
		if (fds[i].revents)
			attach_link_close(&d->links[i]);
		else if (d->links[i].fd >= 0)
			live++;
	}
	return live;
}

/* Is it still the disk that the kernel knows? */
static int check_terms(const struct attach_disk *d,
		       const struct attach_terms *t, struct attach_why *why)
{
	const struct attach_record *r = &d->record;
	const bool readonly = t->flags & NBD_FLAG_READ_ONLY;

	if (r->has_identity && !t->has_identity)
		return attach_fail(why, -EKEYREJECTED,
				   "%s: the server does not say any more which "
				   "disk it is",
				   r->target);
	if (r->has_identity && strcmp(r->uuid, t->uuid) != 0)
		return attach_fail(why, -EKEYREJECTED,
				   "%s: there is another disk by that name now "
				   "(%s, was %s)",
				   r->target, t->uuid, r->uuid);
	if (r->has_identity && r->gen != t->gen)
		return attach_fail(why, -EKEYREJECTED,
				   "%s: its contents have been replaced, by "
				   "load, reset or rollback",
				   r->target);
	if (t->size < r->size)
		return attach_fail(why, -EKEYREJECTED,
				   "%s: it is smaller than before", r->target);
	if ((readonly && !(r->flags & NBD_FLAG_READ_ONLY)) ||
	    (r->flags & FLAGS_KEPT & ~t->flags) || t->block_min > r->block)
		return attach_fail(why, -EKEYREJECTED,
				   "%s: the server cannot do any more with it "
				   "what it could",
				   r->target);
	return 0;
}

static int open_link(struct attach_disk *d, struct attach_link *link,
		     struct attach_why *why)
{
	struct attach_record *r = &d->record;
	int error = attach_link_open(d->target,
				     r->has_identity ? &r->session : NULL,
				     LINK_MS, d->cancel_fd, link, why);

	if (error)
		return error;
	error = check_terms(d, &link->terms, why);
	if (error)
		attach_link_close(link);
	return error;
}

/* The kernel takes a link only in place of one that it knows to be dead. */
static int hand_over(struct attach_disk *d, int fd, int64_t until, bool *taken,
		     struct attach_why *why)
{
	struct attach_record *r = &d->record;
	int error;

	do {
		error = attach_kernel_replace(d->kernel, r->index,
					      r->identifier, r->timeout, fd,
					      taken);
		if (error == -EINVAL)
			return attach_fail(why, -ENODEV,
					   "nbd%d is not attached any more",
					   r->index);
		if (error)
			return attach_fail(why, error,
					   "the kernel takes no connection for "
					   "nbd%d: %s",
					   r->index, strerror(-error));
	} while (!*taken && attach_now() < until &&
		 poll(NULL, 0, TAKE_AGAIN_MS) == 0);
	return 0;
}

static void set_tick(struct attach_disk *d)
{
	const struct attach_queue queue =
		attach_queue_for(d->record.payload, d->record.timeout);
	struct attach_why ignored;

	attach_queue_set_tick(d->record.index, &queue, &ignored);
}

static int tell_size(struct attach_disk *d, uint64_t size,
		     struct attach_why *why)
{
	struct attach_record *r = &d->record;
	int error;

	size = round_down(size, r->block);
	if (size <= r->size)
		return 0;
	error = attach_kernel_resize(d->kernel, r->index, r->identifier, size);
	if (error)
		return attach_fail(why, error,
				   "nbd%d: the kernel does not let it grow: %s",
				   r->index, strerror(-error));
	r->size = size;
	save_if_possible(d);
	return 0;
}

/* What the old ones still have is dropped by the server; the kernel is to see that
 * they are dead even if no packet of the server tells it. */
static void drop_old(struct attach_disk *d)
{
	unsigned i;

	for (i = 0; i < d->record.connections; i++) {
		if (d->links[i].fd >= 0)
			shutdown(d->links[i].fd, SHUT_RDWR);
		attach_link_close(&d->links[i]);
	}
}

static int open_all(struct attach_disk *d, struct attach_link *links,
		    struct attach_why *why)
{
	struct attach_record *r = &d->record;
	unsigned i;
	int error = 0;

	if (++r->session.epoch >= d->epochs)
		save_if_possible(d);
	for (i = 0; i < r->connections && !error; i++)
		error = open_link(d, &links[i], why);
	/* The state file was older than the session. */
	if (error == -ESTALE)
		r->session.epoch += EPOCHS;
	return error;
}

static int hand_over_all(struct attach_disk *d, struct attach_why *why)
{
	const int64_t until = attach_now() + TAKE_MS;
	bool taken = true;
	unsigned i;
	int error = 0;

	for (i = 0; i < d->record.connections && !error && taken; i++)
		error = hand_over(d, d->links[i].fd, until, &taken, why);
	set_tick(d);
	if (!error && !taken)
		error = attach_fail(why, -EAGAIN,
				    "nbd%d: the kernel holds on to its old "
				    "connections",
				    d->record.index);
	return error;
}

static int renew_all(struct attach_disk *d, struct attach_why *why)
{
	struct attach_record *r = &d->record;
	struct attach_link *links = attach_links_new(r->connections);
	struct attach_why minor;
	uint64_t size;
	int error;

	if (!links)
		return attach_fail(why, -ENOMEM, "no memory");
	error = open_all(d, links, why);
	if (error) {
		attach_links_close(links, r->connections);
		free(links);
		return error;
	}
	size = links[0].terms.size;
	drop_old(d);
	free(d->links);
	d->links = links;
	error = hand_over_all(d, why);
	if (error)
		drop_old(d);
	else
		d->links_unknown = false;
	/* It works as large as it was. */
	if (!error && tell_size(d, size, &minor))
		attach_say("%s", minor.text);
	return error;
}

/* Without sessions: a link for each that is dead. Those that the kernel alone knows
 * are alive if it wants no other. */
static int renew_dead(struct attach_disk *d, struct attach_why *why)
{
	const bool unknown = d->links_unknown;
	bool taken = true;
	unsigned i;
	int error = 0;

	attach_disk_live(d);
	for (i = 0; i < d->record.connections && !error && taken; i++) {
		if (d->links[i].fd >= 0)
			continue;
		error = open_link(d, &d->links[i], why);
		if (!error)
			error = hand_over(d, d->links[i].fd,
					  unknown ? 0 : attach_now() + TAKE_MS,
					  &taken, why);
		if (error || !taken)
			attach_link_close(&d->links[i]);
	}
	set_tick(d);
	if (!error && !taken && !unknown)
		error = attach_fail(why, -EAGAIN,
				    "nbd%d: the kernel holds on to its old "
				    "connection",
				    d->record.index);
	if (!error && taken)
		d->links_unknown = false;
	return error;
}

int attach_disk_renew(struct attach_disk *d, struct attach_why *why)
{
	int error = attach_disk_check(d);

	if (error == -ENOENT)
		return attach_fail(why, -ENODEV,
				   "nbd%d is not attached any more",
				   d->record.index);
	if (error)
		return attach_fail(why, error, "nbd%d cannot be looked at: %s",
				   d->record.index, strerror(-error));
	if (!d->kernel)
		error = attach_kernel_open(&d->kernel, why);
	if (error)
		/* It is there: so its kernel is. */
		return error == -ENODEV ? -EAGAIN : error;
	/* Of one that was adopted: the name server may have been away too. */
	if (!d->target)
		error = attach_target_open(d->record.wish.uri, NULL, &d->target,
					   why);
	if (error)
		return error;
	return d->record.has_identity ? renew_all(d, why) : renew_dead(d, why);
}

int attach_disk_grow(struct attach_disk *d, struct attach_why *why)
{
	struct attach_terms *terms = calloc(1, sizeof(*terms));
	int error;

	if (!terms)
		return attach_fail(why, -ENOMEM, "no memory");
	error = attach_link_ask(d->target, LINK_MS, d->cancel_fd, terms, why);
	if (!error)
		error = check_terms(d, terms, why);
	if (!error)
		error = tell_size(d, terms->size, why);
	free(terms);
	return error;
}
