/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A laboratory for wires: ports of one process joined by a network that does what it is told, in
 * a time that only the test moves. Nothing is random but by the case's own stream.
 */
#ifndef TESTS_UNIT_WIRE_LAB_H
#define TESTS_UNIT_WIRE_LAB_H

#include "drivers/frame.h"
#include "drivers/port.h"
#include "drivers/wire.h"

#define LAB_ENDS 4

struct lab_flight {
	struct lab_flight *next;
	int from, to;
	uint64_t due;
	uint32_t bytes;
	unsigned char *data; /* exactly bytes long: a sanitizer sees each byte read beyond */
};

struct lab_net {
	double loss, dup, reorder, corrupt, busy; /* rates, 0 .. 1 */
	uint64_t delay_ns, jitter_ns;
	uint32_t path_bytes; /* longer frames vanish; 0: all pass */
	uint32_t frame_bytes_max;
	uint32_t keep_max; /* of ports that are opened from now on */
	bool gathers;      /* the same; the network must lose, repeat and reorder nothing then */
	/* Called for each frame that leaves; return 0 to make it vanish. */
	int (*filter)(struct lab_net *net, int from, int to, unsigned char *data, uint32_t bytes);
	void *filter_arg;

	uint64_t now;
	struct lab_flight *flights;
	int ports[LAB_ENDS];           /* open at each place */
	uint64_t kinds[8];             /* frames that left, by kind */
	uint64_t bursts, burst_frames; /* tx_send calls, frames in them */
	uint64_t tx_get_lent;          /* buffers out */
	uint64_t kept;                 /* frames whose buffer stayed with its sender */
	uint64_t gathered;
	uint64_t lost, dups, late, corrupted; /* what was done to frames */
};

/* An end: wires and a checking receiver. Messages are numbered per pair and say so. */
struct lab_end {
	struct lab_net *net;
	struct drv_wires *wires;
	uint32_t host;
	double refuse; /* rate at which a run is not taken now */
	int refuse_all;
	uint32_t sent[LAB_ENDS];
	uint32_t got[LAB_ENDS]; /* set to UINT32_MAX: go on from whatever comes first */
	uint32_t wrong;         /* runs out of order, repeated or damaged */
	/* Called for a good run, from within the poll; may send. */
	void (*on_run)(struct lab_end *end, uint32_t host, uint32_t number);
};

void lab_net_init(struct lab_net *net);
/* Drops what flies; all ports must be closed. */
void lab_net_fini(struct lab_net *net);
/* A port at place `place` (0 .. LAB_ENDS - 1); its address is "lab/<place>". */
struct drv_port *lab_port(struct lab_net *net, int place);

/* conf->self is the end's host and place. Aborts the test on failure. */
void lab_end_open(struct lab_end *end, struct lab_net *net, const struct drv_wire_conf *conf);
void lab_end_connect(struct lab_end *end, uint32_t host);
void lab_end_close(struct lab_end *end);
int lab_end_poll(struct lab_end *end);
/* Send message number end->sent[host] of `bytes` (>= 4 is needed to check it); 0 or -1: not now. */
int lab_end_send(struct lab_end *end, uint32_t host, uint32_t bytes);

/* A frame that the end at `from` never made arrives at `to` as if it had. */
void lab_inject(struct lab_net *net, int from, int to, unsigned char *data, uint32_t bytes);

/* Move time to the next thing that happens (a frame, a timer of these ends) and poll all. Returns 0
 * when nothing will ever happen. */
int lab_step(struct lab_net *net, struct lab_end **ends, unsigned count);
/* Steps until all are idle, no timer runs and nothing flies, or `most` steps; returns steps, or -1.
 */
int lab_settle(struct lab_net *net, struct lab_end **ends, unsigned count, int most);

#endif
