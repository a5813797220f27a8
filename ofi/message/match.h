/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching of messages with receives, in order.
 *
 * A receive names a source or any, a tag, and bits of the tag to ignore. Programs use few masks of
 * ignored bits, so each pair (mask, with or without a source) is a class with a hash table of its
 * own, in which a receive is found by an exact key. A message looks once in each class that has
 * receives, and of those it finds takes the oldest. What is beyond OFI_CLASSES classes is searched
 * in one list.
 *
 *            class 0: source, no bits ignored     [ ][r3][ ][r1-r7]     seq 3, seq 1, seq 7
 *   message  class 1: source, bits 0xf ignored    [ ][ ][r2][ ]
 *            class 2: any source, no bits ignored [r4][ ][ ][ ]
 *            last:    other masks                 r5 - r6
 *
 * Messages without a receive are in one list by arrival, and in each class's table.
 *
 * One thread at a time; the endpoint's lock guards it. Nothing here allocates but a class's table
 * when its first receive comes.
 */
#ifndef OFI_MESSAGE_MATCH_H
#define OFI_MESSAGE_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OFI_CLASSES    8u
#define OFI_BUCKETS    256u
#define OFI_ANY_SOURCE UINT32_MAX

struct ofi_link {
	struct ofi_link *next, *prev;
};

/* A receive, or the search key for one. */
struct ofi_posted {
	struct ofi_link link; /* in its bucket */
	struct ofi_link all;  /* in the list of all receives */
	uint64_t seq;
	uint64_t tag, ignore;
	uint32_t source; /* an endpoint, or OFI_ANY_SOURCE */
	uint32_t place;  /* its class; OFI_CLASSES: the last list */
};

/* A message that no receive has taken. */
struct ofi_arrived {
	struct ofi_link all;
	struct ofi_link link[OFI_CLASSES]; /* valid below ofi_match.classes */
	uint64_t tag;
	uint32_t source;
};

struct ofi_class {
	uint64_t ignore;
	bool directed;
	size_t posted_count;
	struct ofi_link *posted, *arrived; /* OFI_BUCKETS each */
};

struct ofi_match {
	struct ofi_class class[OFI_CLASSES];
	unsigned classes;
	struct ofi_link others;  /* receives of other classes */
	struct ofi_link posted;  /* all receives */
	struct ofi_link arrived; /* all messages, oldest first */
	uint64_t seq;
	size_t arrived_count;
};

void ofi_match_init(struct ofi_match *m);
void ofi_match_fini(struct ofi_match *m);

/* Add a receive behind all others. Sets seq and place. */
void ofi_match_post(struct ofi_match *m, struct ofi_posted *p);
/* Put a receive that ofi_match_take() returned back in its old place in the order. */
void ofi_match_post_again(struct ofi_match *m, struct ofi_posted *p);
void ofi_match_remove(struct ofi_match *m, struct ofi_posted *p);
/* Remove and return the oldest receive for a message, or NULL. */
struct ofi_posted *ofi_match_take(struct ofi_match *m, uint64_t tag, uint32_t source);

/* Add a message behind all others. */
void ofi_match_arrive(struct ofi_match *m, struct ofi_arrived *a);
/* Return the oldest message that the receive would take, or NULL. The message stays. */
struct ofi_arrived *ofi_match_find(struct ofi_match *m, const struct ofi_posted *p);
void ofi_match_forget(struct ofi_match *m, struct ofi_arrived *a);

#endif
