/* SPDX-License-Identifier: BSD-3-Clause */
/* See attach.h: making and giving up. What happens between, see renew.c. */
#include "attach.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "attach-private.h"
#include "check.h"
#include "device.h"
#include "nbd.h"
#include "queue.h"
#include "state.h"
#include "wait.h"

/* One answer of the server may take so long, when somebody waits for it. */
#define LINK_MS 10000
/* ... and when a device is to go. */
#define ANSWER_MS 3000
/* udev looks at each device that comes and goes. */
#define BUSY_MS 2000
#define DEVICE_MS 10000
#define TAKEN_MS 500
#define BLOCK_MOST 4096u
#define CONNECTIONS_DEFAULT 4u

void attach_disk_begin(struct attach_disk *d, const struct attach_wish *wish,
		       int folder, int cancel_fd)
{
	memset(d, 0, sizeof(*d));
	attach_record_clear(&d->record);
	d->record.wish = *wish;
	d->folder = folder;
	d->cancel_fd = cancel_fd;
}

void attach_disk_end(struct attach_disk *d)
{
	attach_links_close(d->links, d->record.connections);
	free(d->links);
	d->links = NULL;
	attach_kernel_close(d->kernel);
	d->kernel = NULL;
	attach_target_close(d->target);
	d->target = NULL;
}

void attach_links_close(struct attach_link *links, unsigned count)
{
	unsigned i;

	for (i = 0; links && i < count; i++)
		attach_link_close(&links[i]);
}

struct attach_link *attach_links_new(unsigned count)
{
	struct attach_link *links = calloc(count, sizeof(*links));
	unsigned i;

	for (i = 0; links && i < count; i++)
		links[i].fd = -1;
	return links;
}

static int open_kernel(struct attach_disk *d, struct attach_why *why)
{
	int error = attach_kernel_open(&d->kernel, why);

	if (error != -ENODEV)
		return error;
	error = attach_module_load(why);
	return error ? error : attach_kernel_open(&d->kernel, why);
}

static int begin_session(struct attach_disk *d, struct attach_why *why)
{
	struct attach_record *r = &d->record;
	uint8_t *u = r->session.uuid;
	size_t len;

	if (getrandom(u, 16, 0) != 16)
		return attach_fail(why, -EIO, "no random numbers: %s",
				   strerror(errno));
	u[6] = (u[6] & 0x0f) | 0x40; /* RFC 4122: version 4 */
	u[8] = (u[8] & 0x3f) | 0x80;
	r->session.epoch = 1;
	snprintf(r->target, sizeof(r->target), "%s",
		 attach_target_name(d->target));
	len = snprintf(r->identifier, sizeof(r->identifier), "nbdram:%s#",
		       r->target);
	snprintf(r->identifier + len, sizeof(r->identifier) - len,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9],
		 u[10], u[11], u[12], u[13], u[14], u[15]);
	return 0;
}

static int open_link(struct attach_disk *d, struct attach_link *link,
		     bool session, struct attach_why *why)
{
	return attach_link_open(d->target, session ? &d->record.session : NULL,
				LINK_MS, d->cancel_fd, link, why);
}

/* The first link tells what there is. Sessions are for servers that show what their
 * disks are; of a template only the disk that it makes shows it. */
static int open_first(struct attach_disk *d, struct attach_link *link,
		      struct attach_why *why)
{
	struct attach_terms *terms = calloc(1, sizeof(*terms));
	bool known;
	int error;

	if (!terms)
		return attach_fail(why, -ENOMEM, "no memory");
	error = attach_link_ask(d->target, LINK_MS, d->cancel_fd, terms, why);
	known = error == 0 && terms->has_identity;
	free(terms);
	/* Whoever does not answer is not asked again in another way. */
	if (error && error != -EINVAL && error != -EACCES && error != -EBUSY)
		return error;
	error = open_link(d, link, true, why);
	if (known || error == -ECANCELED || error == -ETIMEDOUT)
		return error;
	if (error == 0 && link->terms.has_identity)
		return 0;
	attach_link_close(link);
	return open_link(d, link, false, why);
}

/* The kernel reads and writes whole blocks of one size. */
static int choose_block(struct attach_disk *d, const struct attach_terms *t,
			struct attach_why *why)
{
	struct attach_record *r = &d->record;
	uint32_t least = max_u64(t->block_min, 512);

	if (least > BLOCK_MOST || (least & (least - 1)) != 0)
		return attach_fail(why, -EINVAL,
				   "%s: the server wants blocks of %u bytes, "
				   "the kernel has at most %u",
				   r->target, t->block_min, BLOCK_MOST);
	for (r->block = BLOCK_MOST; r->block > least; r->block /= 2)
		if (t->size % r->block == 0)
			break;
	r->size = round_down(t->size, r->block);
	if (r->size == 0)
		return attach_fail(why, -EINVAL, "%s: it has no whole block",
				   r->target);
	if (r->size != t->size)
		snprintf(d->warning, sizeof(d->warning),
			 "the last %u bytes are cut off: the size is no "
			 "multiple of %u",
			 (unsigned)(t->size - r->size), r->block);
	return 0;
}

static int choose_connections(struct attach_disk *d, struct attach_why *why)
{
	struct attach_record *r = &d->record;
	const bool several = r->flags & NBD_FLAG_CAN_MULTI_CONN;
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned wished = r->wish.connections;

	if (wished > 1 && !several)
		return attach_fail(why, -EINVAL,
				   "%s: the server does not allow several "
				   "connections; leave --connections out",
				   r->target);
	/* A server that cannot be told to drop what is left on a dead link must
	 * not be sent anything twice. */
	if (!several || !r->has_identity)
		r->connections = 1;
	else
		r->connections =
			min_u64(CONNECTIONS_DEFAULT, max_u64(processors, 1));
	if (wished)
		r->connections = wished;
	r->timeout = r->connections > 1 ? ATTACH_TIMEOUT_SEVERAL : 0;
	if (r->wish.timeout == 0 && r->connections > 1)
		return attach_fail(why, -EINVAL,
				   "a timeout of 0 is for one connection: with "
				   "several the kernel has one all the same");
	if (r->wish.timeout >= 0)
		r->timeout = r->wish.timeout;
	if (r->timeout > 0 && !r->has_identity)
		snprintf(d->warning, sizeof(d->warning),
			 "what is sent again after %u s could land before what "
			 "was sent first: this server has no sessions",
			 r->timeout);
	return 0;
}

static int take_terms(struct attach_disk *d, const struct attach_terms *t,
		      struct attach_why *why)
{
	struct attach_record *r = &d->record;
	int error;

	r->flags = t->flags;
	if (r->wish.readonly)
		r->flags |= NBD_FLAG_READ_ONLY;
	r->payload = t->payload_max;
	r->has_identity = t->has_identity;
	if (t->has_identity) {
		memcpy(r->uuid, t->uuid, sizeof(r->uuid));
		r->gen = t->gen;
	}
	if (t->tls)
		snprintf(r->tls, sizeof(r->tls), "%s", t->tls_text);
	error = choose_block(d, t, why);
	return error ? error : choose_connections(d, why);
}

static int open_links(struct attach_disk *d, struct attach_why *why)
{
	struct attach_link *first = attach_links_new(1);
	unsigned i;
	int error;

	if (!first)
		return attach_fail(why, -ENOMEM, "no memory");
	error = open_first(d, first, why);
	if (!error)
		error = take_terms(d, &first->terms, why);
	if (!error) {
		d->links = attach_links_new(d->record.connections);
		if (!d->links)
			error = attach_fail(why, -ENOMEM, "no memory");
	}
	if (error) {
		d->record.connections = 0;
		attach_links_close(first, 1);
		free(first);
		return error;
	}
	d->links[0] = *first;
	free(first);
	for (i = 1; i < d->record.connections && !error; i++)
		error = open_link(d, &d->links[i], d->record.has_identity, why);
	return error;
}

static int refused(struct attach_disk *d, int error, struct attach_why *why)
{
	const int index = d->record.wish.device;
	char text[ATTACH_IDENTIFIER_MOST + 1], holder[ATTACH_HOLDER_MOST];

	if (error == -EPERM)
		return attach_fail(
			why, error,
			"the kernel lets only those make devices "
			"that have CAP_SYS_ADMIN; root in a container "
			"may not have it");
	if (error != -EBUSY || index < 0)
		return attach_fail(why, error, "the kernel makes no device: %s",
				   strerror(-error));
	if (attach_device_identifier(index, text) == 0)
		return attach_fail(why, error,
				   "nbd%d is attached already, to %.300s; "
				   "choose another device or detach it",
				   index, *text ? text : "something else");
	if (attach_device_holder(index, holder))
		return attach_fail(why, error, "nbd%d is busy: %s", index,
				   holder);
	return attach_fail(why, error, "nbd%d is busy: another program has it",
			   index);
}

static int connect_kernel(struct attach_disk *d, struct attach_why *why)
{
	struct attach_record *r = &d->record;
	const int64_t until = attach_now() + BUSY_MS;
	char text[ATTACH_IDENTIFIER_MOST + 1];
	int fds[ATTACH_CONNECTIONS_MOST], error;
	struct attach_setup setup = {
		.index = r->wish.device,
		.size = r->size,
		.block = r->block,
		.flags = r->flags,
		.timeout = r->timeout,
		.give_up = r->wish.give_up,
		.identifier = r->identifier,
		.fds = fds,
		.count = r->connections,
	};
	unsigned i;

	for (i = 0; i < r->connections; i++)
		fds[i] = d->links[i].fd;
	while ((error = attach_kernel_connect(d->kernel, &setup, &r->index)) ==
		       -EBUSY &&
	       attach_now() < until &&
	       attach_device_identifier(setup.index, text) != 0)
		poll(NULL, 0, 20);
	return error ? refused(d, error, why) : 0;
}

/* What the kernel has made, as it is to be. */
static int set_up_device(struct attach_disk *d, struct attach_why *why)
{
	struct attach_record *r = &d->record;
	const struct attach_queue queue =
		attach_queue_for(r->payload, r->timeout);
	struct attach_why minor;

	if (attach_device_wait_size(r->index, r->size, DEVICE_MS))
		return attach_fail(why, -ETIMEDOUT,
				   "/dev/nbd%d does not appear with its size",
				   r->index);
	/* Slower without, but right. */
	if (attach_queue_set(r->index, &queue, &minor) && !*d->warning)
		snprintf(d->warning, sizeof(d->warning), "%s", minor.text);
	return 0;
}

/* A state file comes before the device and goes after it: so whatever ends this
 * process, the next one knows of the device. */
static int make_device(struct attach_disk *d, struct attach_why *why)
{
	struct attach_record *r = &d->record;
	struct attach_why ignored;
	int error;

	r->phase = ATTACH_MAKING;
	error = attach_disk_save(d, why);
	if (!error)
		error = connect_kernel(d, why);
	if (!error)
		error = set_up_device(d, why);
	if (!error) {
		r->since = time(NULL);
		r->phase = ATTACH_ATTACHED;
		error = attach_disk_save(d, why);
	}
	if (error && r->index >= 0)
		attach_disk_detach(d, -1, false, &ignored);
	else if (error)
		attach_state_remove(d->folder, r);
	return error;
}

int attach_disk_make(struct attach_disk *d, struct attach_why *why)
{
	int error =
		attach_target_open(d->record.wish.uri, NULL, &d->target, why);

	if (!error)
		error = open_kernel(d, why);
	if (!error)
		error = begin_session(d, why);
	if (!error)
		error = open_links(d, why);
	if (!error)
		error = make_device(d, why);
	if (error)
		attach_disk_end(d);
	return error;
}

/* Does somebody answer? If not, what is still to be sent will never be. */
static bool answers(struct attach_target *target)
{
	struct attach_terms *terms = calloc(1, sizeof(*terms));
	struct attach_why why;
	bool yes = false;

	if (terms && target)
		yes = attach_link_ask(target, ANSWER_MS, -1, terms, &why) == 0;
	free(terms);
	return yes;
}

void attach_disk_flush(const char *uri, int claim)
{
	struct attach_target *target = NULL;
	struct attach_why why;

	if (attach_target_open(uri, NULL, &target, &why) == 0 &&
	    answers(target))
		fsync(claim);
	attach_target_close(target);
}

/* One that was given up before this process began has no kernel yet. */
static int disconnect(struct attach_disk *d)
{
	struct attach_why ignored;
	int error = attach_disk_check(d);

	if (error == -ENOENT)
		return 0;
	if (!error && !d->kernel)
		error = attach_kernel_open(&d->kernel, &ignored);
	return error ? error
		     : attach_kernel_disconnect(d->kernel, d->record.index);
}

int attach_disk_take_away(int index, const char *identifier,
			  struct attach_why *why)
{
	struct attach_kernel *kernel;
	int error = attach_device_check(index, identifier);

	if (error == -ENOENT)
		return 0;
	if (!error)
		error = attach_kernel_open(&kernel, why);
	if (!error) {
		error = attach_kernel_disconnect(kernel, index);
		attach_kernel_close(kernel);
	}
	if (error && error != -EINVAL)
		return attach_fail(why, error, "nbd%d cannot be detached: %s",
				   index, strerror(-error));
	return 0;
}

int attach_disk_detach(struct attach_disk *d, int claim, bool keep,
		       struct attach_why *why)
{
	struct attach_record *r = &d->record;
	const bool claimed = claim >= 0;
	unsigned i;
	int error;

	/* The kernel could wait for somebody who never reads. */
	if (!claimed || attach_disk_live(d) != r->connections ||
	    !answers(d->target))
		for (i = 0; d->links && i < r->connections; i++)
			if (d->links[i].fd >= 0)
				shutdown(d->links[i].fd, SHUT_RDWR);
	error = disconnect(d);
	if (claim >= 0)
		close(claim);
	if (error && error != -EINVAL)
		return attach_fail(why, error, "nbd%d cannot be detached: %s",
				   r->index, strerror(-error));
	attach_links_close(d->links, r->connections);
	if (keep) {
		r->phase = ATTACH_FAILED;
		return attach_disk_save(d, why);
	}
	attach_state_remove(d->folder, r);
	/* Whoever has a device that was taken away from him keeps it open. */
	if (attach_device_wait_free(r->index, claimed ? DEVICE_MS : TAKEN_MS) &&
	    claimed)
		return attach_fail(why, -EBUSY,
				   "nbd%d is detached, but somebody has it "
				   "open still",
				   r->index);
	return 0;
}
