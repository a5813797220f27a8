/* SPDX-License-Identifier: BSD-3-Clause */
/* torus explain: where the time of a packet went. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/args.h"
#include "tools/cmd.h"
#include "tools/explain.h"
#include "tools/flights.h"
#include "tools/trace.h"

#define STEPS_MAX 512 /* of one packet: more than a torus has hops */
#define BAR       40

enum { PACKET, MESSAGE, COLLECTIVE };

static const struct argp_option options[] = {
    {"json", ARGS_JSON, 0, 0, "Print an object of JSON", 1},
    {"packet", ARGS_FLAG + PACKET, 0, 0, "A packet: [NODE NUMBER]; only in virtual time", 1},
    {"message", ARGS_FLAG + MESSAGE, 0, 0,
     "A message: [FROM TO NUMBER], endpoints as TASK or TASK.CONTEXT; messages of a pair of "
     "endpoints are counted from 0",
     1},
    {"collective", ARGS_FLAG + COLLECTIVE, 0, 0,
     "A collective and its critical path: [NUMBER], from 0 in the order of the first call", 1},
    ARGS_OPTION_HELP,
    {0},
};

static const char doc[] =
    "Read a trace of torus run --trace, and print where the time of one message, packet or "
    "collective went, as a table with a picture; without words after the file, of the one that "
    "took longest. Without an option: a packet if the trace has packets (virtual time), else a "
    "message. A packet is named by the number of the node that injected it and its number among "
    "the packets of that node.";

struct way {
	uint32_t source, sequence;
	struct trace_step step[STEPS_MAX];
	unsigned steps;
};

/* Find the packet with the longest time from injection to delivery. 0 or a negative errno. */
static int find_longest(FILE *file, struct way *w)
{
	struct flights f = {0};
	struct trace_step s;
	uint64_t longest = 0;
	int rc;

	while ((rc = trace_read(file, &s)) > 0) {
		if (s.step == EMU_STEP_INJECT) {
			rc = flights_add(&f, flight_key(s.source, s.sequence), s.time_ps);
			if (rc)
				break;
		} else if (s.step == EMU_STEP_DELIVER) {
			const struct flight *from =
			    flights_find(&f, flight_key(s.source, s.sequence));

			if (!from || s.time_ps < from->since_ps ||
			    s.time_ps - from->since_ps <= longest)
				continue;
			longest = s.time_ps - from->since_ps;
			w->source = s.source;
			w->sequence = s.sequence;
		}
	}
	flights_free(&f);
	return rc ? rc : longest ? 0 : -ENOENT;
}

static int read_way(FILE *file, struct way *w)
{
	struct trace_step s;
	int rc;

	rewind(file);
	while ((rc = trace_read(file, &s)) > 0)
		if (s.source == w->source && s.sequence == w->sequence && w->steps < STEPS_MAX)
			w->step[w->steps++] = s;
	return rc ? rc : w->steps ? 0 : -ENOENT;
}

static int bar_column(double at, double whole)
{
	double share = whole > 0 ? at / whole : 0;

	return share <= 0 ? 0 : share >= 1 ? BAR : (int)(share * BAR + 0.5);
}

void explain_print_bar(double from, double to, double whole)
{
	int left = bar_column(from, whole), right = bar_column(to, whole);

	printf("|%*s", left, "");
	for (int k = left; k < right; k++)
		putchar('=');
	printf("%*s|\n", BAR - right, "");
}

const char *explain_step_text(const struct trace_step *s, char *text, size_t bytes)
{
	if (s->step == EMU_STEP_SEND)
		snprintf(text, bytes, "node %u, leaves over %c%c", s->node,
			 'A' + (int)emu_link_dim(s->port), emu_link_plus(s->port) ? '+' : '-');
	else
		snprintf(text, bytes, "node %u, %s", s->node,
			 s->step == EMU_STEP_INJECT ? "injected" : "delivered");
	return text;
}

static void print_way(const struct way *w)
{
	const struct trace_step *first = &w->step[0], *last = &w->step[w->steps - 1];
	double whole = (double)(last->time_ps - first->time_ps);
	char text[64];

	printf("packet %u of node %u: %u bytes of payload to %s, %.3f us, %u steps\n\n",
	       w->sequence, w->source, first->bytes, first->to, whole / 1e6, w->steps);
	printf("  %12s  %10s  %-30s\n", "us", "after ns", "where");
	for (unsigned i = 0; i < w->steps; i++) {
		const struct trace_step *s = &w->step[i];
		double from = i ? (double)(w->step[i - 1].time_ps - first->time_ps) : 0;
		double to = (double)(s->time_ps - first->time_ps);

		printf("  %12.6f  %10.3f  %-30s ", (double)s->time_ps / 1e6, (to - from) / 1e3,
		       explain_step_text(s, text, sizeof text));
		explain_print_bar(from, to, whole);
	}
	printf("\n  A line's bar is the time since the step before: waiting for the link, and the "
	       "hop.\n");
}

static void print_json(const struct way *w)
{
	static const char *const step[] = {"inject", "send", "deliver"};

	printf("{\"source\": %u, \"number\": %u, \"bytes\": %u, \"to\": \"%s\", \"ps\": %" PRIu64
	       ", \"steps\": [",
	       w->source, w->sequence, w->step[0].bytes, w->step[0].to,
	       w->step[w->steps - 1].time_ps - w->step[0].time_ps);
	for (unsigned i = 0; i < w->steps; i++)
		printf("%s{\"step\": \"%s\", \"node\": %u, \"port\": %u, \"ps\": %" PRIu64 "}",
		       i ? ", " : "", step[w->step[i].step], w->step[i].node, w->step[i].port,
		       w->step[i].time_ps);
	printf("]}\n");
}

/* Does the trace have steps of packets? */
static bool has_packets(FILE *file)
{
	struct trace_step s;
	int rc = trace_read(file, &s);

	rewind(file);
	return rc;
}

static bool has_right_words(const struct args *a)
{
	if (a->flag[PACKET] + a->flag[MESSAGE] + a->flag[COLLECTIVE] > 1)
		return false;
	return a->words == 1 || (a->flag[MESSAGE]      ? a->words == 4
				 : a->flag[COLLECTIVE] ? a->words == 2
						       : a->words == 3);
}

static int explain_messages(const struct args *a, FILE *f)
{
	const char *const file = a->word[0];
	struct messages s = {0};
	int rc = messages_read(f, &s);

	if (!rc)
		rc = a->flag[COLLECTIVE] ? explain_collective(&s, a->word[1], a->json)
					 : explain_message(&s, f, &a->word[1], a->json);
	messages_free(&s);
	if (rc == -ENOENT)
		fprintf(stderr, "torus explain: %s has no such %s\n", file,
			a->flag[COLLECTIVE] ? "collective" : "message");
	else if (rc == -EINVAL)
		fprintf(stderr, "torus explain: give FROM TO NUMBER, for example 0 1.0 7\n");
	else if (rc)
		fprintf(stderr, "torus explain: %s: %s\n", file,
			rc == -EPROTO ? "is no whole trace of torus run --trace" : strerror(-rc));
	return rc;
}

int cmd_explain(int argc, char **argv)
{
	struct args a = {
	    .options = options, .words_doc = "FILE [WORD...]", .doc = doc, .words_max = 4};
	struct way *w;
	FILE *f;
	int rc = args_parse(&a, argc, argv);

	if (rc > 0)
		return 0;
	if (rc || !has_right_words(&a)) {
		args_print_usage(&a, argv[0]);
		return CMD_USAGE;
	}
	f = fopen(a.word[0], "re");
	w = calloc(1, sizeof *w);
	if (!f || !w) {
		fprintf(stderr, "torus explain: %s: %s\n", a.word[0], strerror(errno));
		if (f)
			fclose(f);
		free(w);
		return CMD_USAGE;
	}
	if (!a.flag[PACKET] && a.words != 3 && !has_packets(f))
		a.flag[MESSAGE] = !a.flag[COLLECTIVE];
	if (a.flag[MESSAGE] || a.flag[COLLECTIVE]) {
		rc = explain_messages(&a, f);
		fclose(f);
		free(w);
		return rc ? CMD_USAGE : 0;
	}
	if (a.words == 3) {
		w->source = (uint32_t)strtoul(a.word[1], NULL, 10);
		w->sequence = (uint32_t)strtoul(a.word[2], NULL, 10);
	} else {
		rc = find_longest(f, w);
	}
	if (!rc)
		rc = read_way(f, w);
	if (rc == -ENOENT && a.words == 3)
		fprintf(stderr, "torus explain: %s has no packet %s of node %s\n", a.word[0],
			a.word[2], a.word[1]);
	else if (rc)
		fprintf(stderr, "torus explain: %s: %s\n", a.word[0],
			rc == -ENOENT   ? "no packet was delivered"
			: rc == -EPROTO ? "is no whole trace of torus run --trace"
					: strerror(-rc));
	else if (a.json)
		print_json(w);
	else
		print_way(w);
	fclose(f);
	free(w);
	return rc ? CMD_USAGE : 0;
}
