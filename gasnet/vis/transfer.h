/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One vector, indexed or strided transfer as a series of pieces. The caller opens it, names the
 * pieces, and closes it; transfer.c decides how each piece travels.
 */
#ifndef GASNET_VIS_TRANSFER_H
#define GASNET_VIS_TRANSFER_H

#include "gasnet/core/team.h"
#include "gasnet/vis/stride.h"

/* Dimensions of a box of elements that one message describes. */
enum { GEXI_BOX_LEVELS = 64 };

/* gexi_env.vis_am */
enum { GEXI_VIS_AM_FIXED, GEXI_VIS_AM_NEGOTIATED, GEXI_VIS_AM_NONE };

enum gexi_vis_how { GEXI_VIS_NB, GEXI_VIS_NBI, GEXI_VIS_BLOCKING };

struct gexi_transfer {
	uint32_t task;
	bool is_put, is_implicit, is_packed_whole;
	bool is_mapped;
	size_t limit; /* longest piece that is packed */
	size_t room;  /* of a message */
	struct gexi_event *event;
	struct gexi_pack *pack;                            /* the open message, or NULL */
	pami_quintorus_piece_t get[PAMI_QUINTORUS_PIECES]; /* gets that start together */
	unsigned gets;
};

/* Would a transfer of so many pieces, as long as this, have to wait for credits or room, and must
 * not (GEX_FLAG_IMMEDIATE)? Nothing has happened then. pieces of different lengths: longest 0. */
bool gexi_transfer_gives_up(uint32_t task, bool is_put, size_t pieces, size_t longest,
			    size_t all_bytes, gex_Flags_t flags);
/* flags: of the call. */
void gexi_transfer_open(struct gexi_transfer *t, uint32_t task, bool is_put, enum gexi_vis_how how,
			gex_Flags_t flags);
/* One piece: bytes at `self` in this process, at `peer` in the other. */
void gexi_transfer_piece(struct gexi_transfer *t, char *self, char *peer, size_t bytes);
/* All elements of a strided transfer, in messages. False: not so; name the pieces. */
bool gexi_transfer_boxes(struct gexi_transfer *t, const struct gexi_stride *s);
/* The event of the operation; GEX_EVENT_INVALID: complete, or implicit. */
gex_Event_t gexi_transfer_close(struct gexi_transfer *t);

/* Register the messages of packed transfers. */
void gexi_vis_open(void);

#endif
