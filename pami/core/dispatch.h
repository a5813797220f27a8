/* SPDX-License-Identifier: BSD-3-Clause */
/* Dispatch ids: the functions that receive messages, one table a context. */
#ifndef PAMI_CORE_DISPATCH_H
#define PAMI_CORE_DISPATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "pami/pami.h"

struct pami_context;

/* The library's own ids follow the user's. */
#define PAMI_DISPATCH_ID_MAX 1023 /* largest id of a user */
#define PAMI_DISPATCH_COLL   1024 /* collectives */
#define PAMI_DISPATCH_PUT    1025 /* typed put, typed get, and the answer to a typed get */
#define PAMI_DISPATCH_GET    1026
#define PAMI_DISPATCH_GOT    1027
#define PAMI_DISPATCH_CREDIT 1028 /* returned credits: ext/credit.c */
#define PAMI_DISPATCH_IDS    1029

/* Bits of `send`. The hot path of sends accepts exactly READY; other values take the slow path. */
enum {
	PAMI_DISPATCH_READY = 1,    /* the id is set */
	PAMI_DISPATCH_SHMEM = 2,    /* hint use_shmem ENABLE: the target must be on this node */
	PAMI_DISPATCH_NO_QUEUE = 4, /* hint queue_immediate DISABLE */
};

struct pami_dispatch {
	/* The hot path of pami_receive() calls this. NULL: the id is not set, is asynchronous, or
	 * messages for it are held; then pami_inbound_short() decides. */
	pami_dispatch_p2p_function fn;
	void *cookie;
	pami_dispatch_p2p_function set_fn; /* as PAMI_Dispatch_set() got it; NULL: not set */
	uint8_t send;                      /* PAMI_DISPATCH_ bits; 0: not set */
	bool asynchronous;                 /* hint recv_immediate DISABLE */
	bool contiguous;                   /* hint recv_contiguous ENABLE */
	bool copy;                         /* hint recv_copy ENABLE */
	bool short_headers;                /* hint long_header DISABLE */
	uint8_t rdma;                      /* hint use_rdma: ENABLE, DISABLE or neither */
	uint32_t held;                     /* messages for this id in the context's held list */
};

/* Set an id, a user's or the library's own, without hints. */
void pami_dispatch_install(struct pami_context *ctx, size_t dispatch, pami_dispatch_p2p_function fn,
			   void *cookie);

#endif
