/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of processes. The group of all processes always exists. Under the library's lock. */
#ifndef ARMCI_GROUP_H
#define ARMCI_GROUP_H

#include "armci/core/world.h"

struct armci_group {
	uint32_t slot;       /* + 1 in the table of groups; 0: the group of all processes */
	uint32_t users;      /* the handle (one) and the allocations that need the group */
	uint64_t generation; /* of the slot */
	int size, rank;      /* rank of this process, which is always a member */
	pami_task_t *task;   /* [size] world ranks; lives as long as the geometry */
	pami_geometry_t geometry;
	pami_algorithm_t algorithm[PAMI_XFER_COUNT]; /* 0: this PAMI has none */
	struct armci_alloc **alloc; /* [alloc_space] the same at all members; NULL: free slot */
	uint32_t alloc_space;
	bool closed;                 /* The program has freed it; allocations remain. */
	uint32_t children;           /* groups made with this one as parent */
	struct armci_group *node;    /* members in this process's domain; made when first needed */
	struct armci_group *masters; /* one member of each domain, if this process is one */
	bool failure_logged;         /* A failed collective was logged. */
	bool busy;                   /* A thread of this process is in a collective. */
	void *comm;                  /* MPI communicator of the same members, or NULL */
};

/* Make the group of all processes. 0 or FAIL6 (logged). */
int armci_group_init(void);
void armci_group_release_all(void);
/* The group a handle names; NULL: this process is no member. Ends the job for a stale handle. */
struct armci_group *armci_group_find(const ARMCI_Group *handle, const char *call);
/* The group of all processes. Ends the job if there is none, before ARMCI_Init() or after
 * ARMCI_Finalize(). call: name of the caller, with or without the P of a profiled call. */
struct armci_group *armci_group_world(const char *call);
#define ARMCI_WORLD armci_group_world(__func__)
/*
 * As armci_group_find(), for calls of members only: ends the job if this process is none. NULL: the
 * group was not made (logged).
 */
struct armci_group *armci_group_require(const ARMCI_Group *handle, const char *call);
/*
 * Make a group of the listed world ranks. Collective over them; id is the same at all. NULL: one of
 * them has died (logged).
 */
struct armci_group *armci_group_make(const int *world, int n, unsigned id);
/* Drop one use. The last one ends the group, which is collective over its members. */
void armci_group_release(struct armci_group *g);
/* The part of g that a SCOPE_ constant names; NULL: this process is not in it. */
struct armci_group *armci_group_scope(struct armci_group *g, int scope);
/* A member that has died, or -1: none is known to have. */
int armci_group_find_dead(const struct armci_group *g);

#endif
