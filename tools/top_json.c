/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of torus top as one object of JSON. */
#include <stdlib.h>

#include "tools/draw.h"
#include "tools/json.h"
#include "tools/top.h"
#include "tools/waits.h"

static void print_facts(FILE *f, const struct top *t)
{
	static const char *const texts[] = {"program", "shape", "clock", "fabric"};
	static const char *const numbers[] = {"tasks", "hosts"};
	const struct drv_stat_view *v = &t->job.host[0];

	fprintf(f,
		"{\"job\": \"%016llx\", \"live\": %s, \"ended\": %s, \"started\": %.3f, "
		"\"sampled\": %.3f, \"seconds\": %.6f",
		(unsigned long long)t->job.job, runs_is_live(&t->job) ? "true" : "false",
		atomic_load_relaxed(&v->head.ended) ? "true" : "false",
		(double)v->head.started_ns / 1e9, (double)t->at_ns / 1e9,
		(double)(t->at_ns - t->before_ns) / 1e9);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		fprintf(f, ", \"%s\": ", texts[i]);
		json_print_text(f, drv_stat_view_fact(v, texts[i]));
	}
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		fprintf(f, ", \"%s\": %u", numbers[i],
			(unsigned)strtoul(drv_stat_view_fact(v, numbers[i]), NULL, 10));
}

/* The last members of a task's object, and its end. */
static void print_waits(FILE *f, const struct top *t, const struct top_task *k)
{
	fprintf(f, "\"waits_in\": ");
	json_print_text(f, waits_name(k->what));
	if (k->waits_for == UINT32_MAX)
		fprintf(f, ", \"waits_for\": null");
	else
		fprintf(f, ", \"waits_for\": %u", k->waits_for);
	for (uint32_t i = 0; i < t->calls; i++)
		if (t->call[i].task == k->task) {
			fprintf(f, ", \"call\": ");
			json_print_text(f, t->call[i].text);
		}
	fputc('}', f);
}

/* The hosts of this machine and their drivers, which hosts without wires lack. */
static void print_hosts(FILE *f, const struct top *t)
{
	fprintf(f, "], \"host\": [");
	for (uint32_t i = 0; i < t->job.hosts; i++) {
		const char *driver;

		fprintf(f, "%s{\"host\": %u, \"driver\": ", i ? ", " : "", runs_host(&t->job, i));
		driver = drv_stat_view_fact(&t->job.host[i], "driver");
		if (driver[0])
			json_print_text(f, driver);
		else
			fprintf(f, "null");
		fputc('}', f);
	}
}

void top_print_json(FILE *f, const struct top *t)
{
	const char *comma = "";

	print_facts(f, t);
	fprintf(f, ", \"task\": [");
	for (uint32_t i = 0; i < t->tasks; i++) {
		const struct top_task *k = &t->task[i];

		fprintf(f,
			"%s{\"task\": %u, \"state\": %u, \"waits\": %.4f, \"received\": %llu, "
			"\"receives\": %.1f, \"injected\": %llu, \"injecting\": %llu, "
			"\"arena_bytes\": %llu, \"pid\": %u, \"collectives\": %llu, "
			"\"collectives_done\": %llu, \"commthread_events\": %llu, "
			"\"commthread_sleeps\": %llu, \"commthread_busy\": %.4f, ",
			i ? ", " : "", k->task, k->state, k->waits, (unsigned long long)k->received,
			k->receives, (unsigned long long)k->injected,
			(unsigned long long)k->injecting, (unsigned long long)k->arena_bytes,
			k->pid, (unsigned long long)k->collectives,
			(unsigned long long)k->collectives_done, (unsigned long long)k->comm_events,
			(unsigned long long)k->comm_sleeps, k->comm_busy);
		print_waits(f, t, k);
	}
	fprintf(f, "], \"link\": [");
	for (uint32_t i = 0; i < t->nodes * EMU_LINKS; i++) {
		const struct emu_link_stat *l = &t->link[i], *r = &t->rate[i];

		if (!l->packets)
			continue;
		fprintf(f,
			"%s{\"node\": %u, \"link\": \"%c%c\", \"packets\": %llu, \"bytes\": %llu, "
			"\"stalls\": %llu, \"queued_max\": %llu, \"packets_rate\": %llu, "
			"\"bytes_rate\": %llu}",
			comma, i / EMU_LINKS, 'A' + (int)emu_link_dim(i % EMU_LINKS),
			emu_link_plus(i % EMU_LINKS) ? '+' : '-', (unsigned long long)l->packets,
			(unsigned long long)l->bytes, (unsigned long long)l->stalls,
			(unsigned long long)l->queued_max, (unsigned long long)r->packets,
			(unsigned long long)r->bytes);
		comma = ", ";
	}
	fprintf(f, "], \"channels\": ");
	draw_json_channels(f, &t->channels);
	fprintf(f, ", \"channel_rates\": ");
	draw_json_channels(f, &t->channel_rates);
	fprintf(f, ", \"wire\": [");
	for (uint32_t i = 0; i < t->wires; i++) {
		const struct top_wire *w = &t->wire[i];

		fprintf(f,
			"%s{\"host\": %u, \"peer\": %u, \"connected\": %s, \"tx_frames\": %llu, "
			"\"rx_frames\": %llu, \"tx_bytes\": %llu, \"rx_bytes\": %llu, "
			"\"resent\": %llu, \"duplicates\": %llu, \"out_of_order\": %llu, "
			"\"bad\": %llu, \"rtt_ns\": %llu, \"window\": %llu, \"tx_rate\": %.1f, "
			"\"rx_rate\": %.1f}",
			i ? ", " : "", w->host, w->peer, w->connected ? "true" : "false",
			(unsigned long long)w->tx_frames, (unsigned long long)w->rx_frames,
			(unsigned long long)w->tx_bytes, (unsigned long long)w->rx_bytes,
			(unsigned long long)w->resent, (unsigned long long)w->duplicates,
			(unsigned long long)w->out_of_order, (unsigned long long)w->bad,
			(unsigned long long)w->rtt_ns, (unsigned long long)w->window, w->tx_rate,
			w->rx_rate);
	}
	print_hosts(f, t);
	fprintf(f, "]}\n");
}
