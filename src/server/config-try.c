/* SPDX-License-Identifier: BSD-3-Clause */
/* See config-try.h. */
#include "config-try.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "config-keys.h"
#include "config-load.h"
#include "disk-make.h"
#include "listen-address.h"
#include "log.h"
#include "secure.h"
#include "unix-socket.h"

static int try_tls(const struct config *config, struct config_errors *errors)
{
	struct io_tls *tls;
	int error = secure_load(config, &tls, errors);

	io_tls_put(tls);
	return error;
}

static int try_addresses(const struct config *config,
			 struct config_errors *errors)
{
	struct listen_sink sink = {0};
	int error, result = 0;
	unsigned i;

	listen_sink_init(&sink, config, errors);
	for (i = 0; i < config->listen_count; i++) {
		error = listen_address_check(&sink, config->listen[i]);
		if (error)
			result = error;
	}
	return result;
}

/* One that was not named may be missing. */
static int try_control(const struct config *config,
		       struct config_errors *errors)
{
	struct ram_why why;
	int error = config->control_asked
			    ? unix_socket_look(config->control, &why)
			    : 0;

	if (error)
		config_error(errors, "control socket: %s", why.text);
	return error;
}

static bool names(const struct config *config, const char *name)
{
	unsigned i;

	for (i = 0; i < config->export_count; i++) {
		if (strcmp(config->exports[i].name, name) == 0)
			return true;
	}
	return false;
}

/* It may still be made by command, before a client comes. */
static void warn_templates(const struct config *config)
{
	const struct config_key *key =
		config_key_find(CONFIG_TEMPLATE, "clone");
	const struct config_export *e;
	const char *parent;
	char shown[CONFIG_SHORT];
	unsigned i;

	for (i = 0; i < config->template_count; i++) {
		e = &config->templates[i];
		parent = config_text_get(e, key);
		if (*parent && !names(config, parent))
			log_warning("%s: template: clone = %s: there is no "
				    "[export] of that name; until the disk is "
				    "made by nbdramctl, clients get none",
				    e->where,
				    config_short(parent, shown, sizeof(shown)));
	}
}

/* What a pool that outlives the daemon holds is not known here. */
static int try_disks(const struct config *config, struct config_errors *errors)
{
	CLEANUP_FREE unsigned *parents = NULL;
	int error, result = 0;
	unsigned i;

	if (config->pool_path)
		return 0;
	warn_templates(config);
	parents = config_parents(config);
	if (!parents) {
		config_error(errors, "no memory for %u exports",
			     config->export_count);
		return -ENOMEM;
	}
	for (i = 0; i < config->export_count; i++) {
		error = disk_try(&config->exports[i],
				 parents[i] != CONFIG_NO_PARENT, errors);
		if (error)
			result = error;
	}
	return result;
}

int config_try(const struct config *config, struct config_errors *errors)
{
	int tls = try_tls(config, errors);
	int addresses = try_addresses(config, errors);
	int control = try_control(config, errors);
	int disks = try_disks(config, errors);

	return tls ? tls : addresses ? addresses : control ? control : disks;
}
