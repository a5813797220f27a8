/* SPDX-License-Identifier: BSD-3-Clause */
/* EXT_torus_network, EXT_is_local_task, BGQ_bgq_mapping: where tasks are. */
#include <stdlib.h>

#include "pami/core/client.h"
#include "pami/core/error.h"
#include "pami/ext/ext.h"

#define DIMS (EMU_DIMS + 1) /* A B C D E T */

static const struct mu_job *attached_job(void)
{
	struct pami_client *c = pami_client_any();

	return c ? c->job : NULL;
}

struct torus_info {
	size_t dims;
	size_t *coord, *size, *torus;
};

static struct torus_info info;
static size_t info_coord[DIMS], info_size[DIMS], info_torus[DIMS];

static int torus_open(void)
{
	const struct mu_job *j = attached_job();

	if (!j)
		return -ENOENT;
	for (int d = 0; d < EMU_DIMS; d++) {
		info_coord[d] = j->coord.c[d];
		info_size[d] = j->shape.n[d];
		info_torus[d] = !(j->shape.mesh >> d & 1);
	}
	info_coord[EMU_DIMS] = j->coord.t;
	info_size[EMU_DIMS] = j->shape.t;
	info_torus[EMU_DIMS] = 1;
	info = (struct torus_info){DIMS, info_coord, info_size, info_torus};
	return 0;
}

static const struct torus_info *torus_information(void)
{
	return &info;
}

static pami_result_t torus_of_task(pami_task_t task, size_t coord[])
{
	const struct mu_job *j = attached_job();
	struct emu_coord x;

	if (!j || !coord || task >= j->tasks)
		return pami_fail(PAMI_INVAL, "no such task");
	mu_task_coord(task, &x);
	for (int d = 0; d < EMU_DIMS; d++)
		coord[d] = x.c[d];
	coord[EMU_DIMS] = x.t;
	return PAMI_SUCCESS;
}

static pami_result_t task_of_torus(size_t coord[], pami_task_t *task)
{
	const struct mu_job *j = attached_job();
	struct emu_coord x;
	uint32_t found;

	if (!j || !coord || !task)
		return pami_fail(PAMI_INVAL, "no client, or no coordinates");
	for (int d = 0; d < EMU_DIMS; d++) {
		if (coord[d] >= j->shape.n[d])
			return pami_fail(PAMI_INVAL, "coordinates outside the torus");
		x.c[d] = (uint8_t)coord[d];
	}
	if (coord[EMU_DIMS] >= j->shape.t)
		return pami_fail(PAMI_INVAL, "coordinates outside the torus");
	x.t = (uint8_t)coord[EMU_DIMS];
	if (mu_coord_task(&x, &found))
		return pami_fail(PAMI_ERROR, "no task at these coordinates");
	*task = found;
	return PAMI_SUCCESS;
}

static const struct pami_ext_symbol torus_symbols[] = {
    {"information", (void *)torus_information, NULL},
    {"task2torus", (void *)torus_of_task, NULL},
    {"torus2task", (void *)task_of_torus, NULL},
    {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_torus = {"EXT_torus_network", torus_open, torus_symbols};

/*
 * ---- EXT_is_local_task ----
 *
 * One word a task. The bit stands in the first and the last byte, so that programs for either byte
 * order find it.
 */

#define STRIDE 4
#define MASK   0x40

static uint8_t *local_map;

static int local_open(void)
{
	const struct mu_job *j = attached_job();

	if (local_map)
		return 0;
	if (!j)
		return -ENOENT;
	local_map = calloc(j->tasks, STRIDE);
	if (!local_map)
		return -ENOMEM;
	for (uint32_t t = 0; t < j->tasks; t++)
		if (mu_task_is_on_own_node(t))
			local_map[t * STRIDE] = local_map[t * STRIDE + 3] = MASK;
	return 0;
}

static void *local_base(void)
{
	return local_map;
}

/* Node ids are torus node indices, dense from 0. */
static pami_result_t get_node_info(pami_task_t task, uint32_t *node_id, uint32_t *offset,
				   uint32_t *max_nodes)
{
	const struct mu_job *j = attached_job();
	struct emu_coord x;

	if (!j || task >= j->tasks)
		return pami_fail(PAMI_INVAL, "no such task");
	mu_task_coord(task, &x);
	*node_id = emu_coord_node(&j->shape, &x);
	*offset = x.t;
	*max_nodes = j->nodes;
	return PAMI_SUCCESS;
}

static const struct pami_ext_symbol local_symbols[] = {
    {"base", NULL, local_base},
    {"stride", (void *)(uintptr_t)STRIDE, NULL},
    {"bitmask", (void *)(uintptr_t)MASK, NULL},
    {"get_node_info", (void *)get_node_info, NULL},
    {NULL, NULL, NULL},
};
/* BGQ_bgq_mapping: the same words; its programs test the last byte. */
static const struct pami_ext_symbol mapping_symbols[] = {
    {"mapcache", NULL, local_base},
    {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_mapping = {"BGQ_bgq_mapping", local_open, mapping_symbols};

const struct pami_ext pami_ext_local = {"EXT_is_local_task", local_open, local_symbols};
