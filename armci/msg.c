/* SPDX-License-Identifier: BSD-3-Clause */
/* The message layer: ranks, barrier, broadcast and reductions over the world. */
#include <stdlib.h>
#include <string.h>

#include "armci/state.h"

enum operator{ SUM, PROD, MAX, MIN, ABSMAX, ABSMIN, LAND, LOR, BAND, BOR, OPERATORS };

/*
 * Matched by prefix, because callers pass Fortran strings without an end; an operator that begins with
 * another comes first. The last column: integers only.
 */
static const struct {
	const char *text;
	enum operator op;
	bool integer;
} operators[] = {
    {"+", SUM, false},         {"*", PROD, false},        {"max", MAX, false}, {"min", MIN, false},
    {"absmax", ABSMAX, false}, {"absmin", ABSMIN, false}, {"&&", LAND, true},  {"land", LAND, true},
    {"||", LOR, true},         {"lor", LOR, true},        {"&", BAND, true},   {"band", BAND, true},
    {"|", BOR, true},          {"bor", BOR, true},        {"or", BOR, true},
};

static enum operator operator_of(const char *text, bool integer)
{
	size_t i;

	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (!strncmp(text, operators[i].text, strlen(operators[i].text)) &&
		    (integer || !operators[i].integer))
			return operators[i].op;
	armci_die("'%.8s' is no reduction operator for %s", text,
		  integer ? "integers" : "floating point");
}

static pami_data_function function_of(enum operator op)
{
	const pami_data_function table[OPERATORS] = {
	    [SUM] = PAMI_DATA_SUM,   [PROD] = PAMI_DATA_PROD,  [MAX] = PAMI_DATA_MAX,
	    [MIN] = PAMI_DATA_MIN,   [ABSMAX] = PAMI_DATA_MAX, [ABSMIN] = PAMI_DATA_MIN,
	    [LAND] = PAMI_DATA_LAND, [LOR] = PAMI_DATA_LOR,    [BAND] = PAMI_DATA_BAND,
	    [BOR] = PAMI_DATA_BOR,
	};

	return table[op];
}

#define GOP(name, type, pami_type, integer)                                                             \
	void armci_msg_##name(type *x, int n, const char *text)                                         \
	{                                                                                               \
		enum operator op = operator_of(text, integer);                                          \
		int i;                                                                                  \
                                                                                                        \
		for (i = 0; (op == ABSMAX || op == ABSMIN) && i < n; i++)                               \
			x[i] = x[i] < 0 ? -x[i] : x[i];                                                 \
		if (n > 0)                                                                              \
			armci_coll_allreduce(x, (size_t)n, sizeof(*x), pami_type, function_of(op));     \
	}

#pragma GCC visibility push(default)

GOP(igop, int, PAMI_TYPE_SIGNED_INT, true)
GOP(lgop, long, PAMI_TYPE_SIGNED_LONG, true)
GOP(llgop, long long, PAMI_TYPE_SIGNED_LONG_LONG, true)
GOP(fgop, float, PAMI_TYPE_FLOAT, false)
GOP(dgop, double, PAMI_TYPE_DOUBLE, false)

void armci_msg_reduce(void *x, int n, const char *op, int type)
{
	switch (type) {
	case ARMCI_INT:
		armci_msg_igop(x, n, op);
		break;
	case ARMCI_LONG:
		armci_msg_lgop(x, n, op);
		break;
	case ARMCI_LONG_LONG:
		armci_msg_llgop(x, n, op);
		break;
	case ARMCI_FLOAT:
		armci_msg_fgop(x, n, op);
		break;
	case ARMCI_DOUBLE:
		armci_msg_dgop(x, n, op);
		break;
	default:
		armci_die("armci_msg_reduce: %d is no type", type);
	}
}

int armci_msg_me(void)
{
	return armci_world.me;
}

int armci_msg_nproc(void)
{
	return armci_world.nproc;
}

double armci_timer(void)
{
	return PAMI_Wtime(armci_world.client);
}

void parmci_msg_barrier(void)
{
	armci_coll_barrier();
}
void armci_msg_barrier(void) __attribute__((weak, alias("parmci_msg_barrier")));

void armci_msg_bcast(void *buf, int len, int root)
{
	if (armci_check_proc(root))
		armci_die("armci_msg_bcast: there is no process %d", root);
	if (len > 0)
		armci_coll_bcast(buf, (size_t)len, root);
}

void armci_msg_brdcst(void *buf, int len, int root)
{
	armci_msg_bcast(buf, len, root);
}

void armci_exchange_address(void **ptr_ar, int n)
{
	void *mine;

	if (n != armci_world.nproc)
		armci_die("armci_exchange_address: %d entries for %d processes", n, armci_world.nproc);
	mine = ptr_ar[armci_world.me];
	armci_coll_allgather(&mine, ptr_ar, sizeof(mine));
}

#pragma GCC visibility pop
