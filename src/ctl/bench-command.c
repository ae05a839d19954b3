/* SPDX-License-Identifier: BSD-3-Clause */
/* See bench-command.h. The command line, and the server; the rows are bench-row.c's, the
 * table bench-report.c's. */
#include "bench-command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench-report.h"
#include "bench-row.h"
#include "check.h"
#include "control.h"
#include "nbd-library.h"
#include "print.h"

#define EXIT_USAGE 2
#define STREAM_BYTES (1u << 20)
#define RANDOM_BYTES 4096u
#define FILL_DEPTH 8u
/* More than any cache of a processor, and no more of a large disk than that. */
#define AREA_MOST (UINT64_C(1) << 30)
/* What NBD allows, and what may be assumed where nothing is told. */
#define BLOCK_LEAST_MOST (64u << 10)
#define PAYLOAD_UNTOLD (32u << 20)
#define SECS_LEAST 0.01
#define SECS_MOST 3600.0
/* The same places each time, so that two runs can be compared. */
#define PLACES_SEED UINT64_C(20090401)

static const struct bench_row rows_of_all[] = {
	{.bytes = STREAM_BYTES, .depth = 1},
	{.bytes = STREAM_BYTES, .depth = 8},
	{.write = true, .bytes = STREAM_BYTES, .depth = 1},
	{.write = true, .bytes = STREAM_BYTES, .depth = 8},
	{.random = true, .bytes = RANDOM_BYTES, .depth = 1},
	{.random = true, .bytes = RANDOM_BYTES, .depth = 32},
	{.write = true, .random = true, .bytes = RANDOM_BYTES, .depth = 1},
	{.write = true, .random = true, .bytes = RANDOM_BYTES, .depth = 32},
};

struct bench {
	struct bench_about about;
	bool json;
	struct bench_ground ground;
	uint32_t stream_bytes, random_bytes;
	struct bench_row rows[ARRAY_SIZE(rows_of_all)];
	unsigned row_count;
	struct control_writer out;
};

/* ----------------------------------------------------------- command line */

static int usage(const char *what, const char *word)
{
	complain(
		"bench%s%s: %s; usage: nbdramctl bench URI [--destroy] [--secs "
		"N]",
		*word ? " " : "", word, what);
	return EXIT_USAGE;
}

static int take_secs(struct bench *b, const char *text)
{
	char *end;
	double secs;

	if (!text || text[strspn(text, "0123456789.")] || !*text)
		return usage("is to be followed by a number of seconds",
			     "--secs");
	secs = strtod(text, &end);
	if (*end || secs < SECS_LEAST || secs > SECS_MOST)
		return usage("is no number from 0.01 to 3600", text);
	b->ground.seconds = secs;
	return 0;
}

/* nbd://, nbds+unix:// and so on; libnbd says what is wrong behind that. */
static bool is_nbd_uri(const char *text)
{
	return strncmp(text, "nbd", 3) == 0 &&
	       strncmp(text + strspn(text, "abcdefghijklmnopqrstuvwxyz+"), ":",
		       1) == 0;
}

static int read_words(struct bench *b, int argc, char **argv)
{
	bool words_only = false;
	int i, error = 0;

	for (i = 0; i < argc && !error; i++) {
		const char *word = argv[i];

		if (words_only || word[0] != '-') {
			if (b->about.uri)
				return usage("is too much", word);
			b->about.uri = word;
		} else if (strcmp(word, "--") == 0) {
			words_only = true;
		} else if (strcmp(word, "--destroy") == 0) {
			b->about.destroy = true;
		} else if (strncmp(word, "--secs=", 7) == 0) {
			error = take_secs(b, word + 7);
		} else if (strcmp(word, "--secs") == 0) {
			error = take_secs(b, i + 1 < argc ? argv[++i] : NULL);
		} else {
			return usage("there is no such option", word);
		}
	}
	if (error)
		return error;
	if (!b->about.uri)
		return usage("which disk? Its URI is missing", "");
	if (!is_nbd_uri(b->about.uri))
		return usage("is no NBD URI; write nbd://HOST/DISK",
			     b->about.uri);
	return 0;
}

/* ----------------------------------------------------------------- server */

static bool connect_it(struct bench *b)
{
	const struct nbd_library *nbd = nbd_library_load();

	if (!nbd)
		return false;
	b->ground.nbd = nbd;
	b->ground.handle = nbd->create();
	/* Keys and certificates are files; what is read need not be zeroed
	 * before. */
	if (b->ground.handle &&
	    nbd->set_uri_allow_local_file(b->ground.handle, true) == 0 &&
	    nbd->set_pread_initialize(b->ground.handle, false) == 0 &&
	    nbd->connect_uri(b->ground.handle, b->about.uri) == 0)
		return true;
	complain("%s: %s", b->about.uri, nbd->get_error());
	return false;
}

static uint64_t block_size(const struct bench *b, int which)
{
	int64_t size = b->ground.nbd->get_block_size(b->ground.handle, which);

	return size > 0 ? (uint64_t)size : 0;
}

static bool ask_terms(struct bench *b)
{
	const struct nbd_library *nbd = b->ground.nbd;
	struct nbd_handle *h = b->ground.handle;
	int64_t size = nbd->get_size(h);
	int readonly = nbd->is_read_only(h), tls = nbd->get_tls_negotiated(h);

	if (size < 0 || readonly < 0 || tls < 0) {
		complain("%s: %s", b->about.uri, nbd->get_error());
		return false;
	}
	b->about.size = (uint64_t)size;
	b->about.readonly = readonly;
	b->about.tls = tls;
	b->about.block_least = block_size(b, LIBNBD_SIZE_MINIMUM);
	b->about.block_preferred = block_size(b, LIBNBD_SIZE_PREFERRED);
	b->about.payload_most = block_size(b, LIBNBD_SIZE_MAXIMUM);
	return true;
}

/* How large requests are, and where they go. */
static bool choose_sizes(struct bench *b)
{
	const uint64_t least = max_u64(b->about.block_least, 1);
	const uint64_t most = b->about.payload_most ? b->about.payload_most
						    : PAYLOAD_UNTOLD;
	uint64_t area = min_u64(b->about.size, AREA_MOST);

	if (least > BLOCK_LEAST_MOST || (least & (least - 1)) != 0 ||
	    most < least) {
		complain("%s: the server wants blocks of %" PRIu64
			 " bytes, and requests of at most %" PRIu64
			 ": NBD has no such disk",
			 b->about.uri, least, most);
		return false;
	}
	area = round_down(area, least);
	if (area == 0) {
		complain("%s: the disk has %" PRIu64
			 " bytes: nothing to measure; %s",
			 b->about.uri, b->about.size,
			 b->about.size ? "its blocks are larger"
				       : "name a larger one");
		return false;
	}
	b->ground.area = area;
	b->stream_bytes = (uint32_t)round_down(
		min_u64(min_u64(STREAM_BYTES, area), most), least);
	b->random_bytes = (uint32_t)min_u64(b->stream_bytes,
					    round_up(RANDOM_BYTES, least));
	return true;
}

static void choose_rows(struct bench *b)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(rows_of_all); i++) {
		struct bench_row *row = &b->rows[b->row_count];

		*row = rows_of_all[i];
		row->bytes = row->random ? b->random_bytes : b->stream_bytes;
		b->row_count += b->about.destroy || !row->write;
	}
}

static bool open_it(struct bench *b)
{
	if (!connect_it(b) || !ask_terms(b))
		return false;
	if (b->about.destroy && b->about.readonly) {
		complain("%s: --destroy writes, and the export is read-only; "
			 "without it reads are measured",
			 b->about.uri);
		return false;
	}
	return choose_sizes(b);
}

static void close_it(struct bench *b, bool in_step)
{
	if (b->ground.handle && in_step)
		b->ground.nbd->shutdown(b->ground.handle, 0);
	if (b->ground.handle)
		b->ground.nbd->close(b->ground.handle);
	bench_ground_free(&b->ground);
}

/* ---------------------------------------------------------------- command */

/* As bench_row_run(). */
static int run_rows(struct bench *b)
{
	struct bench_figures figures;
	unsigned i;
	int error;

	for (i = 0; i < b->row_count; i++) {
		error = bench_row_run(&b->ground, &b->rows[i], i + 1,
				      b->row_count, &figures);
		progress_clear();
		if (error == -EINTR)
			complain("interrupted: %u of %u rows were measured", i,
				 b->row_count);
		if (error)
			return error;
		if (b->json)
			bench_put_row(&b->out, &b->rows[i], &figures);
		else
			bench_print_row(&b->rows[i], &figures);
	}
	return 0;
}

/* So that all rows find data, and memory for it has been taken: write all of the area
 * once, or as much of it as can be in the time of a row, which is the area then. */
static int fill(struct bench *b)
{
	const struct bench_row row = {.write = true,
				      .bytes = b->stream_bytes,
				      .depth = FILL_DEPTH,
				      .once = true};
	struct bench_figures figures;
	int error = bench_row_run(&b->ground, &row, 0, b->row_count, &figures);

	progress_clear();
	if (error == -EINTR)
		complain("interrupted: nothing was measured");
	if (!error)
		b->ground.area = figures.requests * row.bytes;
	return error;
}

static int measure(struct bench *b)
{
	int error = 0;
	bool good = true;

	choose_rows(b);
	bench_heed_signals();
	if (b->about.destroy)
		error = fill(b);
	if (error)
		return error;
	b->about.area = b->ground.area;
	b->about.seconds = b->ground.seconds;
	if (b->json)
		bench_put_head(&b->out, &b->about);
	else
		bench_print_head(&b->about);
	error = run_rows(b);
	if (b->json)
		good = bench_put_end(&b->out, !error);
	else if (!error)
		bench_print_foot(&b->about);
	if (!good || fflush(stdout) != 0 || ferror(stdout)) {
		complain("cannot write the result: %s",
			 strerror(good ? errno : ENOMEM));
		error = -EIO;
	}
	return error;
}

int bench_command(int argc, char **argv, bool json)
{
	struct bench b = {
		.json = json,
		.ground = {.seconds = 3, .places = PLACES_SEED},
	};
	struct timespec t;
	int error = read_words(&b, argc, argv);

	if (error)
		return error;
	/* What is written is never what an earlier run has written. */
	clock_gettime(CLOCK_REALTIME, &t);
	b.ground.stamps = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	error = open_it(&b) ? measure(&b) : -EIO;
	close_it(&b, !error);
	control_writer_drop(&b.out);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
