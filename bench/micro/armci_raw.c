/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/atomic.h"
#include "bench/micro/armci_raw.h"

#include <pami.h>
#include <stdlib.h>
#include <string.h>

struct araw {
	struct abench *a;
	pami_client_t client;
	pami_context_t context;
	pami_endpoint_t peer;
	pami_memregion_t here, there;
	volatile long pending;
	size_t bytes;
	int mode; /* memory of the peer */
};

static void check_result(pami_result_t rc, const char *what)
{
	if (rc != PAMI_SUCCESS)
		abench_die("%s: PAMI result %d", what, (int)rc);
}

/* Every process offers its own part; process 0 takes that of the peer. */
struct araw *araw_open(struct abench *a, void *local, size_t bytes)
{
	struct araw *r = calloc(1, sizeof(*r));
	pami_memregion_t mine;
	size_t got;

	if (!r)
		abench_die("no memory");
	r->a = a;
	r->bytes = bytes;
	check_result(PAMI_Client_create("raw", &r->client, NULL, 0), "PAMI_Client_create");
	check_result(PAMI_Context_createv(r->client, NULL, 0, &r->context, 1),
		     "PAMI_Context_createv");
	check_result(PAMI_Memregion_create(r->context, a->mem[a->me], bytes, &got, &mine),
		     "PAMI_Memregion_create");
	check_result(PAMI_Memregion_create(r->context, local, bytes, &got, &r->here),
		     "PAMI_Memregion_create");
	if (a->me == a->peer)
		armci_msg_snd(1, &mine, sizeof(mine), 0);
	if (a->me == 0)
		armci_msg_rcv(1, &r->there, sizeof(r->there), NULL, a->peer);
	check_result(PAMI_Endpoint_create(r->client, (pami_task_t)a->peer, 0, &r->peer),
		     "PAMI_Endpoint_create");
	armci_msg_barrier();
	return r;
}

void araw_close(struct araw *r)
{
	armci_msg_barrier();
	PAMI_Context_destroyv(&r->context, 1);
	PAMI_Client_destroy(&r->client);
	free(r);
}

static void end_transfer(pami_context_t context, void *cookie, pami_result_t result)
{
	check_result(result, "a transfer");
	((struct araw *)cookie)->pending--;
}

enum { TAG_MODE = 2, TAG_READY = 3 };

/* The last word of the peer's memory. Other than 0: the peer stops polling PAMI. */
static volatile int *last_word(struct araw *r)
{
	return (volatile int *)((char *)r->a->mem[r->a->peer] + r->bytes - sizeof(int));
}

void araw_serve(struct araw *r)
{
	int mode = ARAW_ARMCI, ready = 1;

	while (mode != ARAW_END) {
		if (mode == ARAW_PAMI) {
			while (!atomic_load_acquire(last_word(r)))
				PAMI_Context_advance(r->context, 10);
			*last_word(r) = 0;
			mode = ARAW_ARMCI;
		} else {
			armci_msg_rcv(TAG_MODE, &mode, sizeof(mode), NULL, 0);
		}
		armci_msg_snd(TAG_READY, &ready, sizeof(ready), 0);
	}
}

void araw_set_peer_mode(struct araw *r, enum araw_mode mode)
{
	int to = (int)mode, ready;

	if (to == r->mode || r->a->peer == 0)
		return;
	if (r->mode == ARAW_PAMI) {
		ARMCI_PutValueInt(1, (void *)last_word(r), r->a->peer);
		armci_msg_rcv(TAG_READY, &ready, sizeof(ready), NULL, r->a->peer);
	}
	if (to != ARAW_ARMCI) {
		armci_msg_snd(TAG_MODE, &to, sizeof(to), r->a->peer);
		armci_msg_rcv(TAG_READY, &ready, sizeof(ready), NULL, r->a->peer);
	}
	r->mode = to;
}

void araw_run(struct araw *r, bool put, size_t bytes, long count, unsigned window)
{
	pami_rma_t rma = {.dest = r->peer, .bytes = bytes, .cookie = r};
	pami_rdma_t rdma = {.local = {&r->here, 0}, .remote = {&r->there, 0}};
	long i;

	if (!put)
		rma.done_fn = end_transfer;
	for (i = 0; i < count; i++) {
		r->pending++;
		if (put) {
			pami_rput_simple_t p = {
			    .rma = rma, .rdma = rdma, .put = {.rdone_fn = end_transfer}};

			check_result(PAMI_Rput(r->context, &p), "PAMI_Rput");
		} else {
			pami_rget_simple_t g = {.rma = rma, .rdma = rdma};

			check_result(PAMI_Rget(r->context, &g), "PAMI_Rget");
		}
		while (r->pending >= (long)window || (i + 1 == count && r->pending))
			PAMI_Context_advance(r->context, 1);
	}
}

void araw_add(struct araw *r, long count)
{
	uint64_t one = 1, old;
	pami_rmw_t p = {.dest = r->peer,
			.cookie = r,
			.done_fn = end_transfer,
			.local = &old,
			.remote = r->a->mem[r->a->peer],
			.value = &one,
			.operation = PAMI_ATOMIC_FETCH_ADD,
			.type = PAMI_TYPE_UNSIGNED_LONG_LONG};

	while (count--) {
		r->pending++;
		check_result(PAMI_Rmw(r->context, &p), "PAMI_Rmw");
		while (r->pending)
			PAMI_Context_advance(r->context, 1);
	}
}
