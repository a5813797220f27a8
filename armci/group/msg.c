/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The message layer: ranks, barriers, broadcasts and reductions over all processes, groups and
 * scopes.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/locality.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/group/coll.h"
#include "armci/group/group.h"

enum operator{ SUM, PROD, MAX, MIN, ABSMAX, ABSMIN, LAND, LOR, BAND, BOR, OPERATORS };

/*
 * Operators are matched by prefix, because callers pass Fortran strings without an end. An operator
 * that begins with another one comes before it. The last column marks those for integers only.
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
	armci_die("'%.8s' is not a reduction operator for %s", text,
		  integer ? "integers" : "floating point");
}

static pami_data_function pami_function(enum operator op)
{
	const pami_data_function table[OPERATORS] = {
	    [SUM] = PAMI_DATA_SUM,   [PROD] = PAMI_DATA_PROD,  [MAX] = PAMI_DATA_MAX,
	    [MIN] = PAMI_DATA_MIN,   [ABSMAX] = PAMI_DATA_MAX, [ABSMIN] = PAMI_DATA_MIN,
	    [LAND] = PAMI_DATA_LAND, [LOR] = PAMI_DATA_LOR,    [BAND] = PAMI_DATA_BAND,
	    [BOR] = PAMI_DATA_BOR,
	};

	return table[op];
}

#define ABSOLUTE(type)                                                                             \
	for (type *v = x, *end = v + n; v < end; v++)                                              \
	*v = *v < 0 ? -*v : *v

static void take_absolutes(void *x, size_t n, int type)
{
	switch (type) {
	case ARMCI_INT:
		ABSOLUTE(int);
		break;
	case ARMCI_LONG:
		ABSOLUTE(long);
		break;
	case ARMCI_LONG_LONG:
		ABSOLUTE(long long);
		break;
	case ARMCI_FLOAT:
		ABSOLUTE(float);
		break;
	default:
		ABSOLUTE(double);
	}
}

/* Reduce in place over g. NULL: this process is not in the scope and keeps its values. */
static void reduce_in_place(struct armci_group *g, void *x, int n, const char *text, int type)
{
	ARMCI_ENTER;
	const struct {
		int type;
		size_t bytes;
		pami_type_t pami;
		bool integer;
	} * t, types[] = {
		   {ARMCI_INT, sizeof(int), PAMI_TYPE_SIGNED_INT, true},
		   {ARMCI_LONG, sizeof(long), PAMI_TYPE_SIGNED_LONG, true},
		   {ARMCI_LONG_LONG, sizeof(long long), PAMI_TYPE_SIGNED_LONG_LONG, true},
		   {ARMCI_FLOAT, sizeof(float), PAMI_TYPE_FLOAT, false},
		   {ARMCI_DOUBLE, sizeof(double), PAMI_TYPE_DOUBLE, false},
	       };
	enum operator op;

	for (t = types; t < types + 5 && t->type != type; t++)
		;
	if (t == types + 5)
		armci_die("%d is not the type of a reduction (ARMCI_INT ...)", type);
	op = operator_of(text, t->integer);
	if (!g || n <= 0)
		return;
	if (op == ABSMAX || op == ABSMIN)
		take_absolutes(x, (size_t)n, type);
	armci_coll_allreduce(g, x, (size_t)n, t->bytes, t->pami, pami_function(op));
}

/* Return the group behind a handle, or NULL if it was not made. This process must be a member. */
static struct armci_group *group_of(ARMCI_Group *handle)
{
	return armci_group_require(handle, "a collective of the message layer");
}

static struct armci_group *scope_of(ARMCI_Group *handle, int scope)
{
	struct armci_group *g = group_of(handle);

	return g ? armci_group_scope(g, scope) : NULL;
}

static void run_broadcast(struct armci_group *g, void *buf, int len, int root)
{
	int i;

	if (!g || len <= 0)
		return;
	for (i = 0; i < g->size && (int)g->task[i] != root; i++)
		;
	if (i == g->size)
		armci_die("the root of a broadcast is process %d, which is not a member", root);
	armci_coll_bcast(g, buf, (size_t)len, root);
}

void parmci_msg_barrier(void)
{
	ARMCI_ENTER;
	armci_coll_barrier(ARMCI_WORLD);
}
extern __typeof__(parmci_msg_barrier) armci_msg_barrier
    __attribute__((weak, alias("parmci_msg_barrier"), visibility("default")));

void parmci_msg_group_barrier(ARMCI_Group *group)
{
	ARMCI_ENTER;
	struct armci_group *g = group_of(group);

	if (g)
		armci_coll_barrier(g);
}
extern __typeof__(parmci_msg_group_barrier) armci_msg_group_barrier
    __attribute__((weak, alias("parmci_msg_group_barrier"), visibility("default")));

#define GOP(name, type, code)                                                                      \
	void armci_msg_##name(type *x, int n, const char *op)                                      \
	{                                                                                          \
		reduce_in_place(ARMCI_WORLD, x, n, op, code);                                      \
	}                                                                                          \
                                                                                                   \
	void armci_msg_group_##name(type *x, int n, const char *op, ARMCI_Group *group)            \
	{                                                                                          \
		ARMCI_ENTER;                                                                       \
		reduce_in_place(group_of(group), x, n, op, code);                                  \
	}                                                                                          \
                                                                                                   \
	void armci_msg_clus_##name(type *x, int n, const char *op)                                 \
	{                                                                                          \
		ARMCI_ENTER;                                                                       \
		reduce_in_place(armci_group_scope(ARMCI_WORLD, SCOPE_NODE), x, n, op, code);       \
	}

#pragma GCC visibility push(default)

GOP(igop, int, ARMCI_INT)
GOP(lgop, long, ARMCI_LONG)
GOP(llgop, long long, ARMCI_LONG_LONG)
GOP(fgop, float, ARMCI_FLOAT)
GOP(dgop, double, ARMCI_DOUBLE)

void armci_msg_gop_scope(int scope, void *x, int n, const char *op, int type)
{
	ARMCI_ENTER;
	reduce_in_place(armci_group_scope(ARMCI_WORLD, scope), x, n, op, type);
}

void armci_msg_group_gop_scope(int scope, void *x, int n, const char *op, int type,
			       ARMCI_Group *group)
{
	ARMCI_ENTER;
	reduce_in_place(scope_of(group, scope), x, n, op, type);
}

void armci_msg_reduce(void *x, int n, const char *op, int type)
{
	ARMCI_ENTER;
	reduce_in_place(ARMCI_WORLD, x, n, op, type);
}

void armci_msg_reduce_scope(int scope, void *x, int n, const char *op, int type)
{
	ARMCI_ENTER;
	armci_msg_gop_scope(scope, x, n, op, type);
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

void armci_msg_bcast(void *buf, int len, int root)
{
	ARMCI_ENTER;
	run_broadcast(ARMCI_WORLD, buf, len, root);
}

void armci_msg_brdcst(void *buf, int len, int root)
{
	ARMCI_ENTER;
	run_broadcast(ARMCI_WORLD, buf, len, root);
}

void armci_msg_bcast_scope(int scope, void *buf, int len, int root)
{
	ARMCI_ENTER;
	run_broadcast(armci_group_scope(ARMCI_WORLD, scope), buf, len, root);
}

void armci_msg_group_bcast_scope(int scope, void *buf, int len, int root, ARMCI_Group *group)
{
	ARMCI_ENTER;
	run_broadcast(scope_of(group, scope), buf, len, root);
}

void armci_msg_clus_brdcst(void *buf, int len)
{
	ARMCI_ENTER;
	run_broadcast(armci_group_scope(ARMCI_WORLD, SCOPE_NODE), buf, len,
		      armci_domain_first(armci_world.me));
}

static void exchange_pointers(struct armci_group *g, void **ptr_ar, int n)
{
	void *own = ptr_ar[g->rank];

	if (n != g->size)
		armci_die("armci_exchange_address: an array of %d entries for %d processes", n,
			  g->size);
	armci_coll_allgather(g, &own, ptr_ar, sizeof(own));
}

void armci_exchange_address(void **ptr_ar, int n)
{
	ARMCI_ENTER;
	exchange_pointers(ARMCI_WORLD, ptr_ar, n);
}

void armci_exchange_address_grp(void **ptr_ar, int n, ARMCI_Group *group)
{
	ARMCI_ENTER;
	struct armci_group *g = group_of(group);

	if (g)
		exchange_pointers(g, ptr_ar, n);
}

#pragma GCC visibility pop
