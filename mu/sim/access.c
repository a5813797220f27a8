/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A messaging unit carries out a put, get or atomic operation to an address (emu/directory.h). The
 * owner of the block does not run meanwhile, so reading the lease and accessing the block are one
 * step, and the unit holds no pin that a move would have to wait for.
 */
#include <stddef.h>
#include <string.h>

#include "emu/access.h"
#include "emu/directory.h"
#include "emu/hw_packet.h"
#include "mu/process.h"
#include "mu/sim/state.h"

void sim_address_answer(struct mu_sim *s, struct emu_packet *p, uint32_t owner)
{
	const struct emu_access *x = (const void *)p->payload;

	p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination =
	    mu_host_entry(s->host, p->task)->coords;
	p->hdr.messageUnitHeader.Packet_Types.Memory_FIFO.Rec_FIFO_Id = x->back & 511;
	p->task = owner;
}

void sim_access_expect(void *arg, uint32_t task, int change)
{
	struct mu_sim *s = arg;

	s->task[mu_host_entry(s->host, task)->local].direct += (uint32_t)change;
}

/* The value before takes the place of the operands. */
static int run_atomic(struct mu_sim *s, uint32_t local, uint64_t va, enum emu_access_kind kind,
		      unsigned char *data)
{
	struct emu_operands o;
	uint64_t old, next;
	int rc = sim_read(s, local, &old, va, sizeof(old));

	memcpy(&o, data, sizeof(o));
	memcpy(data, &old, sizeof(old));
	next = emu_access_next(kind, old, &o);
	return rc ? rc : sim_write(s, local, va, &next, sizeof(next));
}

/* Returns 0, or an error if the memory is not there. */
static int run_access(struct mu_sim *s, uint32_t local, uint64_t memory, const struct emu_access *x,
		      unsigned char *data)
{
	if (x->a.state == EMU_ACCESS_PUT)
		return sim_write(s, local, memory + x->a.to, data, x->bytes);
	if (x->a.state == EMU_ACCESS_GET)
		return sim_read(s, local, data, memory + x->a.to, x->bytes);
	return run_atomic(s, local, memory + x->a.to, (enum emu_access_kind)x->a.state, data);
}

/* Does the packet hold what the access needs, and has it room for what the answer brings? */
static bool is_sound(const struct emu_access *x, const struct emu_packet *p)
{
	if (x->a.state == EMU_ACCESS_LONG_PUT)
		return x->bytes && p->bytes >= sizeof(*x) + sizeof(struct emu_operands);
	if (emu_access_is_atomic(x))
		return x->bytes == 8 && x->a.to % 8 == 0 &&
		       p->bytes >= sizeof(*x) + sizeof(struct emu_operands);
	return x->bytes <= MU_PACKET_BYTES - sizeof(*x) &&
	       (x->a.state == EMU_ACCESS_GET || p->bytes >= sizeof(*x) + x->bytes);
}

/* Write the part of the lease that the unit changes. */
static void write_lease(struct mu_sim *s, uint32_t local, uint64_t lease, const struct emu_lease *l)
{
	sim_write(s, local, lease + offsetof(struct emu_lease, word), &l->word, sizeof(l->word));
	sim_write(s, local, lease + offsetof(struct emu_lease, uses), &l->uses,
		  3 * sizeof(l->uses)); /* uses, voter, votes */
}

enum emu_arrival sim_access(void *arg, uint32_t task, uint64_t lease, struct emu_packet *p)
{
	struct mu_sim *s = arg;
	const struct emu_access *x = (const void *)p->payload;
	uint32_t local = mu_host_entry(s->host, task)->local;
	unsigned char *data = p->payload + sizeof(*x);
	struct emu_lease l;

	if (s->task[local].state == SIM_TASK_LEFT || s->task[local].dead || !is_sound(x, p))
		return EMU_ARRIVAL_DELIVER;
	sim_write_pending(s, local);
	if (sim_read(s, local, &l, lease, sizeof(l)) || !emu_access_is_inside(&l, x))
		return EMU_ARRIVAL_DELIVER;
	switch (l.word >> 32) {
	case EMU_BIND_OWNED:
		break;
	case EMU_BIND_HOLD: /* The block arrives. */
	case EMU_BIND_GONE: /* It has left, and the table is about to say where it went. */
		return EMU_ARRIVAL_WAIT;
	default:
		return EMU_ARRIVAL_DELIVER;
	}
	emu_lease_vote(&l, p->task);
	if (x->a.state == EMU_ACCESS_LONG_PUT) {
		if (!sim_long_put_open(s, local, lease, &l, p))
			return EMU_ARRIVAL_DELIVER;
		write_lease(s, local, lease, &l);
		return EMU_ARRIVAL_RESEND;
	}
	if (run_access(s, local, l.memory, x, data))
		return EMU_ARRIVAL_DELIVER;
	write_lease(s, local, lease, &l);
	p->bytes = (uint32_t)sizeof(*x) + (x->a.state == EMU_ACCESS_PUT ? 0 : x->bytes);
	if (x->a.state != EMU_ACCESS_GET)
		sim_wake(s, local);
	sim_address_answer(s, p, task);
	return EMU_ARRIVAL_RESEND;
}
