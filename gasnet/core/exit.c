/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gasnet_exit: ends the job, whichever processes call it.
 *
 * Each process that calls says so to process 0. At the first, process 0 asks all others to end, and
 * once all have called, it lets them go. A process that is asked ends in its next progress call: at
 * once where the status is not 0, else after a grace in which the program may come to its own
 * gasnet_exit. So a process that is late can still print, and none leaves while another needs its
 * answers. A process whose main returns tells process 0, which then does not wait for it; process 0
 * itself tells all, which then wait for nobody. The launcher ends processes that make no progress,
 * once another has ended with a status other than 0 and without a farewell.
 */
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gasnet/core/exit.h"
#include "gasnet/core/thread.h"

/* Seconds of the job's clock: the grace, the grace in virtual time, and the time after which no
 * process waits any more. */
#define GRACE_S         2.0
#define GRACE_VIRTUAL_S 0.01
#define PATIENCE_S      5.0
/* With a status other than 0: the time after which it ends the others through the launcher. */
#define PATIENCE_FAIL_S 1.0
/* How long a handler that ends the process lets the engines send what is queued. */
#define HANDLER_PAUSE_US 100000
/* How long a thread that ends the process waits for others to leave their progress calls. */
#define QUIESCE_US     200
#define QUIESCE_ROUNDS 5000
/* How often a thread whose main has returned tries to take the lock. */
#define LOCK_ROUNDS 500

enum { SAY_EXIT, SAY_ASK, SAY_GO, SAY_LEFT };
struct exit_message {
	uint32_t say, status;
};

atomic_u32 gexi_exit_asked, gexi_has_left;
static struct {
	atomic_u32 begun;     /* this process has called gasnet_exit */
	atomic_u32 told;      /* all processes are asked to end */
	atomic_u32 go;        /* all processes are in gasnet_exit */
	atomic_u32 status;    /* that this process was asked to end with */
	double deadline;      /* of the grace; written before gexi_exit_asked */
	uint32_t ended;       /* process 0: processes that have called, or have left; lock */
	bool *has_left;       /* process 0: of each, whether it left without gasnet_exit; lock */
	bool has_asked;       /* process 0: it has asked all others; lock */
	atomic_u32 root_left; /* process 0 has left without gasnet_exit */
	pid_t pid;            /* a child of fork has left nothing */
} leaving;

static void send_exit(uint32_t task, uint32_t what, uint32_t status)
{
	struct exit_message m = {what, status};
	pami_send_immediate_t s = {.header = {&m, sizeof(m)},
				   .dispatch = GEXI_DISPATCH_EXIT,
				   .dest = gexi_peer(task)->endpoint[GEXI_MAIN]};

	PAMI_Send_immediate(gexi_world.context[GEXI_MAIN], &s);
}

/* Process 0: all processes have called gasnet_exit or have left. Lock. */
static void let_go(uint32_t status)
{
	for (uint32_t t = 1; t < gexi_world.nproc; t++)
		if (!leaving.has_left[t])
			send_exit(t, SAY_GO, status);
	atomic_store_release(&leaving.go, 1);
}

/* Process 0: count one more process that has called gasnet_exit. Lock. */
static void count_exit(uint32_t status)
{
	for (uint32_t t = 1; !leaving.has_asked && t < gexi_world.nproc; t++)
		if (!leaving.has_left[t])
			send_exit(t, SAY_ASK, status);
	leaving.has_asked = true;
	atomic_store_release(&leaving.told, 1);
	if (++leaving.ended == gexi_world.nproc)
		let_go(status);
}

/* A process has left without gasnet_exit; the others go on. Lock. */
static void count_left(uint32_t task)
{
	if (task == 0) {
		atomic_store_release(&leaving.root_left, 1);
		return;
	}
	leaving.has_left[task] = true;
	if (++leaving.ended == gexi_world.nproc && leaving.has_asked)
		let_go(0);
}

/* End without a farewell to the launcher, which then ends the processes that are left. */
static void end_abruptly(int status) __attribute__((noreturn));
static void end_abruptly(int status)
{
	fflush(NULL);
	_exit(status);
}

static void end_process(int status) __attribute__((noreturn));
static void end_process(int status)
{
	/* Launchers expect to hear of the end, and libraries report it in exit(). */
	if (!gexi_self()->depth)
		exit(status);
	end_abruptly(status);
}

static void on_exit_message(pami_context_t context, void *cookie, const void *header,
			    size_t header_bytes, const void *pipe, size_t data_bytes,
			    pami_endpoint_t origin, pami_recv_t *recv)
{
	struct exit_message m = *(const struct exit_message *)header;
	double grace = m.status ? 0 : gexi_world.is_virtual ? GRACE_VIRTUAL_S : GRACE_S;

	if (m.say == SAY_LEFT) {
		count_left(origin >> 6); /* pami_endpoint_t: the task above 6 bits of context */
		return;
	}
	gexi_world.is_exiting = true;
	if (m.say == SAY_EXIT)
		count_exit(m.status);
	atomic_store_release(&leaving.told, 1);
	if (m.say == SAY_GO)
		atomic_store_release(&leaving.go, 1);
	if (atomic_load_relaxed(&gexi_exit_asked))
		return;
	leaving.deadline = PAMI_Wtime(gexi_world.client) + grace;
	atomic_store_relaxed(&leaving.status, m.status);
	atomic_store_release(&gexi_exit_asked, 1);
}

void gexi_exit_as_asked(void)
{
	atomic_fence_acquire();
	while (atomic_load_relaxed(&gexi_has_left))
		pause(); /* Another thread destroys the client, and ends the process. */
	if (!atomic_load_relaxed(&leaving.begun) &&
	    PAMI_Wtime(gexi_world.client) >= leaving.deadline)
		gasnet_exit((int)atomic_load_relaxed(&leaving.status));
}

/* Make progress until *flag is set. Returns false if that takes longer than this many seconds, or
 * if process 0, which sets it, has left. */
static bool wait_for(atomic_u32 *flag, double seconds)
{
	double until = PAMI_Wtime(gexi_world.client) + seconds;

	while (!atomic_load_acquire(flag)) {
		if (PAMI_Wtime(gexi_world.client) >= until ||
		    atomic_load_acquire(&leaving.root_left))
			return false;
		gexi_poll_waiting();
	}
	return true;
}

/*
 * Wait until no other thread of the program is in a progress call, and keep them out. Returns false
 * if one stays there, for example in a handler.
 */
static bool quiesce_threads(void)
{
	atomic_store_release(&gexi_has_left, 1);
	atomic_store_release(&gexi_exit_asked, 1); /* Others look at it when they poll. */
	/* In virtual time no other thread runs before this one hands its turn over. */
	if (!gexi_world.is_par || gexi_world.is_virtual)
		return true;
	/* Where the kernel lacks it, the sleep is far longer than a store stays in a buffer. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		usleep(1000);
	for (int i = 0; !gexi_are_others_quiet(); i++) {
		if (i == QUIESCE_ROUNDS)
			return false;
		usleep(QUIESCE_US);
	}
	return true;
}

/* Take the lock, unless another thread keeps it for long. */
static bool lock_at_end(void)
{
	if (!gexi_world.is_par || gexi_self()->depth)
		return true;
	for (int i = 0; i < LOCK_ROUNDS; i++, usleep(QUIESCE_US))
		if (PAMI_Context_trylock(gexi_world.context[GEXI_MAIN]) == PAMI_SUCCESS)
			return true;
	return false;
}

/* The program's main has returned, or it has called exit(). Nothing is received here, since
 * handlers of the program may not run any more. */
static void on_main_returned(void)
{
	uint32_t first = gexi_world.me ? 0 : 1, last = gexi_world.me ? 1 : gexi_world.nproc;

	if (!gexi_world.client || leaving.pid != getpid() ||
	    atomic_exchange_acq_rel(&leaving.begun, 1) || !lock_at_end())
		return;
	for (uint32_t t = first; t < last && !atomic_load_relaxed(&leaving.root_left); t++)
		send_exit(t, SAY_LEFT, 0);
	gexi_unlock();
}

void gexi_exit_open(void)
{
	pami_dispatch_callback_function fn = {.p2p = on_exit_message};

	PAMI_Dispatch_set(gexi_world.context[GEXI_MAIN], GEXI_DISPATCH_EXIT, fn, NULL,
			  (pami_dispatch_hint_t){0});
	leaving.pid = getpid();
	leaving.has_left = calloc(gexi_world.nproc, sizeof(*leaving.has_left));
	if (!leaving.has_left)
		gexi_die("no memory for %u processes", gexi_world.nproc);
	if (gexi_world.nproc > 1)
		atexit(on_main_returned);
}

void gasnet_exit(int exitcode)
{
	pami_client_t client;

	fflush(NULL);
	if (!gexi_world.client || gexi_world.nproc == 1)
		end_process(exitcode);
	if (atomic_exchange_acq_rel(&leaving.begun, 1))
		for (;;)
			pause(); /* Another thread is ending the process. */
	gexi_world.is_exiting = true;
	gexi_lock();
	if (gexi_world.me == 0)
		count_exit((uint32_t)exitcode);
	else if (!atomic_load_acquire(&leaving.root_left))
		send_exit(0, SAY_EXIT, (uint32_t)exitcode);
	else /* Nobody asks the others but this process. */
		for (uint32_t t = 1; t < gexi_world.nproc; t++)
			if (t != gexi_world.me)
				send_exit(t, SAY_ASK, (uint32_t)exitcode);
	gexi_unlock();
	if (gexi_self()->depth) { /* A handler cannot poll; the engines send what is queued. */
		usleep(HANDLER_PAUSE_US);
		end_process(exitcode);
	}
	if (!exitcode)
		wait_for(&leaving.go, PATIENCE_S);
	else if (!wait_for(&leaving.told, PATIENCE_S) ||
		 !wait_for(&leaving.go, gexi_world.is_virtual ? GRACE_VIRTUAL_S : PATIENCE_FAIL_S))
		end_abruptly(exitcode);
	if (!quiesce_threads())
		end_process(exitcode);
	gexi_lock();
	/* Other threads read the handle, which is not used any more. */
	client = gexi_world.client;
	PAMI_Client_destroy(&client);
	end_process(exitcode);
}
