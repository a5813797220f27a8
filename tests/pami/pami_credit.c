/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_credit: without progress a task sends each other one as many messages as it has
 * credits, however many the others took; a wait brings credits; a message that costs more than all
 * credits goes at last; and in the end all credits are back.
 */
#include <stdbool.h>

#include "pami/ext_credit.h"
#include "tests/harness/pami_job.h"

enum { ID = 1, LIMIT = 6, ROUNDS = 300 };

static struct {
	char other[40]; /* records lie in the program's own objects */
	pami_quintorus_credit_t credit;
} peer[JOB_TASKS_MAX];
static pami_quintorus_credit_settle_fn settle;
static pami_quintorus_credit_wait_fn wait_credit;
static bool is_ending;
static uint64_t received[JOB_TASKS_MAX], sent[JOB_TASKS_MAX];

struct head {
	uint32_t cost, carried;
};

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		       const void *pipe, size_t data_bytes, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	struct head h;
	size_t from, offset;

	PAMI_Endpoint_query(origin, &from, &offset);
	memcpy(&h, header, sizeof(h));
	pami_quintorus_credit_arrive(&peer[from].credit, h.carried);
	received[from]++;
	if (pami_quintorus_credit_return(&peer[from].credit, LIMIT, h.cost) || is_ending)
		settle(context, (pami_task_t)from);
	CHECK(peer[from].credit.owed < pami_quintorus_credit_kept(LIMIT));
}

/* The credits were taken. */
static void send_to(size_t to, uint32_t cost, uint32_t most)
{
	struct head h = {cost, pami_quintorus_credit_carry(&peer[to].credit, most)};
	pami_send_immediate_t s = {.header = {&h, sizeof(h)}, .dispatch = ID};

	PAMI_Endpoint_create(client, (pami_task_t)to, 0, &s.dest);
	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	sent[to]++;
}

/* As many messages as there are credits, to each task, though none of them comes back. */
static void exhaust_credit(void)
{
	for (size_t t = 0; t < tasks; t++) {
		uint64_t before = sent[t];

		while (pami_quintorus_credit_take(&peer[t].credit, LIMIT, 1))
			send_to(t, 1, 0);
		CHECK_EQ(sent[t] - before, LIMIT);
	}
}

static void flood_tasks(struct drv_rng *rng)
{
	for (int i = 0; i < ROUNDS; i++) {
		size_t to = drv_rng_below(rng, (uint32_t)tasks);
		uint32_t cost = 1 + drv_rng_below(rng, drv_rng_below(rng, 10) ? 3 : 3 * LIMIT);

		CHECK_EQ(wait_credit(context, (pami_task_t)to, cost), PAMI_SUCCESS);
		CHECK(peer[to].credit.used <= LIMIT ||
		      peer[to].credit.used - cost < pami_quintorus_credit_kept(LIMIT));
		send_to(to, cost, drv_rng_below(rng, 2) ? 100 : 0);
	}
}

static bool all_are_back(void)
{
	for (size_t t = 0; t < tasks; t++)
		if (peer[t].credit.used)
			return false;
	return true;
}

/* From now on every task returns credits at once, so all come back. */
static void return_all_credit(void)
{
	is_ending = true;
	for (size_t t = 0; t < tasks; t++)
		settle(context, (pami_task_t)t);
	WAIT(all_are_back());
	for (size_t t = 0; t < tasks; t++)
		CHECK(received[t] <= (uint64_t)LIMIT + ROUNDS);
}

int main(void)
{
	pami_dispatch_callback_function fn = {.p2p = on_message};
	pami_quintorus_credit_open_fn open_credit;
	struct drv_rng rng;
	pami_extension_t e;

	job_begin(1);
	drv_rng_seed(&rng, me + 1);
	CHECK_EQ(PAMI_Extension_open(client, PAMI_EXT_QUINTORUS_CREDIT, &e), PAMI_SUCCESS);
	open_credit = (pami_quintorus_credit_open_fn)PAMI_Extension_symbol(e, "open");
	settle = (pami_quintorus_credit_settle_fn)PAMI_Extension_symbol(e, "settle");
	wait_credit = (pami_quintorus_credit_wait_fn)PAMI_Extension_symbol(e, "wait");
	CHECK(open_credit && settle && wait_credit);
	CHECK_EQ(open_credit(NULL, &peer[0].credit, sizeof(peer[0]), LIMIT), PAMI_INVAL);
	CHECK_EQ(open_credit(context, NULL, sizeof(peer[0]), LIMIT), PAMI_INVAL);
	CHECK_EQ(open_credit(context, &peer[0].credit, 4, LIMIT), PAMI_INVAL);
	CHECK_EQ(open_credit(context, &peer[0].credit, sizeof(peer[0]), 1), PAMI_INVAL);
	CHECK_EQ(open_credit(context, &peer[0].credit, sizeof(peer[0]), LIMIT), PAMI_SUCCESS);
	CHECK_EQ(open_credit(context, &peer[0].credit, sizeof(peer[0]), LIMIT), PAMI_INVAL);
	PAMI_Dispatch_set(context, ID, fn, NULL, (pami_dispatch_hint_t){0});
	run_barrier();
	exhaust_credit();
	flood_tasks(&rng);
	return_all_credit();
	run_barrier();
	return job_end(1);
}
