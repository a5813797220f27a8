/* SPDX-License-Identifier: BSD-3-Clause */
#include "mu/channel/pace.h"

#include <errno.h>
#include <stdlib.h>

#include "mu/engine/engine.h"
#include "mu/process.h"

struct paced_get {
	struct paced_get *next;
	struct mu_op *done;
	char *local;
	uint64_t remote;
	size_t bytes, asked; /* asked: bytes that pieces have been asked for */
	uint32_t task, channel;
	uint32_t in_flight; /* pieces */
	int error;          /* negative errno of a piece; 0: none */
	bool may_pass, waits;
};

struct piece {
	struct mu_op op;
	struct mu_channel *ch;
	struct paced_get *get; /* NULL: none, the piece is free or comes back in the next poll */
	struct piece *next;    /* free ones */
};

struct mu_pace {
	struct paced_get *first, **last; /* gets that wait to ask for more */
	struct piece *free;
	uint32_t in_flight, pieces;
	struct piece piece[]; /* pieces of them */
};

static void run(struct mu_channel *ch);

static struct mu_pace *make_pace(struct mu_channel *ch)
{
	uint32_t pieces = ch->p->routing.pacing_window;
	struct mu_pace *pace = calloc(1, sizeof *pace + pieces * sizeof pace->piece[0]);

	if (!pace)
		return NULL;
	pace->last = &pace->first;
	pace->pieces = pieces;
	for (uint32_t i = 0; i < pieces; i++) {
		pace->piece[i].ch = ch;
		pace->piece[i].next = pace->free;
		pace->free = &pace->piece[i];
	}
	return pace;
}

void mu_pace_free(struct mu_pace *pace)
{
	struct paced_get *g;

	if (!pace)
		return;
	/* A get that has asked for all its pieces waits in no list: only they know it. */
	for (uint32_t i = 0; i < pace->pieces; i++) {
		g = pace->piece[i].get;
		if (g && !--g->in_flight && !g->waits)
			free(g);
	}
	while ((g = pace->first)) {
		pace->first = g->next;
		free(g);
	}
	free(pace);
}

static bool has_asked_all(const struct paced_get *g)
{
	return g->error || g->asked == g->bytes;
}

static void end_if_complete(struct mu_channel *ch, struct paced_get *g)
{
	if (g->waits || g->in_flight || !has_asked_all(g))
		return;
	mu_op_complete_later(ch, g->done, g->error);
	free(g);
}

static void on_piece(struct mu_op *op, int result)
{
	struct piece *piece = (struct piece *)(void *)op;
	struct mu_channel *ch = piece->ch;
	struct paced_get *g = piece->get;

	ch->pace->in_flight--;
	piece->get = NULL;
	piece->next = ch->pace->free;
	ch->pace->free = piece;
	if (g) {
		g->in_flight--;
		if (result && !g->error)
			g->error = result;
		end_if_complete(ch, g);
	}
	run(ch);
}

static void use_piece(struct mu_pace *pace, struct paced_get *g)
{
	struct piece *piece = pace->free;

	pace->free = piece->next;
	piece->get = g;
	pace->in_flight++;
	if (g)
		g->in_flight++;
}

/* Ask for the next piece of a get. 0, or -EAGAIN: there is no room now. */
static int ask_for_piece(struct mu_channel *ch, struct paced_get *g)
{
	struct mu_pace *pace = ch->pace;
	size_t bytes = g->bytes - g->asked;
	int rc;

	if (bytes > ch->p->routing.pacing_piece)
		bytes = ch->p->routing.pacing_piece;
	pace->free->op.done = on_piece;
	rc = mu_pace_get_piece(ch, g->task, g->channel, g->local + g->asked, g->remote + g->asked,
			       bytes, g->bytes, &pace->free->op, g->may_pass);
	if (rc == -EAGAIN)
		return rc;
	if (rc) {
		g->error = rc;
		return 0;
	}
	use_piece(pace, g);
	g->asked += bytes;
	return 0;
}

/* Ask for as many pieces as may be in flight. */
static void run(struct mu_channel *ch)
{
	struct mu_pace *pace = ch->pace;
	struct paced_get *g;

	while (pace->free && (g = pace->first)) {
		if (has_asked_all(g)) {
			pace->first = g->next;
			if (!pace->first)
				pace->last = &pace->first;
			g->waits = false;
			end_if_complete(ch, g);
			continue;
		}
		if (!ask_for_piece(ch, g))
			continue;
		/* A piece that arrives tries again. If none is in flight, the next poll does. */
		if (!pace->in_flight) {
			struct piece *retry = pace->free;

			use_piece(pace, NULL);
			mu_op_complete_later(ch, &retry->op, 0);
		}
		return;
	}
}

int mu_pace_get(struct mu_channel *ch, uint32_t task, uint32_t channel, void *local,
		uint64_t remote, size_t bytes, struct mu_op *done, bool may_pass)
{
	struct paced_get *g = malloc(sizeof *g);

	if (!ch->pace)
		ch->pace = make_pace(ch);
	if (!g || !ch->pace) {
		free(g);
		return -EAGAIN;
	}
	*g = (struct paced_get){.done = done,
				.local = local,
				.remote = remote,
				.bytes = bytes,
				.task = task,
				.channel = channel,
				.may_pass = may_pass,
				.waits = true};
	*ch->pace->last = g;
	ch->pace->last = &g->next;
	run(ch);
	return 0;
}
