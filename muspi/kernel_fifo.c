/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel calls for FIFOs and base address tables (spi/include/kernel/MU.h). */
#include <errno.h>
#include <stdlib.h>

#include "drivers/base/log.h"
#include "muspi/unit.h"

enum resource { INJ, REC, BAT };

static const unsigned per_subgroup[] = {[INJ] = 8, [REC] = 4, [BAT] = 8};

static atomic_u8 *owner_word(enum resource kind, unsigned id)
{
	return kind == INJ   ? &unit.table->inj[id]
	       : kind == REC ? &unit.table->rec[id]
			     : &unit.table->bat[id];
}

static int query_free(enum resource kind, uint32_t subgroup, uint32_t *n, uint32_t *ids)
{
	int rc = unit_attach();

	if (rc)
		return rc;
	if (subgroup >= UNIT_SUBGROUPS || !n || !ids)
		return EINVAL;
	*n = 0;
	for (unsigned i = 0; i < per_subgroup[kind] && subgroup < UNIT_USERS; i++)
		if (!atomic_load_acquire(owner_word(kind, subgroup * per_subgroup[kind] + i)))
			ids[(*n)++] = i;
	return 0;
}

static void release_all(enum resource kind, uint32_t subgroup, uint32_t n, const uint32_t *ids)
{
	for (uint32_t i = 0; i < n; i++)
		atomic_store_release(owner_word(kind, subgroup * per_subgroup[kind] + ids[i]), 0);
}

/*
 * Programs made for one process a node take the same subgroup in each. They get an error as on the
 * chip, often without a word of their own, so say once what to do.
 */
static void warn_of_owner(enum resource kind, uint32_t subgroup, uint32_t id, unsigned owner)
{
	static const char *const name[] = {
	    [INJ] = "injection FIFO", [REC] = "reception FIFO", [BAT] = "base address"};
	static atomic_u32 warned;

	if (owner == unit.job->coord.t + 1u || atomic_exchange_acq_rel(&warned, 1))
		return;
	drv_warn("MU: %s %u of subgroup %u belongs to the process with T %u of this node: let each "
		 "process take a subgroup of its own, or run one on each node, as by 'torus run "
		 "--shape 2x2x2x1x1'",
		 name[kind], id, subgroup, owner - 1);
}

static int allocate_all(enum resource kind, uint32_t subgroup, uint32_t n, const uint32_t *ids,
			int system)
{
	int rc = unit_attach();

	if (rc)
		return rc;
	if (subgroup >= UNIT_SUBGROUPS || n > per_subgroup[kind] || (n && !ids))
		return EINVAL;
	for (uint32_t i = 0; i < n; i++)
		if (ids[i] >= per_subgroup[kind])
			return EINVAL;
	if (system || subgroup >= UNIT_USERS)
		return EACCES;
	if (!unit_page(subgroup))
		return ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint8_t none = 0;

		if (!atomic_cas_acq_rel(owner_word(kind, subgroup * per_subgroup[kind] + ids[i]),
					&none, (uint8_t)(unit.job->coord.t + 1))) {
			release_all(kind, subgroup, i, ids);
			warn_of_owner(kind, subgroup, ids[i], none);
			return EAGAIN;
		}
	}
	return 0;
}

static int is_mine(enum resource kind, uint64_t subgroup, uint32_t id)
{
	return unit.is_attached && subgroup < UNIT_USERS && id < per_subgroup[kind] &&
	       atomic_load_acquire(owner_word(kind, (unsigned)subgroup * per_subgroup[kind] +
							id)) == unit.job->coord.t + 1u;
}

UNIT_API int32_t Kernel_QueryInjFifos(uint32_t subgroup, uint32_t *n, uint32_t *ids)
{
	return query_free(INJ, subgroup, n, ids);
}

UNIT_API int32_t Kernel_QueryRecFifos(uint32_t subgroup, uint32_t *n, uint32_t *ids)
{
	return query_free(REC, subgroup, n, ids);
}

UNIT_API int32_t Kernel_QueryBaseAddressTable(uint32_t subgroup, uint32_t *n, uint32_t *ids)
{
	return query_free(BAT, subgroup, n, ids);
}

UNIT_API int32_t Kernel_AllocateInjFifos(uint32_t subgroup, MUSPI_InjFifoSubGroup_t *sg, uint32_t n,
					 uint32_t *ids, Kernel_InjFifoAttributes_t *attributes)
{
	int system = 0, rc;

	if (!sg || !attributes || n > per_subgroup[INJ])
		return EINVAL;
	for (uint32_t i = 0; i < n; i++)
		system |= attributes[i].System;
	rc = allocate_all(INJ, subgroup, n, ids, system);
	if (rc)
		return rc;
	sg->subgroupid = subgroup;
	sg->groupStatus = unit_status(subgroup / 4);
	for (uint32_t i = 0; i < n; i++) {
		unsigned char *page = unit_page(subgroup);
		unsigned id = subgroup * 8 + ids[i];
		struct unit_inj *f = calloc(1, sizeof *f);
		MUSPI_InjFifo_t *s = &sg->_injfifos[ids[i]];

		if (!f) {
			release_all(INJ, subgroup, n, ids);
			return ENOMEM;
		}
		memset(s, 0, sizeof *s);
		s->_fifo.hwfifo = (MUHWI_Fifo_t *)(void *)(page + 0x40 * ids[i]);
		s->hw_injfifo = (MUHWI_InjFifo_t *)(void *)(page + 0x40 * ids[i] + 0x20);
		memset(page + 0x40 * ids[i], 0, 0x30);
		f->hw = s->_fifo.hwfifo;
		f->count = s->hw_injfifo;
		f->id = (uint16_t)id;
		f->is_rget = attributes[i].RemoteGet;
		f->waits.last = &f->waits.first;
		mu_lock_acquire(&unit.memory);
		unit.inj[id] = f;
		mu_lock_release(&unit.memory);
	}
	return 0;
}

UNIT_API int32_t Kernel_AllocateRecFifos(uint32_t subgroup, MUSPI_RecFifoSubGroup_t *sg, uint32_t n,
					 uint32_t *ids, Kernel_RecFifoAttributes_t *attributes)
{
	int system = 0, rc;

	if (!sg || !attributes || n > per_subgroup[REC])
		return EINVAL;
	for (uint32_t i = 0; i < n; i++)
		system |= attributes[i].System;
	rc = allocate_all(REC, subgroup, n, ids, system);
	if (rc)
		return rc;
	sg->subgroupid = subgroup;
	sg->groupStatus = (MUHWI_RecFifoStatus_t *)(void *)unit_status(subgroup / 4);
	for (uint32_t i = 0; i < n; i++) {
		MUSPI_RecFifo_t *s = &sg->_recfifos[ids[i]];
		unsigned char *page = unit_page(subgroup);

		memset(s, 0, sizeof *s);
		s->_fifo.hwfifo = (MUHWI_Fifo_t *)(void *)(page + 0x200 + 0x40 * ids[i]);
		memset(page + 0x200 + 0x40 * ids[i], 0, 0x20);
	}
	return 0;
}

UNIT_API int32_t Kernel_AllocateBaseAddressTable(uint32_t subgroup,
						 MUSPI_BaseAddressTableSubGroup_t *sg, uint32_t n,
						 uint32_t *ids, uint32_t system)
{
	int rc = sg ? allocate_all(BAT, subgroup, n, ids, system != 0) : EINVAL;

	if (rc)
		return rc;
	sg->subgrpid = (uint8_t)subgroup;
	sg->hw_bat = (MUHWI_BaseAddressTable_t)(void *)(unit_page(subgroup) + 0x400);
	sg->permissions = 0;
	for (uint32_t e = 0; e < 8; e++)
		if (is_mine(BAT, subgroup, e))
			sg->permissions |= (uint8_t)(0x80 >> e);
	for (uint32_t i = 0; i < n; i++)
		sg->sw_bat[ids[i]] = sg->hw_bat[ids[i]] = 0;
	return 0;
}

/* Are they of this process, each once? */
static int check_ids(enum resource kind, uint64_t subgroup, uint32_t n, const uint32_t *ids)
{
	unsigned seen = 0;

	if (n && !ids)
		return EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		if (!is_mine(kind, subgroup, ids[i]) || seen >> ids[i] & 1)
			return EINVAL;
		seen |= 1u << ids[i];
	}
	return 0;
}

UNIT_API int32_t Kernel_DeallocateInjFifos(MUSPI_InjFifoSubGroup_t *sg, uint32_t n, uint32_t *ids)
{
	int rc = sg ? check_ids(INJ, sg->subgroupid, n, ids) : EINVAL;

	if (!rc)
		rc = Kernel_InjFifoActivate(sg, n, ids, KERNEL_INJ_FIFO_DEACTIVATE);
	if (rc)
		return rc;
	unit_lock();
	mu_lock_acquire(&unit.memory);
	for (uint32_t i = 0; i < n; i++) {
		struct unit_inj **f = &unit.inj[sg->subgroupid * 8 + ids[i]];
		struct unit_packet *p;

		while ((p = unit_list_take(&(*f)->waits))) {
			free(p);
			unit.waiting--;
		}
		free(*f);
		*f = NULL;
	}
	mu_lock_release(&unit.memory);
	unit_unlock();
	release_all(INJ, (uint32_t)sg->subgroupid, n, ids);
	return 0;
}

UNIT_API int32_t Kernel_DeallocateRecFifos(MUSPI_RecFifoSubGroup_t *sg, uint32_t n, uint32_t *ids)
{
	int rc = sg ? check_ids(REC, sg->subgroupid, n, ids) : EINVAL;

	if (rc)
		return rc;
	mu_lock_acquire(&unit.memory);
	for (uint32_t i = 0; i < n; i++) {
		struct unit_rec *r = unit.rec[sg->subgroupid * 4 + ids[i]];

		if (r)
			r->is_set = r->is_enabled = false;
	}
	mu_lock_release(&unit.memory);
	release_all(REC, (uint32_t)sg->subgroupid, n, ids);
	return 0;
}

UNIT_API int32_t Kernel_DeallocateBaseAddressTable(MUSPI_BaseAddressTableSubGroup_t *sg, uint32_t n,
						   uint32_t *ids)
{
	int rc = sg ? check_ids(BAT, sg->subgrpid, n, ids) : EINVAL;

	if (rc)
		return rc;
	release_all(BAT, sg->subgrpid, n, ids);
	for (uint32_t i = 0; i < n; i++)
		sg->permissions &= (uint8_t) ~(0x80 >> ids[i]);
	return 0;
}

/* Shadow and registers of a FIFO on a part of a region. The MU writes to some FIFOs. */
static int fifo_init(MUSPI_Fifo_t *f, struct unit_place *place, const Kernel_MemoryRegion_t *region,
		     uint64_t start, uint64_t size_1, unsigned unit_bytes, unsigned least,
		     bool is_written)
{
	uint64_t va = (uint64_t)(uintptr_t)region->BaseVa + start, size = size_1 + 1;

	if (va % unit_bytes || size % unit_bytes) {
		unit_refuse(RULE_fifo_align, va % unit_bytes ? "pa_start" : "size - 1",
			    va % unit_bytes ? va : size_1);
		return EINVAL;
	}
	if (size < least || size_1 == UINT64_MAX || start > region->Bytes ||
	    size > region->Bytes - start) {
		unit_refuse(RULE_fifo_size, "size - 1", size_1);
		return EINVAL;
	}
	if (region->BasePa != region->BaseVa || mu_check_memory(va, size, is_written)) {
		unit_refuse(RULE_fifo_memory, "pa_start",
			    (uint64_t)(uintptr_t)region->BasePa + start);
		return EINVAL;
	}
	*place = (struct unit_place){va, size};
	f->pa_start = va;
	f->va_start = f->va_head = f->va_tail = (void *)(uintptr_t)va;
	f->size_1 = size_1;
	f->va_end = (char *)f->va_start + size;
	f->hwfifo->pa_start = f->hwfifo->pa_head = f->pa_start;
	f->hwfifo->size_1 = size_1;
	atomic_store_release(&f->hwfifo->pa_tail, f->pa_start);
	return 0;
}

UNIT_API int32_t Kernel_InjFifoInit(MUSPI_InjFifoSubGroup_t *sg, uint32_t id,
				    Kernel_MemoryRegion_t *region, uint64_t start, uint64_t size_1)
{
	struct unit_inj *f;
	MUSPI_InjFifo_t *s;
	int rc;

	if (!sg || !region || !is_mine(INJ, sg->subgroupid, id))
		return EINVAL;
	f = unit.inj[sg->subgroupid * 8 + id];
	s = &sg->_injfifos[id];
	unit_lock();
	rc = f->is_active ? EBUSY
			  : fifo_init(&s->_fifo, &f->place, region, start, size_1, 64,
				      f->is_rget ? BGQ_MU_MIN_RGETFIFO_SIZE_IN_BYTES
						 : BGQ_MU_MIN_INJFIFO_SIZE_IN_BYTES,
				      f->is_rget);
	if (!rc) {
		s->freeSpace = f->count->freeSpace = (size_1 + 1) / 64 - 1;
		s->descCount = s->numInjected = f->count->descCount;
		f->issue = f->hw->pa_head;
		f->is_set = true;
	}
	unit_unlock();
	return rc;
}

UNIT_API int32_t Kernel_RecFifoInit(MUSPI_RecFifoSubGroup_t *sg, uint32_t id,
				    Kernel_MemoryRegion_t *region, uint64_t start, uint64_t size_1)
{
	struct unit_rec **r;
	int rc;

	if (!sg || !region || !is_mine(REC, sg->subgroupid, id))
		return EINVAL;
	mu_lock_acquire(&unit.memory);
	r = &unit.rec[sg->subgroupid * 4 + id];
	if (!*r && (*r = calloc(1, sizeof **r))) {
		(*r)->id = (uint16_t)(sg->subgroupid * 4 + id);
		(*r)->waits.last = &(*r)->waits.first;
	}
	rc = *r ? fifo_init(&sg->_recfifos[id]._fifo, &(*r)->place, region, start, size_1, 32,
			    BGQ_MU_MIN_RECFIFO_SIZE_IN_BYTES, true)
		: ENOMEM;
	if (!rc) {
		(*r)->hw = sg->_recfifos[id]._fifo.hwfifo;
		(*r)->is_set = true;
	}
	mu_lock_release(&unit.memory);
	return rc;
}

/* Wait until no packet of the FIFO is in flight: software may write its registers then. */
static void wait_for_flights(struct unit_inj *f)
{
	while (f->count_flights) {
		unit_unlock();
		quintorus_mu_poll();
		unit_lock();
	}
}

UNIT_API int32_t Kernel_InjFifoActivate(MUSPI_InjFifoSubGroup_t *sg, uint32_t n, uint32_t *ids,
					uint32_t on)
{
	int rc = sg ? check_ids(INJ, sg->subgroupid, n, ids) : EINVAL;

	for (uint32_t i = 0; !rc && i < n; i++)
		if (on && !unit.inj[sg->subgroupid * 8 + ids[i]]->is_set)
			rc = EINVAL;
	if (rc)
		return rc;
	unit_lock();
	for (uint32_t i = 0; i < n; i++) {
		struct unit_inj *f = unit.inj[sg->subgroupid * 8 + ids[i]];

		unit_activate(f, on != 0);
		if (!on)
			wait_for_flights(f);
	}
	unit_unlock();
	unit_wake();
	return 0;
}

static int enable_fifos(uint32_t group, uint64_t bits, bool on)
{
	int rc = unit_attach();

	if (rc)
		return rc;
	if (group >= BGQ_MU_NUM_FIFO_GROUPS || bits >> 16)
		return EINVAL;
	mu_lock_acquire(&unit.memory);
	for (unsigned i = 0; i < 16; i++) {
		struct unit_rec *r = unit.rec[group * 16 + i];

		if (!(bits >> (15 - i) & 1))
			continue;
		if (!r || !r->is_set)
			rc = EINVAL;
		else
			r->is_enabled = on;
	}
	mu_lock_release(&unit.memory);
	unit_wake();
	return rc;
}

UNIT_API int32_t Kernel_RecFifoEnable(uint32_t group, uint64_t bits)
{
	return enable_fifos(group, bits, true);
}

/* The chip's kernel does nothing here, either. */
UNIT_API int32_t Kernel_RecFifoDisable(uint32_t group, uint64_t bits)
{
	return group < BGQ_MU_NUM_FIFO_GROUPS && !(bits >> 16) ? 0 : EINVAL;
}

/* ---- thresholds and interrupts ---- */

UNIT_API int32_t Kernel_ConfigureInjFifoInterrupts(MUSPI_InjFifoSubGroup_t *sg, uint32_t n,
						   uint32_t *ids,
						   Kernel_InjFifoInterrupts_t *interrupts)
{
	int rc = sg && interrupts ? check_ids(INJ, sg->subgroupid, n, ids) : EINVAL;

	for (uint32_t i = 0; !rc && i < n; i++)
		unit.inj[sg->subgroupid * 8 + ids[i]]->interrupts =
		    interrupts[i].Threshold_Crossing;
	return rc;
}

UNIT_API int32_t Kernel_ConfigureRecFifoInterrupts(MUSPI_RecFifoSubGroup_t *sg, uint32_t n,
						   uint32_t *ids,
						   Kernel_RecFifoInterrupts_t *interrupts)
{
	int rc = sg && interrupts ? check_ids(REC, sg->subgroupid, n, ids) : EINVAL;

	for (uint32_t i = 0; !rc && i < n; i++)
		if (!unit.rec[sg->subgroupid * 4 + ids[i]])
			rc = EINVAL;
	mu_lock_acquire(&unit.memory);
	for (uint32_t i = 0; !rc && i < n; i++) {
		struct unit_rec *r = unit.rec[sg->subgroupid * 4 + ids[i]];

		r->on_threshold = interrupts[i].Threshold_Crossing;
		r->on_arrival = interrupts[i].Packet_Arrival;
	}
	mu_lock_release(&unit.memory);
	return rc;
}

UNIT_API int32_t Kernel_GetInjFifoThresholds(uint64_t *normal, uint64_t *rget)
{
	if (normal)
		*normal = unit.threshold_inj;
	if (rget)
		*rget = unit.threshold_rget;
	return 0;
}

UNIT_API int32_t Kernel_ConfigureInjFifoThresholds(uint64_t *normal, uint64_t *rget)
{
	if (normal)
		unit.threshold_inj = *normal;
	if (rget)
		unit.threshold_rget = *rget;
	return 0;
}

UNIT_API int32_t Kernel_GetRecFifoThreshold(uint64_t *threshold)
{
	if (!threshold)
		return EINVAL;
	*threshold = unit.threshold_rec;
	return 0;
}

UNIT_API int32_t Kernel_ConfigureRecFifoThreshold(uint64_t threshold)
{
	unit.threshold_rec = threshold;
	return 0;
}

UNIT_API int32_t Kernel_Configure_MU_GEA(uint32_t subgroup, uint64_t gea)
{
	(void)gea;
	return subgroup < UNIT_SUBGROUPS ? 0 : EINVAL;
}

UNIT_API int32_t Kernel_MU_TermCheck(void)
{
	return 0;
}

UNIT_API int32_t Kernel_DropPacketsOnLink(uint32_t a, uint32_t b, uint32_t c)
{
	(void)a, (void)b, (void)c;
	return ENOTSUP;
}
