/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between the wires and their dispatch functions. Hot between hosts: guarded by
 * bench/micro/pami_latency and bench/micro/pami_rate.
 */
#include "mu/engine/batch.h"

#include <stdlib.h>
#include <string.h>

#include "drivers/base/assert.h"
#include "drivers/base/log.h"
#include "mu/engine/engine.h"
#include "mu/engine/known_memory.h"
#include "mu/engine/memory.h"
#include "mu/hw/desc_build.h"

/* A burst of the port: DRV_PORT_BURST frames of 9000 bytes. */
#define BATCH_BYTES (320u << 10)
#define RUN         UINT64_MAX /* offset: the payload is a run of short messages */

struct record {
	uint64_t offset; /* of the payload in its message */
	uint32_t bytes, source;
	unsigned char soft[MU_SOFT_BYTES];
	_Alignas(16) unsigned char payload[];
};

static uint32_t record_bytes(uint32_t payload_bytes)
{
	return (uint32_t)sizeof(struct record) + ((payload_bytes + 15) & ~15u);
}

static struct record *append(struct mu_channel *ch, uint32_t source, uint64_t offset,
			     const unsigned char *payload, uint32_t bytes)
{
	struct mu_batch *b = &ch->rx.batch;
	struct record *r;

	mu_assert_engine(ch);
	if (__builtin_expect(mu_has_queued_records(ch), 0) || BATCH_BYTES - b->end < bytes ||
	    BATCH_BYTES - b->end < record_bytes(bytes))
		return NULL;
	if (__builtin_expect(!b->memory, 0) && !(b->memory = aligned_alloc(64, BATCH_BYTES)))
		return NULL;
	r = (void *)(b->memory + b->end);
	r->offset = offset;
	r->bytes = bytes;
	r->source = source;
	memcpy(r->payload, payload, bytes);
	b->end += record_bytes(bytes);
	return r;
}

bool mu_batch_put(struct mu_channel *ch, uint32_t source, const void *soft, uint64_t offset,
		  const unsigned char *payload, uint32_t bytes)
{
	struct record *r = append(ch, source, offset, payload, bytes);

	if (r)
		mu_soft_copy(r->soft, soft);
	return r != NULL;
}

bool mu_batch_put_shorts(struct mu_channel *ch, uint32_t source, const unsigned char *run,
			 uint32_t bytes)
{
	return append(ch, source, RUN, run, bytes) != NULL;
}

static void refuse_rest(struct mu_channel *ch, const struct record *r)
{
	ch->rx.batch.taken = r->bytes;
	if (!ch->engine.refused++)
		drv_warn("channel %u: a record from task %u that is cut short was dropped (further "
			 "ones are counted)",
			 ch->index, r->source);
}

/*
 * Dispatch the messages of a run from `taken` on. Each counts as taken before its function is
 * called, since that may exit.
 */
static int dispatch_run(struct mu_channel *ch, const struct record *r)
{
	struct mu_batch *b = &ch->rx.batch;
	int n = 0;

	while (b->taken < r->bytes && !ch->rx.stopped) {
		const unsigned char *at = r->payload + b->taken;
		uint16_t bytes = UINT16_MAX;

		if (r->bytes - b->taken >= MU_SHORT_HEAD)
			memcpy(&bytes, at, 2);
		if (__builtin_expect(bytes > MU_PACKET_BYTES ||
					 bytes > r->bytes - b->taken - MU_SHORT_HEAD,
				     0)) {
			refuse_rest(ch, r);
			break;
		}
		b->taken += mu_short_bytes(bytes);
		if (__builtin_expect(ch->death.applied, 0) && mu_is_late(ch, r->source))
			continue;
		mu_known_end_run();
		ch->receive(ch->arg, r->source, at + 2, at + MU_SHORT_HEAD, bytes, 0);
		n++;
	}
	return n;
}

int mu_batch_dispatch(struct mu_channel *ch)
{
	struct mu_batch *b = &ch->rx.batch;
	int n = 0;

	mu_assert_engine(ch);
	while (b->first != b->end && !ch->rx.stopped) {
		const struct record *r = (const void *)(b->memory + b->first);

		if (r->offset == RUN) {
			n += dispatch_run(ch, r);
			if (b->taken < r->bytes)
				break;
			b->taken = 0;
			b->first += record_bytes(r->bytes);
			continue;
		}
		b->first += record_bytes(r->bytes);
		if (__builtin_expect(ch->death.applied, 0) && mu_is_late(ch, r->source))
			continue;
		mu_known_end_run();
		ch->receive(ch->arg, r->source, r->soft, r->payload, r->bytes, r->offset);
		n++;
	}
	if (b->first == b->end)
		b->first = b->end = 0;
	mu_forget_checks(&ch->rx.written);
	return n;
}
