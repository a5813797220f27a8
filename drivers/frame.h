/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a frame: what a wire hands to a port. Read it as a datasheet. Little-endian.
 *
 *   byte   0        1        2        3        4        5        6        7
 *      +--------+--------+--------+--------+--------+--------+--------+--------+
 *   0  | magic "QTW1", also the byte order | version|  kind  |      flags      |
 *      +--------+--------+--------+--------+--------+--------+--------+--------+
 *   8  | job                                                                   |
 *      +--------+--------+--------+--------+--------+--------+--------+--------+
 *  16  |  source host    |  bytes, in all  | from: sender's epoch              |
 *      +--------+--------+--------+--------+--------+--------+--------+--------+
 *  24  | to: receiver's epoch, 0 unknown   | sequence of this frame            |
 *      +--------+--------+--------+--------+--------+--------+--------+--------+
 *  32  | ack: next sequence expected       | checksum (CRC-32C, field as 0) of |
 *      |                                   | the frame, or of its header       |
 *      +--------+--------+--------+--------+--------+--------+--------+--------+
 *  40  | sack: bit i of these 128 says that frame ack + i is here              |
 *  48  |                                                                       |
 *      +--------+--------+--------+--------+--------+--------+--------+--------+
 *  56  | order: number of the transmission | seen: largest order received      |
 *      +--------+--------+--------+--------+--------+--------+--------+--------+
 *  64  | by kind: runs (DATA), struct drv_frame_note (HELLO PROBE ECHO),       |
 *      | nothing (ACK BYE). PROBE is padded with anything to its size.         |
 *      +--------+--------+--------+--------+--------+--------+--------+--------+
 *      | trailer, where flag SEALED is set: 8 bytes number, 8 of 0, 16 of tag  |
 *
 *   run, at a multiple of 16 from the start of the frame; the next follows, padded to 16:
 *      +--------+--------+--------+--------+--------+--------+--------+--------+
 *   0  | bytes of payload                  |      kind       |        0        |
 *      +--------+--------+--------+--------+--------+--------+--------+--------+
 *   8  | tag                               | 0                                 |
 *      +--------+--------+--------+--------+--------+--------+--------+--------+
 *  16  | payload, padded to a multiple of 16                                   |
 *
 * `bytes` is a multiple of 16; a port may deliver more (Ethernet pads short frames), never less.
 * Sequence, order and epoch count modulo 2^32. Each transmission of a frame has the frame's
 * sequence and an order of its own, so `seen` says which transmissions are overdue.
 *
 * The functions are pure; decoding reads nothing outside [data, data + bytes) whatever is there.
 */
#ifndef DRIVERS_FRAME_H
#define DRIVERS_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "drivers/base/atomic.h"

#define DRV_FRAME_MAGIC         0x31575451u /* "QTW1" */
#define DRV_FRAME_MAGIC_SWAPPED 0x51545731u
#define DRV_FRAME_VERSION       4
#define DRV_FRAME_HEADER        64u
#define DRV_FRAME_TRAILER       32u
#define DRV_FRAME_RUN           16u    /* header of a run; also the alignment of everything */
#define DRV_FRAME_BYTES_MAX     65520u /* the largest multiple of 16 that `bytes` can contain */
#define DRV_FRAME_SACK          128u

enum drv_frame_kind {
	DRV_FRAME_HELLO = 1, /* handshake: header and note */
	DRV_FRAME_DATA,      /* the only kind that has a sequence and is resent */
	DRV_FRAME_ACK,       /* header alone */
	DRV_FRAME_PROBE,     /* does a frame of this size pass? */
	DRV_FRAME_ECHO,      /* it did */
	DRV_FRAME_BYE        /* the sender closes; header alone */
};

enum drv_frame_flag {
	DRV_FRAME_SEALED = 1 << 0,  /* authenticated: a trailer behind the rest (drivers/seal.h) */
	DRV_FRAME_CHECKED = 1 << 1, /* checksum present */
	DRV_FRAME_ASK = 1 << 2,     /* DATA: acknowledge at once; HELLO: answer */
	DRV_FRAME_COMMIT = 1 << 3, /* HELLO: the sender has committed to `to`, from `sequence` on */
	DRV_FRAME_READY = 1 << 4,  /* HELLO: the sender has received a COMMIT; data may follow */
	DRV_FRAME_CHECK_ME = 1 << 5,       /* HELLO: the sender refuses data without checksum */
	DRV_FRAME_HIDDEN = 1 << 6,         /* SEALED, and encrypted behind the header */
	DRV_FRAME_HEADER_CHECKED = 1 << 7, /* checksum present, of the header alone: DATA, ACK */
	DRV_FRAME_FIRST =
	    1 << 8, /* HELLO with COMMIT: no frame of the sender was ever acknowledged */
	DRV_FRAME_FLAGS = (1 << 9) - 1
};

struct drv_frame_header {
	uint32_t magic;
	uint8_t version;
	uint8_t kind;
	uint16_t flags;
	uint64_t job;
	uint16_t source;
	uint16_t bytes;
	uint32_t from;
	uint32_t to;
	uint32_t sequence;
	uint32_t ack;
	uint32_t checksum;
	uint64_t sack[2];
	uint32_t order;
	uint32_t seen;
};

struct drv_frame_run {
	uint32_t bytes;
	uint16_t kind;
	uint16_t zero;
	uint32_t tag;
	uint32_t zero2;
};

/* Body of HELLO, PROBE and ECHO. */
struct drv_frame_note {
	uint32_t frame_bytes; /* HELLO: largest frame the sender takes; PROBE, ECHO: size tried */
	uint32_t window;      /* HELLO: frames the sender stores out of order */
	uint32_t known_epoch; /* HELLO: epoch of the receiver that the sender knows; 0: none */
	uint32_t nonce;       /* HELLO: the answer must repeat it; 0: no query */
	uint64_t life;        /* HELLO: life of the sender; it stays when its epoch changes */
	uint32_t echo;        /* HELLO: nonce of the last query of the receiver */
	/* HELLO with READY: drv_frame_fold_life() of the life that READY is for. */
	uint32_t ready_life;
};

static inline uint32_t drv_frame_fold_life(uint64_t life)
{
	return (uint32_t)(life ^ life >> 32);
}

struct drv_frame_trailer {
	uint64_t number; /* number of the sender's transmission to this host */
	uint64_t zero;
	unsigned char tag[16];
};

#define DRV_FRAME_AT(type, field, n)                                                               \
	_Static_assert(offsetof(struct type, field) == (n), #field " is at byte " #n)
_Static_assert(sizeof(struct drv_frame_header) == DRV_FRAME_HEADER, "header is 64 bytes");
_Static_assert(sizeof(struct drv_frame_run) == DRV_FRAME_RUN, "run header is 16 bytes");
_Static_assert(sizeof(struct drv_frame_note) == 32, "note is 32 bytes");
_Static_assert(sizeof(struct drv_frame_trailer) == DRV_FRAME_TRAILER, "trailer is 32 bytes");
DRV_FRAME_AT(drv_frame_header, job, 8);
DRV_FRAME_AT(drv_frame_header, source, 16);
DRV_FRAME_AT(drv_frame_header, bytes, 18);
DRV_FRAME_AT(drv_frame_header, from, 20);
DRV_FRAME_AT(drv_frame_header, sequence, 28);
DRV_FRAME_AT(drv_frame_header, checksum, 36);
DRV_FRAME_AT(drv_frame_header, sack, 40);
DRV_FRAME_AT(drv_frame_header, seen, 60);
DRV_FRAME_AT(drv_frame_run, kind, 4);
DRV_FRAME_AT(drv_frame_run, tag, 8);

/* The reasons for which a frame is refused. */
enum drv_frame_error {
	DRV_FRAME_OK,
	DRV_FRAME_SHORT,      /* shorter than a header, or than the header says */
	DRV_FRAME_FOREIGN,    /* no magic: from another program */
	DRV_FRAME_BYTE_ORDER, /* from a machine of the other byte order */
	DRV_FRAME_RELEASE,    /* other version */
	DRV_FRAME_NO_KEY,     /* sealed, and this end has no key */
	DRV_FRAME_UNSEALED,   /* not sealed in a job that seals */
	DRV_FRAME_FORGED,     /* sealed with another key, or changed on the way */
	DRV_FRAME_MALFORMED,  /* kind, flags, lengths or runs do not fit each other */
	DRV_FRAME_UNCHECKED,  /* checksum missing where one is wanted */
	DRV_FRAME_CORRUPT,    /* checksum wrong */
	DRV_FRAME_ERRORS
};

/* Return a sentence for logs, or "?" for an unknown number. */
const char *drv_frame_error_text(enum drv_frame_error error);

static inline uint32_t drv_frame_round(uint32_t bytes)
{
	return (bytes + DRV_FRAME_RUN - 1) & ~(DRV_FRAME_RUN - 1);
}

/*
 * How much of a frame its checksum covers. Frames of kinds other than DATA and ACK are covered
 * whole.
 */
enum drv_frame_cover { DRV_FRAME_COVER_NONE, DRV_FRAME_COVER_HEADER, DRV_FRAME_COVER_ALL };

/*
 * Check a received frame with all its runs; afterwards header, note and runs may be read without
 * further checks. data: aligned to 8 bytes. want: refuse a frame whose checksum covers less (kinds
 * other than DATA and ACK always need one). Cost: one read of each run header.
 */
enum drv_frame_error drv_frame_check(const unsigned char *data, uint32_t bytes,
				     enum drv_frame_cover want);

/*
 * The same in two steps, with the check of the seal between them (drivers/seal.h): first whether
 * there is a header of this version and the frame is as long as it says; then, for an authentic
 * frame, all else except the checksum.
 */
enum drv_frame_error drv_frame_check_header(const unsigned char *data, uint32_t bytes);
enum drv_frame_error drv_frame_check_rest(const unsigned char *data);

/* Add a checksum of the whole frame to a complete frame (header->bytes is valid). */
void drv_frame_add_checksum(unsigned char *frame);
/* Add a checksum of the header alone: for DATA and ACK. */
void drv_frame_add_header_checksum(unsigned char *frame);

/*
 * Step through the runs of a checked DATA frame of so many bytes; *at is 0 before the first.
 * Returns a run, followed by its payload of *run_bytes bytes, or NULL after the last one. The frame
 * may lie in memory that its sender can still change (port shm), so its lengths are read once, and
 * a run that does not fit any more is the end.
 */
static inline const struct drv_frame_run *
drv_frame_run_next(const unsigned char *frame, uint32_t bytes, uint32_t *at, uint32_t *run_bytes)
{
	uint32_t here = *at ? *at : DRV_FRAME_HEADER;
	const struct drv_frame_run *run = (const void *)(frame + here);

	if (here + DRV_FRAME_RUN > bytes)
		return NULL;
	*run_bytes = atomic_load_relaxed(&run->bytes);
	if (__builtin_expect(*run_bytes > bytes - here - DRV_FRAME_RUN, 0))
		return NULL;
	*at = here + DRV_FRAME_RUN + drv_frame_round(*run_bytes);
	return run;
}

#endif
