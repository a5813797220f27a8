/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lab 4: 256 KiB from task 0 to task 1, which computes meanwhile.
 *
 *	torus run --clock virtual --shape 2x1x1x1x1 ./transfer send|put BUSY
 *
 * send: PAMI_Send, by rendezvous; with QUINTORUS_EAGER=1000000000 eagerly. put: PAMI_Put.
 * BUSY: the microseconds that task 1 computes, from the moment in which task 0 begins.
 */
#include "lab.h"

#define BYTES (256 << 10)

enum { DATA = 1, ADDRESS };

static char source[BYTES], target[BYTES];
static volatile int received, sent;
static char *volatile there; /* target of task 1, for task 0 */

static void on_data(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *receive)
{
	receive->addr = target;
	receive->type = PAMI_TYPE_BYTE;
	receive->offset = 0;
	receive->data_fn = PAMI_DATA_COPY;
	receive->local_fn = lab_count;
	receive->cookie = (void *)(uintptr_t)&received;
}

static void on_address(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *data, size_t bytes, pami_endpoint_t origin,
		       pami_recv_t *receive)
{
	char *p;

	memcpy(&p, data, sizeof p);
	there = p;
}

static void begin_send(void)
{
	pami_send_t s;

	memset(&s, 0, sizeof s);
	s.send.dest = lab_endpoint(1);
	s.send.dispatch = DATA;
	s.send.data.iov_base = source;
	s.send.data.iov_len = BYTES;
	s.events.cookie = (void *)(uintptr_t)&sent;
	s.events.local_fn = lab_count;
	lab_check(PAMI_Send(lab_context, &s));
}

/* Write source to `there`, the memory of task 1; `sent` counts when the data is in place. */
static void begin_put(void)
{
	/* TODO, step 4: a pami_put_simple_t with rma.dest, rma.bytes, rma.cookie, addr.local,
	 * addr.remote and put.rdone_fn (lab_count); then PAMI_Put(). */
	sent = 1;
}

int main(int argc, char **argv)
{
	double busy = argc > 2 ? atof(argv[2]) : 0, start;
	int by_put = argc > 1 && !strcmp(argv[1], "put");
	char *mine = target;

	lab_begin();
	lab_on_message(DATA, on_data, NULL);
	lab_on_message(ADDRESS, on_address, NULL);
	lab_barrier();
	if (me == 1)
		lab_send(0, ADDRESS, &mine, sizeof mine);
	else if (me == 0)
		lab_wait(there);
	memset(source, 7, sizeof source);
	lab_barrier();
	start = lab_us();
	if (me == 0) {
		if (by_put)
			begin_put();
		else
			begin_send();
		lab_wait(sent);
		printf("sender: done after %.1f us\n", lab_us() - start);
		if (by_put)
			lab_send(1, ADDRESS, &mine, sizeof mine); /* it is there */
	} else if (me == 1) {
		lab_compute(busy);
		lab_wait(by_put ? there != NULL : received);
		printf("receiver: waited %.1f us after computing, data %s\n",
		       lab_us() - start - busy, target[BYTES - 1] == 7 ? "complete" : "MISSING");
	}
	lab_end();
	return 0;
}
