/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/messages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/array.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"

#define LINE_BYTES 640
#define TASK_PID   1000000u /* nodes of the virtual clock have the numbers below */
#define HOST_PID   2000000u

static const char *const names[MU_TRACE_KINDS] = {
    "",           "send",      "engine",   "receive", "finish",       "complete",
    "collective", "frame_out", "frame_in", "rdma",    "rdma_complete"};

void messages_free(struct messages *s)
{
	free(s->at);
	*s = (struct messages){0};
}

static int add_event(struct messages *s, const struct message_event *e)
{
	if (s->count == s->room) {
		struct message_event *more = drv_array_grow(s->at, &s->room, sizeof *more, 4096);

		if (!more)
			return -ENOMEM;
		s->at = more;
	}
	s->at[s->count++] = *e;
	return 0;
}

int messages_collect(struct messages *s, struct mu_host *host, uint64_t ps)
{
	struct mu_trace_area *a = mu_host_trace(host);
	uint32_t claimed = atomic_load_acquire(&a->claimed);
	uint32_t rings = claimed < a->rings ? claimed : a->rings;
	uint64_t most = rings ? MESSAGES_MAX / rings : 0;
	int rc = 0;

	s->lost += atomic_load_relaxed(&a->dropped);
	for (uint32_t i = 0; i < rings; i++) {
		struct mu_trace_ring *r = &a->ring[i];
		uint64_t end = atomic_load_acquire(&r->count);
		uint64_t keep = most < MU_TRACE_EVENTS ? most : MU_TRACE_EVENTS;
		uint64_t first = end > keep ? end - keep : 0;

		s->lost += first;
		for (uint64_t k = first; k < end && !rc; k++) {
			struct message_event m = {.e = r->event[k % MU_TRACE_EVENTS],
						  .host = host->host,
						  .task = r->task,
						  .thread = r->thread};

			/* The simulator records what the engines of all tasks do. */
			if (m.task == UINT32_MAX && m.e.kind == MU_TRACE_ENGINE)
				m.task = m.e.number;
			m.e.begin *= ps;
			m.e.end *= ps;
			rc = add_event(s, &m);
		}
	}
	return rc;
}

#define CHUNK 65536u /* events of one control message */

void messages_send(const struct messages *s, uint32_t host, struct ctl *c)
{
	for (size_t first = 0; !first || first < s->count; first += CHUNK) {
		size_t n = s->count - first < CHUNK ? s->count - first : CHUNK;
		struct ctl_buf b = {0};

		ctl_put_u32(&b, host);
		ctl_put_u64(&b, first ? 0 : s->lost);
		if (n)
			ctl_put_bytes(&b, &s->at[first], n * sizeof *s->at);
		ctl_send_buf(c, CTL_TRACE, &b);
	}
}

int messages_take(struct messages *s, uint32_t host, size_t most, struct ctl_msg *m)
{
	const void *data;
	int rc = ctl_get_u32(m) == host ? 0 : -EPROTO;

	s->lost += ctl_get_u64(m);
	while (!rc && (data = ctl_get_bytes(m, sizeof *s->at))) {
		struct message_event e;

		memcpy(&e, data, sizeof e);
		e.host = host;
		if (e.e.kind <= MU_TRACE_NONE || e.e.kind >= MU_TRACE_KINDS)
			continue;
		if (s->count < most)
			rc = add_event(s, &e);
		else
			s->lost++;
	}
	return rc;
}

static int compare_times(const void *a, const void *b)
{
	const struct message_event *x = a, *y = b;

	if (x->e.begin != y->e.begin)
		return x->e.begin < y->e.begin ? -1 : 1;
	if (x->e.end != y->e.end)
		return x->e.end < y->e.end ? -1 : 1;
	return x->e.kind < y->e.kind ? -1 : x->e.kind > y->e.kind;
}

void messages_sort(struct messages *s)
{
	if (s->count)
		qsort(s->at, s->count, sizeof *s->at, compare_times);
}

const struct message_event **messages_ends(const struct messages *s,
					   int (*compare)(const void *, const void *), size_t *n)
{
	const struct message_event **m = malloc((s->count + 1) * sizeof(void *));

	*n = 0;
	for (size_t i = 0; m && i < s->count; i++)
		if (s->at[i].e.kind == MU_TRACE_SEND || s->at[i].e.kind == MU_TRACE_RECEIVE)
			m[(*n)++] = &s->at[i];
	if (*n)
		qsort(m, *n, sizeof *m, compare);
	return m;
}

/* ---- clocks of several machines ---- */

/* Identifies a message at both ends: its number among those of a pair of endpoints. */
static int compare_messages(const void *a, const void *b)
{
	const struct message_event *x = *(const struct message_event *const *)a,
				   *y = *(const struct message_event *const *)b;
	bool xs = x->e.kind == MU_TRACE_SEND, ys = y->e.kind == MU_TRACE_SEND;
	uint64_t xf[5] = {xs ? x->task : x->e.task, xs ? x->e.channel : x->e.peer,
			  xs ? x->e.task : x->task, xs ? x->e.peer : x->e.channel, x->e.number};
	uint64_t yf[5] = {ys ? y->task : y->e.task, ys ? y->e.channel : y->e.peer,
			  ys ? y->e.task : y->task, ys ? y->e.peer : y->e.channel, y->e.number};

	for (unsigned i = 0; i < 5; i++)
		if (xf[i] != yf[i])
			return xf[i] < yf[i] ? -1 : 1;
	return 0;
}

/* least[a * hosts + b]: the least difference of clocks, plus the way, from host a to b. */
static void find_least(const struct messages *s, uint32_t hosts, int64_t *least)
{
	size_t n;
	const struct message_event **m = messages_ends(s, compare_messages, &n);

	for (uint32_t i = 0; i < hosts * hosts; i++)
		least[i] = INT64_MAX;
	for (size_t i = 0; i + 1 < n; i++) {
		const struct message_event *a = m[i], *b = m[i + 1];
		int64_t d;

		if (a->e.kind == b->e.kind || compare_messages(&m[i], &m[i + 1]))
			continue;
		if (b->e.kind == MU_TRACE_SEND) {
			a = m[i + 1];
			b = m[i];
		}
		d = (int64_t)(b->e.begin - a->e.begin);
		if (a->host < hosts && b->host < hosts && d < least[a->host * hosts + b->host])
			least[a->host * hosts + b->host] = d;
	}
	free(m);
}

void messages_align(struct messages *s, const bool *own, uint32_t hosts, uint64_t *error_ps)
{
	int64_t *least = calloc((size_t)hosts * hosts, sizeof *least),
		*shift = calloc(hosts, sizeof *shift);
	bool *known = calloc(hosts, sizeof *known);
	uint32_t left = 0;

	*error_ps = 0;
	for (uint32_t h = 0; known && h < hosts; h++) {
		known[h] = own[h] || h == 0;
		left += !known[h];
	}
	if (!left || !least || !shift || !known)
		goto out;
	find_least(s, hosts, least);
	for (bool more = true; more;) {
		more = false;
		for (uint32_t a = 0; a < hosts; a++)
			for (uint32_t b = 0; known[a] && b < hosts; b++) {
				int64_t there = least[a * hosts + b], back = least[b * hosts + a];

				if (known[b] || there == INT64_MAX || back == INT64_MAX)
					continue;
				shift[b] = shift[a] - (there - back) / 2;
				if ((uint64_t)(there + back) / 2 > *error_ps)
					*error_ps = (uint64_t)(there + back) / 2;
				known[b] = more = true;
				left--;
			}
	}
	for (size_t i = 0; i < s->count; i++)
		if (s->at[i].host < hosts) {
			s->at[i].e.begin += (uint64_t)shift[s->at[i].host];
			s->at[i].e.end += (uint64_t)shift[s->at[i].host];
		}
	if (left)
		*error_ps = UINT64_MAX;
out:
	free(least);
	free(shift);
	free(known);
}

/* ---- the file ---- */

static uint32_t pid_of(const struct message_event *m)
{
	return m->task == UINT32_MAX ? HOST_PID + m->host : TASK_PID + m->task;
}

/* FNV-1a. Perfetto takes the identifier of a flow as a hexadecimal number of 64 bits, and drops any
 * other. */
static uint64_t hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

/* The arrow on which an event lies; returns false if it lies on none. */
static bool flow_of(const struct message_event *m, char *text, size_t bytes)
{
	const struct mu_trace_event *e = &m->e;

	switch ((enum mu_trace_kind)e->kind) {
	case MU_TRACE_SEND:
	case MU_TRACE_COMPLETE:
		snprintf(text, bytes, "%u.%u-%u.%u-%u", m->task, e->channel, e->task, e->peer,
			 e->number);
		return true;
	case MU_TRACE_RECEIVE:
	case MU_TRACE_FINISH:
		snprintf(text, bytes, "%u.%u-%u.%u-%u", e->task, e->peer, m->task, e->channel,
			 e->number);
		return true;
	case MU_TRACE_OUT:
	case MU_TRACE_IN:
		/* Both directions of a wire count their frames from the same number. */
		snprintf(text, bytes, "f%" PRIx64 "-%u-%u", e->key,
			 e->kind == MU_TRACE_OUT ? m->host : e->task, e->number);
		return true;
	case MU_TRACE_RDMA:
	case MU_TRACE_RDMA_DONE:
		snprintf(text, bytes, "o%u.%u-%u", m->task, e->channel, e->number);
		return true;
	case MU_TRACE_NONE:
	case MU_TRACE_ENGINE:
	case MU_TRACE_COLL:
	case MU_TRACE_KINDS:
		break;
	}
	return false;
}

static void name_process(FILE *f, const struct message_event *m)
{
	char text[48];

	if (m->task == UINT32_MAX)
		snprintf(text, sizeof text, "port of host %u", m->host);
	else
		snprintf(text, sizeof text, "task %u (host %u)", m->task, m->host);
	fprintf(f,
		"{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":\"%s\"}},\n",
		pid_of(m), text);
}

/* The name of the slice: for a one-sided operation, which one. */
static const char *name_of(const struct mu_trace_event *e)
{
	if (e->kind != MU_TRACE_RDMA)
		return names[e->kind];
	return e->how == MU_TRACE_PUT ? "put" : e->how == MU_TRACE_GET ? "get" : "atomic";
}

static void write_event(FILE *f, const struct message_event *m, uint64_t origin_ps)
{
	const struct mu_trace_event *e = &m->e;
	uint64_t begin = e->begin - origin_ps, took = e->end > e->begin ? e->end - e->begin : 0;
	bool is_last =
	    e->kind == MU_TRACE_COMPLETE || e->kind == MU_TRACE_IN || e->kind == MU_TRACE_RDMA_DONE;
	bool is_first =
	    e->kind == MU_TRACE_SEND || e->kind == MU_TRACE_OUT || e->kind == MU_TRACE_RDMA;
	char flow[64];

	fprintf(f,
		"{\"cat\":\"message\",\"ph\":\"X\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,"
		"\"ts\":%" PRIu64 ".%06u,\"dur\":%" PRIu64 ".%06u",
		name_of(e), pid_of(m), m->thread, begin / 1000000, (unsigned)(begin % 1000000),
		took / 1000000, (unsigned)(took % 1000000));
	if (flow_of(m, flow, sizeof flow))
		fprintf(f, ",\"bind_id\":\"0x%016" PRIx64 "\"%s%s", hash_text(flow),
			is_first ? "" : ",\"flow_in\":true", is_last ? "" : ",\"flow_out\":true");
	fprintf(f,
		",\"args\":{\"kind\":%u,\"ps\":%" PRIu64 ",\"dur_ps\":%" PRIu64
		",\"host\":%u,\"task\":%u,\"thread\":%u,\"channel\":%u,\"to\":%u,\"peer\":%u,"
		"\"number\":%u,\"bytes\":%u,\"dispatch\":%u,\"how\":%u,\"descriptor\":%u,"
		"\"descriptors\":%u,\"key\":%" PRIu64 "}},\n",
		e->kind, begin, took, m->host, m->task, m->thread, e->channel, e->task, e->peer,
		e->number, e->bytes, e->dispatch, e->how, e->descriptor, e->descriptors, e->key);
}

void messages_write(FILE *f, const struct messages *s, uint64_t origin_ps)
{
	/* Name each process once. The search whether it had an event before is short. */
	for (size_t i = 0; i < s->count; i++) {
		size_t before = i < 4096 ? 0 : i - 4096, k = before;

		while (k < i && pid_of(&s->at[k]) != pid_of(&s->at[i]))
			k++;
		if (k == i)
			name_process(f, &s->at[i]);
		write_event(f, &s->at[i], origin_ps);
	}
}

static int parse_event(const char *line, struct message_event *m)
{
	const char *args = strstr(line, "\"args\":");
	unsigned kind, channel, peer, dispatch, how, descriptors;
	uint64_t took;

	if (!args ||
	    sscanf(args,
		   "\"args\":{\"kind\":%u,\"ps\":%" SCNu64 ",\"dur_ps\":%" SCNu64
		   ",\"host\":%u,\"task\":%u,\"thread\":%u,\"channel\":%u,\"to\":%u,\"peer\":%u,"
		   "\"number\":%u,\"bytes\":%u,\"dispatch\":%u,\"how\":%u,\"descriptor\":%u,"
		   "\"descriptors\":%u,\"key\":%" SCNu64,
		   &kind, &m->e.begin, &took, &m->host, &m->task, &m->thread, &channel, &m->e.task,
		   &peer, &m->e.number, &m->e.bytes, &dispatch, &how, &m->e.descriptor,
		   &descriptors, &m->e.key) != 16 ||
	    kind == MU_TRACE_NONE || kind >= MU_TRACE_KINDS)
		return -EPROTO;
	m->e.end = m->e.begin + took;
	m->e.kind = (uint8_t)kind;
	m->e.channel = (uint8_t)channel;
	m->e.peer = (uint8_t)peer;
	m->e.dispatch = (uint16_t)dispatch;
	m->e.how = (uint8_t)how;
	m->e.descriptors = (uint16_t)descriptors;
	return 0;
}

int messages_read(FILE *f, struct messages *s)
{
	char line[LINE_BYTES];
	int rc = 0;

	while (!rc && fgets(line, sizeof line, f)) {
		struct message_event m = {0};

		if (strstr(line, "\"name\":\"steps\"")) {
			messages_sort(s);
			return 0;
		}
		if (!strncmp(line, "{\"cat\":\"message\"", 16))
			rc = parse_event(line, &m) ? -EPROTO : add_event(s, &m);
		else if (strncmp(line, "{\"ph\":\"", 7) &&
			 strncmp(line, "{\"displayTimeUnit\"", 18))
			rc = -EPROTO;
	}
	return rc ? rc : -EPROTO;
}

double messages_cost_ns(void)
{
	enum { TIMES = 2000 };
	static struct mu_trace_event ring[64];
	uint64_t begin = drv_clock_ns();

	for (unsigned i = 0; i < TIMES; i++) {
		struct mu_trace_event e = {.kind = MU_TRACE_SEND, .number = i};

		e.begin = drv_clock_ns();
		e.end = drv_clock_ns();
		memcpy(&ring[i % 64], &e, sizeof e);
		__asm__ volatile("" : : "r"(ring) : "memory");
	}
	return (double)(drv_clock_ns() - begin) / TIMES;
}
