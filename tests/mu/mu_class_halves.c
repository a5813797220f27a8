/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two tasks of each node program the two halves of one class route at the same time: one a
 * route for packets, which the router refuses, the other one for signals, which it takes. Each gets
 * the answer to its own request.
 */
#include "mu/channel/class_route.h"

#include <errno.h>
#include <string.h>

#include "emu/class.h"
#include "mu/mu.h"
#include "tests/harness/t.h"

#define ROUTE  5u
#define ROUNDS 2000u

static struct mu_channel *ch;
static unsigned words;

static void receive_packet(void *arg, uint32_t source, const unsigned char *soft,
			   const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	words++;
}

/* Wait for the other task of the node. */
static void meet(uint32_t other, unsigned times)
{
	unsigned char soft[MU_SOFT_BYTES] = {0};

	while (mu_send_short(ch, other, 0, soft, NULL, 0, NULL, 0))
		mu_poll(ch);
	while (words < times)
		mu_poll(ch);
}

static int program_half(unsigned half, const ClassRoute_t *route)
{
	int rc, gi;

	while ((rc = mu_class_set_halves(ch, ROUTE, half, route, &gi)) == -EAGAIN)
		mu_poll(ch);
	return rc;
}

int main(int argc, char **argv)
{
	static const ClassRoute_t accepted = {BGQ_CLASS_INPUT_LINK_LOCAL, 0};
	static const ClassRoute_t two_outputs = {BGQ_CLASS_INPUT_LINK_LOCAL,
						 BGQ_CLASS_LINK_AP | BGQ_CLASS_LINK_AM};
	unsigned rounds = argc > 1 && !strcmp(argv[1], "virtual") ? ROUNDS / 10 : ROUNDS, wrong = 0;
	const struct mu_job *job;

	if (mu_attach(&job))
		return 2;
	REQUIRE(job->tasks % 2 == 0);
	REQUIRE(!mu_channel_open(0, receive_packet, NULL, &ch));
	meet(job->task ^ 1, 1);
	for (unsigned i = 0; i < rounds; i++)
		if (job->task % 2)
			wrong += program_half(MU_ROUTE_SIGNALS, &accepted) != 0;
		else
			wrong += program_half(MU_ROUTE_PACKETS, &two_outputs) != EMU_CLASS_OUTPUTS;
	CHECK_EQ(wrong, 0);
	meet(job->task ^ 1, 2);
	mu_channel_close(ch);
	mu_detach();
	return t_failures() != 0;
}
