/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of a wire; private to wire*.c and their tests. Sequences count modulo 2^32:
 *
 *        una              sent             next
 *   acked | in flight      | closed, waiting | open frame
 *
 * Runs of the frames [una, next] lie in one byte ring (no headers: those are made as a frame
 * leaves); slot[sequence & slot_mask] says where.
 */
#ifndef DRIVERS_WIRE_STATE_H
#define DRIVERS_WIRE_STATE_H

#include "drivers/wire.h"

#define WIRE_TIMER_OFF UINT64_MAX

#define WIRE_ACK_DELAY_NS   50000u
#define WIRE_RTO_FIRST_NS   5000000u
#define WIRE_RTO_MIN_NS     1000000u
#define WIRE_RTO_MAX_NS     200000000u
#define WIRE_HELLO_FIRST_NS 1000000u
#define WIRE_HELLO_MAX_NS   100000000u
#define WIRE_HELD_FIRST_NS  20000u
#define WIRE_HELD_MAX_NS    5000000u
#define WIRE_REORDER        3 /* a transmission is lost when one this much later has arrived */
#define WIRE_CWND_FIRST     32u
#ifndef WIRE_CWND_MIN /* the model has smaller windows */
#define WIRE_CWND_MIN 8u
#endif
#define WIRE_PROBE_TRIES    5
#define WIRE_PROBE_STEP     64u /* the search for the frame size stops at this precision */
#define WIRE_BURST_RUNS     16u /* as many between two polls are a burst; */
#define WIRE_BURSTS         2   /* after so many in a row the next is expected to be one too */
#define WIRE_BURST_BYTES    (60u << 10) /* full frames wait for more until this; a train of uring's is 63 */

enum wire_slot_state {
	WIRE_SACKED = 1, /* the peer has it, out of order */
	WIRE_LOST = 2,   /* to be sent again */
	WIRE_AGAIN = 4,  /* was sent again */
	WIRE_HAD = 8     /* was SACKED when it was sent again as a question */
};

struct wire_slot {
	uint32_t at;    /* in the byte ring */
	uint32_t bytes; /* of runs */
	uint32_t order; /* of the last transmission */
	uint32_t state;
};

struct wire_stored {
	unsigned char *frame; /* NULL: not here */
	uint32_t bytes;
};

struct wire {
	uint32_t host;
	int32_t peer;          /* of the port; -1: not named yet */
	uint32_t mine, theirs; /* epochs; theirs 0: none yet */
	uint8_t rx_ready;      /* rx_next is valid: theirs committed to us */
	uint8_t tx_ready;      /* theirs said that its rx_next is valid */
	uint8_t gone;          /* it said goodbye */
	uint8_t tx_sum;        /* data frames get a checksum */

	/* sending */
	uint32_t una, sent, next;
	uint64_t number;      /* of the last sealed frame */
	uint32_t order, seen; /* transmissions made; largest that the peer has seen */
	uint32_t sacked, lost, again; /* frames in flight in these states */
	uint32_t cwnd, ssthresh, grown, recover;
	uint32_t asked;       /* sequence after the last frame that asked for an acknowledgement */
	uint32_t unasked_bytes; /* sent since then */
	uint32_t frame_bytes; /* in use */
	uint32_t peer_window; /* frames that the peer stores */
	uint32_t slot_mask;
	struct wire_slot *slot;
	unsigned char *ring;
	uint32_t ring_bytes, ring_head; /* head: where the next frame goes */
	uint32_t used_bytes; /* of frames [una, next) */
	uint32_t waiting_bytes; /* of frames [sent, next) */
	unsigned char *open_start;
	uint8_t bursts; /* in a row */

	/* timers, absolute; 0: due at the next poll, WIRE_TIMER_OFF: not running */
	uint64_t rto_at, hello_at, probe_at, ack_at, held_at;
	uint8_t rto_fresh; /* armed outside a poll: the next poll sets it */
	uint8_t rtt_fresh;
	uint8_t urgent; /* one lost frame may go though the window is full */
	uint8_t rto_backoff;
	uint8_t ack_now;
	uint8_t held_delay; /* log2 */
	uint8_t hello_delay;
	uint64_t rto_ns, srtt_ns, rttvar_ns;
	uint64_t rtt_at;
	uint32_t rtt_sequence;
	uint8_t rtt_on;

	/* receiving */
	uint8_t owed;     /* an acknowledgement is owed */
	uint8_t tx_stuck; /* the port was busy: poll soon */
	uint32_t rx_next, rx_seen;
	uint32_t stored_count;
	struct wire_stored *stored; /* [slots], by sequence & slot_mask */
	unsigned char *held; /* room for the one frame that fn took only up to held_byte */
	uint32_t held_byte;
	uint8_t held_on;

	/* discovery of the frame size: good is frame_bytes */
	uint32_t probe_bytes, probe_bad; /* being tried (0: none); smallest that failed */
	uint8_t probe_tries;

	struct drv_wire_stat stat;
};

struct drv_wires {
	struct drv_wires_head head; /* first: the inline functions */
	struct drv_port *port;
	struct drv_wire_conf conf;
	struct wire *wire;          /* [hosts] */
	uint64_t *active;           /* bit per host: service it at each poll */
	uint32_t active_words;
	struct drv_seal *seal;      /* NULL: frames are not sealed */
	struct drv_seal_window *seen; /* [hosts], with seal */
	uint32_t frame_bytes_max;   /* own limit, multiple of 16; a seal's trailer comes on top */
	uint32_t frame_bytes_first; /* before discovery */
	uint32_t held;              /* wires with a held frame */
	uint64_t now;               /* of the last poll */
	int polling;
	int want_checksum;
	int noisy; /* corruption is expected: not worth a line */
	uint32_t logged; /* bit per fault: said once */
	int delivered;
	drv_wire_run_fn fn;
	void *arg;
};

static inline int32_t wire_diff(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

static inline void wire_activate(struct drv_wires *ws, struct wire *w)
{
	ws->active[w->host >> 6] |= 1ull << (w->host & 63);
}

static inline int wire_open_used(const struct drv_wires *ws, const struct wire *w)
{
	return ws->head.open[w->host].at != w->open_start;
}

static inline struct wire_slot *wire_slot(struct wire *w, uint32_t sequence)
{
	return &w->slot[sequence & w->slot_mask];
}

/* Frames thought to be on the way. */
static inline uint32_t wire_flying(const struct wire *w)
{
	return w->sent - w->una - w->sacked - w->lost;
}

static inline int wire_connected(const struct wire *w)
{
	return w->rx_ready && w->tx_ready;
}

/* wire_tx.c: frames out */
unsigned char *wire_tx_open(struct drv_wires *ws, struct wire *w);
void wire_tx_close(struct drv_wires *ws, struct wire *w);
void wire_tx_push(struct drv_wires *ws, struct wire *w);
int wire_tx_control(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *want,
                    const struct drv_frame_note *note);
void wire_tx_requeue(struct drv_wires *ws, struct wire *w);

/* wire_ack.c: what an acknowledgement tells the sender; time-outs */
int wire_ack_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h);
void wire_ack_timeout(struct drv_wires *ws, struct wire *w);

/* wire_rx.c: frames in */
void wire_rx_frame(struct drv_wires *ws, const struct drv_frame *f);
void wire_rx_held(struct drv_wires *ws, struct wire *w);
void wire_rx_forget(struct wire *w);

/* wire_hello.c: handshake, goodbye, frame size */
void wire_hello_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h);
void wire_hello_timer(struct drv_wires *ws, struct wire *w);
void wire_bye_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h);
void wire_probe_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h);
void wire_probe_timer(struct drv_wires *ws, struct wire *w);

#endif
