/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between two processes, matched by tag and source in order of sending. They arrive on
 * ORIGIN, so only calls of the receiving program take them. A message that no receive matches yet
 * is kept. A sender may have up to ARMCI_WINDOW_BYTES of such messages at a receiver (one message
 * of any length is always allowed); then it waits.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/limits.h"
#include "armci/core/target.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/remote/am.h"
#include "armci/group/coll.h"
#include "armci/remote/mail.h"
#include "armci/remote/serve.h"
#include "drivers/base/log.h"

struct letter {
	struct letter *next;
	int from, tag;
	size_t bytes;
	bool arrived, lost; /* lost: its sender died before all of it had arrived */
	char data[] __attribute__((aligned(16)));
};

/* A receive under way, on the stack of the thread that waits for it. */
struct receipt {
	struct receipt *next;
	bool open; /* It is in the list, and no message has matched it. */
	bool done, lost;
	int from, tag; /* from: -1 matches any sender */
	char *buf;
	size_t space, bytes;
};

static struct {
	struct letter *first, **end;
	struct receipt *open, **open_end; /* in the order of the calls */
} box = {.end = &box.first, .open_end = &box.open};

struct header {
	int32_t tag;
	int32_t from;
	uint64_t bytes;
};

static void letter_arrived(pami_context_t context, void *cookie, pami_result_t result)
{
	struct letter *l = cookie;

	l->lost = result != PAMI_SUCCESS;
	l->arrived = true;
}

static void receipt_arrived(pami_context_t context, void *cookie, pami_result_t result)
{
	struct receipt *r = cookie;

	r->lost = result != PAMI_SUCCESS;
	r->done = true;
}

static void receipt_open(struct receipt *r)
{
	r->next = NULL;
	r->open = true;
	*box.open_end = r;
	box.open_end = &r->next;
}

static void receipt_close(struct receipt **at)
{
	struct receipt *r = *at;

	*at = r->next;
	if (!r->next)
		box.open_end = at;
	r->open = false;
}

/* Unlink and return the first receive that matches this message, or NULL if none does. */
static struct receipt *receipt_take(const struct header *h)
{
	struct receipt **p, *r;

	for (p = &box.open; (r = *p); p = &r->next)
		if (r->tag == h->tag && (r->from == h->from || r->from < 0)) {
			receipt_close(p);
			return r;
		}
	return NULL;
}

static struct letter *letter_create(const struct header *h)
{
	struct letter *l = malloc(sizeof(*l) + h->bytes);

	if (!l)
		armci_die("no memory for a message of %llu bytes", (unsigned long long)h->bytes);
	*l = (struct letter){.from = h->from, .tag = h->tag, .bytes = h->bytes};
	*box.end = l;
	box.end = &l->next;
	return l;
}

void armci_mail_receive(pami_context_t context, void *cookie, const void *header,
			size_t header_bytes, const void *data, size_t bytes, pami_endpoint_t origin,
			pami_recv_t *recv)
{
	const struct header *h = header;
	struct receipt *r = receipt_take(h);
	struct letter *l = NULL;
	char *to;

	if (r) {
		if (h->bytes > r->space)
			armci_die("a message of %llu bytes from process %d, tag %d, does not fit a "
				  "buffer of %zu",
				  (unsigned long long)h->bytes, h->from, h->tag, r->space);
		r->from = h->from;
		r->bytes = h->bytes;
		to = r->buf;
	} else {
		l = letter_create(h);
		to = l->data;
	}
	if (recv) {
		recv->addr = to;
		recv->cookie = l ? (void *)l : (void *)r;
		recv->local_fn = l ? letter_arrived : receipt_arrived;
		return;
	}
	if (h->bytes)
		memcpy(to, data, h->bytes);
	if (l)
		l->arrived = true;
	else
		r->done = true;
}

void armci_mail_credit(int proc, uint64_t bytes)
{
	armci_world.target[proc].mail_bytes -= bytes;
}

/* Tell the sender that it may send that many bytes more. */
static void send_credit(int from, size_t bytes)
{
	if (from != armci_world.me)
		armci_serve_answer(armci_world.context[ARMCI_ORIGIN],
				   armci_endpoint(from, ARMCI_ORIGIN), ARMCI_REPLY_TAKEN,
				   (uint64_t)armci_world.me, bytes);
}

static void send_to_self(const struct header *h, const void *buf)
{
	armci_mail_receive(NULL, NULL, h, sizeof(*h), buf, h->bytes, 0, NULL);
	armci_wake_waiting(); /* Another thread may receive it. */
}

static void send_to(const struct header *h, void *buf, int to)
{
	volatile int state = 0;
	pami_send_t m = {.send = {.header = {(void *)(uintptr_t)h, sizeof(*h)},
				  .data = {buf, h->bytes},
				  .dispatch = ARMCI_DISPATCH_MAIL,
				  .dest = armci_endpoint(to, ARMCI_ORIGIN)},
			 .events = {.cookie = (void *)&state, .local_fn = armci_coll_set_state}};
	bool now = sizeof(*h) + h->bytes <= armci_world.immediate_max;
	pami_result_t rc = now ? PAMI_Send_immediate(armci_world.context[ARMCI_ORIGIN], &m.send)
			       : PAMI_Send(armci_world.context[ARMCI_ORIGIN], &m);

	if (rc != PAMI_SUCCESS && rc != PAMI_SHUTDOWN)
		armci_die("cannot send a message to process %d (PAMI result %d)", to, (int)rc);
	while (rc == PAMI_SUCCESS && !now && !state)
		armci_poll();
	if (rc != PAMI_SUCCESS || state < 0)
		drv_error("armci: a message to process %d was not delivered: it died", to);
}

/* Unlink and return the oldest kept message that matches, or NULL if none does. */
static struct letter *letter_take(int tag, int from)
{
	struct letter **p, *l;

	for (p = &box.first; *p; p = &(*p)->next)
		if ((*p)->tag == tag && ((*p)->from == from || from < 0))
			break;
	l = *p;
	if (!l)
		return NULL;
	*p = l->next;
	if (!l->next)
		box.end = p;
	return l;
}

/* Have all processes died that could still send the message? */
static bool is_sender_dead(int from)
{
	int i;

	if (from >= 0)
		return armci_world.target[from].dead;
	for (i = 0; i < armci_world.nproc; i++)
		if (i != armci_world.me && !armci_world.target[i].dead)
			return false;
	return armci_world.nproc > 1;
}

static void receipt_wait(struct receipt *r)
{
	struct receipt **p;

	receipt_open(r);
	while (!r->done && !(r->open && is_sender_dead(r->from)))
		armci_poll();
	if (!r->open)
		return;
	for (p = &box.open; *p != r; p = &(*p)->next)
		;
	receipt_close(p);
	r->lost = true;
}

/* Receive from a message that arrived before the call. */
static void receipt_fill(struct receipt *r, struct letter *l)
{
	if (l->bytes > r->space)
		armci_die(
		    "a message of %zu bytes from process %d, tag %d, does not fit a buffer of %zu",
		    l->bytes, l->from, r->tag, r->space);
	while (!l->arrived)
		armci_poll();
	r->lost = l->lost;
	if (!l->lost && l->bytes) /* buf may be NULL for an empty message. */
		memcpy(r->buf, l->data, l->bytes);
	r->from = l->from;
	r->bytes = l->bytes;
	free(l);
}

static int receive_mail(int tag, void *buf, int buflen, int *msglen, int from)
{
	struct letter *l = letter_take(tag, from);
	struct receipt r = {
	    .from = from, .tag = tag, .buf = buf, .space = buflen > 0 ? (size_t)buflen : 0};

	if (l)
		receipt_fill(&r, l);
	else
		receipt_wait(&r);
	if (r.lost)
		drv_error("armci: no message with tag %d can arrive from process %d: it died", tag,
			  r.from);
	else
		send_credit(r.from, r.bytes);
	if (msglen)
		*msglen = r.lost ? -1 : (int)r.bytes;
	return r.from;
}

#pragma GCC visibility push(default)

void armci_msg_snd(int tag, void *buf, int len, int to)
{
	ARMCI_ENTER;
	struct header h = {
	    .tag = tag, .from = armci_world.me, .bytes = len > 0 ? (uint64_t)len : 0};
	struct armci_target *t;

	if (armci_check_proc(to))
		armci_die("armci_msg_snd: there is no process %d", to);
	if (to == armci_world.me) {
		send_to_self(&h, buf);
		return;
	}
	t = &armci_world.target[to];
	while (t->mail_bytes && !t->dead && t->mail_bytes + h.bytes > ARMCI_WINDOW_BYTES)
		armci_poll();
	t->mail_bytes += h.bytes;
	send_to(&h, buf, to);
}

void armci_msg_rcv(int tag, void *buf, int buflen, int *msglen, int from)
{
	ARMCI_ENTER;
	if (armci_check_proc(from))
		armci_die("armci_msg_rcv: there is no process %d", from);
	receive_mail(tag, buf, buflen, msglen, from);
}

int armci_msg_rcvany(int tag, void *buf, int buflen, int *msglen)
{
	ARMCI_ENTER;
	return receive_mail(tag, buf, buflen, msglen, -1);
}

#pragma GCC visibility pop

/* Free the messages that no call received. */
void armci_mail_release(void)
{
	while (box.first) {
		struct letter *l = box.first;

		box.first = l->next;
		free(l);
	}
	memset(&box, 0, sizeof(box));
	box.end = &box.first;
	box.open_end = &box.open;
}
