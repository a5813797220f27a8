/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses of blocks that tasks of this host own, in real time (emu/near_access.h has the protocol,
 * emu/directory.h the lease). The messaging units of a host reach the arenas of all its tasks, so
 * the unit of the source carries out the access, and the owner does nothing. Lease and block must
 * lie in the owner's arena.
 *
 * Each local task has MU_LEASE_SLOTS slots, one cache line each. A lease has a name that is the
 * same for all tasks: its owner and its place in the owner's arena.
 */
#ifndef MU_SEGMENT_LEASE_H
#define MU_SEGMENT_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#define MU_LEASE_SLOTS 4u /* of a task; claimed ones are in use until END has arrived */

struct emu_access;
struct mu_host;
struct mu_process;

/* Bytes of the slots of a host. */
uint64_t mu_lease_slots_bytes(const struct mu_host *h);

/* Return the name of a lease of this task, or 0 if it is not in its arena. */
uint64_t mu_lease_name(struct mu_process *p, uint64_t lease);
bool mu_lease_is_of(uint64_t name, uint32_t task);

#endif
