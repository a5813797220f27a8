/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lab 9: a wire over a network that loses, repeats and reorders frames. One process has both ends,
 * and the network between them is a table; no library is needed.
 *
 *	./wire SEED LOSS
 *
 * LOSS: the share of frames that are lost, 0 to 0.5. As many are repeated, and all may overtake
 * each other. The receiver must hand up the numbers 0, 1, 2 ... MESSAGES - 1, each once, in order.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MESSAGES 1000
#define TICKS    1000000
#define DELAY    10 /* most ticks that a frame is under way */
#define FLIGHTS  4096

/* ---- The network. Change nothing here. ---- */

struct frame {
	uint32_t number; /* data: of the message; acknowledgement: yours */
	uint32_t value;  /* data: the message */
};
static struct {
	struct frame frame;
	int arrives; /* tick; 0: free */
	bool back;   /* from the receiver to the sender */
} flight[FLIGHTS];
static uint64_t chance;
static double loss;
static int now, frames;

static double draw_chance(void)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return (double)(chance >> 11) / (double)(1ull << 53);
}

static void send_flight(struct frame f, bool back)
{
	for (int i = 0; i < FLIGHTS; i++) {
		if (flight[i].arrives)
			continue;
		flight[i].frame = f;
		flight[i].back = back;
		flight[i].arrives = now + 1 + (int)(draw_chance() * DELAY);
		return;
	}
}

/* Give a frame to the network. */
static void network_send(struct frame f, bool back)
{
	frames++;
	if (draw_chance() >= loss)
		send_flight(f, back);
	if (draw_chance() < loss)
		send_flight(f, back);
}

/* What the program above the wire gets. */
static uint32_t expected;
static bool wrong;

static void hand_up(uint32_t value)
{
	if (value != expected && !wrong) {
		printf("WRONG: message %u was handed up where %u was next\n", value, expected);
		wrong = true;
	}
	expected = value + 1;
}

/* ---- The wire: yours. ---- */

#define WINDOW  64
#define TIMEOUT (4 * DELAY)

/* The sender: messages below `first` have been acknowledged, those below `next` have been sent. */
static uint32_t first, next;
static int sent_at[WINDOW];
static bool is_acked[WINDOW];
/* The receiver: messages below `wanted` have been handed up; later ones wait here. */
static uint32_t wanted, held[WINDOW];
static bool is_held[WINDOW];

static void send_message(uint32_t number)
{
	sent_at[number % WINDOW] = now;
	network_send((struct frame){.number = number, .value = number}, false);
}

/* A tick has passed at the sender. */
static void sender_tick(void)
{
	for (uint32_t n = first; n < next; n++) {
		if (is_acked[n % WINDOW] || now - sent_at[n % WINDOW] < TIMEOUT)
			continue;
		send_message(n);
		return;
	}
	if (next < MESSAGES && next < first + WINDOW) {
		is_acked[next % WINDOW] = false;
		send_message(next++);
	}
}

/* An acknowledgement has come to the sender: of one message, `number`; all below `value` are there.
 */
static void sender_receive(struct frame f)
{
	if (f.number >= first && f.number < next)
		is_acked[f.number % WINDOW] = true;
	while (first < next && (first < f.value || is_acked[first % WINDOW]))
		first++;
}

/* A frame with a message has come to the receiver. */
static void receiver_receive(struct frame f)
{
	if (f.number >= wanted && f.number < wanted + WINDOW) {
		held[f.number % WINDOW] = f.value;
		is_held[f.number % WINDOW] = true;
	}
	for (; is_held[wanted % WINDOW]; wanted++) {
		is_held[wanted % WINDOW] = false;
		hand_up(held[wanted % WINDOW]);
	}
	/* Also for what came before: its acknowledgement may be lost. */
	network_send((struct frame){.number = f.number, .value = wanted}, true);
}

/* ---- A run. ---- */

int main(int argc, char **argv)
{
	chance = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	loss = argc > 2 ? atof(argv[2]) : 0.1;
	for (now = 1; now < TICKS && expected < MESSAGES && !wrong; now++) {
		for (int i = 0; i < FLIGHTS; i++) {
			struct frame f = flight[i].frame;

			if (flight[i].arrives != now)
				continue;
			flight[i].arrives = 0;
			if (flight[i].back)
				sender_receive(f);
			else
				receiver_receive(f);
		}
		sender_tick();
	}
	if (expected < MESSAGES && !wrong)
		printf("WRONG: after %d ticks message %u has not come\n", now, expected);
	printf("%u messages, %d frames, %d ticks\n", expected, frames, now);
	return wrong || expected < MESSAGES;
}
