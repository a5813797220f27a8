/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lab 3: every node sends 128 KiB to one other node; the pattern says which.
 *
 *	PAMI_ROUTING=1024,4,0:0,4,4 torus run --clock virtual --shape 6x6x1x1x1 ./pattern transpose
 *	PAMI_ROUTING=1024,4,0:9,1,1 torus run --clock virtual --shape 6x6x1x1x1 ./pattern transpose
 *
 * The first line routes deterministically, the second dynamically (zone 1).
 */
#include "lab.h"

#define SIDE  6
#define BYTES (128 << 10)

enum { DATA = 1, NAME };

static char out[BYTES], in[BYTES];
static volatile int received, sent;
static int named[SIDE * SIDE];
static volatile int names;

/* The node (*x,*y) to which node (a,b) sends. Each node must be named once: a permutation. */
static void choose_partner(const char *pattern, int a, int b, int *x, int *y)
{
	*x = a;
	*y = b;
	if (!strcmp(pattern, "neighbour")) {
		*x = (a + 1) % SIDE;
	} else if (!strcmp(pattern, "tornado")) {
		*x = (a + SIDE / 2 - 1) % SIDE;
	} else if (!strcmp(pattern, "transpose")) {
		*x = b;
		*y = a;
	} else if (!strcmp(pattern, "mine")) {
		/* The other diagonal: all that a row sends meets at one node of it. */
		*x = SIDE - 1 - b;
		*y = SIDE - 1 - a;
	}
}

static void on_data(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *receive)
{
	receive->addr = in;
	receive->type = PAMI_TYPE_BYTE;
	receive->offset = 0;
	receive->data_fn = PAMI_DATA_COPY;
	receive->local_fn = lab_count;
	receive->cookie = (void *)(uintptr_t)&received;
}

/* Task 0 sees who is whose partner. */
static void on_name(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *receive)
{
	int to;

	memcpy(&to, data, sizeof to);
	named[to]++;
	names++;
}

int main(int argc, char **argv)
{
	int x, y, to;
	pami_send_t s;
	double start;

	lab_begin();
	if (tasks != SIDE * SIDE || argc != 2) {
		if (!me)
			fprintf(
			    stderr,
			    "pattern: run it with --shape 6x6x1x1x1 and the name of a pattern\n");
		return 2;
	}
	lab_on_message(DATA, on_data, NULL);
	lab_on_message(NAME, on_name, NULL);
	choose_partner(argv[1], me / SIDE, me % SIDE, &x, &y);
	to = x * SIDE + y;
	lab_barrier();
	lab_send(0, NAME, &to, sizeof to);
	if (me == 0) {
		lab_wait(names == tasks);
		for (int t = 0; t < tasks; t++) {
			if (named[t] != 1) {
				fprintf(
				    stderr,
				    "pattern: %d nodes send to (%d,%d); each must be named once\n",
				    named[t], t / SIDE, t % SIDE);
				exit(1);
			}
		}
	}
	lab_barrier();
	start = lab_us();
	memset(&s, 0, sizeof s);
	s.send.dest = lab_endpoint(to);
	s.send.dispatch = DATA;
	s.send.data.iov_base = out;
	s.send.data.iov_len = BYTES;
	s.events.cookie = (void *)(uintptr_t)&sent;
	s.events.local_fn = lab_count;
	lab_check(PAMI_Send(lab_context, &s));
	lab_wait(sent && received);
	lab_barrier();
	if (me == 0)
		printf("%s %.1f us, %.0f MB/s a node\n", argv[1], lab_us() - start,
		       BYTES / (lab_us() - start));
	lab_end();
	return 0;
}
