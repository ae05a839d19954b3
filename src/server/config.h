/* SPDX-License-Identifier: BSD-3-Clause */
/* What the administrator asks for: files and the command line as data. Pure
 * besides reading files: nothing global, nothing opened that is named there. */
#ifndef NBDRAM_SERVER_CONFIG_H
#define NBDRAM_SERVER_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct config_errors;
struct config_text;

/* [export NAME], [template PATTERN] or -e. */
struct config_export {
	char *name;
	char *where;		   /* "FILE:LINE", "-e NAME", "SIZE" */
	uint64_t size;		   /* 0: not given */
	uint64_t quota, guarantee; /* 0: none */
	unsigned max_connections;  /* 0: no limit */
	bool fixed, readonly, is_default, detect_zeroes;
	bool many_writers;
	char *allow;	  /* who may open it, see access.h; NULL: everybody */
	bool alloc_asked; /* alloc was said by name, be it thin or fixed */
	char *clone;	  /* the disk that a new one is a copy of; NULL: none */
	char *image; /* the file that a new one is loaded from; NULL: none */
	bool lazy;   /* ... behind, while it is served */
	/* The file system that is made on a new one, by mkfs.FORMAT, and what that is
	 * told; NULL and 0: nothing. */
	char *format, *label, *files;
	uint64_t block;
	/* The file that it is saved to, and that a new one begins with; NULL: none. And
	 * how often, in milliseconds; 0: only when asked, and at the end. */
	char *save;
	unsigned save_msec;
	/* config_load()'s own; wrong: a key of it has been told of. */
	unsigned seen_turn, seen_line;
	bool wrong;
	/* Of a template: all its keys as text, see config-keys.h. */
	struct config_text *texts;
	unsigned text_count;
};

enum config_tls {
	CONFIG_TLS_OFF,	    /* not offered */
	CONFIG_TLS_ON,	    /* for who wants it */
	CONFIG_TLS_REQUIRE, /* nobody is served without */
};

struct config {
	struct config_export *exports;
	unsigned export_count;
	struct config_export *templates;
	unsigned template_count;
	char **listen; /* "HOST:PORT", "[V6]:PORT", ":PORT", "unix:PATH" */
	unsigned listen_count;
	char *listen_where; /* "FILE:LINE"; NULL: not from a file */
	char *control;	    /* path of the control socket */
	bool control_asked; /* named by key or -s: it must be had */
	/* RAM_DEFAULT: as the store sees fit. */
	uint64_t pool_size, warm, headroom;
	unsigned full_msec; /* how long a write waits for memory; 0: not */
	unsigned hugepages; /* enum ram_pages */
	int numa;	    /* as struct ram_pool_config has it */
	bool lock;
	bool any_fs;		  /* the pool's folder need not be in memory */
	char *pool_path;	  /* NULL: anonymous memory */
	unsigned workers;	  /* 0: as many as processors */
	unsigned max_connections; /* 0: as many as descriptors allow */
	unsigned max_unfinished;
	unsigned max_per_address; /* 0: no limit */
	unsigned handshake_msec;
	unsigned busy_poll_usec;
	bool insecure;
	enum config_tls tls;
	char *tls_dir;	   /* NULL: tls, in the folder of the configuration */
	char *tls_ciphers; /* NULL: as OpenSSL and we see fit */
	bool tls_verify;
};

/* Something that the command line says. */
struct config_word {
	/* e: -e; o: -o; l, m, p, s: those options; I: --insecure; S: SIZE. */
	char option;
	const char *text; /* not owned */
};

/* Where a configuration comes from; the same again for a reload. */
struct config_sources {
	const char *file; /* conf.d beside it; NULL: no file is read */
	bool file_asked;  /* by -c */
	struct config_word *words;
	unsigned word_count;
};

/* Read all of it into *config, which is free to be overwritten. 0, or -EINVAL
 * when something was wrong: each mistake is a line in *errors, and *config is
 * empty; -ENOMEM likewise. Free *config by config_free() in any case. */
int config_load(const struct config_sources *sources, struct config *config,
		struct config_errors *errors);
void config_free(struct config *config);

/* For each export the place of that one of which it is a clone; CONFIG_NO_PARENT
 * where that is not in config->exports, or there is none. To be freed; NULL: no
 * memory. From one to the next, none comes back to itself. */
#define CONFIG_NO_PARENT UINT_MAX
unsigned *config_parents(const struct config *config);

/* A list of mistakes, a line each, without a newline. Begin with all zero. */
struct config_errors {
	char **lines;
	unsigned count;
	unsigned more;	/* that there was no place for */
	unsigned usage; /* of all: the command line's */
};

__attribute__((format(printf, 2, 3))) void config_error(
	struct config_errors *errors, const char *format, ...);
void config_errors_free(struct config_errors *errors);

/* ------------------------------------------------------- single exports
 * For what is asked for by command. 0, or -EINVAL with a line in *errors (which
 * begins with e->where), or -ENOMEM. */

/* *e becomes an export of that name, all else default. Free it by
 * config_export_free(), unless this failed. */
int config_export_init(struct config_export *e, const char *name,
		       const char *where, struct config_errors *errors);

/* Set one key of [export]. */
int config_export_set(struct config_export *e, const char *key,
		      const char *value, struct config_errors *errors);

/* Do its settings go together? To be called when all are there. */
int config_export_check(const struct config_export *e,
			struct config_errors *errors);

/* The same for a template. */
int config_template_check(const struct config_export *e,
			  struct config_errors *errors);

/* An independent copy. -ENOMEM. */
int config_export_copy(struct config_export *to,
		       const struct config_export *from);
void config_export_free(struct config_export *e);

/* As a section of a file: "[export NAME]\nKEY = VALUE\n...", what is not
 * default. To be freed; NULL: no memory, or the name cannot stand in a file. */
char *config_write_export(const struct config_export *e);

/* All of it, likewise. */
char *config_write(const struct config *config);

#endif
