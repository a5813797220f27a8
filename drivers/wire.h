/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wire: lossless, in order, exactly once, between two port holders, over a port that promises
 * nothing. One drv_wires object per holder: one port, a wire to each other host.
 *
 * What travels are runs: a short header (kind, tag, bytes) and bytes of payload, at most
 * drv_wires_run_max() together in one frame, so a run is never split. Many runs share a frame.
 *
 *   idle wire      a run leaves before drv_wire_flush() returns; called from within fn, or where the
 *                  program has come to send many between two polls: at the end of the next poll
 *   burst unacked  runs join the open frame, which leaves when full, at the next drv_wires_poll(),
 *                  or at drv_wire_flush() when nothing is in flight
 *   window full    drv_wire_reserve() returns NULL: keep the run, poll, retry
 *
 * Acknowledgements ride on data; a bare one goes when the sender asks (each quarter of its
 * window), or a poll finds one owed for 50 us, or at once on a gap (with the selective bitmap).
 * Frames (drivers/frame.h) have magic, version, job and, on request, a seal (drivers/seal.h); what does
 * not fit the job, is malformed, forged or sent again by others is counted and dropped (counters of frames that cannot be given to a
 * host are in host [self]). A wire never declares its peer dead (agents do that). A peer that
 * comes back as a new process gets everything that its old self had not acknowledged.
 *
 * One thread at a time per drv_wires. Time is given by the caller (nanoseconds, any origin).
 */
#ifndef DRIVERS_WIRE_H
#define DRIVERS_WIRE_H

#include <stdint.h>

#include "drivers/frame.h"
#include "drivers/port.h"
#include "drivers/seal.h"

struct drv_wires;

#define DRV_WIRE_WINDOW_BYTES  (1u << 20)
#define DRV_WIRE_WINDOW_FRAMES 256u
/* Frames of this size pass every path; longer ones are tried before they are used. */
#define DRV_WIRE_FRAME_BYTES_MIN 1200u

/*
 * CRC-32C over each frame, about 0.05 ns a byte at either end. One end that wants it makes both
 * use it. AUTO: on over the fault port, off elsewhere (Ethernet and shared memory have their own).
 */
enum drv_wire_checksum { DRV_WIRE_CHECKSUM_AUTO, DRV_WIRE_CHECKSUM_ON, DRV_WIRE_CHECKSUM_OFF };

struct drv_wire_conf {
	uint64_t job;          /* both ends must agree; others are dropped */
	uint32_t self;         /* own host index, 0 .. hosts - 1 */
	uint32_t hosts;        /* wires 0 .. hosts - 1; [self] is unused */
	uint32_t window_bytes; /* unacknowledged bytes per wire; 0: DRV_WIRE_WINDOW_BYTES */
	uint32_t frame_bytes;  /* 0: what the port offers, discovered between the ends */
	uint32_t window_frames; /* the same in frames, up to 4096; 0: DRV_WIRE_WINDOW_FRAMES */
	enum drv_wire_checksum checksum; /* not used where frames are sealed: the tag says more */
	enum drv_seal_kind seal;         /* both ends must agree to seal, be it encrypted or not */
	unsigned char key[DRV_SEAL_KEY_BYTES]; /* of the job, with seal */
	/* For tests that must repeat: epoch of this end (0: from the clock), first sequence. */
	uint32_t epoch, first_sequence;
};

struct drv_wire_stat {
	uint64_t tx_frames, tx_runs, tx_bytes, rx_frames, rx_runs, rx_bytes;
	uint64_t resent, acks, duplicates, out_of_order, bad_frames, wrong_job;
	uint32_t frame_bytes; /* frame size in use to this peer */
	uint64_t rtt_ns;      /* smoothed */
	uint64_t acks_bare;   /* frames sent for an acknowledgement alone (acks: received) */
	uint64_t stale;       /* frames of an earlier life of either end, dropped */
	uint64_t restarts;    /* times the peer came back as a new process */
	uint64_t replays;     /* sealed frames that had been seen, dropped */
	uint32_t window;      /* frames that may be in flight now */
	uint32_t connected;   /* both directions agreed */
};

/*
 * A received run. payload is valid during the call only. Return 0 when taken; -EAGAIN when there
 * is no room now: the wire keeps the frame and offers the run again at the next poll, the sender
 * is held back by its window, later runs wait (order).
 */
typedef int (*drv_wire_run_fn)(void *arg, uint32_t host, uint32_t kind, uint32_t tag,
                               const unsigned char *payload, uint32_t bytes);

/*
 * Takes over the port (closed by drv_wires_close, not by a failed open). -ENOMEM; -EINVAL, logged:
 * self or hosts out of range, port's or conf's frames too small; what drv_seal_open() says. conf is copied.
 */
int drv_wires_open(struct drv_wires **wires, struct drv_port *port, const struct drv_wire_conf *conf);
/*
 * Acknowledges what was delivered and says goodbye to each peer (which then stops resending to us,
 * and is idle), but waits for nothing: poll until drv_wires_idle() first. NULL is fine.
 */
void drv_wires_close(struct drv_wires *wires);

/*
 * Name the peer's port address; starts the handshake and the discovery of the frame size. The peer
 * may start later. Until both ends have named each other, runs wait in the window.
 * -EINVAL no such host; else what drv_port_peer() says.
 */
int drv_wires_connect(struct drv_wires *wires, uint32_t host, const char *address);

/* Largest payload of one run that fits a frame to this host now (it may grow after connecting). */
uint32_t drv_wires_run_max(const struct drv_wires *wires, uint32_t host);

/* The open frame to one host: what the two inline functions below need. Private else. */
struct drv_wire_open {
	unsigned char *at;  /* next run header; NULL: no frame is open */
	unsigned char *end; /* of the open frame */
	unsigned char *last; /* header of its newest run; NULL: none yet */
	uint64_t runs;      /* ever committed */
	uint32_t since_poll; /* runs and additions committed since the last poll */
};

struct drv_wires_head {
	struct drv_wire_open *open; /* [hosts] */
};

unsigned char *drv_wire_reserve_frame(struct drv_wires *wires, uint32_t host, uint32_t bytes);

/*
 * Room for a run of up to `bytes` payload bytes (<= run_max) in the open frame, 16-byte aligned
 * (payload start); NULL: window full or port busy, poll and retry. Nothing else may be done on
 * this wire between reserve and commit; a reserve that is not committed is forgotten. May be
 * called, like commit and flush, from within fn. Cost: a compare, except once a frame.
 */
static inline unsigned char *drv_wire_reserve(struct drv_wires *wires, uint32_t host, uint32_t bytes)
{
	struct drv_wire_open *o = &((struct drv_wires_head *)wires)->open[host];

	if (__builtin_expect((uint64_t)bytes + DRV_FRAME_RUN <= (uint64_t)(o->end - o->at), 1))
		return o->at + DRV_FRAME_RUN;
	return drv_wire_reserve_frame(wires, host, bytes);
}

/* The reserved run is complete: kind 0 .. 65535, tag any, bytes up to what was reserved. */
static inline void drv_wire_commit(struct drv_wires *wires, uint32_t host, uint32_t kind, uint32_t tag,
                                   uint32_t bytes)
{
	struct drv_wire_open *o = &((struct drv_wires_head *)wires)->open[host];
	struct drv_frame_run *run = (struct drv_frame_run *)(void *)o->at;

	*run = (struct drv_frame_run){ .bytes = bytes, .kind = (uint16_t)kind, .tag = tag };
	o->last = o->at;
	o->at += DRV_FRAME_RUN + drv_frame_round(bytes);
	o->runs++;
	o->since_poll++;
}

/*
 * More for the run committed last, whose reserve returned `payload`: room for `more` bytes right behind
 * its payload, or NULL: its frame has left, other runs came after it, or the frame is full. The same rules
 * and cost as for a reserve; drv_wire_more_commit() makes the run longer.
 */
static inline unsigned char *drv_wire_more(struct drv_wires *wires, uint32_t host, unsigned char *payload,
                                           uint32_t more)
{
	struct drv_wire_open *o = &((struct drv_wires_head *)wires)->open[host];
	uint32_t bytes;

	if (!payload || o->last != payload - DRV_FRAME_RUN)
		return NULL;
	bytes = ((struct drv_frame_run *)(void *)o->last)->bytes;
	return (uint64_t)bytes + more <= (uint64_t)(o->end - payload) ? payload + bytes : NULL;
}

static inline void drv_wire_more_commit(struct drv_wires *wires, uint32_t host, uint32_t more)
{
	struct drv_wire_open *o = &((struct drv_wires_head *)wires)->open[host];
	struct drv_frame_run *run = (struct drv_frame_run *)(void *)o->last;

	run->bytes += more;
	o->at = o->last + DRV_FRAME_RUN + drv_frame_round(run->bytes);
	o->since_poll++;
}

/*
 * Let the open frame leave if nothing is in flight to this host, or if `now` is set (it then still
 * waits for the window and the port; polls see to it). Without `now` it is left to the end of the
 * poll that runs, and to the next one where the last two polls each found WIRE_BURST_RUNS handed in.
 */
void drv_wire_flush(struct drv_wires *wires, uint32_t host, int now);

/*
 * Receive (fn is called for each run), acknowledge, resend what is due, send open frames. Never
 * called from within fn. Returns the number of runs delivered, at least 1 where the port may hold more
 * frames (poll again before you sleep), or a negative errno when it is broken. now_ns must not go back.
 */
int drv_wires_poll(struct drv_wires *wires, uint64_t now_ns, drv_wire_run_fn fn, void *arg);

/*
 * When to poll next if nothing arrives (absolute, same clock as poll; in the past: at once), or
 * UINT64_MAX: no timer runs.
 */
uint64_t drv_wires_deadline(const struct drv_wires *wires);

/* No poll comes soon, as the caller is about to sleep: the next flush on an idle wire does not wait for one. */
void drv_wires_rest(struct drv_wires *wires);

/*
 * A host is dead: what it has not acknowledged is nobody's business any more, nothing is sent to it
 * and nobody waits for it. Should it come back as a new process, the wire begins afresh.
 */
void drv_wires_drop(struct drv_wires *wires, uint32_t host);

/* True when everything handed in for all hosts has been acknowledged or its receiver has closed. */
int drv_wires_idle(const struct drv_wires *wires);

void drv_wires_stat(const struct drv_wires *wires, uint32_t host, struct drv_wire_stat *stat);
struct drv_port *drv_wires_port(struct drv_wires *wires);

#endif
