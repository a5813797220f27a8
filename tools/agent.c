/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "drivers/base/settings.h"
#include "drivers/base/wake.h"
#include "mu/transport/node_live.h"
#include "tools/proc.h"
#include "tools/trace.h"

#define MS            1000000ull
#define SPIN_NS       100000u /* the port holder polls this long after its last work, then sleeps */
#define CONTROL_NS    200000u /* while polling, the agent handles other events this often */
#define HOLDER_FDS    4
#define DRAIN_MS      20 /* longest wait for the packets that a dead task has sent */
#define PLAN_PATIENCE 12 /* times QUINTORUS_SILENCE without a byte, before the plan is there */
#define ORDERLY_END_S 3  /* after the death of torus run the agent's alarm kills it in this time */

static void futex_wake_all(atomic_u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* ---- the end ---- */

static void tasks_signal(struct agent *a, int sig)
{
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->task[i].pid > 0)
			kill(a->task[i].pid, sig);
}

static void tasks_wake_all(struct agent *a)
{
	for (uint32_t i = 0; i < a->locals; i++)
		for (unsigned k = 0; k < MU_WAKES; k++)
			drv_wake_now(&mu_host_area(a->host, i)->wake[k]);
	for (uint32_t i = 0; i < a->host->hosts; i++)
		futex_wake_all(&a->host->peer[i].ready);
	futex_wake_all(&a->host->own_ready);
}

/* Calling this again can shorten the grace period, never lengthen it. */
static void job_end(struct agent *a, uint32_t grace_ms)
{
	uint64_t at = drv_clock_ns() + grace_ms * MS;

	if (!a->ending && a->host) {
		atomic_store_seq_cst(&a->host->ending, 1);
		tasks_wake_all(a);
		tasks_signal(a, SIGTERM);
		/* A stopped task handles its SIGTERM only after SIGCONT. */
		tasks_signal(a, SIGCONT);
	}
	a->ending = true;
	if (!a->kill_at_ns || at < a->kill_at_ns)
		a->kill_at_ns = at;
	if (!grace_ms)
		tasks_signal(a, SIGKILL);
}

static void torus_run_lost(struct agent *a, const char *how)
{
	if (!a->ctl.broken)
		drv_warn("host %u: %s: the tasks of this host are killed", a->self, how);
	a->ctl.broken = a->ctl.tx_broken = -EPIPE;
	job_end(a, 0);
}

/* ---- tasks ---- */

/* --on-death error: mark the task as ended, and wake the other tasks, which go on. */
static void task_gone(struct agent *a, uint32_t task, enum mu_task_end how)
{
	if (mu_host_mark_task_ended(a->host, task, how))
		tasks_wake_all(a);
}

/* Fabric torus: a host has died, and with it its routers, which packets of other hosts had to
 * cross. */
static void host_lost(struct agent *a, uint32_t host)
{
	if (a->host->clock != MU_CLOCK_REAL || !mu_host_mark_lost(a->host, host))
		return;
	if (a->live) /* otherwise opening the routers reads the mark */
		mu_live_host_lost(a->live, host);
	tasks_wake_all(a);
}

/* Mark a task of this host as ended, after what it had sent has arrived. */
static void local_task_gone(struct agent *a, uint32_t local, enum mu_task_end how)
{
	if (a->live)
		agent_routers_drain(a, local, DRAIN_MS);
	if (a->holder && !a->holder_broken)
		mu_holder_drain(a->holder, DRAIN_MS);
	task_gone(a, a->task[local].task, how);
	if (a->live)
		mu_live_task_ended(a->live, local);
}

static void report_exit(struct agent *a, uint32_t local, int status)
{
	uint32_t joined =
	    atomic_load_acquire(&mu_host_area(a->host, local)->state) == MU_TASK_ATTACHED;
	uint32_t report[3] = {a->task[local].task, (uint32_t)status, joined};

	agent_output_drain(a, local);
	a->task[local].pid = 0;
	a->alive--;
	a->has_failures |= status != 0;
	if (a->plan.on_death == MU_ON_DEATH_ERROR && !a->ending && !a->sim)
		local_task_gone(a, local, status ? MU_TASK_DIED : MU_TASK_LEFT);
	if (a->sim)
		mu_sim_task_gone(a->sim, local, status ? MU_TASK_DIED : MU_TASK_LEFT);
	ctl_send(&a->ctl, CTL_EXIT, report, sizeof report);
}

/*
 * --on-death error: report the tasks that have ended. The agent does not reap them before the end
 * of the job: their process numbers stay in use, so a neighbour that writes into a dead task's
 * memory cannot hit another process.
 */
static void report_ended(struct agent *a)
{
	for (int signaled = 1; signaled >= 0; signaled--) {
		for (uint32_t i = 0; i < a->locals; i++) {
			siginfo_t info = {.si_pid = 0};

			if (a->task[i].pid <= 0 ||
			    waitid(P_PID, (id_t)a->task[i].pid, &info,
				   WEXITED | WNOHANG | WNOWAIT) ||
			    !info.si_pid || (info.si_code != CLD_EXITED) != signaled)
				continue;
			report_exit(a, i,
				    info.si_code == CLD_EXITED
					? W_EXITCODE(info.si_status, 0)
					: info.si_status |
					      (info.si_code == CLD_DUMPED ? WCOREFLAG : 0));
		}
	}
}

static void read_failed_starts(struct agent *a)
{
	int report[2];
	ssize_t n;

	if (a->starting < 0)
		return;
	while ((n = read(a->starting, report, sizeof report)) == sizeof report)
		agent_fail(a, report[1] == ENOENT ? 127 : 126, "cannot start '%s': %s",
			   a->plan.argv[0], strerror(report[1]));
	if (n == 0) {
		close(a->starting);
		a->starting = -1;
	}
}

/*
 * Reap every child that has exited. Those killed by a signal are reported first: where several died
 * at once, the others most likely died in consequence.
 */
static void reap_children(struct agent *a)
{
	struct {
		uint32_t local;
		int status;
	} gone[64];
	unsigned n;

	read_failed_starts(a);
	if (a->plan.on_death == MU_ON_DEATH_ERROR && a->task) {
		report_ended(a);
		return;
	}
	do {
		pid_t pid;
		int status;

		n = 0;
		while (n < 64 && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
			uint32_t i = 0;

			DRV_ASSERT(a->task || !a->locals);
			while (i < a->locals && a->task[i].pid != pid)
				i++;
			if (i == a->locals)
				continue; /* an orphan that this process adopted */
			gone[n].local = i;
			gone[n++].status = status;
		}
		for (int signaled = 1; signaled >= 0; signaled--)
			for (unsigned i = 0; i < n; i++)
				if (WIFSIGNALED(gone[i].status) == signaled)
					report_exit(a, gone[i].local, gone[i].status);
	} while (n == 64);
}

/* ---- control messages ---- */

static void peer_address(struct agent *a, struct ctl_msg *m)
{
	uint32_t host = ctl_get_u32(m);
	const char *text = ctl_get_text(m);
	struct mu_peer_host *peer;

	if (m->bad || host >= a->host->hosts || strlen(text) >= sizeof peer->address) {
		drv_warn("host %u: bad address for host %u ignored", a->self, host);
		return;
	}
	peer = &a->host->peer[host];
	strcpy(peer->address, text);
	atomic_store_seq_cst(&peer->ready, 1);
	futex_wake_all(&peer->ready);
	tasks_wake_all(a);
}

/* --on-death error: a task of another host has ended. */
static void remote_task_gone(struct agent *a, struct ctl_msg *m)
{
	uint32_t task = ctl_get_u32(m), how = ctl_get_u32(m);

	if (!m->bad && mu_host_outlives_tasks(a->host) &&
	    (how == MU_TASK_LEFT || how == MU_TASK_DIED))
		task_gone(a, task, (enum mu_task_end)how);
}

/* Return the host in a message; UINT32_MAX: it is this one, and lives. */
static uint32_t other_host(const struct agent *a, struct ctl_msg *m)
{
	uint32_t host = ctl_get_u32(m);

	return m->bad || host == a->self ? UINT32_MAX : host;
}

static void add_output_room(struct agent *a, uint32_t bytes)
{
	a->output_room += bytes;
	if (a->output_room > AGENT_OUTPUT_ROOM)
		a->output_room = AGENT_OUTPUT_ROOM;
}

static void message_handle(struct agent *a, struct ctl_msg *m)
{
	switch (m->type) {
	case CTL_ADDRESS:
		peer_address(a, m);
		break;
	case CTL_GONE:
		remote_task_gone(a, m);
		break;
	case CTL_LOST:
		host_lost(a, other_host(a, m));
		break;
	case CTL_DEPARTED:
		mu_host_mark_departed(a->host, other_host(a, m));
		break;
	case CTL_SIGNAL:
		tasks_signal(a, (int)ctl_get_u32(m));
		break;
	case CTL_END:
		job_end(a, ctl_get_u32(m));
		break;
	case CTL_STDIN:
		if (!agent_input_put(a, m->data, m->bytes))
			torus_run_lost(a, "torus run sent more input than this agent asked for");
		break;
	case CTL_OUTPUT_ROOM:
		add_output_room(a, ctl_get_u32(m));
		break;
	case CTL_WATCH:
		a->watch = (struct agent_watch){.limit_ns = ctl_get_u32(m) * MS,
						.stall_ns = a->watch.stall_ns};
		break;
	case CTL_STALL:
		a->watch.stall_ns = ctl_get_u32(m) * MS;
		break;
	case CTL_CALLS:
		agent_calls_ask(a);
		break;
	case CTL_PAUSE:
		a->paused = ctl_get_u32(m) != 0;
		break;
	default: /* CTL_PING carries nothing; its arrival is enough */
		break;
	}
}

static void control_take(struct agent *a)
{
	struct ctl_msg m;
	int taken;

	while ((taken = ctl_next(&a->ctl, &m)) > 0 && !a->ctl.broken)
		message_handle(a, &m);
	if (taken < 0)
		torus_run_lost(a, "torus run sent a message outside the protocol");
}

static void control_read(struct agent *a)
{
	int rc = ctl_receive(&a->ctl);

	control_take(a);
	if (rc)
		torus_run_lost(a, "torus run has died");
}

/* Exchange heartbeats with a torus run on another machine, where no descriptor reports its death.
 */
static void exchange_heartbeats(struct agent *a)
{
	char why[64];

	if (!a->is_remote || a->ctl.broken)
		return;
	ctl_exchange_heartbeats(&a->ctl, drv_clock_ns());
	if (!a->paused && (ctl_is_silent(&a->ctl, a->plan.silence_ms) ||
			   ctl_is_stuck(&a->ctl, a->plan.silence_ms))) {
		snprintf(why, sizeof why, "torus run %s for %g s",
			 ctl_is_silent(&a->ctl, a->plan.silence_ms) ? "is silent" : "reads nothing",
			 a->plan.silence_ms / 1e3);
		torus_run_lost(a, why);
	}
}

/* ---- waiting for events, and handling them ---- */

struct watch {
	struct pollfd *fd;
	unsigned n, room;
};

static struct pollfd *watch_add(struct watch *w, int fd, short events)
{
	if (w->n == w->room) {
		w->room = w->room * 2 + 64;
		w->fd = realloc(w->fd, w->room * sizeof *w->fd);
		if (!w->fd) {
			drv_error("agent: out of memory");
			_exit(1);
		}
	}
	w->fd[w->n] = (struct pollfd){.fd = fd, .events = events};
	return &w->fd[w->n++];
}

static int64_t next_deadline_ns(const struct agent *a, int64_t timeout_ns)
{
	int64_t left = timeout_ns, period = (int64_t)agent_watch_period_ns(a);

	if (a->kill_at_ns && a->alive) {
		int64_t to_kill = (int64_t)(a->kill_at_ns - drv_clock_ns());

		to_kill = to_kill < 0 ? 0 : to_kill;
		left = left < 0 || to_kill < left ? to_kill : left;
	}
	if (period && !a->ending && (left < 0 || left > period))
		left = period;
	if (a->stats && !a->ending && (left < 0 || left > (int64_t)(AGENT_STATS_MS * MS)))
		left = AGENT_STATS_MS * MS;
	period = (int64_t)agent_history_period_ns(a);
	if (period && !a->ending && (left < 0 || left > period))
		left = period;
	if (a->is_remote && (left < 0 || left > (int64_t)(CTL_PING_MS * MS)))
		left = CTL_PING_MS * MS;
	period = (int64_t)agent_faults_period_ns(a);
	if (period && !a->ending && (left < 0 || left > period))
		left = period;
	return left;
}

void agent_handle_events(struct agent *a, int64_t timeout_ns, const struct pollfd *extra,
			 unsigned extras)
{
	static struct watch w;
	unsigned first_stream;
	struct timespec ts;
	int64_t left;

	w.n = 0;
	watch_add(&w, a->ctl.broken ? -1 : a->ctl.in, POLLIN);
	watch_add(&w, !a->ctl.tx_broken && ctl_pending(&a->ctl) ? a->ctl.out : -1, POLLOUT);
	watch_add(&w, a->signals, POLLIN);
	watch_add(&w, a->starting, POLLIN);
	watch_add(&w, a->input_bytes ? a->input : -1, POLLOUT);
	watch_add(&w, a->holder ? -1 : a->wake, POLLIN);
	watch_add(&w, a->calls, POLLIN);
	first_stream = w.n;
	for (uint32_t i = 0; (a->plan.tag || a->is_remote) && i < 2 * a->locals; i++)
		watch_add(&w, a->output_room > 0 ? a->task[i / 2].stream[i % 2].fd : -1, POLLIN);
	for (unsigned i = 0; i < extras; i++)
		watch_add(&w, extra[i].fd, extra[i].events);

	left = next_deadline_ns(a, timeout_ns);
	ts = (struct timespec){.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
	if (ctl_poll(w.fd, w.n, left < 0 ? NULL : &ts) > 0) {
		struct signalfd_siginfo info;
		uint64_t count;

		for (unsigned i = first_stream; i < w.n - extras; i++)
			if (w.fd[i].revents && a->output_room > 0)
				agent_output_read(a, (i - first_stream) / 2,
						  (i - first_stream) % 2);
		if (w.fd[2].revents && read(a->signals, &info, sizeof info) > 0)
			reap_children(a);
		if (w.fd[3].revents)
			read_failed_starts(a);
		if (w.fd[4].revents)
			agent_input_flush(a);
		if (w.fd[5].revents && read(a->wake, &count, sizeof count) < 0 && errno != EAGAIN)
			drv_warn("agent: eventfd: %s", strerror(errno));
		if (w.fd[6].revents)
			agent_calls_read(a);
		if (w.fd[1].revents)
			ctl_flush(&a->ctl);
		if (w.fd[0].revents)
			control_read(a);
	}
	exchange_heartbeats(a);
	agent_faults_check(a);
	agent_watch_check(a);
	agent_stats_sample(a);
	agent_history_sample(a);
	if (a->kill_at_ns && a->alive && drv_clock_ns() >= a->kill_at_ns)
		tasks_signal(a, SIGKILL);
}

/* ---- the port ---- */

/* Report once that the port is open, or that opening it failed. */
static void address_check(struct agent *a)
{
	int32_t ready;

	if (a->address_sent || a->host->holder == MU_HOLDER_NONE)
		return;
	ready = (int32_t)atomic_load_acquire(&a->host->own_ready);
	if (!ready)
		return;
	a->address_sent = true;
	if (ready < 0) {
		agent_fail(a, 1, "cannot open port '%s': %s", a->host->port, strerror(-ready));
	} else {
		struct ctl_buf b = {0};

		ctl_put_text(&b, a->host->own_address);
		ctl_put_text(&b, a->host->opened);
		ctl_send_buf(&a->ctl, CTL_OWN_ADDRESS, &b);
	}
}

static void holder_lost(struct agent *a, int error)
{
	if (!a->holder_broken && !a->ending)
		agent_fail(a, 1, "port '%s' failed: %s", a->host->port, strerror(-error));
	a->holder_broken = true;
}

/* Sleep until a descriptor, the port, a record from a task or a timer ends the wait. Returns 0
 * after handling events, other than 0 if there was work. */
static int holder_sleep(struct agent *a)
{
	struct pollfd fds[HOLDER_FDS];
	int64_t timeout_ns = -1;
	int n = mu_holder_arm(a->holder, fds, HOLDER_FDS, &timeout_ns);

	if (n == -EAGAIN) {
		sched_yield();
		return n;
	}
	if (n < 0) {
		holder_lost(a, n);
		return n;
	}
	agent_handle_events(a, timeout_ns, fds, (unsigned)n);
	mu_holder_disarm(a->holder);
	return 0;
}

/* The agent holds the port: poll it while there is work, and handle other events now and
 * then. */
static void run_holder(struct agent *a)
{
	uint64_t checked = 0, worked = drv_clock_ns();

	while (!(a->ending && !a->alive) && !a->holder_broken) {
		int n = mu_holder_poll(a->holder);
		uint64_t now = drv_clock_ns();

		address_check(a);
		if (n < 0) {
			holder_lost(a, n);
		} else if (n > 0) {
			worked = now;
		} else if (now - worked > SPIN_NS) {
			/* Packets for a dead task may stay pending for ever. The agent still has to
			 * notice the death, so events are handled here too. */
			if (!holder_sleep(a))
				checked = now;
		} else {
			sched_yield();
		}
		if (now - checked > CONTROL_NS) {
			agent_handle_events(a, 0, NULL, 0);
			checked = now;
		}
	}
}

/* A task holds the port: the agent only waits for its address. */
static void wait_for_address(struct agent *a)
{
	while (!a->address_sent && !a->ending) {
		drv_wake_prepare(&a->host->agent_wake);
		address_check(a);
		if (!a->address_sent)
			agent_handle_events(a, -1, NULL, 0);
		drv_wake_finish(&a->host->agent_wake);
	}
}

/* ---- from start to end ---- */

/* Receive the first message, which is the plan. torus run sends it, and heartbeats behind it, from
 * the moment in which it starts ssh. */
static int receive_plan(struct agent *a)
{
	struct pollfd in = {.fd = a->ctl.in, .events = POLLIN};
	uint32_t limit_ms = (uint32_t)drv_setting_number(DRV_QUINTORUS_SILENCE) * 1000;
	struct ctl_msg m;
	int rc = 0, taken;

	while ((taken = ctl_next(&a->ctl, &m)) == 0 && !rc) {
		poll(&in, 1, a->is_remote ? CTL_PING_MS : -1);
		rc = ctl_receive(&a->ctl);
		if (a->is_remote)
			ctl_exchange_heartbeats(&a->ctl, drv_clock_ns());
		if (limit_ms && a->ctl.silent_ns >= PLAN_PATIENCE * limit_ms * MS) {
			drv_error("torus agent: torus run has sent no plan for %u s",
				  PLAN_PATIENCE * limit_ms / 1000);
			return -ETIMEDOUT;
		}
	}
	if (taken < 0 || (taken > 0 && m.type != CTL_START))
		rc = -EPROTO;
	if (!rc)
		rc = plan_decode(&a->plan, &a->self, &m);
	if (rc == -EPROTO)
		agent_fail(
		    a, 1,
		    "torus on this host is of another version; install the same one everywhere");
	return rc;
}

static int enter_host(struct agent *a)
{
	const struct plan_host *h = &a->plan.host[a->self];
	char path[192];
	int fd;

	if (a->is_remote && chdir(a->plan.directory)) {
		agent_fail(a, 1, "cannot enter directory %s: %s", a->plan.directory,
			   strerror(errno));
		return -ENOENT;
	}
	if (h->kind != PLAN_HOST_NETNS)
		return 0;
	snprintf(path, sizeof path, "/run/netns/%s", h->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) {
		int error = errno;

		if (fd >= 0)
			close(fd);
		agent_fail(a, 1, "cannot enter network namespace %s: %s; %s", h->name,
			   strerror(error),
			   error == ENOENT ? "make it with: ip netns add NAME" : "run as root");
		return -error;
	}
	close(fd);
	return 0;
}

/*
 * The words that wake a task which holds the port also ring an eventfd. The agent rings them too,
 * by the number of the descriptor: so it makes the eventfd, and the task inherits it under that
 * number.
 */
static bool make_holder_bell(struct agent *a)
{
	struct mu_task_area *area = mu_host_area(a->host, 0);
	int bell;

	if (a->host->holder != MU_HOLDER_TASK)
		return true;
	bell = eventfd(0, EFD_NONBLOCK);
	area->wake[0].eventfd = area->wake[1].eventfd = area->posted.eventfd = bell;
	return bell >= 0;
}

static int make_host(struct agent *a)
{
	struct plan *p = &a->plan;
	struct emu_machine machine;
	char err[256];
	struct mu_host_conf conf = {
	    .job = p->job,
	    .seed = p->seed,
	    .tasks = p->tasks,
	    .hosts = p->hosts,
	    .host = a->self,
	    .shape = p->shape,
	    .clock = p->clock,
	    .fabric = p->fabric,
	    .on_death = p->on_death,
	    .coords = p->coords,
	    .seal = p->seal,
	    .key = p->key,
	    .task_host = p->task_host,
	    .port = p->host[a->self].port,
	    .mapping = p->mapping,
	    .capture = p->capture,
	    .machine = &machine,
	    .script = p->script,
	    .trace = p->trace[0],
	};
	int rc;

	emu_machine_default(&machine);
	rc = emu_machine_set(&machine, p->hw, err, sizeof err);
	if (rc) { /* torus run has checked it: another version of torus is installed here */
		agent_fail(a, 1, "%s", err);
		return rc;
	}
	rc = mu_host_create(&conf, &a->host, &a->segment);
	if (rc) {
		agent_fail(a, 1, "cannot make the shared memory of the job: %s", strerror(-rc));
		return rc;
	}
	a->task = calloc(a->host->locals + 1, sizeof *a->task);
	a->locals = a->task ? a->host->locals : 0;
	/* Every process of the host inherits the descriptor, so its number is the same in all. */
	a->wake = eventfd(0, EFD_NONBLOCK);
	if (!a->task) {
		agent_fail(a, 1, "no memory for %u tasks", a->host->locals);
		return -ENOMEM;
	}
	if (a->wake < 0 || !make_holder_bell(a)) {
		rc = -errno;
		agent_fail(a, 1, "cannot make an event descriptor: %s; raise ulimit -n",
			   strerror(-rc));
		return rc;
	}
	a->host->agent_wake.eventfd = a->wake;
	rc = agent_faults_open(a);
	if (rc)
		return rc;
	for (uint32_t i = 0, local = 0; i < p->tasks; i++) {
		if (p->task_host[i] != a->self)
			continue;
		a->task[local].task = i;
		a->task[local].stream[0].fd = a->task[local].stream[1].fd = -1;
		local++;
	}
	return 0;
}

static void run_agent(struct agent *a)
{
	control_take(a); /* messages that arrived together with the plan */
	if (a->sim) {
		agent_sim_run(a);
	} else if (a->host->holder == MU_HOLDER_AGENT) {
		int rc = mu_holder_open(a->host, &a->holder);

		a->live = rc ? NULL : mu_holder_live(a->holder);
		address_check(a);
		if (!rc)
			run_holder(a);
		else if (!a->address_sent)
			agent_fail(a, 1, "cannot open port '%s': %s", a->host->port, strerror(-rc));
	} else if (a->host->holder == MU_HOLDER_TASK) {
		drv_wake_process_fences();
		wait_for_address(a);
	} else if (agent_has_to_step_routers(a)) {
		agent_routers_run(a);
	}
	while (!(a->ending && !a->alive))
		agent_handle_events(a, -1, NULL, 0);
}

/* Frames that a full disk did not take are missing in the file that the user asked for. */
static void check_capture(struct agent *a)
{
	uint32_t error = a->host ? atomic_load_relaxed(&a->host->capture_error) : 0;

	if (error)
		agent_fail(a, 1, "--capture %s: %s; the file is cut short", a->plan.capture,
			   strerror((int)error));
}

/* End everything on this host, in an order in which torus run still gets all reports. */
static void host_end(struct agent *a)
{
	uint64_t until;

	if (!a->holder)
		mu_live_close(a->live);
	a->live = NULL;
	mu_holder_close(a->holder, a->ctl.broken ? 0 : 200);
	a->holder = NULL;
	a->alive = 0;
	/* Processes that the tasks left behind would keep the output pipes open. */
	if (proc_children_end(2000))
		drv_warn("host %u: a process of the job does not die (state D?)", a->self);
	while (!a->ctl.broken && agent_output_open_count(a))
		agent_handle_events(a, -1, NULL, 0);
	if (plan_counts_links(&a->plan) && a->host)
		agent_links_send(a);
	agent_history_close(a);
	agent_stats_close(a);
	agent_faults_close(a);
	mu_sim_destroy(a->sim);
	agent_trace_close(a);
	check_capture(a);
	ctl_send(&a->ctl, CTL_DONE, NULL, 0);
	until = drv_clock_ns() + 1000 * MS;
	while (!a->ctl.tx_broken && ctl_pending(&a->ctl) && drv_clock_ns() < until)
		agent_handle_events(a, 10 * MS, NULL, 0);
}

static void agent_free(struct agent *a)
{
	for (uint32_t i = 0; i < a->locals; i++) {
		free(a->task[i].stream[0].line);
		free(a->task[i].stream[1].line);
	}
	free(a->task);
	free(a->input_data);
	free(a->calls_text);
	ctl_close(&a->ctl);
	plan_free(&a->plan);
}

/* torus run died: allow an orderly end, but limit its time. */
static void on_parent_death(int sig)
{
	alarm(ORDERLY_END_S);
}

static int signals_open(void)
{
	struct sigaction act = {.sa_handler = on_parent_death};
	sigset_t set;

	sigaction(SIGRTMIN, &act, NULL);
	signal(SIGALRM, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	/* torus run gets the signals of the terminal and the user, and forwards them. */
	sigfillset(&set);
	sigdelset(&set, SIGRTMIN);
	sigdelset(&set, SIGALRM);
	sigdelset(&set, SIGTSTP);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Two pipes for each of a thousand tasks exceed the usual limit. Tasks get the old limit back. */
static void files_limit_raise(struct agent *a)
{
	struct rlimit raised;

	getrlimit(RLIMIT_NOFILE, &a->files);
	raised = a->files;
	raised.rlim_cur = raised.rlim_max;
	setrlimit(RLIMIT_NOFILE, &raised);
}

int agent_main(int in, int out, pid_t parent, bool is_remote, const sigset_t *mask)
{
	struct agent a = {.is_remote = is_remote,
			  .segment = -1,
			  .starting = -1,
			  .wake = -1,
			  .input = -1,
			  .calls = -1,
			  .input_room = AGENT_STDIN_ROOM,
			  .output_room = AGENT_OUTPUT_ROOM,
			  .mask = *mask};
	char name[32];

	a.signals = signals_open();
	files_limit_raise(&a);
	ctl_init(&a.ctl, in, out);
	if (proc_tie_to_parent(parent, SIGRTMIN))
		return 1;
	proc_become_reaper();
	prctl(PR_SET_NAME, "torus-agent");
	drv_wake_process_init();
	if (receive_plan(&a)) {
		ctl_flush(&a.ctl);
		agent_free(&a);
		return AGENT_NO_PLAN;
	}
	a.ctl.ends_lines = a.plan.host[a.self].kind == PLAN_HOST_SLURM;
	snprintf(name, sizeof name, "agent %u", a.self);
	drv_log_name(name);
	if (!enter_host(&a) && !agent_port_choose(&a) && !make_host(&a) && !agent_sim_open(&a)) {
		agent_stats_open(&a);
		agent_history_open(&a);
		if (!agent_spawn(&a))
			run_agent(&a);
	}
	job_end(&a, 0);
	while (a.alive)
		agent_handle_events(&a, -1, NULL, 0);
	host_end(&a);
	agent_free(&a);
	return 0;
}
