/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees for class routes, and which number serves which box (spi/include/mu/Classroute_inlines.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "emu/class.h"
#include "muspi/unit.h"

#define IDS BGQ_COLL_CLASS_MAX_CLASSROUTES

static struct emu_coord coord_of(const CR_COORD_T *x)
{
	struct emu_coord c = {.t = 0};

	for (int d = 0; d < CR_NUM_DIMS; d++)
		c.c[d] = (uint8_t)x->coords[d];
	return c;
}

static struct emu_box box_of(const CR_RECT_T *r)
{
	return (struct emu_box){coord_of(&r->ll), coord_of(&r->ur)};
}

UNIT_API void MUSPI_BuildNodeClassroute(CR_RECT_T *world, CR_COORD_T *root, CR_COORD_T *me,
					CR_RECT_T *box, int *dims, int d0, ClassRoute_t *out)
{
	struct emu_coord r = coord_of(root), m = coord_of(me);
	struct emu_box b = box_of(box);

	(void)world;
	emu_class_build(&b, &r, &m, dims, d0, out);
}

static bool is_excluded(const CR_COORD_T *x, const CR_COORD_T *excluded, int n)
{
	for (int i = 0; i < n; i++)
		if (!memcmp(x, &excluded[i], sizeof *x))
			return true;
	return false;
}

/* Step to the next coordinates of a box, E fastest. Returns false after the last. */
static bool next_in_box(const CR_RECT_T *box, CR_COORD_T *x)
{
	for (int d = CR_NUM_DIMS - 1; d >= 0; d--) {
		if (x->coords[d]++ < box->ur.coords[d])
			return true;
		x->coords[d] = box->ll.coords[d];
	}
	return false;
}

UNIT_API void MUSPI_BuildNodeClassrouteSparse(CR_RECT_T *world, CR_COORD_T *root, CR_COORD_T *me,
					      CR_RECT_T *box, CR_COORD_T *excluded, int n,
					      int *dims, int d0, ClassRoute_t *out)
{
	CR_COORD_T x = box->ll;
	ClassRoute_t full;
	uint16_t used = 0;
	bool local = !is_excluded(me, excluded, n);

	MUSPI_BuildNodeClassroute(world, root, me, box, dims, d0, &full);
	/* Walk from each contributor to the root, and see whether and whence it passes here. */
	do {
		CR_COORD_T at = x;

		if (is_excluded(&x, excluded, n) || !memcmp(&x, me, sizeof x))
			continue;
		for (;;) {
			ClassRoute_t c;
			unsigned link;

			MUSPI_BuildNodeClassroute(world, root, &at, box, dims, d0, &c);
			if (!c.output)
				break;
			link = (unsigned)__builtin_ctz(emu_class_links(c.output));
			at.coords[link / 2] += link & 1 ? 1u : (uint32_t)-1;
			if (!memcmp(&at, me, sizeof at)) {
				used |= emu_class_bit(emu_link_opposite(link));
				break;
			}
		}
	} while (next_in_box(box, &x));
	out->input = (uint16_t)((full.input & used) | (local ? BGQ_CLASS_INPUT_LINK_LOCAL : 0));
	out->output = out->input ? full.output : 0;
}

UNIT_API void MUSPI_PickWorldRoot(CR_RECT_T *world, int *dims, CR_COORD_T *root, int *d0)
{
	*d0 = 0;
	for (int i = 0; i < CR_NUM_DIMS; i++) {
		int d = dims ? dims[i] : i;
		uint32_t size = world->ur.coords[d] - world->ll.coords[d] + 1;

		root->coords[d] = world->ll.coords[d] + size / 2;
		if (size > 1)
			*d0 = i;
	}
}

UNIT_API void MUSPI_PickWorldRootPair(CR_RECT_T *world, int *dims, CR_COORD_T *root,
				      CR_COORD_T *root2, int *d0)
{
	uint32_t least = UINT32_MAX;
	int at = -1;

	MUSPI_PickWorldRoot(world, dims, root, d0);
	*root2 = *root;
	for (int i = 0; i < CR_NUM_DIMS; i++) {
		int d = dims ? dims[i] : i;
		uint32_t size = world->ur.coords[d] - world->ll.coords[d] + 1;

		if (size > 1 && size <= least) {
			least = size;
			at = d;
			*d0 = i;
		}
	}
	if (at < 0)
		return;
	root->coords[at] = world->ll.coords[at];
	root2->coords[at] = world->ur.coords[at];
}

UNIT_API void MUSPI_MakeNpRectMap(CR_RECT_T *world, int np, int *dims, CR_RECT_T *box,
				  CR_COORD_T *excluded, int *n, int *d0)
{
	int nodes = 1, seen = 0;
	CR_COORD_T x;

	box->ll = box->ur = world->ll;
	*d0 = 0;
	/* The last dimension fills first, as ranks do. */
	for (int i = CR_NUM_DIMS - 1; i >= 0 && nodes < np; i--) {
		int d = dims ? dims[i] : i, need = (np + nodes - 1) / nodes;
		int size = (int)(world->ur.coords[d] - world->ll.coords[d] + 1);

		size = size < need ? size : need;
		box->ur.coords[d] = world->ll.coords[d] + (uint32_t)size - 1;
		nodes *= size;
		if (size > 1 && i > *d0)
			*d0 = i;
	}
	*n = 0;
	x = box->ll;
	do {
		if (++seen > np)
			excluded[(*n)++] = x;
	} while (next_in_box(box, &x));
}

UNIT_API void MUSPI_MakeNpRect(CR_RECT_T *world, int np, CR_RECT_T *box, CR_COORD_T *excluded,
			       int *n, int *d0)
{
	MUSPI_MakeNpRectMap(world, np, NULL, box, excluded, n, d0);
}

/* ---- numbers ---- */

struct ids {
	uint32_t system; /* bitmap */
	struct {
		CR_RECT_T box;
		int vc;
		uint32_t users;
	} id[IDS];
};

static struct ids *ids_get(void **env)
{
	struct ids *all = *env;

	if (!all)
		all = *env = calloc(1, sizeof *all);
	return all;
}

UNIT_API uint32_t MUSPI_InitClassrouteIds(uint32_t *free_ids, uint32_t n, int isGI, void **env)
{
	struct ids *all = ids_get(env);

	(void)isGI;
	if (!all)
		return ENOMEM;
	all->system = (1u << IDS) - 1;
	for (uint32_t i = 0; i < n; i++)
		if (free_ids[i] < IDS)
			all->system &= ~(1u << free_ids[i]);
	return 0;
}

static bool is_serving(const struct ids *all, int id, int vc, const CR_RECT_T *box)
{
	return all->id[id].users && all->id[id].vc == vc &&
	       !memcmp(&all->id[id].box, box, sizeof *box);
}

UNIT_API uint32_t MUSPI_GetClassrouteIds(int vc, CR_RECT_T *box, void **env)
{
	struct ids *all = ids_get(env);
	uint32_t unused = 0;

	if (!all)
		return 0;
	for (int i = 0; i < IDS; i++) {
		if (all->system >> i & 1)
			continue;
		if (is_serving(all, i, vc, box))
			return 1u << i | CR_MATCH_RECT_FLAG;
		if (!all->id[i].users)
			unused |= 1u << i;
	}
	return unused;
}

UNIT_API int MUSPI_SetClassrouteId(int id, int vc, CR_RECT_T *box, void **env)
{
	struct ids *all = ids_get(env);

	if (!all || id < 0 || id >= IDS)
		return 0;
	if (all->id[id].users++)
		return 0;
	all->id[id].box = *box;
	all->id[id].vc = vc;
	return 1;
}

UNIT_API int MUSPI_ReleaseClassrouteId(int id, int vc, CR_RECT_T *box, void **env)
{
	struct ids *all = ids_get(env);

	if (!all || id < 0 || id >= IDS || !is_serving(all, id, vc, box))
		return 0;
	return --all->id[id].users == 0;
}
