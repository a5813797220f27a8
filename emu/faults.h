/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults by script, the same text in both clocks. Faults are separated by commas; times are
 * microseconds of the job's clock.
 *
 *   kill=TASK@T, kill=node:N@T, kill=host:H@T     tasks that die
 *   cut=PLACE@T[-END]                             links that take no new packets
 *   loss=P:PLACE@T[-END], also corrupt, dup, reorder   a share of packets, 0 to 1
 *   delay=US:PLACE@T[-END]                        each packet arrives so much later
 *   rate=GBS:PLACE@T[-END]                        at most so many GB/s each way
 *   seed=N                                        of percent and of the shares
 *
 *   PLACE   all, link:NODE:LINK (0 to 9), node:N, plane:DIM:C (between coordinates C and C + 1 of a
 *           dimension 0 to 4), percent:P (of all links, by the seed), host:H, hosts:H:G
 *
 * A fault of a link holds in both directions. Links belong to fabric torus; host and hosts are the
 * wires between hosts, real clock. tools/fault.c makes this text from a file. What a link does:
 * emu/router.h; ways around cuts: emu/cuts.h; frames of a wire: drivers/port_fault.h.
 */
#ifndef EMU_FAULTS_H
#define EMU_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/coord.h"
#include "emu/router.h"

#define EMU_FAULT_US_MAX 1e9

enum emu_fault_kind {
	EMU_FAULT_KILL,
	EMU_FAULT_CUT,
	EMU_FAULT_LOSS,
	EMU_FAULT_CORRUPT,
	EMU_FAULT_DUP,
	EMU_FAULT_REORDER,
	EMU_FAULT_DELAY,
	EMU_FAULT_RATE,
	EMU_FAULT_KINDS
};

enum emu_fault_place {
	EMU_FAULT_AT_ALL,
	EMU_FAULT_AT_TASK,
	EMU_FAULT_AT_LINK,
	EMU_FAULT_AT_NODE,
	EMU_FAULT_AT_PLANE,
	EMU_FAULT_AT_PERCENT,
	EMU_FAULT_AT_HOST,
	EMU_FAULT_AT_HOSTS,
	EMU_FAULT_PLACES
};

struct emu_fault {
	uint8_t kind, place;
	uint8_t link;   /* LINK, and PLANE: the plus link of its dimension */
	uint32_t at;    /* node, task, coordinate, host, or thousandths of a percent */
	uint32_t other; /* HOSTS: the second host */
	double value;
	uint64_t at_ps, end_ps; /* end_ps UINT64_MAX: for good */
};

struct emu_faults {
	struct emu_shape shape;
	uint64_t seed;
	struct emu_fault *fault; /* [count] */
	uint32_t count;
	uint64_t *time; /* [times] at which something begins or ends, ascending, each once */
	uint32_t times;
};

/*
 * Parse a script ("" and NULL: no faults). Returns 0, -ENOMEM, or -EINVAL with a sentence in err.
 * hosts: of the job.
 */
int emu_faults_parse(const char *text, const struct emu_shape *shape, uint32_t tasks,
		     uint32_t hosts, uint64_t seed, struct emu_faults *f, char *err,
		     size_t err_bytes);
void emu_faults_free(struct emu_faults *f); /* zeroed memory is fine */

/* Is there a fault of one of these kinds (bits)? On links alone: not at a host or a task. */
bool emu_faults_have(const struct emu_faults *f, unsigned kinds);

#define EMU_FAULT_BIT(kind) (1u << (kind))
#define EMU_FAULTS_OF_LINKS                                                                        \
	(EMU_FAULT_BIT(EMU_FAULT_KINDS) -                                                          \
	 EMU_FAULT_BIT(EMU_FAULT_LOSS)) /* LOSS and those after it */
/* Faults that need a clock at the link, and not only a number of packets. */
#define EMU_FAULTS_TIMED (EMU_FAULT_BIT(EMU_FAULT_DELAY) | EMU_FAULT_BIT(EMU_FAULT_RATE))

static inline bool emu_fault_is_active(const struct emu_fault *x, uint64_t ps)
{
	return x->at_ps <= ps && ps < x->end_ps;
}

/* Return how many of the times have passed at `ps`. This numbers the state of the script. */
uint32_t emu_faults_passed(const struct emu_faults *f, uint64_t ps);

/* True if fault `number` lies on that link of that node. */
bool emu_fault_hits(const struct emu_faults *f, uint32_t number, uint32_t node, unsigned link);
/* Call fn for each link of the fault, once, from its lower end over a plus link. */
void emu_fault_each_link(const struct emu_faults *f, uint32_t number,
			 void (*fn)(void *arg, uint32_t node, unsigned link), void *arg);
/* Compute the faults that hold on a link of that node at that time. */
void emu_faults_of_link(const struct emu_faults *f, uint64_t ps, uint32_t node, unsigned link,
			struct emu_link_fault *out);

#endif
