/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * torus explain --collective: the members of a collective, and its critical path. The path goes
 * back from the member that was done last: to the last message of a collective that this member
 * took before, then to its sender at the time of the call, and so on until a member that waited for
 * no message. Where members meet in memory (shared, or lines that port holders write) or in routers
 * there are no messages.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pami/core/dispatch.h"
#include "tools/explain.h"
#include "tools/waits.h"

#define STEPS_MAX 256

/* A step of the path: a member at work, and the message that it then sent. */
struct step {
	uint32_t task, to; /* to UINT32_MAX: it is done */
	uint64_t begin, sent, received;
};

struct operation {
	const struct message_event *first, *last; /* by begin, by end */
	unsigned members;
};

static bool is_same(const struct message_event *a, const struct message_event *b)
{
	return a->e.key == b->e.key && a->e.number == b->e.number;
}

static int compare_operations(const void *a, const void *b)
{
	const struct message_event *x = *(const struct message_event *const *)a,
				   *y = *(const struct message_event *const *)b;

	if (x->e.key != y->e.key)
		return x->e.key < y->e.key ? -1 : 1;
	if (x->e.number != y->e.number)
		return x->e.number < y->e.number ? -1 : 1;
	return x->e.begin < y->e.begin ? -1 : x->e.begin > y->e.begin;
}

static int compare_begins(const void *a, const void *b)
{
	const struct operation *x = a, *y = b;

	return x->first->e.begin < y->first->e.begin ? -1 : x->first->e.begin > y->first->e.begin;
}

/* All collectives by the time of their first call. Returns how many; the caller frees *list. */
static size_t list_operations(const struct messages *s, struct operation **list)
{
	const struct message_event **m = malloc((s->count + 1) * sizeof(void *));
	size_t n = 0, operations = 0;

	*list = malloc((s->count + 1) * sizeof **list);
	for (size_t i = 0; m && *list && i < s->count; i++)
		if (s->at[i].e.kind == MU_TRACE_COLL)
			m[n++] = &s->at[i];
	if (n)
		qsort(m, n, sizeof *m, compare_operations);
	for (size_t i = 0; i < n; i++) {
		struct operation *o = operations ? &(*list)[operations - 1] : NULL;

		if (!o || !is_same(o->first, m[i])) {
			o = &(*list)[operations++];
			*o = (struct operation){.first = m[i], .last = m[i]};
		}
		o->members++;
		if (m[i]->e.end > o->last->e.end)
			o->last = m[i];
	}
	if (operations)
		qsort(*list, operations, sizeof **list, compare_begins);
	free(m);
	return operations;
}

static const struct message_event *member_of(const struct messages *s, const struct operation *o,
					     uint32_t task)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->at[i].e.kind == MU_TRACE_COLL && s->at[i].task == task &&
		    is_same(&s->at[i], o->first))
			return &s->at[i];
	return NULL;
}

/*
 * The last message of a collective that the task took in [since, until], or NULL. UINT32_MAX: that
 * a task of this host took.
 */
static const struct message_event *last_message(const struct messages *s, uint32_t task,
						uint32_t host, uint64_t since, uint64_t until)
{
	const struct message_event *found = NULL;

	for (size_t i = 0; i < s->count && s->at[i].e.begin <= until; i++) {
		const struct message_event *m = &s->at[i];

		if (m->e.kind == MU_TRACE_RECEIVE && m->e.dispatch == PAMI_DISPATCH_COLL &&
		    m->e.begin >= since && (task == UINT32_MAX ? m->host == host : m->task == task))
			found = m;
	}
	return found;
}

static bool has_hosts(const struct messages *s)
{
	for (size_t i = 1; i < s->count; i++)
		if (s->at[i].host != s->at[0].host)
			return true;
	return false;
}

static const struct message_event *send_of(const struct messages *s,
					   const struct message_event *receive)
{
	struct message_event send = *receive;

	send.task = receive->e.task;
	send.e.task = receive->task;
	send.e.channel = receive->e.peer;
	send.e.peer = receive->e.channel;
	return explain_find(s, MU_TRACE_SEND, &send, 0);
}

/* Returns how many steps, the last one of the collective first. */
static unsigned find_path(const struct messages *s, const struct operation *o, struct step *step)
{
	const struct message_event *member = o->last, *receive, *send;
	uint64_t until = member->e.end, received = 0;
	uint32_t to = UINT32_MAX;
	bool hosts = has_hosts(s);
	unsigned n = 0;

	while (n < STEPS_MAX) {
		step[n] = (struct step){member->task, to, member->e.begin, until, received};
		receive = last_message(s, member->task, 0, member->e.begin, until);
		if (!receive && hosts) /* another task of the host got it, and they share memory */
			receive =
			    last_message(s, UINT32_MAX, member->host, o->first->e.begin, until);
		send = receive ? send_of(s, receive) : NULL;
		if (send)
			step[n].begin = receive->e.begin;
		n++;
		to = receive ? receive->task : member->task;
		if (!send || !(member = member_of(s, o, send->task)) ||
		    send->e.begin < member->e.begin || send->e.begin >= until)
			break;
		until = send->e.begin;
		received = receive->e.begin;
	}
	return n;
}

static void print_text(const struct messages *s, const struct operation *o, const struct step *step,
		       unsigned steps)
{
	uint64_t begin = o->first->e.begin;
	double whole = (double)(o->last->e.end - begin);
	const struct message_event *late = o->first;

	printf("%s %u of geometry %016" PRIx64 ": %u members, %.3f us\n\n",
	       o->first->e.task < PAMI_XFER_AMBROADCAST ? collective_name(o->first->e.task)
							: "active message",
	       o->first->e.number, o->first->e.key, o->members, whole / 1e6);
	printf("  %12s  %12s  %-10s\n", "enters us", "stays ns", "member");
	for (size_t i = 0; i < s->count; i++) {
		const struct message_event *m = &s->at[i];

		if (m->e.kind != MU_TRACE_COLL || !is_same(m, o->first))
			continue;
		if (m->e.begin > late->e.begin)
			late = m;
		printf("  %12.6f  %12.3f  task %-5u ", (double)m->e.begin / 1e6,
		       (double)(m->e.end - m->e.begin) / 1e3, m->task);
		explain_print_bar((double)(m->e.begin - begin), (double)(m->e.end - begin), whole);
	}
	printf("\n  the last to enter: task %u, %.3f us after the first; done last: task %u\n",
	       late->task, (double)(late->e.begin - begin) / 1e6, o->last->task);
	if (steps < 2) {
		printf("  critical path: no message of the collective came to task %u: the members "
		       "met in memory\n  (shared, or lines that ports write) or in routers. It was "
		       "done %.3f us after task %u "
		       "had entered\n",
		       o->last->task, (double)(o->last->e.end - late->e.begin) / 1e6, late->task);
		return;
	}
	printf("\n  critical path:\n");
	for (unsigned i = steps; i--;) {
		printf("  %12.6f  %12.3f  task %-5u ", (double)step[i].begin / 1e6,
		       (double)(step[i].sent - step[i].begin) / 1e3, step[i].task);
		explain_print_bar((double)(step[i].begin - begin), (double)(step[i].sent - begin),
				  whole);
		if (step[i].to != UINT32_MAX) {
			printf("  %12.6f  %12.3f   to %-5u  ", (double)step[i].sent / 1e6,
			       (double)(step[i].received - step[i].sent) / 1e3, step[i].to);
			explain_print_bar((double)(step[i].sent - begin),
					  (double)(step[i].received - begin), whole);
		}
	}
	printf(
	    "\n  A member's line is its work until it calls the send of the next one; a line "
	    "\"to\" is that message,\n  from the call until the target takes it.\n"
	    "  A member that got no message shares memory with the task of its host that did.\n");
}

static void print_json(const struct messages *s, const struct operation *o, const struct step *step,
		       unsigned steps)
{
	bool any = false;

	printf("{\"type\": %u, \"number\": %u, \"geometry\": \"%016" PRIx64 "\", \"ps\": %" PRIu64
	       ", \"members\": [",
	       o->first->e.task, o->first->e.number, o->first->e.key,
	       o->last->e.end - o->first->e.begin);
	for (size_t i = 0; i < s->count; i++) {
		const struct message_event *m = &s->at[i];

		if (m->e.kind != MU_TRACE_COLL || !is_same(m, o->first))
			continue;
		printf("%s{\"task\": %u, \"ps\": %" PRIu64 ", \"dur_ps\": %" PRIu64 "}",
		       any ? ", " : "", m->task, m->e.begin, m->e.end - m->e.begin);
		any = true;
	}
	printf("], \"path\": [");
	for (unsigned i = steps; i--;)
		printf("%s{\"task\": %u, \"ps\": %" PRIu64 ", \"until_ps\": %" PRIu64 "}",
		       i + 1 < steps ? ", " : "", step[i].task, step[i].begin, step[i].sent);
	printf("]}\n");
}

int explain_collective(const struct messages *s, const char *word, bool json)
{
	struct operation *list, *o = NULL;
	size_t n = list_operations(s, &list);
	struct step *step = calloc(STEPS_MAX, sizeof *step);
	unsigned steps;

	if (word) {
		size_t at = strtoul(word, NULL, 10);

		o = at < n ? &list[at] : NULL;
	}
	for (size_t i = 0; !word && i < n; i++)
		if (!o || list[i].last->e.end - list[i].first->e.begin >
			      o->last->e.end - o->first->e.begin)
			o = &list[i];
	if (o && step) {
		steps = find_path(s, o, step);
		if (json)
			print_json(s, o, step, steps);
		else
			print_text(s, o, step, steps);
	}
	free(step);
	free(list);
	return o ? 0 : -ENOENT;
}
