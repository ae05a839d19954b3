/* SPDX-License-Identifier: BSD-3-Clause */
/* See tls-init.h. What is there is never changed: it adds. So that it can be run
 * again for another client, and that nothing is lost by a slip. */
#include "tls-init.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "control.h"
#include "print.h"
#include "tls-make.h"

#define EXIT_USAGE 2
/* Of nbdramd.service; see nbdram.sysusers. */
#define SERVICE_GROUP "nbdram"
#define NAMES_MOST 100u
#define FILE_MOST (1u << 20)
#define AUTHORITY_DAYS 7300
#define DAYS 3650
#define KEY_BYTES 32u

struct names {
	const char *list[NAMES_MOST];
	unsigned count;
};

struct init {
	const char *dir;
	int fd;		  /* of it */
	struct stat st;	  /* of it: what is made belongs to its owner */
	bool for_service; /* ... and its group reads what nbdramd needs */
	bool json;
	struct control_writer out;
	struct names hosts, clients, users;
	struct tls_identity *authority;
};

/* ------------------------------------------------------------------- files */

/* Where something is, for messages: "DIR/SUB/FILE". Lent until the next call. */
static const char *path_of(const struct init *t, const char *sub,
			   const char *file)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s%s%s", t->dir, sub ? sub : "",
		 sub ? "/" : "", file);
	return path;
}

/* All of it, with a 0 behind. NULL: it is not there (*error 0), or told. */
static char *read_file(const struct init *t, int fd, const char *sub,
		       const char *file, int *error)
{
	CLEANUP_CLOSE int from = openat(
		fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char *text = NULL;
	struct stat st;
	ssize_t got = -1;

	*error = 0;
	if (from < 0 && errno == ENOENT)
		return NULL;
	if (from >= 0 && fstat(from, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size < FILE_MOST)
		text = calloc(1, st.st_size + 1);
	if (text)
		got = read(from, text, st.st_size);
	if (got < 0 || got != st.st_size) {
		complain("%s: cannot be read: %s", path_of(t, sub, file),
			 errno ? strerror(errno) : "it is no such file");
		*error = -EIO;
		free(text);
		return NULL;
	}
	return text;
}

/* Whose a file becomes, and who else may read it. */
static struct stat rights_of(const struct init *t, int fd, const char *file,
			     int mode, bool replace)
{
	struct stat st;

	/* What is replaced was perhaps given to somebody. */
	if (replace && fstatat(fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return st;
	st = t->st;
	st.st_mode = mode;
	if (t->for_service && fd == t->fd && strcmp(file, "ca-key.pem") != 0)
		st.st_mode |= 0040;
	return st;
}

static int write_all(int to, const char *text, const struct stat *rights)
{
	size_t len = strlen(text);
	ssize_t put;

	if (geteuid() == 0 && fchown(to, rights->st_uid, rights->st_gid) < 0)
		return -errno;
	if (fchmod(to, rights->st_mode & 0777) < 0)
		return -errno;
	for (; len > 0; text += put, len -= put) {
		put = write(to, text, len);
		if (put < 0)
			return -errno;
	}
	return fsync(to) < 0 ? -errno : 0;
}

static void tell(struct init *t, const char *what, const char *path)
{
	if (!t->json) {
		printf("%s %s\n", what, path);
		return;
	}
	control_open(&t->out, NULL, '{');
	control_put_text(&t->out, "done", what);
	control_put_name(&t->out, "file", path, strlen(path));
	control_close(&t->out, '}');
}

/* A new file, whole or not at all; one that is there is an error, unless it is
 * to be replaced. */
static int write_file(struct init *t, int fd, const char *sub, const char *file,
		      const char *text, int mode, bool replace)
{
	CLEANUP_CLOSE int to = -1;
	struct stat rights = rights_of(t, fd, file, mode, replace);
	char fresh[80];
	int error = text ? 0 : -ENOMEM;

	snprintf(fresh, sizeof(fresh), ".%s.new", file);
	unlinkat(fd, fresh, 0);
	if (!error) {
		to = openat(fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			    0600);
		error = to < 0 ? -errno : write_all(to, text, &rights);
	}
	if (!error && replace && renameat(fd, fresh, fd, file) < 0)
		error = -errno;
	if (!error && !replace && linkat(fd, fresh, fd, file, 0) < 0)
		error = -errno;
	unlinkat(fd, fresh, 0);
	if (error)
		complain("%s: cannot be written: %s", path_of(t, sub, file),
			 strerror(-error));
	else
		tell(t, replace ? "added to" : "made", path_of(t, sub, file));
	return error;
}

/* A folder below ours, made if it is not there. Its descriptor, or negative. */
static int open_sub(const struct init *t, const char *sub)
{
	int fd = -1;

	if (mkdirat(t->fd, sub, 0700) == 0 || errno == EEXIST)
		fd = openat(t->fd, sub,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		complain("%s: cannot be made: %s", path_of(t, NULL, sub),
			 strerror(errno));
	else if (geteuid() == 0 && fchown(fd, t->st.st_uid, t->st.st_gid) < 0)
		complain("%s: cannot be given to its owner: %s",
			 path_of(t, NULL, sub), strerror(errno));
	return fd;
}

/* ------------------------------------------------------------ certificates */

/* Write both of them. The key comes first: a certificate means that it is
 * there. */
static int write_pair(struct init *t, int fd, const char *sub, const char *kind,
		      const struct tls_identity *identity)
{
	CLEANUP_FREE char *cert = tls_identity_cert(identity);
	CLEANUP_FREE char *key = tls_identity_key(identity);
	char name[40];
	int error;

	snprintf(name, sizeof(name), "%s-key.pem", kind);
	error = write_file(t, fd, sub, name, key, 0600, false);
	if (error)
		return error;
	snprintf(name, sizeof(name), "%s-cert.pem", kind);
	return write_file(t, fd, sub, name, cert, 0644, false);
}

static int make_pair(struct init *t, int fd, const char *sub, const char *kind,
		     const struct tls_wish *wish)
{
	struct tls_identity *made = NULL;
	int error = tls_identity_make(wish, t->authority, &made);

	if (error) {
		complain("%s: cannot be made: %s", wish->common_name,
			 error == -EINVAL ? "a name of it cannot stand in a "
					    "certificate"
					  : strerror(-error));
		return error;
	}
	error = write_pair(t, fd, sub, kind, made);
	tls_identity_free(made);
	return error;
}

/* 1: there is a pair; 0: nothing of it; negative: told. */
static int has_pair(const struct init *t, int fd, const char *sub,
		    const char *kind)
{
	char key[40], cert[40];
	struct stat st;
	bool has_key, has_cert;

	snprintf(key, sizeof(key), "%s-key.pem", kind);
	snprintf(cert, sizeof(cert), "%s-cert.pem", kind);
	has_key = fstatat(fd, key, &st, AT_SYMLINK_NOFOLLOW) == 0;
	has_cert = fstatat(fd, cert, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (has_key == has_cert)
		return has_key;
	complain("%s: is there without %s; move it away, or put the other one "
		 "beside it",
		 path_of(t, sub, has_key ? key : cert), has_key ? cert : key);
	return -EEXIST;
}

static int get_authority(struct init *t)
{
	char host[65] = "", name[100];
	struct tls_wish wish = {.use = TLS_AUTHORITY,
				.common_name = name,
				.days = AUTHORITY_DAYS};
	int there = has_pair(t, t->fd, NULL, "ca"), error = 0;
	struct stat st;
	CLEANUP_FREE char *cert = NULL;
	CLEANUP_FREE char *key = NULL;

	if (there < 0)
		return there;
	if (there == 0 &&
	    fstatat(t->fd, "server-cert.pem", &st, AT_SYMLINK_NOFOLLOW) == 0) {
		complain("%s: is there without ca-cert.pem and ca-key.pem, "
			 "which "
			 "a new authority would not replace; put them back, or "
			 "move it away",
			 path_of(t, NULL, "server-cert.pem"));
		return -EEXIST;
	}
	if (there == 0) {
		gethostname(host, sizeof(host) - 1);
		snprintf(name, sizeof(name), "nbdram on %.40s", host);
		error = tls_identity_make(&wish, NULL, &t->authority);
		if (error)
			complain("the authority cannot be made: %s",
				 strerror(-error));
		return error ? error
			     : write_pair(t, t->fd, NULL, "ca", t->authority);
	}
	cert = read_file(t, t->fd, NULL, "ca-cert.pem", &error);
	if (cert)
		key = read_file(t, t->fd, NULL, "ca-key.pem", &error);
	if (!cert || !key)
		return error ? error : -ENOENT;
	error = tls_identity_read(cert, key, &t->authority);
	if (error)
		complain("%s: is no certificate that belongs to ca-key.pem",
			 path_of(t, NULL, "ca-cert.pem"));
	return error;
}

static int make_server(struct init *t)
{
	int there = has_pair(t, t->fd, NULL, "server");
	struct names names = t->hosts;
	struct tls_wish wish = {.use = TLS_SERVER, .days = DAYS};
	char host[65] = "";

	if (there < 0)
		return there;
	if (there) {
		if (t->hosts.count > 0)
			complain("%s: is kept with the names that it has; move "
				 "it and server-key.pem away to have another",
				 path_of(t, NULL, "server-cert.pem"));
		return 0;
	}
	gethostname(host, sizeof(host) - 1);
	if (*host && strcmp(host, "localhost") != 0)
		names.list[names.count++] = host;
	names.list[names.count++] = "localhost";
	names.list[names.count++] = "127.0.0.1";
	names.list[names.count++] = "::1";
	wish.common_name = names.list[0];
	wish.names = names.list;
	wish.name_count = names.count;
	return make_pair(t, t->fd, NULL, "server", &wish);
}

/* Can it be a DNS name, as folder_good() names go? Others stand in the subject
 * alone. */
static bool is_host_name(const char *name)
{
	size_t len = strlen(name);

	return !strpbrk(name, "_@+") && !strstr(name, "..") &&
	       !strstr(name, ".-") && !strstr(name, "-.") && len > 0 &&
	       name[len - 1] != '-' && name[len - 1] != '.';
}

static int make_client(struct init *t, const char *name)
{
	struct tls_wish wish = {.use = TLS_CLIENT,
				.common_name = name,
				.days = DAYS,
				.names = &name,
				.name_count = is_host_name(name)};
	CLEANUP_CLOSE int fd = open_sub(t, name);
	CLEANUP_FREE char *ca = NULL;
	struct stat st;
	int error = 0, there;

	if (fd < 0)
		return -EIO;
	if (fstatat(fd, "ca-cert.pem", &st, AT_SYMLINK_NOFOLLOW) < 0) {
		ca = tls_identity_cert(t->authority);
		error = write_file(t, fd, name, "ca-cert.pem", ca, 0644, false);
	}
	there = error ? error : has_pair(t, fd, name, "client");
	return there ? (there < 0 ? there : 0)
		     : make_pair(t, fd, name, "client", &wish);
}

/* -------------------------------------------------------------------- keys */

/* The user's line in the text of a keys.psk; NULL: there is none. */
static const char *find_line(const char *text, const char *user)
{
	size_t len = strlen(user);

	while (text) {
		if (strncmp(text, user, len) == 0 && text[len] == ':')
			return text;
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return NULL;
}

static int write_user(struct init *t, const char *user, const char *line)
{
	CLEANUP_CLOSE int fd = open_sub(t, user);
	struct stat st;

	if (fd < 0)
		return -EIO;
	if (fstatat(fd, "keys.psk", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return write_file(t, fd, user, "keys.psk", line, 0600, false);
}

/* What the user has in a folder of its own, if DIR does not know it any more. NULL:
 * nothing. */
static char *line_of_user(struct init *t, const char *user)
{
	CLEANUP_CLOSE int fd = openat(
		t->fd, user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP_FREE char *text = NULL;
	const char *there;
	char *line = NULL;
	int error;

	if (fd < 0)
		return NULL;
	text = read_file(t, fd, user, "keys.psk", &error);
	there = find_line(text, user);
	if (there &&
	    asprintf(&line, "%.*s\n", (int)strcspn(there, "\r\n"), there) < 0)
		line = NULL;
	return line;
}

static int make_user(struct init *t, const char *user)
{
	char hex[2 * KEY_BYTES + 1];
	CLEANUP_FREE char *line = NULL;
	CLEANUP_FREE char *old = NULL;
	CLEANUP_FREE char *new = NULL;
	const char *there;
	int error;

	old = read_file(t, t->fd, NULL, "keys.psk", &error);
	if (error)
		return error;
	there = find_line(old, user);
	if (there) {
		if (asprintf(&line, "%.*s\n", (int)strcspn(there, "\r\n"),
			     there) < 0)
			line = NULL;
		return write_user(t, user, line);
	}
	line = line_of_user(t, user);
	if (!line && tls_key_make(hex, KEY_BYTES)) {
		complain("there is no randomness for a key");
		return -EIO;
	}
	if (!line && asprintf(&line, "%s:%s\n", user, hex) < 0)
		line = NULL;
	if (asprintf(&new, "%s%s%s", old ? old : "",
		     old && *old && old[strlen(old) - 1] != '\n' ? "\n" : "",
		     line ? line : "") < 0)
		new = NULL;
	error = write_file(t, t->fd, NULL, "keys.psk", line ? new : NULL, 0600,
			   old != NULL);
	return error ? error : write_user(t, user, line);
}

/* ------------------------------------------------------------ command line */

static int usage(const char *what, const char *word)
{
	complain("%s%s%s; usage: nbdramctl tls-init DIR [--host NAME]... "
		 "[--client NAME]... [--psk USER]...",
		 word, *word ? ": " : "", what);
	return EXIT_USAGE;
}

/* A name that becomes a folder, and stands in a file. */
static bool folder_good(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= 64 && name[0] != '.' && name[0] != '-' &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@+")];
}

static int take_name(struct init *t, const char *option, const char *name)
{
	struct names *names = strcmp(option, "--host") == 0	? &t->hosts
			      : strcmp(option, "--client") == 0 ? &t->clients
								: &t->users;

	if (names != &t->hosts && !folder_good(name))
		return usage("a name here has 1 to 64 letters, digits and . _ "
			     "- @ +, and does not begin with . or -",
			     name);
	if (!*name || strlen(name) > 64)
		return usage("a host's name has 1 to 64 bytes", name);
	/* Some places are for names of this host. */
	if (names->count + 4 >= NAMES_MOST)
		return usage("too many names", name);
	names->list[names->count++] = name;
	return 0;
}

/* What stands behind an option in its word: "" or "=NAME"; NULL: it is another
 * word. */
static const char *value(const char *word, const char *option)
{
	size_t len = strlen(option);

	if (strncmp(word, option, len) != 0 || (word[len] && word[len] != '='))
		return NULL;
	return word + len;
}

static int read_words(struct init *t, int argc, char **argv)
{
	static const char *const options[] = {"--host", "--client", "--psk"};
	bool words_only = false;
	const char *name;
	int i, k, error;

	for (i = 0; i < argc; i++) {
		if (!words_only && strcmp(argv[i], "--") == 0) {
			words_only = true;
			continue;
		}
		for (k = 0; k < 3; k++) {
			name = words_only ? NULL : value(argv[i], options[k]);
			if (name)
				break;
		}
		/* Else in the next word. */
		if (k < 3 && *name)
			name++;
		else if (k < 3)
			name = i + 1 < argc ? argv[++i] : NULL;
		if (k < 3 && !name)
			return usage("a name is missing", argv[i]);
		if (k < 3) {
			error = take_name(t, options[k], name);
			if (error)
				return error;
		} else if ((argv[i][0] == '-' && !words_only) || t->dir) {
			return usage(argv[i][0] == '-' && !words_only
					     ? "there is no such option"
					     : "is too much",
				     argv[i]);
		} else {
			t->dir = argv[i];
		}
	}
	return t->dir && *t->dir ? 0 : usage("which folder?", "");
}

/* And the folder that it is to be in, as /etc/nbdram. */
static bool make_dir(const char *dir)
{
	char *copy;

	if (mkdir(dir, 0700) == 0)
		return true;
	copy = errno == ENOENT ? strdup(dir) : NULL;
	if (!copy)
		return false;
	mkdir(dirname(copy), 0755);
	free(copy);
	return mkdir(dir, 0700) == 0;
}

static int open_dir(struct init *t)
{
	struct group *group = getgrnam(SERVICE_GROUP);
	bool made = make_dir(t->dir);

	if (!made && errno != EEXIST) {
		complain("%s: cannot be made: %s", t->dir, strerror(errno));
		return -errno;
	}
	t->fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->fd < 0 || fstat(t->fd, &t->st) < 0) {
		complain("%s: cannot be opened: %s", t->dir, strerror(errno));
		return -errno;
	}
	/* Made by root: for the service, which is somebody else. */
	if (made && group && geteuid() == 0 &&
	    fchown(t->fd, 0, group->gr_gid) == 0 && fchmod(t->fd, 0750) == 0)
		t->st.st_gid = group->gr_gid;
	t->for_service = group && t->st.st_gid == group->gr_gid;
	return 0;
}

static int make_all(struct init *t)
{
	int error = open_dir(t);
	unsigned i;

	if (!error)
		error = get_authority(t);
	if (!error)
		error = make_server(t);
	for (i = 0; !error && i < t->clients.count; i++)
		error = make_client(t, t->clients.list[i]);
	for (i = 0; !error && i < t->users.count; i++)
		error = make_user(t, t->users.list[i]);
	return error;
}

/* Even if something has failed: what was made is there. */
static int print_json(struct init *t)
{
	CLEANUP_FREE char *text = NULL;
	size_t len;

	control_close(&t->out, ']');
	control_close(&t->out, '}');
	text = control_finish(&t->out, &len);
	if (!text) {
		complain("no memory for the result");
		return -ENOMEM;
	}
	fwrite(text, 1, len, stdout);
	return 0;
}

int tls_init(int argc, char **argv, bool json)
{
	struct init t = {.fd = -1, .json = json};
	int error = read_words(&t, argc, argv);

	if (error)
		return error;
	if (json) {
		control_open(&t.out, NULL, '{');
		control_open(&t.out, "files", '[');
	}
	error = make_all(&t);
	if (json && print_json(&t))
		error = -ENOMEM;
	tls_identity_free(t.authority);
	if (t.fd >= 0)
		close(t.fd);
	if (!error && (fflush(stdout) != 0 || ferror(stdout))) {
		complain("cannot say what was made: %s", strerror(errno));
		error = -EIO;
	}
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
