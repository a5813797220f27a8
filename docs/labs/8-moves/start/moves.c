/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lab 8: rank 0 writes 8 bytes into a block of a global address space that moves between writes.
 *
 *	torus run --hw agas=software --clock virtual --shape 6x1x1x1x1 ./moves
 *
 * agas: software, or a directory in the network: hw-central, hw-home, hw-torus.
 */
#include <agas.h>
#include <pami.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITES 3

static double now_us(void)
{
	return PAMI_Wtime(NULL) * 1e6;
}

static void check_result(int result)
{
	if (!result)
		return;
	fprintf(stderr, "moves: %s\n", agas_error_text(result));
	exit(1);
}

/* Write a number to a global address and wait until it is in place. Microseconds. */
static double write_to(gva_t to, long value)
{
	/* TODO, step 2: agas_put() and agas_fence(); both are checked with check_result(). */
	(void)to, (void)value;
	return 0;
}

int main(int argc, char **argv)
{
	struct agas_stats stats;
	long value = 0;
	gva_t block;

	if (agas_init(&argc, &argv))
		return 1;
	if (agas_npes() < 3) {
		fprintf(stderr, "moves: at least 3 ranks\n");
		return 2;
	}
	/* A page for each rank; the block is the page whose home is rank 1, and that for ever. */
	block = agas_map_all(agas_page_size() * (size_t)agas_npes(), AGAS_CYCLIC);
	while (agas_home(block) != 1)
		block += agas_page_size();
	check_result(agas_barrier());
	for (int owner = 1; owner < agas_npes(); owner++) {
		if (agas_pe() == 1 && owner > 1)
			check_result(agas_remap(block, owner));
		check_result(agas_barrier());
		if (agas_pe() == 0) {
			printf("owner %d:", owner);
			for (int i = 0; i < WRITES; i++)
				printf("  %.2f us", write_to(block, 10 * owner + i));
			printf("\n");
		}
		check_result(agas_barrier());
	}
	if (agas_pe() == 2) {
		check_result(agas_get(&value, block, sizeof value));
		check_result(agas_fence());
		printf("the last value is %ld\n", value);
	}
	check_result(agas_barrier());
	agas_stats(&stats, 0);
	printf("rank %d: forwards %d, stale %d, updates %d\n", agas_pe(), (int)stats.forwards,
	       (int)stats.stale, (int)stats.updates);
	check_result(agas_barrier());
	agas_fini();
	return 0;
}
