/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics that the target's engine carries out (mu/hw/atomic.h). The operation is done once, when
 * its descriptor is first at the head of the remote-get FIFO; the answer may wait there for room.
 */
#include <errno.h>
#include <string.h>

#include "mu/engine/engine.h"
#include "mu/engine/memory.h"
#include "mu/process.h"

enum mu_atomic_level mu_atomics_of(const struct mu_host *h)
{
	const char *word = h->machine.hw.mu_atomics;

	return !strcmp(word, "full")   ? MU_ATOMICS_FULL
	       : !strcmp(word, "chip") ? MU_ATOMICS_CHIP
				       : MU_ATOMICS_OFF;
}

static unsigned char *soft_bytes(MUHWI_Descriptor_t *d)
{
	return d->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO.Unused2;
}

bool mu_atomic_read(enum mu_atomic_level level, const MUHWI_Descriptor_t *d, struct mu_atomic *a)
{
	struct mu_internal_value m;

	memcpy(&m, d->PacketHeader.messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, sizeof m);
	if (!mu_desc_get_atomic(d, a) || m.kind != MU_INTERNAL_VALUE)
		return false;
	a->test = m.value;
	return level != MU_ATOMICS_OFF;
}

void mu_atomic_answer(MUHWI_Descriptor_t *d, uint64_t old, int rc)
{
	struct mu_internal_value m;

	d->Half_Word1.Half_Word1 = 0;
	d->Pa_Payload = 0;
	d->Message_Length = 0;
	memcpy(&m, soft_bytes(d), sizeof m);
	m.value = old;
	m.error = (uint8_t)-rc;
	memcpy(soft_bytes(d), &m, sizeof m);
}

void mu_engine_atomic(struct mu_channel *ch, MUHWI_Descriptor_t *d)
{
	struct mu_atomic a;
	uint64_t old = 0;
	int rc = 0;

	mu_assert_engine(ch);
	if (!mu_atomic_read(ch->p->atomics, d, &a))
		rc = -EINVAL;
	else if (mu_check_memory(a.address, a.bytes, 1))
		rc = -EFAULT;
	else
		old = mu_atomic_apply(&a, (void *)(uintptr_t)a.address);
	mu_atomic_answer(d, old, rc);
}
