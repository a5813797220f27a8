/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lab 2: two tasks write to one node through one link, and a bystander writes to its neighbour.
 *
 *	torus run --clock virtual --shape 8x2x1x1x1 ./hotspot WINDOW
 *
 * WINDOW: the most pieces that a task of the crowd may have under way; 0: no limit; -1: no crowd.
 */
#include "lab.h"

#define PIECE (2 << 10)
#define TOTAL (128 << 10)

/* Node (a,b) is task 2 a + b. The crowd, (4,1) and (6,1), comes from both sides to (0,1) and leaves
 * it over the one link to (0,0). The bystander (3,1) uses one link, to (2,1). */
enum { HOT = 0, BYSTANDER_TO = 5, BYSTANDER = 7, CROWD_MINUS = 9, CROWD_PLUS = 13 };
enum { ADDRESS = 1 };

static char room[PIECE], source[PIECE];
static char *there[64]; /* the room of those tasks that others write to */
static volatile int addresses, finished;
static int started;

static void on_address(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *data, size_t bytes, pami_endpoint_t origin,
		       pami_recv_t *receive)
{
	pami_task_t from;
	size_t offset;

	lab_check(PAMI_Endpoint_query(origin, &from, &offset));
	memcpy(&there[from], data, sizeof there[from]);
	addresses++;
}

/* Start to write a piece; `finished` counts when it is in place. */
static void start_put(int to)
{
	pami_put_simple_t p;

	memset(&p, 0, sizeof p);
	p.rma.dest = lab_endpoint(to);
	p.rma.bytes = PIECE;
	p.rma.cookie = (void *)(uintptr_t)&finished;
	p.addr.local = source;
	p.addr.remote = there[to];
	p.put.rdone_fn = lab_count;
	lab_check(PAMI_Put(lab_context, &p));
	started++;
}

/* Write TOTAL bytes, at most `window` pieces at a time (0: no limit). Returns MB/s. */
static double stream_to(int to, int window)
{
	double start = lab_us();

	for (int i = 0; i < TOTAL / PIECE; i++) {
		lab_wait(!window || started - finished < window);
		start_put(to);
	}
	lab_wait(finished == started);
	return TOTAL / (lab_us() - start);
}

int main(int argc, char **argv)
{
	int window = argc > 1 ? atoi(argv[1]) : 0, is_target;
	char *mine = room;
	double rate = 0;

	lab_begin();
	if (tasks != 16) {
		if (!me)
			fprintf(stderr, "hotspot: run it with --shape 8x2x1x1x1\n");
		return 2;
	}
	lab_on_message(ADDRESS, on_address, NULL);
	lab_barrier();
	is_target = me == HOT || me == BYSTANDER_TO;
	for (int t = 0; is_target && t < tasks; t++)
		if (t != me)
			lab_send(t, ADDRESS, &mine, sizeof mine);
	lab_wait(addresses == 2 - is_target);
	lab_barrier();
	if (window >= 0 && (me == CROWD_MINUS || me == CROWD_PLUS))
		rate = stream_to(HOT, window);
	if (me == BYSTANDER) {
		lab_compute(10); /* until the crowd is there */
		rate = stream_to(BYSTANDER_TO, 0);
	}
	lab_barrier();
	if (rate > 0)
		printf("%s %.0f MB/s\n",
		       me == BYSTANDER     ? "bystander"
		       : me == CROWD_MINUS ? "crowd A-"
					   : "crowd A+",
		       rate);
	lab_end();
	return 0;
}
