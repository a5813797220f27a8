/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes that several files of libarmci agree on. */
#ifndef ARMCI_LIMITS_H
#define ARMCI_LIMITS_H

/* Payload of one active message at most. It bounds what a target buffers for each message. */
#define ARMCI_CHUNK_BYTES (256u << 10)
/* An answer of up to this length is sent with its data. The origin fetches a longer one. */
#define ARMCI_FOLLOW_BYTES (64u << 10)
/* Unacknowledged active-message payload to one target at most. */
#define ARMCI_WINDOW_BYTES (1u << 20)
/* Outstanding operations at most. A new one waits until an old one ends. */
#define ARMCI_OPS_MAX 4096u
/* Accumulate locks of one process, and how many bytes of its address space each one covers. */
#define ARMCI_STRIPES      64u
#define ARMCI_STRIPE_BYTES 4096u
/* Long gets that this process has offered to their owners, at most (core/assist.c). */
#define ARMCI_OFFERS 64
/* Bytes for core/assist.c in the shared page, after the accumulate locks. */
#define ARMCI_SHARED_BYTES 1024u

#endif
