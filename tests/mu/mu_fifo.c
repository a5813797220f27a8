/* SPDX-License-Identifier: BSD-3-Clause */
/* Injection and reception FIFOs under their MUSPI names: empty, wrap, full, order. */
#include "tests/harness/t.h"

#include <stdlib.h>
#include <string.h>

#include "mu/hw/desc_build.h"
#include "mu/hw/inj_fifo.h"
#include "mu/hw/rec_fifo.h"

#define SLOTS 8

static _Alignas(64) MUHWI_Descriptor_t slots[SLOTS];

/* Hardware's half: take the descriptor at head. */
static const MUHWI_Descriptor_t *hardware_take(MUHWI_Fifo_t *f, MUHWI_InjFifo_t *hw)
{
	const MUHWI_Descriptor_t *d = (const void *)(uintptr_t)f->pa_head;

	if (f->pa_head == f->pa_tail)
		return NULL;
	f->pa_head = f->pa_head + 64 == f->pa_start + f->size_1 + 1 ? f->pa_start : f->pa_head + 64;
	hw->descCount++;
	return d;
}

static void injection_fills_to_one_less_and_wraps(void)
{
	MUHWI_Fifo_t f;
	MUHWI_InjFifo_t hw;
	MUSPI_InjFifo_t inj;
	MUHWI_Descriptor_t d;
	uint64_t next_in = 0, next_out = 0;

	CHECK_EQ(mu_inj_fifo_init(&inj, &f, &hw, slots, SLOTS), 0);
	CHECK(!hardware_take(&f, &hw));
	memset(&d, 0, sizeof d);
	for (int round = 0; round < 50; round++) {
		unsigned n = (unsigned)drv_rng_below(t_rng(), SLOTS) + 1, taken = 0;
		const MUHWI_Descriptor_t *out;

		for (unsigned i = 0; i < n; i++) {
			uint64_t seq;

			d.Message_Length = next_in;
			seq = MUSPI_InjFifoInject(&inj, &d);
			if (next_in - next_out == SLOTS - 1) {
				CHECK_EQ(seq, UINT64_MAX);
				break;
			}
			CHECK_EQ(seq, ++next_in);
			CHECK(!MUSPI_CheckDescComplete(&inj, seq));
		}
		n = (unsigned)drv_rng_below(t_rng(), SLOTS + 1);
		while (taken++ < n && (out = hardware_take(&f, &hw))) {
			CHECK_EQ(out->Message_Length, next_out);
			next_out++;
			CHECK(MUSPI_CheckDescComplete(&inj, next_out));
		}
	}
	CHECK(next_out > SLOTS * 3);
}

static void injection_refuses_bad_memory(void)
{
	MUHWI_Fifo_t f;
	MUHWI_InjFifo_t hw;
	MUSPI_InjFifo_t inj;

	CHECK_EQ(mu_inj_fifo_init(&inj, &f, &hw, (char *)slots + 32, SLOTS - 1), -EINVAL);
	CHECK_EQ(mu_inj_fifo_init(&inj, &f, &hw, slots, 1), -EINVAL);
}

static void reception_keeps_every_packet_through_wraps(void)
{
	static _Alignas(32) unsigned char memory[576 * 3];
	_Alignas(32) MUSPI_RecFifo_t rec;
	MUHWI_Fifo_t f;
	MUHWI_PacketHeader_t h;
	unsigned char payload[512];
	uint32_t in = 0, out = 0, full = 0, split = 0;

	CHECK_EQ(mu_rec_fifo_init(&rec, &f, memory, sizeof memory), 0);
	memset(&h, 0, sizeof h);
	for (int i = 0; i < 20000; i++) {
		uint32_t bytes;
		MUHWI_PacketHeader_t *p;

		if (drv_rng_below(t_rng(), 2)) {
			uint32_t n = in * 37 % 513;

			for (uint32_t k = 0; k < n; k++)
				payload[k] = (unsigned char)(in + k);
			h.messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_LSB = in;
			if (mu_rec_fifo_append(&f, &h, payload, n))
				full++;
			else
				in++;
		} else if ((p = MUSPI_getNextPacket(&rec, &bytes))) {
			uint32_t n = out * 37 % 513;
			const unsigned char *at = (unsigned char *)p + 32;

			CHECK_EQ(p->messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_LSB, out);
			CHECK_EQ(bytes, 32 + (n + 31) / 32 * 32);
			split += (unsigned char *)p == rec._wrapBuf;
			for (uint32_t k = 0; k < n; k++)
				if (at[k] != (unsigned char)(out + k)) {
					CHECK_FAIL("payload differs");
					return;
				}
			out++;
			MUSPI_syncRecFifoHwHead(&rec);
		} else {
			CHECK_EQ(in, out);
		}
	}
	CHECK(full > 100);
	CHECK(split > 100);
}

static void reception_refuses_bad_memory(void)
{
	static _Alignas(32) unsigned char memory[1024];
	_Alignas(32) MUSPI_RecFifo_t rec;
	MUHWI_Fifo_t f;

	CHECK_EQ(mu_rec_fifo_init(&rec, &f, memory, 544), -EINVAL);
	CHECK_EQ(mu_rec_fifo_init(&rec, &f, memory + 1, 576), -EINVAL);
	CHECK_EQ(mu_rec_fifo_init(&rec, &f, memory, 600), -EINVAL);
}

/* The bit that lets a put of ours ask may be set in one of a program of the MU's registers. */
static void raw_puts_do_not_ask(void)
{
	struct mu_dest to = {0};
	MUHWI_Descriptor_t d;

	mu_desc_put(&d, 4096, 64, &to, 4096, 0, 0);
	CHECK(!mu_put_asks(&d.PacketHeader));
	mu_desc_ask(&d, 3, 7);
	CHECK(mu_put_asks(&d.PacketHeader));
	mu_raw_header_wrap(&d.PacketHeader, 0, 0);
	CHECK(!mu_put_asks(&d.PacketHeader));
	mu_put_ask_later(&d.PacketHeader);
	CHECK_EQ(d.PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset,
		 7u << 16 | 3);
}

T_MAIN(T(injection_fills_to_one_less_and_wraps), T(injection_refuses_bad_memory),
       T(reception_keeps_every_packet_through_wraps), T(reception_refuses_bad_memory),
       T(raw_puts_do_not_ask))
