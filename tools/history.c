/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/history.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_PS 1000000u  /* virtual clock */
#define FIRST_NS 50000000u /* real clock */

enum { KIND_FRAME, KIND_TOOK };

struct history *history_new(const struct plan *p)
{
	struct history *h = calloc(1, sizeof *h);

	if (!h)
		return NULL;
	h->interval = p->clock == MU_CLOCK_VIRTUAL ? FIRST_PS : FIRST_NS;
	h->columns = history_wire(p, p->hosts, 0);
	return h;
}

void history_free(struct history *h)
{
	for (unsigned i = 0; h && i < HISTORY_FRAMES; i++)
		free(h->frame[i]);
	for (unsigned i = 0; h && i < HISTORY_HOPS; i++)
		free(h->took[i]);
	free(h);
}

/* ---- amounts over time ---- */

static uint64_t *merge_frames(uint64_t *a, uint64_t *b, uint32_t columns)
{
	if (!a || !b)
		return a ? a : b;
	for (uint32_t i = 0; i < columns; i++)
		a[i] += b[i];
	free(b);
	return a;
}

static void double_interval(struct history *h)
{
	for (unsigned i = 0; i < HISTORY_FRAMES / 2; i++) {
		uint64_t *a = h->frame[2 * i], *b = h->frame[2 * i + 1];

		h->frame[2 * i] = h->frame[2 * i + 1] = NULL;
		h->frame[i] = merge_frames(a, b, h->columns);
	}
	h->frames = (h->frames + 1) / 2;
	h->interval *= 2;
}

void history_add(struct history *h, uint64_t time, uint32_t column, uint64_t amount)
{
	uint64_t at;

	if (column >= h->columns || time > UINT64_MAX / 2)
		return;
	while (time / h->interval >= HISTORY_FRAMES)
		double_interval(h);
	at = time / h->interval;
	if (!h->frame[at])
		h->frame[at] = calloc(h->columns, sizeof *h->frame[at]);
	if (!h->frame[at])
		return;
	h->frame[at][column] += amount;
	if (at >= h->frames)
		h->frames = (uint32_t)at + 1;
}

/* ---- times of packets ---- */

unsigned history_bucket(uint64_t ps)
{
	unsigned power, bucket;

	if (ps < 16)
		return (unsigned)ps;
	power = 63 - (unsigned)__builtin_clzll(ps);
	bucket = (power - 3) * 16 + (ps >> (power - 4) & 15);
	return bucket < HISTORY_BUCKETS ? bucket : HISTORY_BUCKETS - 1;
}

uint64_t history_bucket_ps(unsigned bucket)
{
	return bucket < 16 ? bucket : (uint64_t)(16 + bucket % 16) << (bucket / 16 - 1);
}

static void count_took(struct history *h, unsigned hops, unsigned bucket, uint64_t packets)
{
	hops = hops < HISTORY_HOPS ? hops : HISTORY_HOPS - 1;
	if (!h->took[hops])
		h->took[hops] = calloc(HISTORY_BUCKETS, sizeof *h->took[hops]);
	if (h->took[hops] && bucket < HISTORY_BUCKETS)
		h->took[hops][bucket] += packets;
}

void history_took(struct history *h, unsigned hops, uint64_t ps, uint64_t packets)
{
	count_took(h, hops, history_bucket(ps), packets);
}

/* ---- from an agent to torus run ---- */

/* One message a frame or a distance: u32 kind, u64 interval or hops, u64 frame, then u32 index and
 * u64 amount of what is not zero. */
static void send_sparse(struct ctl *c, uint32_t kind, uint64_t first, uint64_t second,
			const uint64_t *value, uint32_t count)
{
	struct ctl_buf b = {0};

	if (!value)
		return;
	ctl_put_u32(&b, kind);
	ctl_put_u64(&b, first);
	ctl_put_u64(&b, second);
	for (uint32_t i = 0; i < count; i++) {
		if (!value[i])
			continue;
		ctl_put_u32(&b, i);
		ctl_put_u64(&b, value[i]);
	}
	ctl_send_buf(c, CTL_HISTORY, &b);
}

void history_send(const struct history *h, struct ctl *c)
{
	for (uint32_t i = 0; i < h->frames; i++)
		send_sparse(c, KIND_FRAME, h->interval, i, h->frame[i], h->columns);
	for (uint32_t i = 0; i < HISTORY_HOPS; i++)
		send_sparse(c, KIND_TOOK, i, 0, h->took[i], HISTORY_BUCKETS);
}

void history_take(struct history *h, struct ctl_msg *m)
{
	uint32_t kind = ctl_get_u32(m);
	uint64_t first = ctl_get_u64(m), second = ctl_get_u64(m);

	if (kind == KIND_FRAME &&
	    (first > UINT64_MAX / 2 / HISTORY_FRAMES || second >= HISTORY_FRAMES))
		m->bad = true;
	while (!m->bad && kind == KIND_FRAME && h->interval < first)
		double_interval(h);
	while (!m->bad && m->at < m->bytes) {
		uint32_t index = ctl_get_u32(m);
		uint64_t amount = ctl_get_u64(m);

		if (m->bad)
			return;
		if (kind == KIND_FRAME)
			history_add(h, second * first, index, amount);
		else
			count_took(h, (unsigned)(first < HISTORY_HOPS ? first : HISTORY_HOPS - 1),
				   index, amount);
	}
}
