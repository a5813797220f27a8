/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a wire. Private to wire*.c and their tests. Sequences count modulo 2^32:
 *
 *        una              sent             next
 *   acked | in flight      | closed, waiting | open frame
 *
 * slot[sequence & slot_mask] says where the runs of each of the frames [una, next] lie:
 *
 *   in a byte ring   without a header. A transmission takes a buffer of the port, makes a header in
 *                    it and copies the runs behind that.
 *   in a buffer      of the port (drv_port.keep_max), behind the place of the header. The first
 *                    transmission leaves from there, and the buffer is kept until the frame is
 *                    acknowledged. Later transmissions copy the runs, as those from the ring do,
 *                    since the device may still read the buffer.
 *   nowhere          The frame was gathered by a port that loses none. It is never sent again.
 *
 * The open frame is in a buffer if it is expected to become long and the port lends one, otherwise
 * in the ring: copying one short run takes less time than keeping a buffer for it.
 */
#ifndef DRIVERS_WIRE_STATE_H
#define DRIVERS_WIRE_STATE_H

#include <stdbool.h>

#include "drivers/wire.h"

#define WIRE_TIMER_OFF UINT64_MAX

#define WIRE_ACK_DELAY_NS   50000u
#define WIRE_RTO_FIRST_NS   5000000u
#define WIRE_RTO_MIN_NS     1000000u
#define WIRE_RTO_MAX_NS     200000000u
#define WIRE_HELLO_FIRST_NS 1000000u
#define WIRE_HELLO_MAX_NS   100000000u
#define WIRE_DEFER_FIRST_NS 20000u
#define WIRE_DEFER_MAX_NS   5000000u
#define WIRE_REORDER        3 /* a transmission counts as lost if one so much newer has arrived */
#define WIRE_CWND_FIRST     32u
#ifndef WIRE_CWND_MIN /* the model checker uses smaller windows */
#define WIRE_CWND_MIN 8u
#endif
#define WIRE_PROBE_TRIES 5
/* The handshake restarts after this time without progress while frames come from the peer. */
#define WIRE_STUCK_NS     5000000000u
#define WIRE_STUCK_STEP   (WIRE_STUCK_NS / 5) /* between two queries of a wire that is stuck */
#define WIRE_WINDOW_MAX   4096u               /* frames; the largest window of either end */
#define WIRE_RESTARTS_MAX 4 /* restarts in a row without progress before the wire is broken */
/* Interval between the queries of a wire that became idle, and their number. */
#define WIRE_CONFIRM_NS    1000000000u
#define WIRE_CONFIRM_TRIES 3
#define WIRE_BYE_QUERIES   6    /* queries after a goodbye, which may be forged */
#define WIRE_PROBE_STEP    64u  /* the search for the frame size stops at this precision */
#define WIRE_KEEP_BYTES    256u /* a frame that begins with such a run is kept in its buffer */
#define WIRE_BURST_RUNS    16u  /* this many runs between two polls are a burst */
#define WIRE_BURSTS        2    /* after this many bursts in a row another one is expected */
/* Full frames wait for more up to this size; port uring sends 63 KB at once. */
#define WIRE_BURST_BYTES (60u << 10)

/* With several queues the seal's number of a host has four bits of the queue. */
#define WIRE_QUEUED_HOSTS 4096u

enum wire_slot_state {
	WIRE_SACKED = 1, /* the peer has received it, out of order */
	WIRE_LOST = 2,   /* it must be sent again */
	WIRE_AGAIN = 4,  /* it was sent again */
	WIRE_HAD = 8     /* it was SACKED when it was sent again as a query */
};

/* WIRE_NOWHERE: of a gathered frame nothing is kept, since the port does not lose it. */
enum wire_slot_place { WIRE_IN_RING, WIRE_IN_BUFFER, WIRE_IN_SENT_BUFFER, WIRE_NOWHERE };

static inline bool wire_has_buffer(uint32_t place)
{
	return place == WIRE_IN_BUFFER || place == WIRE_IN_SENT_BUFFER;
}

struct wire_slot {
	uint32_t at;    /* position in the byte ring */
	uint32_t bytes; /* bytes of runs */
	uint32_t order; /* order of the last transmission */
	uint32_t state;
	uint32_t place; /* enum wire_slot_place */
};

struct wire_stored {
	unsigned char *frame; /* NULL: not received */
	uint32_t bytes;
};

struct wire {
	uint32_t host;
	int32_t peer;                   /* index in the port; -1: no address yet */
	uint32_t own_epoch, peer_epoch; /* peer_epoch 0: not known */
	uint8_t rx_ready;               /* rx_next is valid: the peer has committed to own_epoch */
	uint8_t tx_ready;               /* the peer has said that its rx_next is valid */
	uint8_t peer_closed; /* the peer said goodbye, or drv_wires_drop_host() was called */
	bool is_dropped;     /* drv_wires_drop_host() was called */
	uint8_t tx_cover;    /* enum drv_frame_cover of data frames to the peer */

	/*
	 * State that limits the damage of one forged frame. rx_life: the process whose frames
	 * rx_next counts. rx_has_data: frames of it were accepted. previous: the same of the
	 * process before it, if frames of that one were accepted.
	 */
	uint64_t rx_life;
	struct {
		uint64_t life;
		uint32_t next;
	} previous;
	uint8_t rx_has_data;
	uint8_t bye_queries; /* queries left to find out whether a goodbye is true */
	uint8_t peer_sent;   /* a frame has come from this host while una was stuck */
	uint8_t restarts;    /* restarts of the handshake in a row without progress */
	uint32_t nonce;      /* nonce of the last query of this end; 0: none */
	uint32_t peer_nonce; /* nonce of the last query of the peer */
	uint32_t stuck_una;
	uint64_t query_at; /* time of the next query of a stuck wire */
	/*
	 * Everything has been acknowledged. An acknowledgement may be forged, so at confirm_at the
	 * wire asks the peer whether it has received all frames before confirm_una.
	 */
	uint64_t confirm_at; /* WIRE_TIMER_OFF: no query is due */
	uint32_t confirm_una;
	uint8_t confirm_tries; /* queries left */
	bool confirm_asked;    /* `nonce` belongs to this query */
	uint64_t stuck_at;     /* time of the last check of una against stuck_una; 0: none */
	uint64_t stuck_ns; /* una has equalled stuck_una for so long; a pause counts as one step */

	/* sending */
	uint32_t una, sent, next;
	uint32_t ever_sent;           /* largest `sent` before the last handshake */
	uint64_t number;              /* number of the last sealed frame */
	uint32_t order, seen;         /* transmissions made; largest one that the peer has seen */
	uint32_t sacked, lost, again; /* frames in flight in these states */
	uint32_t cwnd, ssthresh, grown, recover;
	uint32_t asked; /* sequence behind the last frame that asked for an acknowledgement */
	uint32_t unasked_bytes; /* bytes sent since that frame */
	uint32_t frame_bytes;   /* frame size in use */
	uint32_t peer_window;   /* frames that the peer stores */
	uint32_t slot_mask;
	struct wire_slot *slot;
	unsigned char *ring;
	uint32_t ring_bytes, ring_head; /* head: position of the next frame */
	uint32_t used_bytes;            /* of frames [una, next) */
	uint32_t waiting_bytes;         /* of frames [sent, next) */
	struct drv_frame *kept;         /* [slots] buffers of frames that are not in the ring */
	struct drv_frame open_frame;    /* buffer of the open frame, if it is in one */
	bool is_open_in_buffer;
	unsigned char *open_start;
	uint8_t bursts; /* bursts in a row */

	/* Timers: absolute times; 0: due at the next poll; WIRE_TIMER_OFF: not running. */
	uint64_t rto_at, hello_at, probe_at, ack_at, deferred_at;
	uint8_t rto_fresh; /* started outside a poll; the next poll sets the time */
	uint8_t rtt_fresh;
	uint8_t may_exceed_window; /* one lost frame may leave although the window is full */
	uint8_t rto_backoff;
	uint8_t ack_now;
	uint8_t deferred_delay; /* log2 */
	uint8_t hello_delay;
	uint64_t rto_ns, srtt_ns, rttvar_ns;
	uint64_t rtt_at;
	uint32_t rtt_sequence;
	uint8_t rtt_on;

	/* receiving */
	uint8_t ack_owed; /* an acknowledgement is owed */
	uint8_t tx_busy;  /* the port was busy, so a poll is due soon */
	uint32_t rx_next, rx_seen;
	uint32_t stored_count;
	struct wire_stored *stored; /* [slots], by sequence & slot_mask */
	unsigned char *deferred;    /* room for one frame, of which fn accepted the runs up to
				     * deferred_byte */
	uint32_t deferred_byte;
	uint32_t deferred_bytes; /* of the whole frame */
	uint8_t has_deferred;

	/* Search for the frame size. frame_bytes is the largest one that passed. */
	/* Size of the probe (0: none); smallest size that failed. */
	uint32_t probe_bytes, probe_bad;
	uint8_t probe_tries;

	struct drv_wire_stat stat;
};

struct drv_wires {
	struct drv_wires_head head; /* first member, for the inline functions */
	struct drv_port *port;
	struct drv_wire_conf conf;
	struct wire *wire; /* [hosts] */
	uint64_t *active;  /* a bit for each host that every poll must service */
	uint32_t active_words;
	struct drv_seal *seal;        /* NULL: frames are not sealed */
	struct drv_seal_window *seen; /* [hosts], with seal */
	uint32_t frame_bytes_max; /* limit of this end, a multiple of 16; a trailer comes on top */
	uint32_t frame_bytes_first; /* frame size before the search */
	uint32_t deferred_wires;    /* wires with a deferred frame */
	uint32_t kept, keep_max;    /* buffers of the port that the wires keep; most of them */
	bool gathers;               /* drv_wire_send_gathered() may be used */
	uint64_t now;               /* time of the last poll */
	int polling;
	struct drv_frame *burst; /* frames of the poll that is running, and their number */
	int burst_frames;
	enum drv_frame_cover want_cover;
	bool confirm_acks;      /* acknowledgements may be forged: query the peer of an idle wire */
	uint64_t life;          /* life of this process; see struct drv_frame_note */
	uint64_t secret;        /* random, so that other processes cannot guess it */
	int error;              /* a wire is broken; each further poll returns this */
	int expects_corruption; /* corruption is expected, so it is not logged */
	uint32_t logged;        /* a bit for each drv_frame_error that has been logged */
	int delivered;
	drv_wire_run_fn fn;
	void *arg;
};

/* The name of the receiving end in the nonce of a sealed frame. */
static inline uint32_t wire_sealed_name(const struct drv_wires *ws, uint32_t host)
{
	return host | ws->conf.queue * WIRE_QUEUED_HOSTS;
}

static inline int32_t wire_diff(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

static inline void wire_activate(struct drv_wires *ws, struct wire *w)
{
	ws->active[w->host >> 6] |= 1ull << (w->host & 63);
}

static inline int wire_open_has_runs(const struct drv_wires *ws, const struct wire *w)
{
	return ws->head.open[w->host].at != w->open_start;
}

static inline struct wire_slot *wire_slot(struct wire *w, uint32_t sequence)
{
	return &w->slot[sequence & w->slot_mask];
}

/* Return the number of frames presumed to be in flight. */
static inline uint32_t wire_in_flight(const struct wire *w)
{
	return w->sent - w->una - w->sacked - w->lost;
}

static inline int wire_is_connected(const struct wire *w)
{
	return w->rx_ready && w->tx_ready;
}

/* wire_tx.c: sends frames. */
unsigned char *wire_tx_open(struct drv_wires *ws, struct wire *w, uint32_t bytes);
void wire_tx_close(struct drv_wires *ws, struct wire *w);
void wire_tx_push(struct drv_wires *ws, struct wire *w);
int wire_tx_control(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *want,
		    const struct drv_frame_note *note);
void wire_tx_requeue(struct drv_wires *ws, struct wire *w);
void wire_tx_return_buffer(struct drv_wires *ws, struct drv_frame *f);
void wire_tx_return_buffers(struct drv_wires *ws, struct wire *w);

/* wire_ack.c: takes in acknowledgements; retransmission timer. */
int wire_ack_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h);
void wire_ack_timer(struct drv_wires *ws, struct wire *w);

/* wire_rx.c: receives frames. */
void wire_rx_frame(struct drv_wires *ws, const struct drv_frame *f);
void wire_rx_offer_deferred(struct drv_wires *ws, struct wire *w);
void wire_rx_discard_stored(struct wire *w);

/* wire_hello.c: handshake, goodbye, search for the frame size. */
void wire_hello_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h);
void wire_hello_timer(struct drv_wires *ws, struct wire *w);
void wire_bye_timer(struct drv_wires *ws, struct wire *w);
void wire_query_bye_again(struct drv_wires *ws, struct wire *w);
void wire_confirm_timer(struct drv_wires *ws, struct wire *w);
void wire_check_stuck(struct drv_wires *ws, struct wire *w);
void wire_bye_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h);
void wire_probe_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h);
void wire_probe_timer(struct drv_wires *ws, struct wire *w);

#endif
