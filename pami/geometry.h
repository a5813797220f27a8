/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Geometries: who takes part in which order, and the table that algorithm numbers point into.
 *
 * An algorithm number is, from the top,
 *   client slot + 1 << 48 | place in the table << 28 | generation << 16 | transfer type << 8 | index.
 *
 * Making one is an agreement of its tasks: each proposes a number it never used, the largest
 * becomes, with the id, the key of the geometry's messages. So ids may come back at any time.
 */
#ifndef PAMI_GEOMETRY_H
#define PAMI_GEOMETRY_H

#include <pthread.h>

#include "pami/state.h"
#include "pami/topology.h"

#define PAMI_GEOMETRY_MAGIC  0x5147454fu
#define PAMI_GEOMETRY_CHUNK  64u
#define PAMI_GEOMETRY_CHUNKS 14u /* each twice the one before: a million geometries */

struct pami_shm;
struct pami_far;
struct pami_hw;
struct pami_am_entry;

/* One of this task's contexts in a geometry; touched by that context's thread only. */
struct pami_geometry_member {
	int32_t rank;      /* -1: no member */
	uint32_t sequence; /* collectives started */
	uint32_t unsynced; /* of them, since one that waits for all members */
	uint32_t am_sequence;
	struct pami_shm *shm; /* shared memory of the node's members; NULL: not set up */
	struct pami_far *far; /* memory that other teams store into (coll_far.c); NULL: not asked for yet */
	struct pami_am_entry *am;
};

/* FAILED: not to be used, only ended; key is that of the messages of its making. */
enum { PAMI_GEOMETRY_MAKING, PAMI_GEOMETRY_READY, PAMI_GEOMETRY_FAILED };

/* All ranks, team by team; found when first asked for. */
struct pami_team_order {
	uint32_t *first; /* [teams + 1] where each begins in */
	uint32_t *rank;  /* [size] */
};

/* Teams: the members of each group (mu_task_group()), for collectives in stages. */
struct pami_teams {
	struct pami_topology leaders; /* the lowest rank of each, in rank order */
	struct pami_topology inside;  /* this task's team */
	uint32_t leader;              /* its place among the leaders */
	uint8_t ordered;              /* the ranks of each team are neighbours */
	struct pami_team_order *order; /* pami_team_order_find(); or NULL */
};

struct pami_geometry {
	uint32_t magic;
	uint32_t id;         /* 0: world */
	uint64_t key;        /* in messages; the same on all members */
	uint32_t size;       /* members */
	uint32_t place;      /* in the table */
	uint32_t generation; /* of that place: 1 .. 4095 */
	uint8_t state;       /* PAMI_GEOMETRY_; atomic */
	uint8_t optimized;
	uint8_t one_team;    /* all members are one team and see each other's memory */
	struct pami_client *client;
	struct pami_topology topology;
	struct pami_topology *homes; /* the first endpoint of each task, where that is not topology */
	uint32_t team_size;  /* members of this task's group (mu_task_group()), its team */
	uint32_t *team;      /* [team_size] their ranks, ascending */
	struct pami_teams *teams; /* NULL: one team, or none of two members */
	uint32_t dead, dead_seen; /* pami_geometry_dead(): its last answer, for that mu_gone_count(); any thread */
	struct pami_hw *hw;  /* class route (coll_hw.h); or NULL */
	uint32_t hw_updates; /* PAMI_Geometry_update() so far */
	uint32_t offsets;    /* entries of member */
	struct pami_geometry_member *member; /* by context offset */
};

/*
 * The table of a client. Entries never move: other threads look up by number while one makes geometries. Who looks
 * by key looks at all of them, so under the lock, under which they come, are made and go.
 */
struct pami_geometry_table {
	pthread_mutex_t lock;
	struct pami_geometry **chunk[PAMI_GEOMETRY_CHUNKS];
	uint16_t *generation[PAMI_GEOMETRY_CHUNKS];
	uint32_t used;    /* places ever used */
	uint32_t *free;   /* stack of free places */
	uint32_t frees, room;
	uint32_t next_number; /* proposed for the next geometry; atomic */
	uint32_t ended;       /* geometries; atomic: what contexts remember of them may be stale */
};

static inline pami_endpoint_t pami_geometry_endpoint(const struct pami_geometry *g, uint32_t rank)
{
	return pami_topology_endpoint(&g->topology, rank);
}

/* Rank of an endpoint, -1: no member. */
static inline int32_t pami_geometry_rank(const struct pami_geometry *g, pami_endpoint_t e)
{
	return pami_topology_rank(&g->topology, e);
}

static inline int pami_geometry_valid(pami_geometry_t geometry)
{
	return geometry && ((struct pami_geometry *)geometry)->magic == PAMI_GEOMETRY_MAGIC;
}

/* What an algorithm number of this client names; NULL: nothing. */
struct pami_geometry *pami_geometry_of(struct pami_client *client, pami_algorithm_t a);
/* The geometry with a key, or whose making with it failed. NULL: not (yet) known here. */
struct pami_geometry *pami_geometry_by_key(struct pami_client *client, uint64_t key);
pami_algorithm_t pami_geometry_number(const struct pami_geometry *g, unsigned type, unsigned index);

/*
 * Has a member died (not: left with exit status 0)? torus run --on-death error; else always 0. Any
 * thread. Costs a load while nobody is gone, a walk over the members once after each death.
 */
int pami_geometry_dead(struct pami_geometry *g);

/* geometry.c, for geometry_make.c */
struct pami_geometry *pami_geometry_alloc(struct pami_client *client, uint32_t id);
int pami_geometry_settle(struct pami_geometry *g); /* members, locality; after topology */
/* From here on it is found, by key and, where READY, by number. */
void pami_geometry_found(struct pami_geometry *g, uint64_t key, unsigned state);
/* ctx: the context whose thread calls, or NULL. */
void pami_geometry_free(struct pami_geometry *g, struct pami_context *ctx);

/* geometry_team.c */
int pami_teams_find(struct pami_geometry *g);
void pami_teams_free(struct pami_geometry *g);
/* Of a member: its team's place among the leaders; its place in this task's team, or -1. */
uint32_t pami_team_of(const struct pami_geometry *g, uint32_t rank);
int32_t pami_team_index(const struct pami_geometry *g, uint32_t rank);
/* teams->order is there. Any thread. 0, -ENOMEM. */
int pami_team_order_find(struct pami_geometry *g);

#endif
