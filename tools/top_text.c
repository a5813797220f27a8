/* SPDX-License-Identifier: BSD-3-Clause */
/* The screen of torus top as text. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/draw.h"
#include "tools/top.h"
#include "tools/waits.h"

static void print_head(FILE *f, const struct top *t, const struct top_screen *s)
{
	const struct drv_stat_view *v = &t->job.host[0];
	struct timespec now;
	double age;
	char text[64];

	clock_gettime(CLOCK_REALTIME, &now);
	age = (double)((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - t->at_ns) / 1e9;
	fprintf(f, "job %016llx %s", (unsigned long long)t->job.job,
		runs_is_live(&t->job)                      ? "runs"
		: atomic_load_relaxed(&v->head.ended) != 0 ? "has ended"
							   : "died");
	if (!runs_is_live(&t->job))
		fprintf(f, " %.0f s ago", age > 0 ? age : 0);
	emu_shape_print(&t->shape, text, sizeof text);
	fprintf(f, ", %s tasks", drv_stat_view_fact(v, "tasks"));
	fprintf(f, " on %s, %s host%s", text, drv_stat_view_fact(v, "hosts"),
		strcmp(drv_stat_view_fact(v, "hosts"), "1") ? "s" : "");
	if (t->job.hosts > 1 || strcmp(drv_stat_view_fact(v, "hosts"), "1"))
		fprintf(f, " (%u here)", t->job.hosts);
	fprintf(f, ", fabric %s", drv_stat_view_fact(v, "fabric"));
	fprintf(f, ", clock %s\n", drv_stat_view_fact(v, "clock"));
	fprintf(f, "%s\n", drv_stat_view_fact(v, "program"));
	fprintf(f, "%s\n\n",
		s->totals                            ? "so far"
		: t->before_ns == v->head.started_ns ? "in a second, on average since the start"
						     : "in a second");
}

/* ---- the torus ---- */

static void print_torus(FILE *f, const struct top *t, const struct top_screen *s)
{
	struct emu_link_stat *shown = NULL;
	struct draw d;

	if (!t->has_links) {
		fprintf(f, "  %s\n\n",
			t->nodes > 1 ? "the links of this job are not counted while it runs"
				     : "one node: no links");
		return;
	}
	draw_init(&d, &t->shape, s->totals ? t->link : t->rate);
	if (s->packets) { /* the picture is drawn of the bytes */
		shown = malloc((size_t)t->nodes * EMU_LINKS * sizeof *shown);
		if (!shown)
			return;
		memcpy(shown, d.links, (size_t)t->nodes * EMU_LINKS * sizeof *shown);
		for (uint32_t i = 0; i < t->nodes * EMU_LINKS; i++)
			shown[i].bytes = shown[i].packets;
		d.links = shown;
		d.plain = 1;
	}
	d.columns = s->columns;
	draw_torus(f, &d);
	fputc('\n', f);
	free(shown);
}

/* ---- tables ---- */

static int sort_column, sort_rates; /* qsort() takes no argument */

static int compare_numbers(double a, double b)
{
	return a > b ? -1 : a < b;
}

static int compare_tasks(const void *a, const void *b)
{
	const struct top_task *x = *(const struct top_task *const *)a;
	const struct top_task *y = *(const struct top_task *const *)b;
	int order = sort_column == 1   ? compare_numbers(x->waits, y->waits)
		    : sort_column == 2 ? compare_numbers(x->receives, y->receives)
		    : sort_column == 3 ? compare_numbers((double)x->received, (double)y->received)
				       : 0;

	return order ? order : x->task > y->task ? 1 : x->task < y->task ? -1 : 0;
}

static unsigned rows_of(const struct top_screen *s, unsigned all)
{
	unsigned room = s->view == TOP_VIEWS ? 16 : s->lines > 8 ? s->lines - 8 : 1;

	return all < room ? all : room;
}

/* "allreduce, for 3"; "" if nothing is known. */
static const char *describe_waits(const struct top_task *k, char *text, size_t bytes)
{
	if (k->waits_for == UINT32_MAX)
		snprintf(text, bytes, "%s", waits_name(k->what));
	else
		snprintf(text, bytes, "%s, for %u", waits_name(k->what), k->waits_for);
	return text;
}

static void print_software(FILE *f, const struct top *t, const struct top_screen *s)
{
	unsigned shown = rows_of(s, t->tasks);

	fprintf(f, "  %6s  %12s  %8s  %19s  %12s  %6s\n", "task", "collectives", "run now",
		"commthreads' events", "sleeps", "busy");
	for (unsigned i = 0; i < shown; i++) {
		const struct top_task *k = &t->task[i];

		fprintf(f, "  %6u  %12llu  %8llu  %19llu  %12llu  %5.1f%%\n", k->task,
			(unsigned long long)k->collectives,
			(unsigned long long)(k->collectives > k->collectives_done
						 ? k->collectives - k->collectives_done
						 : 0),
			(unsigned long long)k->comm_events, (unsigned long long)k->comm_sleeps,
			k->comm_busy * 100);
	}
	if (shown < t->tasks)
		fprintf(f, "  and %u more\n", t->tasks - shown);
	fputc('\n', f);
}

static void print_calls(FILE *f, const struct top *t, const struct top_screen *s)
{
	unsigned shown = rows_of(s, t->calls);

	for (unsigned i = 0; i < shown; i++)
		fprintf(f, "  task %u: %s\n", t->call[i].task, t->call[i].text);
	if (!t->calls)
		fprintf(f, "  no calls are known\n");
	if (shown < t->calls)
		fprintf(f, "  and %u more\n", t->calls - shown);
	fputc('\n', f);
}

static void print_tasks(FILE *f, const struct top *t, const struct top_screen *s)
{
	static const char *const state[] = {"not joined", "joined", "left"};
	const struct top_task **order = malloc((t->tasks + 1) * sizeof *order);
	unsigned shown = rows_of(s, t->tasks);
	char in[32], all[32], arena[32], waits[48];

	if (!order)
		return;
	for (uint32_t i = 0; i < t->tasks; i++)
		order[i] = &t->task[i];
	sort_column = s->sort % 4;
	qsort(order, t->tasks, sizeof *order, compare_tasks);
	fprintf(f, "  %6s  %-10s  %6s  %12s  %12s  %12s  %11s  %8s  %s\n", "task", "state", "waits",
		"by memory/s", "by memory", "descriptors", "in its FIFO", "arena",
		"waits in, for task");
	for (unsigned i = 0; i < shown; i++) {
		const struct top_task *k = order[i];

		fprintf(f, "  %6u  %-10s  %5.1f%%  %12s  %12s  %12llu  %11llu  %8s  %s\n", k->task,
			state[k->state < 3 ? k->state : 0], k->waits * 100,
			draw_bytes((uint64_t)k->receives, in, sizeof in),
			draw_bytes(k->received, all, sizeof all), (unsigned long long)k->injected,
			(unsigned long long)k->injecting / 64,
			draw_bytes(k->arena_bytes, arena, sizeof arena),
			describe_waits(k, waits, sizeof waits));
	}
	if (shown < t->tasks)
		fprintf(f, "  and %u more\n", t->tasks - shown);
	fputc('\n', f);
	free(order);
}

static const struct top *sorted_top;

static int compare_links(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct emu_link_stat *from = sort_rates ? sorted_top->rate : sorted_top->link;
	int order =
	    sort_column == 1   ? compare_numbers((double)from[i].packets, (double)from[k].packets)
	    : sort_column == 2 ? compare_numbers((double)from[i].stalls, (double)from[k].stalls)
			       : compare_numbers((double)from[i].bytes, (double)from[k].bytes);

	return order ? order : i > k ? 1 : i < k ? -1 : 0;
}

static void print_links(FILE *f, const struct top *t, const struct top_screen *s)
{
	uint32_t *order = malloc((size_t)t->nodes * EMU_LINKS * sizeof *order + 1), n = 0;
	const struct emu_link_stat *from = s->totals ? t->link : t->rate;
	unsigned shown;
	char text[32], node[48];

	for (uint32_t i = 0; order && i < t->nodes * EMU_LINKS; i++)
		if (t->link[i].packets && (s->node < 0 || i / EMU_LINKS == (uint32_t)s->node))
			order[n++] = i;
	if (!order)
		return;
	sorted_top = t;
	sort_column = s->sort % 3;
	sort_rates = !s->totals;
	qsort(order, n, sizeof *order, compare_links);
	shown = rows_of(s, n);
	fprintf(f, "  %-6s  %-16s  %-4s  %12s  %12s  %12s  %10s\n", "node", "at", "link", "bytes",
		"packets", "stalls", "queued max");
	for (unsigned i = 0; i < shown; i++) {
		uint32_t k = order[i];

		fprintf(f, "  %-6u  %-16s  %c%c    %12s  %12llu  %12llu  %10llu\n", k / EMU_LINKS,
			draw_node(&t->shape, k / EMU_LINKS, node, sizeof node),
			'A' + (int)emu_link_dim(k % EMU_LINKS),
			emu_link_plus(k % EMU_LINKS) ? '+' : '-',
			draw_bytes(from[k].bytes, text, sizeof text),
			(unsigned long long)from[k].packets, (unsigned long long)from[k].stalls,
			(unsigned long long)t->link[k].queued_max);
	}
	if (!n)
		fprintf(f, "  no packet has crossed a link%s\n",
			s->node < 0 ? "" : " of this node");
	if (shown < n)
		fprintf(f, "  and %u more\n", n - shown);
	if (s->node < 0)
		draw_channels(f, s->totals ? &t->channels : &t->channel_rates);
	fputc('\n', f);
	free(order);
}

/* Which driver each host of this machine uses for its frames. */
static void print_drivers(FILE *f, const struct top *t)
{
	for (uint32_t i = 0; i < t->job.hosts; i++) {
		const char *driver;

		fprintf(f, "  host %u: ", runs_host(&t->job, i));
		driver = drv_stat_view_fact(&t->job.host[i], "driver");
		fprintf(f, "%s%s\n", driver[0] ? "driver " : "its port is not open yet", driver);
	}
	fputc('\n', f);
}

static void print_wires(FILE *f, const struct top *t, const struct top_screen *s)
{
	unsigned shown = rows_of(s, t->wires);
	char tx[32], rx[32];

	if (!t->wires) {
		fprintf(f, "  one host: no wires\n\n");
		return;
	}
	fprintf(f, "  %-10s  %12s  %12s  %10s  %8s  %7s  %7s  %7s  %9s\n", "wire",
		s->totals ? "sent" : "sends/s", s->totals ? "received" : "receives/s", "resent",
		"of sent", "twice", "early", "bad", "rtt");
	for (unsigned i = 0; i < shown; i++) {
		const struct top_wire *w = &t->wire[i];

		fprintf(
		    f,
		    "  %3u -> %-3u  %12s  %12s  %10llu  %7.2f%%  %7llu  %7llu  %7llu  %6.1f us%s\n",
		    w->host, w->peer,
		    draw_bytes(s->totals ? w->tx_bytes : (uint64_t)w->tx_rate, tx, sizeof tx),
		    draw_bytes(s->totals ? w->rx_bytes : (uint64_t)w->rx_rate, rx, sizeof rx),
		    (unsigned long long)w->resent, w->loss * 100, (unsigned long long)w->duplicates,
		    (unsigned long long)w->out_of_order, (unsigned long long)w->bad,
		    (double)w->rtt_ns / 1e3, w->connected ? "" : "  not connected");
	}
	fputc('\n', f);
	print_drivers(f, t);
}

void top_print(FILE *f, const struct top *t, const struct top_screen *s)
{
	bool all = s->view == TOP_VIEWS;

	print_head(f, t, s);
	if (all || s->view == TOP_TORUS)
		print_torus(f, t, s);
	if (s->view == TOP_TORUS && s->node >= 0 && t->has_links)
		print_links(f, t, s);
	if (all || s->view == TOP_TASKS)
		print_tasks(f, t, s);
	if (all || s->view == TOP_SOFTWARE)
		print_software(f, t, s);
	if ((all && t->has_links) || s->view == TOP_LINKS)
		print_links(f, t, s);
	if ((all && t->wires) || s->view == TOP_WIRES)
		print_wires(f, t, s);
	if ((all && t->calls) || s->view == TOP_CALLS)
		print_calls(f, t, s);
}
