/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access of the simulator to the memory of tasks: directly to segment memory, and through the
 * kernel to private memory, so that a bad address is an error. The owner does not run during the
 * access.
 */
#include <errno.h>
#include <string.h>

#include "drivers/base/log.h"
#include "mu/engine/memory.h"
#include "mu/sim/state.h"

static int kernel_copy(struct mu_sim *s, uint32_t local, void *mine, uint64_t theirs,
		       uint64_t bytes, bool write)
{
	pid_t pid = sim_process(s, local);
	int rc = mu_copy_by_kernel(pid, mine, theirs, bytes, write);

	if (rc == -EPERM)
		drv_error("virtual clock: reading or writing memory of task %u refused (ptrace "
			  "protection): set kernel.yama.ptrace_scope=0",
			  s->task[local].task);
	return rc;
}

int sim_read(struct mu_sim *s, uint32_t local, void *to, uint64_t va, uint64_t bytes)
{
	void *direct = mu_host_translate(s->host, local, va, bytes);

	if (!direct)
		return kernel_copy(s, local, to, va, bytes, false);
	memcpy(to, direct, bytes);
	return 0;
}

int sim_write(struct mu_sim *s, uint32_t local, uint64_t va, const void *from, uint64_t bytes)
{
	void *direct = mu_host_translate(s->host, local, va, bytes);

	if (!direct)
		return kernel_copy(s, local, (void *)(uintptr_t)from, va, bytes, true);
	memcpy(direct, from, bytes);
	return 0;
}

/* The meaning of the operations: docs/hardware.md 5.1, 10.1. */
int sim_atomic(struct mu_sim *s, uint32_t local, uint64_t va, unsigned op, uint64_t value)
{
	uint64_t word = 0, twin[2];
	int rc = va % 8 ? -EINVAL : sim_read(s, local, &word, va, 8);

	if (rc)
		return rc;
	switch (op) {
	case MUHWI_ATOMIC_OPCODE_STORE_ADD:
	case MUHWI_ATOMIC_OPCODE_STORE_ADD_COHERENCE_ON_ZERO:
		word += value;
		break;
	case MUHWI_ATOMIC_OPCODE_STORE_OR:
		word |= value;
		break;
	case MUHWI_ATOMIC_OPCODE_STORE_XOR:
		word ^= value;
		break;
	case MUHWI_ATOMIC_OPCODE_STORE_MAX_UNSIGNED:
		word = value > word ? value : word;
		break;
	case MUHWI_ATOMIC_OPCODE_STORE_MAX_SIGNED:
		word = (int64_t)value > (int64_t)word ? value : word;
		break;
	case MUHWI_ATOMIC_OPCODE_STORE_TWIN:
		rc = sim_read(s, local, twin, va, 16);
		if (rc || twin[0] != twin[1])
			return rc;
		twin[0] = twin[1] = value;
		return sim_write(s, local, va, twin, 16);
	default:
		word = value;
		break;
	}
	return sim_write(s, local, va, &word, 8);
}

int sim_atomic_load(struct mu_sim *s, uint32_t local, uint64_t va, unsigned op, uint64_t *value)
{
	uint64_t next, neighbour = 0;
	int rc = va % 8 ? -EINVAL : sim_read(s, local, value, va, 8);

	if (rc)
		return rc;
	next = *value;
	switch (op) {
	case MUHWI_ATOMIC_OPCODE_LOAD:
		return 0;
	case MUHWI_ATOMIC_OPCODE_LOAD_CLEAR:
		next = 0;
		break;
	case MUHWI_ATOMIC_OPCODE_LOAD_INCREMENT:
		next++;
		break;
	case MUHWI_ATOMIC_OPCODE_LOAD_DECREMENT:
		next--;
		break;
	case MUHWI_ATOMIC_OPCODE_LOAD_INCREMENT_BOUNDED: /* the bound is the next word */
	case MUHWI_ATOMIC_OPCODE_LOAD_INCREMENT_IF_EQUAL:
		rc = sim_read(s, local, &neighbour, va + 8, 8);
		if (rc)
			return rc;
		if ((op == MUHWI_ATOMIC_OPCODE_LOAD_INCREMENT_BOUNDED) == (next == neighbour)) {
			*value = 1ull << 63; /* refused */
			return 0;
		}
		next++;
		break;
	case MUHWI_ATOMIC_OPCODE_LOAD_DECREMENT_BOUNDED: /* the bound is the word before */
		rc = sim_read(s, local, &neighbour, va - 8, 8);
		if (rc)
			return rc;
		if (next == neighbour) {
			*value = 1ull << 63;
			return 0;
		}
		next--;
		break;
	default:
		return -EINVAL;
	}
	return sim_write(s, local, va, &next, 8);
}
