/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators over boxes of nodes that overlap, as MPI libraries made them of class routes: the
 * nodes agree on a free number for each box, and then use all boxes at once. Beside it each node
 * sends to all nodes of its lines, both ways round, by packets with the deposit bit. All waits are
 * loads.
 */
#include <spi/include/kernel/MU.h>
#include <spi/include/kernel/collective.h>
#include <spi/include/kernel/location.h>
#include <spi/include/mu/Classroute.h>
#include <spi/include/mu/GIBarrier.h>

#include "tests/guests/guest.h"

#define BOXES 6    /* the first: all nodes */
#define BYTES 1536 /* three packets */
#define WORDS (BYTES / 8)
#define MOST  8 /* nodes of a line */
#define DATA  7 /* entry of the results; those before are counters */

typedef struct {
	CR_RECT_T where;
	int id, has_me;
	uint32_t member[64], members;
} box_t;
typedef struct {
	volatile uint64_t left;
	uint64_t unused[7];
} counter_t;

static box_t box[BOXES];
static int boxes;
static CR_RECT_T world;
static CR_COORD_T here;
static MUSPI_GIBarrier_t barrier;
static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_BaseAddressTableSubGroup_t bat;
static char fifo[2048] __attribute__((aligned(64)));
static counter_t count[BOXES] __attribute__((aligned(64)));
static uint64_t in[BOXES][WORDS] __attribute__((aligned(64)));
static union {
	uint64_t box[BOXES][WORDS];
	uint64_t line[CR_NUM_DIMS][MOST][WORDS];
} out __attribute__((aligned(64)));
static BG_CoordinateMapping_t map[64];
static uint64_t ranks;
static uint32_t me;

static void enter_barrier(void)
{
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
}

static CR_COORD_T coords_of(uint32_t rank)
{
	return CR_COORD_INIT(map[rank].a, map[rank].b, map[rank].c, map[rank].d, map[rank].e);
}

static int is_in(const CR_RECT_T *r, CR_COORD_T x)
{
	for (int d = 0; d < CR_NUM_DIMS; d++)
		if (x.coords[d] < r->ll.coords[d] || x.coords[d] > r->ur.coords[d])
			return 0;
	return 1;
}

static uint32_t size_of(int d)
{
	return world.ur.coords[d] + 1;
}

static void inject(MUHWI_Descriptor_t *d)
{
	while (MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &inj), d) == UINT64_MAX)
		;
}

static void set_up(void)
{
	uint32_t ids[8] = {0, 1, 2, 3, 4, 5, 6, 7};
	Kernel_InjFifoAttributes_t ia = {0};
	Kernel_MemoryRegion_t region;
	Personality_t p;

	REQUIRE(!Kernel_GetPersonality(&p, sizeof p));
	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &ranks));
	me = Kernel_GetRank();
	here = coords_of(me);
	world.ur = (CR_COORD_T)CR_COORD_INIT(
	    p.Network_Config.Anodes - 1, p.Network_Config.Bnodes - 1, p.Network_Config.Cnodes - 1,
	    p.Network_Config.Dnodes - 1, p.Network_Config.Enodes - 1);
	REQUIRE(!Kernel_AllocateInjFifos(0, &inj, 1, ids, &ia));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, fifo, sizeof fifo));
	REQUIRE(!Kernel_InjFifoInit(&inj, 0, &region, 0, sizeof fifo - 1));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, ids, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!Kernel_AllocateBaseAddressTable(0, &bat, 8, ids, 0));
	for (uint8_t i = 0; i < BOXES; i++)
		REQUIRE(
		    !MUSPI_SetBaseAddress(&bat, i,
					  MUSPI_GetAtomicAddress((uint64_t)&count[i].left,
								 MUHWI_ATOMIC_OPCODE_STORE_ADD)));
	REQUIRE(!MUSPI_SetBaseAddress(&bat, DATA, (uint64_t)&out));
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
}

/* ---- boxes ---- */

static void start(int i, unsigned op, unsigned type, uint64_t bytes)
{
	MUSPI_CollectiveDirectPutDescriptorInfo_t info = {0};
	MUHWI_Descriptor_t d;

	info.Base.Payload_Address = (uint64_t)in[i];
	info.Base.Message_Length = bytes;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER;
	info.Collective.Op_Code = (uint8_t)op;
	info.Collective.Word_Length = 8;
	info.Collective.Class_Route = (uint8_t)box[i].id;
	info.Collective.Misc = (uint8_t)(type | (i ? MUHWI_PACKET_VIRTUAL_CHANNEL_USER_SUB_COMM
						   : MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD));
	info.DirectPut.Rec_Payload_Base_Address_Id = DATA;
	info.DirectPut.Rec_Payload_Offset = (uint64_t)i * BYTES;
	info.DirectPut.Rec_Counter_Base_Address_Id = (uint16_t)i;
	REQUIRE(!MUSPI_CreateCollectiveDirectPutDescriptor(&d, &info));
	inject(&d);
}

/* The nodes of the box take a number that all of them have free. All nodes agree, over route 0. */
static void add_box(CR_RECT_T where, void **env)
{
	box_t *b = &box[boxes];
	ClassRoute_t route;
	CR_COORD_T root;
	int first;

	for (int i = 0; i < boxes; i++)
		if (!memcmp(&box[i].where, &where, sizeof where))
			return;
	b->where = where;
	b->has_me = is_in(&where, here);
	for (uint32_t i = 0; i < ranks; i++)
		if (is_in(&where, coords_of(i)))
			b->member[b->members++] = i;
	if (!boxes++)
		return; /* all nodes: route 0 is there */
	in[0][0] = b->has_me ? MUSPI_GetClassrouteIds(BGQ_CLASS_INPUT_VC_SUBCOMM, &b->where, env)
			     : UINT64_MAX;
	count[0].left = 8;
	enter_barrier();
	start(0, MUHWI_COLLECTIVE_OP_CODE_AND, MUHWI_COLLECTIVE_TYPE_ALLREDUCE, 8);
	while (count[0].left)
		;
	REQUIRE(out.box[0][0]);
	b->id = __builtin_ctzll(out.box[0][0]);
	if (!b->has_me)
		return;
	MUSPI_PickWorldRoot(&b->where, NULL, &root, &first);
	MUSPI_BuildNodeClassroute(&world, &root, &here, &b->where, NULL, first, &route);
	SET_CR_ROUTE_VC(&route, BGQ_CLASS_INPUT_VC_SUBCOMM);
	route.input |= BGQ_CLASS_INPUT_LINK_LOCAL;
	REQUIRE(!Kernel_AllocateCollectiveClassRoute((uint32_t)b->id));
	REQUIRE(!Kernel_SetCollectiveClassRoute((uint32_t)b->id, &route));
	REQUIRE(MUSPI_SetClassrouteId(b->id, BGQ_CLASS_INPUT_VC_SUBCOMM, &b->where, env) == 1);
}

static void make_boxes(void)
{
	uint32_t n, ids[16], size = size_of(0);
	CR_RECT_T r = world;
	void *env = NULL;

	REQUIRE(!Kernel_QueryCollectiveClassRoutes(&n, ids, sizeof ids));
	REQUIRE(!MUSPI_InitClassrouteIds(ids, n, 0, &env));
	add_box(world, &env);
	r.ur.coords[0] = size / 2; /* two that overlap, and a line and a plane */
	add_box(r, &env);
	r.ll.coords[0] = size / 4;
	r.ur.coords[0] = size - 1;
	add_box(r, &env);
	r.ll.coords[0] = r.ur.coords[0];
	add_box(r, &env);
	r = world;
	r.ll.coords[1] = r.ur.coords[1] = size_of(1) - 1;
	add_box(r, &env);
	free(env);
	enter_barrier();
}

static uint64_t value_of(uint32_t rank, int i, uint64_t word)
{
	return (rank * 2654435761u + (uint64_t)i * 40503u) ^ word << 40 ^ word;
}

static uint64_t combine(unsigned op, uint64_t a, uint64_t b)
{
	switch (op) {
	case MUHWI_COLLECTIVE_OP_CODE_OR:
		return a | b;
	case MUHWI_COLLECTIVE_OP_CODE_XOR:
		return a ^ b;
	case MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD:
		return a + b;
	case MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_MIN:
		return a < b ? a : b;
	default:
		return (int64_t)a > (int64_t)b ? a : b;
	}
}

static void reduces_on_all_boxes_at_once(void)
{
	static const unsigned ops[] = {MUHWI_COLLECTIVE_OP_CODE_OR, MUHWI_COLLECTIVE_OP_CODE_XOR,
				       MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_ADD,
				       MUHWI_COLLECTIVE_OP_CODE_UNSIGNED_MIN,
				       MUHWI_COLLECTIVE_OP_CODE_SIGNED_MAX};

	for (unsigned k = 0; k < sizeof ops / sizeof *ops; k++) {
		memset(&out, 0, sizeof out);
		for (int i = 0; i < boxes; i++) {
			for (uint64_t w = 0; w < WORDS; w++)
				in[i][w] = value_of(me, i, w);
			count[i].left = box[i].has_me ? BYTES : 0;
		}
		enter_barrier();
		for (int i = 0; i < boxes; i++)
			if (box[i].has_me)
				start(i, ops[k], MUHWI_COLLECTIVE_TYPE_ALLREDUCE, BYTES);
		for (int i = boxes - 1; i >= 0; i--) {
			while (count[i].left)
				;
			for (uint64_t w = 0; w < WORDS; w++) {
				uint64_t x = value_of(box[i].member[0], i, w);

				for (uint32_t m = 1; m < box[i].members; m++)
					x = combine(ops[k], x, value_of(box[i].member[m], i, w));
				REQUIRE_EQ(out.box[i][w], box[i].has_me ? x : 0);
			}
		}
		enter_barrier();
	}
}

static void broadcasts_from_any_member(void)
{
	for (uint32_t round = 0; round < 4; round++) {
		for (int i = 0; i < boxes; i++) {
			for (uint64_t w = 0; w < WORDS; w++)
				in[i][w] = value_of(me, i, w + round);
			count[i].left = box[i].has_me ? BYTES : 0;
		}
		enter_barrier();
		for (int i = 0; i < boxes; i++)
			if (box[i].member[round % box[i].members] == me)
				start(i, MUHWI_COLLECTIVE_OP_CODE_OR,
				      MUHWI_COLLECTIVE_TYPE_BROADCAST, BYTES);
		for (int i = 0; i < boxes; i++) {
			uint32_t from = box[i].member[round % box[i].members];

			while (count[i].left)
				;
			for (uint64_t w = 0; w < WORDS && box[i].has_me; w++)
				REQUIRE_EQ(out.box[i][w], value_of(from, i, w + round));
		}
		enter_barrier();
	}
}

/* ---- lines ---- */

/* Half of the line is reached by plus, the rest by minus. */
static void send_along(int d, int plus)
{
	uint32_t n = size_of(d), hops = plus ? n / 2 : (n - 1) / 2;
	MUSPI_Pt2PtDirectPutDescriptorInfo_t info = {0};
	CR_COORD_T to = here;
	MUHWI_Descriptor_t desc;

	if (!hops)
		return;
	to.coords[d] = (here.coords[d] + (plus ? hops : n - hops)) % n;
	info.Base.Payload_Address = (uint64_t)in[0];
	info.Base.Message_Length = BYTES;
	info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AM >> (2 * d + plus);
	MUSPI_SetUpDestination(&info.Base.Dest, to.coords[0], to.coords[1], to.coords[2],
			       to.coords[3], to.coords[4]);
	info.Pt2Pt.Hints_ABCD = (uint8_t)(MUHWI_PACKET_HINT_AM >> (2 * d + plus)); /* E: none */
	info.Pt2Pt.Misc1 = (uint8_t)(MUHWI_PACKET_DEPOSIT | (d < 4  ? 0
							     : plus ? MUHWI_PACKET_HINT_EP
								    : MUHWI_PACKET_HINT_EM));
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	info.DirectPut.Rec_Payload_Base_Address_Id = DATA;
	info.DirectPut.Rec_Payload_Offset =
	    (uint64_t)((char *)out.line[d][here.coords[d]] - (char *)&out);
	info.DirectPut.Rec_Counter_Base_Address_Id = (uint16_t)d;
	REQUIRE(!MUSPI_CreatePt2PtDirectPutDescriptor(&desc, &info));
	inject(&desc);
}

static void gathers_along_all_lines(void)
{
	for (uint32_t round = 0; round < 4; round++) {
		for (uint64_t w = 0; w < WORDS; w++)
			in[0][w] = value_of(me, 0, w + round);
		for (int d = 0; d < CR_NUM_DIMS; d++)
			count[d].left = (size_of(d) - 1) * BYTES;
		enter_barrier();
		for (int link = 0; link < 2 * CR_NUM_DIMS; link++)
			send_along(link / 2, link % 2);
		for (int d = CR_NUM_DIMS - 1; d >= 0; d--)
			while (count[d].left)
				;
		for (uint32_t i = 0; i < ranks; i++) {
			CR_COORD_T x = coords_of(i);
			int differs = 0, at = 0;

			for (int d = 0; d < CR_NUM_DIMS; d++)
				if (x.coords[d] != here.coords[d]) {
					differs++;
					at = d;
				}
			for (uint64_t w = 0; w < WORDS && differs == 1; w++)
				REQUIRE_EQ(out.line[at][x.coords[at]][w],
					   value_of(i, 0, w + round));
		}
		enter_barrier();
	}
}

int main(int argc, char **argv)
{
	set_up();
	enter_barrier();
	make_boxes();
	CASE(reduces_on_all_boxes_at_once, "has communicators over boxes that overlap");
	CASE(broadcasts_from_any_member, "broadcasts to a box from any node of it");
	CASE(gathers_along_all_lines,
	     "sends to all lines of a node with the deposit bit, both ways");
	enter_barrier();
	if (!check_failures && !me)
		puts("ok");
	return check_failures != 0;
}
