/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs of the MU's registers wait for counters and data in loops of their own make, which
 * compilers turn into atomic operations, carries, and comparisons of floating-point numbers. In
 * virtual time each is found to wait; else each packet would cost a preemption of the task.
 */
#include <spi/include/mu/GIBarrier.h>

#include "tests/guests/registers.h"

#define ROUNDS   150
#define CHANNELS 4
#define DOUBLES  64

static MUSPI_GIBarrier_t barrier;
static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_BaseAddressTableSubGroup_t bat;
static MUHWI_Descriptor_t put __attribute__((aligned(64)));
static unsigned char fifo[1024] __attribute__((aligned(64)));
static double sent[DOUBLES] __attribute__((aligned(64)));
static double arrived[DOUBLES] __attribute__((aligned(64)));
static uint64_t counters[CHANNELS] __attribute__((aligned(64)));
static struct channel {
	volatile uint64_t *counter;
	int rest; /* done if it is not above */
	struct channel *next;
} channels[CHANNELS];

static void rounds(void (*wait)(void))
{
	for (int i = 0; i < ROUNDS; i++) {
		unsigned wrong = 0;

		for (int k = 0; k < DOUBLES; k++)
			sent[k] = i + 1;
		counters[0] = sizeof arrived;
		memset(arrived, 0, sizeof arrived);
		ppc_msync();
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
		REQUIRE(MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &inj), &put) != UINT64_MAX);
		wait();
		ppc_msync();
		for (int k = 0; k < DOUBLES; k++)
			wrong += arrived[k] < i + 1;
		REQUIRE_EQ(wrong, 0);
		/* The last byte may come before the counter. */
		while (*(volatile uint64_t *)&counters[0])
			;
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	}
}

/* Compilers add the result of the comparison to `left`. */
static void until_none_is_left(void)
{
	int left;

	do {
		left = 0;
		for (struct channel *c = channels; c; c = c->next)
			left += *c->counter > (uint64_t)c->rest;
	} while (left);
}

static void until_sum_is_zero(void)
{
	while (__sync_fetch_and_add(&counters[0], 0))
		;
}

static void until_swap_succeeds(void)
{
	while (!__sync_bool_compare_and_swap(&counters[0], 0, 0))
		;
}

static void until_number_changes(void)
{
	const volatile double *last = &arrived[DOUBLES - 1];

	while (*last == 0.0)
		;
}

static void until_number_is_large(void)
{
	const volatile double *last = &arrived[DOUBLES - 1];
	double seen;

	do
		seen = *last;
	while (!(seen >= 0.5));
}

static void follows_a_list(void)
{
	rounds(until_none_is_left);
}

static void adds_zero(void)
{
	rounds(until_sum_is_zero);
}

static void swaps_zero(void)
{
	rounds(until_swap_succeeds);
}

static void compares_a_number(void)
{
	rounds(until_number_changes);
}

static void waits_for_a_large_number(void)
{
	rounds(until_number_is_large);
}

static void set_up(void)
{
	MUSPI_Pt2PtDirectPutDescriptorInfo_t info;

	set_up_fifo(&inj, 0, fifo, sizeof fifo);
	set_up_table(&bat, arrived, counters);
	memset(&info, 0, sizeof info);
	info.Base.Payload_Address = (uint64_t)sent;
	info.Base.Message_Length = sizeof sent;
	address_partner(&info);
	REQUIRE(!MUSPI_CreatePt2PtDirectPutDescriptor(&put, &info));
	for (int i = 0; i < CHANNELS; i++)
		channels[i] =
		    (struct channel){&counters[i], 0, i + 1 < CHANNELS ? &channels[i + 1] : NULL};
}

int main(int argc, char **argv)
{
	set_up();
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	CASE(follows_a_list, "waits until no channel of a list has bytes left");
	CASE(adds_zero, "waits by atomic additions of 0");
	CASE(swaps_zero, "waits by an atomic exchange of 0 for 0");
	CASE(compares_a_number, "waits for a floating-point number to change");
	CASE(waits_for_a_large_number, "waits for a floating-point number to be large");
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	if (!check_failures && !Kernel_GetRank())
		puts("ok");
	return check_failures != 0;
}
