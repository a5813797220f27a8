/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What trace.sh traces: each task sends N messages of each of three sizes to the next one (short,
 * eager, rendezvous), then all do five barriers. With the word "die", task 1 exits with status 3
 * after the first of them.
 */
#include "tests/harness/pami_job.h"

#define SIZES 3
#define LONG  100000

static const size_t size[SIZES] = {8, 1000, LONG};
static char from[LONG], to[LONG];
static int taken, done;

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

int main(int argc, char **argv)
{
	int messages = argc > 1 ? atoi(argv[1]) : 1;
	pami_dispatch_hint_t hint = {0};
	pami_send_t s = {.events = {.cookie = &done, .local_fn = flag_done}};

	job_begin(1);
	dispatch_set(context, 5, on_message, NULL, hint);
	s.send.dispatch = 5;
	s.send.dest = get_endpoint((me + 1) % tasks, 0);
	s.send.data.iov_base = from;
	for (int i = 0; i < messages; i++)
		for (int k = 0; k < SIZES; k++) {
			int all = done + 1 + (size[k] == LONG);

			s.send.data.iov_len = size[k];
			s.events.remote_fn = size[k] == LONG ? flag_done : NULL;
			CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
			WAIT(done == all);
		}
	WAIT(taken == SIZES * messages);
	for (int i = 0; i < 5; i++) {
		run_barrier();
		if (argc > 2 && me == 1)
			exit(3);
	}
	return job_end(1);
}
