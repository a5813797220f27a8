/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/settings.h"
#include "drivers/port.h"
#include "emu/faults.h"
#include "emu/part.h"

__attribute__((format(printf, 2, 3))) static int fail_with(char *err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(err, PLAN_ERR_BYTES, format, ap);
	va_end(ap);
	return -EINVAL;
}

static int host_parse(char *word, struct plan_host *h, char *err)
{
	char *port = strchr(word, '=');
	const char *name = "";

	if (port)
		*port++ = 0;
	if (!strcmp(word, "local")) {
		h->kind = PLAN_HOST_LOCAL;
	} else if (!strncmp(word, "netns:", 6)) {
		h->kind = PLAN_HOST_NETNS;
		name = word + 6;
	} else if (!strncmp(word, "ssh:", 4)) {
		h->kind = PLAN_HOST_SSH;
		name = word + 4;
	} else if (!strncmp(word, "slurm:", 6)) {
		h->kind = PLAN_HOST_SLURM;
		name = word + 6;
	} else {
		return fail_with(err,
				 "--hosts: '%s' is no host; write local, netns:NAME, ssh:HOST or "
				 "slurm:NODE, each with "
				 "an optional =PORT",
				 word);
	}
	if (h->kind != PLAN_HOST_LOCAL && (!*name || *name == '-' || strchr(name, '/')))
		return fail_with(err, "--hosts: '%s' lacks a name; write netns:NAME or ssh:HOST",
				 word);
	if (port && !*port)
		return fail_with(err,
				 "--hosts: '%s=' lacks a port; write for example %s=uring:10.0.0.1",
				 word, word);
	if (strlen(name) >= sizeof h->name || (port && strlen(port) >= sizeof h->port))
		return fail_with(
		    err, "--hosts: '%s' is too long; names have at most %zu, ports %zu characters",
		    word, sizeof h->name - 1, sizeof h->port - 1);
	strcpy(h->name, name);
	strcpy(h->port, port ? port : "");
	return 0;
}

int plan_hosts_parse(const char *text, struct plan_host **hosts, char *err)
{
	char *copy = strdup(text), *part, *save = NULL;
	struct plan_host *list = calloc(MU_HOSTS_MAX, sizeof *list);
	int n = 0, rc = 0;

	if (!copy || !list) {
		free(copy);
		free(list);
		return fail_with(err, "--hosts: no memory");
	}
	for (part = strtok_r(copy, ";", &save); part && !rc; part = strtok_r(NULL, ";", &save)) {
		/* Commas separate hosts only up to the first port. After '=' they belong to the
		 * port. */
		while (part && !rc) {
			char *end = part + strcspn(part, ",="), *next = NULL;

			if (*end == ',') {
				*end = 0;
				next = end + 1;
			}
			if (n == MU_HOSTS_MAX) {
				rc = fail_with(err, "--hosts: more than %d hosts", MU_HOSTS_MAX);
				break;
			}
			rc = host_parse(part, &list[n], err);
			n++;
			part = next;
		}
	}
	if (!rc && !n)
		rc = fail_with(err, "--hosts is empty; write for example --hosts local,local");
	free(copy);
	if (rc) {
		free(list);
		return rc;
	}
	*hosts = list;
	return n;
}

/*
 * Choose the ports through which hosts reach each other. If the user named none, that is shared
 * memory where all hosts are this machine. Otherwise the port stays "" (after a fault,
 * "fault(...)+"), and the agent completes it on its host.
 */
static int ports_make(struct plan *p, const char *fault, char *err)
{
	char spec[sizeof p->host->port];
	bool is_all_local = true;

	if (p->hosts == 1 && fault)
		return fail_with(
		    err, "--fault: one host has no wire to break; give two or more, for example "
			 "--hosts local,local, or a fault file with --fabric torus");
	if (p->clock == MU_CLOCK_VIRTUAL || p->hosts == 1)
		return 0;
	for (uint32_t i = 0; i < p->hosts; i++)
		is_all_local &= p->host[i].kind == PLAN_HOST_LOCAL;
	for (uint32_t i = 0; i < p->hosts; i++) {
		struct plan_host *h = &p->host[i];

		if (!h->port[0] && is_all_local)
			strcpy(h->port, "shm:");
		if (!fault)
			continue;
		if ((size_t)snprintf(spec, sizeof spec, "fault(%s)+%s", fault, h->port) >=
		    sizeof spec)
			return fail_with(err, "--fault: with port %s longer than %zu characters",
					 h->port, sizeof spec - 1);
		strcpy(h->port, spec);
	}
	return 0;
}

/* Default: authenticate frames where others can send some. */
static enum drv_seal_kind seal_default(const struct plan *p)
{
	static const enum drv_port_place place[] = {
	    [PLAN_HOST_LOCAL] = DRV_PORT_ON_THIS_MACHINE,
	    [PLAN_HOST_NETNS] = DRV_PORT_IN_NAMESPACE,
	    [PLAN_HOST_SSH] = DRV_PORT_ELSEWHERE,
	    [PLAN_HOST_SLURM] = DRV_PORT_ELSEWHERE,
	};

	for (uint32_t i = 0; p->hosts > 1 && i < p->hosts; i++)
		if (drv_port_is_reachable(p->host[i].port, place[p->host[i].kind]))
			return DRV_SEAL_AUTHENTICATED;
	return DRV_SEAL_NONE;
}

/* Without a shape: one node per host, with its tasks as T. With the virtual clock: a node per task.
 */
static int shape_default(struct plan *p, char *err)
{
	uint32_t per_host = (p->tasks + p->hosts - 1) / p->hosts, nodes, t;

	if (p->clock == MU_CLOCK_VIRTUAL || p->fabric == MU_FABRIC_TORUS) {
		t = 1;
		nodes = p->tasks;
	} else {
		uint32_t nodes_per_host = (per_host + 63) / 64;

		t = (per_host + nodes_per_host - 1) / nodes_per_host;
		nodes = nodes_per_host * p->hosts;
	}
	emu_shape_default(nodes, t, &p->shape);
	if ((uint64_t)emu_shape_nodes(&p->shape) * p->shape.t < p->tasks)
		return fail_with(
		    err, "-n %u: no shape of its own for that many tasks; give --shape", p->tasks);
	return 0;
}

static int shape_make(struct plan *p, const struct plan_request *w, char *err)
{
	char text[64];
	uint32_t nodes;

	if (!w->shape) {
		int rc = shape_default(p, err);

		p->shape.mesh |= w->mesh;
		return rc;
	}
	if (emu_shape_parse(w->shape, &p->shape, err, PLAN_ERR_BYTES))
		return -EINVAL;
	p->shape.mesh |= w->mesh;
	nodes = emu_shape_nodes(&p->shape);
	if (p->hosts > nodes)
		return fail_with(
		    err,
		    "%u hosts but %u nodes in shape %s: every host carries whole nodes; give "
		    "fewer hosts or a larger shape",
		    p->hosts, nodes, w->shape);
	/* AxBxCxDxE without T: use as many processes per node as the tasks need. */
	if (strspn(w->shape, "0123456789xXM") == strlen(w->shape) && p->shape.t <= 1 &&
	    w->tasks > nodes) {
		int extents = 1;

		for (const char *s = w->shape; *s; s++)
			extents += *s == 'x' || *s == 'X';
		if (extents == EMU_DIMS) {
			if ((w->tasks + nodes - 1) / nodes > 64)
				return fail_with(
				    err,
				    "-n %u does not fit shape %s: at most %u (64 on each node)",
				    w->tasks, w->shape, nodes * 64);
			p->shape.t = (uint8_t)((w->tasks + nodes - 1) / nodes);
		}
	}
	if (!w->tasks)
		p->tasks = nodes * p->shape.t;
	emu_shape_print(&p->shape, text, sizeof text);
	if (p->tasks > nodes * p->shape.t)
		return fail_with(
		    err,
		    "-n %u does not fit shape %s, which has %u places; give a larger shape or T",
		    p->tasks, text, nodes * p->shape.t);
	return 0;
}

static int clock_check(const struct plan *p, char *err)
{
	if (p->clock != MU_CLOCK_VIRTUAL)
		return 0;
	if (p->hosts > 1 || plan_host_is_remote(&p->host[0]))
		return fail_with(
		    err, "--clock virtual runs on one host, this machine; leave out --hosts");
	return 0;
}

/* Assign each task to the host of its node. */
static int hosts_assign(struct plan *p, char *err)
{
	uint16_t *host_of = calloc(emu_shape_nodes(&p->shape), sizeof *host_of);

	if (!host_of)
		return fail_with(err, "no memory for %u nodes", emu_shape_nodes(&p->shape));
	emu_part_blocks(&p->shape, p->hosts, host_of);
	for (uint32_t i = 0; i < p->tasks; i++)
		p->task_host[i] = host_of[emu_coord_node(&p->shape, &p->coords[i])];
	free(host_of);
	return 0;
}

/* Check the script, so that no agent has to. */
static int script_check(const struct plan *p, char *err)
{
	char why[400];
	struct emu_faults f;
	int rc = emu_faults_parse(p->script, &p->shape, p->tasks, p->hosts, p->seed, &f, why,
				  sizeof why);

	if (rc)
		return fail_with(err, "--fault: %s", why);
	emu_faults_free(&f);
	return 0;
}

/*
 * --fault SPEC, or a file that says the same and more. The file, and a SPEC of deaths and cuts, are
 * a script (emu/faults.h); other SPECs are for the ports between hosts.
 */
static int faults_make(struct plan *p, const char *fault, char *err)
{
	bool is_virtual = p->clock == MU_CLOCK_VIRTUAL;
	const struct fault_job job = {&p->shape, is_virtual, p->fabric == MU_FABRIC_TORUS,
				      p->hosts};
	char seed[32];
	struct fault *f;
	int rc;

	if (fault && (!strncmp(fault, "kill=", 5) || !strncmp(fault, "cut=", 4))) {
		if ((size_t)snprintf(p->script, sizeof p->script, "%s", fault) >= sizeof p->script)
			return fail_with(err, "--fault: longer than %zu characters",
					 sizeof p->script - 1);
		if (fault[0] == 'c' && p->fabric != MU_FABRIC_TORUS)
			return fail_with(
			    err, "--fault %s: this job has no links; give --fabric torus", fault);
		rc = script_check(p, err);
		return rc ? rc : ports_make(p, NULL, err);
	}
	if (fault && is_virtual && strchr(fault, '='))
		return fail_with(err,
				 "--fault '%s': in virtual time give kill=TASK@MICROSECONDS,..., "
				 "or a fault file",
				 fault);
	if (!fault || !*fault || strchr(fault, '='))
		return ports_make(p, fault && *fault ? fault : NULL, err);
	f = calloc(1, sizeof *f);
	if (!f)
		return fail_with(err, "--fault: no memory");
	rc = fault_read(fault, &job, f, err, PLAN_ERR_BYTES);
	snprintf(p->script, sizeof p->script, "%s", f->script);
	if (!rc)
		rc = script_check(p, err);
	snprintf(seed, sizeof seed, "seed=%llu", (unsigned long long)f->seed);
	if (!rc)
		rc = ports_make(p, f->on_wires ? seed : NULL, err);
	free(f);
	return rc;
}

int plan_make(struct plan *p, const struct plan_request *w, char *err)
{
	int rc, hosts;

	hosts = plan_hosts_parse(w->hosts ? w->hosts : "local", &p->host, err);
	if (hosts < 0)
		return hosts;
	p->hosts = (uint32_t)hosts;
	p->tasks = w->tasks ? w->tasks : p->hosts;
	p->clock = w->clock < 0 ? MU_CLOCK_REAL : (enum mu_clock)w->clock;
	p->fabric = w->fabric >= 0                 ? (enum mu_fabric)w->fabric
		    : p->clock == MU_CLOCK_VIRTUAL ? MU_FABRIC_TORUS
						   : MU_FABRIC_EXPRESS;
	snprintf(p->mapping, sizeof p->mapping, "%s", w->mapping ? w->mapping : "ABCDET");

	p->seal = w->seal < 0 ? seal_default(p) : (enum drv_seal_kind)w->seal;
	p->on_death = w->on_death;
	p->silence_ms = (uint32_t)drv_setting_number(DRV_QUINTORUS_SILENCE) * 1000;
	p->bind = w->bind;

	rc = clock_check(p, err);
	if (!rc)
		rc = shape_make(p, w, err);
	if (!rc)
		rc = faults_make(p, w->fault, err);
	if (rc)
		return rc;
	if (p->tasks > PLAN_TASKS_MAX)
		return fail_with(err, "%u tasks: at most %u", p->tasks, PLAN_TASKS_MAX);
	p->coords = calloc(p->tasks, sizeof *p->coords);
	p->task_host = calloc(p->tasks, sizeof *p->task_host);
	if (!p->coords || !p->task_host)
		return fail_with(err, "no memory for %u tasks", p->tasks);
	if (emu_map_tasks(&p->shape, p->mapping, p->tasks, p->coords, err, PLAN_ERR_BYTES))
		return -EINVAL;
	return hosts_assign(p, err);
}

void plan_free(struct plan *p)
{
	if (p->owned) {
		for (uint32_t i = 0; p->argv && i < p->argc; i++)
			free(p->argv[i]);
		free(p->argv);
		free(p->hw);
		free(p->directory);
	}
	free(p->host);
	free(p->coords);
	free(p->task_host);
	memset(p, 0, sizeof *p);
}

const char *plan_host_text(const struct plan *p, uint32_t host, char *text, size_t bytes)
{
	static const char *const kind[] = {"local", "netns ", "ssh ", "slurm "};
	const struct plan_host *h = &p->host[host];

	if (h->kind == PLAN_HOST_LOCAL && p->hosts > 1)
		snprintf(text, bytes, "local %u", host);
	else
		snprintf(text, bytes, "%s%s", kind[h->kind], h->name);
	return text;
}

const char *plan_task_coords(const struct plan *p, uint32_t task, char *text, size_t bytes)
{
	const struct emu_coord *x = &p->coords[task];

	snprintf(text, bytes, "(%u,%u,%u,%u,%u,%u)", x->c[0], x->c[1], x->c[2], x->c[3], x->c[4],
		 x->t);
	return text;
}

void plan_encode(const struct plan *p, uint32_t host, struct ctl_buf *b)
{
	ctl_put_u32(b, CTL_VERSION);
	ctl_put_u32(b, host);
	ctl_put_u32(b, p->tasks);
	ctl_put_u32(b, p->hosts);
	ctl_put_u32(b, p->argc);
	ctl_put_u32(b, p->clock);
	ctl_put_u32(b, p->fabric);
	ctl_put_u32(b, (uint32_t)p->tag);
	ctl_put_u32(b, (uint32_t)p->report);
	ctl_put_u32(b, p->html != NULL);
	ctl_put_u32(b, p->on_death);
	ctl_put_u32(b, p->silence_ms);
	ctl_put_u32(b, p->seal);
	ctl_put_bytes(b, p->key, sizeof p->key);
	ctl_put_u64(b, p->job);
	ctl_put_u64(b, p->seed);
	ctl_put_bytes(b, &p->shape, sizeof p->shape);
	ctl_put_bytes(b, p->coords, p->tasks * sizeof *p->coords);
	ctl_put_bytes(b, p->task_host, p->tasks * sizeof *p->task_host);
	for (uint32_t i = 0; i < p->hosts; i++) {
		ctl_put_u32(b, p->host[i].kind);
		ctl_put_text(b, p->host[i].name);
		ctl_put_text(b, p->host[i].port);
	}
	ctl_put_text(b, p->mapping);
	ctl_put_text(b, p->capture);
	ctl_put_text(b, p->trace);
	ctl_put_text(b, p->script);
	ctl_put_text(b, p->hw);
	ctl_put_text(b, p->directory);
	for (uint32_t i = 0; i < p->argc; i++)
		ctl_put_text(b, p->argv[i]);
}

static void get_copy(struct ctl_msg *m, void *to, size_t bytes)
{
	const void *from = ctl_get_bytes(m, bytes);

	if (from && to)
		memcpy(to, from, bytes);
	else
		m->bad = true;
}

static void get_text(struct ctl_msg *m, char *to, size_t bytes)
{
	const char *text = ctl_get_text(m);

	if (strlen(text) >= bytes)
		m->bad = true;
	else
		strcpy(to, text);
}

/* May a machine have this shape, and do the tasks lie in it and on hosts of the job? */
static bool places_are_sound(const struct plan *p)
{
	const struct emu_shape *s = &p->shape;

	for (uint32_t i = 0; i < p->tasks; i++) {
		for (unsigned d = 0; d < EMU_DIMS; d++)
			if (p->coords[i].c[d] >= s->n[d])
				return false;
		if (p->coords[i].t >= s->t || p->task_host[i] >= p->hosts)
			return false;
	}
	return true;
}

static bool shape_is_sound(const struct emu_shape *s)
{
	for (unsigned d = 0; d < EMU_DIMS; d++)
		if (s->n[d] < 1 || s->n[d] > 64)
			return false;
	return s->t >= 1 && s->t <= 64 && s->mesh < 1u << EMU_DIMS;
}

int plan_decode(struct plan *p, uint32_t *host, struct ctl_msg *m)
{
	memset(p, 0, sizeof *p);
	p->owned = true;
	if (ctl_get_u32(m) != CTL_VERSION)
		return -EPROTO;
	*host = ctl_get_u32(m);
	p->tasks = ctl_get_u32(m);
	p->hosts = ctl_get_u32(m);
	p->argc = ctl_get_u32(m);
	p->clock = ctl_get_u32(m);
	p->fabric = ctl_get_u32(m);
	p->tag = ctl_get_u32(m) != 0;
	p->report = (int)ctl_get_u32(m);
	p->html = ctl_get_u32(m) ? "" : NULL;
	p->on_death = ctl_get_u32(m);
	p->silence_ms = ctl_get_u32(m);
	p->seal = ctl_get_u32(m);
	get_copy(m, p->key, sizeof p->key);
	p->job = ctl_get_u64(m);
	p->seed = ctl_get_u64(m);
	get_copy(m, &p->shape, sizeof p->shape);
	if (m->bad || p->seal >= DRV_SEAL_KINDS || p->clock > MU_CLOCK_VIRTUAL ||
	    p->fabric > MU_FABRIC_TORUS || p->on_death > MU_ON_DEATH_ERROR ||
	    !shape_is_sound(&p->shape) || !p->tasks || p->tasks > PLAN_TASKS_MAX || !p->hosts ||
	    p->hosts > MU_HOSTS_MAX || *host >= p->hosts || !p->argc ||
	    p->argc > m->bytes / 5) /* an argument has its length and a zero byte */
		return -EPROTO;
	p->coords = calloc(p->tasks, sizeof *p->coords);
	p->task_host = calloc(p->tasks, sizeof *p->task_host);
	p->host = calloc(p->hosts, sizeof *p->host);
	p->argv = calloc(p->argc + 1, sizeof *p->argv);
	if (!p->coords || !p->task_host || !p->host || !p->argv)
		return -EPROTO;
	get_copy(m, p->coords, p->tasks * sizeof *p->coords);
	get_copy(m, p->task_host, p->tasks * sizeof *p->task_host);
	for (uint32_t i = 0; i < p->hosts; i++) {
		p->host[i].kind = ctl_get_u32(m);
		get_text(m, p->host[i].name, sizeof p->host[i].name);
		get_text(m, p->host[i].port, sizeof p->host[i].port);
	}
	get_text(m, p->mapping, sizeof p->mapping);
	get_text(m, p->capture, sizeof p->capture);
	get_text(m, p->trace, sizeof p->trace);
	get_text(m, p->script, sizeof p->script);
	p->hw = strdup(ctl_get_text(m));
	p->directory = strdup(ctl_get_text(m));
	for (uint32_t i = 0; i < p->argc && !m->bad; i++)
		p->argv[i] = strdup(ctl_get_text(m));
	return m->bad || !places_are_sound(p) ? -EPROTO : 0;
}
