/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wire: lossless, in order, exactly once, between two port holders, over a port that promises
 * nothing. One drv_wires object per holder: one port, a wire to each other host.
 *
 * What travels are runs: a short header (kind, tag, bytes) and bytes of payload, at most
 * drv_wires_run_max() together in one frame, so a run is never split. Many runs share a frame.
 *
 *   idle wire      a run leaves before drv_wire_flush() returns
 *   burst unacked  runs join the open frame, which leaves when full, at the next drv_wires_poll(),
 *                  or at drv_wire_flush() when nothing is in flight
 *   window full    drv_wire_reserve() returns NULL: keep the run, poll, retry
 *
 * Acknowledgements ride on data; a bare one goes when half a window is unacknowledged, or a poll
 * finds one owed for a while (delayed), or at once on a gap (with the selective bitmap).
 * Frames have magic, version, job and room for authentication; what does not fit the job or is
 * malformed is counted and dropped. A wire never declares its peer dead (agents do that).
 *
 * One thread at a time per drv_wires. Time is given by the caller (nanoseconds, any origin).
 */
#ifndef DRIVERS_WIRE_H
#define DRIVERS_WIRE_H

#include <stdint.h>

#include "drivers/port.h"

struct drv_wires;

struct drv_wire_conf {
	uint64_t job;          /* both ends must agree; others are dropped */
	uint32_t self;         /* own host index, 0 .. hosts - 1 */
	uint32_t hosts;        /* wires 0 .. hosts - 1; [self] is unused */
	uint32_t window_bytes; /* unacknowledged bytes per wire; 0: default */
	uint32_t frame_bytes;  /* 0: what the port offers, discovered between the ends */
};

struct drv_wire_stat {
	uint64_t tx_frames, tx_runs, tx_bytes, rx_frames, rx_runs, rx_bytes;
	uint64_t resent, acks, duplicates, out_of_order, bad_frames, wrong_job;
	uint32_t frame_bytes; /* frame size in use to this peer */
	uint64_t rtt_ns;      /* smoothed */
};

/*
 * A received run. payload is valid during the call only. Return 0 when taken; -EAGAIN when there
 * is no room now: the wire keeps the frame and offers the run again at the next poll, the sender
 * is held back by its window, later runs wait (order).
 */
typedef int (*drv_wire_run_fn)(void *arg, uint32_t host, uint32_t kind, uint32_t tag,
                               const unsigned char *payload, uint32_t bytes);

/* Takes over the port (closed by drv_wires_close). */
int drv_wires_open(struct drv_wires **wires, struct drv_port *port, const struct drv_wire_conf *conf);
void drv_wires_close(struct drv_wires *wires);

/* Name the peer's port address; starts the handshake and the discovery of the frame size. */
int drv_wires_connect(struct drv_wires *wires, uint32_t host, const char *address);

/* Largest payload of one run that fits a frame to this host now (it may grow after connecting). */
uint32_t drv_wires_run_max(const struct drv_wires *wires, uint32_t host);

/*
 * Room for a run of up to `bytes` payload bytes (<= run_max) in the open frame, 16-byte aligned
 * (payload start); NULL: window full or port busy, poll and retry. Nothing else may be done on
 * this wire between reserve and commit. commit may give fewer bytes than were reserved.
 */
unsigned char *drv_wire_reserve(struct drv_wires *wires, uint32_t host, uint32_t bytes);
void drv_wire_commit(struct drv_wires *wires, uint32_t host, uint32_t kind, uint32_t tag, uint32_t bytes);

/* Let the open frame leave if nothing is in flight to this host, or if `now` is set. */
void drv_wire_flush(struct drv_wires *wires, uint32_t host, int now);

/*
 * Receive (fn is called for each run), acknowledge, resend what is due, send open frames.
 * Returns the number of runs delivered, or a negative errno when the port is broken.
 */
int drv_wires_poll(struct drv_wires *wires, uint64_t now_ns, drv_wire_run_fn fn, void *arg);

/* When the next timer is due (absolute, same clock as poll), or UINT64_MAX: nothing in flight. */
uint64_t drv_wires_deadline(const struct drv_wires *wires);

/* True when everything handed in for all hosts has been acknowledged. */
int drv_wires_idle(const struct drv_wires *wires);

void drv_wires_stat(const struct drv_wires *wires, uint32_t host, struct drv_wire_stat *stat);
struct drv_port *drv_wires_port(struct drv_wires *wires);

#endif
