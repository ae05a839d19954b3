/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands about the server as a whole: clients, disconnect, stats, reload,
 * check. See commands.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "cleanup.h"
#include "clients.h"
#include "commands.h"
#include "reload.h"
#include "saver.h"
#include "worker.h"

/* --------------------------------------------------------------- clients */

static void put_client(struct control_writer *w, const struct client *c)
{
	control_open(w, NULL, '{');
	control_put_number(w, "id", c->id);
	control_put_text(w, "peer", c->peer);
	control_put_text(w, "identity", c->who);
	if (c->tls_version) {
		control_put_text(w, "tls", c->tls_version);
		control_put_text(w, "cipher", c->tls_cipher);
	}
	if (c->export_name) {
		control_put_name(w, "export", c->export_name,
				 strlen(c->export_name));
		control_put_text(w, "access", c->readonly ? "ro" : "rw");
	}
	control_put_truth(w, "session", c->in_session);
	control_put_number(w, "seconds", c->seconds);
	control_put_number(w, "requests", c->requests);
	control_put_number(w, "read", c->read);
	control_put_number(w, "written", c->written);
	control_put_text(w, "state", c->state);
	control_close(w, '}');
}

int command_clients(struct call *call)
{
	struct client *clients;
	size_t count, i;

	if (clients_list(call->server, &clients, &count))
		return call_no_memory(call);
	control_open(&call->out, "clients", '[');
	for (i = 0; i < count; i++)
		put_client(&call->out, &clients[i]);
	control_close(&call->out, ']');
	clients_free(clients, count);
	return 0;
}

/* Digits alone, as `clients` shows them. */
static bool read_id(const char *text, uint64_t *id)
{
	size_t n = strlen(text);

	if (n == 0 || n > 19 || strspn(text, "0123456789") != n)
		return false;
	*id = strtoull(text, NULL, 10);
	return true;
}

int command_disconnect(struct call *call)
{
	CLEANUP_FREE char *text = call_name(call, "id");
	uint64_t id;
	int error;

	if (!text)
		return -1;
	if (!read_id(text, &id))
		return call_fail(call, "usage",
				 "%s: is no number of a connection; `nbdramctl "
				 "clients` shows them",
				 shown(text));
	error = clients_disconnect(call->server, id);
	if (error == -ENOENT)
		return call_fail(call, "not-found",
				 "%s: there is no such connection (any more)",
				 shown(text));
	return error ? call_no_memory(call) : 0;
}

/* ----------------------------------------------------------------- stats */

static void put_counters(struct control_writer *w, const uint64_t n[STATS])
{
	unsigned i;

	for (i = 0; i < STATS; i++)
		control_put_number(w, stats_words[i], n[i]);
}

static void put_worker(struct control_writer *w, const char *name,
		       unsigned connections, const uint64_t n[STATS])
{
	control_open(w, NULL, '{');
	control_put_text(w, "worker", name);
	control_put_number(w, "connections", connections);
	put_counters(w, n);
	control_close(w, '}');
}

/* Disks that have a file, and how it stands with that. */
static int put_saves(struct call *call)
{
	struct control_writer *w = &call->out;
	struct saver_state *states;
	uint64_t now = time(NULL);
	int n = saver_states(call->server, NULL, &states), i;

	if (n < 0)
		return call_no_memory(call);
	control_open(w, "saves", '[');
	for (i = 0; i < n; i++) {
		control_open(w, NULL, '{');
		control_put_name(w, "name", states[i].name,
				 strlen(states[i].name));
		control_put_text(w, "state", saver_word(&states[i]));
		if (states[i].saved > 0)
			control_put_number(w, "saved-ago",
					   now - min_u64(now, states[i].saved));
		if (states[i].running) {
			control_put_number(w, "done", states[i].done);
			control_put_number(w, "all", states[i].all);
		}
		control_put_name(w, "file", states[i].file,
				 strlen(states[i].file));
		control_close(w, '}');
	}
	control_close(w, ']');
	saver_states_free(states, n);
	return 0;
}

int command_stats(struct call *call)
{
	struct control_writer *w = &call->out;
	struct server *s = call->server;
	uint64_t n[STATS], all[STATS] = {0};
	unsigned i, j, load, connections = 0;
	char name[16];

	control_open(w, "workers", '[');
	for (i = 0; i < s->worker_count; i++) {
		for (j = 0; j < STATS; j++) {
			n[j] = stats_get(&s->workers[i].stats, j);
			all[j] += n[j];
		}
		load = atomic_load(&s->workers[i].load);
		connections += load;
		snprintf(name, sizeof(name), "%u", i);
		put_worker(w, name, load, n);
	}
	put_worker(w, "all", connections, all);
	control_close(w, ']');
	/* The main thread's, and those of workers that there were before. */
	for (j = 0; j < STATS; j++)
		all[j] += stats_get(&s->stats, j);
	control_open(w, "server", '{');
	control_put_number(w, "connections", atomic_load(&s->connections));
	put_counters(w, all);
	control_close(w, '}');
	put_pool(call);
	return put_saves(call);
}

/* ---------------------------------------------------------------- reload */

/* All lines in one, as far as there is room. */
static void fail_reload(struct call *call, const struct config_errors *errors)
{
	char text[900] = "";
	size_t used = 0, len;
	unsigned i;

	for (i = 0; i < errors->count; i++) {
		len = strlen(errors->lines[i]);
		if (used + len + 2 >= sizeof(text))
			break;
		used += snprintf(text + used, sizeof(text) - used, "%s%s",
				 used ? "; " : "", errors->lines[i]);
	}
	if (i < errors->count + errors->more)
		call_fail(call, "config",
			  "nothing was changed: %s%sand %u more mistakes "
			  "(nbdramd -t shows all)",
			  text, used ? "; " : "",
			  errors->count + errors->more - i);
	else
		call_fail(call, "config", "nothing was changed: %s",
			  used ? text : "no memory");
}

static bool taking(void *arg, uint64_t done, uint64_t all)
{
	if (all > 0)
		call_progress(arg, "MiB of memory", done >> 20, all >> 20);
	return call_cancelled(arg);
}

/* The report is in the log too: who reads that wants to know what happened. */
int command_reload(struct call *call)
{
	const struct disks_watch watch = {taking, call};
	struct reload_report report;
	unsigned i;
	int error;

	error = server_reload_told(call->server, &watch, &report);
	if (error) {
		fail_reload(call, &report.errors);
	} else {
		control_open(&call->out, "changes", '[');
		for (i = 0; i < report.changes.count; i++)
			control_put_text(&call->out, NULL,
					 report.changes.lines[i]);
		control_close(&call->out, ']');
	}
	reload_report_free(&report);
	return error;
}

/* ----------------------------------------------------------------- check */

static bool on_check(void *arg, const struct ram_scrub *so_far)
{
	struct call *call = arg;

	call_progress(call, "disks", so_far->done, so_far->disks);
	return call_cancelled(call);
}

int command_check(struct call *call)
{
	struct ram_scrub result;
	struct ram_why why;
	int error;

	error = ram_pool_scrub(call->server->pool, on_check, call, &result,
			       &why);
	if (error == -EINVAL)
		return call_fail(call, "damaged", "the pool is damaged: %s",
				 why.text);
	if (error == -ECANCELED)
		return call_fail(call, "cancelled", "it was cancelled");
	if (error)
		return call_fail(call, "failed", "not checked: %s", why.text);
	control_put_number(&call->out, "disks", result.disks);
	control_put_number(&call->out, "bytes", result.bytes);
	return 0;
}
