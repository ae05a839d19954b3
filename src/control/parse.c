/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading JSON that anybody may have sent. See control.h. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

/* How deep brackets stand inside each other, strings aside. */
static unsigned depth(const char *line, size_t len)
{
	unsigned now = 0, most = 0;
	bool text = false;
	size_t i;

	for (i = 0; i < len; i++) {
		if (text && line[i] == '\\')
			i++;
		else if (line[i] == '"')
			text = !text;
		else if (!text && (line[i] == '{' || line[i] == '['))
			most = ++now > most ? now : most;
		else if (!text && (line[i] == '}' || line[i] == ']') && now > 0)
			now--;
	}
	return most;
}

int control_parse(const char *line, size_t len, json_t **value,
		  const char **why)
{
	json_error_t error;

	if (depth(line, len) > CONTROL_DEPTH_MAX) {
		*why = "it is nested too deep";
		return -EINVAL;
	}
	*value = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	if (*value && json_is_object(*value))
		return 0;
	if (*value) {
		json_decref(*value);
		*value = NULL;
		*why = "it is no JSON object";
		return -EINVAL;
	}
	switch (json_error_code(&error)) {
	case json_error_out_of_memory:
		*why = "there is no memory for it";
		return -ENOMEM;
	case json_error_invalid_utf8:
		*why = "it is not UTF-8";
		break;
	case json_error_duplicate_key:
		*why = "it has a key twice";
		break;
	case json_error_null_character:
	case json_error_null_byte_in_key:
		*why = "it has a null character";
		break;
	case json_error_premature_end_of_input:
		*why = "it is no whole JSON object";
		break;
	default:
		*why = "it is no JSON object";
		break;
	}
	return -EINVAL;
}

void control_value_free(json_t *value)
{
	json_decref(value);
}

json_t *control_member(const json_t *object, const char *key)
{
	return json_object_get(object, key);
}

size_t control_count(const json_t *array)
{
	return json_array_size(array);
}

json_t *control_at(const json_t *array, size_t i)
{
	return json_array_get(array, i);
}

bool control_is_object(const json_t *value)
{
	return json_is_object(value);
}

bool control_is_array(const json_t *value)
{
	return json_is_array(value);
}

bool control_is_text(const json_t *value)
{
	return json_is_string(value);
}

bool control_is_truth(const json_t *value)
{
	return json_is_boolean(value);
}

const char *control_text(const json_t *object, const char *key)
{
	return json_string_value(key ? control_member(object, key) : object);
}

uint64_t control_number(const json_t *object, const char *key)
{
	json_int_t number = json_integer_value(control_member(object, key));

	return number > 0 ? number : 0;
}

bool control_truth(const json_t *object, const char *key)
{
	return json_is_true(control_member(object, key));
}

void *control_next(json_t *object, void *at)
{
	return at ? json_object_iter_next(object, at)
		  : json_object_iter(object);
}

const char *control_key_at(void *at)
{
	return json_object_iter_key(at);
}

json_t *control_value_at(void *at)
{
	return json_object_iter_value(at);
}

char *control_value_text(const json_t *value)
{
	char text[32];

	if (json_is_string(value))
		return strdup(json_string_value(value));
	if (json_is_boolean(value))
		return strdup(json_is_true(value) ? "yes" : "no");
	if (json_is_null(value))
		return strdup("");
	if (json_is_integer(value)) {
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT,
			 json_integer_value(value));
		return strdup(text);
	}
	if (json_is_real(value)) {
		snprintf(text, sizeof(text), "%g", json_real_value(value));
		return strdup(text);
	}
	return NULL;
}

char *control_dump(const json_t *value, bool pretty)
{
	return json_dumps(value,
			  JSON_ENSURE_ASCII | JSON_ENCODE_ANY |
				  JSON_REAL_PRECISION(12) |
				  (pretty ? JSON_INDENT(2) : JSON_COMPACT));
}
