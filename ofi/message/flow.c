/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/message/flow.h"

#include <stdlib.h>

#include "drivers/base/array.h"
#include "drivers/base/settings.h"
#include "ofi/message/wire.h"

/* ---- sets ---- */

static size_t find_endpoint(const struct ofi_endpoints *s, pami_endpoint_t e)
{
	size_t i = 0;

	while (i < s->count && s->at[i] != e)
		i++;
	return i;
}

/*
 * Add an endpoint. Returns true if it was not there. If there is no memory it is not added, and the
 * result is false.
 */
static bool add_endpoint(struct ofi_endpoints *s, pami_endpoint_t e)
{
	pami_endpoint_t *more;

	if (find_endpoint(s, e) < s->count)
		return false;
	if (s->count == s->room) {
		more = drv_array_grow(s->at, &s->room, sizeof *more, 8);
		if (!more)
			return false;
		s->at = more;
	}
	s->at[s->count++] = e;
	return true;
}

static void remove_at(struct ofi_endpoints *s, size_t i)
{
	if (i < s->count)
		s->at[i] = s->at[--s->count];
}

static void remove_dead(struct ofi_endpoints *s)
{
	for (size_t i = s->count; i-- > 0;)
		if (ofi_ep_is_dead(s->at[i]))
			remove_at(s, i);
}

/* ---- both sides ---- */

void ofi_flow_init(struct ofi_flow *f)
{
	*f = (struct ofi_flow){.limit = drv_setting_number(DRV_QUINTORUS_OFI_UNEXPECTED)};
}

void ofi_flow_fini(struct ofi_flow *f)
{
	free(f->told.at);
	free(f->holds.at);
}

static void send_word(struct ofi_ep *ep, pami_endpoint_t peer, enum ofi_flow_word word)
{
	struct ofi_flow_note note = {.word = word};

	ofi_post(ep, peer, OFI_DISPATCH_FLOW, &note, sizeof note);
}

void ofi_flow_keep(struct ofi_ep *ep, pami_endpoint_t from, size_t bytes)
{
	struct ofi_flow *f = &ep->flow;

	f->kept += bytes;
	if (f->kept > f->limit && add_endpoint(&f->told, from))
		send_word(ep, from, OFI_FLOW_HOLD);
}

void ofi_flow_drop(struct ofi_ep *ep, size_t bytes)
{
	struct ofi_flow *f = &ep->flow;

	f->kept -= bytes;
	while (f->told.count && f->kept <= f->limit / 2)
		send_word(ep, f->told.at[--f->told.count], OFI_FLOW_GO);
}

bool ofi_flow_is_held(const struct ofi_flow *f, pami_endpoint_t peer)
{
	return find_endpoint(&f->holds, peer) < f->holds.count;
}

void ofi_on_flow(pami_context_t context, void *slot, const void *header, size_t header_bytes,
		 const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct ofi_ep *ep = ((struct ofi_slot *)slot)->ep;
	const struct ofi_flow_note *note = header;

	if (!ep || header_bytes != sizeof *note)
		return;
	/* If there is no memory for the entry, sending goes on as usual. */
	if (note->word == OFI_FLOW_HOLD)
		add_endpoint(&ep->flow.holds, origin);
	else
		remove_at(&ep->flow.holds, find_endpoint(&ep->flow.holds, origin));
}

void ofi_flow_end_dead(struct ofi_ep *ep)
{
	remove_dead(&ep->flow.told);
	remove_dead(&ep->flow.holds);
}
