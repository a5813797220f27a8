/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What guests of GASNet share, in the words of other people's harnesses. Include after gasnetex.h.
 * Valid C and C++.
 */
#ifndef TESTS_GUESTS_GEX_GUEST_H
#define TESTS_GUESTS_GEX_GUEST_H

/* The counter of the library that is tested, since that one is valid C++, too. */
static gasnett_atomic_t failed_checks = gasnett_atomic_init(0);
#define CHECK_COUNT() ((int)gasnett_atomic_add(&failed_checks, 1, 0) - 1)
#include "tests/guests/guest.h"

enum { GUEST_SEGMENT = 1 << 20, GUEST_RANKS = 16 };

static gex_Client_t myclient;
static gex_EP_t myep;
static gex_TM_t myteam;
static gex_Segment_t mysegment;
static gex_Rank_t rank, ranks;
static void *myseg, *base[GUEST_RANKS]; /* segments: here, of each rank in its own addresses */

#define GASNET_Safe(call)                                                                          \
	do {                                                                                       \
		int gasnet_result = (call);                                                        \
		if (gasnet_result != GASNET_OK) {                                                  \
			fprintf(stderr, "%s:%d: %s returns %s (%s)\n", __FILE__, __LINE__, #call,  \
				gasnet_ErrorName(gasnet_result), gasnet_ErrorDesc(gasnet_result)); \
			gasnet_exit(1);                                                            \
		}                                                                                  \
	} while (0)

static inline void *other_half(void *segment)
{
	return (char *)segment + GUEST_SEGMENT / 2;
}

static inline int all_bytes(const void *p, size_t bytes, uint8_t value)
{
	for (size_t i = 0; i < bytes; i++)
		if (((const uint8_t *)p)[i] != value)
			return 0;
	return 1;
}

static inline void barrier_all(void)
{
	gex_Event_Wait(gex_Coll_BarrierNB(myteam, 0));
}

/* Attach, then ask for the segment of every rank, as harnesses do. */
static inline void guest_attach(void)
{
	uintptr_t size;

	rank = gex_TM_QueryRank(myteam);
	ranks = gex_TM_QuerySize(myteam);
	if (ranks > GUEST_RANKS)
		gasnet_exit(1);
	GASNET_Safe(gex_Segment_Attach(&mysegment, myteam, GUEST_SEGMENT));
	GASNET_Safe(gasnet_barrier(0, GASNET_BARRIERFLAG_UNNAMED));
	for (gex_Rank_t r = 0; r < ranks; r++) {
		GASNET_Safe(gex_Segment_QueryBound(myteam, r, &base[r], NULL, &size));
		CHECK(size >= GUEST_SEGMENT && size % GASNET_PAGESIZE == 0);
	}
	myseg = base[rank];
}

#endif
