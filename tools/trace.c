/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/coord.h"
#include "tools/messages.h"

#define BUFFER_BYTES (1u << 18)
#define LINE_BYTES   640

static const char *const names[] = {"inject", "link", "deliver"};

struct trace {
	FILE *f;
	uint64_t steps;
	char buffer[BUFFER_BYTES];
};

/* Tracks of a node: 0 injection, 1 delivery, 2 and on the links. */
static unsigned track_of(const struct emu_world_event *e)
{
	return e->step == EMU_STEP_INJECT ? 0 : e->step == EMU_STEP_DELIVER ? 1 : 2 + e->port;
}

static void name_tracks(FILE *f, const struct emu_shape *shape)
{
	for (uint32_t n = 0; n < emu_shape_nodes(shape); n++) {
		struct emu_coord x;

		emu_node_coord(shape, n, &x);
		fprintf(
		    f,
		    "{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":\"node "
		    "%u (%u,%u,%u,%u,%u)\"}},\n",
		    n, n, x.c[0], x.c[1], x.c[2], x.c[3], x.c[4]);
		for (unsigned t = 0; t < 2 + EMU_LINKS; t++) {
			char link[3] = "";

			if (t >= 2)
				snprintf(link, sizeof link, "%c%c", 'A' + (int)emu_link_dim(t - 2),
					 emu_link_plus(t - 2) ? '+' : '-');
			if (t >= 2 && shape->n[emu_link_dim(t - 2)] < 2)
				continue;
			fprintf(f,
				"{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_name\","
				"\"args\":{\"name\":\"%s\"}},\n",
				n, t,
				t == 0   ? "injection"
				: t == 1 ? "delivery"
					 : link);
		}
	}
}

int trace_create(const char *path, const struct emu_shape *shape, struct trace **trace)
{
	struct trace *t = malloc(sizeof *t);

	if (!t)
		return -ENOMEM;
	t->steps = 0;
	t->f = fopen(path, "we");
	if (!t->f) {
		int rc = -errno;

		free(t);
		return rc;
	}
	setvbuf(t->f, t->buffer, _IOFBF, sizeof t->buffer);
	fprintf(t->f, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	if (shape)
		name_tracks(t->f, shape);
	*trace = t;
	return 0;
}

void trace_write(void *arg, const struct emu_world_event *e)
{
	struct trace *t = arg;
	const struct emu_packet *p = e->packet;
	uint32_t to = p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination;
	struct emu_coord x;

	emu_coord_from_word(to, &x);
	/* Perfetto wants microseconds; the exact time is in args. */
	fprintf(t->f,
		"{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRIu64
		".%06u,\"dur\":%" PRIu64
		".%06u,\"bind_id\":\"0x%x%08x\"%s%s,\"args\":{\"ps\":%" PRIu64
		",\"dur_ps\":%" PRIu64 ",\"port\":%u,\"source\":%u,\"number\":%u,\"bytes\":%u,"
		"\"to\":\"(%u,%u,%u,%u,%u)\"}},\n",
		names[e->step], e->node, track_of(e), e->time_ps / 1000000,
		(unsigned)(e->time_ps % 1000000), e->duration_ps / 1000000,
		(unsigned)(e->duration_ps % 1000000), p->route.source, p->route.sequence,
		e->step == EMU_STEP_INJECT ? "" : ",\"flow_in\":true",
		e->step == EMU_STEP_DELIVER ? "" : ",\"flow_out\":true", e->time_ps, e->duration_ps,
		e->port, p->route.source, p->route.sequence, p->bytes, x.c[0], x.c[1], x.c[2],
		x.c[3], x.c[4]);
	t->steps++;
}

void trace_messages(struct trace *t, const struct messages *messages, uint64_t origin_ps)
{
	messages_write(t->f, messages, origin_ps);
}

int trace_close(struct trace *t)
{
	int rc = 0;

	if (!t)
		return 0;
	/* The last event has no comma behind it. It also says that the file is whole. */
	fprintf(t->f,
		"{\"ph\":\"M\",\"pid\":0,\"name\":\"steps\",\"args\":{\"count\":%" PRIu64
		"}}\n]}\n",
		t->steps);
	if (ferror(t->f)) { /* one more write fails, and says why */
		clearerr(t->f);
		fputc('\n', t->f);
		rc = -EIO;
	}
	if (fclose(t->f))
		rc = -errno;
	free(t);
	return rc;
}

/* ---- reading ---- */

static int parse_step(const char *line, struct trace_step *s)
{
	char name[16];
	const char *args = strstr(line, "\"args\":");

	if (!args ||
	    sscanf(line, "{\"ph\":\"X\",\"name\":\"%15[a-z]\",\"pid\":%u", name, &s->node) != 2 ||
	    sscanf(args,
		   "\"args\":{\"ps\":%" SCNu64 ",\"dur_ps\":%" SCNu64
		   ",\"port\":%u,\"source\":%u,\"number\":%u,\"bytes\":%u,\"to\":\"%31[0-9,()]\"",
		   &s->time_ps, &s->duration_ps, &s->port, &s->source, &s->sequence, &s->bytes,
		   s->to) != 7)
		return -EPROTO;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(name, names[i]))
			continue;
		s->step = (enum emu_world_step)i;
		return s->step == EMU_STEP_SEND && s->port >= EMU_LINKS ? -EPROTO : 1;
	}
	return -EPROTO;
}

int trace_read(FILE *f, struct trace_step *step)
{
	char line[LINE_BYTES];

	while (fgets(line, sizeof line, f)) {
		if (!strncmp(line, "{\"ph\":\"X\"", 9))
			return parse_step(line, step);
		if (strstr(line, "\"name\":\"steps\""))
			return 0;
		if (strncmp(line, "{\"ph\":\"M\"", 9) &&
		    strncmp(line, "{\"cat\":\"message\"", 16) &&
		    strncmp(line, "{\"displayTimeUnit\"", 18))
			return -EPROTO;
	}
	return -EPROTO;
}

const char *trace_text(const struct trace_step *s, char *text, size_t bytes)
{
	char what[32] = "";

	if (s->step == EMU_STEP_SEND)
		snprintf(what, sizeof what, " over %c%c", 'A' + (int)emu_link_dim(s->port),
			 emu_link_plus(s->port) ? '+' : '-');
	else if (s->step == EMU_STEP_INJECT)
		snprintf(what, sizeof what, " by queue %u", s->port);
	snprintf(text, bytes, "%12.6f us  node %u %s packet %u of node %u (%u bytes to %s)%s",
		 (double)s->time_ps / 1e6, s->node,
		 s->step == EMU_STEP_SEND     ? "sends"
		 : s->step == EMU_STEP_INJECT ? "injects"
					      : "delivers",
		 s->sequence, s->source, s->bytes, s->to, what);
	return text;
}
