/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directory in the network: tables in router and messaging unit that lead a packet to the block
 * it names, wherever that block is. Virtual clock only. A packet to an address has the bit
 * MUHWI_PACKET_ADDRESSED, and its payload begins with a struct emu_address.
 *
 *            source            router on the way           home's router          owner
 *   MESSAGE  injection table -> cached entry: turn  ->  authoritative entry -> unit's table: HOLD,
 *                                                        : turn                OWNED: deliver
 *   ANSWER   <---- each router on the way back learns (key, owner, version) <---- owner
 *   UPDATE   each router on the way replaces its entry by a newer one
 *   BIND, HOME   never leave their node: software writes its node's tables with them
 *
 * A MESSAGE that is a put, a get or an atomic operation (struct emu_access) is carried out by the
 * unit of the owner, also a put of several packets (emu/long_put.h).
 * BIND says where the lease of the block is (struct emu_lease), whose word says whether
 * the block may be accessed now. The unit turns the packet into its ANSWER and injects it again.
 *
 * What a node does with a MESSAGE, in this order:
 *   1. the messaging unit's table says HOLD or OWNED: the packet is for here
 *   2. a cached entry of the router (hw-torus): the packet's destination becomes what it says
 *   3. at the home: the authoritative entry, likewise
 *   4. else the destination stays; it begins as the home
 * A packet that arrives where the block is not goes home (GO_HOME): routers ignore cached entries
 * for it, and drop those that are not newer than the one that misled it. Without the drop two stale
 * entries could send a packet to and fro.
 *
 * Why no packet is lost, doubled or applied to a dead copy while its block moves:
 *   - tables decide only where a packet goes. It is forwarded, never copied, and the software that
 *     takes it pins the block or sends it on (agas/move/protocol.h); a leaving block gets
 *     no new pins.
 *   - the unit does as that software: it reads the lease and accesses the block in one step, or
 *     leaves the packet to software. It believes the lease, not its table, which learns of a move
 *     later (tests/model/agas_move.c: units).
 *   - home's entry names the target before the old owner is asked for the data, so home leads no
 *     packet to the old owner any more.
 *   - the old owner's unit says GONE once the data has left; a late packet goes on by the
 *     forward in the old owner's router, or goes home.
 *   - the target's unit says HOLD until the data is there. An access that arrives waits in the
 *     unit, which looks at the lease again and again, for a bounded time; all else, and what waits
 *     too long, goes to software, which queues it.
 *   - versions make late updates harmless.
 *   - a packet that has used up EMU_ADDRESS_BUDGET ends at the software of its home, which knows
 *     the owner.
 * With empty tables a packet still reaches its home. Tables only shorten the way.
 *
 * Why it cannot deadlock: a packet turns once, from channel 1 to channel 3, which no turned packet
 * leaves. At its next end the unit takes it out of the network, whether it delivers the packet or
 * injects it again (tests/model/emu_channels.c: turns).
 */
#ifndef EMU_DIRECTORY_H
#define EMU_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/router.h"

#define EMU_ADDRESS_BUDGET      64u /* hops and looks of a packet at a lease */
#define EMU_ADDRESS_WAITING_MAX 64u /* packets that wait in a unit for blocks that arrive */
#define EMU_ADDRESS_NOBODY      UINT32_MAX

enum emu_directory_mode {
	EMU_DIRECTORY_NONE, /* packets to addresses go to their homes */
	EMU_DIRECTORY_CENTRAL,
	EMU_DIRECTORY_HOME,
	EMU_DIRECTORY_TORUS
};

enum emu_address_kind {
	EMU_ADDRESS_MESSAGE = 1,
	EMU_ADDRESS_ANSWER,
	EMU_ADDRESS_UPDATE,
	EMU_ADDRESS_BIND,
	EMU_ADDRESS_HOME,
	EMU_ADDRESS_KINDS
};

enum emu_address_flag {
	EMU_ADDRESS_TURNED = 1,
	EMU_ADDRESS_GO_HOME = 2,
	EMU_ADDRESS_DIRECTED = 4, /* an entry of `version` chose the destination */
	EMU_ADDRESS_SOFTWARE = 8, /* the budget is spent: home's software takes it */
	EMU_ADDRESS_MISLED = 16,  /* some entry was wrong; in an ANSWER: replace yours */
	EMU_ADDRESS_BY_UNIT = 32, /* ANSWER: a struct emu_access, and what it has read */
	EMU_ADDRESS_WAITS = 64    /* in a unit, for its block */
};

/* BIND: what the messaging unit knows of a block; of one version the larger counts. */
enum emu_bind { EMU_BIND_NONE, EMU_BIND_GONE, EMU_BIND_HOLD, EMU_BIND_OWNED };

/* The first bytes of the payload. */
struct emu_address {
	uint64_t key;
	uint32_t at; /* destination word: MESSAGE: of the home; else of the owner, or NOBODY */
	uint16_t version;
	uint16_t channel; /* reception FIFO: MESSAGE: of the home; BIND: of the owner */
	/* BIND: enum emu_bind; MESSAGE: enum emu_access_kind */
	uint8_t kind, flags, budget, state;
	/* BIND, GONE: destination word of the next owner; MESSAGE that is an access: the offset in
	 * the block. */
	uint32_t to;
};
_Static_assert(sizeof(struct emu_address) == 24, "part of the packet");

enum emu_access_kind {
	EMU_ACCESS_NONE,
	EMU_ACCESS_PUT,
	EMU_ACCESS_GET,
	/* Atomic operations on 8 bytes. The data are a struct emu_operands, those of the answer the
	 * value before. */
	EMU_ACCESS_XOR,
	EMU_ACCESS_ADD,
	EMU_ACCESS_SWAP,
	EMU_ACCESS_CAS,
	/* A put of several packets (emu/long_put.h). The data are a struct emu_operands, whose
	 * operand is the address of the payload at the source. */
	EMU_ACCESS_LONG_PUT,
	EMU_ACCESS_KINDS,
	/* From a unit to the software of its node: a long put is over, and has left its pin. */
	EMU_ACCESS_END = EMU_ACCESS_KINDS,
	EMU_ACCESS_END_FAILED /* with not all bytes written */
};

/* The first bytes of a MESSAGE that is a put, a get or an atomic operation, and of the unit's
 * ANSWER. The data follow. */
struct emu_access {
	struct emu_address a;
	uint64_t id; /* the source's; the answer has it */
	uint32_t bytes;
	uint16_t back; /* reception FIFO of the source */
	uint16_t hop;  /* software's */
};
_Static_assert(sizeof(struct emu_access) == 40, "part of the packet");

struct emu_operands {
	uint64_t operand, expected; /* expected: CAS */
};

/* The first bytes of a BIND whose state is HOLD or OWNED. */
struct emu_bind_lease {
	struct emu_address a;
	uint64_t lease; /* address of a struct emu_lease of the sender; 0: there is none */
};

/*
 * What a unit reads before each access, in memory of the task that sent BIND. It stays there as
 * long as the task is in the job, but may be that of another block by then.
 */
struct emu_lease {
	uint64_t key;
	/* The upper half is EMU_BIND_OWNED if the block may be accessed, EMU_BIND_HOLD if it
	 * arrives, EMU_BIND_GONE if it has left. */
	uint64_t word;
	uint64_t memory, bytes;
	/* Accesses, and a majority vote of the tasks that made them. */
	uint32_t uses, voter, votes;
};

struct emu_directory_stat {
#define EMU_DIRECTORY_COUNTER(name, meaning) uint64_t name;
#include "emu/directory.def"
#undef EMU_DIRECTORY_COUNTER
};

enum emu_arrival {
	EMU_ARRIVAL_DELIVER, /* to the reception FIFO of its header */
	EMU_ARRIVAL_TAKEN,   /* it wrote a table, and its way ends */
	EMU_ARRIVAL_RESEND,  /* inject it again, as a new packet: it has another destination */
	EMU_ARRIVAL_ACCESS,  /* the unit may carry it out: emu_directory_access() */
	EMU_ARRIVAL_WAIT     /* the same, a little later */
};

struct emu_directory_conf {
	uint32_t nodes;
	enum emu_directory_mode mode;
	uint32_t entries;    /* cached ones of each router, rounded down to a power of two */
	uint64_t central_ps; /* CENTRAL: one update after the other takes this long */
	struct emu_directory_stat *stat; /* where the counters are; NULL: inside */
	/*
	 * Carry out an access with a lease of a task, and make the packet its answer, or another
	 * packet that is to be injected here; the address is the answer's already. Returns
	 * EMU_ARRIVAL_RESEND, or, if nothing was done, EMU_ARRIVAL_WAIT if the block arrives or has
	 * just left, else
	 * EMU_ARRIVAL_DELIVER. NULL: units carry out nothing.
	 */
	enum emu_arrival (*access)(void *arg, uint32_t task, uint64_t lease, struct emu_packet *p);
	/* 1: access() will be called for memory of the task; -1: it is over. May be NULL. */
	void (*expect)(void *arg, uint32_t task, int change);
	void *arg;
};

struct emu_directory;

/* Returns NULL if there is no memory. */
struct emu_directory *emu_directory_create(const struct emu_directory_conf *conf);
void emu_directory_destroy(struct emu_directory *d); /* NULL is fine */

/* Is version a newer than b, modulo 2^16? */
static inline bool emu_version_is_newer(uint16_t a, uint16_t b)
{
	return (int16_t)(uint16_t)(a - b) > 0;
}

static inline bool emu_is_addressed(const struct emu_packet *p)
{
	return p->hdr.NetworkHeader.pt2pt.Byte3.Byte3 & MUHWI_PACKET_ADDRESSED &&
	       p->hdr.NetworkHeader.pt2pt.Byte8.Packet_Type == 0 && /* memory FIFO */
	       p->bytes >= sizeof(struct emu_address);
}

static inline struct emu_address *emu_address_of(struct emu_packet *p)
{
	return (struct emu_address *)(void *)p->payload;
}

/*
 * A packet to an address visits the tables of a node, whose destination word is `here`. May change
 * its destination, then true; the caller computes its hints again, and turns it if it came over a
 * link. `injected`: it has not left its source, or the unit that injected it again.
 */
bool emu_directory_visit(struct emu_directory *d, uint32_t node, uint32_t here,
			 struct emu_packet *p, bool injected, uint64_t now);

/* Return the time that the look-up of an injected packet takes: ps in the modes that have a table
 * there, else 0.
 */
uint64_t emu_directory_inject_ps(const struct emu_directory *d, const struct emu_packet *p,
				 uint32_t ps);
/* Note that a router turns the packet to channel 3. */
void emu_directory_turn(struct emu_directory *d, struct emu_packet *p);

/* A packet to an address has arrived at its destination. */
enum emu_arrival emu_directory_arrive(struct emu_directory *d, uint32_t node, uint32_t here,
				      struct emu_packet *p, uint64_t now);

/* The packet, an access, has reached the memory of the node, or has waited. Returns RESEND if it is
 * the answer now, else WAIT or DELIVER. */
enum emu_arrival emu_directory_access(struct emu_directory *d, uint32_t node, uint32_t here,
				      struct emu_packet *p);

struct emu_directory_stat emu_directory_stat(const struct emu_directory *d);
/* Return the word of counter i, or NULL past the end. */
const char *emu_directory_counter(const struct emu_directory_stat *s, unsigned i, uint64_t *value,
				  const char **meaning);

/* For tests: returns what the tables of a node say, or EMU_ADDRESS_NOBODY if they say nothing. */
uint32_t emu_directory_cached(const struct emu_directory *d, uint32_t node, uint64_t key);
uint32_t emu_directory_home(const struct emu_directory *d, uint32_t node, uint64_t key);
enum emu_bind emu_directory_bound(const struct emu_directory *d, uint32_t node, uint64_t key);

#endif
