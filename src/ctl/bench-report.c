/* SPDX-License-Identifier: BSD-3-Clause */
/* See bench-report.h. */
#include "bench-report.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "table.h"

/* ------------------------------------------------------------------ table */

static const char *size_or_untold(uint64_t bytes, char buf[16])
{
	return bytes ? human_size(bytes, buf) : "untold";
}

void bench_print_head(const struct bench_about *a)
{
	CLEANUP_FREE char *uri = harmless(a->uri);
	char size[16], least[16], preferred[16], most[16], area[16];

	printf("server       %s\n", uri ? uri : "?");
	printf("size         %s%s\n", human_size(a->size, size),
	       a->readonly ? ", read-only" : "");
	printf("block sizes  %s, %s, %s (least, preferred, most)\n",
	       size_or_untold(a->block_least, least),
	       size_or_untold(a->block_preferred, preferred),
	       size_or_untold(a->payload_most, most));
	printf("TLS          %s\n", a->tls ? "yes" : "no");
	printf("connections  1\n");
	printf("measured     the first %s, %gs a row\n\n",
	       human_size(a->area, area), a->seconds);
	printf("%-18s  %5s  %8s  %8s  %10s  %9s  %9s\n", "", "DEPTH", "MB/s",
	       "IOPS", "AVERAGE us", "99% us", "99.9% us");
	fflush(stdout);
}

static double mb_per_second(const struct bench_row *row,
			    const struct bench_figures *f)
{
	return (double)f->requests * row->bytes / f->seconds / 1e6;
}

void bench_print_row(const struct bench_row *row, const struct bench_figures *f)
{
	char title[32];

	printf("%-18s  %5u  %8.1f  %8.0f  %10.1f  %9.1f  %9.1f\n",
	       bench_row_title(row, title), row->depth, mb_per_second(row, f),
	       (double)f->requests / f->seconds, f->average_us, f->p99_us,
	       f->p999_us);
	fflush(stdout);
}

void bench_print_foot(const struct bench_about *a)
{
	if (!a->destroy)
		printf("\nwrites were not measured: %s\n",
		       a->readonly ? "the export is read-only"
				   : "that overwrites the disk, and takes "
				     "--destroy");
}

/* ------------------------------------------------------------------- JSON */

static void put_fraction(struct control_writer *out, const char *key,
			 double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%.3f", value);
	control_put_json(out, key, text);
}

void bench_put_head(struct control_writer *out, const struct bench_about *a)
{
	control_open(out, NULL, '{');
	control_put_name(out, "uri", a->uri, strlen(a->uri));
	control_put_number(out, "size", a->size);
	control_put_truth(out, "readonly", a->readonly);
	/* What was not told is not there. */
	if (a->block_least)
		control_put_number(out, "block-least", a->block_least);
	if (a->block_preferred)
		control_put_number(out, "block-preferred", a->block_preferred);
	if (a->payload_most)
		control_put_number(out, "payload-most", a->payload_most);
	control_put_truth(out, "tls", a->tls);
	control_put_number(out, "connections", 1);
	control_put_number(out, "area", a->area);
	put_fraction(out, "secs", a->seconds);
	control_put_truth(out, "destroy", a->destroy);
	control_open(out, "rows", '[');
}

void bench_put_row(struct control_writer *out, const struct bench_row *row,
		   const struct bench_figures *f)
{
	control_open(out, NULL, '{');
	control_put_text(out, "action", row->write ? "write" : "read");
	control_put_text(out, "pattern", row->random ? "random" : "stream");
	control_put_number(out, "bytes", row->bytes);
	control_put_number(out, "depth", row->depth);
	control_put_number(out, "requests", f->requests);
	put_fraction(out, "secs", f->seconds);
	put_fraction(out, "mb-per-second", mb_per_second(row, f));
	put_fraction(out, "iops", (double)f->requests / f->seconds);
	put_fraction(out, "average-us", f->average_us);
	put_fraction(out, "p99-us", f->p99_us);
	put_fraction(out, "p999-us", f->p999_us);
	put_fraction(out, "most-us", f->most_us);
	control_close(out, '}');
}

bool bench_put_end(struct control_writer *out, bool complete)
{
	CLEANUP_FREE char *line = NULL;
	CLEANUP_FREE char *text = NULL;
	struct json_t *value = NULL;
	const char *why;
	size_t len;

	control_close(out, ']');
	control_put_truth(out, "complete", complete);
	control_close(out, '}');
	line = control_finish(out, &len);
	if (line && control_parse(line, len, &value, &why) == 0)
		text = control_dump(value, true);
	control_value_free(value);
	if (text)
		puts(text);
	return text;
}
