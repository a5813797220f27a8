/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wakeup unit, and interrupts for communication threads (spi/include/wu/wait.h,
 * kernel/thread.h). A thread that waits looks at the line it armed and at the interrupt registers
 * between polls; spurious wake-ups are allowed, so it returns after a millisecond at most.
 */
#include <errno.h>

#include "drivers/base/clock.h"
#include "muspi/unit.h"
#include "spi/include/wu/wait.h"

#define WAIT_MOST_NS 1000000u

struct handler {
	void (*fn)(uint64_t, uint64_t, uint64_t, uint64_t);
	uint64_t arg[4];
};
static struct handler handler[KERNEL_COMM_NUM_INTS];
static atomic_u32 is_disabled;
static __thread struct {
	const volatile uint64_t *line;
	uint64_t seen[8];
	uint64_t subgroups;
	bool is_armed;
} armed;

/* Both functions read the whole line, though the program's variable may be a part of it. */
#define READS_LINE __attribute__((no_sanitize("address")))

READS_LINE UNIT_API void WU_ArmWithAddress(uint64_t pa, uint64_t mask)
{
	(void)mask; /* a larger region: its other lines are noticed by time */
	armed.line = (const volatile uint64_t *)(uintptr_t)(pa & ~63ull);
	for (unsigned i = 0; i < 8; i++)
		armed.seen[i] = atomic_load_acquire((uint64_t *)&armed.line[i]);
	armed.is_armed = true;
}

UNIT_API void WU_ArmMU(uint64_t bits)
{
	armed.subgroups |= bits & 15;
	armed.is_armed = true;
}

UNIT_API void WU_DisarmMU(uint64_t bits)
{
	armed.subgroups &= ~bits;
}

UNIT_API void WU_ArmMU_system(uint64_t bits)
{
	WU_ArmMU(bits);
}

READS_LINE static bool has_line_changed(void)
{
	for (unsigned i = 0; armed.line && i < 8; i++)
		if (atomic_load_acquire((uint64_t *)&armed.line[i]) != armed.seen[i])
			return true;
	return false;
}

static uint64_t pending_interrupts(void)
{
	uint64_t all = 0;

	for (unsigned g = 0; g < UNIT_SUBGROUPS / 4; g++)
		if (atomic_ptr_load_acquire(&unit.group[g]))
			all |= unit_get_interrupts(g);
	return all;
}

/* In virtual time a poll waits for the next event, unless its thread looks at the clock. */
UNIT_API void quintorus_mu_wait(void)
{
	uint64_t until;

	if (unit_attach())
		return;
	if (unit.job->virtual_clock) {
		quintorus_mu_poll();
		armed.line = NULL;
		return;
	}
	until = GetTimeBase() + WAIT_MOST_NS * 16 / 10;
	do {
		quintorus_mu_poll();
	} while (!has_line_changed() && !(armed.subgroups && pending_interrupts()) &&
		 GetTimeBase() < until);
	armed.line = NULL;
}

/* Call the handlers of a pending interrupt; nothing tells subgroups apart, so all of them. */
void unit_handlers_run(void)
{
	for (unsigned i = 0; i < KERNEL_COMM_NUM_INTS; i++)
		if (handler[i].fn)
			handler[i].fn(handler[i].arg[0], handler[i].arg[1], handler[i].arg[2],
				      handler[i].arg[3]);
}

UNIT_API int32_t Kernel_CommThreadInstallHandler(int interrupt,
						 void (*fn)(uint64_t, uint64_t, uint64_t, uint64_t),
						 uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	if (interrupt < 0 || interrupt >= KERNEL_COMM_NUM_INTS)
		return EINVAL;
	handler[interrupt] = (struct handler){fn, {a, b, c, d}};
	return 0;
}

UNIT_API int32_t Kernel_CommThreadPoof(void)
{
	int rc = unit_attach();

	if (rc)
		return rc;
	while (!pending_interrupts() || atomic_load_acquire(&is_disabled))
		quintorus_mu_poll();
	unit_handlers_run();
	return 0;
}

UNIT_API int32_t Kernel_CommThreadDisableInterrupts(void)
{
	atomic_store_release(&is_disabled, 1);
	return 0;
}

UNIT_API int32_t Kernel_CommThreadEnableInterrupts(void)
{
	atomic_store_release(&is_disabled, 0);
	return 0;
}
