/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that read a configuration share. */
#ifndef NBDRAM_SERVER_CONFIG_LOAD_H
#define NBDRAM_SERVER_CONFIG_LOAD_H

#include <stddef.h>

#include "config-keys.h"
#include "config.h"

#define CONFIG_SHORT 80u	   /* of foreign text in messages */
#define CONFIG_FILE_MAX (1u << 20) /* bytes of a file */
#define CONFIG_FILES_MAX 1000u	   /* in conf.d */
#define CONFIG_EXPORTS_MAX 10000u  /* and as many templates */

/* Foreign text, fit for a message: escaped, and cut. Returns buf. */
char *config_short(const char *text, char *buf, size_t size);

/* How many mistakes there have been. */
unsigned config_errors_total(const struct config_errors *errors);

/* Whether exports are clones of one another in a circle; each circle is told
 * once. 0, -EINVAL, -ENOMEM (not told). */
int config_check_clones(const struct config *config,
			struct config_errors *errors);

/* Whether two are saved to one file. Likewise. */
int config_check_saves(const struct config *config,
		       struct config_errors *errors);

/* Whether the keys of a template go together, beside what config.h looks at. 0,
 * -EINVAL. */
int config_check_template(const struct config_export *e,
			  struct config_errors *errors);

/* Set a key by its name; what is wrong is told. 0, -EINVAL, -ENOMEM. */
int config_key_set(enum config_section section, void *holder, const char *where,
		   const char *key, const char *value,
		   struct config_errors *errors);

/* All of a file, read once; only regular files, and at most CONFIG_FILE_MAX
 * bytes. To be freed; NULL: told in *errors. */
char *config_file_read(const char *path, size_t *len,
		       struct config_errors *errors);

/* The files FOLDER/conf.d/NAME.conf, FOLDER being that of `file`, sorted by
 * name; *count of them. 0, or -errno, told in *errors. */
int config_files_beside(const char *file, char ***paths, unsigned *count,
			struct config_errors *errors);
void config_files_free(char **paths, unsigned count);

#endif
