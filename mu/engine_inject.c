/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The injection engine: descriptors to packets. Hot: guarded by bench/pami_rdma.
 *
 * Runs a channel's injection FIFO and its remote-get FIFO, strictly in order each. A put or get
 * between near tasks (same host on express, same node on torus) is one copy, done here; everything else leaves in
 * pieces by mu_path_send(). A FIFO whose head cannot leave now waits there (sent = bytes gone).
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/base/log.h"
#include "mu/packetize.h"
#include "mu/process.h"

#define BUDGET_BYTES (1u << 20) /* pieces sent per call and FIFO before others get their turn */

/* A put to a task of this host: one copy. */
static int put_direct(struct mu_channel *ch, uint32_t task, const MUHWI_Descriptor_t *d)
{
	struct mu_process *p = ch->p;
	uint32_t local = p->entry[task].local;
	uint64_t counter = d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset;
	int rc = mu_copy_to(p, local, mu_put_offset(&d->PacketHeader),
	                    (const void *)(uintptr_t)d->Pa_Payload, d->Message_Length);

	if (rc && rc != -EPERM)
		mu_fault_seen(ch, task, -rc); /* the flush behind it must not say that all went well */
	if (!rc)
		mu_traffic_add(ch, task, d->Message_Length, MU_SENT_BY_ENGINE);
	if (!rc && counter) {
		uint64_t va = counter & ~(MUHWI_ATOMIC_ADDRESS_INDICATOR | 7);
		uint64_t *word = mu_host_translate(p->host, local, va, 8);

		if (word)
			__atomic_fetch_sub(word, d->Message_Length, __ATOMIC_RELEASE);
	}
	return rc;
}

/* Is this descriptor, found in a remote get to `task`, one that we can do for the target? */
static int get_is_direct(struct mu_channel *ch, const MUHWI_Descriptor_t *d)
{
	unsigned type = d->PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0;

	return mu_task_at(ch->p, d->PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination,
	                  mu_header_number(&d->PacketHeader)) == ch->p->task &&
	       (type == MUHWI_PACKET_TYPE_PUT ||
	        (type == MUHWI_PACKET_TYPE_FIFO && !d->Message_Length &&
	         d->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO.Unused1));
}

/* A get from a task of this host: one copy per descriptor it carries. -ENOTSUP: send it instead. */
static int get_direct(struct mu_channel *ch, uint32_t task, const MUHWI_Descriptor_t *outer)
{
	const MUHWI_Descriptor_t *inner = (const void *)(uintptr_t)outer->Pa_Payload;
	unsigned count = (unsigned)(outer->Message_Length / 64);
	struct mu_process *p = ch->p;
	int first = 0;

	if (outer->Message_Length > MU_PACKET_BYTES || outer->Pa_Payload % 32)
		return -ENOTSUP;
	for (unsigned i = 0; i < count; i++)
		if (!get_is_direct(ch, &inner[i]))
			return -ENOTSUP;
	for (unsigned i = 0; i < count; i++) {
		const MUHWI_PacketHeader_t *h = &inner[i].PacketHeader;
		int rc;

		if ((h->NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0) == MUHWI_PACKET_TYPE_FIFO) {
			struct mu_internal m;

			memcpy(&m, h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, sizeof m);
			mu_ack_done(ch, &m);
			continue;
		}
		rc = mu_copy_from(p, p->entry[task].local, (void *)(uintptr_t)mu_put_offset(h),
		                  inner[i].Pa_Payload, inner[i].Message_Length);
		if (rc) {
			mu_fault_seen(ch, task, -rc);
			first = first ? first : rc;
			continue;
		}
		mu_traffic_add(ch, task, inner[i].Message_Length, MU_FETCHED_BY_ENGINE);
		mu_counter_sub(p, h->messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset,
		               inner[i].Message_Length);
	}
	return first;
}

/* Leave in pieces. 0: all gone; -EAGAIN: later; else refused. */
static int send_pieces(struct mu_channel *ch, uint32_t task, const MUHWI_Descriptor_t *d,
                       struct mu_inj_engine *at, struct mu_look *look, uint64_t *budget)
{
	uint32_t piece = mu_path_piece(ch->p, task);

	if (look)
		look->end = d->Pa_Payload + d->Message_Length;
	do {
		uint64_t left = d->Message_Length - at->sent;
		uint32_t n = left > piece ? piece : (uint32_t)left;
		MUHWI_PacketHeader_t h;
		int rc;

		if (!*budget)
			return -EAGAIN;
		mu_packetize(d, at->sent, &h); /* of the first packet; the others differ in the offset */
		rc = mu_path_send(ch, task, &h, (const void *)(uintptr_t)(d->Pa_Payload + at->sent), n, look);
		if (rc)
			return rc;
		at->sent += n;
		*budget -= *budget > n ? n : *budget;
	} while (at->sent < d->Message_Length);
	return 0;
}

static int desc_run(struct mu_channel *ch, const MUHWI_Descriptor_t *d, struct mu_inj_engine *at,
                    struct mu_look *look, uint64_t *budget)
{
	struct mu_process *p = ch->p;
	unsigned type = d->PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0;
	uint32_t task;
	int rc = mu_desc_check(d);

	if (rc)
		return rc;
	task = mu_task_at(p, d->PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination,
	                  mu_header_number(&d->PacketHeader));
	if (task == UINT32_MAX)
		return -EHOSTUNREACH;
	if (mu_gone(p, task))
		return -ESHUTDOWN;
	if (p->near[task] && !look && !at->sent && !mu_cma_refused(p)) {
		rc = type == MUHWI_PACKET_TYPE_PUT ? put_direct(ch, task, d) :
		     type == MUHWI_PACKET_TYPE_GET ? get_direct(ch, task, d) : -ENOTSUP;
		if (rc == -EPERM) {
			drv_warn("process_vm_writev to task %u refused (ptrace protection): data goes "
			         "through the ring, slower; set kernel.yama.ptrace_scope=0", task);
			mu_cma_refuse(p);
		} else if (rc != -ENOTSUP) {
			return rc;
		}
	}
	return send_pieces(ch, task, d, at, look, budget);
}

static void refused(struct mu_channel *ch, const MUHWI_Descriptor_t *d, int rc, int from_get)
{
	ch->bad++;
	drv_warn("channel %u: descriptor refused%s: type %02x length %llu: %s", ch->index,
	         from_get ? " (from a remote get)" : "",
	         d->PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 & 0xc0,
	         (unsigned long long)d->Message_Length, strerror(-rc));
}

static inline uint64_t fifo_next(const MUHWI_Fifo_t *f, uint64_t at)
{
	return at + 64 == f->pa_start + f->size_1 + 1 ? f->pa_start : at + 64;
}

/* Head forward by one, wrapping, then the count (W2). */
static void fifo_retire(MUHWI_Fifo_t *f, MUHWI_InjFifo_t *hw)
{
	__atomic_store_n(&f->pa_head, fifo_next(f, f->pa_head), __ATOMIC_RELEASE);
	__atomic_store_n(&hw->descCount, hw->descCount + 1, __ATOMIC_RELEASE);
}

static int run_injection(struct mu_channel *ch)
{
	MUHWI_Fifo_t *f = &ch->a->inj;
	uint64_t budget = BUDGET_BYTES;
	int n = 0;

	while (f->pa_head != __atomic_load_n(&f->pa_tail, __ATOMIC_ACQUIRE)) { /* R1 */
		const MUHWI_Descriptor_t *d = (const void *)(uintptr_t)f->pa_head;
		struct mu_slot *slot = &ch->slot[ch->a->inj_hw.descCount % MU_INJ_SLOTS];
		int rc = desc_run(ch, d, &ch->inj_engine, NULL, &budget);

		if (rc == -EAGAIN)
			break;
		if (rc && rc != -EFAULT && rc != -ESHUTDOWN)
			refused(ch, d, rc, 0);
		slot->result = rc;
		ch->inj_engine.sent = 0;
		fifo_retire(f, &ch->a->inj_hw);
		n++;
	}
	return n;
}

/* The remote-get FIFO is our engine's own on both ends: its tail is only moved by mu_rget_append(). */
static int run_remote_gets(struct mu_channel *ch)
{
	MUHWI_Fifo_t *f = &ch->a->rget;
	uint64_t budget = BUDGET_BYTES;
	struct mu_look look = { 0 }; /* forgotten when we return to the program, which may unmap */
	int n = 0;

	while (f->pa_head != f->pa_tail) {
		const MUHWI_Descriptor_t *d = (const void *)(uintptr_t)f->pa_head;
		int rc = desc_run(ch, d, &ch->rget_engine, &look, &budget);

		if (rc == -EAGAIN)
			break;
		if (rc == -EFAULT || rc == -ENOMEM) {
			/* Answer the initiator, whose channel the put names. */
			uint32_t task = mu_task_at(ch->p,
			        d->PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination,
			        mu_header_number(&d->PacketHeader));

			mu_fault_tell(ch, task, d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Unused1,
			              -rc);
		} else if (rc && rc != -ESHUTDOWN) {
			refused(ch, d, rc, 1);
		}
		ch->rget_engine.sent = 0;
		fifo_retire(f, &ch->a->rget_hw);
		n++;
		if (ch->rget_more_count) {
			MUHWI_Descriptor_t more = ch->rget_more[ch->rget_more_first];

			ch->rget_more_first = (ch->rget_more_first + 1) & (ch->rget_more_size - 1);
			__atomic_store_n(&ch->rget_more_count, ch->rget_more_count - 1, __ATOMIC_RELAXED);
			memcpy((void *)(uintptr_t)f->pa_tail, &more, 64);
			__atomic_store_n(&f->pa_tail, fifo_next(f, f->pa_tail), __ATOMIC_RELAXED);
		}
	}
	return n;
}

static int grow_more(struct mu_channel *ch)
{
	uint32_t size = ch->rget_more_size ? ch->rget_more_size * 2 : 256;
	MUHWI_Descriptor_t *m;

	if (size > 1u << 20 || !(m = aligned_alloc(64, (size_t)size * 64)))
		return -ENOMEM;
	for (uint32_t i = 0; i < ch->rget_more_count; i++)
		m[i] = ch->rget_more[(ch->rget_more_first + i) & (ch->rget_more_size - 1)];
	free(ch->rget_more);
	ch->rget_more = m;
	ch->rget_more_size = size;
	ch->rget_more_first = 0;
	return 0;
}

/*
 * Append 1 to 8 descriptors to the remote-get FIFO; what does not fit waits in a list of our own,
 * so that a reception engine never waits here (the chip's does). -EAGAIN: no memory for the list.
 */
int mu_rget_append(struct mu_channel *ch, const unsigned char *desc, uint32_t bytes)
{
	MUHWI_Fifo_t *f = &ch->a->rget;

	if (bytes && ch->rget_more_count + bytes / 64 > ch->rget_more_size) {
		/* Reserve beforehand: all or nothing. */
		uint64_t used = (f->pa_tail - f->pa_head + f->size_1 + 1) % (f->size_1 + 1);

		if ((ch->rget_more_count || used + bytes > f->size_1 - 63) && grow_more(ch))
			return -EAGAIN;
	}
	for (uint32_t at = 0; at < bytes; at += 64) {
		uint64_t next = fifo_next(f, f->pa_tail);

		if (ch->rget_more_count || next == f->pa_head) {
			uint32_t i = (ch->rget_more_first + ch->rget_more_count) & (ch->rget_more_size - 1);

			memcpy(&ch->rget_more[i], desc + at, 64);
			__atomic_store_n(&ch->rget_more_count, ch->rget_more_count + 1, __ATOMIC_RELAXED);
		} else {
			memcpy((void *)(uintptr_t)f->pa_tail, desc + at, 64);
			__atomic_store_n(&f->pa_tail, next, __ATOMIC_RELAXED); /* others look if it is empty */
		}
	}
	return 0;
}

int mu_engine_inject(struct mu_channel *ch)
{
	int n = 0;

	if (mu_fifo_pending(&ch->a->rget))
		n += run_remote_gets(ch);
	if (mu_fifo_pending(&ch->a->inj))
		n += run_injection(ch);
	if (__builtin_expect(__atomic_load_n(&ch->node_fifos, __ATOMIC_RELAXED), 0))
		n += mu_engine_node(ch);
	return n;
}
