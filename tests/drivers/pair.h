/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ports that are to reach each other, each with its holder: two threads of one
 * process, two processes, or two processes in network namespaces of their own joined by a veth
 * pair. The namespaces have no names: they go when their processes go, however those end. Where a
 * namespace can be made, the loopback of the other places is one of the pair's own, too.
 *
 * Both sides run the same function. They talk past the ports over a control socket. What does not
 * hold ends the side's process with REQUIRE(); the other side sees the socket close.
 */
#ifndef TESTS_PORT_PAIR_H
#define TESTS_PORT_PAIR_H

#include <stddef.h>

#include "drivers/port.h"
#include "drivers/base/rng.h"
#include "tests/harness/t.h"

enum pair_place { PAIR_THREADS, PAIR_PROCESSES, PAIR_NETNS };

struct side;

struct pair {
	const char *spec[2]; /* in namespaces: interface va with 10.0.0.1, vb with 10.0.0.2 */
	enum pair_place place;
	unsigned mtu;                     /* of the veth pair */
	int lossless;                     /* nothing may be lost while its reader waits */
	void (*malformed)(struct side *); /* run by side 0: send what is no frame to side 1 */
	/* Frames that arrive as from peer -1; at least so many are dropped. */
	unsigned malformed_frames, malformed_drops;
};

struct side {
	const struct pair *pair;
	int index; /* 0 starts, 1 answers */
	struct drv_port *port;
	uint32_t bytes_max; /* of both ports */
	int peer;
	int control;
	char own[DRV_PORT_ADDRESS_BYTES], other[DRV_PORT_ADDRESS_BYTES];
	struct drv_rng rng; /* the same stream on both sides */
	unsigned lost;
	unsigned interrupted; /* system calls of the side that ended with EINTR: an open port causes
				 none */
};

/* NULL, or why this place cannot be made here. */
const char *pair_why_not(enum pair_place place);

/* Run fn on both sides; 0, or the exit status of the first side that failed. */
int pair_run(const struct pair *pair, void (*fn)(struct side *), unsigned seconds);

/* Open the side's port, swap addresses with the other; both sides must call it. */
void side_open(struct side *s);
void side_close(struct side *s);

/* Over the control socket: wait for each other; send and get a number. */
void side_sync(struct side *s);
void side_tell(struct side *s, uint64_t value);
uint64_t side_hear(struct side *s);

/* Take a buffer, waiting for one (5 s at most). */
struct drv_frame side_get(struct side *s);
/* Send a buffer to the peer, waiting until it is taken (5 s at most). */
void side_send(struct side *s, struct drv_frame *f);
/* Wait up to milliseconds for at least one frame; how many. */
int side_receive(struct side *s, struct drv_frame *f, unsigned n, unsigned milliseconds);

/* Contents of the frame with this key and length, and whether a frame has them. */
void pattern_fill(unsigned char *data, uint32_t bytes, uint32_t key);
int pattern_is(const unsigned char *data, uint32_t bytes, uint32_t key);

#endif
