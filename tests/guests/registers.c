/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs of the MU's registers wait by loads of registers and memory, without a call: they spin,
 * also where there are more tasks than processors.
 */
#include <spi/include/mu/GIBarrier.h>

#include "tests/guests/registers.h"

#define ROUNDS 100
#define MOST   1000u /* bytes of a put: two packets */

static MUSPI_GIBarrier_t barrier;
static MUSPI_InjFifoSubGroup_t inj; /* FIFO 3: room for one descriptor */
static MUSPI_BaseAddressTableSubGroup_t bat;
static MUSPI_Pt2PtDirectPutDescriptorInfo_t put;
static unsigned char fifo[128] __attribute__((aligned(64)));
static unsigned char sent[MOST + 8] __attribute__((aligned(64)));
static unsigned char arrived[MOST + 8] __attribute__((aligned(64)));
static volatile uint64_t counter __attribute__((aligned(64)));

static void loads_the_status(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		REQUIRE(!MUSPI_GIBarrierEnter(&barrier));
		while (*barrier.statusRegPtr & barrier.state)
			;
		REQUIRE(!MUSPI_GIBarrierPoll(&barrier));
	}
}

static void stores_the_control(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t next = barrier.state == 1 ? 4 : barrier.state >> 1;

		ppc_msync();
		*barrier.controlRegPtr = next;
		while (*barrier.statusRegPtr & barrier.state)
			;
		barrier.state = next;
	}
}

static void set_up_puts(void)
{
	set_up_fifo(&inj, 3, fifo, sizeof fifo);
	set_up_table(&bat, arrived, &counter);
	address_partner(&put);
}

static uint64_t inject_put(unsigned at, unsigned bytes)
{
	MUHWI_Descriptor_t d;
	uint64_t number;

	put.Base.Payload_Address = (uint64_t)&sent[at];
	put.Base.Message_Length = bytes;
	put.DirectPut.Rec_Payload_Offset = at;
	REQUIRE(!MUSPI_CreatePt2PtDirectPutDescriptor(&d, &put));
	while ((number = MUSPI_InjFifoInject(MUSPI_IdToInjFifo(3, &inj), &d)) == UINT64_MAX)
		;
	return number;
}

/* Sizes and places whose last word has 8, 4, 2 bytes and 1. */
static void watches_the_last_byte(void)
{
	static const unsigned sizes[] = {1, 3, 7, 8, 12, 15, 31, 33, 64, 100, 511, 512, 513, MOST};

	for (unsigned i = 1; i <= 3 * sizeof sizes / sizeof *sizes; i++) {
		unsigned bytes = sizes[i % (sizeof sizes / sizeof *sizes)], at = i % 5, wrong = 0;
		volatile unsigned char *last = &arrived[at + bytes - 1];

		memset(sent, (int)i, sizeof sent);
		*last = 0;
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
		inject_put(at, bytes);
		while (*last != i)
			;
		for (unsigned k = 0; k < bytes; k++)
			wrong += arrived[at + k] != i;
		REQUIRE_EQ(wrong, 0);
		while (MUSPI_getHwFreeSpace(MUSPI_IdToInjFifo(3, &inj)) != 1)
			;
		REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	}
}

/* In the last third of the rounds without a call: its own arithmetic divides by the size. */
static void waits_for_room(void)
{
	MUSPI_InjFifo_t *f = MUSPI_IdToInjFifo(3, &inj);
	volatile MUHWI_Fifo_t *hw = f->_fifo.hwfifo;

	for (int i = 0; i < 3 * ROUNDS / 2; i++) {
		uint64_t number = inject_put(0, MOST);

		if (i < ROUNDS / 2)
			while (MUSPI_getHwFreeSpace(f) != 1)
				;
		else if (i < ROUNDS)
			while (MUSPI_getHwDescCount(f) < number)
				;
		else
			while ((hw->pa_tail + (hw->size_1 + 1) - hw->pa_head) % (hw->size_1 + 1))
				;
		REQUIRE_EQ(MUSPI_getHwDescCount(f), number);
	}
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
}

int main(int argc, char **argv)
{
	set_up_puts();
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	CASE(loads_the_status, "enters barriers by calls and waits by loads");
	CASE(stores_the_control, "enters barriers by stores and waits by loads");
	CASE(watches_the_last_byte, "waits for the last byte of a put, whatever its size");
	CASE(waits_for_room, "waits for room in an injection FIFO, by calls and by loads");
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	if (!check_failures && !Kernel_GetRank())
		puts("ok");
	return check_failures != 0;
}
