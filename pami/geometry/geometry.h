/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Geometries: ordered sets of endpoints that take part in collectives, and the table that algorithm
 * numbers point into.
 *
 * An algorithm number is, from the top,
 *   client slot + 1 << 48 | place in the table << 28 | generation << 16 |
 *   transfer type << 8 | index
 *
 * The tasks of a new geometry agree on its key: each proposes a number that it never used, and the
 * largest of them together with the user's id becomes the key of the geometry's messages. So a
 * program may use an id again at any time.
 */
#ifndef PAMI_GEOMETRY_H
#define PAMI_GEOMETRY_H

#include <pthread.h>
#include <stdbool.h>

#include "drivers/base/atomic.h"
#include "pami/core/client.h"
#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/geometry/topology.h"

#define PAMI_GEOMETRY_MAGIC  0x5147454fu
#define PAMI_GEOMETRY_CHUNK  64u
#define PAMI_GEOMETRY_CHUNKS 14u /* each twice the one before: a million geometries */

struct pami_shm;
struct pami_remote_lines;
struct pami_hw;
struct pami_am_entry;

/* One of this task's contexts in a geometry. Only the thread of that context touches it. */
struct pami_geometry_member {
	int32_t rank;         /* -1: the context is no member */
	uint32_t sequence;    /* collectives started */
	uint32_t unsynced;    /* collectives started since one that waits for all members */
	uint32_t am_sequence; /* active-message collectives started as the initiator */
	struct pami_shm *shm; /* the memory of the team (coll/shm/shm.h); NULL: not used yet */
	struct pami_remote_lines *remote_lines; /* coll/hier/remote_lines.c; NULL: not used yet */
	struct pami_am_entry *am;
};

/* FAILED: the geometry can only be destroyed; its key is that of the agreement that failed. */
enum { PAMI_GEOMETRY_MAKING, PAMI_GEOMETRY_READY, PAMI_GEOMETRY_FAILED };

/* All ranks, team after team. Made when an operation first needs it. */
struct pami_team_order {
	uint32_t *first; /* [teams + 1] where each team begins in `rank` */
	uint32_t *rank;  /* [size] */
};

/* The teams of a geometry: the members of each group (mu_task_group()). */
struct pami_teams {
	struct pami_topology leaders;           /* the lowest rank of each team, in rank order */
	struct pami_topology inside;            /* this task's team */
	uint32_t leader;                        /* the place of its leader among the leaders */
	bool ordered;                           /* the ranks of each team follow each other */
	ATOMIC(struct pami_team_order *) order; /* pami_team_order_find(); NULL: not made yet */
};

struct pami_geometry {
	/* Set before `state` becomes READY; the same from then on. */
	uint32_t magic;
	uint32_t id;         /* the user's; 0: world */
	uint64_t key;        /* of its messages; the same at all members */
	uint32_t size;       /* members */
	uint32_t place;      /* in the table */
	uint32_t generation; /* of that place: 1 .. 4095 */
	struct pami_client *client;
	struct pami_topology topology;
	/* The first endpoint of each task; NULL: the topology is that. */
	struct pami_topology *homes;
	uint32_t team_size;                  /* members of this task's team */
	uint32_t *team;                      /* [team_size] their ranks, ascending */
	struct pami_teams *teams;            /* NULL: one team, or each team has one member */
	bool one_team;                       /* all members are one team and share memory */
	uint32_t offsets;                    /* entries of member */
	struct pami_geometry_member *member; /* by context offset */

	/* Any thread. */
	atomic_u8 state;                /* PAMI_GEOMETRY_ */
	atomic_u32 has_dead, dead_seen; /* pami_geometry_is_dead(): its last answer, and for which
					   mu_death_count() */

	/* The thread that updates or destroys the geometry. */
	bool optimized;      /* the attribute: a class route is wanted; then: there is one */
	struct pami_hw *hw;  /* the class route (coll/hw/hw.h); NULL: none */
	uint32_t hw_updates; /* calls of PAMI_Geometry_update() */
};

/* What a task sends to another while a geometry is made or ended. */
struct pami_geometry_note {
	struct pami_geometry_note *next; /* the receiver's */
	uint64_t key, number;
	uint32_t rank, round;
	uint32_t ending;
	uint32_t away; /* some task named a context that is not its anchor */
};

/*
 * The geometries of a client. Entries never move, so any thread looks up by number without a lock.
 * A search by key walks all entries under the lock, under which geometries appear, become ready
 * and go.
 */
typedef ATOMIC(struct pami_geometry *) pami_geometry_entry;

struct pami_geometry_table {
	pthread_mutex_t lock; /* of all but the atomic fields */
	ATOMIC(pami_geometry_entry *) chunk[PAMI_GEOMETRY_CHUNKS];
	uint16_t *generation[PAMI_GEOMETRY_CHUNKS];
	uint32_t used;  /* places ever used */
	uint32_t *free; /* stack of free places */
	uint32_t frees, room;
	struct pami_geometry_note *notes, **notes_last; /* those that arrived, oldest first */
	atomic_u32 next_number;                         /* to propose for the next geometry */
	atomic_u32 ended; /* geometries that ended; contexts look algorithm numbers up again */
};

static inline pami_endpoint_t pami_geometry_endpoint(const struct pami_geometry *g, uint32_t rank)
{
	return pami_topology_endpoint(&g->topology, rank);
}

/* The rank of an endpoint; -1: it is no member. */
static inline int32_t pami_geometry_rank(const struct pami_geometry *g, pami_endpoint_t e)
{
	return pami_topology_rank(&g->topology, e);
}

static inline bool pami_geometry_is_valid(pami_geometry_t geometry)
{
	return pami_handle_is_known(PAMI_HANDLE_GEOMETRY, geometry) &&
	       /* NULL is no known handle. */
	       /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	       ((struct pami_geometry *)geometry)->magic == PAMI_GEOMETRY_MAGIC;
}

/* Return the geometry of an algorithm number, or NULL if it names none. Any thread. */
struct pami_geometry *pami_geometry_of(struct pami_client *client, pami_algorithm_t a);
/* Return the geometry with this key, READY or FAILED, or NULL if it is not known here (yet). Any
 * thread. */
struct pami_geometry *pami_geometry_by_key(struct pami_client *client, uint64_t key);
pami_algorithm_t pami_geometry_number(const struct pami_geometry *g, unsigned type, unsigned index);

/*
 * Has a member died? (A task that left with exit status 0 has not.) Only under torus run --on-death
 * error, else always 0. Any thread. Costs one load while no task has died, and a walk over the
 * members once after each death.
 */
int pami_geometry_is_dead(struct pami_geometry *g);

/* geometry/make.c: drop the notes with this key, which no agreement waits for; NULL: all notes. */
void pami_geometry_forget_notes(struct pami_geometry_table *t, const uint64_t *key);

/* geometry/geometry.c, for geometry/make.c */
struct pami_geometry *pami_geometry_alloc(struct pami_client *client, uint32_t id);
int pami_geometry_settle(struct pami_geometry *g); /* members, locality; after topology */
/* Set the key and the state. From here on lookups find it: by key and, if READY, by number. */
void pami_geometry_found(struct pami_geometry *g, uint64_t key, unsigned state);
/* Free it and what it owns. ctx: the context whose thread calls, or NULL. */
void pami_geometry_free(struct pami_geometry *g, struct pami_context *ctx);

/* geometry/team.c */
int pami_teams_find(struct pami_geometry *g);
void pami_teams_free(struct pami_geometry *g);
/* The place of a rank's team among the leaders; the rank's index in this task's team, or -1. */
uint32_t pami_team_of(const struct pami_geometry *g, uint32_t rank);
int32_t pami_team_index(const struct pami_geometry *g, uint32_t rank);
/* teams->order is there. Any thread. 0, -ENOMEM. */
int pami_team_order_find(struct pami_geometry *g);

/* The MU calls this when a note (mu_note()) arrives for a context. Any thread that runs the engine
 * of the context's channel. */
int pami_geometry_note(void *context, uint32_t source, const void *note, uint32_t bytes);
/* The world geometry of a new client: 0 or a negative errno. */
int pami_geometry_world_create(struct pami_client *client);
void pami_geometry_world_destroy(struct pami_client *client);

#endif
