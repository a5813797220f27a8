/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered handlers, tokens, and the limits of messages. */
#include "gasnet/am/am.h"
#include "gasnet/core/team.h"

gex_AM_Entry_t gexi_handlers[256];
gex_AM_Fn_t gexi_plain_handlers[256];

void gexi_am_open(void)
{
	pami_dispatch_callback_function fn = {.p2p = gexi_am_dispatch};
	pami_dispatch_hint_t queue = {0}, refuse = {.queue_immediate = PAMI_HINT_DISABLE};
	pami_configuration_t q[2] = {{.name = PAMI_DISPATCH_SEND_IMMEDIATE_MAX},
				     {.name = PAMI_DISPATCH_RECV_IMMEDIATE_MAX}};
	pami_context_t main = gexi_world.context[GEXI_MAIN];

	if (PAMI_Dispatch_set(main, GEXI_DISPATCH_AM, fn, NULL, queue) != PAMI_SUCCESS ||
	    PAMI_Dispatch_set(main, GEXI_DISPATCH_AM_IMMEDIATE, fn, NULL, refuse) != PAMI_SUCCESS ||
	    PAMI_Dispatch_query(main, GEXI_DISPATCH_AM, q, 2) != PAMI_SUCCESS)
		gexi_die("cannot register active messages");
	gexi_world.immediate_max =
	    q[0].value.intval < q[1].value.intval ? q[0].value.intval : q[1].value.intval;
}

static void entry_fail(const gex_AM_Entry_t *e, const char *why)
{
	gexi_die("gex_EP_RegisterHandlers: handler %u%s%s: %s", e->gex_index,
		 e->gex_name ? " " : "", e->gex_name ? e->gex_name : "", why);
}

static void place_handler(gex_AM_Entry_t *e, unsigned index)
{
	gexi_lock();
	gexi_handlers[index] = *e;
	gexi_handlers[index].gex_index = (gex_AM_Index_t)index;
	gexi_plain_handlers[index] = gexi_world.is_debug ? NULL : e->gex_fnptr;
	gexi_unlock();
}

int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t numentries)
{
	unsigned highest = 255;

	if (!ep || (numentries && !table))
		return GASNET_ERR_BAD_ARG;
	for (size_t i = 0; i < numentries; i++) {
		gex_AM_Entry_t *e = &table[i];

		if (!e->gex_fnptr)
			entry_fail(e, "no function");
		if (e->gex_nargs > GEXI_AM_ARGS_MAX)
			entry_fail(e, "more than 16 arguments");
		if (gexi_world.is_debug && e->gex_flags &&
		    (!(e->gex_flags & (GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG)) ||
		     !(e->gex_flags & GEX_FLAG_AM_REQREP)))
			entry_fail(e, "gex_flags lacks the category or the direction");
		if (!e->gex_index)
			continue;
		if (e->gex_index < GEX_AM_INDEX_BASE)
			return GASNET_ERR_BAD_ARG;
		if (gexi_handlers[e->gex_index].gex_fnptr)
			return GASNET_ERR_RESOURCE; /* The index is taken. */
		place_handler(e, e->gex_index);
	}
	for (size_t i = 0; i < numentries; i++) {
		if (table[i].gex_index)
			continue;
		while (highest >= GEX_AM_INDEX_BASE && gexi_handlers[highest].gex_fnptr)
			highest--;
		if (highest < GEX_AM_INDEX_BASE)
			return GASNET_ERR_RESOURCE;
		place_handler(&table[i], highest);
		table[i].gex_index = (gex_AM_Index_t)highest;
	}
	return GASNET_OK;
}

gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask)
{
	info->gex_srcrank = token->task;
	info->gex_ep = &gexi_world.ep;
	info->gex_entry = token->entry;
	info->gex_is_req = token->is_request;
	info->gex_is_long = token->is_long;
	return GEX_TI_ALL & mask;
}

/* ---- limits: the same for all processes, arguments and events ---- */

unsigned int gex_AM_MaxArgs(void)
{
	return GEXI_AM_ARGS_MAX;
}

size_t gex_AM_LUBRequestMedium(void)
{
	return gexi_am_max(GEXI_AM_MEDIUM);
}

size_t gex_AM_LUBReplyMedium(void)
{
	return gexi_am_max(GEXI_AM_MEDIUM);
}

size_t gex_AM_LUBRequestLong(void)
{
	return gexi_am_max(GEXI_AM_LONG);
}

size_t gex_AM_LUBReplyLong(void)
{
	return gexi_am_max(GEXI_AM_LONG);
}

static size_t max_to(gex_TM_t tm, gex_Rank_t rank, unsigned category)
{
	if (rank != GEX_RANK_INVALID)
		gexi_task_of(tm, rank); /* ends the process if there is no such member */
	return gexi_am_max(category);
}

size_t gex_AM_MaxRequestMedium(gex_TM_t tm, gex_Rank_t rank, const gex_Event_t *lc_opt,
			       gex_Flags_t flags, unsigned int nargs)
{
	return max_to(tm, rank, GEXI_AM_MEDIUM);
}

size_t gex_AM_MaxReplyMedium(gex_TM_t tm, gex_Rank_t rank, const gex_Event_t *lc_opt,
			     gex_Flags_t flags, unsigned int nargs)
{
	return max_to(tm, rank, GEXI_AM_MEDIUM);
}

size_t gex_AM_MaxRequestLong(gex_TM_t tm, gex_Rank_t rank, const gex_Event_t *lc_opt,
			     gex_Flags_t flags, unsigned int nargs)
{
	return max_to(tm, rank, GEXI_AM_LONG);
}

size_t gex_AM_MaxReplyLong(gex_TM_t tm, gex_Rank_t rank, const gex_Event_t *lc_opt,
			   gex_Flags_t flags, unsigned int nargs)
{
	return max_to(tm, rank, GEXI_AM_LONG);
}

size_t gex_Token_MaxReplyMedium(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags,
				unsigned int nargs)
{
	return gexi_am_max(GEXI_AM_MEDIUM);
}

size_t gex_Token_MaxReplyLong(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags,
			      unsigned int nargs)
{
	return gexi_am_max(GEXI_AM_LONG);
}
