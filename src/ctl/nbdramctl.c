/* SPDX-License-Identifier: BSD-3-Clause */
/* nbdramctl: one command for a running nbdramd. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "cleanup.h"
#include "commands.h"
#include "link.h"
#include "print.h"

#define EXIT_USAGE 2
#define PATH_DEFAULT NBDRAM_RUNDIR "/nbdram/control"

/* What the command line says. */
struct wish {
	const char *path;
	bool json;
	bool help, version;
	bool flag; /* the command's own */
	const struct command *command;
	const char *arguments[ARGUMENTS_MOST];
	int count;
	char **alone; /* the words behind a command that asks nobody */
	int alone_count;
	char **keys; /* in argv */
	int key_count;
};

static void print_help(void)
{
	unsigned i;

	puts("usage: nbdramctl [-s SOCKET] [--json] COMMAND [ARGUMENT]...\n"
	     "\n"
	     "Ask a running nbdramd, or have it do something; attach disks.\n"
	     "\n"
	     "commands:");
	for (i = 0; i < command_count; i++) {
		printf("  %s%s%s%s%s%s\n", commands[i].name,
		       *commands[i].synopsis ? " " : "", commands[i].synopsis,
		       commands[i].flag.name ? " [--" : "",
		       commands[i].flag.name ? commands[i].flag.name : "",
		       commands[i].flag.name ? "]" : "");
		printf("        %s\n", commands[i].help);
		if (commands[i].flag.name)
			printf("        --%s: %s\n", commands[i].flag.name,
			       commands[i].flag.help);
	}
	puts("\n"
	     "options, before the command or after it:\n"
	     "  -s, --socket PATH  nbdramd's control socket (" PATH_DEFAULT
	     ")\n"
	     "      --json         the result as JSON\n"
	     "  -h, --help         this text\n"
	     "  -V, --version      which release this is\n"
	     "\n"
	     "Exit status: 0 done, 1 failed, 2 the command line is wrong.");
}

/* Is it one of the options that all commands have? */
static bool is_general(const char *text)
{
	static const char *const words[] = {"--json",	"--help", "--version",
					    "--socket", "-h",	  "-V"};
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(text, words[i]) == 0)
			return true;
	}
	return strncmp(text, "-s", 2) == 0 ||
	       strncmp(text, "--socket=", 9) == 0;
}

/* A command that asks nobody reads its own words; they are moved together. */
static bool is_its_own(const struct wish *w, const char *text, bool words_only)
{
	return w->command && w->command->alone &&
	       (words_only || !is_general(text));
}

static void take_its_own(struct wish *w, char **word)
{
	if (w->alone_count == 0)
		w->alone = word;
	w->alone[w->alone_count++] = *word;
}

/* An option; *i moves on over its value. False: there is none such. */
static bool take_option(struct wish *w, int argc, char **argv, int *i)
{
	const char *text = argv[*i];
	bool known = true;

	if (strcmp(text, "--json") == 0)
		w->json = true;
	else if (strcmp(text, "-h") == 0 || strcmp(text, "--help") == 0)
		w->help = true;
	else if (strcmp(text, "-V") == 0 || strcmp(text, "--version") == 0)
		w->version = true;
	else if (strncmp(text, "--socket=", 9) == 0)
		w->path = text + 9;
	else if (strncmp(text, "-s", 2) == 0 && text[2])
		w->path = text + 2;
	else if (strcmp(text, "-s") == 0 || strcmp(text, "--socket") == 0)
		w->path = *i + 1 < argc ? argv[++*i] : NULL;
	else if (w->command && w->command->flag.name &&
		 strncmp(text, "--", 2) == 0 &&
		 strcmp(text + 2, w->command->flag.name) == 0)
		w->flag = true;
	else
		known = false;
	if (known && !w->path) {
		complain("%s: needs the path of a socket", text);
		return false;
	}
	if (!known && w->command)
		complain("%s: no such option of %s; see nbdramctl --help", text,
			 w->command->name);
	else if (!known)
		complain("%s: no such option; see nbdramctl --help", text);
	return known;
}

/* The command, or what belongs to it. */
static bool take_word(struct wish *w, char **word)
{
	const struct command *c = w->command;
	const char *like;
	int most = 0;

	if (!c) {
		w->command = command_find(*word);
		if (w->command)
			return true;
		like = command_like(*word);
		complain("%s: no such command%s%s%s", *word,
			 like ? "; is it " : "; see nbdramctl --help",
			 like ? like : "", like ? "?" : "");
		return false;
	}
	while (most < ARGUMENTS_MOST && c->arguments[most])
		most++;
	/* An argument that may be left out has no = in it where keys follow. */
	if (w->count < most &&
	    !(c->keys && w->count >= c->least && strchr(*word, '='))) {
		w->arguments[w->count++] = *word;
		return true;
	}
	if (c->keys && strchr(*word, '=')) {
		/* Options may stand between them: they are moved together. */
		if (w->key_count == 0)
			w->keys = word;
		w->keys[w->key_count++] = *word;
		return true;
	}
	complain("%s: %s; usage: nbdramctl %s%s%s", *word,
		 c->keys ? "is no KEY=VALUE" : "is too much", c->name,
		 *c->synopsis ? " " : "", c->synopsis);
	return false;
}

static bool read_command_line(struct wish *w, int argc, char **argv)
{
	bool words_only = false;
	int i;

	for (i = 1; i < argc; i++) {
		if (is_its_own(w, argv[i], words_only)) {
			words_only |= strcmp(argv[i], "--") == 0;
			take_its_own(w, &argv[i]);
		} else if (!words_only && strcmp(argv[i], "--") == 0) {
			words_only = true;
		} else if (!words_only && argv[i][0] == '-' && argv[i][1]) {
			if (!take_option(w, argc, argv, &i))
				return false;
		} else if (!take_word(w, &argv[i])) {
			return false;
		}
	}
	if (w->help || w->version)
		return true;
	if (!w->command) {
		complain("which command? See nbdramctl --help");
		return false;
	}
	if (w->count < w->command->least) {
		complain("something is missing; usage: nbdramctl %s %s",
			 w->command->name, w->command->synopsis);
		return false;
	}
	return true;
}

/* The daemon is in another folder: a file's name, as it is from everywhere, behind
 * `before`. */
static void put_file(struct control_writer *out, const char *key,
		     const char *before, const char *file)
{
	CLEANUP_FREE char *folder = *file == '/' ? NULL : getcwd(NULL, 0);
	CLEANUP_FREE char *text = NULL;

	if (asprintf(&text, "%s%s%s%s", before, folder ? folder : "",
		     folder ? "/" : "", file) < 0)
		text = NULL;
	/* Without memory for this there is none for the line either. */
	if (text)
		control_put_name(out, key, text, strlen(text));
}

/* The daemon's folder is another. */
static void put_key(struct control_writer *out, const char *key)
{
	static const char *const paths[] = {"image=", "files="};
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		if (strncmp(key, paths[i], strlen(paths[i])) == 0) {
			put_file(out, NULL, paths[i], key + strlen(paths[i]));
			return;
		}
	}
	control_put_name(out, NULL, key, strlen(key));
}

static char *request_line(const struct wish *w, size_t *len)
{
	struct control_writer out = {0};
	int i;

	control_open(&out, NULL, '{');
	control_put_text(&out, "command", w->command->name);
	control_open(&out, "args", '{');
	for (i = 0; i < w->count; i++) {
		if (strcmp(w->command->arguments[i], "file") == 0)
			put_file(&out, "file", "", w->arguments[i]);
		else
			control_put_name(&out, w->command->arguments[i],
					 w->arguments[i],
					 strlen(w->arguments[i]));
	}
	if (w->flag)
		control_put_truth(&out, w->command->flag.name, true);
	if (w->key_count > 0) {
		control_open(&out, "keys", '[');
		for (i = 0; i < w->key_count; i++)
			put_key(&out, w->keys[i]);
		control_close(&out, ']');
	}
	control_close(&out, '}');
	control_close(&out, '}');
	return control_finish(&out, len);
}

static int show_result(const struct wish *w, struct json_t *result)
{
	char *text;

	if (w->json) {
		text = control_dump(result, true);
		if (!text)
			return -ENOMEM;
		puts(text);
		free(text);
		return 0;
	}
	return w->command->print(result);
}

static int show_answer(const struct wish *w, struct control_answer *answer)
{
	char *bytes;
	size_t len;

	progress_clear();
	if (answer->kind == CONTROL_FAILED) {
		bytes = control_name_read(answer->error, &len);
		complain("%s", bytes ? bytes : answer->error);
		free(bytes);
		return strcmp(answer->code, "usage") == 0 ? EXIT_USAGE
							  : EXIT_FAILURE;
	}
	if (show_result(w, answer->value)) {
		complain("no memory for the answer");
		return EXIT_FAILURE;
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		complain("cannot write the result: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

/* Ask, and listen until it is over. */
static int talk(const struct wish *w, struct link *link, const char *line,
		size_t len)
{
	struct control_answer answer;
	int result = EXIT_FAILURE;
	bool over = false;

	if (!link_send(link, line, len))
		return EXIT_FAILURE;
	while (!over && link_receive(link, &answer)) {
		over = answer.kind != CONTROL_PROGRESS;
		if (over)
			result = show_answer(w, &answer);
		else
			progress_print(answer.value);
		control_answer_free(&answer);
	}
	return result;
}

int main(int argc, char **argv)
{
	struct wish wish = {.path = PATH_DEFAULT};
	struct link link;
	int result = EXIT_FAILURE;
	char *line;
	size_t len;

	if (!read_command_line(&wish, argc, argv))
		return EXIT_USAGE;
	if (wish.help) {
		print_help();
		return EXIT_SUCCESS;
	}
	if (wish.version) {
		puts("nbdramctl " PACKAGE_VERSION);
		return EXIT_SUCCESS;
	}
	if (wish.command->alone)
		return wish.command->alone(wish.alone_count, wish.alone,
					   wish.json);
	if (wish.command->with_argument && wish.count > 0)
		return wish.command->with_argument(wish.arguments[0],
						   wish.json);
	line = request_line(&wish, &len);
	if (!line || len > CONTROL_REQUEST_MAX) {
		complain(line ? "names and keys are too long"
			      : "no memory for the request");
	} else if (link_open(&link, wish.path)) {
		result = talk(&wish, &link, line, len);
		link_close(&link);
	}
	free(line);
	return result;
}
