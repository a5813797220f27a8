/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directory in the network (emu/directory.h) in real time. No router of the real clock reads
 * addresses, so one set of tables for each host stands in its segment, and stands in for the
 * tables of all its routers and messaging units:
 *
 *   homes    authoritative: where the blocks are whose homes are tasks of this host, if not there
 *   cached   (hw-torus) what this host's tasks learnt from answers, updates and their own moves
 *   units    leases of the blocks that tasks of this host own (mu/segment/lease.h); also where the
 *            directory is software
 *
 * A task that sends a packet to an address reads them before the packet leaves. A packet for whose
 * key there is no entry goes to its home, and there to software: unlike in virtual time nothing
 * redirects it on its way, and a bounce costs the software of the task that it met.
 *
 * No lock: a task may die at any instruction. Key and value of an entry are two words, so a reader
 * may see one of each; a wrong entry costs a forward by software, as a stale one does.
 */
#ifndef MU_SEGMENT_DIRECTORY_H
#define MU_SEGMENT_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

struct emu_address;
struct mu_host;
struct mu_host_conf;
struct mu_process;

/* Return the entry of the table of units: the name of a lease, or 0. */
uint64_t mu_directory_find_lease(struct mu_process *p, uint64_t key);

/* Bytes of the tables; 0: this job has none. Sets the sizes in the head of a segment. */
uint64_t mu_directory_layout(struct mu_host *h, const struct mu_host_conf *conf);

/*
 * A packet to an address is about to leave for *task. Changes *task if a table knows better. False:
 * the packet writes a table and goes nowhere.
 */
bool mu_directory_lead(struct mu_process *p, const struct emu_address *a, uint32_t *task);

#endif
