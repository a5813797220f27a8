/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What torus topo says, as data: computed once (topo_data.c), printed as text (topo_text.c) or as
 * JSON (topo_json.c).
 */
#ifndef TOOLS_TOPO_H
#define TOOLS_TOPO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/lines.h"
#include "emu/machine.h"
#include "emu/route.h"
#include "mu/channel/routing.h"

#define TOPO_HOPS_MAX (EMU_DIMS * 64)

/* Why a packet takes its direction in a dimension. */
enum topo_reason {
	TOPO_MESH,    /* the dimension does not wrap */
	TOPO_SHORTER, /* the other way is longer */
	TOPO_PARITY,  /* equal: the sum of the source's coordinates decides */
	TOPO_TIE      /* equal: row tie of the machine decides */
};

struct topo_direction {
	unsigned link, from, to; /* coordinates in the link's dimension */
	unsigned hops, other;    /* this way and the other way; other: not with TOPO_MESH */
	enum topo_reason reason;
};

struct topo_zone {
	uint8_t sets[EMU_DIMS]; /* as in struct emu_route */
	unsigned links;         /* that a dynamic packet may take at its first node (a mask) */
	double ways;            /* orders of its hops that the sets allow */
};

/* What packets of a path may do that are not routed deterministically. Undefined without hops. */
struct topo_dynamic {
	unsigned escape; /* link of the bubble channel at the first node */
	struct topo_zone zone[EMU_ZONES];
	struct mu_routing rule;
	double flexibility;
	struct {
		uint64_t bytes;
		unsigned route; /* a zone, or MU_ROUTE_DETERMINISTIC */
	} rendezvous[2];        /* the longest one that counts as small, and the next */
};

/* When the head of a packet of 512 bytes, or all of it, is where; ns since the FIFO's tail moved.
 */
struct topo_time {
	double hop;
	double first_router, target; /* the head */
	double last_byte, memory;
};

struct topo_path {
	uint32_t from, to;
	unsigned hints, hops;
	unsigned link[TOPO_HOPS_MAX];
	uint32_t node[TOPO_HOPS_MAX + 1];
	unsigned directions;
	struct topo_direction direction[EMU_DIMS]; /* in the order of routing */
	struct topo_dynamic dynamic;
	struct topo_time time;
};

/* Trees of more nodes are not listed: their order says all. */
#define TOPO_TREE_NODES 64

struct topo_member {
	uint32_t node;
	unsigned level, link; /* links to the root; the first of them */
};

/* The class route of a rectangle of nodes, and the colours of a broadcast from the same root. */
struct topo_tree {
	struct emu_box box;
	struct emu_coord root;
	unsigned depth;
	unsigned links; /* from the root to its children (a mask) */
	unsigned dims;  /* how many of order */
	uint8_t
	    order[EMU_DIMS]; /* dimensions in which a node's packets go up, one after the other */
	bool is_listed;      /* the nodes below are those of the tree */
	unsigned members;    /* without the root, by level and number */
	struct topo_member member[TOPO_TREE_NODES];
	unsigned colours;
	struct emu_lines lines[EMU_LINES_COLOURS]; /* of the root */
};

struct topo {
	struct emu_machine machine;
	struct emu_route route; /* with the shape, meshes of the machine included */
	uint32_t nodes;
	unsigned hops_max, links_cut;
	double hops_mean;
	bool has_path, has_tree, is_whole; /* is_whole: the tree is that of all nodes */
	struct topo_path path;
	struct topo_tree tree;
};

/* Fill in the facts of a shape on a machine; there is no path and no tree yet. */
void topo_init(struct topo *t, const struct emu_shape *shape, const struct emu_machine *machine);
/* Find the path of a packet between two nodes of the shape, and what explains it. */
void topo_find_path(struct topo *t, uint32_t from, uint32_t to);
/* Find the tree of a box of the shape. */
void topo_find_tree(struct topo *t, const struct emu_box *box);

/* Print everything, with a picture. Returns 0, or -ENOMEM before anything is printed. */
int topo_print_text(FILE *f, const struct topo *t);
/* Print everything as one object, whose keys man/torus.1 explains. */
void topo_print_json(FILE *f, const struct topo *t);

#endif
