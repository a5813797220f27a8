/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between two processes, matched by tag and source in order of sending. On ORIGIN: only calls
 * of the receiver's program take them. What nobody asked for yet is kept; a sender has at most
 * ARMCI_WINDOW_BYTES of that at a receiver (one message of any length always), then it waits.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/am.h"
#include "armci/state.h"
#include "drivers/base/log.h"

struct letter {
	struct letter *next;
	int from, tag;
	size_t bytes;
	bool arrived, lost; /* lost: its sender died before it was whole */
	char data[] __attribute__((aligned(16)));
};

static struct {
	struct letter *first, **end;
	/* The receive under way; its letter is not in the list. */
	bool open, done, lost;
	int from, tag; /* from: -1 any */
	char *buf;
	size_t space, bytes;
} box = {.end = &box.first};

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

static void asked_arrived(pami_context_t context, void *cookie, pami_result_t result)
{
	box.lost = result != PAMI_SUCCESS;
	box.done = true;
}

static bool asked_for(const struct header *h)
{
	return box.open && box.tag == h->tag && (box.from == h->from || box.from < 0);
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

void armci_mail_arrives(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
			const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	const struct header *h = header;
	struct letter *l = NULL;
	char *to;

	if (asked_for(h)) {
		if (h->bytes > box.space)
			armci_die("a message of %llu bytes from process %d, tag %d, for a buffer of %zu",
				  (unsigned long long)h->bytes, h->from, h->tag, box.space);
		box.open = false;
		box.from = h->from;
		box.bytes = h->bytes;
		to = box.buf;
	} else {
		l = letter_create(h);
		to = l->data;
	}
	if (recv) {
		recv->addr = to;
		recv->cookie = l;
		recv->local_fn = l ? letter_arrived : asked_arrived;
		return;
	}
	if (h->bytes)
		memcpy(to, data, h->bytes);
	if (l)
		l->arrived = true;
	else
		box.done = true;
}

void armci_mail_taken(int proc, uint64_t bytes)
{
	armci_world.target[proc].mail -= bytes;
}

/* The sender may have that many bytes more on their way. */
static void say_taken(int from, size_t bytes)
{
	if (from != armci_world.me)
		armci_serve_answer(armci_world.context[ARMCI_ORIGIN], armci_endpoint(from, ARMCI_ORIGIN),
				   ARMCI_REPLY_TAKEN, (uint64_t)armci_world.me, bytes);
}

static void to_myself(const struct header *h, const void *buf)
{
	armci_mail_arrives(NULL, NULL, h, sizeof(*h), buf, h->bytes, 0, NULL);
}

static void sent(pami_context_t context, void *cookie, pami_result_t result)
{
	*(int *)cookie = result == PAMI_SUCCESS ? 1 : -1;
}

static void send_to(const struct header *h, void *buf, int to)
{
	volatile int state = 0;
	pami_send_t m = {.send = {.header = {(void *)(uintptr_t)h, sizeof(*h)},
				  .data = {buf, h->bytes},
				  .dispatch = ARMCI_DISPATCH_MAIL,
				  .dest = armci_endpoint(to, ARMCI_ORIGIN)},
			 .events = {.cookie = (void *)&state, .local_fn = sent}};
	bool now = sizeof(*h) + h->bytes <= armci_world.immediate_max;
	pami_result_t rc = now ? PAMI_Send_immediate(armci_world.context[ARMCI_ORIGIN], &m.send)
			       : PAMI_Send(armci_world.context[ARMCI_ORIGIN], &m);

	if (rc != PAMI_SUCCESS && rc != PAMI_SHUTDOWN)
		armci_die("a message to process %d does not start (PAMI result %d)", to, (int)rc);
	while (rc == PAMI_SUCCESS && !now && !state)
		armci_poll();
	if (rc != PAMI_SUCCESS || state < 0)
		drv_error("armci: a message to process %d was not delivered: it died", to);
}

/* The oldest kept letter that fits, taken out of the list; or NULL. */
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

/* Can a message from there still come? */
static bool silent(int from)
{
	int i;

	if (from >= 0)
		return armci_world.target[from].gone;
	for (i = 0; i < armci_world.nproc; i++)
		if (i != armci_world.me && !armci_world.target[i].gone)
			return false;
	return armci_world.nproc > 1;
}

static int receive(int tag, void *buf, int buflen, int *msglen, int from)
{
	struct letter *l = letter_take(tag, from);

	if (!l) {
		box.open = true;
		box.done = false;
		box.from = from;
		box.tag = tag;
		box.buf = buf;
		box.space = buflen > 0 ? (size_t)buflen : 0;
		box.lost = false;
		while (!box.done && !(box.open && silent(from)))
			armci_poll();
		if (box.open) {
			box.open = false;
			box.lost = true;
		}
	} else {
		if (l->bytes > (size_t)(buflen > 0 ? buflen : 0))
			armci_die("a message of %zu bytes from process %d, tag %d, for a buffer of %d",
				  l->bytes, l->from, tag, buflen);
		while (!l->arrived)
			armci_poll();
		box.lost = l->lost;
		if (!l->lost && l->bytes) /* buf may be NULL for none */
			memcpy(buf, l->data, l->bytes);
		box.from = l->from;
		box.bytes = l->bytes;
		free(l);
	}
	if (box.lost)
		drv_error("armci: a message, tag %d, from process %d does not come: it died", tag, box.from);
	else
		say_taken(box.from, box.bytes);
	if (msglen)
		*msglen = box.lost ? -1 : (int)box.bytes;
	return box.from;
}

#pragma GCC visibility push(default)

void armci_msg_snd(int tag, void *buf, int len, int to)
{
	ARMCI_ENTER;
	struct header h = {.tag = tag, .from = armci_world.me, .bytes = len > 0 ? (uint64_t)len : 0};
	struct armci_target *t;

	if (armci_check_proc(to))
		armci_die("armci_msg_snd: there is no process %d", to);
	if (to == armci_world.me) {
		to_myself(&h, buf);
		return;
	}
	t = &armci_world.target[to];
	while (t->mail && !t->gone && t->mail + h.bytes > ARMCI_WINDOW_BYTES)
		armci_poll();
	t->mail += h.bytes;
	send_to(&h, buf, to);
}

void armci_msg_rcv(int tag, void *buf, int buflen, int *msglen, int from)
{
	ARMCI_ENTER;
	if (armci_check_proc(from))
		armci_die("armci_msg_rcv: there is no process %d", from);
	receive(tag, buf, buflen, msglen, from);
}

int armci_msg_rcvany(int tag, void *buf, int buflen, int *msglen)
{
	ARMCI_ENTER;
	return receive(tag, buf, buflen, msglen, -1);
}

#pragma GCC visibility pop

/* Letters that nobody took. */
void armci_mail_release(void)
{
	while (box.first) {
		struct letter *l = box.first;

		box.first = l->next;
		free(l);
	}
	memset(&box, 0, sizeof(box));
	box.end = &box.first;
}
