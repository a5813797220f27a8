/* SPDX-License-Identifier: BSD-3-Clause */
/* torus diff: the first step in which two runs in virtual time differ. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/args.h"
#include "tools/cmd.h"
#include "tools/json.h"
#include "tools/trace.h"

#define BEFORE 8 /* steps that are printed before the difference */

static const struct argp_option options[] = {
    {"json", ARGS_JSON, 0, 0, "Print an object of JSON", 1},
    ARGS_OPTION_HELP,
    {0},
};

static const char doc[] =
    "Compare two traces of torus run --clock virtual --trace, and print the first step in which "
    "they differ, with the steps before it, and the way so far of the packet in question.\v"
    "Exit status: 0 if the traces are equal, 1 if they differ, 2 for wrong arguments or files.";

struct side {
	const char *name;
	FILE *f;
	struct trace_step now;
	int rc; /* of trace_read() */
};

static bool is_same(const struct trace_step *a, const struct trace_step *b)
{
	return a->step == b->step && a->node == b->node && a->port == b->port &&
	       a->time_ps == b->time_ps && a->source == b->source && a->sequence == b->sequence &&
	       a->bytes == b->bytes && !strcmp(a->to, b->to);
}

static void print_side(const struct side *s, const char *mark)
{
	char text[256];

	printf("%s %s\n", mark,
	       s->rc > 0 ? trace_text(&s->now, text, sizeof text)
			 : "             the run has ended");
}

/* The steps that the packet had made before, in the first file. */
static void print_way(const char *name, const struct trace_step *of, uint64_t steps)
{
	FILE *f = fopen(name, "re");
	struct trace_step s;
	char text[256];

	if (!f)
		return;
	printf("\nthe way of packet %u of node %u until then:\n", of->sequence, of->source);
	for (uint64_t i = 0; i < steps && trace_read(f, &s) > 0; i++)
		if (s.source == of->source && s.sequence == of->sequence)
			printf("  %s\n", trace_text(&s, text, sizeof text));
	fclose(f);
}

static void print_json_step(const char *key, const struct side *s)
{
	char text[256];

	printf(", \"%s\": ", key);
	if (s->rc <= 0) {
		printf("null");
		return;
	}
	printf("{\"ps\": %" PRIu64 ", \"node\": %u, \"source\": %u, \"number\": %u, \"text\": ",
	       s->now.time_ps, s->now.node, s->now.source, s->now.sequence);
	json_print_text(stdout, trace_text(&s->now, text, sizeof text));
	printf("}");
}

int cmd_diff(int argc, char **argv)
{
	struct args a = {.options = options, .words_doc = "FILE FILE", .doc = doc, .words_max = 2};
	struct trace_step before[BEFORE];
	struct side side[2];
	uint64_t steps = 0;
	char text[256];
	int rc = args_parse(&a, argc, argv);

	if (rc > 0)
		return 0;
	if (rc || a.words != 2) {
		args_print_usage(&a, argv[0]);
		return CMD_USAGE;
	}
	for (int i = 0; i < 2; i++) {
		side[i].name = a.word[i];
		side[i].f = fopen(a.word[i], "re");
		if (!side[i].f) {
			fprintf(stderr, "torus diff: %s: %s\n", a.word[i], strerror(errno));
			return CMD_USAGE;
		}
	}
	for (;; steps++) {
		for (int i = 0; i < 2; i++) {
			side[i].rc = trace_read(side[i].f, &side[i].now);
			if (side[i].rc < 0) {
				fprintf(stderr,
					"torus diff: %s is no whole trace of torus run --trace\n",
					side[i].name);
				return CMD_USAGE;
			}
		}
		if (side[0].rc != side[1].rc || !side[0].rc || !is_same(&side[0].now, &side[1].now))
			break;
		before[steps % BEFORE] = side[0].now;
	}
	fclose(side[0].f);
	fclose(side[1].f);
	rc = side[0].rc || side[1].rc;
	if (a.json) {
		printf("{\"equal\": %s, \"steps\": %" PRIu64, rc ? "false" : "true", steps);
		print_json_step("first", &side[0]);
		print_json_step("second", &side[1]);
		printf("}\n");
		return rc;
	}
	if (!rc) {
		printf("equal: %" PRIu64 " steps\n", steps);
		return 0;
	}
	printf("%" PRIu64 " steps are equal", steps);
	printf(steps ? "; the last of them:\n" : "\n");
	for (uint64_t i = steps > BEFORE ? steps - BEFORE : 0; i < steps; i++)
		printf("  %s\n", trace_text(&before[i % BEFORE], text, sizeof text));
	printf("\nthen %s (-) and %s (+) differ:\n", side[0].name, side[1].name);
	print_side(&side[0], "-");
	print_side(&side[1], "+");
	if (side[0].rc > 0)
		print_way(side[0].name, &side[0].now, steps);
	return 1;
}
