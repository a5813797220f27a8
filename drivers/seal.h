/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sealed frames: each carries a tag that only a member of the job can make, and may be encrypted. What an
 * outsider sends, changes or sends again is told from what a member sent, and dropped.
 *
 *   AES-128 in Galois/counter mode (NIST SP 800-38D), one key a job. The nonce is source host, target host
 *   and the frame's number, so no two frames of a job share one: numbers of a wire start at its epoch and
 *   count transmissions, not frames (a retransmission has another header). The header is authenticated,
 *   never encrypted.
 *
 * The trailer (drivers/frame.h) lies behind the runs, so that nothing else about a frame changes: sealing
 * adds it, checking takes it away.
 *
 * The cipher is OpenSSL's, in the module libqt_seal.so: a job without sealed wires does without it.
 */
#ifndef DRIVERS_SEAL_H
#define DRIVERS_SEAL_H

#include <stdint.h>

#include "drivers/frame.h"

#define DRV_SEAL_KEY_BYTES 16u
#define DRV_SEAL_WINDOW    1024u /* frames that a frame may be overtaken by, and still be taken */

enum drv_seal_kind { DRV_SEAL_NONE, DRV_SEAL_AUTHENTICATED, DRV_SEAL_ENCRYPTED, DRV_SEAL_KINDS };

/* "none", "authenticated", "encrypted"; and back, or -EINVAL. */
const char *drv_seal_text(enum drv_seal_kind kind);
int drv_seal_named(const char *text);

struct drv_seal;

/*
 * -ENOENT, -ENOEXEC, logged: no module, or of another version. -ENOMEM. -EINVAL: kind. One thread at a
 * time per object. The key is copied.
 */
int drv_seal_open(struct drv_seal **seal, enum drv_seal_kind kind, const unsigned char *key);
void drv_seal_close(struct drv_seal *seal); /* NULL is fine */

/*
 * Seal a finished frame in place; header->bytes valid, DRV_FRAME_TRAILER bytes of room behind it, which
 * header->bytes then counts. to: host it goes to. number: never the same twice for a pair of hosts.
 * 0 or -EIO (the cipher failed; the frame must not leave).
 */
int drv_seal_frame(struct drv_seal *seal, unsigned char *frame, uint32_t to, uint64_t number);

/*
 * Check the tag of a received frame whose header is sound (drv_frame_check_header), decrypt it in place and
 * take the trailer away: header->bytes then ends with the runs. self: own host. *number is the sender's.
 * DRV_FRAME_OK, DRV_FRAME_UNSEALED or DRV_FRAME_FORGED.
 */
enum drv_frame_fault drv_seal_check(struct drv_seal *seal, unsigned char *frame, uint32_t self, uint64_t *number);

/* Numbers of one sender that have been seen. Zeroed at first. */
struct drv_seal_window {
	uint64_t top; /* largest */
	uint64_t seen[DRV_SEAL_WINDOW / 64]; /* bit number % DRV_SEAL_WINDOW, of those up to top */
	uint32_t epoch;
};

/*
 * Note an authentic frame. True: the first with this number. False: seen before, too old to know, or of an
 * earlier life of its sender.
 */
int drv_seal_fresh(struct drv_seal_window *window, uint32_t epoch, uint64_t number);

/* What the module has. */
#define DRV_SEAL_MODULE_ABI 1u
struct drv_seal_module {
	uint32_t abi;
	struct drv_seal *(*open)(enum drv_seal_kind kind, const unsigned char *key);
	int (*frame)(struct drv_seal *seal, unsigned char *frame, uint32_t to, uint64_t number);
	enum drv_frame_fault (*check)(struct drv_seal *seal, unsigned char *frame, uint32_t self, uint64_t *number);
	void (*close)(struct drv_seal *seal);
};

#endif
