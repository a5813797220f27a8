/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes a PAMI program may need before it sees pami.h. Included by it; including it again, before
 * or after, is harmless.
 */
#ifndef PAMI_PAMI_SYS_H
#define PAMI_PAMI_SYS_H

/* Bytes of a pami_memregion_t: 64, so that it fits a header of PAMI_Send_immediate. */
#define PAMI_CLIENT_MEMREGION_SIZE_STATIC (8 * sizeof(uintptr_t))

/* Bytes of a pami_work_t: six words, as on Blue Gene/Q. Programs reserve exactly this. */
#define PAMI_WORK_SIZE_STATIC (6 * sizeof(uintptr_t))

/* Unused here; programs of Blue Gene/Q may refer to it. */
#define PAMI_REQUEST_NQUADS 512

#endif
