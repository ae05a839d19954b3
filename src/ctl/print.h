/* SPDX-License-Identifier: BSD-3-Clause */
/* Results on standard output, one function for each shape; and complaints. */
#ifndef NBDRAM_CTL_PRINT_H
#define NBDRAM_CTL_PRINT_H

#include "control.h"

/* "nbdramctl: ...", one line on standard error. What comes from outside in it is
 * made harmless. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

/* Each shows one result; -ENOMEM. */
int print_list(struct json_t *result);
int print_show(struct json_t *result);
int print_notes(struct json_t *result);
int print_name(struct json_t *result);
int print_clients(struct json_t *result);
int print_stats(struct json_t *result);
int print_reload(struct json_t *result);
int print_check(struct json_t *result);

/* What progress there is (progress_text(): in words of our own), over the line before, if standard error is a terminal;
 * and take that line away. */
void progress_print(const struct json_t *progress);
void progress_text(const char *text);
void progress_clear(void);

#endif
