/* SPDX-License-Identifier: BSD-3-Clause */
/* Refuses messages to contexts that this client never made (pami/p2p/absent.h). */
#include "pami/p2p/absent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "pami/core/client.h"
#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/lock.h"
#include "pami/p2p/rma.h"
#include "pami/p2p/wire.h"

/* A refusal that has not found room yet. */
struct refusal {
	uint32_t task, channel, token;
};

/* The MU channel of a context that was never made. It is open because a message came for it. */
struct absent_channel {
	struct pami_client *client;
	struct mu_channel *channel;
	uint32_t offset;
	struct refusal *waiting; /* [room] */
	uint32_t count, room;
};

struct pami_absent {
	struct pami_lock lock; /* held by the thread that serves */
	uint32_t made;         /* contexts of the client */
	int refused;           /* messages refused during this call of pami_absent_serve() */
	bool warned;
	struct absent_channel at[PAMI_CONTEXTS_MAX];
};

static int refusal_send(struct absent_channel *a, const struct refusal *r)
{
	struct pami_wire wire = {.kind = PAMI_WIRE_DONE,
				 .origin = (uint8_t)a->offset,
				 .dispatch = ENXIO,
				 .token = r->token};

	return mu_send_short(a->channel, r->task, r->channel, &wire, NULL, 0, NULL, 0);
}

/* Keep a refusal. Without memory the origin gets no answer; it is out of memory, too. */
static void refusal_keep(struct absent_channel *a, const struct refusal *r)
{
	if (a->count == a->room) {
		uint32_t room = a->room ? 2 * a->room : 16;
		struct refusal *more = realloc(a->waiting, room * sizeof *more);

		if (!more)
			return;
		a->waiting = more;
		a->room = room;
	}
	a->waiting[a->count++] = *r;
}

static void refusals_flush(struct absent_channel *a)
{
	uint32_t sent = 0;

	while (sent < a->count && refusal_send(a, &a->waiting[sent]) != -EAGAIN)
		sent++;
	if (!sent)
		return;
	a->count -= sent;
	memmove(a->waiting, a->waiting + sent, a->count * sizeof *a->waiting);
}

/* Return the token by which the origin waits for an answer to this piece of a message, or 0. */
static uint32_t awaited_token(const struct pami_wire *wire, const unsigned char *payload,
			      uint32_t bytes)
{
	uint32_t before = 0;

	switch (wire->kind) {
	case PAMI_WIRE_EAGER:
	case PAMI_WIRE_EAGER_HEAD:
		before = sizeof(struct pami_wire_envelope);
		break;
	case PAMI_WIRE_SHORT:
	case PAMI_WIRE_SHORT_PACKED:
		break;
	case PAMI_WIRE_RTS:
	case PAMI_WIRE_RMW:
	case PAMI_WIRE_FENCE:
		return wire->token;
	default:
		return 0;
	}
	if (wire->dispatch == PAMI_DISPATCH_GET && bytes > before)
		return pami_rma_typed_token(payload + before, bytes - before);
	return wire->token;
}

static void refuse_message(void *arg, uint32_t source, const unsigned char *soft,
			   const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	struct absent_channel *a = arg;
	struct pami_absent *absent = a->client->absent;
	struct pami_wire wire;
	struct refusal r = {.task = source};

	memcpy(&wire, soft, sizeof wire);
	if (offset || wire.kind == PAMI_WIRE_DONE)
		return;
	absent->refused++;
	if (!absent->warned)
		drv_warn(
		    "task %u sent to context %u of client \"%s\", which made %u here: refused, as "
		    "are further ones",
		    source, a->offset, a->client->name, absent->made);
	absent->warned = true;
	r.channel = a->client->base + (wire.origin & 63u);
	r.token = awaited_token(&wire, payload, bytes);
	if (r.token && refusal_send(a, &r) == -EAGAIN)
		refusal_keep(a, &r);
}

static void serve_one(struct pami_client *c, uint32_t offset)
{
	struct absent_channel *a = &c->absent->at[offset];

	if (!a->channel) {
		if (!mu_channel_has_mail(c->base + offset))
			return;
		a->client = c;
		a->offset = offset;
		if (mu_channel_open(c->base + offset, refuse_message, a, &a->channel))
			return;
	}
	refusals_flush(a);
	mu_poll_once(a->channel);
}

int pami_absent_serve(struct pami_client *c)
{
	struct pami_absent *absent = c->absent;
	int refused;

	if (!absent || !pami_lock_try(&absent->lock))
		return 0;
	absent->refused = 0;
	for (uint32_t i = absent->made; i < c->contexts; i++)
		serve_one(c, i);
	refused = absent->refused;
	pami_lock_release(&absent->lock);
	return refused;
}

static void announce_absent(const struct pami_client *c, bool never)
{
	uint32_t task = (uint32_t)c->job->task;
	uint64_t word = atomic_load_relaxed(&mu_announced_words()[task]);

	for (uint32_t i = 0; i < c->contexts; i++) {
		uint64_t bit = 1ull << (c->base + i);

		word = never && i >= c->created ? word | bit : word & ~bit;
	}
	mu_announce(word);
}

void pami_absent_announce(struct pami_client *c)
{
	if (c->created == c->contexts)
		return;
	/*
	 * Without memory nothing is refused here; senders that know the number refuse nevertheless.
	 */
	c->absent = calloc(1, sizeof *c->absent);
	if (c->absent)
		c->absent->made = c->created;
	announce_absent(c, true);
}

void pami_absent_close(struct pami_client *c)
{
	struct pami_absent *absent = c->absent;

	announce_absent(c, false);
	c->absent = NULL;
	if (!absent)
		return;
	for (int i = 0; i < PAMI_CONTEXTS_MAX; i++) {
		mu_channel_close(absent->at[i].channel);
		free(absent->at[i].waiting);
	}
	free(absent);
}
