/* SPDX-License-Identifier: BSD-3-Clause */
/* What nbdramd and nbdramctl say to each other over the control socket: the only
 * header of this room that others see.
 *
 * Lines, each one JSON object. The client asks:
 *
 *	{"command":"create","args":{"name":"scratch","keys":["size=16G"]}}
 *
 * and is answered by any number of lines {"progress":{...}}, then by one of
 *
 *	{"ok":true,"result":...}
 *	{"ok":false,"error":"one line for a person","code":"a word"}
 *
 * Requests of one connection are answered in their order. Names of disks,
 * clients and files are bytes, and JSON has only Unicode: see
 * control_name_write().
 *
 * All functions are pure but for memory, and may be called from any thread. */
#ifndef NBDRAM_CONTROL_H
#define NBDRAM_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request is a few names and keys: what is longer than this is none. */
#define CONTROL_REQUEST_MAX (64u << 10)

/* An answer may list many thousand disks. */
#define CONTROL_ANSWER_MAX (16u << 20)

/* Objects and arrays inside each other. Looked at before anything is parsed: a
 * parser calls itself for each. */
#define CONTROL_DEPTH_MAX 8u

/* ----------------------------------------------------------------- names */

/* How bytes that need not be UTF-8 stand in a JSON string: printable ASCII as it
 * is, but a backslash as two; a whole, valid UTF-8 sequence as it is, but for
 * control characters and those that turn the direction of text; any other byte
 * as \xNN (in the text: JSON writes \\xNN). So every name has one form, and a
 * form that is read gives the bytes again. */

/* Bytes into text; the caller frees it. NULL: no memory. */
char *control_name_write(const void *bytes, size_t len);

/* Text into bytes, which end in a 0 that is not counted and have none inside;
 * the caller frees them. NULL: a backslash where none may be, \x00, or no
 * memory. */
char *control_name_read(const char *text, size_t *len);

/* ----------------------------------------------------------------- lines */

/* Collects input until a line is whole. All zero at first. */
struct control_lines {
	char *bytes;
	size_t len, room, used, looked;
	size_t most; /* bytes of a line, without its end */
};

void control_lines_init(struct control_lines *l, size_t most);
void control_lines_free(struct control_lines *l);

/* Append what came. -ENOMEM. */
int control_lines_add(struct control_lines *l, const void *bytes, size_t len);

/* The next whole line, without its end; valid until the next call with the same
 * lines. 1: there it is; 0: more is needed; -EMSGSIZE: it is too long already,
 * and nothing that follows makes sense. */
int control_lines_next(struct control_lines *l, char **line, size_t *len);

/* Whether part of a line is there. */
bool control_lines_partial(const struct control_lines *l);

/* ---------------------------------------------------------------- values */

/* A JSON value that came in; owned by the message that it is in. All of these
 * take NULL, and values of any type. */
struct json_t;

/* Read one line. The result goes to control_value_free(). -EINVAL: no JSON
 * object, nested too deep, no UTF-8, a key twice; *why is a few words then,
 * static or inside `text`. -ENOMEM. */
int control_parse(const char *line, size_t len, struct json_t **value,
		  const char **why);
void control_value_free(struct json_t *value);

/* NULL: it is no object, or has no such member. */
struct json_t *control_member(const struct json_t *object, const char *key);

/* How many members an array has; 0 for all else. */
size_t control_count(const struct json_t *array);
struct json_t *control_at(const struct json_t *array, size_t i);

/* Whether it is an object, an array, a string, true or false. */
bool control_is_object(const struct json_t *value);
bool control_is_array(const struct json_t *value);
bool control_is_text(const struct json_t *value);
bool control_is_truth(const struct json_t *value);

/* The member in words, as it stands; NULL if it is no string. */
const char *control_text(const struct json_t *object, const char *key);

/* A member that is no number of that kind is 0; false. */
uint64_t control_number(const struct json_t *object, const char *key);
bool control_truth(const struct json_t *object, const char *key);

/* Walk the members of an object: call with NULL first; NULL at the end. */
void *control_next(struct json_t *object, void *at);
const char *control_key_at(void *at);
struct json_t *control_value_at(void *at);

/* The value as text of its own: strings and numbers as they are, yes and no;
 * NULL for objects and arrays, and without memory. The caller frees it. */
char *control_value_text(const struct json_t *value);

/* The value as JSON, in ASCII, with line breaks for people if `pretty`. The
 * caller frees it; NULL: no memory. */
char *control_dump(const struct json_t *value, bool pretty);

/* --------------------------------------------------------------- writing */

/* Writes JSON piece by piece. What goes wrong (no memory, too long) is
 * remembered, so that only the end need be looked at. */
struct control_writer {
	char *text;
	size_t len, room;
	unsigned depth;
	bool comma;  /* the next member needs one in front */
	bool failed; /* no memory, or longer than an answer may be */
};

/* All keys are ASCII and need no escaping; NULL inside arrays. */
void control_open(struct control_writer *w, const char *key, char bracket);
void control_close(struct control_writer *w, char bracket);
void control_put_name(struct control_writer *w, const char *key,
		      const void *bytes, size_t len);
/* Text of our own; what is no UTF-8 goes as in a name. */
void control_put_text(struct control_writer *w, const char *key,
		      const char *text);
void control_put_number(struct control_writer *w, const char *key,
			uint64_t number);
void control_put_truth(struct control_writer *w, const char *key, bool value);

/* JSON that was written before, as a member. */
void control_put_json(struct control_writer *w, const char *key,
		      const char *json);

/* The end of a line: the text, with a line break, which the caller frees, and
 * its length; the writer is as new. NULL: it failed. */
char *control_finish(struct control_writer *w, size_t *len);
void control_writer_drop(struct control_writer *w);

/* -------------------------------------------------------------- messages */

struct control_request {
	struct json_t *root;
	const char *command;
	struct json_t *args; /* an object, or NULL */
};

/* -EINVAL and *why, -ENOMEM. Free it by control_request_free() after 0. */
int control_request_read(const char *line, size_t len,
			 struct control_request *request, const char **why);
void control_request_free(struct control_request *request);

enum control_kind {
	CONTROL_PROGRESS,
	CONTROL_OK,
	CONTROL_FAILED,
};

struct control_answer {
	struct json_t *root;
	enum control_kind kind;
	struct json_t *value;	  /* the result, or what progress there is */
	const char *error, *code; /* CONTROL_FAILED */
};

/* As control_request_read(). */
int control_answer_read(const char *line, size_t len,
			struct control_answer *answer, const char **why);
void control_answer_free(struct control_answer *answer);

/* Whole lines, which the caller frees; NULL: no memory. `result` is JSON. */
char *control_ok(const char *result, size_t *len);
char *control_failed(const char *code, const char *error, size_t *len);

#endif
