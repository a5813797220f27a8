/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of torus run --html: one file with style, script and, between them, the data of the job
 * as an object of JSON. tools/html/ has what is constant; tools/html/run.js reads the object.
 */
#define _GNU_SOURCE
#include "tools/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/job.h"
#include "tools/json.h"

static void print_words(FILE *f, const struct plan *p)
{
	char host[256] = "", when[64] = "";
	time_t now = time(NULL);
	struct tm tm;

	gethostname(host, sizeof host - 1);
	if (localtime_r(&now, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
	fprintf(f, ",\n\"machine_name\": ");
	json_print_text(f, host);
	fprintf(f, ", \"date\": ");
	json_print_text(f, when);
	fprintf(f, ", \"program\": [");
	for (uint32_t i = 0; i < p->argc; i++) {
		fputs(i ? ", " : "", f);
		json_print_text(f, p->argv[i]);
	}
	fprintf(f, "], \"mesh\": %u", p->shape.mesh);
}

/* Print the node, the place on the node and the host of each task. */
static void print_tasks(FILE *f, const struct plan *p)
{
	fprintf(f, ",\n\"tasks\": [");
	for (uint32_t i = 0; i < p->tasks; i++)
		fprintf(f, "%s[%u,%u,%u]", i ? "," : "", emu_coord_node(&p->shape, &p->coords[i]),
			p->coords[i].t, p->task_host[i]);
	fputc(']', f);
}

static void print_machine(FILE *f, const struct plan *p)
{
	struct emu_machine usual, m;
	struct emu_machine_row row, before;
	char err[256];

	emu_machine_default(&usual);
	m = usual;
	emu_machine_set(&m, p->hw, err, sizeof err); /* checked before the job started */
	fprintf(f, ",\n\"link_ps_per_byte\": %u, \"machine\": [",
		p->clock == MU_CLOCK_VIRTUAL ? (unsigned)m.timing.link_ps_per_byte : 0);
	for (unsigned i = 0; !emu_machine_row(&m, i, &row); i++) {
		emu_machine_row(&usual, i, &before);
		fprintf(f,
			"%s{\"name\": \"%s\", \"value\": \"%s\", \"usual\": \"%s\", \"time\": %s, "
			"\"source\": ",
			i ? ",\n " : "", row.name, row.value, before.value,
			row.is_time ? "true" : "false");
		json_print_text(f, row.source);
		fputc('}', f);
	}
	fputc(']', f);
}

/* ---- over time ---- */

static uint64_t amount_at(const struct history *h, uint32_t frame, uint32_t column)
{
	return h->frame[frame] ? h->frame[frame][column] : 0;
}

/* Print the amounts of a column, without zeros at the end; nothing if all are zero. Returns how
 * many were printed. */
static uint32_t print_series(FILE *f, const struct history *h, uint32_t column, const char *before)
{
	uint32_t n = h->frames;

	while (n && !amount_at(h, n - 1, column))
		n--;
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%s%" PRIu64, i ? "," : before, amount_at(h, i, column));
	return n;
}

static void print_columns(FILE *f, const struct history *h, uint32_t first, uint32_t step,
			  uint32_t count)
{
	const char *comma = "";
	char before[32];

	fputc('[', f);
	for (uint32_t i = 0; i < count; i++) {
		snprintf(before, sizeof before, "%s[%u,", comma, i);
		if (!print_series(f, h, first + i * step, before))
			continue;
		fputc(']', f);
		comma = ",\n";
	}
	fputc(']', f);
}

static void print_wires(FILE *f, const struct history *h, const struct plan *p)
{
	static const char *const names[] = {"bytes", "resent", "rtt_ns", "samples"};
	const char *comma = "";

	fprintf(f, ", \"wires\": [");
	for (uint32_t i = 0; i < p->hosts * p->hosts; i++) {
		uint32_t host = i / p->hosts, peer = i % p->hosts;

		if (host == peer)
			continue;
		fprintf(f, "%s{\"host\": %u, \"peer\": %u", comma, host, peer);
		for (unsigned k = 0; k < HISTORY_WIRE_COLUMNS; k++) {
			fprintf(f, ", \"%s\": [", names[k]);
			print_series(f, h, history_wire(p, host, peer) + k, "");
			fputc(']', f);
		}
		fputc('}', f);
		comma = ",\n";
	}
	fputc(']', f);
}

static void print_took(FILE *f, const struct history *h)
{
	const char *comma = "";

	fprintf(f, ",\n\"took\": [");
	for (unsigned hops = 0; hops < HISTORY_HOPS; hops++) {
		const char *inner = "";

		if (!h->took[hops])
			continue;
		fprintf(f, "%s{\"hops\": %u, \"packets\": [", comma, hops);
		for (unsigned i = 0; i < HISTORY_BUCKETS; i++) {
			if (!h->took[hops][i])
				continue;
			fprintf(f, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", inner,
				history_bucket_ps(i), history_bucket_ps(i + 1), h->took[hops][i]);
			inner = ",";
		}
		fprintf(f, "]}");
		comma = ",\n";
	}
	fputc(']', f);
}

static void print_history(FILE *f, const struct job *j)
{
	const struct history *h = j->history;
	const struct plan *p = j->plan;

	fprintf(f, ",\n\"interval\": %" PRIu64 ", \"frames\": %u,\n\"link_bytes\": ", h->interval,
		h->frames);
	print_columns(f, h, 0, 1, emu_shape_nodes(&p->shape) * EMU_LINKS);
	fprintf(f, ",\n\"task_waited_ns\": ");
	print_columns(f, h, history_task(p, 0) + HISTORY_TASK_WAITED_NS, HISTORY_TASK_COLUMNS,
		      p->tasks);
	print_wires(f, h, p);
	print_took(f, h);
}

int job_page_write(const struct job *j)
{
	FILE *f = fopen(j->plan->html, "we");
	int rc = 0;

	if (!f)
		return -errno;
	fputs(page_before, f);
	fprintf(f, "{\"run\": ");
	job_report_json(f, j);
	print_words(f, j->plan);
	print_tasks(f, j->plan);
	print_machine(f, j->plan);
	print_history(f, j);
	fputs("}", f);
	fputs(page_behind, f);
	if (ferror(f)) { /* one more write fails, and says why */
		clearerr(f);
		fputc('\n', f);
		rc = -EIO;
	}
	if (fclose(f))
		rc = -errno;
	return rc;
}
