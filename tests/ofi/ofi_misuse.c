/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program may get wrong: objects that are NULL, of another domain or still in use, lists
 * without an array or too long, counts that wrap, addresses that were never inserted, keys of
 * nobody, endpoints that are not enabled, results without a place. Each call returns an error and
 * changes nothing; what follows works.
 */
#include "tests/ofi/ofi_job.h"

static const struct setup plain = {
    .caps = CAPS, .mr_mode = FI_MR_VIRT_ADDR, .av = FI_AV_TABLE, .threading = FI_THREAD_SAFE};
static const struct setup asked = {
    .caps = CAPS, .mr_mode = 0, .av = FI_AV_MAP, .threading = FI_THREAD_SAFE};

#define BAD(call)   CHECK_EQ(call, -FI_EINVAL)
#define MANY        (SIZE_MAX / 8)
#define STATE(call) CHECK_EQ(call, -FI_EOPBADSTATE)

static char memory[4096];
static struct iovec piece = {memory, 8};
static struct fi_ioc ioc = {memory, 1};

/* All ways to start something with this address and endpoint. */
static void start_all(struct fid_ep *ep, fi_addr_t to, int error)
{
	uint64_t at = (uint64_t)(uintptr_t)memory;

	CHECK_EQ(fi_send(ep, memory, 8, NULL, to, NULL), error);
	CHECK_EQ(fi_sendv(ep, &piece, NULL, 1, to, NULL), error);
	CHECK_EQ(fi_senddata(ep, memory, 8, NULL, 1, to, NULL), error);
	CHECK_EQ(fi_inject(ep, memory, 8, to), error);
	CHECK_EQ(fi_tsend(ep, memory, sizeof memory, NULL, to, 1, NULL), error);
	CHECK_EQ(fi_tinject(ep, memory, 8, to, 1), error);
	CHECK_EQ(fi_trecv(ep, memory, 8, NULL, to, 1, 0, NULL), error);
	CHECK_EQ(fi_read(ep, memory, 8, NULL, to, at, 0, NULL), error);
	CHECK_EQ(fi_write(ep, memory, 8, NULL, to, at, 0, NULL), error);
	CHECK_EQ(fi_inject_write(ep, memory, 8, to, at, 0), error);
	CHECK_EQ(fi_atomic(ep, memory, 1, NULL, to, at, 0, FI_UINT64, FI_SUM, NULL), error);
	CHECK_EQ(
	    fi_fetch_atomic(ep, memory, 1, NULL, memory, NULL, to, at, 0, FI_UINT64, FI_SUM, NULL),
	    error);
}

static void endpoints_not_enabled(void)
{
	struct fid_ep *ep;

	job_open_domain(&plain);
	MUST(fi_endpoint(job.domain, job.info, &ep, NULL));
	start_all(ep, 0, -FI_EOPBADSTATE);
	MUST(fi_ep_bind(ep, &job.av->fid, 0));
	start_all(ep, 0, -FI_EOPBADSTATE);
	MUST(fi_ep_bind(ep, &job.cq->fid, FI_TRANSMIT | FI_RECV));
	start_all(ep, 0, -FI_EOPBADSTATE);
	MUST(fi_close(&ep->fid));
	job_close_domain();
}

static void addresses_of_nobody(void)
{
	static const fi_addr_t none[] = {1000, 1ull << 31, 1ull << 32, 1ull << 40, 1ull << 63};

	job_open(&plain);
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		start_all(job.ep, none[i], -FI_EINVAL);
	job_close();
	/* In a map each number may be an address: no task of the job has these. */
	job_open(&asked);
	for (size_t i = 1; i < sizeof none / sizeof none[0]; i++) {
		CHECK(fi_send(job.ep, memory, 8, NULL, none[i], NULL) < 0);
		CHECK(fi_tsend(job.ep, memory, sizeof memory, NULL, none[i], 1, NULL) < 0);
		CHECK(fi_write(job.ep, memory, 8, NULL, none[i], 0, 0, NULL) < 0);
		CHECK(fi_atomic(job.ep, memory, 1, NULL, none[i], 0, 0, FI_UINT64, FI_SUM, NULL) <
		      0);
	}
	job_close();
}

static void keys_of_nobody(void)
{
	struct seen s;
	char a, b;

	job_open(&asked);
	START(fi_write(job.ep, memory, 8, NULL, job.peer[(me + 1) % tasks], 0, 777, &a));
	START(fi_atomic(job.ep, memory, 1, NULL, job.peer[(me + 1) % tasks], 0, 777, FI_UINT64,
			FI_SUM, &b));
	s = wait_for(&a);
	CHECK(s.failed && s.error.err == FI_EACCES);
	s = wait_for(&b);
	CHECK(s.failed && s.error.err == FI_EACCES);
	job_close();
}

static void lists_that_lie(void)
{
	struct iovec wraps[2] = {{memory, SIZE_MAX}, {memory, 10}};
	struct fi_ioc much = {memory, MANY + 1};
	fi_addr_t to;
	uint64_t at = (uint64_t)(uintptr_t)memory;
	struct fi_rma_iov remote = {at, 8, 0};
	struct fi_rma_ioc remote_ioc = {at, 1, 0};
	struct fi_msg m = {.msg_iov = &piece, .iov_count = MANY};
	struct fi_msg_rma r = {.msg_iov = &piece, .iov_count = 1};
	struct fi_msg_atomic a = {.msg_iov = &ioc, .iov_count = 1, .datatype = FI_UINT64};
	struct fid_ep *ep;

	job_open(&plain);
	ep = job.ep;
	to = m.addr = r.addr = a.addr = job.peer[me];
	BAD(fi_sendv(ep, &piece, NULL, MANY, to, NULL));
	BAD(fi_sendv(ep, NULL, NULL, 1, to, NULL));
	BAD(fi_tsendv(ep, NULL, NULL, 2, to, 1, NULL));
	BAD(fi_recvv(ep, &piece, NULL, MANY, to, NULL));
	BAD(fi_recvv(ep, NULL, NULL, 1, to, NULL));
	BAD(fi_readv(ep, &piece, NULL, MANY, to, at, 0, NULL));
	BAD(fi_writev(ep, NULL, NULL, 1, to, at, 0, NULL));
	CHECK_EQ(fi_sendv(ep, wraps, NULL, 2, to, NULL), -FI_EMSGSIZE);
	CHECK_EQ(fi_writev(ep, wraps, NULL, 2, to, at, 0, NULL), -FI_EMSGSIZE);
	CHECK_EQ(fi_send(ep, memory, SIZE_MAX, NULL, to, NULL), -FI_EMSGSIZE);
	CHECK_EQ(fi_read(ep, memory, SIZE_MAX, NULL, to, at, 0, NULL), -FI_EMSGSIZE);
	CHECK_EQ(fi_inject(ep, memory, sizeof memory, to), -FI_EMSGSIZE);
	BAD(fi_sendmsg(ep, NULL, 0));
	BAD(fi_recvmsg(ep, NULL, 0));
	BAD(fi_sendmsg(ep, &m, 0));
	BAD(fi_recvmsg(ep, &m, 0));
	BAD(fi_tsendmsg(ep, NULL, 0));
	BAD(fi_trecvmsg(ep, NULL, 0));
	BAD(fi_readmsg(ep, NULL, 0));
	r.rma_iov_count = 0;
	BAD(fi_writemsg(ep, &r, 0));
	r.rma_iov_count = 1;
	BAD(fi_writemsg(ep, &r, 0));
	r.rma_iov = &remote;
	r.iov_count = MANY;
	BAD(fi_readmsg(ep, &r, 0));
	BAD(fi_atomicmsg(ep, NULL, 0));
	a.rma_iov_count = 0;
	BAD(fi_atomicmsg(ep, &a, 0));
	a.rma_iov_count = 1;
	BAD(fi_atomicmsg(ep, &a, 0));
	a.rma_iov = &remote_ioc;
	a.iov_count = MANY;
	BAD(fi_atomicmsg(ep, &a, 0));
	BAD(fi_fetch_atomicmsg(ep, NULL, &ioc, NULL, 1, 0));
	BAD(fi_atomicv(ep, &much, NULL, 1, to, at, 0, FI_UINT64, FI_SUM, NULL));
	CHECK_EQ(fi_atomic(ep, memory, MANY + 1, NULL, to, at, 0, FI_UINT64, FI_SUM, NULL),
		 -FI_EMSGSIZE);
	BAD(fi_atomic(ep, NULL, 1, NULL, to, at, 0, FI_UINT64, FI_SUM, NULL));
	BAD(fi_fetch_atomic(ep, memory, 1, NULL, NULL, NULL, to, at, 0, FI_UINT64, FI_SUM, NULL));
	BAD(fi_compare_atomic(ep, memory, 1, NULL, NULL, NULL, memory, NULL, to, at, 0, FI_UINT64,
			      FI_CSWAP, NULL));
	CHECK_EQ(fi_atomic(ep, memory, 1, NULL, to, at, 0, (enum fi_datatype)99, FI_SUM, NULL),
		 -FI_EOPNOTSUPP);
	CHECK_EQ(fi_atomic(ep, memory, 1, NULL, to, at, 0, FI_UINT64, (enum fi_op)99, NULL),
		 -FI_EOPNOTSUPP);
	job_close();
}

/* Open calls, and calls of objects, without what they need. */
static void arguments_that_are_null(void)
{
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_FD, .flags = FI_WRITE};
	struct fi_eq_entry e = {0};
	struct fi_info *bare = fi_allocinfo(), *wrong = fi_dupinfo(bare);
	struct fid_domain *domain;
	struct fid_poll *poll;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_eq *eq;
	struct fid_mr *mr;
	struct fid *none = NULL;
	size_t bytes = sizeof memory;
	uint32_t kind;
	void *context;

	job_open(&plain);
	free(wrong->domain_attr);
	wrong->domain_attr = NULL;
	BAD(fi_domain(job.fabric, NULL, &domain, NULL));
	BAD(fi_domain(job.fabric, wrong, &domain, NULL));
	BAD(fi_endpoint(job.domain, NULL, &ep, NULL));
	BAD(fi_scalable_ep(job.domain, NULL, &ep, NULL));
	BAD(fi_cq_open(job.domain, NULL, &cq, NULL));
	BAD(fi_query_atomic(job.domain, FI_UINT64, FI_SUM, NULL, 0));
	BAD(fi_mr_regattr(job.domain, NULL, 0, &mr));
	BAD(fi_mr_regv(job.domain, NULL, 1, FI_SEND, 0, 0, 0, &mr, NULL));
	BAD(fi_ep_bind(job.ep, NULL, FI_SEND));
	BAD(fi_ep_bind(job.ep, &job.domain->fid, FI_SEND));
	CHECK_EQ(fi_ep_bind(job.ep, &job.sends->fid, 0), -FI_EBADFLAGS);
	CHECK_EQ(fi_ep_bind(job.ep, &job.receives->fid, FI_SEND), -FI_EBUSY);
	BAD(fi_control(&job.ep->fid, FI_ALIAS, NULL));
	BAD(fi_control(&job.ep->fid, FI_GETOPSFLAG, NULL));
	BAD(fi_getname(&job.ep->fid, memory, NULL));
	BAD(fi_getname(&job.ep->fid, NULL, &bytes));
	BAD(fi_getopt(&job.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, NULL, &bytes));
	BAD(fi_setopt(&job.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, NULL, 8));
	BAD(fi_av_insert(job.av, NULL, 1, NULL, 0, NULL));
	BAD(fi_av_remove(job.av, NULL, 1, 0));
	BAD(fi_av_lookup(job.av, 0, memory, NULL));
	BAD(fi_av_lookup(job.av, 0, NULL, &bytes));
	BAD(fi_av_bind(job.av, NULL, 0));
	CHECK(!fi_av_straddr(job.av, NULL, memory, &bytes));
	BAD(fi_cq_readerr(job.cq, NULL, 0));
	BAD(fi_control(&job.cq->fid, FI_GETWAIT, NULL));
	BAD(fi_trywait(job.fabric, NULL, 1));
	BAD(fi_trywait(job.fabric, &none, 1));
	BAD(fi_trywait(job.fabric, &none, -1));
	MUST(fi_poll_open(job.domain, NULL, &poll));
	BAD(fi_poll_add(poll, NULL, 0));
	BAD(fi_poll_del(poll, NULL, 0));
	BAD(fi_poll(poll, NULL, 1));
	CHECK_EQ(fi_poll(poll, &context, 1), 0);
	MUST(fi_close(&poll->fid));
	MUST(fi_eq_open(job.fabric, &eq_attr, &eq, NULL));
	BAD(fi_eq_read(eq, NULL, &e, sizeof e, 0));
	BAD(fi_eq_read(eq, &kind, NULL, sizeof e, 0));
	BAD(fi_eq_write(eq, FI_NOTIFY, NULL, 8, 0));
	CHECK(fi_eq_write(eq, FI_NOTIFY, &e, 1 << 20, 0) < 0);
	BAD(fi_control(&eq->fid, FI_GETWAIT, NULL));
	MUST(fi_close(&eq->fid));
	job_close();
	fi_freeinfo(bare);
	fi_freeinfo(wrong);
}

/* A completion is read into nothing, and then is still there. */
static void completions_keep(void)
{
	static char in, out;

	job_open(&plain);
	START(fi_trecv(job.ep, &in, 1, NULL, job.peer[me], 7, 0, &in));
	START(fi_tsend(job.ep, &out, 1, NULL, job.peer[me], 7, &out));
	while (fi_cq_read(job.cq, NULL, 1) == -FI_EAGAIN)
		;
	CHECK_EQ(fi_cq_read(job.cq, NULL, 0), 0);
	BAD(fi_cq_read(job.cq, NULL, 1));
	BAD(fi_cq_sread(job.cq, NULL, 1, NULL, 1));
	CHECK(!wait_for(&in).failed);
	CHECK(!wait_for(&out).failed);
	job_close();
}

/* Objects of one domain in another; objects that close before those that use them. */
static void objects_that_do_not_fit(void)
{
	struct job first;
	struct fid_cntr *cntr;
	struct fid_ep *ep, *alias;
	struct fi_alias a = {.flags = FI_TRANSMIT | FI_COMPLETION};
	struct fid *out;

	job_open_domain(&plain);
	first = job;
	memset(&job, 0, sizeof job);
	job_open(&plain);
	MUST(fi_endpoint(job.domain, job.info, &ep, NULL));
	BAD(fi_ep_bind(ep, &first.av->fid, 0));
	BAD(fi_ep_bind(ep, &first.cq->fid, FI_TRANSMIT | FI_RECV));
	BAD(fi_ep_bind(ep, &first.sends->fid, FI_SEND));
	/* A counter of nothing that is counted is not polled when the endpoint has gone. */
	MUST(fi_cntr_open(job.domain, NULL, &cntr, NULL));
	MUST(fi_ep_bind(ep, &cntr->fid, FI_REMOTE_WRITE));
	a.fid = &out;
	MUST(fi_control(&ep->fid, FI_ALIAS, &a));
	alias = container_of(out, struct fid_ep, fid);
	CHECK_EQ(fi_close(&ep->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&job.domain->fid), -FI_EBUSY);
	MUST(fi_close(&alias->fid));
	MUST(fi_close(&ep->fid));
	CHECK_EQ(fi_cntr_read(cntr), 0);
	MUST(fi_close(&cntr->fid));
	job_close();
	job = first;
	job_close_domain();
}

/* A whole scalable endpoint has neither connections nor queues. */
static void scalable_endpoints(void)
{
	struct fid_ep *whole, *part, *alias;
	struct fi_alias a = {.flags = FI_TRANSMIT | FI_COMPLETION};
	struct fid *out;

	job_open_domain(&plain);
	job.info->ep_attr->tx_ctx_cnt = job.info->ep_attr->rx_ctx_cnt = 2;
	MUST(fi_scalable_ep(job.domain, job.info, &whole, NULL));
	BAD(fi_scalable_ep_bind(whole, NULL, 0));
	CHECK_EQ(fi_connect(whole, memory, NULL, 0), -FI_ENOSYS);
	CHECK_EQ(fi_shutdown(whole, 0), -FI_ENOSYS);
	BAD(fi_tx_context(whole, 2, NULL, &part, NULL));
	BAD(fi_tx_context(whole, -1, NULL, &part, NULL));
	MUST(fi_tx_context(whole, 1, NULL, &part, NULL));
	STATE(fi_send(part, memory, 8, NULL, 0, NULL));
	a.fid = &out;
	MUST(fi_control(&part->fid, FI_ALIAS, &a));
	alias = container_of(out, struct fid_ep, fid);
	MUST(fi_close(&part->fid));
	CHECK_EQ(fi_close(&whole->fid), -FI_EBUSY);
	MUST(fi_close(&alias->fid));
	MUST(fi_close(&whole->fid));
	job_close_domain();
}

/* A claim needs a context, and what it claimed is received once. */
static void claims(void)
{
	static struct fi_context context;
	static char in, out;
	struct fi_msg_tagged m = {.msg_iov = &(struct iovec){&in, 1}, .iov_count = 1, .tag = 9};
	struct seen s;

	job_open(&plain);
	m.addr = job.peer[me];
	START(fi_tinject(job.ep, &out, 1, job.peer[me], 9));
	do {
		m.context = &context;
		START(fi_trecvmsg(job.ep, &m, FI_PEEK));
		s = wait_for(&context);
		poll_once(); /* A peek that finds nothing does not poll. */
	} while (s.failed);
	m.context = NULL;
	BAD(fi_trecvmsg(job.ep, &m, FI_PEEK | FI_CLAIM));
	BAD(fi_trecvmsg(job.ep, &m, FI_CLAIM));
	m.context = &context;
	BAD(fi_trecvmsg(job.ep, &m, FI_CLAIM)); /* nothing was claimed */
	START(fi_trecvmsg(job.ep, &m, FI_PEEK | FI_CLAIM));
	CHECK(!wait_for(&context).failed);
	START(fi_trecvmsg(job.ep, &m, FI_CLAIM));
	CHECK(!wait_for(&context).failed);
	BAD(fi_trecvmsg(job.ep, &m, FI_CLAIM));
	job_close();
}

/* More endpoints than there are contexts: an error, and then room again. */
static void endpoints_without_end(void)
{
	struct fid_ep *ep[256];
	size_t n = 0;
	int rc = 0;

	job_open_domain(&plain);
	while (n < 256 && !(rc = fi_endpoint(job.domain, job.info, &ep[n], NULL)))
		n++;
	CHECK(rc < 0);
	while (n)
		MUST(fi_close(&ep[--n]->fid));
	MUST(fi_endpoint(job.domain, job.info, &ep[0], NULL));
	MUST(fi_close(&ep[0]->fid));
	job_close_domain();
}

int main(int argc, char **argv)
{
	static const struct job_case cases[] = {
	    {"endpoints_not_enabled", endpoints_not_enabled},
	    {"addresses_of_nobody", addresses_of_nobody},
	    {"keys_of_nobody", keys_of_nobody},
	    {"lists_that_lie", lists_that_lie},
	    {"arguments_that_are_null", arguments_that_are_null},
	    {"completions_keep", completions_keep},
	    {"objects_that_do_not_fit", objects_that_do_not_fit},
	    {"scalable_endpoints", scalable_endpoints},
	    {"claims", claims},
	    {"endpoints_without_end", endpoints_without_end},
	};

	return job_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
