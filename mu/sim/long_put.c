/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long puts that messaging units carry out (emu/long_put.h has the protocol). A packet with the
 * access becomes a remote get whose descriptor is a direct put into the record; the last packet of
 * that put becomes the answer, or END.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "emu/long_put.h"
#include "mu/hw/desc_build.h"
#include "mu/process.h"
#include "mu/sim/state.h"

#define PUTS_MAX 4096u
#define RETRY_PS 1000000u /* no packet was free */

struct sim_long_put {
	struct emu_long_put put;
	uint32_t local, channel; /* of the owner */
	uint64_t lease, memory;
	MUHWI_PacketHeader_t hdr; /* of the answer */
	struct emu_access answer;
	uint32_t source; /* task */
	bool failed;
};

static bool is_over(const struct mu_sim *s, uint32_t task)
{
	const struct sim_task *t = &s->task[mu_host_entry(s->host, task)->local];

	return t->state == SIM_TASK_LEFT || t->how != MU_TASK_LIVES;
}

/* Find a free record. Returns NULL if there is none. */
static struct sim_long_put *get_record(struct mu_sim *s)
{
	for (uint32_t i = 0; i < s->long_puts; i++)
		if (!s->long_put[i].put.open)
			return &s->long_put[i];
	if (s->long_puts == PUTS_MAX)
		return NULL;
	if (!s->long_put && !(s->long_put = calloc(PUTS_MAX, sizeof(*s->long_put))))
		return NULL;
	return &s->long_put[s->long_puts++];
}

static void make_remote_get(struct mu_sim *s, const struct sim_long_put *w, struct emu_packet *p,
			    uint64_t from)
{
	const struct mu_task_entry *owner = mu_host_entry(s->host, s->task[w->local].task);
	struct mu_dest here = {owner->coords, mu_header_number(&p->hdr)};
	struct mu_dest source = {mu_host_entry(s->host, w->source)->coords, w->answer.back};
	_Alignas(64) MUHWI_Descriptor_t put, get;
	uint64_t record = (uint64_t)w->put.generation << 32 | (uint64_t)(w - s->long_put + 1);

	mu_desc_put(&put, from, w->answer.bytes, &here, 0, 0, 0);
	put.PacketHeader.NetworkHeader.pt2pt.Byte3.Byte3 |= MUHWI_PACKET_ADDRESSED;
	put.PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset = record;
	mu_desc_get(&get, 0, sizeof(put), &source);
	p->bytes = mu_packetize(&get, 0, &p->hdr);
	memcpy(p->payload, &put, sizeof(put));
	p->task = s->task[w->local].task;
}

bool sim_long_put_open(struct mu_sim *s, uint32_t local, uint64_t lease, struct emu_lease *l,
		       struct emu_packet *p)
{
	const struct emu_access *x = (const void *)p->payload;
	struct sim_long_put *w = s->strict_lines ? NULL : get_record(s);
	struct emu_operands o;

	if (!w || !emu_long_open(&w->put, l, x->bytes, is_over(s, p->task)))
		return false;
	memcpy(&o, p->payload + sizeof(*x), sizeof(o));
	w->local = local;
	w->channel = local * s->channels + mu_header_number(&p->hdr) % s->channels;
	w->lease = lease;
	w->memory = l->memory + x->a.to;
	w->hdr = p->hdr;
	w->answer = *x;
	w->source = p->task;
	w->failed = false;
	s->host->directory.long_puts++;
	make_remote_get(s, w, p, o.operand);
	return true;
}

bool sim_is_long_put(const MUHWI_PacketHeader_t *h)
{
	return h->NetworkHeader.pt2pt.Byte3.Byte3 & MUHWI_PACKET_ADDRESSED &&
	       mu_packet_type(h) == MUHWI_PACKET_TYPE_PUT && !mu_is_coll(h);
}

void sim_long_put_fail(MUHWI_PacketHeader_t *h)
{
	h->messageUnitHeader.Packet_Types.Direct_Put.Pacing = 1;
}

static bool has_failed(const MUHWI_PacketHeader_t *h)
{
	return h->messageUnitHeader.Packet_Types.Direct_Put.Pacing;
}

/* Find the record that a packet of a long put names. Returns NULL if it is closed. */
static struct sim_long_put *find_record(struct mu_sim *s, uint32_t channel,
					const struct emu_packet *p)
{
	uint64_t record = p->hdr.messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset;
	uint32_t i = (uint32_t)record - 1;
	struct sim_long_put *w = i < s->long_puts ? &s->long_put[i] : NULL;

	return w && emu_long_accepts(&w->put, (uint16_t)(record >> 32)) && w->channel == channel &&
		       p->bytes <= w->put.left &&
		       mu_put_offset(&p->hdr) + p->bytes <= w->answer.bytes
		   ? w
		   : NULL;
}

static void write_word(struct mu_sim *s, const struct sim_long_put *w, const struct emu_lease *l)
{
	sim_write(s, w->local, w->lease + offsetof(struct emu_lease, word), &l->word,
		  sizeof(l->word));
}

static void fill_packet(const struct sim_long_put *w, struct emu_packet *p)
{
	p->hdr = w->hdr;
	p->bytes = sizeof(w->answer);
	memcpy(p->payload, &w->answer, sizeof(w->answer));
	p->task = w->source;
}

/* Returns 1 if the packet stays in use. */
static int send_answer(struct mu_sim *s, struct sim_long_put *w, uint32_t node, uint32_t packet)
{
	fill_packet(w, &s->pool[packet]);
	sim_address_answer(s, &s->pool[packet], s->task[w->local].task);
	emu_world_answer(s->world, node, packet, s->now);
	return 1;
}

static int send_end(struct mu_sim *s, struct sim_long_put *w, uint32_t packet)
{
	struct emu_access *x = (void *)s->pool[packet].payload;

	s->host->directory.long_ends++;
	fill_packet(w, &s->pool[packet]);
	x->a.kind = EMU_ADDRESS_MESSAGE;
	x->a.flags &= (uint8_t)~EMU_ADDRESS_BY_UNIT;
	x->a.state = w->failed ? EMU_ACCESS_END_FAILED : EMU_ACCESS_END;
	return sim_effect_fifo(s, w->channel, packet);
}

int sim_long_put_data(struct mu_sim *s, uint32_t node, uint32_t channel, uint32_t packet)
{
	struct emu_packet *p = &s->pool[packet];
	struct sim_long_put *w = find_record(s, channel, p);
	struct emu_lease l;

	if (!w) {
		s->dropped++;
		return 0;
	}
	w->failed |= has_failed(&p->hdr);
	if (!w->failed && sim_put_write(s, channel, w->memory + mu_put_offset(&p->hdr), p))
		w->failed = true;
	if (!emu_long_data(&w->put, p->bytes) && !w->failed)
		return 0;
	sim_write_pending(s, w->local);
	if (sim_read(s, w->local, &l, w->lease, sizeof(l))) {
		w->put.open = false; /* the task is about to end */
		return 0;
	}
	if (emu_long_close(&w->put, &l, w->failed) == EMU_LONG_SOFTWARE)
		return send_end(s, w, packet);
	write_word(s, w, &l);
	return send_answer(s, w, node, packet);
}

/* Close a record whose source has died. Returns false if no packet for END is free. */
static bool close_record(struct mu_sim *s, struct sim_long_put *w)
{
	uint32_t packet = emu_world_packet_get(s->world);
	struct emu_lease l;
	int kept = 0;

	if (packet == SIM_NONE)
		return false;
	sim_write_pending(s, w->local);
	w->failed = true;
	if (sim_read(s, w->local, &l, w->lease, sizeof(l)))
		w->put.open = false;
	else if (emu_long_close(&w->put, &l, false) == EMU_LONG_SOFTWARE)
		kept = send_end(s, w, packet);
	else
		write_word(s, w, &l);
	if (!kept)
		emu_world_packet_put(s->world, packet);
	return true;
}

void sim_long_put_death(struct mu_sim *s, uint32_t task)
{
	bool all = true;

	for (uint32_t i = 0; i < s->long_puts; i++)
		if (s->long_put[i].put.open && s->long_put[i].source == task)
			all &= close_record(s, &s->long_put[i]);
	if (all)
		return;
	s->engines++; /* counts as something under way */
	if (emu_sched_push(emu_world_sched(s->world), s->now + RETRY_PS, s->task[0].node,
			   SIM_PORT_GONE, SIM_LONG_PUT, task, 0))
		s->error = -ENOMEM;
}

void sim_long_put_event(struct mu_sim *s, const struct emu_event *e)
{
	s->engines--;
	sim_long_put_death(s, e->arg);
}

void sim_long_put_leave(struct mu_sim *s, uint32_t local)
{
	for (uint32_t i = 0; i < s->long_puts; i++)
		if (s->long_put[i].put.open && s->long_put[i].local == local) {
			s->long_put[i].put.open = false;
			s->long_put[i].put.generation++;
		}
}
