/* SPDX-License-Identifier: BSD-3-Clause */
#include <pami.h>
#include <stdio.h>

#include "bench/agas_counters.h"
#include "pami/ext_address.h"

void bench_agas_print_counters(const struct agas_stats *s)
{
	printf("  rank %d:", agas_pe());
#define AGAS_COUNTER(name, meaning)                                                                \
	if (s->name)                                                                               \
		printf(" %s %llu", #name, (unsigned long long)s->name);
#include "agas/agas_counter.def"
#undef AGAS_COUNTER
	printf("\n");
}

void bench_agas_print_network(void)
{
	pami_quintorus_address_counter_fn counter;
	pami_quintorus_address_mode_fn mode;
	const char *name, *meaning;
	pami_extension_t e;
	uint64_t value;

	if (PAMI_Extension_open(NULL, PAMI_EXT_QUINTORUS_ADDRESS, &e) != PAMI_SUCCESS)
		return;
	mode = (pami_quintorus_address_mode_fn)PAMI_Extension_symbol(e, "mode");
	counter = (pami_quintorus_address_counter_fn)PAMI_Extension_symbol(e, "counter");
	if (mode && counter && mode() != PAMI_QUINTORUS_ADDRESS_MODE_NONE) {
		printf("  network:");
		for (unsigned i = 0; (name = counter(i, &value, &meaning)); i++)
			if (value)
				printf(" %s %llu", name, (unsigned long long)value);
		printf("\n");
	}
	PAMI_Extension_close(e);
}
