/* SPDX-License-Identifier: BSD-3-Clause */
/* What the names of GASNet-1 need beyond gasnet.h. */
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "gasnet/core/event.h"
#include "gasnet/core/team.h"

struct gexi_valget {
	gex_RMA_Value_t value;
	gex_Event_t event;
};

gex_TM_t gexi_world_team(void)
{
	return gexi_world.team;
}

int gexi_init(int *argc, char ***argv, int mode)
{
	return gexi_client_init(NULL, NULL, NULL, "GASNET1", argc, argv, GEX_FLAG_USES_GASNET1,
				mode);
}

static int attach_handlers(gasnet_handlerentry_t *table, int numentries)
{
	gex_AM_Entry_t *e = calloc((size_t)numentries + 1, sizeof(*e));
	int rc;

	if (!e)
		return GASNET_ERR_RESOURCE;
	for (int i = 0; i < numentries; i++)
		e[i] = (gex_AM_Entry_t){.gex_index = table[i].index, .gex_fnptr = table[i].fnptr};
	rc = gex_EP_RegisterHandlers(&gexi_world.ep, e, (size_t)numentries);
	for (int i = 0; !rc && i < numentries; i++)
		table[i].index = e[i].gex_index;
	free(e);
	return rc;
}

int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
		  uintptr_t minheapoffset)
{
	gex_Segment_t segment;
	int rc;

	if (!gexi_world.client)
		return GASNET_ERR_NOT_INIT;
	if (numentries < 0 || (numentries && !table))
		return GASNET_ERR_BAD_ARG;
	rc = attach_handlers(table, numentries);
	segsize &= ~(uintptr_t)(GASNET_PAGESIZE - 1);
	if (!rc && segsize)
		return gex_Segment_Attach(&segment, gexi_world.team, segsize);
	if (!rc)
		gexi_barrier(gexi_world.team);
	return rc;
}

void gasnet_QueryGexObjects(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p,
			    gex_Segment_t *segment_p)
{
	if (client_p)
		*client_p = &gexi_world.the_client;
	if (ep_p)
		*ep_p = &gexi_world.ep;
	if (tm_p)
		*tm_p = gexi_world.team;
	if (segment_p)
		*segment_p = gexi_world.ep.segment;
}

int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int numentries)
{
	for (int i = 0; i < numentries && i < (int)gexi_world.nproc; i++)
		table[i] = (gasnet_seginfo_t){(void *)gexi_peer((uint32_t)i)->seg_addr,
					      gexi_peer((uint32_t)i)->seg_bytes};
	return GASNET_OK;
}

int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int numentries)
{
	for (int i = 0; i < numentries && i < (int)gexi_world.nproc; i++) {
		const struct gexi_peer *p = gexi_peer((uint32_t)i);

		table[i] = (gasnet_nodeinfo_t){
		    .host = p->host, .supernode = p->nbrhd, .offset = p->is_mapped ? p->delta : 0};
	}
	return GASNET_OK;
}

gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, void *src, size_t bytes)
{
	gasnet_valget_handle_t h = calloc(1, sizeof(*h));

	if (!h || bytes > sizeof(h->value))
		gexi_die("gasnet_get_nb_val: %s", h ? "a value has at most 8 bytes" : "no memory");
	h->event = gex_RMA_GetNB(gexi_world.team, &h->value, node, src, bytes, 0);
	return h;
}

gasnet_register_value_t gasnet_wait_syncnb_valget(gasnet_valget_handle_t handle)
{
	gasnet_register_value_t value;

	gex_Event_Wait(handle->event);
	value = handle->value;
	free(handle);
	return value;
}

/* ---- memset: a put of memory that lives as long as the operation ---- */

static void *make_filled(int value, size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	if (!p)
		gexi_die("gasnet_memset: no memory for %zu bytes", bytes);
	return memset(p, value, bytes);
}

gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int value, size_t bytes)
{
	void *local = gexi_local(gexi_peer(gexi_task_of(gexi_world.team, node)), dest);
	gex_Event_t event;
	void *p;

	gexi_check_bounds(__func__, node, dest, bytes);
	if (local) {
		gexi_spend_copy(bytes);
		memset(local, value, bytes);
		return GEX_EVENT_INVALID;
	}
	p = make_filled(value, bytes);
	event = gex_RMA_PutNB(gexi_world.team, node, dest, p, bytes, GEX_EVENT_DEFER, 0);
	if (event == GEX_EVENT_INVALID)
		free(p);
	else
		gexi_event_of(event)->memory = p;
	return event;
}

void gasnet_memset(gasnet_node_t node, void *dest, int value, size_t bytes)
{
	gex_Event_Wait(gasnet_memset_nb(node, dest, value, bytes));
}

void gasnet_memset_nbi(gasnet_node_t node, void *dest, int value, size_t bytes)
{
	gasnet_memset(node, dest, value, bytes);
}
