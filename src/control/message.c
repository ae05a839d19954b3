/* SPDX-License-Identifier: BSD-3-Clause */
/* The shapes of messages. See control.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

/* A request with a member that nobody knows comes from a later nbdramctl that
 * wants something of us which would not be done. */
static bool only(struct json_t *object, const char *a, const char *b)
{
	void *at;

	for (at = control_next(object, NULL); at; at = control_next(object, at))
		if (strcmp(control_key_at(at), a) != 0 &&
		    strcmp(control_key_at(at), b) != 0)
			return false;
	return true;
}

int control_request_read(const char *line, size_t len,
			 struct control_request *request, const char **why)
{
	int error;

	memset(request, 0, sizeof(*request));
	error = control_parse(line, len, &request->root, why);
	if (error)
		return error;
	request->command = control_text(request->root, "command");
	request->args = control_member(request->root, "args");
	if (!request->command)
		*why = "it has no \"command\"";
	else if (request->args && !control_is_object(request->args))
		*why = "its \"args\" are no object";
	else if (!only(request->root, "command", "args"))
		*why = "it has members other than \"command\" and \"args\"";
	else
		return 0;
	control_request_free(request);
	return -EINVAL;
}

void control_request_free(struct control_request *request)
{
	control_value_free(request->root);
	memset(request, 0, sizeof(*request));
}

int control_answer_read(const char *line, size_t len,
			struct control_answer *answer, const char **why)
{
	int error;

	memset(answer, 0, sizeof(*answer));
	error = control_parse(line, len, &answer->root, why);
	if (error)
		return error;
	answer->value = control_member(answer->root, "progress");
	answer->kind = CONTROL_PROGRESS;
	if (answer->value)
		return 0;
	answer->value = control_member(answer->root, "result");
	answer->kind = CONTROL_OK;
	if (control_truth(answer->root, "ok") && answer->value)
		return 0;
	answer->kind = CONTROL_FAILED;
	answer->error = control_text(answer->root, "error");
	answer->code = control_text(answer->root, "code");
	if (answer->error && answer->code)
		return 0;
	*why = "it is neither progress, nor a result, nor an error";
	control_answer_free(answer);
	return -EINVAL;
}

void control_answer_free(struct control_answer *answer)
{
	control_value_free(answer->root);
	memset(answer, 0, sizeof(*answer));
}

char *control_ok(const char *result, size_t *len)
{
	struct control_writer w = {0};

	control_open(&w, NULL, '{');
	control_put_truth(&w, "ok", true);
	control_put_json(&w, "result", result);
	control_close(&w, '}');
	return control_finish(&w, len);
}

char *control_failed(const char *code, const char *error, size_t *len)
{
	struct control_writer w = {0};

	control_open(&w, NULL, '{');
	control_put_truth(&w, "ok", false);
	control_put_text(&w, "error", error);
	control_put_text(&w, "code", code);
	control_close(&w, '}');
	return control_finish(&w, len);
}
