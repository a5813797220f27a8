/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking collectives over the members of a group, each one PAMI collective on the origin context.
 * Every member calls in the same order. The world's group always exists; others: group.c.
 */
#ifndef ARMCI_COLL_H
#define ARMCI_COLL_H

#include "armci/state.h"

struct armci_group {
	uint32_t slot;       /* + 1; 0: the world */
	uint32_t users;      /* handles (one) and allocations that need it */
	uint64_t generation; /* of the slot */
	int size, rank;      /* rank: this process's, always a member */
	pami_task_t *task;   /* [size] world ranks; lives as long as the geometry */
	pami_geometry_t geometry;
	pami_algorithm_t algorithm[PAMI_XFER_COUNT]; /* 0: this PAMI has none */
	uint64_t next_alloc;
	uint32_t children;           /* groups made with this one as parent */
	struct armci_group *node;    /* members of my domain; made when first asked for */
	struct armci_group *masters; /* one of each domain, if I am one */
	bool told;                   /* that a member has died */
	void *comm;                  /* MPI's name for it, or NULL; of whoever sets it */
};

/* The algorithms of g->geometry. 0 or FAIL6 (logged). */
int armci_coll_init(struct armci_group *g);
/* 0, or FAIL6 where a member has died (logged, once a group): parts may have been done. Then a group without it
 * works. */
int armci_coll_barrier(struct armci_group *g);
/* A member that has died, or -1: none is known to have. */
int armci_group_dead(const struct armci_group *g);
/* root  a world rank, a member. */
int armci_coll_bcast(struct armci_group *g, void *buf, size_t bytes, int root);
int armci_coll_allgather(struct armci_group *g, const void *mine, void *all, size_t bytes);
/* In place. type and op are PAMI's. */
int armci_coll_allreduce(struct armci_group *g, void *x, size_t count, size_t element_bytes,
			  pami_type_t type, pami_data_function op);

/* ---- group.c ---- */
int armci_group_init(void); /* the world's */
void armci_group_release_all(void);
/* The group a handle names; NULL where this process is no member. A handle of nothing ends the job. */
struct armci_group *armci_group_of(const ARMCI_Group *handle, const char *call);
/* The same for calls of members only: who is none ends the job. NULL where the group was not made (logged). */
struct armci_group *armci_group_member(const ARMCI_Group *handle, const char *call);
/* Collective over the listed world ranks. id  the same at all of them. NULL: one of them has died (logged). */
struct armci_group *armci_group_make(const int *world, int n, unsigned id);
/* Drop one use; the last one ends it (collective over its members). */
void armci_group_put(struct armci_group *g);
/* The part of g that a SCOPE_ constant names; NULL: this process is outside. */
struct armci_group *armci_group_scope(struct armci_group *g, int scope);

/* ---- locality.c ---- */
/* Collective; after the accumulate locks were mapped. */
int armci_locality_init(void);
void armci_locality_release(void);
/* First world rank of the domain of a process. */
int armci_domain_first(int proc);

#endif
