/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sealed frames. Each carries a tag that only a member of the job can make, and may be encrypted.
 * Frames that an outsider made, changed or replayed are recognised and dropped.
 *
 *   AES-128 in Galois/counter mode (NIST SP 800-38D), one key for each job. The nonce consists of
 *   source host, target host and the number of the frame, so no two frames of a job share one. The
 *   numbers of a wire start at its epoch and count transmissions, not frames, since a
 *   retransmission has another header. The header is authenticated but never encrypted.
 *
 * The trailer (drivers/frame.h) lies behind the runs. Sealing appends it and checking removes it;
 * nothing else about a frame changes.
 *
 * The cipher comes from OpenSSL, in the module libqt_seal.so. Jobs without seal do not load it.
 */
#ifndef DRIVERS_SEAL_H
#define DRIVERS_SEAL_H

#include <stdint.h>

#include "drivers/frame.h"

#define DRV_SEAL_KEY_BYTES 16u
#define DRV_SEAL_WINDOW    1024u /* a frame is accepted if at most this many have overtaken it */

enum drv_seal_kind { DRV_SEAL_NONE, DRV_SEAL_AUTHENTICATED, DRV_SEAL_ENCRYPTED, DRV_SEAL_KINDS };

/* Return "none", "authenticated" or "encrypted"; drv_seal_parse() is the reverse, or -EINVAL. */
const char *drv_seal_text(enum drv_seal_kind kind);
int drv_seal_parse(const char *text);

struct drv_seal;

/*
 * Open a seal. -ENOENT, -ENOEXEC (logged): the module is absent, or of another version. -ENOMEM.
 * -EINVAL: kind. One thread at a time for each object. The key is copied.
 */
int drv_seal_open(struct drv_seal **seal, enum drv_seal_kind kind, const unsigned char *key);
void drv_seal_close(struct drv_seal *seal); /* NULL is fine */

/*
 * Seal a complete frame in place. header->bytes is valid, DRV_FRAME_TRAILER bytes are free behind
 * the frame, and header->bytes then includes them. to: target host. number: different for each
 * transmission between a pair of hosts. Returns 0, or -EIO if the cipher failed; the frame must
 * then not be sent.
 */
int drv_seal_frame(struct drv_seal *seal, unsigned char *frame, uint32_t to, uint64_t number);

/*
 * Check the tag of a received frame whose header is valid (drv_frame_check_header), decrypt it in
 * place and remove the trailer: header->bytes then ends behind the runs. self: host of this end.
 * *number becomes the number of the transmission. Returns DRV_FRAME_OK, DRV_FRAME_UNSEALED or
 * DRV_FRAME_FORGED.
 */
enum drv_frame_error drv_seal_check(struct drv_seal *seal, unsigned char *frame, uint32_t self,
				    uint64_t *number);

/* The numbers that were received from one sender. Start with zeros. */
struct drv_seal_window {
	uint64_t top; /* largest number */
	/* Bit number % DRV_SEAL_WINDOW, for numbers up to top. */
	uint64_t seen[DRV_SEAL_WINDOW / 64];
	uint32_t epoch;
};

/*
 * Record an authentic frame. Returns true if it is the first with this number, and false if the
 * number was received before, is too old to tell, or belongs to an earlier life of the sender.
 */
int drv_seal_is_fresh(struct drv_seal_window *window, uint32_t epoch, uint64_t number);

/* The interface of the module. */
#define DRV_SEAL_MODULE_ABI 1u
struct drv_seal_module {
	uint32_t abi;
	struct drv_seal *(*open)(enum drv_seal_kind kind, const unsigned char *key);
	int (*frame)(struct drv_seal *seal, unsigned char *frame, uint32_t to, uint64_t number);
	enum drv_frame_error (*check)(struct drv_seal *seal, unsigned char *frame, uint32_t self,
				      uint64_t *number);
	void (*close)(struct drv_seal *seal);
};

#endif
