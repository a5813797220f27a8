/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of torus run at the end, on stderr, because stdout belongs to the program. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "tools/draw.h"
#include "tools/job.h"
#include "tools/json.h"

/* Print the tasks of a host as ranges: "0-3,8-11", at most eight of them. */
static void print_tasks(FILE *f, const struct plan *p, uint32_t host)
{
	unsigned ranges = 0, count = 0;

	for (uint32_t i = 0; i < p->tasks; i++)
		count += p->task_host[i] == host;
	fprintf(f, "%u task%s", count, count == 1 ? " " : "s");
	for (uint32_t i = 0; i < p->tasks; i++) {
		uint32_t end = i;

		if (p->task_host[i] != host)
			continue;
		while (end + 1 < p->tasks && p->task_host[end + 1] == host)
			end++;
		if (++ranges > 8) {
			fprintf(f, ",...");
			return;
		}
		fprintf(f, end > i ? "%s%u-%u" : "%s%u", ranges == 1 ? " " : ",", i, end);
		i = end;
	}
}

static const char *port_of(const struct job *j, uint32_t host)
{
	return j->agent[host].port ? j->agent[host].port : j->plan->host[host].port;
}

static void print_hosts(FILE *f, const struct job *j)
{
	char where[160];

	for (uint32_t i = 0; i < j->plan->hosts; i++) {
		const char *b = &"()[]{}<>"[2 * (i < 4 ? i : 3)];

		fprintf(f, "  %c%c  host %-12s ", b[0], b[1],
			plan_host_text(j->plan, i, where, sizeof where));
		print_tasks(f, j->plan, i);
		if (j->plan->hosts > 1)
			fprintf(f, ", port %s", port_of(j, i));
		fputc('\n', f);
	}
}

/* Fill in the host of each node, for its bracket. Nodes without tasks count as those of host 0. */
static uint16_t *hosts_of_nodes(const struct plan *p)
{
	uint16_t *host = calloc(emu_shape_nodes(&p->shape), sizeof *host);

	for (uint32_t i = 0; host && i < p->tasks; i++)
		host[emu_coord_node(&p->shape, &p->coords[i])] = p->task_host[i];
	return host;
}

/* What the checksums of all links say. */
struct verdict {
	uint32_t equal, differ;
	uint32_t open; /* links on which packets were under way when the job ended */
};

/* Compare both ends of each link; fn is called for those that differ. */
static struct verdict compare_sums(const struct job *j,
				   void (*fn)(FILE *f, uint32_t node, unsigned link, bool first),
				   FILE *f)
{
	struct verdict v = {0};

	for (uint32_t i = 0; i < emu_shape_nodes(&j->plan->shape) * EMU_LINKS; i++) {
		uint32_t node = i / EMU_LINKS, link = i % EMU_LINKS,
			 to = emu_node_neighbour(&j->plan->shape, node, link);
		const struct emu_link_end *sent = &j->sums[i].sent, *received;

		if (to == UINT32_MAX)
			continue;
		received = &j->sums[to * EMU_LINKS + emu_link_opposite(link)].received;
		if (!sent->packets && !received->packets)
			continue;
		if (sent->packets != received->packets) {
			v.open++;
		} else if (sent->sum == received->sum) {
			v.equal++;
		} else {
			fn(f, node, link, !v.differ);
			v.differ++;
		}
	}
	return v;
}

static void print_link(FILE *f, uint32_t node, unsigned link, bool first)
{
	(void)first;
	fprintf(f, "  link %c%c of node %u: the checksums of its ends differ\n",
		'A' + (int)emu_link_dim(link), emu_link_plus(link) ? '+' : '-', node);
}

static void print_json_link(FILE *f, uint32_t node, unsigned link, bool first)
{
	fprintf(f, "%s{\"node\": %u, \"link\": \"%c%c\"}", first ? "" : ", ", node,
		'A' + (int)emu_link_dim(link), emu_link_plus(link) ? '+' : '-');
}

static void print_sums(const struct job *j)
{
	struct verdict v = compare_sums(j, print_link, stderr);

	fprintf(stderr,
		"  checksums: equal at both ends of %u links, different at %u; packets were under "
		"way on %u\n",
		v.equal, v.differ, v.open);
}

static void print_json_sums(FILE *f, const struct job *j)
{
	struct verdict v;

	fprintf(f, ", \"checksums\": {\"differ\": [");
	v = compare_sums(j, print_json_link, f);
	fprintf(f, "], \"equal\": %u, \"under_way\": %u}", v.equal, v.open);
}

void job_report(const struct job *j)
{
	const struct plan *p = j->plan;
	uint16_t *node_host = hosts_of_nodes(p);
	struct draw d;
	char shape[64];

	emu_shape_print(&p->shape, shape, sizeof shape);
	fprintf(stderr,
		"\ntorus run: %u task%s on %u node%s (%s, mapping %s), %u host%s, fabric %s, clock "
		"%s, seed %llu, "
		"%.3f s\n",
		p->tasks, p->tasks > 1 ? "s" : "", emu_shape_nodes(&p->shape),
		emu_shape_nodes(&p->shape) > 1 ? "s" : "", shape, p->mapping, p->hosts,
		p->hosts > 1 ? "s" : "", p->fabric == MU_FABRIC_TORUS ? "torus" : "express",
		p->clock == MU_CLOCK_VIRTUAL ? "virtual" : "real", (unsigned long long)p->seed,
		(double)(j->ended_ns - j->started_ns) / 1e9);
	print_hosts(stderr, j);
	if (p->seal && p->hosts > 1)
		fprintf(stderr, "  frames between hosts are %s\n", drv_seal_text(p->seal));
	draw_init(&d, &p->shape, j->links);
	d.node_host = node_host;
	fputc('\n', stderr);
	draw_torus(stderr, &d);
	if (emu_shape_nodes(&p->shape) > 1) {
		fputc('\n', stderr);
		draw_table(stderr, &d);
	}
	if (j->sums && p->fabric == MU_FABRIC_TORUS)
		print_sums(j);
	if (p->fabric == MU_FABRIC_EXPRESS && p->clock == MU_CLOCK_VIRTUAL)
		fprintf(stderr, "  (fabric express in virtual time counts no links)\n");
	else if (p->fabric == MU_FABRIC_EXPRESS && emu_shape_nodes(&p->shape) > 1)
		fprintf(stderr,
			"  (fabric express: what the links would have carried, in one step)\n");
	free(node_host);
}

static void print_json_links(FILE *f, const struct job *j)
{
	const char *comma = "";

	fprintf(f, ", \"links\": [");
	for (uint32_t i = 0; i < emu_shape_nodes(&j->plan->shape) * EMU_LINKS; i++) {
		const struct emu_link_stat *s = &j->links[i];

		if (!s->packets)
			continue;
		fprintf(f,
			"%s{\"node\": %u, \"link\": \"%c%c\", \"packets\": %llu, \"bytes\": %llu, "
			"\"errors\": %llu, \"class_route_packets\": %llu",
			comma, i / EMU_LINKS, 'A' + (int)emu_link_dim(i % EMU_LINKS),
			emu_link_plus(i % EMU_LINKS) ? '+' : '-', (unsigned long long)s->packets,
			(unsigned long long)s->bytes, (unsigned long long)s->errors,
			(unsigned long long)(s->on[EMU_ON_CLASS_WORLD] + s->on[EMU_ON_CLASS_SUB]));
		if (j->plan->fabric == MU_FABRIC_TORUS) {
			fprintf(f, ", \"channels\": ");
			draw_json_channels(f, s);
		}
		fputc('}', f);
		comma = ", ";
	}
	fprintf(f, "]");
}

void job_report_json(FILE *f, const struct job *j)
{
	const struct plan *p = j->plan;
	const struct job_virtual *v = &j->virt;
	const struct emu_shape *s = &p->shape;
	char where[160];

	fprintf(f,
		"{\"status\": %d, \"tasks\": %u, \"shape\": [%u, %u, %u, %u, %u], "
		"\"processes_per_node\": %u, "
		"\"fabric\": \"%s\", \"clock\": \"%s\", \"seed\": %llu, \"seconds\": %.6f, "
		"\"mapping\": ",
		j->status, p->tasks, s->n[0], s->n[1], s->n[2], s->n[3], s->n[4], s->t,
		p->fabric == MU_FABRIC_TORUS ? "torus" : "express",
		p->clock == MU_CLOCK_VIRTUAL ? "virtual" : "real", (unsigned long long)p->seed,
		(double)(j->ended_ns - j->started_ns) / 1e9);
	json_print_text(f, p->mapping);
	fprintf(f, ", \"seal\": \"%s\", \"hosts\": [", drv_seal_text(p->seal));
	for (uint32_t i = 0; i < p->hosts; i++) {
		unsigned count = 0;

		for (uint32_t t = 0; t < p->tasks; t++)
			count += p->task_host[t] == i;
		fprintf(f, "%s{\"name\": ", i ? ", " : "");
		json_print_text(f, plan_host_text(p, i, where, sizeof where));
		fprintf(f, ", \"tasks\": %u, \"port\": ", count);
		json_print_text(f, port_of(j, i));
		fprintf(f, "}");
	}
	fprintf(f, "]");
	print_json_links(f, j);
	if (j->sums && p->fabric == MU_FABRIC_TORUS)
		print_json_sums(f, j);
	if (v->known)
		fprintf(f,
			", \"virtual\": {\"us\": %.6f, \"events\": %llu, \"packets\": %llu, "
			"\"hops\": %llu, "
			"\"reproducible\": %s, \"hash\": \"%016llx\", \"simulator_seconds\": %.6f, "
			"\"tasks_seconds\": %.6f}",
			(double)v->ps / 1e6, (unsigned long long)v->events,
			(unsigned long long)v->packets, (unsigned long long)v->hops,
			v->reproducible ? "true" : "false", (unsigned long long)v->hash,
			(double)v->events_ns / 1e9, (double)v->tasks_ns / 1e9);
	fprintf(f, "}");
}

void job_report_virtual(const struct job *j)
{
	const struct job_virtual *v = &j->virt;
	double events_s = (double)v->events_ns / 1e9;

	fprintf(stderr, "torus run: virtual time %.3f us, %llu events, %llu packets, %llu hops, ",
		(double)v->ps / 1e6, (unsigned long long)v->events, (unsigned long long)v->packets,
		(unsigned long long)v->hops);
	if (v->reproducible)
		fprintf(stderr, "hash %016llx\n", (unsigned long long)v->hash);
	else
		fprintf(stderr, "not reproducible: no hash\n");
	if (j->plan->report)
		fprintf(stderr,
			"  simulator %.3f s of %.3f s (%.2f M packet-hops/s), the rest was "
			"the tasks' own time\n",
			events_s, events_s + (double)v->tasks_ns / 1e9,
			events_s > 0 ? (double)v->hops / events_s / 1e6 : 0.0);
}
