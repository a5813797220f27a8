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

/*
 * TODO, step 2. This wire promises nothing: it sends each message once and hands up what comes.
 * Make it keep its promise. You may keep what state you like at either end, but the ends share
 * nothing but frames.
 */
static uint32_t next;

/* A tick has passed at the sender. */
static void sender_tick(void)
{
	if (next < MESSAGES) {
		network_send((struct frame){.number = next, .value = next}, false);
		next++;
	}
}

/* An acknowledgement has come to the sender. */
static void sender_receive(struct frame f)
{
	(void)f;
}

/* A frame with a message has come to the receiver. */
static void receiver_receive(struct frame f)
{
	hand_up(f.value);
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
