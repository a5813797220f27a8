/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wire: lossless, in order, exactly once, between two port holders, over a port that promises
 * nothing. Each holder has one drv_wires object: one port, and a wire to each other host.
 *
 * A wire carries runs: a short header (kind, tag, bytes) and a payload, together at most
 * drv_wires_run_max() bytes. A run is never split; many runs share a frame. When a frame leaves:
 *
 *   The wire is idle: before drv_wire_flush() returns. If fn calls drv_wire_flush(), or if the
 *     program has sent in bursts between its last polls: at the end of the poll.
 *   Frames are in flight: runs join the open frame. It leaves when it is full, at the next
 *     drv_wires_poll(), or at drv_wire_flush() once nothing is in flight.
 *   The window is full: drv_wire_reserve() returns NULL. Keep the run, poll and try again.
 *
 * Acknowledgements travel with data. A bare one leaves when the sender asks for it (each quarter of
 * its window), when one has been owed for 50 us, or at once after a gap (with the selective
 * bitmap). Frames (drivers/frame.h) contain magic, version, job and, if wanted, a seal
 * (drivers/seal.h). Frames of another job, malformed, forged or replayed ones are counted and
 * dropped; the counters of host [self] contain those that cannot be attributed to a host. A wire
 * never declares its peer dead (agents do that). If a peer returns as a new process, it receives
 * everything that the former process had not acknowledged.
 *
 * One thread at a time per drv_wires. The caller passes the time (nanoseconds, any origin).
 */
#ifndef DRIVERS_WIRE_H
#define DRIVERS_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/frame.h"
#include "drivers/port.h"
#include "drivers/seal.h"

struct drv_wires;

#define DRV_WIRE_WINDOW_BYTES  (1u << 20)
#define DRV_WIRE_WINDOW_FRAMES 256u
/* Every path carries frames of this size. Longer ones are probed before they are used. */
#define DRV_WIRE_FRAME_BYTES_MIN 1200u

/*
 * CRC-32C of frames.
 *   ON      over each frame, about 0.05 ns a byte at either end; one end that wants it makes both
 *           ends use it
 *   HEADER  over the header alone, some 10 ns at either end; configure it at both ends
 *   AUTO    ON over the fault port, OFF over memory (loop, shm, dpdk:net_memif), HEADER over all
 *           others
 */
enum drv_wire_checksum {
	DRV_WIRE_CHECKSUM_AUTO,
	DRV_WIRE_CHECKSUM_ON,
	DRV_WIRE_CHECKSUM_OFF,
	DRV_WIRE_CHECKSUM_HEADER
};

struct drv_wire_conf {
	uint64_t job;   /* the same at both ends; frames of other jobs are dropped */
	uint32_t self;  /* own host index, 0 .. hosts - 1 */
	uint32_t hosts; /* wires 0 .. hosts - 1; [self] is unused */
	/*
	 * Queue of the port, the same at both ends, 0 .. 15. Wires of different queues drop each
	 * other's frames, and no two of their sealed frames have one nonce.
	 */
	uint32_t queue;
	uint32_t window_bytes;  /* unacknowledged bytes per wire; 0: DRV_WIRE_WINDOW_BYTES */
	uint32_t frame_bytes;   /* 0: what the port offers, discovered between the ends */
	uint32_t window_frames; /* the same in frames, up to 4096; 0: DRV_WIRE_WINDOW_FRAMES */
	enum drv_wire_checksum checksum; /* not used with seal, whose tag checks more */
	enum drv_seal_kind seal;         /* both ends must agree to seal, be it encrypted or not */
	unsigned char key[DRV_SEAL_KEY_BYTES]; /* the key of the job, with seal */
	/*
	 * For tests that must be repeatable: epoch of this end (0: from the clock), first sequence.
	 */
	uint32_t epoch, first_sequence;
};

struct drv_wire_stat {
	uint64_t tx_frames, tx_runs, tx_bytes, rx_frames, rx_runs, rx_bytes;
	uint64_t resent, acks, duplicates, out_of_order, bad_frames, wrong_job;
	uint32_t frame_bytes; /* frame size in use to this peer */
	uint64_t rtt_ns;      /* smoothed */
	uint64_t acks_bare;   /* frames sent only to acknowledge (acks: received ones) */
	uint64_t stale;       /* frames of an earlier life of either end, dropped */
	uint64_t restarts;    /* times that the peer returned as a new process */
	uint64_t replays;     /* sealed frames that had been received before, dropped */
	uint32_t window;      /* frames that may be in flight now */
	uint32_t connected;   /* both directions agreed */
};

/*
 * Receives a run. The payload is valid during the call only. Return 0 to accept the run. Return
 * -EAGAIN if there is no room now: the wire then keeps the frame and offers the run again at the
 * next poll, later runs wait behind it, and the window stops the sender.
 */
typedef int (*drv_wire_run_fn)(void *arg, uint32_t host, uint32_t kind, uint32_t tag,
			       const unsigned char *payload, uint32_t bytes);

/*
 * Open wires over `port`. On success the wires own the port and drv_wires_close() closes it; a
 * failed call leaves it open. -ENOMEM; -EINVAL, logged: self or hosts out of range, frames of the
 * port or of conf too small; the errors of drv_seal_open(). conf is copied.
 */
int drv_wires_open(struct drv_wires **wires, struct drv_port *port,
		   const struct drv_wire_conf *conf);
/*
 * Acknowledge what was delivered, say goodbye to each peer (which then stops resending) and free
 * everything. The call waits for nothing, so poll until drv_wires_are_idle() first. NULL is
 * allowed.
 */
void drv_wires_close(struct drv_wires *wires);

/*
 * Set the port address of a host. This starts the handshake and the search for the frame size. The
 * peer may start later; until both ends have set the other's address, runs wait in the window.
 * -EINVAL: no such host; the errors of drv_port_peer().
 */
int drv_wires_connect(struct drv_wires *wires, uint32_t host, const char *address);

/* Return the largest payload of one run to this host now. It may grow after connecting. */
uint32_t drv_wires_run_max(const struct drv_wires *wires, uint32_t host);

/* The open frame to one host, for the inline functions below. Private otherwise. */
struct drv_wire_open {
	unsigned char *at;   /* where the next run header goes; NULL: no frame is open */
	unsigned char *end;  /* end of the open frame */
	unsigned char *last; /* header of the newest run in it; NULL: none yet */
	uint64_t runs;       /* runs committed since the start */
	uint32_t since_poll; /* runs and additions committed since the last poll */
};

struct drv_wires_head {
	struct drv_wire_open *open; /* [hosts] */
};

unsigned char *drv_wire_reserve_frame(struct drv_wires *wires, uint32_t host, uint32_t bytes);

/*
 * Reserve room in the open frame for a run of up to `bytes` payload bytes (<= run_max). Returns the
 * start of the payload, aligned to 16 bytes, or NULL if the window is full or the port is busy;
 * then poll and try again. Do nothing else on this wire between reserve and commit. A reservation
 * that is not committed is forgotten. fn may call this function, commit and flush. Cost: a
 * comparison, and a little more once a frame.
 */
static inline unsigned char *drv_wire_reserve(struct drv_wires *wires, uint32_t host,
					      uint32_t bytes)
{
	struct drv_wire_open *o = &((struct drv_wires_head *)wires)->open[host];

	if (__builtin_expect((uint64_t)bytes + DRV_FRAME_RUN <= (uint64_t)(o->end - o->at), 1))
		return o->at + DRV_FRAME_RUN;
	return drv_wire_reserve_frame(wires, host, bytes);
}

/* Complete the reserved run. kind: 0 .. 65535; tag: any; bytes: at most what was reserved. */
static inline void drv_wire_commit(struct drv_wires *wires, uint32_t host, uint32_t kind,
				   uint32_t tag, uint32_t bytes)
{
	struct drv_wire_open *o = &((struct drv_wires_head *)wires)->open[host];
	struct drv_frame_run *run = (struct drv_frame_run *)(void *)o->at;

	*run = (struct drv_frame_run){.bytes = bytes, .kind = (uint16_t)kind, .tag = tag};
	o->last = o->at;
	o->at += DRV_FRAME_RUN + drv_frame_round(bytes);
	o->runs++;
	o->since_poll++;
}

/*
 * Reserve `more` bytes directly behind the payload of the run that was committed last, whose
 * reserve returned `payload`. Returns NULL if the frame of that run has left, if other runs follow
 * it, or if the frame is full. The rules and the cost are those of a reserve.
 * drv_wire_extend_commit() then makes the run longer.
 */
static inline unsigned char *drv_wire_extend(struct drv_wires *wires, uint32_t host,
					     unsigned char *payload, uint32_t more)
{
	struct drv_wire_open *o = &((struct drv_wires_head *)wires)->open[host];
	uint32_t bytes;

	if (!payload || o->last != payload - DRV_FRAME_RUN)
		return NULL;
	bytes = ((struct drv_frame_run *)(void *)o->last)->bytes;
	return (uint64_t)bytes + more <= (uint64_t)(o->end - payload) ? payload + bytes : NULL;
}

static inline void drv_wire_extend_commit(struct drv_wires *wires, uint32_t host, uint32_t more)
{
	struct drv_wire_open *o = &((struct drv_wires_head *)wires)->open[host];
	struct drv_frame_run *run = (struct drv_frame_run *)(void *)o->last;

	run->bytes += more;
	o->at = o->last + DRV_FRAME_RUN + drv_frame_round(run->bytes);
	o->since_poll++;
}

/* A run whose last bytes lie elsewhere. head_bytes and bytes together: a multiple of 16. */
struct drv_wire_gather {
	uint32_t kind, tag;
	const void *head;
	uint32_t head_bytes;
	const void *data;
	uint32_t bytes;
};

/*
 * Send a run alone in a frame, behind all that came before, and copy nothing of its data but into
 * the device. Returns 0: it has left, and the data may change; -EAGAIN: the window is full or the
 * port is busy, so poll and try again; -ENOTSUP: not by this port, or not this run: reserve, copy
 * and commit. If the connection has to be made anew while such a frame is under way, the wires
 * break (-EPROTO), since the frame cannot be sent again.
 */
bool drv_wires_gather(const struct drv_wires *wires); /* false: -ENOTSUP for every run */
int drv_wire_send_gathered(struct drv_wires *wires, uint32_t host,
			   const struct drv_wire_gather *gather);

/*
 * Let the open frame leave if nothing is in flight to this host, or if `now` is set; with `now` the
 * frame still waits for the window and the port, and polls send it. Without `now` the call leaves
 * the frame to the end of a poll that is running, and to the next poll if runs have come in bursts:
 * WIRE_BURST_RUNS before each of the last two polls.
 */
void drv_wire_flush(struct drv_wires *wires, uint32_t host, int now);

/*
 * Receive (calling fn for each run), acknowledge, resend what is due, and send open frames. fn must
 * not call this function. Returns the number of runs delivered, and at least 1 if the port may
 * contain more frames (poll again before sleeping), or a negative errno if the wires are broken.
 * now_ns must not decrease.
 */
int drv_wires_poll(struct drv_wires *wires, uint64_t now_ns, drv_wire_run_fn fn, void *arg);

/*
 * The two halves of a poll, for a caller that has something to send after it has received: first
 * the one, then the other, even if that fails. drv_wires_send() returns 0, or a negative errno if
 * the wires are broken.
 */
int drv_wires_receive(struct drv_wires *wires, uint64_t now_ns, drv_wire_run_fn fn, void *arg);
int drv_wires_send(struct drv_wires *wires);

/*
 * fn ends the process and never returns to the poll that called it: give the frames of that poll
 * back to the port, so that polls may follow. The rest of them is lost here, and their senders may
 * take the runs for delivered.
 */
void drv_wires_abandon_poll(struct drv_wires *wires);

/*
 * Return the time at which to poll next if nothing arrives (same clock as the poll; in the past: at
 * once), or UINT64_MAX if no timer runs.
 */
uint64_t drv_wires_deadline(const struct drv_wires *wires);

/*
 * Forget that runs came in bursts, because the caller is about to sleep and no poll comes soon. The
 * next flush on an idle wire then does not wait for a poll.
 */
void drv_wires_end_bursts(struct drv_wires *wires);

/*
 * Treat a host as dead: discard the duty to deliver what it has not acknowledged, send it nothing
 * and do not wait for it. If it returns as a new process, the wire starts from the beginning.
 */
void drv_wires_drop_host(struct drv_wires *wires, uint32_t host);

/* True if all runs to all hosts have been acknowledged or their receiver has closed. */
int drv_wires_are_idle(const struct drv_wires *wires);

void drv_wires_stat(const struct drv_wires *wires, uint32_t host, struct drv_wire_stat *stat);
struct drv_port *drv_wires_port(struct drv_wires *wires);

#endif
