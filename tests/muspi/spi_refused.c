/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every rule of the MU that one process can break (class_mismatch takes two): a descriptor or
 * packet that breaks it is refused, counted, and named on standard error by field, value and rule;
 * and the FIFO goes on behind it. Packets go to the own node, so that all counters are in this
 * process, and all lines of this rank in its own file.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/kernel/collective.h>
#include <spi/include/mu/InjFifo.h>

static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_RecFifoSubGroup_t rec;
static MUSPI_BaseAddressTableSubGroup_t bat;
static unsigned char fifo[2][1024] __attribute__((aligned(64)));
static unsigned char rec_memory[2][2048] __attribute__((aligned(64)));
static unsigned char data[4096] __attribute__((aligned(64))),
    target[4096] __attribute__((aligned(64)));
static volatile uint64_t counter __attribute__((aligned(64)));
static MUHWI_Destination_t here;
static bool is_mesh, here_is_first;
static int bad;

static MUSPI_Pt2PtMemoryFIFODescriptorInfo_t fifo_info;
static MUSPI_Pt2PtDirectPutDescriptorInfo_t put_info;
static MUSPI_Pt2PtRemoteGetDescriptorInfo_t get_info;
static MUSPI_CollectiveMemoryFIFODescriptorInfo_t coll_info;
static MUHWI_Descriptor_t f, p, g, c;

static void reset_descriptors(void)
{
	MUSPI_CreatePt2PtMemoryFIFODescriptor(&f, &fifo_info);
	MUSPI_CreatePt2PtDirectPutDescriptor(&p, &put_info);
	MUSPI_CreatePt2PtRemoteGetDescriptor(&g, &get_info);
	MUSPI_CreateCollectiveMemoryFIFODescriptor(&c, &coll_info);
}

static void send_one(MUHWI_Descriptor_t *d)
{
	MUSPI_InjFifo_t *at = MUSPI_IdToInjFifo(0, &inj);
	MUHWI_Descriptor_t copy __attribute__((aligned(64))) = *d;
	uint64_t sequence;

	while ((sequence = MUSPI_InjFifoInject(at, &copy)) == (uint64_t)-1)
		;
	while (!MUSPI_CheckDescComplete(at, sequence))
		;
}

static const struct rule {
	const char *name, *text;
} rules[] = {
#define RULE(name, text) {#name, text},
#include "muspi/rules.def"
#undef RULE
};

/* Standard error of this process goes into a file while rules are broken. */
static FILE *lines;
static int terminal = 2;

/* A condition that failed wrote its line into that file: show it. */
static _Noreturn void end_with_lines(int status)
{
	char text[8192];
	ssize_t n = lines ? pread(fileno(lines), text, sizeof text, 0) : 0;

	if (n > 0)
		dprintf(terminal, "%.*s", (int)n, text);
	exit(status);
}

#define CHECK_WHO         "rank %u", Kernel_GetRank()
#define CHECK_END(status) end_with_lines(status)
#include "tests/harness/check_count.h"
#include "tests/harness/segment.h"

static const char *text_of(const char *rule)
{
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (!strcmp(rules[i].name, rule))
			return rules[i].text;
	return "";
}

static void catch_lines(void)
{
	lines = tmpfile();
	terminal = dup(2);
	if (!lines || terminal < 0 || dup2(fileno(lines), 2) < 0)
		exit(2);
}

static void say(const char *rule, const char *what, const char *text)
{
	dprintf(terminal, "rule %s: %s: %s\n", rule, what, text);
	bad = 1;
}

static void read_lines(char *text, size_t bytes)
{
	ssize_t n = pread(fileno(lines), text, bytes - 1, 0);

	text[n > 0 ? n : 0] = 0;
}

static void forget_lines(void)
{
	if (ftruncate(fileno(lines), 0) || lseek(fileno(lines), 0, SEEK_SET))
		exit(2);
}

/*
 * The line of the last refusal has the field, its value and the rule; each rule has its first eight
 * lines, and no case here breaks one more often.
 */
static void check_line(const char *rule, const char *field, uint64_t value)
{
	bool is_kept = !strcmp(rule, "rec_enabled") || !strcmp(rule, "get_active");
	char want[400], all[8192], *at;

	read_lines(all, sizeof all);
	forget_lines();
	snprintf(want, sizeof want, "MU: %s: %s 0x%llx breaks the rule %s: %s\n",
		 is_kept ? "kept" : "refused", field, (unsigned long long)value, rule,
		 text_of(rule));
	at = strstr(all, want);
	if (!at)
		say(rule, "no line", want);
	if (!at || strchr(all, '\n')[1])
		say(rule, "it wrote", all);
}

/* Poll until the rule has been broken more than `before` times, for ten seconds at most. */
static void wait_for_refusal(const char *rule, uint64_t before)
{
	time_t end = time(NULL) + 10;

	while (quintorus_mu_refused(rule) == before && time(NULL) < end)
		quintorus_mu_poll();
}

/* Send it, and see the rule's counter rise by one, and its line. */
static void expect_refusal(const char *rule, MUHWI_Descriptor_t *d, const char *field,
			   uint64_t value)
{
	uint64_t before = quintorus_mu_refused(rule);

	send_one(d);
	wait_for_refusal(rule, before);
	if (quintorus_mu_refused(rule) != before + 1) {
		dprintf(terminal, "rule %s: %llu, then %llu\n", rule, (unsigned long long)before,
			(unsigned long long)quintorus_mu_refused(rule));
		bad = 1;
	}
	check_line(rule, field, value);
	reset_descriptors();
}

/* Break a rule by a change to a descriptor; the line names this field and value. */
#define BAD(rule, d, change, field, value)                                                         \
	do {                                                                                       \
		change;                                                                            \
		expect_refusal(#rule, &d, field, value);                                           \
	} while (0)

static void set_up(void)
{
	uint32_t ids[8] = {0, 1, 2, 3, 4, 5, 6, 7};
	Kernel_InjFifoAttributes_t ia[3] = {{0}, {1, 0, 0, 0}};
	Kernel_RecFifoAttributes_t ra[2] = {{0}};
	Kernel_MemoryRegion_t region;
	Personality_t who;

	REQUIRE(!Kernel_GetPersonality(&who, sizeof who));
	is_mesh = !(who.Network_Config.NetFlags & ND_ENABLE_TORUS_DIM_A);
	here_is_first = !who.Network_Config.Acoord;
	MUSPI_SetUpDestination(&here, who.Network_Config.Acoord, 0, 0, 0, 0);
	REQUIRE(!Kernel_AllocateInjFifos(0, &inj, 3, ids, ia));
	REQUIRE(!Kernel_AllocateRecFifos(0, &rec, 2, ids, ra));
	REQUIRE(!Kernel_AllocateBaseAddressTable(0, &bat, 4, ids, 0));
	Kernel_CreateMemoryRegion(&region, fifo, sizeof fifo);
	REQUIRE(Kernel_InjFifoInit(&inj, 0, &region, 32, 1023) == EINVAL);
	REQUIRE(Kernel_InjFifoInit(&inj, 0, &region, 0, 63) == EINVAL);
	REQUIRE(Kernel_InjFifoInit(&inj, 0, &region, 0, 100) == EINVAL);
	REQUIRE(quintorus_mu_refused("fifo_align") == 2 && quintorus_mu_refused("fifo_size") == 1);
	REQUIRE(Kernel_InjFifoActivate(&inj, 1, ids, 1) == EINVAL);
	REQUIRE(!Kernel_InjFifoInit(&inj, 0, &region, 0, 1023));
	REQUIRE(!Kernel_InjFifoInit(&inj, 1, &region, 1024, 1023));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 2, ids, 1));
	Kernel_CreateMemoryRegion(&region, rec_memory, sizeof rec_memory);
	REQUIRE(Kernel_RecFifoInit(&rec, 0, &region, 0, 543) == EINVAL);
	REQUIRE(!Kernel_RecFifoInit(&rec, 0, &region, 0, 2047));
	REQUIRE(!Kernel_RecFifoInit(&rec, 1, &region, 2048, 2047));
	REQUIRE(!Kernel_RecFifoEnable(0, 1 << 15));
	MUSPI_SetBaseAddress(&bat, 0, (uint64_t)target);
	MUSPI_SetBaseAddress(
	    &bat, 1, MUSPI_GetAtomicAddress((uint64_t)&counter, MUHWI_ATOMIC_OPCODE_STORE_ADD));
	MUSPI_SetBaseAddress(&bat, 2, 0);
	MUSPI_SetBaseAddress(&bat, 3, 4096); /* a place where nothing is mapped */
	REQUIRE(MUSPI_SetBaseAddress(&bat, 4, 0) == EPERM &&
		MUSPI_SetBaseAddress(&bat, 8, 0) == EINVAL);

	fifo_info.Base.Payload_Address = (uint64_t)data;
	fifo_info.Base.Message_Length = 64;
	fifo_info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0;
	fifo_info.Base.Dest = here;
	fifo_info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	put_info.Base = fifo_info.Base;
	put_info.Pt2Pt = fifo_info.Pt2Pt;
	put_info.DirectPut.Rec_Counter_Base_Address_Id = 1;
	get_info.Base = fifo_info.Base;
	get_info.Pt2Pt = fifo_info.Pt2Pt;
	get_info.RemoteGet.Type = MUHWI_PACKET_TYPE_GET;
	get_info.RemoteGet.Rget_Inj_FIFO_Id = 1;
	coll_info.Base = fifo_info.Base;
	coll_info.Base.Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER;
	coll_info.Collective.Op_Code = MUHWI_COLLECTIVE_OP_CODE_OR;
	coll_info.Collective.Word_Length = 4;
	coll_info.Collective.Misc =
	    MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD | MUHWI_COLLECTIVE_TYPE_BROADCAST;
	reset_descriptors();
}

/* By the link that there is not in a mesh of two nodes. */
static void to_other_end(MUHWI_Descriptor_t *d)
{
	d->PacketHeader.NetworkHeader.pt2pt.Destination.Destination.A_Destination = here_is_first;
	MUSPI_SetTorusInjectionFIFOMap(d, MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AM);
	MUSPI_SetHintsABCD(d, here_is_first ? MUHWI_PACKET_HINT_AM : MUHWI_PACKET_HINT_AP);
}

#define HEADER PacketHeader.messageUnitHeader.Packet_Types

static void wrong_descriptors_are_refused(void)
{
	BAD(data_type, f, MUSPI_SetDataPacketType(&f, 0x33), "Data_Packet_Type", 0x33);
	BAD(channel, f, MUSPI_SetPt2PtVirtualChannel(&f, 0xe0), "Virtual_channel", 7);
	BAD(channel, f, MUSPI_SetPt2PtVirtualChannel(&f, 0x80), "Virtual_channel", 4);
	BAD(channel, c, MUSPI_SetCollectiveVirtualChannel(&c, 0x20), "Virtual_channel", 1);
	BAD(system_channel, f, MUSPI_SetPt2PtVirtualChannel(&f, 0x60), "Virtual_channel", 3);
	BAD(system_channel, c, MUSPI_SetCollectiveVirtualChannel(&c, 0xc0), "Virtual_channel", 6);
	BAD(map_empty, f, MUSPI_SetTorusInjectionFIFOMap(&f, 0), "Torus_FIFO_Map", 0);
	BAD(map_unknown, f, MUSPI_SetTorusInjectionFIFOMap(&f, 1 << 16), "Torus_FIFO_Map", 1 << 16);
	BAD(map_system, f, MUSPI_SetTorusInjectionFIFOMap(&f, 4), "Torus_FIFO_Map", 4);
	BAD(map_kind, f, MUSPI_SetTorusInjectionFIFOMap(&f, 2), "Torus_FIFO_Map", 2);
	BAD(map_kind, c, MUSPI_SetTorusInjectionFIFOMap(&c, 0x20), "Torus_FIFO_Map", 0x20);
	BAD(map_local, f, MUSPI_SetTorusInjectionFIFOMap(&f, 0x8000), "Torus_FIFO_Map", 0x8000);
	BAD(hints, f, MUSPI_SetHintsABCD(&f, 0xc0), "hints", 0x300);
	BAD(hints, f, MUSPI_SetHints(&f, 0, 0xc0), "hints", 3);
	if (is_mesh)
		BAD(hints_mesh, f, to_other_end(&f), "hints", here_is_first ? 0x200 : 0x100);
	BAD(destination, f,
	    f.PacketHeader.NetworkHeader.pt2pt.Destination.Destination.B_Destination = 9,
	    "Destination", f.PacketHeader.NetworkHeader.pt2pt.Destination.Destination.Destination);
	BAD(deposit, f, MUSPI_SetDeposit(&f, MUHWI_PACKET_DEPOSIT), "hints", 0);
	BAD(chunks, f, f.PacketHeader.NetworkHeader.pt2pt.Byte8.Size = 17, "Size", 17);
	BAD(chunks_put, p, p.PacketHeader.NetworkHeader.pt2pt.Byte8.Size = 0, "Size", 0);
	BAD(chunks_get, g, g.PacketHeader.NetworkHeader.pt2pt.Byte8.Size = 1, "Size", 1);
	BAD(chunks_fifo, f, f.PacketHeader.NetworkHeader.pt2pt.Byte8.Size = 0, "Size", 0);
	BAD(length_put, p, p.Message_Length = 0, "Message_Length", 0);
	BAD(length_get, g, g.Message_Length = 0, "Message_Length", 0);
	BAD(length_get, g, g.Message_Length = 96, "Message_Length", 96);
	BAD(payload_get, g, g.Pa_Payload += 8, "Pa_Payload", (uint64_t)data + 8);
	BAD(payload_get, g, g.Pa_Payload |= MUHWI_ATOMIC_ADDRESS_INDICATOR, "Pa_Payload",
	    (uint64_t)data | MUHWI_ATOMIC_ADDRESS_INDICATOR);
	BAD(payload_atomic, f, f.Pa_Payload |= MUHWI_ATOMIC_ADDRESS_INDICATOR, "Message_Length",
	    64);
	BAD(payload_range, f, f.Pa_Payload = (1ull << 47) - 8, "Pa_Payload", (1ull << 47) - 8);
	BAD(payload_memory, f, f.Pa_Payload = 4096, "Pa_Payload", 4096);
	BAD(put_range, p, MUSPI_SetRecPutOffset(&p, (1ull << 47) - 8), "Put_Offset",
	    (1ull << 47) - 8);
	BAD(class_route, c, MUSPI_SetClassRoute(&c, 5), "Class_Route", 5);
	BAD(collective, c, MUSPI_SetOpCode(&c, 0x30), "OpCode and Word_Length",
	    c.PacketHeader.NetworkHeader.collective.Byte1.Byte1);
	BAD(packet_type, c, MUSPI_SetMessageUnitPacketType(&c, MUHWI_PACKET_TYPE_PACED_GET),
	    "Packet_Type", 3);
}

static void wrong_reception_is_refused(void)
{
	char *segment = find_segment(); /* what the library keeps there is no memory for puts */

	BAD(rec_id, f, MUSPI_SetRecFIFOId(&f, 300), "Rec_FIFO_Id", 300);
	BAD(rec_system, f, MUSPI_SetRecFIFOId(&f, 264), "Rec_FIFO_Id", 264);
	BAD(bat_id, p, MUSPI_SetRecPayloadBaseAddressInfo(&p, 544, 0),
	    "Rec_Payload_Base_Address_Id", 544);
	BAD(bat_system, p, MUSPI_SetRecPayloadBaseAddressInfo(&p, 528, 0),
	    "Rec_Payload_Base_Address_Id", 528);
	BAD(bat_owner, p, MUSPI_SetRecPayloadBaseAddressInfo(&p, 7, 0),
	    "Rec_Payload_Base_Address_Id", 7);
	MUSPI_SetBaseAddress(&bat, 2, 1ull << 46);
	BAD(put_overflow, p, MUSPI_SetRecPayloadBaseAddressInfo(&p, 2, 1ull << 46), "address",
	    1ull << 47);
	BAD(put_cross, p, MUSPI_SetRecPayloadBaseAddressInfo(&p, 2, (1ull << 46) - 16), "address",
	    (1ull << 47) - 16);
	MUSPI_SetBaseAddress(&bat, 2, 0);
	BAD(put_atomic, p,
	    MUSPI_SetRecPayloadBaseAddressInfo(&p, 2, MUSPI_GetAtomicAddress((uint64_t)target, 2)),
	    "bytes", 64);
	BAD(put_memory, p, MUSPI_SetRecPayloadBaseAddressInfo(&p, 3, 0), "address", 4096);
	MUSPI_SetBaseAddress(&bat, 2, (uint64_t)segment);
	BAD(put_memory, p, MUSPI_SetRecPayloadBaseAddressInfo(&p, 2, 4096), "address",
	    (uint64_t)segment + 4096);
	BAD(counter_memory, p,
	    MUSPI_SetRecCounterBaseAddressInfo(&p, 2, MUHWI_ATOMIC_ADDRESS_INDICATOR | 2),
	    "counter", (uint64_t)segment + (MUHWI_ATOMIC_ADDRESS_INDICATOR | 2));
	MUSPI_SetBaseAddress(&bat, 2, 0);
	BAD(counter_atomic, p, MUSPI_SetRecCounterBaseAddressInfo(&p, 2, (uint64_t)target),
	    "counter", (uint64_t)target);
	BAD(counter_memory, p,
	    MUSPI_SetRecCounterBaseAddressInfo(&p, 3, MUHWI_ATOMIC_ADDRESS_INDICATOR | 2),
	    "counter", 4096 + (MUHWI_ATOMIC_ADDRESS_INDICATOR | 2));
	BAD(get_id, g, MUSPI_SetRemoteGetInjFIFOId(&g, 600), "Rget_Inj_FIFO_Id", 600);
	BAD(get_system, g, MUSPI_SetRemoteGetInjFIFOId(&g, 530), "Rget_Inj_FIFO_Id", 530);
	BAD(get_fifo, g, MUSPI_SetRemoteGetInjFIFOId(&g, 0), "Rget_Inj_FIFO_Id", 0);
	BAD(get_fifo, g, MUSPI_SetRemoteGetInjFIFOId(&g, 5), "Rget_Inj_FIFO_Id", 5);
}

/* What is kept, not refused: packets for a FIFO that is not enabled yet, or full. */
static void early_packets_are_kept(void)
{
	MUSPI_RecFifo_t *r = MUSPI_IdToRecFifo(1, &rec);
	uint32_t bytes;

	BAD(rec_enabled, f, MUSPI_SetRecFIFOId(&f, 1), "Rec_FIFO_Id", 1);
	REQUIRE(!MUSPI_getNextPacket(r, &bytes));
	REQUIRE(!Kernel_RecFifoEnable(0, 1 << 14));
	while (!MUSPI_getNextPacket(r, &bytes))
		quintorus_mu_poll();
	MUSPI_syncRecFifoHwHead(r);
	for (int i = 0; i < 40; i++) {
		data[0] = (unsigned char)i;
		MUSPI_SetRecFIFOId(&f, 1);
		send_one(&f);
	}
	for (int i = 0; i < 40; i++) {
		MUHWI_PacketHeader_t *h;

		while (!(h = MUSPI_getNextPacket(r, &bytes)))
			quintorus_mu_poll();
		REQUIRE(((unsigned char *)(h + 1))[0] == i);
		MUSPI_syncRecFifoHwHead(r);
	}
	REQUIRE(quintorus_mu_refused("rec_full") > 0);
}

/* The FIFOs work after all this; prefetch-only descriptors count and send nothing. */
static void fifos_work_afterwards(void)
{
	uint64_t done = MUSPI_getHwDescCount(MUSPI_IdToInjFifo(0, &inj));

	counter = 64;
	data[3] = 42;
	send_one(&p);
	while (counter)
		;
	REQUIRE(target[3] == 42);
	MUSPI_SetPrefetchOnly(&p, 1);
	send_one(&p);
	REQUIRE(MUSPI_getHwDescCount(MUSPI_IdToInjFifo(0, &inj)) == done + 2);
	REQUIRE(counter == 0);
	REQUIRE(quintorus_mu_refused("no such rule") == UINT64_MAX);
}

/* A remote get whose FIFO is not active, or full, is kept: all of its descriptors run later. */
static void early_gets_are_kept(void)
{
	enum { GETS = 20 }; /* the FIFO has room for 15 descriptors */
	uint32_t id = 1;

	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &id, 0));
	memcpy(data, &p, sizeof p);
	counter = (GETS + 1) * 64;
	BAD(get_active, g, (void)0, "Rget_Inj_FIFO_Id", 1);
	for (int i = 0; i < GETS; i++)
		send_one(&g);
	while (!quintorus_mu_refused("get_full"))
		quintorus_mu_poll();
	REQUIRE(counter == (GETS + 1) * 64);
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &id, 1));
	while (counter)
		quintorus_mu_poll();
	REQUIRE(!memcmp(target, data, sizeof p));
}

/* A program whose every message is refused goes on hearing of it. */
static void many_refusals_have_few_lines(void)
{
	char all[8192], *second;
	int n;

	forget_lines();
	MUSPI_SetTorusInjectionFIFOMap(&p, 0);
	while (quintorus_mu_refused("map_empty") < 100)
		send_one(&p);
	reset_descriptors();
	read_lines(all, sizeof all);
	second = strstr(all, "map_empty: 100 times so far, now Torus_FIFO_Map 0x0\n");
	if (!second || strchr(second, '\n')[1])
		say("map_empty", "lines of 100", all);
	for (n = 0, second = all; (second = strchr(second, '\n')); second++)
		n++;
	REQUIRE(n <= 8 + 1);
}

#define FAR (1ull << 40) /* where nothing is mapped */

/* The lines have this one. */
static void find_line(const char *rule, const char *field, uint64_t value)
{
	char want[400], all[8192];

	read_lines(all, sizeof all);
	forget_lines();
	snprintf(want, sizeof want, "MU: refused: %s 0x%llx breaks the rule %s: %s\n", field,
		 (unsigned long long)value, rule, text_of(rule));
	if (!strstr(all, want))
		say(rule, "no line", want);
}

/* The kernel makes a FIFO of ours anew, which stopped when a wrong register was found. */
static void renew_fifo(uint32_t id)
{
	Kernel_MemoryRegion_t region;

	Kernel_CreateMemoryRegion(&region, fifo, sizeof fifo);
	REQUIRE(!Kernel_InjFifoInit(&inj, id, &region, id * 1024, 1023));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &id, 1));
}

/* Store to a register of injection FIFO 0 and hand in a descriptor. */
static void break_fifo(volatile uint64_t *reg, uint64_t value, const char *rule, const char *field)
{
	MUSPI_InjFifo_t *at = MUSPI_IdToInjFifo(0, &inj);
	MUHWI_Descriptor_t copy __attribute__((aligned(64))) = p;
	uint64_t before = quintorus_mu_refused(rule);

	forget_lines();
	*reg = value;
	REQUIRE(MUSPI_InjFifoInject(at, &copy) != (uint64_t)-1);
	wait_for_refusal(rule, before);
	REQUIRE(quintorus_mu_refused(rule) == before + 1);
	find_line(rule, field, value);
	renew_fifo(0);
}

static void see_that_fifos_work(void)
{
	counter = 64;
	data[3]++;
	send_one(&p);
	while (counter)
		quintorus_mu_poll();
	REQUIRE(target[3] == data[3]);
}

static void wrong_registers_of_injection(void)
{
	MUHWI_Fifo_t *hw = MUSPI_IdToInjFifo(0, &inj)->_fifo.hwfifo;

	break_fifo(&hw->size_1, UINT64_MAX, "fifo_place", "size - 1");
	break_fifo(&hw->size_1, 0, "fifo_place", "size - 1");
	break_fifo(&hw->pa_start, FAR, "fifo_place", "pa_start");
	break_fifo(&hw->pa_head, FAR, "fifo_range", "pa_head");
	break_fifo(&hw->pa_head, (uint64_t)fifo + 8, "fifo_align", "pa_head");
	see_that_fifos_work();
}

/* The MU stores the descriptors of a get at the tail of its FIFO. */
static void wrong_registers_of_gets(void)
{
	MUHWI_Fifo_t *hw = MUSPI_IdToInjFifo(1, &inj)->_fifo.hwfifo;
	static const struct {
		bool is_size;
		uint64_t value;
		const char *rule, *field;
	} bad_store[] = {{false, FAR, "fifo_range", "pa_tail"},
			 {true, UINT64_MAX, "fifo_place", "size - 1"}};

	memcpy(data, &p, sizeof p);
	for (size_t i = 0; i < 2; i++) {
		uint64_t before = quintorus_mu_refused(bad_store[i].rule);

		forget_lines();
		counter = 64;
		if (bad_store[i].is_size)
			hw->pa_tail = hw->pa_head + 64; /* the pump looks at a tail that moves */
		*(bad_store[i].is_size ? &hw->size_1 : &hw->pa_tail) = bad_store[i].value;
		send_one(&g);
		wait_for_refusal(bad_store[i].rule, before);
		find_line(bad_store[i].rule, bad_store[i].field, bad_store[i].value);
		REQUIRE(counter == 64);
		renew_fifo(1);
		while (counter)
			quintorus_mu_poll();
	}
}

/* A packet waits until the FIFO is in order and enabled again. */
static void break_reception(volatile uint64_t *reg, uint64_t value, const char *rule,
			    const char *field)
{
	MUSPI_RecFifo_t *r = MUSPI_IdToRecFifo(1, &rec);
	uint64_t before = quintorus_mu_refused(rule);
	Kernel_MemoryRegion_t region;
	uint32_t bytes;

	forget_lines();
	*reg = value;
	MUSPI_SetRecFIFOId(&f, 1);
	send_one(&f);
	wait_for_refusal(rule, before);
	REQUIRE(quintorus_mu_refused(rule) == before + 1);
	find_line(rule, field, value);
	Kernel_CreateMemoryRegion(&region, rec_memory, sizeof rec_memory);
	REQUIRE(!Kernel_RecFifoInit(&rec, 1, &region, 2048, 2047));
	REQUIRE(!Kernel_RecFifoEnable(0, 1 << 14));
	while (!MUSPI_getNextPacket(r, &bytes))
		quintorus_mu_poll();
	MUSPI_syncRecFifoHwHead(r);
}

static void wrong_registers_of_reception(void)
{
	MUHWI_Fifo_t *hw = MUSPI_IdToRecFifo(1, &rec)->_fifo.hwfifo;

	break_reception(&hw->pa_tail, FAR, "rec_range", "pa_tail");
	break_reception(&hw->pa_tail, (uint64_t)rec_memory + 2048 + 8, "rec_range", "pa_tail");
	break_reception(&hw->pa_head, (uint64_t)rec_memory, "rec_range", "pa_head");
	break_reception(&hw->size_1, UINT64_MAX, "fifo_place", "size - 1");
	break_reception(&hw->pa_start, FAR, "fifo_place", "pa_start");
}

/* A region that a program made up. */
static void fifo_in_no_memory_is_refused(void)
{
	Kernel_MemoryRegion_t made_up = {4096, (void *)FAR, (void *)FAR};
	uint64_t before = quintorus_mu_refused("fifo_memory");

	REQUIRE(Kernel_InjFifoInit(&inj, 2, &made_up, 0, 1023) == EINVAL);
	REQUIRE(Kernel_RecFifoInit(&rec, 0, &made_up, 0, 2047) == EINVAL);
	made_up.BaseVa = rec_memory;
	REQUIRE(Kernel_RecFifoInit(&rec, 0, &made_up, 0, 2047) == EINVAL);
	REQUIRE(quintorus_mu_refused("fifo_memory") == before + 3);
}

/* A tail beyond the end of its FIFO ends that FIFO, so this comes last. */
static void wrong_tail_is_refused(void)
{
	uint64_t before = quintorus_mu_refused("fifo_range");

	forget_lines();
	MUSPI_setHwTail(&MUSPI_IdToInjFifo(0, &inj)->_fifo, 4096);
	wait_for_refusal("fifo_range", before);
	REQUIRE(quintorus_mu_refused("fifo_range") == before + 1);
	check_line("fifo_range", "pa_tail", 4096 + (uint64_t)fifo);
}

int main(void)
{
	set_up();
	catch_lines();
	wrong_descriptors_are_refused();
	wrong_reception_is_refused();
	early_packets_are_kept();
	reset_descriptors();
	fifos_work_afterwards();
	reset_descriptors();
	early_gets_are_kept();
	many_refusals_have_few_lines();
	wrong_registers_of_injection();
	wrong_registers_of_gets();
	wrong_registers_of_reception();
	fifo_in_no_memory_is_refused();
	wrong_tail_is_refused();
	dup2(terminal, 2);
	return bad;
}
