/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What top_waits.sh watches: tasks of which one keeps the others waiting until the file of the
 * second argument is there. The first argument says in what they wait. The task makes the third, a
 * file, when it has made its last call.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

#define LONG (1 << 20)

static char from[LONG], to[LONG];
static int done, taken;

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_size,
		       const void *data, size_t data_size, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	if (!recv) {
		taken++;
		return;
	}
	recv->addr = to;
	recv->local_fn = flag_done;
	recv->cookie = &taken;
}

static void send_to(size_t task, size_t bytes)
{
	pami_send_t s = {.events = {.cookie = &done, .local_fn = flag_done}};

	s.send.dispatch = 5;
	s.send.dest = get_endpoint(task, 0);
	s.send.data.iov_base = from;
	s.send.data.iov_len = bytes;
	CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
	WAIT(done);
}

/* Without a call of the library. */
static void stay_away(const char *until)
{
	while (access(until, F_OK))
		usleep(20000);
}

/* Call "enable" or "disable" of EXT_async_progress for the context. */
static void call_async(const char *name)
{
	pami_result_t (*call)(pami_context_t, int);
	pami_extension_t e;

	CHECK_EQ(PAMI_Extension_open(client, "EXT_async_progress", &e), PAMI_SUCCESS);
	*(void **)&call = PAMI_Extension_symbol(e, name);
	CHECK_EQ(call(context, 0), PAMI_SUCCESS);
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	bool is_late = false;
	double sum = 0, one = 1;
	pami_dispatch_hint_t hint = {0};

	job_begin(1);
	dispatch_set(context, 5, on_message, NULL, hint);
	is_late = me == tasks - 1;
	run_barrier();
	/* Messages that come early would be taken by the last task's last call of the barrier. */
	if (is_late) {
		if (!strcmp(how, "commthread"))
			call_async("enable"); /* a commthread takes the messages meanwhile */
		close(creat(argv[3], 0600));
	} else if (access(argv[2], F_OK)) {
		stay_away(argv[3]);
	}
	if (!strcmp(how, "barrier")) {
		if (is_late)
			stay_away(argv[2]);
	} else if (!strcmp(how, "allreduce")) {
		pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLREDUCE)};

		x.cmd.xfer_allreduce.sndbuf = (char *)&one;
		x.cmd.xfer_allreduce.rcvbuf = (char *)&sum;
		x.cmd.xfer_allreduce.stype = x.cmd.xfer_allreduce.rtype = PAMI_TYPE_DOUBLE;
		x.cmd.xfer_allreduce.stypecount = x.cmd.xfer_allreduce.rtypecount = 1;
		x.cmd.xfer_allreduce.op = PAMI_DATA_SUM;
		if (is_late)
			stay_away(argv[2]);
		run_collective(&x);
		CHECK_EQ((size_t)sum, tasks);
	} else if (!strcmp(how, "receiver")) {
		if (is_late)
			stay_away(argv[2]);
		else if (!me)
			send_to(tasks - 1, LONG);
		if (is_late)
			WAIT(taken);
	} else if (!strcmp(how, "message")) {
		if (is_late)
			stay_away(argv[2]);
		if (is_late)
			send_to(0, 8);
		else if (!me)
			WAIT(taken);
	} else { /* commthread */
		if (is_late) {
			stay_away(argv[2]);
			call_async("disable");
		} else {
			for (int i = 0; i < 100; i++) {
				done = 0;
				send_to(tasks - 1, 8);
			}
		}
	}
	run_barrier();
	return job_end(1);
}
