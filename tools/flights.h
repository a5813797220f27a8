/* SPDX-License-Identifier: BSD-3-Clause */
/* The packets between their injection and their delivery: a table with open addresses. */
#ifndef TOOLS_FLIGHTS_H
#define TOOLS_FLIGHTS_H

#include <stdint.h>

struct flight {
	uint64_t key, since_ps; /* key 0: free */
};

/* Begins as zeros; flights_free() ends it. */
struct flights {
	struct flight *at; /* [room], a power of two */
	uint64_t room, used;
};

/* The key of packet `number` of node `source`. */
static inline uint64_t flight_key(uint32_t source, uint32_t number)
{
	return ((uint64_t)source << 32 | number) + 1;
}

/* Note the injection of a packet. 0 or -ENOMEM. */
int flights_add(struct flights *f, uint64_t key, uint64_t since_ps);
/* Return the packet of a key, or NULL if it is not in flight. Valid until the next call. */
const struct flight *flights_find(const struct flights *f, uint64_t key);
/* Forget a packet that flights_find() has found. */
void flights_remove(struct flights *f, const struct flight *flight);
void flights_free(struct flights *f);

#endif
