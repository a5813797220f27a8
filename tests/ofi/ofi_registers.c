/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program of two worlds, as lattice codes are: MPI for the set-up and for sums, the registers of
 * the MU for the exchange with eight neighbours. It waits on a counter without a call, with
 * messages of MPI before and behind.
 */
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <firmware/include/personality.h>
#include <hwi/include/bqc/A2_inlines.h>
#include <spi/include/kernel/MU.h>
#include <spi/include/kernel/location.h>
#include <spi/include/kernel/memory.h>
#include <spi/include/mu/Addressing_inlines.h>
#include <spi/include/mu/Descriptor_inlines.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/InjFifo.h>

#define WAYS  8 /* forward and backward in four dimensions */
#define STEPS 40

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "rank %d, line %d: %s\n", me, __LINE__, #condition);       \
			MPI_Abort(MPI_COMM_WORLD, 1);                                              \
		}                                                                                  \
	} while (0)

static int me, ranks, neighbour[WAYS];
static MPI_Comm grid;
static size_t bytes[WAYS], at[WAYS], total;
static unsigned char *out, *in;
static volatile uint64_t left __attribute__((aligned(64)));
static char fifo[WAYS][4096] __attribute__((aligned(64)));
static MUHWI_Descriptor_t desc[WAYS] __attribute__((aligned(64)));
static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_BaseAddressTableSubGroup_t bat;
static MUSPI_GIBarrier_t barrier;

static uint64_t physical(void *p, size_t n)
{
	Kernel_MemoryRegion_t r;

	CHECK(!Kernel_CreateMemoryRegion(&r, p, n));
	return (uint64_t)p - (uint64_t)r.BaseVa + (uint64_t)r.BasePa;
}

static void make_grid(void)
{
	int dims[4] = {0}, wraps[4] = {1, 1, 1, 1};

	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Dims_create(ranks, 4, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 4, dims, wraps, 0, &grid);
	MPI_Comm_rank(grid, &me);
	for (int d = 0; d < 4; d++)
		MPI_Cart_shift(grid, d, 1, &neighbour[2 * d + 1], &neighbour[2 * d]);
	for (int w = 0; w < WAYS; w++) {
		at[w] = total;
		total += bytes[w] = 512u << w / 2;
	}
	out = memalign(64, total);
	in = memalign(64, total);
}

static void set_up_fifos(void)
{
	uint32_t ids[WAYS] = {0, 1, 2, 3, 4, 5, 6, 7};
	Kernel_InjFifoAttributes_t attributes[WAYS] = {{0}};
	Kernel_MemoryRegion_t r;

	CHECK(!Kernel_AllocateBaseAddressTable(0, &bat, 2, ids, 0));
	CHECK(!MUSPI_SetBaseAddress(&bat, 0, physical(in, total)));
	CHECK(!MUSPI_SetBaseAddress(
	    &bat, 1,
	    MUSPI_GetAtomicAddress(physical((void *)&left, 8), MUHWI_ATOMIC_OPCODE_STORE_ADD)));
	CHECK(!Kernel_AllocateInjFifos(0, &inj, WAYS, ids, attributes));
	for (int w = 0; w < WAYS; w++) {
		CHECK(!Kernel_CreateMemoryRegion(&r, fifo[w], sizeof fifo[w]));
		CHECK(!Kernel_InjFifoInit(&inj, ids[w], &r, (uint64_t)fifo[w] - (uint64_t)r.BaseVa,
					  sizeof fifo[w] - 1));
	}
	CHECK(!Kernel_InjFifoActivate(&inj, WAYS, ids, KERNEL_INJ_FIFO_ACTIVATE));
}

static void describe_messages(void)
{
	Personality_t p;
	int mine[5], *all = malloc(ranks * sizeof mine);

	CHECK(!Kernel_GetPersonality(&p, sizeof p));
	mine[0] = p.Network_Config.Acoord;
	mine[1] = p.Network_Config.Bcoord;
	mine[2] = p.Network_Config.Ccoord;
	mine[3] = p.Network_Config.Dcoord;
	mine[4] = p.Network_Config.Ecoord;
	MPI_Allgather(mine, 5, MPI_INT, all, 5, MPI_INT, grid);
	for (int w = 0; w < WAYS; w++) {
		MUSPI_Pt2PtDirectPutDescriptorInfo_t info = {{0}};
		const int *x = all + 5 * neighbour[w];

		info.Base.Payload_Address = physical(out, total) + at[w];
		info.Base.Message_Length = bytes[w];
		info.Base.Torus_FIFO_Map =
		    MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AM | MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AP |
		    MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_BM | MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_BP |
		    MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
		MUSPI_SetUpDestination(&info.Base.Dest, x[0], x[1], x[2], x[3], x[4]);
		info.Pt2Pt.Misc1 = MUHWI_PACKET_USE_DETERMINISTIC_ROUTING |
				   MUHWI_PACKET_DO_NOT_DEPOSIT |
				   MUHWI_PACKET_DO_NOT_ROUTE_TO_IO_NODE;
		info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
		info.DirectPut.Rec_Payload_Base_Address_Id = 0;
		info.DirectPut.Rec_Payload_Offset = at[w];
		info.DirectPut.Rec_Counter_Base_Address_Id = 1;
		info.DirectPut.Pacing = MUHWI_PACKET_DIRECT_PUT_IS_NOT_PACED;
		CHECK(!MUSPI_CreatePt2PtDirectPutDescriptor(&desc[w], &info));
	}
	free(all);
}

static unsigned char value_of(int rank, int way, int step)
{
	return (unsigned char)(rank * WAYS + way + step);
}

static void exchange(int step)
{
	uint64_t sequence[WAYS];

	for (int w = 0; w < WAYS; w++)
		memset(out + at[w], value_of(me, w, step), bytes[w]);
	left = total;
	CHECK(!MUSPI_GIBarrierEnter(&barrier));
	CHECK(!MUSPI_GIBarrierPollWithTimeout(&barrier, 60ull * 1600000000));
	for (int w = 0; w < WAYS; w++) {
		sequence[w] = MUSPI_InjFifoInject(MUSPI_IdToInjFifo(w, &inj), &desc[w]);
		CHECK(sequence[w] != UINT64_MAX);
	}
	while (left)
		;
	ppc_msync();
	for (int w = 0; w < WAYS; w++)
		for (size_t k = 0; k < bytes[w]; k++)
			CHECK(in[at[w] + k] == value_of(neighbour[w ^ 1], w, step));
	for (int w = 0; w < WAYS; w++)
		while (!MUSPI_CheckDescComplete(MUSPI_IdToInjFifo(w, &inj), sequence[w]))
			;
}

int main(int argc, char **argv)
{
	double sum;

	MPI_Init(&argc, &argv);
	make_grid();
	set_up_fifos();
	describe_messages();
	CHECK(!MUSPI_GIBarrierInit(&barrier, 0));
	MPI_Barrier(MPI_COMM_WORLD);
	for (int step = 0; step < STEPS; step++) {
		double mine = step + me;

		exchange(step);
		MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, grid);
		CHECK(sum == (double)step * ranks + ranks * (ranks - 1) / 2);
	}
	if (!me)
		printf("%d exchanges on %d ranks\n", STEPS, ranks);
	MPI_Finalize();
	return 0;
}
