/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees for class routes, and who uses which number. docs/hardware.md 8.3. */
#ifndef QT_SPI_INCLUDE_MU_CLASSROUTE_INLINES_H
#define QT_SPI_INCLUDE_MU_CLASSROUTE_INLINES_H

#include "spi/include/mu/Classroute.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The node's part in a tree over `box`: links only, the local bit and the channel are the caller's.
 * dims: permutation of dimensions (NULL: A .. E). d0: position in it where the tree starts.
 */
void MUSPI_BuildNodeClassroute(CR_RECT_T *world, CR_COORD_T *root, CR_COORD_T *me, CR_RECT_T *box,
			       int *dims, int d0, ClassRoute_t *out);
/* The same without contributions of `n` nodes of the box, and without branches that none of the
 * others needs. Sets the local bit where the node contributes. */
void MUSPI_BuildNodeClassrouteSparse(CR_RECT_T *world, CR_COORD_T *root, CR_COORD_T *me,
				     CR_RECT_T *box, CR_COORD_T *excluded, int n, int *dims, int d0,
				     ClassRoute_t *out);
/* The middle of the world, and the position of the dimension where trees start. */
void MUSPI_PickWorldRoot(CR_RECT_T *world, int *dims, CR_COORD_T *root, int *d0);
/* Two roots, for two routes that share no links. */
void MUSPI_PickWorldRootPair(CR_RECT_T *world, int *dims, CR_COORD_T *root, CR_COORD_T *root2,
			     int *d0);
/* A box in the world with room for np nodes, and which of its nodes are too many: excluded has room
 * for all of them. */
void MUSPI_MakeNpRect(CR_RECT_T *world, int np, CR_RECT_T *box, CR_COORD_T *excluded, int *n,
		      int *d0);
void MUSPI_MakeNpRectMap(CR_RECT_T *world, int np, int *dims, CR_RECT_T *box, CR_COORD_T *excluded,
			 int *n, int *d0);

/* Which number serves which box on this node. *env: NULL at first. vc: BGQ_CLASS_INPUT_VC_.
 * Get: bit i for each number i that is free; or the one that serves this box already, and
 * CR_MATCH_RECT_FLAG. Set: 1 if the number is new, so that the hardware must be programmed; else 0.
 * Release: 1 if that was its last user. Init: 0, or ENOMEM. */
uint32_t MUSPI_InitClassrouteIds(uint32_t *free_ids, uint32_t n, int isGI, void **env);
uint32_t MUSPI_GetClassrouteIds(int vc, CR_RECT_T *box, void **env);
int MUSPI_SetClassrouteId(int id, int vc, CR_RECT_T *box, void **env);
int MUSPI_ReleaseClassrouteId(int id, int vc, CR_RECT_T *box, void **env);

#ifdef __cplusplus
}
#endif

#endif
