/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef AGAS_CORE_COLL_H
#define AGAS_CORE_COLL_H

#include "pami/pami.h"

/* Choose the algorithms of the world's collectives. 0 or AGAS_ESTATE (logged). */
int agas_coll_open(void);
void agas_coll_close(void);
/* The dispatch function of agas_coll_meet(). */
void agas_coll_receive(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *data, size_t bytes, pami_endpoint_t origin,
		       pami_recv_t *recv);

#endif
