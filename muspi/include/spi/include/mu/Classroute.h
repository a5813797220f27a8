/* SPDX-License-Identifier: BSD-3-Clause */
/* Class routes: trees over boxes of nodes. docs/hardware.md 8. */
#ifndef QT_SPI_INCLUDE_MU_CLASSROUTE_H
#define QT_SPI_INCLUDE_MU_CLASSROUTE_H

#include <stdlib.h>

#include "hwi/include/bqc/classroute.h"

#define CR_NUM_DIMS        5
#define CR_NUM_DIRS        2
#define CR_SIGN_POS        0
#define CR_SIGN_NEG        1
#define CR_AXIS_A          0
#define CR_AXIS_B          1
#define CR_AXIS_C          2
#define CR_AXIS_D          3
#define CR_AXIS_E          4
#define CR_DIM_NAMES       "ABCDE"
#define CR_DIR_NAMES       "+-"
#define CR_MATCH_RECT_FLAG 0x80000000

typedef struct {
	uint32_t coords[CR_NUM_DIMS];
} CR_COORD_T;

typedef struct {
	CR_COORD_T ll, ur; /* both corners belong to the box */
} CR_RECT_T;

#ifdef __cplusplus
#define CR_COORD_INIT(a, b, c, d, e)                                                               \
	{                                                                                          \
		{                                                                                  \
			(uint32_t)(a), (uint32_t)(b), (uint32_t)(c), (uint32_t)(d), (uint32_t)(e)  \
		}                                                                                  \
	}
#else
#define CR_COORD_INIT(a, b, c, d, e)                                                               \
	((CR_COORD_T){{(uint32_t)(a), (uint32_t)(b), (uint32_t)(c), (uint32_t)(d), (uint32_t)(e)}})
#endif
#define CR_COORD_DIM(p, d) ((p)->coords[d])
#define CR_RECT_LL(p)      (&(p)->ll)
#define CR_RECT_UR(p)      (&(p)->ur)
#define CR_LINK(d, sign)                                                                           \
	((sign) == CR_SIGN_NEG ? BGQ_CLASS_LINK_AM >> (2 * (d)) : BGQ_CLASS_LINK_AP >> (2 * (d)))

#include "spi/include/mu/Classroute_inlines.h"

#include "quintorus_spi.h"

#endif
