/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A torus as a picture in the terminal: planes of nodes, links as thick as their traffic.
 *
 *	A0 B0               A0 B1
 *	(0▂)▆▆▆(1▁)         (4▁)▁▁▁(5▁)
 *	 ▊      ▏            ▏      ▏
 *	(2▁)▁▁▁(3▁)         (6▁)▁▁▁(7▁)
 */
#ifndef TOOLS_DRAW_H
#define TOOLS_DRAW_H

#include <stdint.h>
#include <stdio.h>

#include "emu/router.h"

#define DRAW_NODES_MAX 512 /* larger tori are drawn as a table only */

struct draw {
	const struct emu_shape *shape;
	const struct emu_link_stat *links; /* [nodes * EMU_LINKS] */
	/* [nodes]: host of each node, for its bracket; NULL: all alike. */
	const uint16_t *node_host;
	unsigned columns; /* width of the terminal */
	int utf8;         /* draw bars; else digits */
	int plain;        /* bars mark a path: print no bytes in the caption */
};

/* Fill columns and utf8 from the terminal and the locale. */
void draw_init(struct draw *d, const struct emu_shape *shape, const struct emu_link_stat *links);
void draw_torus(FILE *f, const struct draw *d);
/* Print a line for each direction: links, packets, bytes, and the busiest link with its node. */
void draw_table(FILE *f, const struct draw *d);

/* Print the packets of each virtual channel that has some, on a line; nothing if none has.
 * draw_json_channels() prints all of them, as an object. */
void draw_channels(FILE *f, const struct emu_link_stat *s);
void draw_json_channels(FILE *f, const struct emu_link_stat *s);

/* "12.3 MB"; returns text. */
const char *draw_bytes(uint64_t bytes, char *text, size_t room);
/* "(0,1,0,0,0)"; returns text. */
const char *draw_node(const struct emu_shape *s, uint32_t node, char *text, size_t room);

/* Read a node: its number, or "0,1,0,0,0". 0 or -EINVAL. */
int draw_parse_node(const struct emu_shape *s, const char *text, uint32_t *node);

#endif
