/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a fuzz target without libFuzzer, with any compiler: every file of the
 * corpus, then random changes of them. Arguments: files to run instead. */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/random.h>

#include "check.h"

#define INPUT_MAX 16384u
#define FILES_MAX 256u
#define CHANGES 4000000.0 /* at scale 1 */

struct input {
	uint8_t data[INPUT_MAX];
	size_t size;
	char name[256];
};

static struct input inputs[FILES_MAX];
static size_t input_count;

static void read_input(const char *path)
{
	struct input *input = &inputs[input_count];
	FILE *file = fopen(path, "rb");

	if (!file) {
		perror(path);
		exit(1);
	}
	if (input_count == FILES_MAX) {
		fprintf(stderr, "too many files\n");
		exit(1);
	}
	input->size = fread(input->data, 1, sizeof(input->data), file);
	snprintf(input->name, sizeof(input->name), "%s", path);
	fclose(file);
	input_count++;
}

static void read_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	if (!folder) {
		perror(path);
		exit(1);
	}
	while ((entry = readdir(folder))) {
		char file[8192];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		read_input(file);
	}
	closedir(folder);
}

/* A copy of its exact size, so that sanitizers see what is read beyond it. */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	REQUIRE(copy);
	if (size)
		memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

/* Numbers at which something ends. */
static void interesting(uint8_t *p, size_t room, uint64_t *random)
{
	static const uint64_t values[] = {
		0,	   1,	       4,	   5,	      6,
		7,	   8,	       255,	   256,	      4096,
		4097,	   4160,       4161,	   65535,     UINT32_C(1) << 26,
		INT32_MAX, UINT32_MAX, UINT64_MAX, INT64_MAX, UINT32_C(1) << 31,
	};
	uint64_t value = values[fuzz_random(random) % ARRAY_SIZE(values)];
	size_t width = (size_t)1 << fuzz_random(random) % 4;

	for (size_t i = 0; i < width && i < room; i++)
		p[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
}

static void change(struct input *input, uint64_t *random)
{
	size_t at = input->size ? fuzz_random(random) % input->size : 0;
	size_t room = input->size - at;
	const struct input *other;
	size_t len;

	switch (fuzz_random(random) % 6) {
	case 0:
		if (room)
			input->data[at] ^=
				(uint8_t)(1u << fuzz_random(random) % 8);
		break;
	case 1:
		if (room)
			input->data[at] = (uint8_t)fuzz_random(random);
		break;
	case 2:
		interesting(input->data + at, room, random);
		break;
	case 3:
		input->size = at;
		break;
	case 4: /* the end of another one behind the beginning of this */
		other = &inputs[fuzz_random(random) % input_count];
		len = other->size ? fuzz_random(random) % other->size : 0;
		len = min_u64(len, INPUT_MAX - at);
		memcpy(input->data + at, other->data + other->size - len, len);
		input->size = at + len;
		break;
	default: /* a piece once more */
		len = min_u64(room, INPUT_MAX - input->size);
		memmove(input->data + at + len, input->data + at, room);
		input->size += len;
	}
}

static double scale(void)
{
	const char *text = getenv("NBDRAM_TEST_SCALE");

	return text ? atof(text) : 0.05;
}

static uint64_t seed(void)
{
	const char *text = getenv("NBDRAM_TEST_SEED");
	uint64_t value = 0;

	if (text)
		value = strtoull(text, NULL, 0);
	else if (getrandom(&value, sizeof(value), 0) != sizeof(value))
		exit(1);
	printf("NBDRAM_TEST_SEED=%llu\n", (unsigned long long)value);
	fflush(stdout);
	return value * 2 + 1;
}

int main(int argc, char **argv)
{
	const char *source = getenv("srcdir");
	unsigned long rounds = (unsigned long)(CHANGES * scale());
	uint64_t random = seed();
	char folder[4096];

	snprintf(folder, sizeof(folder), "%s/fuzz/corpus/%s",
		 source ? source : ".", fuzz_corpus);
	if (argc == 1)
		read_folder(folder);
	for (int i = 1; i < argc; i++)
		read_input(argv[i]);
	run(NULL, 0);
	for (size_t i = 0; i < input_count; i++) {
		printf("%s\n", inputs[i].name);
		fflush(stdout);
		run(inputs[i].data, inputs[i].size);
	}
	for (unsigned long i = 0; i < rounds && argc == 1; i++) {
		static struct input input;

		input = inputs[fuzz_random(&random) % input_count];
		for (uint64_t n = fuzz_random(&random) % 4 + 1; n > 0; n--)
			change(&input, &random);
		run(input.data, input.size);
	}
	printf("%zu files, %lu changes of them\n", input_count,
	       argc == 1 ? rounds : 0);
	return 0;
}
