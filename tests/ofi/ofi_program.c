/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages, tagged and not, through libfabric: every call, every protocol, every way to match. */
#include "tests/ofi/ofi_job.h"

#include <poll.h>

static const struct setup usual = {.caps = CAPS,
				   .mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
				   .av = FI_AV_MAP,
				   .threading = FI_THREAD_DOMAIN};

/* Around the limits of the three ways that messages travel. */
static const size_t sizes[] = {0,    1,     7,     8,      100,    448,    449,  487,
			       488,  489,   512,   513,    4096,   8191,   8192, 8193,
			       9000, 16384, 65536, 100000, 262144, 1000000};
#define SIZES     (sizeof sizes / sizeof sizes[0])
#define BYTES_MAX 1000000

static unsigned char out[BYTES_MAX], in[BYTES_MAX + 8];

static void fill_pattern(unsigned char *p, size_t bytes, unsigned seed)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (unsigned char)(i * 7 + seed + (i >> 8));
}

static bool is_filled(const unsigned char *p, size_t bytes, unsigned seed)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i] != (unsigned char)(i * 7 + seed + (i >> 8)))
			return false;
	return true;
}

static unsigned next_task(void)
{
	return (me + 1) % tasks;
}

static unsigned previous_task(void)
{
	return (me + tasks - 1) % tasks;
}

static void check_received(const struct seen *s, uint64_t kind, size_t bytes, uint64_t tag)
{
	CHECK(!s->failed);
	CHECK_EQ(s->entry.flags & (FI_RECV | FI_TAGGED | FI_MSG), FI_RECV | kind);
	CHECK_EQ(s->entry.len, bytes);
	if (kind == FI_TAGGED)
		CHECK_EQ(s->entry.tag, tag);
	CHECK_EQ(s->source, job.peer[previous_task()]);
}

/* Every size around the ring, received before and after the message comes. */
static void run_ring(uint64_t kind, bool late)
{
	int rx, tx;

	for (size_t i = 0; i < SIZES; i++) {
		size_t n = sizes[i];
		struct seen s;

		fill_pattern(out, n, me);
		memset(in, 0xee, n + 8);
		if (!late && kind == FI_TAGGED)
			START(fi_trecv(job.ep, in, n, NULL, job.peer[previous_task()], i, 0, &rx));
		else if (!late)
			START(fi_recv(job.ep, in, n, NULL, job.peer[previous_task()], &rx));
		run_barrier();
		if (kind == FI_TAGGED)
			START(fi_tsend(job.ep, out, n, NULL, job.peer[next_task()], i, &tx));
		else
			START(fi_send(job.ep, out, n, NULL, job.peer[next_task()], &tx));
		if (late)
			run_barrier();
		if (late && kind == FI_TAGGED)
			START(fi_trecv(job.ep, in, n + 8, NULL, FI_ADDR_UNSPEC, i, 0, &rx));
		else if (late)
			START(fi_recv(job.ep, in, n + 8, NULL, FI_ADDR_UNSPEC, &rx));
		s = wait_for(&rx);
		check_received(&s, kind, n, i);
		CHECK(is_filled(in, n, previous_task()));
		CHECK_EQ(in[n], 0xee);
		s = wait_for(&tx);
		CHECK(!s.failed && s.entry.flags & FI_SEND);
	}
}

static void all_sizes(void)
{
	job_open(&usual);
	run_ring(FI_TAGGED, false);
	run_ring(FI_TAGGED, true);
	run_ring(FI_MSG, false);
	run_ring(FI_MSG, true);
	job_close();
}

/* Many messages to one receiver; receives with and without source and mask: order of each sender.
 */
static void wildcards_keep_order(void)
{
	enum { MESSAGES = 200 };
	static struct {
		uint32_t from, number;
		char rest[12000];
	} buffer[8], o;
	static int context[8];
	uint32_t expected[TASKS_MAX] = {0};
	unsigned taken = 0, posted = 0;

	job_open(&usual);
	if (me) {
		for (uint32_t i = 0; i < MESSAGES; i++) {
			size_t n = 8 + (i % 5 == 4 ? 10000 : i % 3 == 2 ? 1000 : 0);
			int tx;

			o.from = me;
			o.number = i;
			START(fi_tsend(job.ep, &o, n, NULL, job.peer[0], 0x100 | (i & 3), &tx));
			wait_for(&tx);
		}
	}
	while (!me && taken < MESSAGES * (tasks - 1)) {
		struct seen s;

		for (; posted < taken + 8 && posted < MESSAGES * (tasks - 1); posted++)
			START(fi_trecv(job.ep, &buffer[posted % 8], sizeof buffer[0], NULL,
				       FI_ADDR_UNSPEC, 0x100, posted & 1 ? 3 : 7,
				       &context[posted % 8]));
		/* Receives complete in any order, but are matched in order. */
		s = wait_for(&context[taken % 8]);
		CHECK(!s.failed);
		CHECK_EQ(buffer[taken % 8].number, expected[buffer[taken % 8].from]++);
		CHECK_EQ(s.source, job.peer[buffer[taken % 8].from]);
		taken++;
	}
	job_close();
}

/* A receive that is too short gets what fits and an error, in each protocol, early and late. */
static void truncation_gives_an_error(void)
{
	static const size_t sent[] = {100, 5000, 50000};
	int rx, tx;

	job_open(&usual);
	for (size_t i = 0; i < 6; i++) {
		size_t n = sent[i / 2], room = i / 2 == 1 ? 0 : n / 2;
		struct seen s;

		fill_pattern(out, n, me);
		memset(in, 0xee, n + 8);
		if (i & 1)
			START(
			    fi_trecv(job.ep, in, room, NULL, job.peer[previous_task()], 5, 0, &rx));
		run_barrier();
		START(fi_tsend(job.ep, out, n, NULL, job.peer[next_task()], 5, &tx));
		run_barrier();
		if (!(i & 1))
			START(
			    fi_trecv(job.ep, in, room, NULL, job.peer[previous_task()], 5, 0, &rx));
		s = wait_for(&rx);
		CHECK(s.failed);
		CHECK_EQ(s.error.err, FI_ETRUNC);
		CHECK_EQ(s.error.len, room);
		CHECK_EQ(s.error.olen, n - room);
		CHECK_EQ(s.error.tag, 5);
		CHECK(is_filled(in, room, previous_task()));
		CHECK_EQ(in[room], 0xee);
		CHECK(!wait_for(&tx).failed);
	}
	job_close();
}

static ssize_t peek_message(uint64_t tag, uint64_t flags, struct fi_context *context)
{
	struct fi_msg_tagged m = {
	    .addr = job.peer[previous_task()], .tag = tag, .context = context};

	return fi_trecvmsg(job.ep, &m, flags | FI_COMPLETION);
}

/* Poll until a message with this tag is there. */
static struct seen peek_until(uint64_t tag, uint64_t flags, struct fi_context *context)
{
	for (;;) {
		struct seen s;

		START(peek_message(tag, FI_PEEK | flags, context));
		s = wait_for(context);
		if (!s.failed)
			return s;
		CHECK_EQ(s.error.err, FI_ENOMSG);
		poll_once();
	}
}

static void peek_claim_discard(void)
{
	static const size_t bytes[] = {10, 5000, 50000};
	struct fi_context context;
	int tx[6], rx;

	job_open(&usual);
	START(peek_message(77, FI_PEEK, &context));
	CHECK_EQ(wait_for(&context).error.err, FI_ENOMSG);
	fill_pattern(out, sizeof out, me);
	for (size_t i = 0; i < 6; i++)
		START(fi_tsenddata(job.ep, out, bytes[i % 3], NULL, 1000 + i, job.peer[next_task()],
				   i % 3, &tx[i]));
	for (size_t i = 0; i < 3; i++) {
		struct iovec v = {in, sizeof in};
		struct fi_msg_tagged m = {.msg_iov = &v, .iov_count = 1, .context = &context};
		struct seen s = peek_until(i, 0, &context);

		CHECK_EQ(s.entry.len, bytes[i]);
		CHECK_EQ(s.entry.data, 1000 + i);
		/* The first of a tag is claimed, the other is received, though it was second. */
		s = peek_until(i, FI_CLAIM, &context);
		CHECK_EQ(s.entry.data, 1000 + i);
		START(fi_trecv(job.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, i, 0, &rx));
		s = wait_for(&rx);
		CHECK_EQ(s.entry.data, 1003 + i);
		CHECK(s.entry.flags & FI_REMOTE_CQ_DATA);
		memset(in, 0, bytes[i]);
		if (i == 1) {
			START(fi_trecvmsg(job.ep, &m, FI_CLAIM | FI_DISCARD | FI_COMPLETION));
			wait_for(&context);
			continue;
		}
		START(fi_trecvmsg(job.ep, &m, FI_CLAIM | FI_COMPLETION));
		s = wait_for(&context);
		CHECK_EQ(s.entry.data, 1000 + i);
		CHECK(is_filled(in, bytes[i], previous_task()));
	}
	for (size_t i = 0; i < 6; i++)
		CHECK(!wait_for(&tx[i]).failed);
	/* A peek that discards a message removes it, and its sender gets a completion. */
	START(fi_tsend(job.ep, out, 50000, NULL, job.peer[next_task()], 9, &tx[0]));
	peek_until(9, FI_DISCARD, &context);
	CHECK(!wait_for(&tx[0]).failed);
	START(peek_message(9, FI_PEEK, &context));
	CHECK_EQ(wait_for(&context).error.err, FI_ENOMSG);
	job_close();
}

static void cancelled_receives(void)
{
	int a, b, tx;
	struct seen s;

	job_open(&usual);
	START(fi_trecv(job.ep, in, 8, NULL, job.peer[previous_task()], 1, 0, &a));
	START(fi_trecv(job.ep, in + 100, 8, NULL, job.peer[previous_task()], 1, 0, &b));
	CHECK_EQ(fi_cancel(&job.ep->fid, &a), 0);
	CHECK_EQ(fi_cancel(&job.ep->fid, &a), -FI_ENOENT);
	s = wait_for(&a);
	CHECK(s.failed);
	CHECK_EQ(s.error.err, FI_ECANCELED);
	run_barrier();
	fill_pattern(out, 8, me);
	START(fi_tsend(job.ep, out, 8, NULL, job.peer[next_task()], 1, &tx));
	CHECK(!wait_for(&b).failed);
	CHECK(is_filled(in + 100, 8, previous_task()));
	wait_for(&tx);
	job_close();
}

/* One buffer for many messages: all arrive in order, and it comes back when little is left. */
static void multi_receive(void)
{
	enum { ROOM = 60000 };
	static const size_t bytes[] = {100, 3000, 12000, 1, 0, 700};
	size_t got = 0, least = 200, at = 0;
	struct iovec v = {in, ROOM};
	struct fi_msg m = {.msg_iov = &v, .iov_count = 1, .addr = FI_ADDR_UNSPEC};
	int rx, tx;

	job_open(&usual);
	CHECK_EQ(
	    fi_setopt(&job.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least),
	    0);
	m.context = &rx;
	fill_pattern(out, sizeof out, me);
	/* Half of them wait for the receive, half find it. */
	for (size_t i = 0; i < 6; i++) {
		if (i == 3) {
			run_barrier();
			START(fi_recvmsg(job.ep, &m, FI_MULTI_RECV | FI_COMPLETION));
		}
		START(fi_send(job.ep, out, bytes[i], NULL, job.peer[next_task()], &tx));
		if (i != 2) /* That one is fetched by the receive, which is not there yet. */
			wait_for(&tx);
	}
	for (; got < 6; got++) {
		struct seen s = wait_for(&rx);
		size_t i;

		/* A message that is fetched may complete after shorter ones behind it. */
		CHECK(!s.failed && !(s.entry.flags & FI_MULTI_RECV));
		for (i = 0; i < 6 && bytes[i] != s.entry.len; i++)
			;
		CHECK(i < 6);
		CHECK(is_filled(s.entry.buf, s.entry.len, previous_task()));
		at += s.entry.len;
	}
	wait_for(&tx); /* of the long one */
	run_barrier();
	/* Leave less than the limit. */
	START(fi_send(job.ep, out, ROOM - at - 100, NULL, job.peer[next_task()], &tx));
	CHECK(wait_for(&rx).entry.flags & FI_MULTI_RECV);
	wait_for(&tx);
	job_close();
}

static void lists_of_buffers(void)
{
	static const size_t bytes[] = {60, 4000, 40000};
	int rx, tx;

	job_open(&usual);
	for (size_t i = 0; i < 3; i++) {
		size_t n = bytes[i], part = n / 4;
		struct iovec o[3] = {{out, part}, {out + part, 1}, {out + part + 1, n - part - 1}};
		struct iovec v[2] = {{in, n / 2}, {in + 100000, n}};

		fill_pattern(out, n, me);
		START(fi_trecvv(job.ep, v, NULL, 2, job.peer[previous_task()], i, 0, &rx));
		START(fi_tsendv(job.ep, o, NULL, 3, job.peer[next_task()], i, &tx));
		CHECK_EQ(wait_for(&rx).entry.len, n);
		memmove(in + n / 2, in + 100000, n - n / 2);
		CHECK(is_filled(in, n, previous_task()));
		wait_for(&tx);
	}
	job_close();
}

static void selective_and_counters(void)
{
	struct setup s = usual;
	struct fi_msg_tagged m;
	struct iovec v = {out, 20000};
	int rx[4], tx;

	s.bind = FI_SELECTIVE_COMPLETION;
	job_open(&s);
	run_barrier();
	m = (struct fi_msg_tagged){
	    .msg_iov = &v, .iov_count = 1, .addr = job.peer[next_task()], .tag = 3, .context = &tx};
	for (size_t i = 0; i < 4; i++) { /* Completions without the flag: only counters tell. */
		struct iovec r = {in + i * 30000, 20000};
		struct fi_msg_tagged p = {.msg_iov = &r,
					  .iov_count = 1,
					  .addr = job.peer[previous_task()],
					  .tag = 3,
					  .context = &rx[i]};

		START(fi_trecvmsg(job.ep, &p, i == 3 ? FI_COMPLETION : 0));
	}
	{
		uint64_t sent = fi_cntr_read(job.sends), got = fi_cntr_read(job.receives);

		run_barrier(); /* Neighbours may be ahead of us after it: the counts are older. */
		START(fi_tinject(job.ep, out, 8, job.peer[next_task()], 3));
		START(fi_tinjectdata(job.ep, out, 8, 4711, job.peer[next_task()], 3));
		START(fi_tsendmsg(job.ep, &m, 0));
		START(fi_tsendmsg(job.ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE));
		CHECK_EQ(fi_cntr_wait(job.receives, got + 4, -1), 0);
		CHECK_EQ(fi_cntr_wait(job.sends, sent + 4, -1), 0);
	}
	CHECK(!wait_for(&tx).failed);
	CHECK_EQ(wait_for(&rx[3]).entry.len, 20000);
	CHECK_EQ(seen_count, 0);
	CHECK_EQ(fi_cntr_wait(job.receives, 1u << 30, 1), -FI_ETIMEDOUT);
	job_close();
}

/* A send with delivery complete ends only after a receive has taken the message. */
static void delivery_complete(void)
{
	struct iovec v = {out, 0};
	struct fi_msg_tagged m = {.msg_iov = &v, .iov_count = 1, .tag = 8};
	int rx, tx;

	job_open(&usual);
	m.addr = job.peer[next_task()];
	m.context = &tx;
	for (size_t n = 0; n < 30000; n = n * 9 + 1) {
		v.iov_len = n;
		START(fi_tsendmsg(job.ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE));
		run_barrier();
		for (size_t i = 0; i < seen_count; i++)
			CHECK(seen[i].entry.op_context != &tx);
		run_barrier(); /* All have looked. */
		START(fi_trecv(job.ep, in, n, NULL, job.peer[previous_task()], 8, 0, &rx));
		wait_for(&rx);
		CHECK(!wait_for(&tx).failed);
	}
	job_close();
}

/* Blocking reads, and a descriptor that poll() waits for. */
static void blocking_reads_wake(void)
{
	static const enum fi_wait_obj wait[] = {FI_WAIT_UNSPEC, FI_WAIT_FD};

	for (size_t i = 0; i < 2; i++) {
		struct setup s = usual;
		struct fi_cq_tagged_entry e;
		struct fid *fids[1];
		int rx, fd = -1;

		s.wait = wait[i];
		s.threading = FI_THREAD_SAFE;
		job_open(&s);
		run_barrier();
		CHECK_EQ(fi_cq_sread(job.cq, &e, 1, NULL, 1), -FI_EAGAIN);
		START(fi_trecv(job.ep, in, 8, NULL, FI_ADDR_UNSPEC, 1, 0, &rx));
		fids[0] = &job.cq->fid;
		START(fi_tinject(job.ep, out, 8, job.peer[next_task()], 1));
		if (i) {
			CHECK_EQ(fi_control(&job.cq->fid, FI_GETWAIT, &fd), 0);
			while (fi_trywait(job.fabric, fids, 1) == 0) {
				struct pollfd p = {.fd = fd, .events = POLLIN};

				CHECK_EQ(poll(&p, 1, 60000), 1);
			}
			CHECK_EQ(fi_cq_read(job.cq, &e, 1), 1);
		} else {
			CHECK_EQ(fi_cq_sread(job.cq, &e, 1, NULL, -1), 1);
		}
		CHECK(e.op_context == &rx);
		job_close();
	}
}

/* The address is that of the first context; fi_rx_addr() names the others. */
static void scalable_endpoints(void)
{
	enum { CONTEXTS = 3, BITS = 2 };
	struct setup s = usual;
	struct fi_av_attr av = {.type = FI_AV_MAP, .rx_ctx_bits = BITS};
	struct fid_ep *sep, *tx[CONTEXTS], *rx[CONTEXTS];
	struct fid_av *vector;
	fi_addr_t peer[TASKS_MAX];
	int context[CONTEXTS], in_number[CONTEXTS];

	job_open_domain(&s);
	job.info->ep_attr->tx_ctx_cnt = job.info->ep_attr->rx_ctx_cnt = CONTEXTS;
	MUST(fi_av_open(job.domain, &av, &vector, NULL));
	MUST(fi_scalable_ep(job.domain, job.info, &sep, NULL));
	MUST(fi_scalable_ep_bind(sep, &vector->fid, 0));
	for (int i = 0; i < CONTEXTS; i++) {
		MUST(fi_tx_context(sep, i, NULL, &tx[i], NULL));
		MUST(fi_rx_context(sep, i, NULL, &rx[i], NULL));
		MUST(fi_ep_bind(tx[i], &job.cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION));
		MUST(fi_ep_bind(rx[i], &job.cq->fid, FI_RECV));
		MUST(fi_enable(tx[i]));
		MUST(fi_enable(rx[i]));
	}
	MUST(fi_enable(sep));
	insert_peers(sep, vector, peer);
	run_barrier();
	for (int i = 0; i < CONTEXTS; i++)
		START(fi_trecv(rx[i], &in_number[i], sizeof(int), NULL, FI_ADDR_UNSPEC, 1, 0,
			       &context[i]));
	for (int i = 0; i < CONTEXTS; i++) {
		int number = 100 * (int)me + i;

		START(fi_tinject(tx[(i + 1) % CONTEXTS], &number, sizeof number,
				 fi_rx_addr(peer[next_task()], i, BITS), 1));
	}
	for (int i = 0; i < CONTEXTS; i++)
		wait_for(&context[i]);
	for (int i = 0; i < CONTEXTS; i++)
		CHECK_EQ(in_number[i], 100 * (int)previous_task() + i);
	CHECK_EQ(fi_close(&sep->fid), -FI_EBUSY);
	run_barrier();
	for (int i = 0; i < CONTEXTS; i++) {
		MUST(fi_close(&tx[i]->fid));
		MUST(fi_close(&rx[i]->fid));
	}
	MUST(fi_close(&sep->fid));
	MUST(fi_close(&vector->fid));
	job_close_domain();
}

static void addresses_lead_to_peers(void)
{
	struct setup s = usual;
	char name[64], text[64];
	size_t bytes = 4, room = sizeof text;
	fi_addr_t other;

	s.av = FI_AV_TABLE;
	job_open(&s);
	for (unsigned t = 0; t < tasks; t++)
		CHECK_EQ(job.peer[t], t);
	run_ring(FI_TAGGED, false);
	CHECK_EQ(fi_getname(&job.ep->fid, name, &bytes), -FI_ETOOSMALL);
	CHECK_EQ(bytes, 16);
	CHECK_EQ(fi_av_lookup(job.av, job.peer[next_task()], name, &bytes), 0);
	fi_av_straddr(job.av, name, text, &room);
	CHECK(!strncmp(text, "quintorus://", 12));
	CHECK_EQ(atoi(text + 12), next_task());
	/* Neither of this provider nor of this job. */
	name[0] ^= 1;
	CHECK_EQ(fi_av_insert(job.av, name, 1, &other, 0, NULL), 0);
	CHECK(other == FI_ADDR_NOTAVAIL);
	name[0] ^= 1;
	name[12] ^= 1;
	CHECK_EQ(fi_av_insert(job.av, name, 1, &other, 0, NULL), 0);
	CHECK_EQ(fi_tsend(job.ep, out, 8, NULL, tasks + 5, 0, NULL), -FI_EINVAL);
	run_barrier();
	CHECK_EQ(fi_av_remove(job.av, &job.peer[tasks - 1], 1, 0), 0);
	CHECK_EQ(fi_tsend(job.ep, out, 8, NULL, job.peer[tasks - 1], 0, NULL), -FI_EINVAL);
	name[12] ^= 1;
	peer_name(name, tasks - 1);
	CHECK_EQ(fi_av_insert(job.av, name, 1, &job.peer[tasks - 1], 0, NULL), 1);
	CHECK_EQ(job.peer[tasks - 1], tasks);
	job_close();
}

/* Everybody sends to everybody, sizes and tags by chance; each message says what it is. */
static void crowd_of_messages_arrives(void)
{
	enum { ROUNDS = 40, WIDTH = 16 };
	static unsigned char o[WIDTH][20000], i[TASKS_MAX][WIDTH][20000];
	static int rx[TASKS_MAX][WIDTH], tx[TASKS_MAX][WIDTH];
	unsigned chance = 12345;

	job_open(&usual);
	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t bytes[WIDTH];

		for (unsigned k = 0; k < WIDTH; k++) {
			chance = chance * 1103515245 + 12345;
			bytes[k] = (chance >> 8) % (k % 4 ? 600 : 20000);
			fill_pattern(o[k], bytes[k], me + k + round);
		}
		for (unsigned t = 0; t < tasks; t++)
			for (unsigned k = 0; k < WIDTH; k++) {
				unsigned j = (k * 5 + round) % WIDTH;

				START(fi_trecv(job.ep, i[t][j], 20000, NULL, job.peer[t], j,
					       j & 1 ? 0xff00 : 0, &rx[t][j]));
				START(fi_tsend(job.ep, o[k], bytes[k], NULL, job.peer[t], k,
					       &tx[t][k]));
			}
		for (unsigned t = 0; t < tasks; t++)
			for (unsigned k = 0; k < WIDTH; k++) {
				CHECK_EQ(wait_for(&rx[t][k]).entry.len, bytes[k]);
				CHECK(is_filled(i[t][k], bytes[k], t + k + round));
				wait_for(&tx[t][k]);
			}
	}
	job_close();
}

/* Change one thing of hints that are fulfilled. */
static void ask_too_much(struct fi_info *h, unsigned what)
{
	switch (what) {
	case 0:
		break;
	case 1:
		h->caps |= FI_MULTICAST;
		break;
	case 2:
		h->ep_attr->type = FI_EP_MSG;
		break;
	case 3:
		h->tx_attr->inject_size = 1 << 20;
		break;
	case 4:
		h->rx_attr->iov_limit = 1000;
		break;
	case 5:
		h->tx_attr->msg_order = FI_ORDER_WAW;
		break;
	case 6:
		h->tx_attr->comp_order = FI_ORDER_STRICT;
		break;
	case 7:
		h->domain_attr->cq_data_size = 16;
		break;
	case 8:
		h->domain_attr->name = strdup("eth0");
		break;
	case 9:
		h->addr_format = FI_SOCKADDR_IN;
		break;
	case 10:
		h->ep_attr->auth_key_size = 8;
		break;
	default:
		h->ep_attr->max_msg_size = SIZE_MAX;
		break;
	}
}

/* What the provider lacks, it does not offer. */
static void missing_features_are_not_offered(void)
{
	for (unsigned what = 0; what < 12; what++) {
		struct fi_info *h = hints_of(&usual), *found = NULL;
		int rc;

		ask_too_much(h, what);
		rc = fi_getinfo(FI_VERSION(1, 11), NULL, NULL, 0, h, &found);
		CHECK_EQ(rc, what ? -FI_ENODATA : 0);
		fi_freeinfo(found);
		h->ep_attr->auth_key_size = 0;
		fi_freeinfo(h);
	}
}

/* FI_EAGAIN may also mean that a queue is full for a moment: poll then, and try again. */
#define REFUSED_POLLS 10000u

static bool is_refused(const void *data, size_t bytes, uint64_t tag, bool limited)
{
	ssize_t rc;

	for (unsigned polls = 0; (rc = fi_tinject(job.ep, data, bytes, job.peer[0], tag));
	     polls++) {
		CHECK_EQ(rc, -FI_EAGAIN);
		if (rc != -FI_EAGAIN || (limited && polls == REFUSED_POLLS))
			return true;
		poll_once();
	}
	return false;
}

/*
 * Messages that nobody receives: where their memory is limited, senders are told so, and in the end
 * refused. When receives come, all that was taken arrives in order.
 */
static void unreceived_messages_are_bounded(void)
{
	enum { BATCHES = 40, BATCH = 100, NUMBERS = 0x300, LAST = 0x301 };
	static struct {
		uint32_t number;
		char rest[396];
	} o, i;
	static char longer[6000];
	uint32_t sent = 0;
	bool refused = false, limited = getenv("QUINTORUS_OFI_UNEXPECTED") != NULL;
	int rx, tx;

	job_open(&usual);
	for (unsigned b = 0; b < BATCHES; b++) {
		for (unsigned k = 0; k < BATCH && me && !refused; k++) {
			o.number = sent;
			refused = is_refused(&o, sizeof o, NUMBERS, limited);
			sent += !refused;
		}
		run_barrier();
	}
	CHECK(!me || refused == limited);
	if (me) {
		longer[0] = 1;
		START(fi_tsend(job.ep, longer, sizeof longer, NULL, job.peer[0], NUMBERS, &tx));
		wait_for(&tx);
		START(fi_tsend(job.ep, &sent, sizeof sent, NULL, job.peer[0], LAST, &tx));
		wait_for(&tx);
	}
	for (unsigned t = 1; !me && t < tasks; t++) {
		static char whole[6000];
		uint32_t next = 0;
		size_t bytes;

		do {
			START(fi_trecv(job.ep, whole, sizeof whole, NULL, job.peer[t], NUMBERS, 0,
				       &rx));
			bytes = wait_for(&rx).entry.len;
			memcpy(&i, whole, sizeof i);
			if (bytes == sizeof i)
				CHECK_EQ(i.number, next++);
		} while (bytes == sizeof i);
		CHECK(bytes == sizeof longer && whole[0] == 1);
		START(fi_trecv(job.ep, &sent, sizeof sent, NULL, job.peer[t], LAST, 0, &rx));
		wait_for(&rx);
		CHECK_EQ(sent, next);
	}
	job_close();
}

/* Commthreads receive while the program does not poll. */
static void automatic_progress(void)
{
	struct setup s = usual;

	s.progress = FI_PROGRESS_AUTO;
	s.threading = FI_THREAD_SAFE;
	job_open(&s);
	run_ring(FI_TAGGED, true);
	job_close();
}

int main(int argc, char **argv)
{
	static const struct job_case cases[] = {
	    {"all_sizes", all_sizes},
	    {"wildcards_keep_order", wildcards_keep_order},
	    {"truncation", truncation_gives_an_error},
	    {"peek_claim_discard", peek_claim_discard},
	    {"cancelled_receives", cancelled_receives},
	    {"multi_receive", multi_receive},
	    {"lists_of_buffers", lists_of_buffers},
	    {"selective_and_counters", selective_and_counters},
	    {"delivery_complete", delivery_complete},
	    {"waiting", blocking_reads_wake},
	    {"scalable_endpoints", scalable_endpoints},
	    {"addresses", addresses_lead_to_peers},
	    {"crowd", crowd_of_messages_arrives},
	    {"flood", unreceived_messages_are_bounded},
	    {"refusals", missing_features_are_not_offered},
	    {"automatic_progress", automatic_progress},
	};

	return job_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
