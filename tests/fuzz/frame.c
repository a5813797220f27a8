/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whatever bytes come in: the decoder says sound or not without reading beyond them, a sound frame
 * can be walked to its end inside itself, and a wire that gets them neither breaks nor passes on
 * what was not sent.
 *
 * With clang: -fsanitize=fuzzer,address -DFUZZ_ENGINE. Else main() feeds a fixed number of seeded
 * mutations of sound frames (QT_SEED, QT_FUZZ_ROUNDS).
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/rng.h"
#include "drivers/frame.h"
#include "drivers/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define REQUIRE(ok)                                                                                \
	do {                                                                                       \
		if (!(ok)) {                                                                       \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #ok);                   \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* --- a port that receives what it is given and swallows what is sent -------------------------- */

static unsigned char *given;
static uint32_t given_bytes;
static _Alignas(16) unsigned char swallowed[DRV_FRAME_BYTES_MAX];

static struct drv_seal *seal; /* of the present life; NULL: frames are not sealed */

static int sink_get(struct drv_port *p, struct drv_frame *f)
{
	static _Alignas(16) unsigned char tx[DRV_PORT_BURST][2048];
	static unsigned next;

	(void)p;
	f->data = tx[next++ % DRV_PORT_BURST];
	return 0;
}

static int sink_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	(void)p;
	for (unsigned i = 0; i < n; i++) {
		REQUIRE(drv_frame_check(f[i].data, f[i].bytes, 0) ==
			(seal ? DRV_FRAME_NO_KEY : DRV_FRAME_OK));
		memcpy(swallowed, f[i].data, f[i].bytes);
	}
	return (int)n;
}

static void sink_put(struct drv_port *p, struct drv_frame *f)
{
	(void)p, (void)f;
}

static int sink_rx(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	(void)p, (void)n;
	if (!given)
		return 0;
	*f = (struct drv_frame){.data = given, .bytes = given_bytes, .peer = 1};
	return 1;
}

static void sink_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	(void)p, (void)f, (void)n;
	given = NULL;
}

static int sink_peer(struct drv_port *p, const char *address)
{
	(void)p, (void)address;
	return 1;
}

static void sink_close(struct drv_port *p)
{
	(void)p;
}

static const struct drv_port_ops sink_ops = {.name = "sink",
					     .tx_get = sink_get,
					     .tx_send = sink_send,
					     .tx_put = sink_put,
					     .rx = sink_rx,
					     .rx_done = sink_rx_done,
					     .peer = sink_peer,
					     .close = sink_close};

/* --- one input ----------------------------------------------------------------------------------
 */

#define LIFE 64 /* inputs that one pair of wires gets */

static uint64_t inputs, sound, runs_taken, sealed_runs, authentic, forged, forged_sound;

static int run_taken(void *arg, uint32_t host, uint32_t kind, uint32_t tag,
		     const unsigned char *payload, uint32_t bytes)
{
	static volatile unsigned char last;

	(void)arg, (void)host, (void)kind, (void)tag;
	if (bytes)
		last = payload[bytes - 1]; /* the sanitizer looks */
	(void)last;
	runs_taken++;
	sealed_runs += seal != NULL;
	return runs_taken % 5 ? 0 : -EAGAIN;
}

static void decode_frame(const unsigned char *data, uint32_t bytes)
{
	uint32_t at = 0, end = 0, runs = 0, run_bytes;
	const struct drv_frame_run *run;

	for (int want = 0; want < 2; want++)
		if (drv_frame_check(data, bytes, want) == DRV_FRAME_OK)
			sound++;
	if (drv_frame_check(data, bytes, 0) != DRV_FRAME_OK ||
	    ((const struct drv_frame_header *)data)->kind != DRV_FRAME_DATA)
		return;
	while ((run = drv_frame_run_next(data, ((const struct drv_frame_header *)data)->bytes, &at,
					 &run_bytes))) {
		end = (uint32_t)((const unsigned char *)(run + 1) - data) + run->bytes;
		REQUIRE(end <= bytes && at >= end);
		runs++;
	}
	REQUIRE(runs > 0 && runs <= bytes / DRV_FRAME_RUN);
}

static void into_wire(struct drv_wires *ws, unsigned char *data, uint32_t bytes)
{
	static uint64_t now = 1;

	given = data;
	given_bytes = bytes;
	REQUIRE(drv_wires_poll(ws, now += 1000, run_taken, NULL) >= 0);
}

/* A new pair of wires, of the next kind of seal. */
static void new_life(struct drv_wires **ws)
{
	static struct drv_port port = {.ops = &sink_ops, .frame_bytes_max = 2048};
	struct drv_wire_conf conf = {
	    .job = 5, .self = 0, .hosts = 3, .window_frames = 8, .epoch = 9};

	drv_wires_close(*ws);
	drv_seal_close(seal);
	seal = NULL;
	conf.seal = (enum drv_seal_kind)(inputs / LIFE % DRV_SEAL_KINDS);
	if (conf.seal && drv_seal_open(&seal, conf.seal, conf.key))
		conf.seal = DRV_SEAL_NONE; /* built without OpenSSL */
	REQUIRE(!drv_wires_open(ws, &port, &conf));
	REQUIRE(!drv_wires_connect(*ws, 1, "x"));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	static struct drv_wires *ws;
	unsigned char *data;

	if (bytes > DRV_FRAME_BYTES_MAX)
		return 0;
	setenv("QUINTORUS_LOG", "error", 0);
	if (!ws)
		new_life(&ws);
	data = malloc(bytes ? bytes : 1); /* exactly so long, that reading beyond is seen */
	memcpy(data, input, bytes);
	decode_frame(data, (uint32_t)bytes);
	into_wire(ws, data, (uint32_t)bytes);
	free(data);
	if (++inputs % LIFE == 0)
		new_life(&ws);
	return 0;
}

#ifndef FUZZ_ENGINE

#define MOST 1024u

/* A sound frame of some kind, as a peer with epoch 20 would send it. */
static uint32_t sound_frame(struct drv_rng *r, unsigned char *data, uint64_t number)
{
	struct drv_frame_header *h = (void *)data;
	struct drv_frame_note *note = (void *)(data + DRV_FRAME_HEADER);
	uint32_t at = DRV_FRAME_HEADER;

	memset(data, 0, MOST);
	*h = (struct drv_frame_header){.magic = DRV_FRAME_MAGIC,
				       .version = DRV_FRAME_VERSION,
				       .job = 5,
				       .source = 1,
				       .from = 20,
				       .to = 9};
	h->kind =
	    (uint8_t)(drv_rng_below(r, 2) ? DRV_FRAME_DATA
					  : 1 + drv_rng_below(r, drv_rng_below(r, 16) ? 5 : 6));
	h->sequence = (uint32_t)drv_rng_below(r, 1 + number);
	if (!number) {
		h->kind = DRV_FRAME_HELLO;
		h->sequence = 0;
	}
	h->order = (uint32_t)drv_rng_below(r, 20);
	if (h->kind == DRV_FRAME_DATA) {
		for (uint64_t n = 1 + drv_rng_below(r, 6); n; n--) {
			struct drv_frame_run *run = (void *)(data + at);

			run->bytes = (uint32_t)drv_rng_below(r, 100);
			at += DRV_FRAME_RUN + drv_frame_round(run->bytes);
		}
	} else if (h->kind == DRV_FRAME_HELLO || h->kind == DRV_FRAME_ECHO ||
		   h->kind == DRV_FRAME_PROBE) {
		at += sizeof *note;
		note->frame_bytes = h->kind == DRV_FRAME_PROBE ? at : 2048;
		note->window = 8;
		note->ready_life = 9; /* of the wires below: host 0, epoch 9 */
		h->flags =
		    DRV_FRAME_COMMIT | DRV_FRAME_READY | (drv_rng_below(r, 2) ? DRV_FRAME_ASK : 0);
	}
	h->bytes = (uint16_t)at;
	return at;
}

/* What makes its receiver believe a frame, in the life that it is for. */
static uint32_t set_trusted(unsigned char *data, uint32_t bytes)
{
	struct drv_frame_header *h = (void *)data;
	static uint64_t number = 1ull << 40;

	if (!seal || h->bytes > MOST || h->bytes % DRV_FRAME_RUN) {
		drv_frame_add_checksum(data);
		return bytes;
	}
	h->flags &= (uint16_t) ~(DRV_FRAME_SEALED | DRV_FRAME_HIDDEN);
	REQUIRE(!drv_seal_frame(seal, data, 0, ++number));
	authentic++;
	return h->bytes;
}

/*
 * One field of the header, or of the note behind it, becomes another plausible value: what somebody
 * sends who knows the format. The checksum is right.
 */
static uint32_t forge_field(struct drv_rng *r, unsigned char *data, uint32_t bytes)
{
	static const uint32_t steps[] = {1, 2, 7, 8, 64, 1000, 0x40000000, 0x7fffff00, 0x80000000};
	struct drv_frame_header *h = (void *)data;
	struct drv_frame_note *note = (void *)(data + DRV_FRAME_HEADER);
	uint32_t step = steps[drv_rng_below(r, sizeof steps / sizeof *steps)];

	step = drv_rng_below(r, 2) ? step : 0u - step;
	switch (drv_rng_below(r, 13)) {
	case 0:
		h->sequence += step;
		break;
	case 1:
		h->ack += step;
		break;
	case 2:
		h->order += step;
		break;
	case 3:
		h->seen += step;
		break;
	case 4:
		h->from += step;
		break;
	case 5:
		h->to += step;
		break;
	case 6:
		h->sack[drv_rng_below(r, 2)] = drv_rng_below(r, 2) ? UINT64_MAX : drv_rng_next(r);
		break;
	case 7:
		h->kind = (uint8_t)drv_rng_below(r, 8);
		break;
	case 8:
		h->flags ^= (uint16_t)(1u << drv_rng_below(r, 16));
		break;
	case 9:
		h->source = (uint16_t)drv_rng_below(r, 4);
		break;
	case 10:
		note->known_epoch += step;
		break;
	case 11:
		note->life = drv_rng_below(r, 2) ? drv_rng_next(r) : 9;
		break;
	default:
		note->window = drv_rng_below(r, 2) ? step : 0;
		break;
	}
	forged++;
	bytes = set_trusted(data, bytes);
	/* A number that was wrong by chance is one thing; this frame must get past the first look.
	 */
	forged_sound += !seal && drv_frame_check(data, bytes, 0) == DRV_FRAME_OK;
	return bytes;
}

static uint32_t mutate_frame(struct drv_rng *r, unsigned char *data, uint32_t bytes)
{
	struct drv_frame_header *h = (void *)data;
	uint64_t n = drv_rng_below(r, 4);

	while (n--) {
		uint32_t at =
		    (uint32_t)drv_rng_below(r, drv_rng_below(r, 2) ? DRV_FRAME_HEADER : bytes);

		switch (drv_rng_below(r, 5)) {
		case 0:
			data[at] ^= (unsigned char)(1u << drv_rng_below(r, 8));
			break;
		case 1:
			data[at] = (unsigned char)(drv_rng_below(r, 2) ? 0xff : drv_rng_next(r));
			break;
		case 2:
			h->bytes = (uint16_t)(16 * drv_rng_below(r, 70));
			break;
		case 3:
			memset(data + at, (int)drv_rng_next(r), bytes - at < 8 ? bytes - at : 8);
			break;
		default:
			bytes = 1 + (uint32_t)drv_rng_below(r, bytes);
			break;
		}
	}
	/* Mostly with a right checksum, or few would get past it. */
	if (drv_rng_below(r, 8) && bytes >= DRV_FRAME_HEADER && h->bytes >= DRV_FRAME_HEADER &&
	    h->bytes <= bytes)
		bytes = set_trusted(data, bytes);
	return bytes;
}

int main(void)
{
	const char *seed_text = getenv("QT_SEED"), *rounds_text = getenv("QT_FUZZ_ROUNDS");
	uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : 1;
	uint64_t rounds = rounds_text ? strtoull(rounds_text, NULL, 0) : 300000;
	static _Alignas(16) unsigned char data[MOST + DRV_FRAME_TRAILER];
	struct drv_rng r;

	fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
	drv_rng_seed(&r, seed);
	for (uint64_t i = 0; i < rounds; i++) {
		uint32_t bytes = sound_frame(&r, data, i % LIFE);

		if (i % LIFE)
			bytes = drv_rng_below(&r, 3) ? mutate_frame(&r, data, bytes)
						     : forge_field(&r, data, bytes);
		else
			bytes = set_trusted(data, bytes);
		LLVMFuzzerTestOneInput(data, bytes);
	}
	printf("1..1\nok 1 - %llu mutated frames, %llu forged and %llu of those sound without a "
	       "seal, %llu times sound, %llu sealed, %llu runs offered, %llu of them sealed\n",
	       (unsigned long long)rounds, (unsigned long long)forged,
	       (unsigned long long)forged_sound, (unsigned long long)sound,
	       (unsigned long long)authentic, (unsigned long long)runs_taken,
	       (unsigned long long)sealed_runs);
	/* If this fails, the mutations never got past the first check. */
	return !(sound && runs_taken && forged_sound > forged / 8 && (!authentic || sealed_runs));
}

#endif
