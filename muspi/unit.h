/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private: the messaging unit of this process, as programs see it through its registers. It sits on
 * one channel of mu/, through which raw packets (mu/raw.h) come and go.
 *
 * There are three locks. The holder of `pump` runs the injection side and is the user thread of the
 * channel: the unit's own thread, or a thread of the program in a hook (unit.c). `memory` protects
 * what arriving packets change besides the program's memory; the engine of the channel calls
 * on_raw() in any thread. A thread takes pump before memory. `interrupts` is held for a few
 * instructions, inside of both.
 */
#ifndef MUSPI_UNIT_H
#define MUSPI_UNIT_H

#include <stdbool.h>
#include <stddef.h>

#include "mu/lock.h"
#include "mu/raw.h"
#include "mu/transport/circle.h"
#include "quintorus_spi.h"

/* Exported: its name must be seen outside libpami. */
#define UNIT_API __attribute__((visibility("default")))

#define UNIT_SUBGROUPS 68u
#define UNIT_USERS     66u /* subgroups that programs may have: the kernel keeps 66 and 67 */
#define UNIT_FLIGHTS   32u /* descriptors of one FIFO in flight */

enum unit_rule {
#define RULE(name, text) RULE_##name,
#include "muspi/rules.def"
#undef RULE
	UNIT_RULES
};

/*
 * Kinds of raw packets. A router delivers results; it turns a result into a mismatch. A count
 * consists of the header of a put, whose payload another process of the node received, and the
 * number of bytes of that payload.
 */
enum unit_kind { UNIT_PLAIN, UNIT_TREE, UNIT_RESULT, UNIT_RESULT_MISMATCH, UNIT_COUNT };

/* A packet that waits: for room, or for the pump to handle it. */
struct unit_packet {
	struct unit_packet *next;
	uint32_t source, bytes;
	MUHWI_PacketHeader_t header;
	_Alignas(16) unsigned char payload[];
};
struct unit_list {
	struct unit_packet *first, **last;
};

struct unit_inj;
struct unit_flight {
	struct mu_op op;
	struct unit_inj *fifo;
	void *heap;     /* payload of ours, to be freed */
	uint32_t parts; /* sends not done yet */
	bool used;
};

/* Where the kernel put a FIFO. The program can store to the registers that say so. */
struct unit_place {
	uint64_t start, size;
};

struct unit_inj {
	MUHWI_Fifo_t *hw;
	struct unit_place place;
	MUHWI_InjFifo_t *count;
	uint16_t id; /* of the node */
	bool is_rget, is_active, is_set, interrupts;
	bool was_above; /* of the threshold */
	uint64_t issue; /* address of the next descriptor to start */
	uint64_t sent;  /* of it: bytes (collective), or targets (deposit) that are done */
	uint32_t first, count_flights;
	unsigned pin;  /* of those in flight */
	uint32_t turn; /* among the bits of a map */
	struct unit_flight flight[UNIT_FLIGHTS];
	struct unit_list waits; /* memory: gets that found the FIFO full */
};

struct unit_rec {
	MUHWI_Fifo_t *hw;
	struct unit_place place;
	uint16_t id;
	bool is_set, is_enabled, on_threshold, on_arrival;
	bool was_below;
	struct mu_full_watch full; /* strict */
	struct unit_list waits;    /* packets that found it full or disabled */
};

/* The four register pages of a group; their status registers are those of the first. */
struct unit_group {
	_Alignas(4096) unsigned char page[4][4096];
};

struct unit {
	bool is_attached;
	const struct mu_job *job;
	struct mu_channel *ch;
	unsigned channel;
	struct mu_node_table *table;
	struct mu_spinlock pump, memory, interrupts;
	atomic_u32 pumping;                                        /* 1 + the thread that pumps */
	ATOMIC(struct unit_group *) group[UNIT_SUBGROUPS / 4 + 1]; /* NULL: not used */
	struct unit_inj *inj[MU_TABLE_INJ];
	struct unit_rec *rec[MU_TABLE_REC];
	uint16_t active[MU_TABLE_INJ]; /* pump: ids of active injection FIFOs */
	uint32_t actives;
	uint32_t flights;       /* pump: sends in flight */
	uint32_t contributions; /* pump: those of them that wait for routers */
	uint32_t waiting;       /* memory: packets in lists `waits` */
	struct unit_list work;  /* memory: for the pump */
	uint64_t threshold_inj, threshold_rget, threshold_rec;
	uint64_t refused[UNIT_RULES];
	uint64_t sum[16]; /* injection checksums */
	bool is_strict;
};
extern struct unit unit;

/* 0, or a positive errno (logged). Any thread. */
int unit_attach(void);
/* Do the registers that name the place of a FIFO still say it? Say so if not. */
bool unit_check_place(const MUHWI_Fifo_t *hw, const struct unit_place *place);
/* The same without a word. */
static inline bool unit_is_in_place(const MUHWI_Fifo_t *hw, const struct unit_place *place)
{
	return hw->pa_start == place->start && hw->size_1 + 1 == place->size;
}

/* Have the pump run soon. Any thread, under any lock. */
void unit_wake(void);
/* Lock and unlock the pump, waiting for it. */
void unit_lock(void);
void unit_unlock(void);
/* pump locked: one round. Returns events. */
int unit_pump(void);

/* Count a broken rule, and log what becomes of the packet or descriptor, field, value and rule. */
void unit_refuse(enum unit_rule rule, const char *field, uint64_t value);

/* Return the registers of a subgroup, or NULL if there is no memory. */
unsigned char *unit_page(unsigned subgroup);
MUHWI_InjFifoStatus_t *unit_status(unsigned group);
/* T of the process to which packets for a resource of this subgroup are sent first. */
unsigned unit_owner_of(unsigned subgroup);
void unit_raise(unsigned group, uint64_t bits);
/* The interrupts of a group that are pending, after the program's last store to its clear register.
 */
uint64_t unit_get_interrupts(unsigned group);

/* inject.c, pump locked */
int unit_inject(void);
void unit_activate(struct unit_inj *f, bool on);
/* Send a copy of a packet. 0, or -EAGAIN ... */
int unit_send_copy(uint32_t task, unsigned kind, const MUHWI_PacketHeader_t *h, const void *data,
		   uint32_t bytes);

/* Hand a contribution to the router of the node: 0, or -EAGAIN. The route is programmed. */
int unit_send_contribution(const MUHWI_PacketHeader_t *h, const void *data, uint32_t bytes);

/* receive.c */
int unit_on_raw(void *arg, uint32_t source, unsigned kind, const MUHWI_PacketHeader_t *h,
		const unsigned char *payload, uint32_t bytes);
/* memory locked: a packet that this node receives. 0, or -EAGAIN: nothing was done with it, since
 * there is no memory, or since FIFOs are strict, its own is full and may_refuse. */
int unit_receive(uint32_t source, const MUHWI_PacketHeader_t *h, const unsigned char *payload,
		 uint32_t bytes, bool may_refuse);
int unit_refill(void);
void unit_forget_pages(void);
/* L2 atomics of the MU: the word's old value. 0, or -EFAULT. */
int unit_atomic_load(uint64_t address, uint64_t *value);
int unit_list_add(struct unit_list *list, uint32_t source, const MUHWI_PacketHeader_t *h,
		  const void *payload, uint32_t bytes);
struct unit_packet *unit_list_take(struct unit_list *list);
/* memory locked: hand a packet to the pump. 0, or -EAGAIN: there is no memory. */
int unit_work_add(unsigned kind, uint32_t source, const MUHWI_PacketHeader_t *h,
		  const void *payload, uint32_t bytes);

/* tree.c, pump locked */
void unit_tree_start(void);
int unit_tree_work(const struct unit_packet *p);
int unit_tree_run(void);
/* The local contribution to a collective packet. 0, -EAGAIN: too many wait, or a refusal. */
int unit_tree_contribute(const MUHWI_PacketHeader_t *h, const unsigned char *payload,
			 uint32_t bytes);
bool unit_tree_is_busy(void);

/* wakeup.c */
void unit_handlers_run(void);

#endif
