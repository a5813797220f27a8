/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joining the job. join_job() takes these steps:
 *
 *  1. find_segment(): the segment of torus run, else the one that the tasks of another launcher
 *     agree on, else a job of one task
 *  2. choose clock and transport, name the log, make standard output line buffered, prepare the
 * wake words
 *  3. fill_maps(), fill_job(), set_idle_policy(): facts of the job, of this task, of the machine
 *  4. publish process id and the address of the segment, for other tasks' copies
 *  5. the clock's join(). Virtual: join the simulator. Real: open the transport (routers, and the
 *     port if this task holds it), exchange addresses, start the engine thread
 *  6. mark the task as attached
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "drivers/base/settings.h"
#include "drivers/base/touch.h"
#include "emu/machine.h"
#include "emu/route.h"
#include "mu/engine/engine.h"
#include "mu/engine/known_memory.h"
#include "mu/engine/memory.h"
#include "mu/launch/launch.h"
#include "mu/process.h"
#include "mu/progress/clock.h"
#include "mu/progress/commthread.h"
#include "mu/progress/idle.h"
#include "mu/transport/transport.h"

/*
 * At exit: how long the task waits for receivers that take nothing of what it has sent (they make
 * no room while functions of its messages run), for other hosts, and for the lock of its port,
 * which another thread may hold.
 */
#define EXIT_DRAIN_NS 5000000000u
#define EXIT_FLUSH_MS 5000
#define EXIT_LOCK_MS  2000

static struct mu_spinlock attach_lock;

/* No launcher: a job of one task. */
static int make_single(struct mu_process *p)
{
	struct emu_coord at = {0};
	uint16_t host = 0;
	struct mu_host_conf conf = {.job = (uint64_t)getpid() << 32 ^ drv_clock_ns(),
				    .seed = 1,
				    .tasks = 1,
				    .hosts = 1,
				    .shape = {{1, 1, 1, 1, 1}, 1, 0},
				    .coords = &at,
				    .task_host = &host};

	return mu_host_create(&conf, &p->host, &p->fd);
}

static int find_segment(struct mu_process *p)
{
	uint64_t task;
	int rc;

	if (drv_setting_check(DRV_QUINTORUS_SEGMENT) || drv_setting_check(DRV_QUINTORUS_TASK))
		return -EINVAL;
	if (!drv_setting_is_set(DRV_QUINTORUS_SEGMENT)) {
		rc = mu_launch_join(&p->host, &p->fd, &p->task);
		if (rc != -ENOENT)
			return rc;
		drv_settings_log_all();
		p->single = 1;
		return make_single(p);
	}
	if (!drv_setting_is_set(DRV_QUINTORUS_TASK)) {
		drv_error("%s is missing: leave it to torus run", MU_ENV_TASK);
		return -EINVAL;
	}
	p->fd = (int)drv_setting_number(DRV_QUINTORUS_SEGMENT);
	task = drv_setting_number(DRV_QUINTORUS_TASK);
	rc = mu_host_map(p->fd, &p->host);
	if (rc)
		return rc;
	p->task = (uint32_t)task;
	if (task >= p->host->tasks || mu_host_entry(p->host, p->task)->host != p->host->host) {
		drv_error("%s is %u, but this host segment has no such task", MU_ENV_TASK, p->task);
		mu_host_unmap(p->host);
		return -EINVAL;
	}
	return 0;
}

static int fill_maps(struct mu_process *p)
{
	struct mu_host *h = p->host;

	p->entry = mu_host_entry(h, 0);
	p->tx = calloc((size_t)h->locals * h->channels, sizeof *p->tx);
	p->near = calloc(h->tasks, 1);
	p->puts_by_ring = calloc(h->tasks, sizeof *p->puts_by_ring);
	p->group_list = malloc(h->tasks * sizeof *p->group_list);
	if (!p->tx || !p->near || !p->puts_by_ring || !p->group_list ||
	    mu_places_make(&p->places, h))
		return -ENOMEM;
	for (uint32_t i = 0; i < h->tasks; i++) {
		const struct mu_task_entry *e = &p->entry[i];

		p->near[i] = (p->remote->near == MU_NEAR_HOST && e->host == h->host) ||
			     (p->remote->near == MU_NEAR_NODE && e->node == p->entry[p->task].node);
	}
	return 0;
}

static void fill_group(struct mu_process *p)
{
	struct mu_job *j = &p->job;
	uint32_t *less;

	j->group_tasks = 0;
	p->group_is_host = p->remote->near == MU_NEAR_HOST;
	j->groups = p->group_is_host ? p->host->hosts : j->nodes;
	for (uint32_t t = 0; t < p->host->tasks; t++)
		if (mu_task_group(t) == mu_task_group(p->task))
			p->group_list[j->group_tasks++] = t;
	less = realloc(p->group_list, j->group_tasks * sizeof *less);
	p->group_list = less ? less : p->group_list;
	j->group_list = p->group_list;
	j->crowded = (long)p->host->tasks > sysconf(_SC_NPROCESSORS_ONLN);
}

/* A wrong PAMI_ROUTING is said once, and changes nothing. */
static void make_routing(struct mu_process *p)
{
	struct emu_router_conf router;
	char err[256];

	emu_machine_router(&p->host->machine, &router);
	emu_route_init_as(&p->route, &p->host->shape, &router.routing);
	if (mu_routing_make(&p->routing, &p->host->shape, &p->host->machine.hw,
			    drv_setting_text(DRV_PAMI_ROUTING), err, sizeof err))
		drv_warn("%s", err);
}

static void fill_job(struct mu_process *p)
{
	struct mu_job *j = &p->job;
	char name[64] = "host";
	uint32_t *slot = &p->places.task[p->entry[p->task].node * p->host->shape.t];

	j->task = p->task;
	j->tasks = p->host->tasks;
	j->shape = p->host->shape;
	j->nodes = emu_shape_nodes(&j->shape);
	j->node = p->entry[p->task].node;
	emu_node_coord(&j->shape, j->node, &j->coord);
	j->coord.t = p->entry[p->task].t;
	j->channels = p->channels;
	j->virtual_clock = p->clock == &mu_clock_virtual;
	j->fabric_torus = p->host->fabric == MU_FABRIC_TORUS;
	j->directory = emu_machine_directory(&p->host->machine);
	if (j->directory == EMU_DIRECTORY_CENTRAL)
		j->directory_delay_ns = p->host->machine.hw.agas_central_ns;
	j->directory_unit = j->virtual_clock && p->host->machine.hw.agas_unit;
	j->directory_near = p->host->directory_units != 0;
	j->directory_stat = &p->host->directory;
	make_routing(p);
	p->atomics = mu_atomics_of(p->host);
	p->strict_bytes =
	    strcmp(p->host->machine.hw.rec_fifo, "strict") ? 0 : p->host->machine.hw.rec_fifo_bytes;
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
	snprintf(j->processor_name, sizeof j->processor_name,
		 "%s task %u node (%u,%u,%u,%u,%u) T %u", name, j->task, j->coord.c[0],
		 j->coord.c[1], j->coord.c[2], j->coord.c[3], j->coord.c[4], j->coord.t);
}

static void set_idle_policy(struct mu_process *p)
{
	cpu_set_t set;
	unsigned cpus = 1;

	if (!sched_getaffinity(0, sizeof set, &set))
		cpus = (unsigned)CPU_COUNT(&set);
	/* The hosts of one machine (namespaces) share its cores, unless torus run or mpirun has
	 * divided them. */
	p->share = p->local;
	p->sharers = mu_launch_sharers(&p->share);
	if (!p->sharers)
		p->sharers =
		    drv_setting_is_set(DRV_QUINTORUS_BOUND) ? p->host->locals : p->host->tasks;
	p->yields = p->sharers > cpus;
	drv_debug("share %u of %u of the processors it may use, %u: an empty poll %s", p->share + 1,
		  p->sharers, cpus, p->yields ? "yields" : "spins");
	mu_idle_setup(p, p->yields);
	p->shares = !p->yields && drv_setting_flag(DRV_QUINTORUS_SHARE);
	p->uses_lanes = drv_setting_flag(DRV_QUINTORUS_LANES);
	p->fifo_only = drv_setting_choice(DRV_QUINTORUS_MU) != 0;
	mu_commthreads_init(p, cpus);
}

static void start_touching(struct mu_process *p)
{
	if (!p->clock->reports_access_errors ||
	    drv_setting_choice(DRV_QUINTORUS_MEMORY_CHECK) != MU_MEMORY_TOUCH)
		return;
	p->touches = !drv_touch_start();
	if (!p->touches)
		drv_warn("QUINTORUS_MEMORY_CHECK=touch: not on this processor; memory is checked "
			 "by system calls");
}

static void child_after_fork(void)
{
	/* The child is not a member: its calls fail and touch nothing that is shared. */
	mu_self.refs = 0;
	mu_self.forked = 1;
	mu_self.tasks = 0;
	mu_self.clock = &mu_clock_real;
	mu_transport_forget(&mu_self);
	mu_self.thread_runs = 0;
	memset(&mu_self.comm, 0, sizeof mu_self.comm);
	for (unsigned i = 0; i < MU_CHANNELS_MAX; i++)
		if (mu_self.channel[i].plain) /* locked for good */
			atomic_store_relaxed(&mu_self.channel[i].plain->engine.lock.held, 1);
}

/*
 * Output of a task of torus run leaves at the end of each line, also into a pipe or a file, so that
 * it is not lost when the task is killed (--timeout, a signal, the death of another task). A
 * program that asks for no buffer keeps that. QUINTORUS_STDOUT=program leaves standard output
 * alone.
 */
static void output_by_line(void)
{
	if (drv_setting_choice(DRV_QUINTORUS_STDOUT) || __flbf(stdout) || __fbufsize(stdout) == 1)
		return;
	fflush(stdout); /* what was printed before we were called */
	setvbuf(stdout, NULL, _IOLBF, 0);
}

/*
 * Have each channel send what is in its injection FIFO. Returns whether some had anything;
 * progress: as mu_may_drain() takes it.
 */
static bool drain_channels(struct mu_process *p, void (*send)(struct mu_channel *ch),
			   uint64_t *progress)
{
	bool busy = false;

	*progress = 0;
	for (unsigned i = 0; i < atomic_load_acquire(&p->channels_open); i++) {
		struct mu_channel *ch = atomic_ptr_load_acquire(&p->channel[i]);

		if (!ch)
			continue;
		if (mu_has_pending_injection(ch)) {
			send(ch);
			busy = true;
		}
		*progress += mu_injection_progress(ch);
	}
	return busy;
}

/* Send what is in the injection FIFOs before the task leaves. No other thread is in a call. */
static void drain_injection(struct mu_process *p, uint64_t limit_ns)
{
	struct mu_drain d = {.limit_ns = limit_ns};
	uint64_t progress = 0;

	while (mu_may_drain(p, &d, progress) && drain_channels(p, mu_make_room, &progress))
		sched_yield();
}

static void run_engine_at_exit(struct mu_channel *ch)
{
	if (mu_is_in_poll_of(ch))
		mu_engine_inject(ch);
	else
		mu_engine_run(ch);
}

/*
 * The same at exit, where other threads may be in calls: only the locks protect the channels. In
 * virtual time one thread runs, which may hand over the turn, so it holds no lock.
 */
static void drain_at_exit(struct mu_process *p, uint64_t limit_ns)
{
	struct mu_drain d = {.limit_ns = limit_ns};
	uint64_t progress = 0;
	bool busy = true;

	if (!p->clock->has_locks) {
		drain_injection(p, limit_ns);
		return;
	}
	while (busy && mu_may_drain(p, &d, progress)) {
		mu_lock_acquire(&p->channels_lock);
		busy = drain_channels(p, run_engine_at_exit, &progress);
		mu_lock_release(&p->channels_lock);
		if (busy) {
			p->remote->poll(p, NULL);
			p->remote->flush(p, NULL);
			sched_yield();
		}
	}
}

/*
 * A program may exit without leaving the job, say after its last collective. What it has sent still
 * has to reach its peers: in virtual time the simulator reads the FIFOs when the turn is handed
 * over, and a port that this task holds sends nothing after its end. Functions of the program may
 * run after this one, and its other threads may be in calls, so nothing is closed.
 */
static void finish_at_exit(void)
{
	struct mu_process *p = &mu_self;

	if (p->forked || p->pid != getpid() || !mu_lock_try(&attach_lock))
		return;
	if (p->refs) {
		if (p->remote->holds_port)
			mu_wire_abandon_rounds(p);
		drain_at_exit(p, EXIT_DRAIN_NS);
		if (p->remote->holds_port)
			mu_wire_finish(p, EXIT_LOCK_MS, EXIT_FLUSH_MS);
	}
	mu_lock_release(&attach_lock);
}

static bool has_left; /* this process joined the job and left it */

/*
 * Is the place of the task free? A program that a task starts inherits its environment, but not its
 * place. A process that left may come back, unless its peers or the simulator count it as gone.
 */
static int check_place(const struct mu_process *p)
{
	pid_t other = (pid_t)atomic_load_relaxed(&p->area->pid);

	if (atomic_load_acquire(&p->area->state) == MU_TASK_ATTACHED && other && other != p->pid &&
	    !kill(other, 0)) {
		drv_error("task %u: process %d has this place in the job; a program that a task "
			  "starts cannot join as well",
			  p->task, (int)other);
		return -EBUSY;
	}
	if (has_left && (!p->clock->can_rejoin ||
			 (p->remote->holds_port && !strncmp(p->host->port, "shm", 3)))) {
		drv_error("task %u has left the job and cannot join again in virtual time, nor "
			  "between hosts over shared memory; keep one client until the end",
			  p->task);
		return -ESHUTDOWN;
	}
	return 0;
}

static int join_job(struct mu_process *p)
{
	static int fork_handler, exit_handler;
	char name[32];
	int rc;

	memset(p, 0, sizeof *p);
	rc = find_segment(p);
	if (rc)
		return rc;
	p->clock = p->host->clock == MU_CLOCK_VIRTUAL ? &mu_clock_virtual : &mu_clock_real;
	p->remote = mu_transport_choose(p->host);
	snprintf(name, sizeof name, "task %u", p->task);
	drv_log_name(name);
	if (drv_setting_is_set(DRV_QUINTORUS_SEGMENT))
		output_by_line();
	/* Only its own threads, and the agent after a death, ring the words of a sole task. */
	if (p->remote->holds_port)
		drv_wake_process_fences();
	else
		drv_wake_process_init();
	p->pid = getpid();
	p->channels = p->host->channels;
	p->tasks = p->host->tasks;
	p->own_host = (uint16_t)p->host->host;
	rc = fill_maps(p);
	if (rc)
		goto err_maps;
	p->local = p->entry[p->task].local;
	p->area = mu_host_area(p->host, p->local);
	rc = check_place(p);
	if (rc)
		goto err_maps;
	p->own_number = (uint32_t)p->entry[p->task].t * p->channels;
	fill_job(p);
	set_idle_policy(p);
	/* Let other tasks call process_vm_readv() and its kin where Yama restricts them. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	atomic_store_relaxed(&p->area->pid, (uint32_t)p->pid);
	/* From here on others copy to memory of this process. */
	atomic_store_release(&p->area->map_base, (uint64_t)(uintptr_t)p->host);
	if (!fork_handler && !pthread_atfork(NULL, NULL, child_after_fork))
		fork_handler = 1;
	mu_known_prepare();
	rc = p->clock->join(p);
	if (rc)
		goto err_maps;
	mu_known_start(p);
	start_touching(p);
	/* After the modules of the port have registered theirs, so that they still work. */
	if (!exit_handler && !atexit(finish_at_exit))
		exit_handler = 1;
	atomic_store_release(&p->area->state, MU_TASK_ATTACHED);
	return 0;

err_maps:
	free(p->tx);
	mu_places_free(&p->places);
	free(p->near);
	free(p->puts_by_ring);
	free(p->group_list);
	mu_host_unmap(p->host);
	memset(p, 0, sizeof *p);
	return rc;
}

/* mu_wake_self() reads it in the engine thread. */
static void set_refs(struct mu_process *p, unsigned refs)
{
	atomic_store_relaxed(&p->refs, refs);
}

int mu_attach(const struct mu_job **job)
{
	struct mu_process *p = &mu_self;
	int rc = 0;

	if (p->forked)
		return -ECHILD;
	mu_lock_acquire(&attach_lock);
	if (!p->refs)
		rc = join_job(p);
	if (!rc) {
		set_refs(p, p->refs + 1);
		*job = &p->job;
	}
	mu_lock_release(&attach_lock);
	return rc;
}

void mu_detach(void)
{
	struct mu_process *p = &mu_self;

	mu_lock_acquire(&attach_lock);
	if (p->refs > 1) {
		set_refs(p, p->refs - 1);
	} else if (p->refs) {
		set_refs(p, 0);
		drain_injection(p, MU_DRAIN_NS);
		p->clock->leave(p);
		atomic_store_release(&p->area->state, MU_TASK_DETACHED);
		has_left = true;
		for (unsigned i = 0; i < MU_CHANNELS_MAX; i++)
			mu_channel_close(atomic_ptr_load_relaxed(&p->channel[i]));
		p->remote->close(p, 2000);
		mu_copy_cleanup();
		mu_known_stop();
		if (p->touches)
			drv_touch_stop();
		free(p->tx);
		mu_places_free(&p->places);
		free(p->near);
		free(p->puts_by_ring);
		free(p->group_list);
		free(atomic_ptr_load_relaxed(&p->cut));
		mu_host_unmap(p->host);
		if (p->single)
			close(p->fd);
		memset(p, 0, sizeof *p);
	}
	mu_lock_release(&attach_lock);
}
