/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects of libfabric and their ends: queues, counters, poll sets, domains, address vectors that
 * change, endpoints that come and go while others send.
 */
#include "tests/ofi/ofi_job.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

static const struct setup plain = {
    .caps = CAPS, .mr_mode = FI_MR_VIRT_ADDR, .av = FI_AV_TABLE, .threading = FI_THREAD_SAFE};

/* ---- event queues ---- */

static void *write_event(void *eq)
{
	struct fi_eq_entry e = {.data = 77};

	usleep(20000);
	CHECK_EQ(fi_eq_write(eq, FI_NOTIFY, &e, sizeof e, 0), sizeof e);
	return NULL;
}

static void event_queues(void)
{
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_FD, .flags = FI_WRITE};
	struct fi_eq_entry e = {0}, in = {0};
	struct fi_eq_err_entry error;
	struct fid_eq *eq;
	struct fid *fid;
	uint32_t kind;
	pthread_t thread;
	int fd = -1;

	job_open_domain(&plain);
	MUST(fi_eq_open(job.fabric, &attr, &eq, &attr));
	CHECK_EQ(fi_eq_read(eq, &kind, &in, sizeof in, 0), -FI_EAGAIN);
	CHECK_EQ(fi_eq_readerr(eq, &error, 0), -FI_EAGAIN);
	CHECK_EQ(fi_eq_sread(eq, &kind, &in, sizeof in, 1, 0), -FI_EAGAIN);
	for (uint64_t i = 0; i < 100; i++) {
		e.data = i;
		CHECK_EQ(fi_eq_write(eq, FI_NOTIFY, &e, sizeof e, 0), sizeof e);
	}
	MUST(fi_control(&eq->fid, FI_GETWAIT, &fd));
	fid = &eq->fid;
	CHECK_EQ(fi_trywait(job.fabric, &fid, 1), -FI_EAGAIN);
	CHECK_EQ(fi_eq_read(eq, &kind, &in, sizeof in - 1, 0), -FI_ETOOSMALL);
	CHECK_EQ(fi_eq_read(eq, &kind, &in, sizeof in, FI_PEEK), sizeof in);
	for (uint64_t i = 0; i < 100; i++) {
		CHECK_EQ(fi_eq_read(eq, &kind, &in, sizeof in, 0), sizeof in);
		CHECK(kind == FI_NOTIFY && in.data == i);
	}
	CHECK_EQ(fi_eq_read(eq, &kind, &in, sizeof in, 0), -FI_EAGAIN);
	CHECK_EQ(fi_trywait(job.fabric, &fid, 1), 0);
	pthread_create(&thread, NULL, write_event, eq);
	CHECK_EQ(fi_eq_sread(eq, &kind, &in, sizeof in, -1, 0), sizeof in);
	CHECK_EQ(in.data, 77);
	pthread_join(thread, NULL);
	CHECK_EQ(fi_close(&job.fabric->fid), -FI_EBUSY);
	MUST(fi_close(&eq->fid));
	job_close_domain();
}

/* ---- completion queues ---- */

static void completion_queues(void)
{
	static const enum fi_wait_obj offered[] = {FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_FD,
						   FI_WAIT_YIELD};
	struct fi_cq_tagged_entry e;
	struct fid_cq *cq;

	job_open_domain(&plain);
	for (int format = FI_CQ_FORMAT_UNSPEC; format <= FI_CQ_FORMAT_TAGGED; format++) {
		for (size_t size = 0; size <= 65536; size = size * 4 + 1) {
			struct fi_cq_attr attr = {.size = size,
						  .format = (enum fi_cq_format)format,
						  .wait_obj = offered[size % 4]};

			MUST(fi_cq_open(job.domain, &attr, &cq, NULL));
			CHECK_EQ(fi_cq_read(cq, &e, 1), -FI_EAGAIN);
			if (attr.wait_obj != FI_WAIT_NONE)
				CHECK_EQ(fi_cq_sread(cq, &e, 1, NULL, 1), -FI_EAGAIN);
			MUST(fi_cq_signal(cq));
			CHECK_EQ(fi_cq_sread(cq, &e, 1, NULL, -1), -FI_ECANCELED);
			MUST(fi_close(&cq->fid));
		}
	}
	{
		struct fi_cq_attr attr = {.wait_obj = FI_WAIT_MUTEX_COND};

		CHECK_EQ(fi_cq_open(job.domain, &attr, &cq, NULL), -FI_ENOSYS);
	}
	job_close_domain();
}

/* ---- domains and endpoints ---- */

static void domains_close_last(void)
{
	struct fi_domain_attr *attr;
	struct fid_domain *more[8];

	job_open_domain(&plain);
	attr = job.info->domain_attr;
	CHECK(attr->cq_cnt && attr->ep_cnt && attr->mr_iov_limit);
	for (size_t i = 0; i < 8; i++)
		MUST(fi_domain(job.fabric, job.info, &more[i], &more[i]));
	CHECK(more[3]->fid.context == &more[3]);
	for (size_t i = 0; i < 8; i++)
		MUST(fi_close(&more[i]->fid));
	CHECK_EQ(fi_close(&job.domain->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&job.fabric->fid), -FI_EBUSY);
	job_close_domain();
}

/* libfabric calls these two deprecated; programs call them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void size_left(void)
{
	job_open_domain(&plain);
	MUST(fi_endpoint(job.domain, job.info, &job.ep, NULL));
	CHECK_EQ(fi_tx_size_left(job.ep), -FI_EOPBADSTATE);
	CHECK_EQ(fi_enable(job.ep), -FI_ENOAV);
	MUST(fi_ep_bind(job.ep, &job.av->fid, 0));
	CHECK_EQ(fi_enable(job.ep), -FI_ENOCQ);
	MUST(fi_ep_bind(job.ep, &job.cq->fid, FI_TRANSMIT | FI_RECV));
	MUST(fi_enable(job.ep));
	CHECK_EQ(fi_tx_size_left(job.ep), job.info->tx_attr->size);
	CHECK_EQ(fi_rx_size_left(job.ep), job.info->rx_attr->size);
	CHECK_EQ(fi_close(&job.av->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&job.cq->fid), -FI_EBUSY);
	MUST(fi_close(&job.ep->fid));
	job_close_domain();
}

#pragma GCC diagnostic pop

/* ---- registrations of lists ---- */

static void registered_lists(void)
{
	static char memory[4096];
	struct iovec v[2] = {{memory, 1000}, {memory + 2000, 1000}};
	struct fid_mr *mr;

	job_open_domain(&plain);
	MUST(fi_mr_regv(job.domain, v, 1, FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL));
	MUST(fi_close(&mr->fid));
	CHECK_EQ(job.info->domain_attr->mr_iov_limit, 1);
	CHECK_EQ(fi_mr_regv(job.domain, v, 2, FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL), -FI_EINVAL);
	job_close_domain();
}

/* ---- poll sets ---- */

static void poll_sets(void)
{
	struct fi_poll_attr attr = {0};
	struct fid_poll *set;
	void *news[4] = {0};
	static char out[300], in[TASKS_MAX][300];
	static int rx[TASKS_MAX];
	int n = 0;

	job_open(&plain);
	MUST(fi_poll_open(job.domain, &attr, &set));
	job.cq->fid.context = &job.cq;
	job.receives->fid.context = &job.receives;
	MUST(fi_poll_add(set, &job.cq->fid, 0));
	MUST(fi_poll_add(set, &job.receives->fid, 0));
	CHECK_EQ(fi_poll_add(set, &job.av->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_poll(set, news, 4), 0);
	for (unsigned t = 0; t < tasks; t++)
		START(fi_trecv(job.ep, in[t], sizeof in[t], NULL, job.peer[t], 5, 0, &rx[t]));
	for (unsigned t = 0; t < tasks; t++)
		START(fi_tinject(job.ep, out, 8, job.peer[t], 5));
	while (seen_count < tasks) {
		bool queue = false, counter = false;

		while (!(n = fi_poll(set, news, 4)))
			;
		for (int i = 0; i < n; i++) {
			queue |= news[i] == &job.cq;
			counter |= news[i] == &job.receives;
		}
		CHECK(queue || counter);
		if (queue)
			poll_once();
	}
	seen_count = 0;
	while (fi_poll(set, news, 4) && news[0] == &job.receives)
		;
	CHECK_EQ(fi_cntr_read(job.receives), tasks);
	CHECK_EQ(fi_close(&set->fid), -FI_EBUSY);
	MUST(fi_poll_del(set, &job.cq->fid, 0));
	CHECK_EQ(fi_poll_del(set, &job.cq->fid, 0), -FI_EINVAL);
	MUST(fi_poll_del(set, &job.receives->fid, 0));
	MUST(fi_close(&set->fid));
	job_close();
}

/* A poll set tells of a queue with an entry; its descriptor still wakes a thread that waits. */
static void poll_keeps_descriptor(void)
{
	static const struct setup waits = {.caps = CAPS,
					   .mr_mode = FI_MR_VIRT_ADDR,
					   .av = FI_AV_TABLE,
					   .threading = FI_THREAD_SAFE,
					   .wait = FI_WAIT_FD};
	struct fi_poll_attr attr = {0};
	struct pollfd p = {.events = POLLIN};
	struct fid_poll *set;
	void *news = NULL;
	static char out[8], in[8];

	job_open(&waits);
	MUST(fi_poll_open(job.domain, &attr, &set));
	job.cq->fid.context = &job.cq;
	MUST(fi_poll_add(set, &job.cq->fid, 0));
	MUST(fi_control(&job.cq->fid, FI_GETWAIT, &p.fd));
	CHECK_EQ(fi_poll(set, &news, 1), 0);
	START(fi_trecv(job.ep, in, sizeof in, NULL, job.peer[me], 6, 0, in));
	START(fi_tinject(job.ep, out, sizeof out, job.peer[me], 6));
	while (!fi_poll(set, &news, 1))
		;
	CHECK(news == &job.cq);
	CHECK_EQ(poll(&p, 1, 10000), 1);
	CHECK_EQ(fi_poll(set, &news, 1), 1);
	CHECK_EQ(poll(&p, 1, 0), 1);
	wait_for(in);
	MUST(fi_poll_del(set, &job.cq->fid, 0));
	MUST(fi_close(&set->fid));
	job_close();
}

/* ---- address vectors that change ---- */

static void ring_round(uint64_t tag)
{
	unsigned right = (me + 1) % tasks, left = (me + tasks - 1) % tasks;
	static unsigned out, in;
	struct seen s;

	START(fi_trecv(job.ep, &in, sizeof in, NULL, job.peer[left], tag, 0, &in));
	out = me;
	START(fi_tsend(job.ep, &out, sizeof out, NULL, job.peer[right], tag, &out));
	wait_for(&out);
	s = wait_for(&in);
	CHECK_EQ(in, left);
	CHECK_EQ(s.source, job.peer[left]);
}

static void addresses_come_and_go(void)
{
	fi_addr_t again;
	char name[64];
	size_t bytes;

	job_open(&plain);
	ring_round(1);
	for (unsigned t = 0; t < tasks; t++) {
		/* The second entry of a peer stands for it when the first one is removed. */
		bytes = sizeof name;
		MUST(fi_av_lookup(job.av, job.peer[t], name, &bytes));
		CHECK_EQ(fi_av_insert(job.av, name, 1, &again, 0, NULL), 1);
		MUST(fi_av_remove(job.av, &job.peer[t], 1, 0));
		bytes = sizeof name;
		CHECK_EQ(fi_av_lookup(job.av, job.peer[t], name, &bytes), -FI_EINVAL);
		CHECK_EQ(fi_tinject(job.ep, name, 1, job.peer[t], 3), -FI_EINVAL);
		job.peer[t] = again;
	}
	run_barrier();
	ring_round(2);
	job_close();
}

/* ---- endpoints that come and go ---- */

/* Clients open and close endpoints, of a domain of their own, and ask the server each time. */
static void clients_come_and_go(void)
{
	struct job server;

	job_open(&plain);
	server = job;
	for (uint64_t round = 0; round < 20 && me; round++) {
		static char out[3000], in[3000];

		memset(&job, 0, sizeof job);
		job_open_domain(&plain);
		MUST(fi_endpoint(job.domain, job.info, &job.ep, NULL));
		MUST(fi_ep_bind(job.ep, &job.av->fid, 0));
		MUST(fi_ep_bind(job.ep, &job.cq->fid, FI_TRANSMIT | FI_RECV));
		MUST(fi_enable(job.ep));
		{
			char name[64];
			size_t bytes = sizeof name;

			MUST(fi_getname(&server.ep->fid, name, &bytes));
			peer_name(name, 0);
			CHECK_EQ(fi_av_insert(job.av, name, 1, &job.peer[0], 0, NULL), 1);
			bytes = sizeof out;
			MUST(fi_getname(&job.ep->fid, out, &bytes));
		}
		START(fi_trecv(job.ep, in, sizeof in, NULL, job.peer[0], 9, 0, in));
		START(fi_tsend(job.ep, out, sizeof out, NULL, job.peer[0], 8, out));
		wait_for(out);
		wait_for(in);
		CHECK(!memcmp(in, out, sizeof in));
		MUST(fi_close(&job.ep->fid));
		job_close_domain();
	}
	job = server;
	for (unsigned i = 0; i < 20 * (tasks - 1) && !me; i++) {
		static char in[3000];
		fi_addr_t from;

		START(fi_trecv(job.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, 8, 0, in));
		wait_for(in);
		CHECK_EQ(fi_av_insert(job.av, in, 1, &from, 0, NULL), 1);
		START(fi_tsend(job.ep, in, sizeof in, NULL, from, 9, in));
		wait_for(in);
		MUST(fi_av_remove(job.av, &from, 1, 0));
	}
	job_close();
}

/* Two domains of a process, each with an endpoint of its own, exchange with all tasks. */
static void two_domains(void)
{
	struct job first;

	job_open(&plain);
	first = job;
	memset(&job, 0, sizeof job);
	job_open(&plain);
	for (uint64_t round = 0; round < 10; round++) {
		struct job second = job;

		ring_round(round);
		job = first;
		ring_round(round);
		job = second;
	}
	job_close();
	job = first;
	ring_round(99);
	job_close();
}

/* A long message to an endpoint that closes without receiving it: its sender gets an error. */
static void closed_endpoints_refuse(void)
{
	enum { N = 100000 };
	static char out[N];
	struct fid_ep *other;
	char name[64];
	size_t bytes = sizeof name;
	fi_addr_t to;
	struct seen s;

	job_open(&plain);
	MUST(fi_endpoint(job.domain, job.info, &other, NULL));
	MUST(fi_ep_bind(other, &job.av->fid, 0));
	MUST(fi_ep_bind(other, &job.cq->fid, FI_TRANSMIT | FI_RECV));
	MUST(fi_enable(other));
	MUST(fi_getname(&other->fid, name, &bytes));
	peer_name(name, (me + 1) % tasks);
	CHECK_EQ(fi_av_insert(job.av, name, 1, &to, 0, NULL), 1);
	run_barrier();
	START(fi_tsend(job.ep, out, N, NULL, to, 4, out));
	/* The barrier's messages are behind the offer only on the same way, so poll for it, too. */
	run_barrier();
	for (int i = 0; i < 2000; i++)
		poll_once();
	MUST(fi_close(&other->fid));
	s = wait_for(out);
	CHECK(s.failed && s.error.err == FI_EHOSTUNREACH);
	job_close();
}

int main(int argc, char **argv)
{
	static const struct job_case cases[] = {
	    {"event_queues", event_queues},
	    {"completion_queues", completion_queues},
	    {"domains", domains_close_last},
	    {"size_left", size_left},
	    {"registered_lists", registered_lists},
	    {"poll_sets", poll_sets},
	    {"poll_keeps_descriptor", poll_keeps_descriptor},
	    {"addresses_come_and_go", addresses_come_and_go},
	    {"clients_come_and_go", clients_come_and_go},
	    {"two_domains", two_domains},
	    {"closed_endpoints_refuse", closed_endpoints_refuse},
	};

	return job_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
