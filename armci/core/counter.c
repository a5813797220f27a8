/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters by name. */
#include <stdio.h>
#include <string.h>

#include "armci/core/counter.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "drivers/base/atomic.h"

atomic_u64 armci_counter[ARMCI_COUNTERS];

static const struct {
	const char *name, *meaning;
} about[] = {
#define ARMCI_COUNTER(name, meaning) {#name, meaning},
#include "armci/core/counter.def"
#undef ARMCI_COUNTER
};

static uint64_t counter_read(int i)
{
	uint64_t count = atomic_load_relaxed(&armci_counter[i]);

	return i == ARMCI_COUNT_direct ? count + armci_threads_count_copies() : count;
}

void armci_counter_print(void)
{
	int i;

	for (i = 0; i < ARMCI_COUNTERS; i++) {
		uint64_t count = counter_read(i);

		if (count)
			fprintf(stderr, "armci: process %d: %-16s %12llu  %s\n", armci_world.me,
				about[i].name, (unsigned long long)count, about[i].meaning);
	}
}

#pragma GCC visibility push(default)

const char *ARMCIX_Counter_name(int i)
{
	return i >= 0 && i < ARMCI_COUNTERS ? about[i].name : NULL;
}

long ARMCIX_Counter(const char *name)
{
	int i;

	for (i = 0; name && i < ARMCI_COUNTERS; i++)
		if (!strcmp(name, about[i].name))
			return (long)counter_read(i);
	return -1;
}

#pragma GCC visibility pop
