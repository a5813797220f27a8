/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/waits.h"

#include <stddef.h>

#include "mu/mu.h"

const char *collective_name(unsigned type)
{
	static const char *const names[PAMI_XFER_COUNT] = {
	    [PAMI_XFER_BROADCAST] = "broadcast",
	    [PAMI_XFER_ALLREDUCE] = "allreduce",
	    [PAMI_XFER_REDUCE] = "reduce",
	    [PAMI_XFER_ALLGATHER] = "allgather",
	    [PAMI_XFER_ALLGATHERV] = "allgatherv",
	    [PAMI_XFER_ALLGATHERV_INT] = "allgatherv_int",
	    [PAMI_XFER_SCATTER] = "scatter",
	    [PAMI_XFER_SCATTERV] = "scatterv",
	    [PAMI_XFER_SCATTERV_INT] = "scatterv_int",
	    [PAMI_XFER_GATHER] = "gather",
	    [PAMI_XFER_GATHERV] = "gatherv",
	    [PAMI_XFER_GATHERV_INT] = "gatherv_int",
	    [PAMI_XFER_BARRIER] = "barrier",
	    [PAMI_XFER_ALLTOALL] = "alltoall",
	    [PAMI_XFER_ALLTOALLV] = "alltoallv",
	    [PAMI_XFER_ALLTOALLV_INT] = "alltoallv_int",
	    [PAMI_XFER_SCAN] = "scan",
	    [PAMI_XFER_REDUCE_SCATTER] = "reduce_scatter",
	    [PAMI_XFER_AMBROADCAST] = "ambroadcast",
	    [PAMI_XFER_AMSCATTER] = "amscatter",
	    [PAMI_XFER_AMGATHER] = "amgather",
	    [PAMI_XFER_AMREDUCE] = "amreduce",
	};

	return type < PAMI_XFER_COUNT ? names[type] : "";
}

const char *waits_name(unsigned what)
{
	static const char *const names[MU_WAITS_COLLECTIVE] = {
	    [MU_WAITS_MESSAGE] = "a message", [MU_WAITS_GET] = "a get",
	    [MU_WAITS_PUT] = "a put",         [MU_WAITS_ATOMIC] = "an atomic",
	    [MU_WAITS_ANSWER] = "a receiver", [MU_WAITS_REST] = "the rest of a message",
	    [MU_WAITS_ROOM] = "room to send",
	};

	if (what >= MU_WAITS_COLLECTIVE)
		return collective_name(what - MU_WAITS_COLLECTIVE);
	return names[what] ? names[what] : "";
}
