/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fault file (torus run --fault FILE): one fault a line, '#' begins a comment. The same file does
 * in both clocks.
 *
 *   [at TIME] [until TIME] FAULT [on PLACE]
 *
 *   FAULT   cut PLACE            links take no new packets; packets go around where there is a way
 *           kill task N | node NODE | host N
 *           loss P, corrupt P, dup P, reorder P     a share of packets, 0 to 1
 *           delay TIME           each packet arrives so much later (also: delay_us N)
 *           rate N               at most so many GB/s, each way
 *           seed N               of percent and shares; the last one counts
 *   PLACE   link NODE A+, link NODE NODE    a link, by its direction or by both ends
 *           node NODE            its ten links
 *           plane A 2            all links between A=2 and A=3
 *           percent P            of all links, by the seed
 *           host N, hosts N N    wires of one host to the others, wires between two hosts
 *   TIME    microseconds from the start of the job, or with a unit: 3us, 5ms, 2s
 *   NODE    a number, or coordinates A,B,C,D,E
 *
 * Links are those of fabric torus, hosts need a job of several in real time; without "on" a share,
 * delay or rate holds on all links and wires that the job has.
 */
#ifndef TOOLS_FAULT_H
#define TOOLS_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/coord.h"

#define FAULT_SCRIPT_BYTES 8192

struct fault_job {
	const struct emu_shape *shape;
	bool is_virtual, has_links; /* fabric torus */
	uint32_t hosts;
};

struct fault {
	char script[FAULT_SCRIPT_BYTES]; /* emu/faults.h */
	bool on_wires;                   /* some fault holds between hosts */
	uint64_t seed;                   /* of frames between hosts */
};

/* Read a file for such a job. Returns 0, or -EINVAL with a sentence in err that names the line. */
int fault_read(const char *path, const struct fault_job *job, struct fault *f, char *err,
	       size_t err_bytes);

#endif
