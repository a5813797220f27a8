/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exhaustive search of a moving block: up to four ranks, one block, several movers, a request that
 * starts with any old idea of the owner, a pin, and a rank that dies at any step. The transitions
 * are the functions of agas/move/protocol.c themselves; this file has the channels (in order from
 * one rank to another, nothing between different pairs), the program, and what must hold:
 *
 *	always   at most one living rank OWNS the block, and versions there grow
 *	         a request takes effect where the block is OWNED, once; an answer says so
 *	         no data leaves while a pin is held
 *	at end   no rank waits: all moves and requests were answered, also with a death
 *	         home names the owner, or says that the data was lost with the rank that died
 *
 * A request is carried out at once, or over time like a long put: its first packet pins the block,
 * its last one unpins it, and what follows from the last pin comes later, under the lock.
 *
 * Or units carry it out without software (emu/directory.h). The table of a unit follows what its
 * software says at any later time, so it may say that the block is here long after it has left, or
 * when it has come back into other memory. The unit believes the lease, and nothing in its table.
 * It learns the lease when the block begins to arrive. A request that finds the block arriving or
 * gone waits in the unit, for any time, and then goes to the unit once more, or to software.
 *
 * Or a unit carries out a long put (emu/long_put.h, whose functions run here, too): it pins the
 * block, asks the unit of the source for two packets, and unpins the block after them, or has its
 * software do so. If the source dies, the packets under way arrive or not, before or after the unit
 * and the software of each rank learn of the death, which they do in any order.
 *
 * Or the source, a task of the owner's host, carries it out by itself (emu/near_access.h, whose
 * functions run here, too), if the lease that a table names is still that of the owner. It may name
 * any rank at any time, whether the network's tables or the cache of the source led there.
 *
 * Each rank notes to which rank it sent the request on, and tells the source if that one dies.
 *
 * What a dead rank sent arrives up to some message and not beyond it. Planted defects: with one
 * line of the protocol left out the search must find a violation.
 *
 *   usage: agas_move [--trace]
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NO_DEFECT,
	PINS,
	SERIAL,
	REVOKE,
	PARK,
	MISLED,
	LONG_PIN,
	NOTES,
	UNIT_STATE,
	UNIT_MEMORY,
	UNIT_WAITS,
	UNIT_PIN,
	UNIT_UNPIN,
	LATE_DATA,
	DEAD_SOURCE,
	UNIT_DEATH,
	ASKED_BACK,
	NEAR_ENTER,
	NEAR_STATE,
	NEAR_CLAIM,
	NEAR_DEATH,
	DEFECTS
};
static int defect;
#define AGAS_DEFECT(line) (defect == (line))
#define EMU_DEFECT(line)  (defect == (line))
#include "agas/move/protocol.c"
#include "emu/long_put.h"
#include "emu/near_access.h"
#include "tests/model/state_set.h"

#define RANKS    4
#define MOVES    3
#define CHANNEL  6
#define WAITERS  4
#define NOBODY   7
#define REQUEST  AGAS_MOVE_KINDS
#define ANSWER   (AGAS_MOVE_KINDS + 1)
#define END_NEAR (AGAS_MOVE_KINDS + 2)
#define PACKETS  2 /* of a long put by units */

struct message {
	uint32_t kind : 5, rank : 4, token : 3, version : 6, error : 5, hops : 5, flags : 4;
};
_Static_assert(sizeof(struct message) == 4, "a state has many");

struct small_block {
	uint8_t state, pins, owner, version, pull, old, waiters, parked, hops, flags;
	uint8_t rank[WAITERS], token[WAITERS];
};

struct state {
	struct small_block b[RANKS];
	struct {
		uint8_t owner, from, version, moving, revoking, lost, queued, queue[WAITERS];
	} h;
	uint8_t length[RANKS][RANKS];
	struct message at[RANKS][RANKS][CHANNEL];
	uint8_t move[MOVES]; /* 0: not begun, 1: begun, 2: answered */
	/* 0: not begun, 1: under way, 2: answered, 3: refused, 4: to retry, 5: lost in a death */
	uint8_t request;
	uint8_t sent_to;        /* the rank that got the request first */
	uint8_t sent_on[RANKS]; /* 1 + the rank to which a rank sent it on; 0: none */
	uint8_t writer;         /* 1 + the rank at which the request's payload is arriving */
	uint8_t released;       /* bits: ranks whose last pin went, with the rest to come */
	uint8_t effects;        /* how often the request took effect */
	/* Number of the memory of the block at each rank, 0: none; as the unit was told, and as the
	 * unit knows. */
	uint8_t memory[RANKS], told[RANKS], unit[RANKS], memories;
	/* 1 + the rank in whose unit the request waits, and what it brings for software. */
	uint8_t unit_waits, waits_hops, waits_flags;
	/* A long put by units. 1 + the rank whose unit has opened a record, and the memory that the
	 * record names; packets to come; is the remote get under way; packets under way. */
	uint8_t writer_unit, writer_memory, left, closed, fetch, packets;
	uint8_t opened; /* 1 + the rank to which these packets go */
	uint8_t end;    /* 1 + the rank whose software has END to take; with end_failed */
	uint8_t end_failed;
	/* A near access: its step, is its effect there, its slot, the memory that it accesses. */
	uint8_t near, near_done, slot, near_memory;
	uint8_t unit_seen;      /* bits: ranks whose units know of the death */
	uint8_t dead, seen;     /* NOBODY or a rank; bits: ranks that know */
	uint8_t pins_left, top; /* pins that the program still takes; highest version owned */
};

struct conf {
	unsigned ranks, owner, moves, mover[MOVES], target[MOVES], source, hint, pins, victim;
	bool request;
	bool lasts; /* the payload of the request arrives over time */
	bool units; /* units carry out the request */
	bool near;  /* the source carries it out by itself */
};

static struct conf conf;
static struct state now;
static struct state_set reached = {.bytes = sizeof(struct state)};
static const char *violation;
static unsigned long total, searches;

static void note_violation(const char *what)
{
	if (!violation)
		violation = what;
}

/* ---- one rank's records, as the protocol sees them ---- */

static struct agas_block block;
static struct agas_home home;
static struct agas_waiter block_waiters[WAITERS], home_waiters[WAITERS];
static struct agas_party party;
static struct agas_out out;
static struct agas_move_msg loop[16];
static unsigned loops, looped;
static uint32_t at_rank;

static uint32_t claim_near(struct agas_block *b);

static bool is_dead(uint32_t rank)
{
	return rank == now.dead && (now.seen >> at_rank & 1);
}

static bool is_alive(unsigned r)
{
	return r != now.dead;
}

static void channel_add(unsigned from, unsigned to, struct message m)
{
	if (to == now.dead || from == now.dead)
		return;
	if (now.length[from][to] == CHANNEL) {
		note_violation("a channel is longer than the model has room for");
		return;
	}
	now.at[from][to][now.length[from][to]++] = m;
}

static void send_out(struct agas_out *o, const struct agas_move_msg *m)
{
	struct message c = {.kind = m->kind,
			    .rank = m->rank & 15,
			    .token = m->token & 7,
			    .version = m->version & 63,
			    .error = m->error & 31};

	(void)o;
	if (m->kind == AGAS_DATA && (block.word.plain & AGAS_PINS))
		note_violation("the data leaves while it is pinned");
	if (m->kind == AGAS_DONE_MOVER && m->peer == at_rank)
		now.move[m->token] = 2;
	else if (m->peer == at_rank)
		loop[loops++] = *m;
	else
		channel_add(at_rank, m->peer, c);
}

static void load_rank(unsigned r)
{
	const struct small_block *b = &now.b[r];
	unsigned i;

	at_rank = r;
	memset(&block, 0, sizeof(block));
	block.word.plain = (uint64_t)b->state << 32 | b->pins;
	block.owner = b->owner;
	block.version = b->version;
	block.pull = b->pull;
	block.old = b->old;
	block.waiters = (struct agas_waiters){block_waiters, b->waiters, WAITERS};
	for (i = 0; i < b->waiters; i++)
		block_waiters[i] = (struct agas_waiter){b->rank[i], b->token[i]};
	home = (struct agas_home){.owner = now.h.owner,
				  .from = now.h.from,
				  .version = now.h.version,
				  .moving = now.h.moving,
				  .revoking = now.h.revoking,
				  .lost = now.h.lost,
				  .queue = {home_waiters, now.h.queued, WAITERS}};
	for (i = 0; i < now.h.queued; i++)
		home_waiters[i] = (struct agas_waiter){now.h.queue[i], 0};
	party = (struct agas_party){
	    .me = r, .home_rank = 0, .block = &block, .home = r ? NULL : &home, .is_dead = is_dead};
	party.claim = conf.near ? claim_near : NULL;
	out = (struct agas_out){.send = send_out};
	loops = looped = 0;
}

static void take_effect(void)
{
	enum agas_state state = agas_block_state(&block);

	now.effects++;
	if (now.effects > 1)
		note_violation("a request took effect twice");
	if (state != AGAS_OWNED && !(conf.lasts && state == AGAS_MOVING_OUT))
		note_violation("a request took effect where the block is not owned");
}

static void request_end(uint8_t error)
{
	if (now.request != 1)
		return; /* a death has ended it */
	now.request = error == AGAS_WHY_RETRY ? 4 : error == AGAS_WHY_LOST ? 5 : error ? 3 : 2;
}

static void answer_request(uint8_t error)
{
	struct message m = {.kind = ANSWER, .error = error};

	if (at_rank == conf.source)
		request_end(error);
	else
		channel_add(at_rank, conf.source, m);
}

static void pin_release(void)
{
	if (agas_block_unpin(&block))
		now.released |= (uint8_t)(1u << at_rank);
}

/* The last packet of the payload. */
static void write_end(void)
{
	now.writer = 0;
	take_effect();
	if (defect != LONG_PIN)
		pin_release();
	answer_request(0);
}

static void send_on(uint32_t to, struct message m)
{
	if (is_dead(to)) {
		answer_request(AGAS_WHY_LOST);
		return;
	}
	now.sent_on[at_rank] = (uint8_t)(to + 1);
	channel_add(at_rank, to, m);
}

/* A request is at the loaded rank. */
static void route_request(uint8_t hops, uint8_t flags)
{
	struct agas_hop hop = {.hops = hops, .flags = flags};
	struct message m = {.kind = REQUEST};

	switch (agas_route_choose(&party, &hop)) {
	case AGAS_DELIVER:
		if (conf.lasts) {
			now.writer = (uint8_t)(at_rank + 1);
			if (defect != LONG_PIN && !agas_block_pin(&block))
				note_violation("a block that is here could not be pinned");
			break;
		}
		take_effect();
		answer_request(0);
		break;
	case AGAS_PARK:
		if (now.b[at_rank].parked)
			note_violation("parked twice");
		now.b[at_rank].parked = 1;
		now.b[at_rank].hops = hops;
		now.b[at_rank].flags = flags;
		break;
	case AGAS_FORWARD:
		m.hops = hop.hops;
		m.flags = hop.flags;
		if (hop.to == at_rank)
			note_violation("a rank forwards a request to itself");
		send_on(hop.to, m);
		break;
	case AGAS_REFUSE:
		if (hop.error == AGAS_WHY_LOOP)
			note_violation("a request was forwarded too often");
		if (hop.error == AGAS_WHY_UNMAPPED)
			note_violation("home does not know the block");
		answer_request(hop.error);
		break;
	}
}

static void store_rank(void);
static void finish_event(void);
static void request_begin(unsigned first);
#include "tests/model/agas_long_put.h"
#include "tests/model/agas_near.h"
#include "tests/model/agas_unit.h"

static void store_rank(void)
{
	struct small_block *b = &now.b[at_rank];
	unsigned i;

	tell_unit((enum agas_state)b->state);
	b->state = (uint8_t)(block.word.plain >> 32);
	b->pins = (uint8_t)block.word.plain;
	b->owner = (uint8_t)block.owner;
	b->version = (uint8_t)block.version;
	b->pull = block.pull;
	b->old = (uint8_t)block.old;
	b->waiters = (uint8_t)block.waiters.count;
	memset(b->rank, 0, sizeof(b->rank));
	memset(b->token, 0, sizeof(b->token));
	for (i = 0; i < b->waiters; i++) {
		b->rank[i] = (uint8_t)block_waiters[i].rank;
		b->token[i] = (uint8_t)block_waiters[i].token;
	}
	if (at_rank)
		return;
	memset(&now.h, 0, sizeof(now.h));
	now.h.owner = (uint8_t)home.owner;
	now.h.from = (uint8_t)home.from;
	now.h.version = (uint8_t)home.version;
	now.h.moving = home.moving;
	now.h.revoking = home.revoking;
	now.h.lost = home.lost;
	now.h.queued = (uint8_t)home.queue.count;
	for (i = 0; i < home.queue.count; i++)
		now.h.queue[i] = (uint8_t)home_waiters[i].rank;
}

/* What the library does after each event, and before the next. */
static void finish_event(void)
{
	while (looped < loops) {
		struct agas_move_msg m = loop[looped++];

		m.peer = at_rank;
		agas_move_step(&party, &m, &out);
	}
	if (now.b[at_rank].parked && agas_block_state(&block) != AGAS_INCOMING) {
		now.b[at_rank].parked = 0;
		route_request(now.b[at_rank].hops, now.b[at_rank].flags);
		now.b[at_rank].hops = now.b[at_rank].flags = 0;
	}
	store_rank();
}

/* ---- events ---- */

static void message_take(unsigned from, unsigned to)
{
	struct message m = now.at[from][to][0];
	struct agas_move_msg full = {.peer = from,
				     .rank = m.rank,
				     .token = m.token,
				     .version = m.version,
				     .kind = m.kind,
				     .error = m.error};
	unsigned left = --now.length[from][to];

	memmove(&now.at[from][to][0], &now.at[from][to][1], left * sizeof(m));
	memset(&now.at[from][to][left], 0, sizeof(m));
	load_rank(to);
	if (m.kind == REQUEST) {
		take_request(m.hops, m.flags);
	} else if (m.kind == ANSWER) {
		request_end(m.error);
	} else if (m.kind == END_NEAR) {
		release_near();
	} else if (m.kind == AGAS_DONE_MOVER) {
		now.move[m.token] = 2;
	} else {
		agas_move_step(&party, &full, &out);
	}
	finish_event();
}

static void move_begin(unsigned i)
{
	struct agas_move_msg m = {.kind = AGAS_MOVE, .token = i, .peer = conf.mover[i]};
	struct message c = {.kind = AGAS_MOVE, .token = (uint8_t)i};

	now.move[i] = 1;
	load_rank(conf.mover[i]);
	if (is_dead(conf.target[i])) {
		now.move[i] = 2;
	} else if (conf.target[i] == conf.mover[i]) {
		agas_move_step(&party, &m, &out);
	} else {
		channel_add(conf.mover[i], conf.target[i], c);
	}
	finish_event();
}

static void request_begin(unsigned first)
{
	struct message m = {.kind = REQUEST};

	if (conf.near && !now.request && conf.hint != conf.source) {
		near_begin();
		return;
	}
	now.request = 1;
	now.sent_to = (uint8_t)first;
	load_rank(conf.source);
	if (first == conf.source)
		route_request(0, 0);
	else if (is_dead(first))
		request_end(AGAS_WHY_LOST);
	else
		channel_add(conf.source, first, m);
	finish_event();
}

static void death_notice(unsigned r)
{
	unsigned i;

	now.seen |= (uint8_t)(1u << r);
	load_rank(r);
	agas_move_death(&party, now.dead, &out);
	finish_event();
	load_rank(r);
	near_death();
	finish_event();
	if (now.sent_on[r] == now.dead + 1 && defect != NOTES)
		answer_request(AGAS_WHY_LOST);
	if (r == conf.source && now.sent_to == now.dead)
		request_end(AGAS_WHY_LOST);
	for (i = 0; i < conf.moves; i++)
		if (conf.mover[i] == r && conf.target[i] == now.dead && now.move[i] == 1)
			now.move[i] = 2;
}

static void kill_victim(void)
{
	unsigned r;

	now.dead = (uint8_t)conf.victim;
	for (r = 0; r < conf.ranks; r++) {
		now.length[r][now.dead] = 0;
		memset(now.at[r][now.dead], 0, sizeof(now.at[r][0]));
	}
	memset(&now.b[now.dead], 0, sizeof(now.b[0]));
	now.released &= (uint8_t) ~(1u << now.dead);
	now.sent_on[now.dead] = 0;
	now.memory[now.dead] = now.told[now.dead] = now.unit[now.dead] = 0;
	if (now.writer == now.dead + 1)
		now.writer = 0;
	if (now.unit_waits == now.dead + 1)
		now.unit_waits = now.waits_hops = now.waits_flags = 0;
	if (now.writer_unit == now.dead + 1)
		now.writer_unit = now.left = 0;
	if (now.end == now.dead + 1)
		now.end = now.end_failed = 0;
	if (now.opened == now.dead + 1)
		now.packets = now.fetch = 0;
	if (conf.source == now.dead)
		now.fetch = 0;
	if (now.dead == 0)
		memset(&now.h, 0, sizeof(now.h));
}

/* Make transition number n of the present state. False: there is no such transition. */
static bool make_step(unsigned n)
{
	unsigned i, k;

	for (i = 0; i < conf.ranks; i++)
		for (k = 0; k < conf.ranks; k++)
			if (now.length[i][k] && !n--) {
				message_take(i, k);
				return true;
			}
	for (i = 0; i < conf.moves; i++)
		if (!now.move[i] && is_alive(conf.mover[i]) && !n--) {
			move_begin(i);
			return true;
		}
	if (conf.request && !now.request && is_alive(conf.source) && !n--) {
		request_begin(conf.hint);
		return true;
	}
	if (now.request == 4 && is_alive(conf.source) && !n--) {
		request_begin(0);
		return true;
	}
	for (i = 0; i < conf.ranks; i++) {
		if (now.pins_left && is_alive(i) && now.b[i].state == AGAS_OWNED && !n--) {
			load_rank(i);
			now.pins_left--;
			agas_block_pin(&block);
			finish_event();
			return true;
		}
		if (now.b[i].pins > unit_pins(i) + near_pins(i) + (now.writer == i + 1) &&
		    is_alive(i) && !n--) {
			load_rank(i);
			pin_release();
			finish_event();
			return true;
		}
		if (now.writer == i + 1 && !n--) {
			load_rank(i);
			write_end();
			finish_event();
			return true;
		}
		if (now.unit[i] != now.told[i] && !n--) {
			now.unit[i] = now.told[i];
			return true;
		}
		if ((now.released >> i & 1) && !n--) {
			load_rank(i);
			now.released &= (uint8_t) ~(1u << i);
			agas_move_drained(&party, &out);
			finish_event();
			return true;
		}
	}
	if (now.unit_waits && make_waiting_step(&n))
		return true;
	if (conf.units && conf.lasts && make_unit_step(&n))
		return true;
	if (conf.near && make_near_step(&n))
		return true;
	if (now.dead == NOBODY && conf.victim != NOBODY && !n--) {
		kill_victim();
		return true;
	}
	for (i = 0; now.dead != NOBODY && i < conf.ranks; i++) {
		if (!is_alive(i))
			continue;
		if (now.length[now.dead][i] && !n--) { /* The rest does not arrive. */
			now.length[now.dead][i] = 0;
			memset(now.at[now.dead][i], 0, sizeof(now.at[0][0]));
			return true;
		}
		if (!now.length[now.dead][i] && !(now.seen >> i & 1) && !n--) {
			death_notice(i);
			return true;
		}
	}
	return false;
}

/* ---- what must hold ---- */

static void check_always(void)
{
	unsigned r, owners = 0;

	for (r = 0; r < conf.ranks; r++) {
		if (!is_alive(r) || now.b[r].state != AGAS_OWNED)
			continue;
		owners++;
		if (now.b[r].version < now.top)
			note_violation("an older version of the block came to life");
		now.top = now.b[r].version;
	}
	if (owners > 1)
		note_violation("two ranks own the block");
	if (now.request == 2 && now.effects != 1)
		note_violation("an answer without effect");
	if (now.request == 3 && now.effects)
		note_violation("a refused request took effect");
}

static void check_end(void)
{
	unsigned r, owner = NOBODY;

	for (r = 0; r < conf.ranks; r++) {
		if (!is_alive(r))
			continue;
		if (now.b[r].state == AGAS_OWNED)
			owner = r;
		if (now.b[r].state == AGAS_INCOMING || now.b[r].state == AGAS_MOVING_OUT)
			note_violation("at the end a rank waits for data or a pin");
		if (now.b[r].pull || now.b[r].waiters)
			note_violation("at the end a move is under way");
		if (now.b[r].parked)
			note_violation("at the end a request is parked");
		if (now.b[r].pins && defect != LONG_PIN)
			note_violation("at the end a block is pinned");
	}
	for (r = 0; r < conf.moves; r++)
		if (now.move[r] == 1 && is_alive(conf.mover[r]))
			note_violation("at the end a mover waits");
	if (now.dead == NOBODY && conf.request && now.request != 2)
		note_violation("at the end a request waits, or was refused without a death");
	if (now.request == 1 && is_alive(conf.source))
		note_violation("at the end a request waits for an answer that no rank will send");
	if (now.dead == NOBODY && owner == NOBODY)
		note_violation("nobody owns the block");
	if (!is_alive(0))
		return;
	if (now.h.moving || now.h.revoking || now.h.queued)
		note_violation("at the end home has a move under way");
	if (now.h.lost ? owner != NOBODY : now.h.owner != owner)
		note_violation("home does not name the owner");
}

/* ---- the search ---- */

static void print_trace(uint32_t at)
{
	uint32_t path[256], n = 0;

	for (; n < 256 && at != UINT32_MAX; at = reached.parent[at])
		path[n++] = at;
	while (n--) {
		const struct state *s = state_set_get(&reached, path[n]);
		unsigned i, k;

		printf("dead %u home(owner %u v%u moving %u lost %u)", s->dead, s->h.owner,
		       s->h.version, s->h.moving, s->h.lost);
		for (i = 0; i < conf.ranks; i++)
			printf(" [%u: state %u v%u ->%u pins %u pull %u]", i, s->b[i].state,
			       s->b[i].version, s->b[i].owner, s->b[i].pins, s->b[i].pull);
		for (i = 0; i < conf.ranks; i++)
			for (k = 0; k < conf.ranks; k++)
				if (s->length[i][k])
					printf(" %u>%u:%u(+%u)", i, k, s->at[i][k][0].kind,
					       s->length[i][k] - 1u);
		printf(" request %u\n", s->request);
	}
}

static void begin_state(void)
{
	unsigned r;

	memset(&now, 0, sizeof(now));
	now.dead = NOBODY;
	now.pins_left = (uint8_t)conf.pins;
	now.h.owner = (uint8_t)conf.owner;
	now.h.version = now.top = 1;
	for (r = 0; r < conf.ranks; r++)
		now.b[r].state = AGAS_NONE;
	now.b[conf.owner].state = AGAS_OWNED;
	now.b[conf.owner].owner = (uint8_t)conf.owner;
	now.b[conf.owner].version = 1;
	if (conf.units || conf.near)
		now.memory[conf.owner] = now.told[conf.owner] = now.unit[conf.owner] =
		    now.memories = 1;
}

static bool tracing;

/* The address sanitizer checks the code of a step, which all searches share. */
#ifdef __SANITIZE_ADDRESS__
enum { SEARCH_EACH = 8 };
#else
enum { SEARCH_EACH = 1 };
#endif

/* Search all states of conf; in a build with that sanitizer each 8th conf only, if the protocol has
 * no defect. True: no violation. */
static bool search_states(void)
{
	static unsigned long asked;
	uint32_t i;
	unsigned n;

	if (defect == NO_DEFECT && asked++ % SEARCH_EACH)
		return true;
	state_set_clear(&reached);
	violation = NULL;
	begin_state();
	state_set_add(&reached, &now, UINT32_MAX);
	for (i = 0; i < reached.count && !violation; i++) {
		for (n = 0;; n++) {
			memcpy(&now, state_set_get(&reached, i), sizeof(now));
			if (!make_step(n))
				break;
			check_always();
			state_set_add(&reached, &now, i);
			if (violation)
				break;
		}
		if (!n && !violation)
			check_end();
	}
	total += reached.count;
	searches++;
	if (violation && (defect == NO_DEFECT || tracing)) {
		printf(
		    "violation: %s (owner %u, moves %u, first %u to %u, second %u to %u, source %u "
		    "hint %u, victim %u)\n",
		    violation, conf.owner, conf.moves, conf.mover[0], conf.target[0], conf.mover[1],
		    conf.target[1], conf.source, conf.hint, conf.victim);
		if (tracing) {
			uint32_t before = reached.count;

			state_set_add(&reached, &now, i);
			print_trace(reached.count == before ? i : before);
		}
	}
	return !violation;
}

/* How the request is carried out. */
enum how { AT_ONCE, LASTS, BY_UNITS, LONG_BY_UNITS, NEAR };

static bool is_long(enum how how)
{
	return how == LASTS || how == LONG_BY_UNITS;
}

static bool is_by_units(enum how how)
{
	return how == BY_UNITS || how == LONG_BY_UNITS;
}

/* One mover in all roles; one request with any hint; a pin; any victim or none. */
static bool one_move(unsigned ranks, enum how how)
{
	unsigned o, m, t, s, hint, v;

	for (o = 0; o < ranks; o++)
		for (m = 0; m < ranks; m++)
			for (t = 0; t < ranks; t++)
				for (s = 0; s < ranks; s += 2)
					for (hint = 0; hint < ranks; hint++)
						for (v = 0; v <= ranks; v++) {
							conf = (struct conf){
							    .ranks = ranks,
							    .owner = o,
							    .moves = 1,
							    .mover = {m},
							    .target = {t},
							    .request = true,
							    .lasts = is_long(how),
							    .units = is_by_units(how),
							    .near = how == NEAR,
							    .source = s,
							    .hint = hint,
							    .pins = 1,
							    .victim = v == ranks ? NOBODY : v};
							if (!search_states())
								return false;
						}
	return true;
}

/* Two or three movers. */
static bool many_moves(unsigned ranks, unsigned moves, bool request, bool death, unsigned pins,
		       enum how how)
{
	unsigned o, a, b, v;

	for (o = 0; o < ranks; o++)
		for (a = 0; a < ranks * ranks; a++)
			for (b = 0; b < ranks * ranks; b++)
				for (v = death ? 0 : ranks; v <= ranks; v++) {
					conf = (struct conf){
					    .ranks = ranks,
					    .owner = o,
					    .moves = moves,
					    .mover = {a / ranks, b / ranks, o},
					    .target = {a % ranks, b % ranks, (o + 1) % ranks},
					    .request = request,
					    .lasts = is_long(how),
					    .units = is_by_units(how),
					    .near = how == NEAR,
					    .source = (o + 1) % ranks,
					    .hint = (o + 2) % ranks,
					    .pins = pins,
					    .victim = v == ranks ? NOBODY : v};
					if (!search_states())
						return false;
				}
	return true;
}

/*
 * Requests at rest: every rank that is not the owner remembers any other rank, and the request
 * starts anywhere. There are at most three forwards; with the defect MISLED, requests go round in
 * circles.
 */
static bool forwards_are_bounded(void)
{
	unsigned o, first, code, r, most = 0;

	for (o = 0; o < RANKS; o++)
		for (first = 0; first < RANKS; first++)
			for (code = 0; code < 256; code++) {
				uint8_t hops = 0, flags = 0;
				unsigned at = first;

				conf = (struct conf){.ranks = RANKS, .owner = o};
				begin_state();
				for (r = 1; r < RANKS; r++) {
					if (r == o)
						continue;
					now.b[r].state = AGAS_REMOTE;
					now.b[r].owner = code >> 2 * r & 3;
				}
				for (;;) {
					struct agas_hop hop = {.hops = hops, .flags = flags};
					enum agas_route way;

					load_rank(at);
					way = agas_route_choose(&party, &hop);
					if (way == AGAS_DELIVER)
						break;
					if (way != AGAS_FORWARD)
						return false;
					at = hop.to;
					hops = hop.hops;
					flags = hop.flags;
				}
				most = hops > most ? hops : most;
			}
	if (defect == NO_DEFECT)
		printf("at rest a request takes at most %u forwards\n", most);
	return most <= 3;
}

static bool long_puts_hold(void)
{
	return one_move(3, LONG_BY_UNITS) && many_moves(3, 2, true, true, 0, LONG_BY_UNITS);
}

static bool near_accesses_hold(void)
{
	return one_move(3, NEAR) && many_moves(3, 2, true, true, 0, NEAR);
}

static bool all_cases_hold(void)
{
	if (defect >= NEAR_ENTER)
		return near_accesses_hold();
	if (defect >= UNIT_PIN)
		return long_puts_hold(); /* No other case has these lines. */
	return forwards_are_bounded() && one_move(3, AT_ONCE) && one_move(3, LASTS) &&
	       one_move(3, BY_UNITS) && many_moves(3, 2, true, false, 1, AT_ONCE) &&
	       many_moves(3, 2, true, false, 0, LASTS) &&
	       many_moves(3, 2, true, false, 0, BY_UNITS) &&
	       many_moves(3, 2, false, true, 0, AT_ONCE) &&
	       (defect || (long_puts_hold() && near_accesses_hold()));
}

int main(int argc, char **argv)
{
	static const char *const name[DEFECTS] = {"none",
						  "pins are not waited for",
						  "home does not queue moves",
						  "moves are not revoked",
						  "requests are not parked",
						  "every stale rank forwards",
						  "a long put does not pin",
						  "no rank notes what it sent on",
						  "a unit believes the state in its table",
						  "a unit believes the memory in its table",
						  "a unit carries out what has waited",
						  "a long put by a unit does not pin",
						  "a unit unpins a block that leaves",
						  "a unit writes what comes too late",
						  "a unit opens for a dead source",
						  "a unit keeps the pin of a dead source",
						  "a block that was asked back waits for the dead",
						  "a near access does not name the lease",
						  "a near access does not read the state",
						  "the owner does not claim slots",
						  "the owner keeps the pin of a dead task"};
	bool ok;

	tracing = argc > 1 && !strcmp(argv[1], "--trace");
	ok = all_cases_hold() && one_move(4, AT_ONCE);
	printf("%lu searches, %lu states: %s\n", searches, total, ok ? "no violation" : "FAILED");
	/* The build without the sanitizer shows that the searches find defects. */
	for (defect = 1; defect < DEFECTS && ok && SEARCH_EACH == 1; defect++) {
		bool found = !all_cases_hold();

		printf("defect: %s: %s\n", name[defect], found ? "found" : "NOT FOUND");
		if (!found)
			ok = false;
	}
	state_set_free(&reached);
	return !ok;
}
