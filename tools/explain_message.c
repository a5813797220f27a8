/* SPDX-License-Identifier: BSD-3-Clause */
/* torus explain --message: one message from the call to its last callback. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pami/core/dispatch.h"
#include "tools/explain.h"
#include "tools/json.h"

#define STAGES_MAX 64

struct stage {
	uint64_t begin, end;
	char text[96];
};

struct stages {
	struct stage at[STAGES_MAX];
	unsigned count;
};

static __attribute__((format(printf, 4, 5))) void add_stage(struct stages *s, uint64_t begin,
							    uint64_t end, const char *format, ...)
{
	struct stage *to = &s->at[s->count];
	va_list args;

	if (s->count == STAGES_MAX)
		return;
	s->count++;
	to->begin = begin;
	to->end = end > begin ? end : begin;
	va_start(args, format);
	vsnprintf(to->text, sizeof to->text, format, args);
	va_end(args);
}

const struct message_event *explain_find(const struct messages *s, enum mu_trace_kind kind,
					 const struct message_event *send, size_t from)
{
	bool at_target = kind == MU_TRACE_RECEIVE || kind == MU_TRACE_FINISH;

	for (size_t i = from; i < s->count; i++) {
		const struct message_event *m = &s->at[i];

		if (m->e.kind == kind && m->e.number == send->e.number &&
		    m->task == (at_target ? send->e.task : send->task) &&
		    m->e.task == (at_target ? send->task : send->e.task) &&
		    m->e.channel == (at_target ? send->e.peer : send->e.channel) &&
		    m->e.peer == (at_target ? send->e.channel : send->e.peer))
			return m;
	}
	return NULL;
}

/* ---- which message ---- */

/* Order by pair of endpoints, number, then kind: a send is followed by its receive. */
static int compare_ends(const void *a, const void *b)
{
	const struct message_event *x = *(const struct message_event *const *)a,
				   *y = *(const struct message_event *const *)b;
	bool xs = x->e.kind == MU_TRACE_SEND, ys = y->e.kind == MU_TRACE_SEND;
	uint64_t xf = (uint64_t)(xs ? x->task : x->e.task) << 32 | (xs ? x->e.task : x->task);
	uint64_t yf = (uint64_t)(ys ? y->task : y->e.task) << 32 | (ys ? y->e.task : y->task);
	uint64_t xn = (uint64_t)(xs ? x->e.channel : x->e.peer) << 40 |
		      (uint64_t)(xs ? x->e.peer : x->e.channel) << 32 | x->e.number;
	uint64_t yn = (uint64_t)(ys ? y->e.channel : y->e.peer) << 40 |
		      (uint64_t)(ys ? y->e.peer : y->e.channel) << 32 | y->e.number;

	if (xf != yf)
		return xf < yf ? -1 : 1;
	if (xn != yn)
		return xn < yn ? -1 : 1;
	return x->e.kind < y->e.kind ? -1 : x->e.kind > y->e.kind;
}

/* The send of the message of the program that took longest until its dispatch function returned;
 * a message of a collective only if there are no others. */
static const struct message_event *find_longest(const struct messages *s)
{
	size_t n;
	const struct message_event **m = messages_ends(s, compare_ends, &n), *found = NULL;
	uint64_t longest = 0;
	bool is_own = false;

	for (size_t i = 0; i + 1 < n; i++) {
		bool own = m[i]->e.dispatch <= PAMI_DISPATCH_ID_MAX;
		uint64_t took = m[i + 1]->e.end - m[i]->e.begin;

		if (m[i]->e.kind != MU_TRACE_SEND || m[i + 1]->e.kind != MU_TRACE_RECEIVE ||
		    m[i]->e.number != m[i + 1]->e.number || m[i]->e.task != m[i + 1]->task ||
		    m[i + 1]->e.task != m[i]->task || m[i + 1]->e.end < m[i]->e.begin ||
		    own < is_own || (own == is_own && took <= longest))
			continue;
		longest = took;
		is_own = own;
		found = m[i];
	}
	free(m);
	return found;
}

static bool parse_endpoint(const char *word, uint32_t *task, unsigned *channel)
{
	char end;

	*channel = 0;
	return word && (sscanf(word, "%u.%u%c", task, channel, &end) == 2 ||
			(!strchr(word, '.') && sscanf(word, "%u%c", task, &end) == 1));
}

static int find_named(const struct messages *s, const char *const word[3],
		      const struct message_event **found)
{
	unsigned channel, peer, none;
	uint32_t from, to, number;

	if (!parse_endpoint(word[0], &from, &channel) || !parse_endpoint(word[1], &to, &peer) ||
	    !word[2] || strchr(word[2], '.') || !parse_endpoint(word[2], &number, &none))
		return -EINVAL;
	for (size_t i = 0; i < s->count; i++) {
		const struct message_event *m = &s->at[i];

		if (m->e.kind == MU_TRACE_SEND && m->task == from && m->e.channel == channel &&
		    m->e.task == to && m->e.peer == peer && m->e.number == number) {
			*found = m;
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- its stages ---- */

/* Does a step belong to packet `number` that the node has injected? */
static bool is_step_of(const struct trace_step *x, uint32_t node, uint32_t number)
{
	return x->source == node && x->sequence == number;
}

/* Virtual time: add the way of the first packet of a descriptor, and the end of the last one. */
static void add_packets(struct stages *st, FILE *file, const struct mu_trace_event *engine)
{
	uint32_t first = (uint32_t)(engine->key >> 32), last = (uint32_t)engine->key;
	struct trace_step x;
	char text[48];

	rewind(file);
	while (trace_read(file, &x) > 0) {
		if (is_step_of(&x, engine->dispatch, first))
			add_stage(st, x.time_ps, x.time_ps + x.duration_ps, "packet %u: %s", first,
				  explain_step_text(&x, text, sizeof text));
		else if (is_step_of(&x, engine->dispatch, last) && x.step == EMU_STEP_DELIVER)
			add_stage(st, x.time_ps, x.time_ps, "packet %u, the last of %u: %s", last,
				  engine->descriptors, explain_step_text(&x, text, sizeof text));
	}
}

static void add_engine(struct stages *st, const struct messages *s, FILE *file,
		       const struct message_event *send)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct message_event *m = &s->at[i];

		if (m->e.kind != MU_TRACE_ENGINE || m->task != send->task ||
		    m->e.channel != send->e.channel ||
		    m->e.descriptor - send->e.descriptor >= send->e.descriptors)
			continue;
		add_stage(st, m->e.begin, m->e.end, "engine of task %u: descriptor %u", m->task,
			  m->e.descriptor);
		if (m->e.descriptors)
			add_packets(st, file, &m->e);
	}
}

/* Return the first arrival, at this host, of the frame that left, or NULL. */
static const struct message_event *find_arrival(const struct messages *s,
						const struct message_event *out, uint32_t host)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct message_event *m = &s->at[i];

		if (m->e.kind == MU_TRACE_IN && m->e.key == out->e.key &&
		    m->e.number == out->e.number && m->e.task == out->host)
			return m->host == host ? m : NULL;
	}
	return NULL;
}

static bool is_same_frame(const struct message_event *a, const struct message_event *b)
{
	return a->e.kind == b->e.kind && a->e.key == b->e.key && a->e.number == b->e.number &&
	       a->host == b->host;
}

static bool left_before(const struct messages *s, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (is_same_frame(&s->at[i], &s->at[at]))
			return true;
	return false;
}

/* Add the frame that carried the message: the first new one to the target's host after the call. */
static void add_frames(struct stages *st, const struct messages *s,
		       const struct message_event *send, const struct message_event *receive)
{
	const struct message_event *first = NULL, *in = NULL;

	for (size_t i = (size_t)(send - s->at); i < s->count; i++) {
		const struct message_event *m = &s->at[i];

		if (m->e.begin > receive->e.begin && !first)
			return;
		if (m->e.kind != MU_TRACE_OUT || m->host != send->host)
			continue;
		if (!first && !left_before(s, i) && (in = find_arrival(s, m, receive->host))) {
			first = m;
			add_stage(st, m->e.begin, m->e.begin, "host %u: frame %u leaves (%u bytes)",
				  m->host, m->e.number, m->e.bytes);
			add_stage(st, in->e.begin, in->e.begin, "host %u: frame %u arrives",
				  in->host, in->e.number);
		} else if (first && is_same_frame(first, m) && m->e.begin <= in->e.begin) {
			add_stage(st, m->e.begin, m->e.begin, "host %u: frame %u is resent",
				  m->host, m->e.number);
		}
	}
}

static int compare_stages(const void *a, const void *b)
{
	const struct stage *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void collect_stages(struct stages *st, const struct messages *s, FILE *file,
			   const struct message_event *send)
{
	static const char *const how[] = {"leaves at once", "into the FIFO",
					  "the FIFO is full: kept by PAMI"};
	const struct message_event *receive = explain_find(s, MU_TRACE_RECEIVE, send, 0), *m;

	add_stage(st, send->e.begin, send->e.end, "task %u: the call; %s", send->task,
		  how[send->e.how < 3 ? send->e.how : 0]);
	add_engine(st, s, file, send);
	if (receive && receive->host != send->host)
		add_frames(st, s, send, receive);
	if (receive)
		add_stage(st, receive->e.begin, receive->e.end, "task %u: takes it, dispatches",
			  receive->task);
	m = explain_find(s, MU_TRACE_FINISH, send, 0);
	if (m)
		add_stage(st, receive ? receive->e.end : m->e.begin, m->e.end,
			  "task %u: until all its data is there", m->task);
	for (size_t i = 0; (m = explain_find(s, MU_TRACE_COMPLETE, send, i));
	     i = (size_t)(m - s->at) + 1)
		add_stage(st, m->e.begin, m->e.end, "task %u: %s callback", m->task,
			  m->e.how == MU_TRACE_REMOTE ? "remote" : "local");
	qsort(st->at, st->count, sizeof *st->at, compare_stages);
}

/* Return the time from `begin` to `at`, in ps: negative if another processor was there first. */
static double time_since(uint64_t begin, uint64_t at)
{
	return (double)(int64_t)(at - begin);
}

static void print_stages(const struct stages *st, uint64_t begin, double whole)
{
	uint64_t reached = begin;

	printf("  %12s  %10s  %10s  %-46s\n", "us", "waited ns", "took ns", "what");
	for (unsigned i = 0; i < st->count; i++) {
		const struct stage *x = &st->at[i];
		uint64_t waited = x->begin > reached ? x->begin - reached : 0;

		printf("  %12.6f  %10.3f  %10.3f  %-46s ", (double)x->begin / 1e6,
		       (double)waited / 1e3, (double)(x->end - x->begin) / 1e3, x->text);
		explain_print_bar(time_since(begin, x->begin - waited), time_since(begin, x->end),
				  whole);
		if (x->end > reached)
			reached = x->end;
	}
	printf("\n  A line's bar is its time and the time waited before it: on the way, and until "
	       "a thread polls.\n");
}

int explain_message(const struct messages *s, FILE *file, const char *const word[3], bool json)
{
	const struct message_event *send = NULL;
	struct stages st = {.count = 0};
	uint64_t end = 0;
	double whole;
	int rc = 0;

	if (word[0])
		rc = find_named(s, word, &send);
	else
		send = find_longest(s);
	if (rc || !send)
		return rc ? rc : -ENOENT;
	collect_stages(&st, s, file, send);
	for (unsigned i = 0; i < st.count; i++)
		end = st.at[i].end > end ? st.at[i].end : end;
	whole = (double)(end - send->e.begin);
	if (!json) {
		printf("message %u of task %u.%u to task %u.%u: %u bytes, %s %u, %.3f us\n\n",
		       send->e.number, send->task, send->e.channel, send->e.task, send->e.peer,
		       send->e.bytes,
		       send->e.dispatch <= PAMI_DISPATCH_ID_MAX ? "dispatch" : "internal dispatch",
		       send->e.dispatch, whole / 1e6);
		print_stages(&st, send->e.begin, whole);
		return 0;
	}
	printf("{\"from\": \"%u.%u\", \"to\": \"%u.%u\", \"number\": %u, \"bytes\": %u, "
	       "\"dispatch\": %u, \"ps\": %" PRIu64 ", \"stages\": [",
	       send->task, send->e.channel, send->e.task, send->e.peer, send->e.number,
	       send->e.bytes, send->e.dispatch, end - send->e.begin);
	for (unsigned i = 0; i < st.count; i++) {
		printf("%s{\"ps\": %" PRIu64 ", \"dur_ps\": %" PRIu64 ", \"what\": ", i ? ", " : "",
		       st.at[i].begin, st.at[i].end - st.at[i].begin);
		json_print_text(stdout, st.at[i].text);
		printf("}");
	}
	printf("]}\n");
	return 0;
}
