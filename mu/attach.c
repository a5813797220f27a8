/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joining the job: find the host segment (torus run's, else what another launcher's tasks agree on,
 * else a job of one made here), say where we
 * mapped it, open the port if it is ours to hold, start the engine thread.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "mu/commthread.h"
#include "mu/holder.h"
#include "mu/launch.h"
#include "mu/live.h"
#include "mu/process.h"
#include "mu/vtask.h"

struct mu_process mu_self;
static uint32_t attach_lock;

void mu_lock_slow(uint32_t *lock)
{
	for (unsigned i = 0; !mu_try(lock); i++) {
		if (i % 64 == 63)
			sched_yield();
		else
			drv_cpu_relax();
	}
}

static int number_from(const char *name, unsigned long max, unsigned long *value)
{
	const char *text = getenv(name);
	char *end;

	if (!text)
		return -ENOENT;
	errno = 0;
	*value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *value > max) {
		drv_error("%s is \"%s\", expected a number up to %lu: leave it to torus run", name, text, max);
		return -EINVAL;
	}
	return 0;
}

/* No launcher: a job of one task. */
static int make_single(struct mu_process *p)
{
	struct emu_coord at = { 0 };
	uint16_t host = 0;
	struct mu_host_conf conf = { .job = (uint64_t)getpid() << 32 ^ drv_clock_ns(), .seed = 1, .tasks = 1,
		                     .hosts = 1, .shape = { { 1, 1, 1, 1, 1 }, 1, 0 }, .coords = &at,
		                     .task_host = &host };

	return mu_host_create(&conf, &p->host, &p->fd);
}

static int find_segment(struct mu_process *p)
{
	unsigned long fd, task;
	int rc = number_from(MU_ENV_SEGMENT, INT_MAX, &fd);

	if (rc == -ENOENT) {
		rc = mu_launch_join(&p->host, &p->fd, &p->task);
		if (rc != -ENOENT)
			return rc;
		p->single = 1;
		return make_single(p);
	}
	if (rc || (rc = number_from(MU_ENV_TASK, UINT32_MAX, &task)))
		return rc == -ENOENT ? (drv_error("%s is missing: leave it to torus run", MU_ENV_TASK), -EINVAL) : rc;
	rc = mu_host_map((int)fd, &p->host);
	if (rc)
		return rc;
	p->fd = (int)fd;
	p->task = (uint32_t)task;
	if (task >= p->host->tasks || mu_host_entry(p->host, p->task)->host != p->host->host) {
		drv_error("%s is %lu, but this host segment has no such task", MU_ENV_TASK, task);
		mu_host_unmap(p->host);
		return -EINVAL;
	}
	return 0;
}

static int fill_maps(struct mu_process *p)
{
	struct mu_host *h = p->host;
	uint32_t slots = emu_shape_nodes(&h->shape) * h->shape.t;

	p->entry = mu_host_entry(h, 0);
	p->tx = calloc((size_t)h->locals * h->channels, sizeof *p->tx);
	p->task_of = malloc(slots * sizeof *p->task_of);
	p->near = calloc(h->tasks, 1);
	p->group_list = malloc(h->tasks * sizeof *p->group_list);
	if (!p->tx || !p->task_of || !p->near || !p->group_list)
		return -ENOMEM;
	memset(p->task_of, 0xff, slots * sizeof *p->task_of);
	for (uint32_t i = 0; i < h->tasks; i++) {
		const struct mu_task_entry *e = &p->entry[i];

		p->task_of[e->node * h->shape.t + e->t] = i;
		p->near[i] = h->clock == MU_CLOCK_REAL &&
		             (h->fabric == MU_FABRIC_EXPRESS ? e->host == h->host :
		                                               e->node == p->entry[p->task].node);
	}
	return 0;
}

static int by_host(const struct mu_process *p)
{
	return !p->virtual_clock && p->host->fabric == MU_FABRIC_EXPRESS;
}

uint32_t mu_task_group(uint32_t task)
{
	const struct mu_process *p = &mu_self;

	return by_host(p) ? p->entry[task].host : p->entry[task].node;
}

static void fill_group(struct mu_process *p)
{
	struct mu_job *j = &p->job;
	uint32_t *less;

	j->group_tasks = 0;
	j->groups = by_host(p) ? p->host->hosts : j->nodes;
	for (uint32_t t = 0; t < p->host->tasks; t++)
		if (mu_task_group(t) == mu_task_group(p->task))
			p->group_list[j->group_tasks++] = t;
	less = realloc(p->group_list, j->group_tasks * sizeof *less);
	p->group_list = less ? less : p->group_list;
	j->group_list = p->group_list;
	j->crowded = (long)p->host->tasks > sysconf(_SC_NPROCESSORS_ONLN);
}

static void fill_job(struct mu_process *p)
{
	struct mu_job *j = &p->job;
	char name[64] = "host";
	uint32_t *slot = &p->task_of[p->entry[p->task].node * p->host->shape.t];

	j->task = p->task;
	j->tasks = p->host->tasks;
	j->shape = p->host->shape;
	j->nodes = emu_shape_nodes(&j->shape);
	j->node = p->entry[p->task].node;
	emu_node_coord(&j->shape, j->node, &j->coord);
	j->coord.t = p->entry[p->task].t;
	j->channels = p->channels;
	j->virtual_clock = p->virtual_clock;
	j->fabric_torus = p->host->fabric == MU_FABRIC_TORUS;
	j->id = p->host->job;
	j->seed = p->host->seed;
	j->local_tasks = 0;
	for (unsigned t = 0; t < j->shape.t; t++)
		if (slot[t] != UINT32_MAX)
			p->local_list[j->local_tasks++] = slot[t];
	/* Ascending whatever the mapping. */
	for (uint32_t i = 1; i < j->local_tasks; i++)
		for (uint32_t k = i; k && p->local_list[k - 1] > p->local_list[k]; k--) {
			size_t x = p->local_list[k];

			p->local_list[k] = p->local_list[k - 1];
			p->local_list[k - 1] = x;
		}
	j->local_list = p->local_list;
	fill_group(p);
	gethostname(name, sizeof name - 1);
	snprintf(j->processor_name, sizeof j->processor_name, "%s task %u node (%u,%u,%u,%u,%u) T %u", name,
	         j->task, j->coord.c[0], j->coord.c[1], j->coord.c[2], j->coord.c[3], j->coord.c[4], j->coord.t);
}

static void spin_policy(struct mu_process *p)
{
	const char *share = getenv("QUINTORUS_SHARE"), *lanes = getenv("QUINTORUS_LANES");
	cpu_set_t set;
	unsigned cpus = 1;

	if (!sched_getaffinity(0, sizeof set, &set))
		cpus = (unsigned)CPU_COUNT(&set);
	/* The hosts of one machine (namespaces) share its cores, if torus run has not shared them out. */
	p->sharers = getenv(MU_ENV_BOUND) ? p->host->locals : p->host->tasks;
	p->yields = p->sharers > cpus;
	p->spin_us = p->yields ? 300 : 200; /* a turn of all that run may take tens of us */
	/*
	 * An answer from another host takes 5 to 50 us, and who yields in every round trip gives a program that computes
	 * beside it a time slice (4 ms) each time they meet.
	 */
	p->yield_us = p->host->holder == MU_HOLDER_TASK ? 100 : 10;
	p->shares = !p->yields && !(share && !strcmp(share, "off"));
	p->lanes = !(lanes && !strcmp(lanes, "off"));
	mu_comm_init(p, cpus);
}

static void child_after_fork(void)
{
	/* The child is not a member: its calls fail and touch nothing that is shared. */
	mu_self.refs = 0;
	mu_self.forked = 1;
	mu_self.tasks = 0;
	mu_self.virtual_clock = 0;
	mu_self.holder = NULL;
	mu_self.live = NULL;
	mu_self.thread_runs = 0;
	memset(&mu_self.comm, 0, sizeof mu_self.comm);
	for (unsigned i = 0; i < MU_CHANNELS_MAX; i++)
		if (mu_self.channel[i])
			mu_self.channel[i]->engine = 1; /* locked for good */
}

static int join(struct mu_process *p)
{
	static int fork_handler;
	char name[32];
	int rc, connected;

	memset(p, 0, sizeof *p);
	rc = find_segment(p);
	if (rc)
		return rc;
	snprintf(name, sizeof name, "task %u", p->task);
	drv_log_name(name);
	/* A sole task's words are rung by its own threads, and by the agent when somebody died. */
	if (p->host->holder == MU_HOLDER_TASK)
		drv_wake_process_fences();
	else
		drv_wake_process_init();
	p->pid = getpid();
	p->channels = p->host->channels;
	p->tasks = p->host->tasks;
	p->own_host = (uint16_t)p->host->host;
	p->virtual_clock = p->host->clock == MU_CLOCK_VIRTUAL;
	rc = fill_maps(p);
	if (rc)
		goto err_maps;
	p->local = p->entry[p->task].local;
	p->area = mu_host_area(p->host, p->local);
	p->own_number = (uint32_t)p->entry[p->task].t * p->channels;
	fill_job(p);
	spin_policy(p);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* cross-memory attach among tasks under Yama */
	p->area->map_base = (uint64_t)(uintptr_t)p->host;
	p->area->pid = (uint32_t)p->pid;
	if (!fork_handler && !pthread_atfork(NULL, NULL, child_after_fork))
		fork_handler = 1;
	mu_virtual = p->virtual_clock;
	if (p->virtual_clock) {
		rc = mu_vt_attach(p->host, p->local);
		if (rc)
			goto err_maps;
	} else {
		if (p->host->fabric == MU_FABRIC_TORUS && (rc = mu_live_open(p->host, &p->live)))
			goto err_maps;
		if (p->host->holder == MU_HOLDER_TASK)
			rc = mu_holder_open(p->host, &p->holder);
		connected = mu_launch_connect(p->host, p->task);
		if (rc || (rc = connected))
			goto err_holder;
		rc = mu_thread_start(p);
		if (rc)
			goto err_holder;
	}
	__atomic_store_n(&p->area->state, MU_TASK_ATTACHED, __ATOMIC_RELEASE);
	return 0;

err_holder:
	mu_holder_close(p->holder, 0);
	mu_live_close(p->live);
err_maps:
	free(p->tx);
	free(p->task_of);
	free(p->near);
	free(p->group_list);
	mu_host_unmap(p->host);
	memset(p, 0, sizeof *p);
	return rc;
}

int mu_attach(const struct mu_job **job)
{
	struct mu_process *p = &mu_self;
	int rc = 0;

	if (p->forked)
		return -ECHILD;
	mu_lock(&attach_lock);
	if (!p->refs)
		rc = join(p);
	if (!rc) {
		p->refs++;
		*job = &p->job;
	}
	mu_unlock(&attach_lock);
	return rc;
}

/* Everything handed in must be beyond our help before we go. */
static void drain(struct mu_process *p)
{
	uint64_t until = drv_clock_ns() + 5000000000u;
	int busy = 1;

	while (busy && !p->host->ending && drv_clock_ns() < until) {
		busy = 0;
		for (unsigned i = 0; i < p->channels_open; i++) {
			struct mu_channel *ch = p->channel[i];

			if (ch && mu_inject_pending(ch)) {
				mu_push(ch);
				busy = 1;
			}
		}
		if (busy)
			sched_yield();
	}
}

void mu_detach(void)
{
	struct mu_process *p = &mu_self;

	mu_lock(&attach_lock);
	if (p->refs && !--p->refs) {
		drain(p);
		if (p->virtual_clock)
			mu_vt_detach();
		else
			mu_thread_stop(p);
		__atomic_store_n(&p->area->state, MU_TASK_DETACHED, __ATOMIC_RELEASE);
		for (unsigned i = 0; i < MU_CHANNELS_MAX; i++)
			mu_channel_close(p->channel[i]);
		mu_holder_close(p->holder, 2000);
		mu_live_close(p->live);
		mu_copy_end();
		free(p->tx);
		free(p->task_of);
		free(p->near);
		free(p->group_list);
		free(p->cut);
		mu_host_unmap(p->host);
		if (p->single)
			close(p->fd);
		memset(p, 0, sizeof *p);
	}
	mu_unlock(&attach_lock);
}

void mu_task_coord(uint32_t task, struct emu_coord *coord)
{
	struct mu_process *p = &mu_self;

	if (task >= p->host->tasks)
		return;
	emu_node_coord(&p->host->shape, p->entry[task].node, coord);
	coord->t = p->entry[task].t;
}

int mu_coord_task(const struct emu_coord *coord, uint32_t *task)
{
	struct mu_process *p = &mu_self;
	uint32_t found;

	for (int d = 0; d < EMU_DIMS; d++)
		if (coord->c[d] >= p->host->shape.n[d])
			return -ENOENT;
	if (coord->t >= p->host->shape.t)
		return -ENOENT;
	found = p->task_of[emu_coord_node(&p->host->shape, coord) * p->host->shape.t + coord->t];
	if (found == UINT32_MAX)
		return -ENOENT;
	*task = found;
	return 0;
}

int mu_task_near(uint32_t task)
{
	return task < mu_self.tasks && mu_self.near[task];
}

int mu_task_same_node(uint32_t task)
{
	struct mu_process *p = &mu_self;

	return task < p->host->tasks && p->entry[task].node == p->job.node;
}
