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

#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "drivers/base/wake.h"
#include "mu/live.h"
#include "tools/proc.h"

#define MS             1000000ull
#define SPIN_NS        100000u /* the holder polls this long after its last work, then sleeps */
#define CONTROL_NS     200000u /* while it polls, the other descriptors are looked at this often */
#define HOLDER_FDS     4
#define LAST_WORDS_MS  20
#define ORDERLY_END_S  3 /* after the death of torus run; then the agent is killed by its own alarm */

static void futex_wake_all(uint32_t *word)
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

static void wake_everyone(struct agent *a)
{
	for (uint32_t i = 0; i < a->locals; i++)
		for (unsigned k = 0; k < MU_WAKES; k++)
			drv_wake_now(&mu_host_area(a->host, i)->wake[k]);
	for (uint32_t i = 0; i < a->host->hosts; i++)
		futex_wake_all(&a->host->peer[i].ready);
	futex_wake_all(&a->host->own_ready);
}

/* Repeating it shortens the grace, never lengthens it. */
static void job_end(struct agent *a, uint32_t grace_ms)
{
	uint64_t at = drv_clock_ns() + grace_ms * MS;

	if (!a->ending && a->host) {
		__atomic_store_n(&a->host->ending, 1, __ATOMIC_SEQ_CST);
		wake_everyone(a);
		tasks_signal(a, SIGTERM);
		tasks_signal(a, SIGCONT); /* a stopped task sees its SIGTERM only when it goes on */
	}
	a->ending = 1;
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

/* --on-death error: the others go on, and are told. */
static void task_gone(struct agent *a, uint32_t task, enum mu_task_end how)
{
	if (mu_host_task_gone(a->host, task, how))
		wake_everyone(a);
}

/* Fabric torus: a host is gone with its routers, which others' packets had to cross. */
static void host_lost(struct agent *a, uint32_t host)
{
	if (a->host->clock != MU_CLOCK_REAL || !mu_host_set_lost(a->host, host))
		return;
	if (a->live) /* else told when they are opened */
		mu_live_host_lost(a->live, host);
	wake_everyone(a);
}

/* The same of a task of this host. What it had sent arrives before the news. */
static void gone_here(struct agent *a, uint32_t local, enum mu_task_end how)
{
	if (a->live)
		agent_routers_drain(a, local, LAST_WORDS_MS);
	if (a->holder && !a->holder_broken)
		mu_holder_drain(a->holder, LAST_WORDS_MS);
	task_gone(a, a->task[local].task, how);
	if (a->live)
		mu_live_gone(a->live, local);
}

static void report_exit(struct agent *a, uint32_t local, int status)
{
	uint32_t report[2] = { a->task[local].task, (uint32_t)status };

	agent_output_drain(a, local);
	a->task[local].pid = 0;
	a->alive--;
	if (a->plan.on_death == MU_ON_DEATH_ERROR && !a->ending && !a->sim)
		gone_here(a, local, status ? MU_TASK_DIED : MU_TASK_LEFT);
	if (a->sim)
		mu_sim_task_gone(a->sim, local, status ? MU_TASK_DIED : MU_TASK_LEFT);
	ctl_send(&a->ctl, CTL_EXIT, report, sizeof report);
}

/*
 * --on-death error: who has ended? They are not reaped before the job's end, so that nobody else gets the
 * process number under which their neighbours may still be writing into them.
 */
static void look_for_ended(struct agent *a)
{
	for (int signaled = 1; signaled >= 0; signaled--) {
		for (uint32_t i = 0; i < a->locals; i++) {
			siginfo_t info = { .si_pid = 0 };

			if (a->task[i].pid <= 0 ||
			    waitid(P_PID, (id_t)a->task[i].pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid ||
			    (info.si_code != CLD_EXITED) != signaled)
				continue;
			report_exit(a, i, info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) :
			                  info.si_status | (info.si_code == CLD_DUMPED ? WCOREFLAG : 0));
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
		agent_fail(a, report[1] == ENOENT ? 127 : 126, "cannot start '%s': %s", a->plan.argv[0],
		           strerror(report[1]));
	if (n == 0) {
		close(a->starting);
		a->starting = -1;
	}
}

/*
 * Take every child that has exited. Those killed by a signal are reported first: where several
 * died at once, the others most likely died of the first.
 */
static void reap(struct agent *a)
{
	struct { uint32_t local; int status; } gone[64];
	unsigned n;

	read_failed_starts(a);
	if (a->plan.on_death == MU_ON_DEATH_ERROR && a->task) {
		look_for_ended(a);
		return;
	}
	do {
		pid_t pid;
		int status;

		n = 0;
		while (n < 64 && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
			uint32_t i = 0;

			while (i < a->locals && a->task[i].pid != pid)
				i++;
			if (i == a->locals)
				continue; /* an adopted orphan */
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
	__atomic_store_n(&peer->ready, 1, __ATOMIC_SEQ_CST);
	futex_wake_all(&peer->ready);
	wake_everyone(a);
}

static void handle(struct agent *a, struct ctl_msg *m)
{
	uint32_t task;

	switch (m->type) {
	case CTL_ADDRESS:
		peer_address(a, m);
		break;
	case CTL_GONE:
		task = ctl_get_u32(m);
		task_gone(a, task, ctl_get_u32(m));
		break;
	case CTL_LOST:
		host_lost(a, ctl_get_u32(m));
		break;
	case CTL_SIGNAL:
		tasks_signal(a, (int)ctl_get_u32(m));
		break;
	case CTL_END:
		job_end(a, ctl_get_u32(m));
		break;
	case CTL_STDIN:
		agent_input_put(a, m->data, m->bytes);
		break;
	case CTL_OUTPUT_ROOM:
		a->output_room += ctl_get_u32(m);
		break;
	case CTL_PAUSE:
		a->paused = (int)ctl_get_u32(m);
		break;
	default: /* CTL_PING: that it came is all it says */
		break;
	}
}

static void control_take(struct agent *a)
{
	struct ctl_msg m;
	int taken;

	while ((taken = ctl_next(&a->ctl, &m)) > 0)
		handle(a, &m);
	if (taken < 0)
		torus_run_lost(a, "torus run sent what is not our protocol");
}

static void control_read(struct agent *a)
{
	int rc = ctl_receive(&a->ctl);

	a->heard_ns = drv_clock_ns();
	control_take(a);
	if (rc)
		torus_run_lost(a, "torus run is gone");
}

/* Beats to and from a torus run on another machine, where no descriptor tells of a death. */
static void heartbeat(struct agent *a)
{
	uint64_t now = drv_clock_ns();

	if (!a->remote || a->ctl.broken)
		return;
	if (now - a->pinged_ns >= AGENT_PING_MS * MS) {
		a->pinged_ns = now;
		ctl_send(&a->ctl, CTL_PING, NULL, 0);
	}
	if (now - a->heard_ns >= AGENT_SILENCE_MS * MS && !a->paused) {
		struct pollfd in = { .fd = a->ctl.in, .events = POLLIN };

		/* It may have been us who slept: what has arrived meanwhile counts. */
		if (poll(&in, 1, 0) > 0)
			control_read(a);
		else
			torus_run_lost(a, "torus run is silent for 1 s");
	}
}

/* ---- one look at everything ---- */

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
	w->fd[w->n] = (struct pollfd){ .fd = fd, .events = events };
	return &w->fd[w->n++];
}

static int64_t next_deadline_ns(const struct agent *a, int64_t timeout_ns)
{
	int64_t left = timeout_ns;

	if (a->kill_at_ns && a->alive) {
		int64_t to_kill = (int64_t)(a->kill_at_ns - drv_clock_ns());

		to_kill = to_kill < 0 ? 0 : to_kill;
		left = left < 0 || to_kill < left ? to_kill : left;
	}
	if (a->remote && (left < 0 || left > (int64_t)(AGENT_PING_MS * MS)))
		left = AGENT_PING_MS * MS;
	return left;
}

void agent_look(struct agent *a, int64_t timeout_ns, const struct pollfd *extra, unsigned extras)
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
	first_stream = w.n;
	for (uint32_t i = 0; (a->plan.tag || a->remote) && i < 2 * a->locals; i++)
		watch_add(&w, a->output_room ? a->task[i / 2].stream[i % 2].fd : -1, POLLIN);
	for (unsigned i = 0; i < extras; i++)
		watch_add(&w, extra[i].fd, extra[i].events);

	left = next_deadline_ns(a, timeout_ns);
	ts = (struct timespec){ .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };
	if (ppoll(w.fd, w.n, left < 0 ? NULL : &ts, NULL) > 0) {
		struct signalfd_siginfo info;
		uint64_t count;

		for (unsigned i = first_stream; i < w.n - extras; i++)
			if (w.fd[i].revents && a->output_room)
				agent_output_read(a, (i - first_stream) / 2, (i - first_stream) % 2);
		if (w.fd[2].revents && read(a->signals, &info, sizeof info) > 0)
			reap(a);
		if (w.fd[3].revents)
			read_failed_starts(a);
		if (w.fd[4].revents)
			agent_input_flush(a);
		if (w.fd[5].revents && read(a->wake, &count, sizeof count) < 0 && errno != EAGAIN)
			drv_warn("agent: eventfd: %s", strerror(errno));
		if (w.fd[1].revents)
			ctl_flush(&a->ctl);
		if (w.fd[0].revents)
			control_read(a);
	}
	heartbeat(a);
	if (a->kill_at_ns && a->alive && drv_clock_ns() >= a->kill_at_ns)
		tasks_signal(a, SIGKILL);
}

/* ---- the port ---- */

/* The holder's port is open, or could not be opened: say so once. */
static void address_check(struct agent *a)
{
	int32_t ready;

	if (a->address_sent || a->host->holder == MU_HOLDER_NONE)
		return;
	ready = (int32_t)__atomic_load_n(&a->host->own_ready, __ATOMIC_ACQUIRE);
	if (!ready)
		return;
	a->address_sent = 1;
	if (ready < 0) {
		agent_fail(a, 1, "cannot open port '%s': %s", a->host->port, strerror(-ready));
	} else {
		struct ctl_buf b = { 0 };

		ctl_put_text(&b, a->host->own_address);
		ctl_put_text(&b, a->host->port);
		ctl_send_buf(&a->ctl, CTL_OWN_ADDRESS, &b);
	}
}

static void holder_lost(struct agent *a, int error)
{
	if (!a->holder_broken && !a->ending)
		agent_fail(a, 1, "port '%s' failed: %s", a->host->port, strerror(-error));
	a->holder_broken = 1;
}

/* Sleep until a descriptor, the port, a record from a task or a time calls. 0: it looked; not 0: it had no time to. */
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
	agent_look(a, timeout_ns, fds, (unsigned)n);
	mu_holder_disarm(a->holder);
	return 0;
}

/* With a port of our own: poll it while there is work, look at the rest now and then. */
static void run_holder(struct agent *a)
{
	uint64_t looked = 0, worked = drv_clock_ns();

	while (!(a->ending && !a->alive) && !a->holder_broken) {
		int n = mu_holder_poll(a->holder);
		uint64_t now = drv_clock_ns();

		address_check(a);
		if (n < 0) {
			holder_lost(a, n);
		} else if (n > 0) {
			worked = now;
		} else if (now - worked > SPIN_NS) {
			/* Packets for a task that died may wait for ever: that must not hide its death. */
			if (!holder_sleep(a))
				looked = now;
		} else {
			sched_yield();
		}
		if (now - looked > CONTROL_NS) {
			agent_look(a, 0, NULL, 0);
			looked = now;
		}
	}
}

/* A task holds the port: we only have to learn its address. */
static void wait_for_address(struct agent *a)
{
	while (!a->address_sent && !a->ending) {
		drv_wake_prepare(&a->host->agent_wake);
		address_check(a);
		if (!a->address_sent)
			agent_look(a, -1, NULL, 0);
		drv_wake_finish(&a->host->agent_wake);
	}
}

/* ---- from start to end ---- */

/* The first message is the plan. */
static int receive_plan(struct agent *a)
{
	struct pollfd in = { .fd = a->ctl.in, .events = POLLIN };
	struct ctl_msg m;
	int rc = 0, taken;

	while ((taken = ctl_next(&a->ctl, &m)) == 0 && !rc) {
		poll(&in, 1, -1);
		rc = ctl_receive(&a->ctl);
	}
	if (taken < 0 || (taken > 0 && m.type != CTL_START))
		rc = -EPROTO;
	if (!rc)
		rc = plan_decode(&a->plan, &a->self, &m);
	if (rc == -EPROTO)
		agent_fail(a, 1, "torus on this host is of another version; install the same one everywhere");
	return rc;
}

static int enter_host(struct agent *a)
{
	const struct plan_host *h = &a->plan.host[a->self];
	char path[192];
	int fd;

	if (a->remote && chdir(a->plan.directory)) {
		agent_fail(a, 1, "cannot enter directory %s: %s", a->plan.directory, strerror(errno));
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
		agent_fail(a, 1, "cannot enter network namespace %s: %s; %s", h->name, strerror(error),
		           error == ENOENT ? "make it with: ip netns add NAME" : "run as root");
		return -error;
	}
	close(fd);
	return 0;
}

static int make_host(struct agent *a)
{
	struct plan *p = &a->plan;
	struct mu_host_conf conf = {
		.job = p->job, .seed = p->seed, .tasks = p->tasks, .hosts = p->hosts, .host = a->self,
		.shape = p->shape, .clock = p->clock, .fabric = p->fabric, .on_death = p->on_death, .coords = p->coords,
		.seal = p->seal, .key = p->key,
		.task_host = p->task_host, .port = p->host[a->self].port, .mapping = p->mapping,
	};
	int rc = mu_host_create(&conf, &a->host, &a->segment);

	if (rc) {
		agent_fail(a, 1, "cannot make the shared memory of the job: %s", strerror(-rc));
		return rc;
	}
	a->locals = a->host->locals;
	a->task = calloc(a->locals + 1, sizeof *a->task);
	/* The number is the same in every process of the host: it is inherited. */
	a->wake = eventfd(0, EFD_NONBLOCK);
	if (!a->task || a->wake < 0) {
		agent_fail(a, 1, "no memory for %u tasks", a->locals);
		return -ENOMEM;
	}
	a->host->agent_wake.eventfd = a->wake;
	for (uint32_t i = 0, local = 0; i < p->tasks; i++) {
		if (p->task_host[i] != a->self)
			continue;
		a->task[local].task = i;
		a->task[local].stream[0].fd = a->task[local].stream[1].fd = -1;
		local++;
	}
	return 0;
}

static void run(struct agent *a)
{
	control_take(a); /* what came together with the plan */
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
	} else if (agent_routers_needed(a)) {
		agent_routers_run(a);
	}
	while (!(a->ending && !a->alive))
		agent_look(a, -1, NULL, 0);
}

/* Everything of this host ends here, in the order in which it can be told to torus run. */
static void finish(struct agent *a)
{
	uint64_t until;

	if (!a->holder)
		mu_live_close(a->live);
	a->live = NULL;
	mu_holder_close(a->holder, a->ctl.broken ? 0 : 200);
	a->holder = NULL;
	a->alive = 0;
	/* What tasks left behind would keep the output pipes open. */
	if (proc_children_end(2000))
		drv_warn("host %u: a process of the job does not die (state D?)", a->self);
	while (!a->ctl.broken && agent_output_open_count(a))
		agent_look(a, -1, NULL, 0);
	if (a->plan.report && a->host)
		agent_links_send(a);
	mu_sim_destroy(a->sim);
	ctl_send(&a->ctl, CTL_DONE, NULL, 0);
	until = drv_clock_ns() + 1000 * MS;
	while (!a->ctl.tx_broken && ctl_pending(&a->ctl) && drv_clock_ns() < until)
		agent_look(a, 10 * MS, NULL, 0);
}

static void agent_free(struct agent *a)
{
	for (uint32_t i = 0; i < a->locals; i++) {
		free(a->task[i].stream[0].line);
		free(a->task[i].stream[1].line);
	}
	free(a->task);
	free(a->input_data);
	ctl_close(&a->ctl);
	plan_free(&a->plan);
}

/* torus run died: there is time for an orderly end, but not for ever. */
static void on_parent_death(int sig)
{
	alarm(ORDERLY_END_S);
}

static int signals_open(void)
{
	struct sigaction act = { .sa_handler = on_parent_death };
	sigset_t set;

	sigaction(SIGRTMIN, &act, NULL);
	signal(SIGALRM, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	/* Everything a terminal or a user sends goes to torus run and comes from there. */
	sigfillset(&set);
	sigdelset(&set, SIGRTMIN);
	sigdelset(&set, SIGALRM);
	sigdelset(&set, SIGTSTP);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Two pipes for each of a thousand tasks: more than the usual limit. Tasks get the old one back. */
static void files_limit_raise(struct agent *a)
{
	struct rlimit raised;

	getrlimit(RLIMIT_NOFILE, &a->files);
	raised = a->files;
	raised.rlim_cur = raised.rlim_max;
	setrlimit(RLIMIT_NOFILE, &raised);
}

int agent_main(int in, int out, pid_t parent, int remote, const sigset_t *mask)
{
	struct agent a = { .remote = remote, .segment = -1, .starting = -1, .wake = -1, .input = -1,
	                   .output_room = AGENT_OUTPUT_ROOM, .mask = *mask };
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
	snprintf(name, sizeof name, "agent %u", a.self);
	drv_log_name(name);
	a.heard_ns = a.pinged_ns = drv_clock_ns();
	if (!enter_host(&a) && !agent_port_choose(&a) && !make_host(&a) && !agent_sim_open(&a) && !agent_spawn(&a))
		run(&a);
	job_end(&a, 0);
	while (a.alive)
		agent_look(&a, -1, NULL, 0);
	finish(&a);
	agent_free(&a);
	return 0;
}
