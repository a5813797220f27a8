/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries of objects, of the job and of its machines. */
#include <string.h>

#include "gasnet/core/team.h"

gex_Rank_t gex_System_QueryJobRank(void)
{
	return gexi_world.me;
}

gex_Rank_t gex_System_QueryJobSize(void)
{
	return gexi_world.nproc;
}

static void give_info(gex_RankInfo_t *info, uint32_t count, uint32_t index, gex_RankInfo_t **info_p,
		      gex_Rank_t *count_p, gex_Rank_t *my_index_p)
{
	if (info_p)
		*info_p = info;
	if (count_p)
		*count_p = count;
	if (my_index_p)
		*my_index_p = index;
}

void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info_p, gex_Rank_t *count_p, gex_Rank_t *my_index_p)
{
	give_info(gexi_world.nbrhd, gexi_world.nbrhd_count, gexi_world.nbrhd_index, info_p, count_p,
		  my_index_p);
}

void gex_System_QueryHostInfo(gex_RankInfo_t **info_p, gex_Rank_t *count_p, gex_Rank_t *my_index_p)
{
	give_info(gexi_world.host, gexi_world.host_count, gexi_world.host_index, info_p, count_p,
		  my_index_p);
}

void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_set_size, gex_Rank_t *nbrhd_set_rank,
				gex_Rank_t *host_set_size, gex_Rank_t *host_set_rank)
{
	give_info(NULL, gexi_world.nbrhd_sets, gexi_world.nbrhd_set, NULL, nbrhd_set_size,
		  nbrhd_set_rank);
	give_info(NULL, gexi_world.host_sets, gexi_world.host_set, NULL, host_set_size,
		  host_set_rank);
}

gex_Client_t gex_Segment_QueryClient(gex_Segment_t segment)
{
	return &gexi_world.the_client;
}

gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t segment)
{
	return 0;
}

void *gex_Segment_QueryAddr(gex_Segment_t segment)
{
	return segment->addr;
}

uintptr_t gex_Segment_QuerySize(gex_Segment_t segment)
{
	return segment->bytes;
}

void *gex_Segment_QueryCData(gex_Segment_t segment)
{
	return (void *)(uintptr_t)segment->cdata;
}

void gex_Segment_SetCData(gex_Segment_t segment, const void *value)
{
	segment->cdata = value;
}

gex_Flags_t gex_Client_QueryFlags(gex_Client_t client)
{
	return client->flags;
}

const char *gex_Client_QueryName(gex_Client_t client)
{
	return client->name;
}

void *gex_Client_QueryCData(gex_Client_t client)
{
	return (void *)(uintptr_t)client->cdata;
}

void gex_Client_SetCData(gex_Client_t client, const void *value)
{
	client->cdata = value;
}

gex_Client_t gex_EP_QueryClient(gex_EP_t ep)
{
	return &gexi_world.the_client;
}

gex_Flags_t gex_EP_QueryFlags(gex_EP_t ep)
{
	return 0;
}

gex_Segment_t gex_EP_QuerySegment(gex_EP_t ep)
{
	return ep->segment;
}

void *gex_EP_QueryCData(gex_EP_t ep)
{
	return (void *)(uintptr_t)ep->cdata;
}

void gex_EP_SetCData(gex_EP_t ep, const void *value)
{
	ep->cdata = value;
}

static const struct {
	int result;
	const char *name, *text;
} results[] = {
    {GASNET_OK, "GASNET_OK", "No error"},
    {GASNET_ERR_NOT_INIT, "GASNET_ERR_NOT_INIT", "The library is not initialized"},
    {GASNET_ERR_RESOURCE, "GASNET_ERR_RESOURCE", "A resource ran out"},
    {GASNET_ERR_BAD_ARG, "GASNET_ERR_BAD_ARG", "An argument is not allowed"},
    {GASNET_ERR_NOT_READY, "GASNET_ERR_NOT_READY", "The operation is not complete"},
    {GASNET_ERR_BARRIER_MISMATCH, "GASNET_ERR_BARRIER_MISMATCH",
     "Processes named different barriers"},
};

const char *gasnet_ErrorName(int result)
{
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (results[i].result == result)
			return results[i].name;
	return "unknown result";
}

const char *gasnet_ErrorDesc(int result)
{
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (results[i].result == result)
			return results[i].text;
	return "No description: not a result of GASNet";
}
