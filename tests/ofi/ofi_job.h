/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs of tests/ofi share: an endpoint of each task with queue, counters and addresses of
 * all; checks; waiting. A job: torus run -n N PROGRAM N [case].
 */
#ifndef TESTS_OFI_JOB_H
#define TESTS_OFI_JOB_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASKS_MAX 16

static unsigned me, tasks;

#define CHECK_WHO "task %u", me
#include "tests/harness/check_count.h"

/* Make a call that the rest of the program needs: an error ends the process. */
#define MUST(call)                                                                                 \
	do {                                                                                       \
		long rc_ = (long)(call);                                                           \
		if (rc_ < 0) {                                                                     \
			fprintf(stderr, "task %u, %s:%d: %s: %s\n", me, __FILE__, __LINE__, #call, \
				fi_strerror((int)-rc_));                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Start an operation. While the call returns -FI_EAGAIN, poll and repeat it. */
#define START(call)                                                                                \
	do {                                                                                       \
		ssize_t rc_;                                                                       \
		while ((rc_ = (call)) == -FI_EAGAIN)                                               \
			poll_once();                                                               \
		CHECK_EQ(rc_, 0);                                                                  \
	} while (0)

/* Properties of the objects that a job opens. */
struct setup {
	uint64_t caps;
	int mr_mode;
	enum fi_av_type av;
	enum fi_threading threading;
	enum fi_progress progress;
	enum fi_wait_obj wait;
	uint64_t bind; /* FI_SELECTIVE_COMPLETION */
};

static struct job {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_cntr *sends, *receives;
	struct fid_ep *ep;
	fi_addr_t peer[TASKS_MAX];
	/* control lives as long as the program: a job may close and open while others send. */
} job, control;

#define CAPS                                                                                       \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV | FI_SOURCE | FI_MULTI_RECV)

/* A completion or an error that was read and not yet asked for. */
struct seen {
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error;
	bool failed;
	fi_addr_t source;
};
static struct seen seen[4096];
static size_t seen_count;

static inline void poll_once(void)
{
	struct seen s = {.source = FI_ADDR_NOTAVAIL};
	ssize_t n = fi_cq_readfrom(job.cq, &s.entry, 1, &s.source);

	if (n == -FI_EAGAIN)
		return;
	if (n == -FI_EAVAIL) {
		s.failed = true;
		MUST(fi_cq_readerr(job.cq, &s.error, 0));
		s.entry.op_context = s.error.op_context;
	} else {
		MUST(n);
	}
	if (seen_count == sizeof seen / sizeof seen[0]) {
		fprintf(stderr, "task %u: too many completions that nobody asks for\n", me);
		exit(1);
	}
	seen[seen_count++] = s;
}

/* Poll until the operation with this context completes, and return its completion. */
static inline struct seen wait_for(const void *context)
{
	for (size_t i = 0;;) {
		for (; i < seen_count; i++) {
			struct seen s = seen[i];

			if (s.entry.op_context != context)
				continue;
			memmove(&seen[i], &seen[i + 1], (--seen_count - i) * sizeof s);
			return s;
		}
		poll_once();
	}
}

static inline struct fi_info *hints_of(const struct setup *s)
{
	struct fi_info *h = fi_allocinfo();

	h->caps = s->caps;
	h->ep_attr->type = FI_EP_RDM;
	h->domain_attr->mr_mode = s->mr_mode;
	h->domain_attr->av_type = s->av;
	h->domain_attr->threading = s->threading;
	h->domain_attr->data_progress = s->progress;
	h->tx_attr->msg_order = h->rx_attr->msg_order = FI_ORDER_SAS;
	h->fabric_attr->prov_name = strdup("quintorus");
	return h;
}

/* A name is { magic, task << 6 | context, job }; all tasks open the same contexts. */
static inline void peer_name(char *name, unsigned task)
{
	uint32_t endpoint;

	memcpy(&endpoint, name + 4, 4);
	endpoint = (endpoint & 63) | task << 6;
	memcpy(name + 4, &endpoint, 4);
}

static inline void insert_peers(struct fid_ep *ep, struct fid_av *av, fi_addr_t *peer)
{
	char name[64];
	size_t bytes = sizeof name;

	MUST(fi_getname(&ep->fid, name, &bytes));
	for (unsigned t = 0; t < tasks; t++) {
		peer_name(name, t);
		CHECK_EQ(fi_av_insert(av, name, 1, &peer[t], 0, NULL), 1);
	}
}

static inline void job_open_domain(const struct setup *s)
{
	struct fi_info *hints = hints_of(s);
	struct fi_av_attr av = {.type = s->av};
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = s->wait};

	MUST(fi_getinfo(FI_VERSION(1, 11), NULL, NULL, 0, hints, &job.info));
	fi_freeinfo(hints);
	MUST(fi_fabric(job.info->fabric_attr, &job.fabric, NULL));
	MUST(fi_domain(job.fabric, job.info, &job.domain, NULL));
	MUST(fi_av_open(job.domain, &av, &job.av, NULL));
	MUST(fi_cq_open(job.domain, &cq, &job.cq, NULL));
	MUST(fi_cntr_open(job.domain, NULL, &job.sends, NULL));
	MUST(fi_cntr_open(job.domain, NULL, &job.receives, NULL));
}

static inline void job_close_domain(void)
{
	MUST(fi_close(&job.sends->fid));
	MUST(fi_close(&job.receives->fid));
	MUST(fi_close(&job.cq->fid));
	MUST(fi_close(&job.av->fid));
	MUST(fi_close(&job.domain->fid));
	MUST(fi_close(&job.fabric->fid));
	fi_freeinfo(job.info);
	memset(&job, 0, sizeof job);
}

/* Poll both endpoints; true when a barrier's message has come. */
static inline bool poll_control(void)
{
	struct fi_cq_tagged_entry e;
	ssize_t n = fi_cq_read(control.cq, &e, 1);

	if (job.cq)
		poll_once();
	if (n != -FI_EAGAIN)
		MUST(n);
	return n == 1;
}

/* All tasks have come here. */
static inline void run_barrier(void)
{
	static uint64_t round;
	static char out, in[TASKS_MAX];

	round++;
	for (unsigned t = 0; t < tasks; t++)
		MUST(fi_trecv(control.ep, &in[t], 1, NULL, control.peer[t], round, 0, &in[t]));
	for (unsigned t = 0; t < tasks; t++)
		while (fi_tinject(control.ep, &out, 1, control.peer[t], round))
			if (job.cq)
				poll_once();
	for (unsigned t = 0; t < tasks;)
		t += poll_control();
}

static inline void job_open(const struct setup *s)
{
	job_open_domain(s);
	MUST(fi_endpoint(job.domain, job.info, &job.ep, NULL));
	MUST(fi_ep_bind(job.ep, &job.av->fid, 0));
	MUST(fi_ep_bind(job.ep, &job.cq->fid, FI_TRANSMIT | FI_RECV | s->bind));
	MUST(fi_ep_bind(job.ep, &job.sends->fid, FI_SEND));
	MUST(fi_ep_bind(job.ep, &job.receives->fid, FI_RECV));
	MUST(fi_enable(job.ep));
	insert_peers(job.ep, job.av, job.peer);
	run_barrier(); /* Names are made up, so the endpoints behind them must be there. */
}

static inline void job_close(void)
{
	run_barrier();
	MUST(fi_close(&job.ep->fid));
	job_close_domain();
	CHECK_EQ(seen_count, 0);
	seen_count = 0;
}

struct job_case {
	const char *name;
	void (*run)(void);
};

static inline void control_open(void)
{
	static const struct setup s = {.caps = FI_TAGGED | FI_DIRECTED_RECV,
				       .mr_mode = FI_MR_VIRT_ADDR,
				       .av = FI_AV_MAP,
				       .threading = FI_THREAD_DOMAIN};

	job_open_domain(&s);
	MUST(fi_endpoint(job.domain, job.info, &job.ep, NULL));
	MUST(fi_ep_bind(job.ep, &job.av->fid, 0));
	MUST(fi_ep_bind(job.ep, &job.cq->fid, FI_TRANSMIT | FI_RECV));
	MUST(fi_enable(job.ep));
	insert_peers(job.ep, job.av, job.peer);
	control = job;
	memset(&job, 0, sizeof job);
}

static inline void control_close(void)
{
	run_barrier();
	job = control;
	MUST(fi_close(&job.ep->fid));
	job_close_domain();
}

static inline int job_main(int argc, char **argv, const struct job_case *cases, size_t count)
{
	const char *task = getenv("QUINTORUS_TASK"), *rank = getenv("PMIX_RANK");

	setvbuf(stdout, NULL, _IOLBF, 0);
	me = (unsigned)atoi(task ? task : rank ? rank : "0");
	tasks = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	control_open();
	for (size_t i = 0; i < count; i++) {
		if (argc > 2 && strcmp(argv[2], cases[i].name))
			continue;
		if (!me)
			printf("%s\n", cases[i].name);
		cases[i].run();
	}
	control_close();
	return check_failures != 0;
}

#endif
