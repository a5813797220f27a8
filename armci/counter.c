/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library counts, by name. */
#include <stdio.h>
#include <string.h>

#include "armci/state.h"

uint64_t armci_counter[ARMCI_COUNTERS];

static const struct {
	const char *name, *meaning;
} about[] = {
#define ARMCI_COUNTER(name, meaning) {#name, meaning},
#include "armci/counter.def"
#undef ARMCI_COUNTER
};

void armci_counter_print(void)
{
	int i;

	for (i = 0; i < ARMCI_COUNTERS; i++) {
		uint64_t count = __atomic_load_n(&armci_counter[i], __ATOMIC_RELAXED);

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
			return (long)__atomic_load_n(&armci_counter[i], __ATOMIC_RELAXED);
	return -1;
}

#pragma GCC visibility pop
