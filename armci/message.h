/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The message layer of ARMCI: ranks, collectives and a little two-sided messaging over all processes.
 *
 * Reduction operators are matched by prefix: "+", "*", "max", "min", "absmax", "absmin", "or", and for
 * integers "&&" or "land", "||" or "lor", "&" or "band", "|" or "bor"; another one ends the job. None of
 * these calls fences.
 */
#ifndef ARMCI_MESSAGE_H
#define ARMCI_MESSAGE_H

#include "armci.h"

#ifdef __cplusplus
extern "C" {
#endif

int armci_msg_me(void);
int armci_msg_nproc(void);
void armci_msg_abort(int code);
/* Seconds, monotonic, any origin; virtual seconds under the virtual clock. */
double armci_timer(void);
void armci_msg_init(int *argc, char ***argv);
void armci_msg_finalize(void);

/* Blocking, matched by tag and source in order; msglen may be NULL. A buffer too small ends the job. */
void armci_msg_snd(int tag, void *buf, int len, int to);
void armci_msg_rcv(int tag, void *buf, int buflen, int *msglen, int from);
int armci_msg_rcvany(int tag, void *buf, int buflen, int *msglen);

void armci_msg_barrier(void);
void parmci_msg_barrier(void);
void armci_msg_group_barrier(ARMCI_Group *group);
void parmci_msg_group_barrier(ARMCI_Group *group);

/* root is a world rank. */
void armci_msg_bcast(void *buf, int len, int root);
void armci_msg_brdcst(void *buf, int len, int root);
void armci_msg_bcast_scope(int scope, void *buf, int len, int root);
void armci_msg_group_bcast_scope(int scope, void *buf, int len, int root, ARMCI_Group *group);

/* In-place reduction of n elements, the result (bit for bit the same) at every process. */
void armci_msg_igop(int *x, int n, const char *op);
void armci_msg_lgop(long *x, int n, const char *op);
__extension__ void armci_msg_llgop(long long *x, int n, const char *op);
void armci_msg_fgop(float *x, int n, const char *op);
void armci_msg_dgop(double *x, int n, const char *op);
/* Over the scope; who is outside of it returns at once. */
void armci_msg_gop_scope(int scope, void *x, int n, const char *op, int type);
void armci_msg_group_igop(int *x, int n, const char *op, ARMCI_Group *group);
void armci_msg_group_lgop(long *x, int n, const char *op, ARMCI_Group *group);
__extension__ void armci_msg_group_llgop(long long *x, int n, const char *op, ARMCI_Group *group);
void armci_msg_group_fgop(float *x, int n, const char *op, ARMCI_Group *group);
void armci_msg_group_dgop(double *x, int n, const char *op, ARMCI_Group *group);
void armci_msg_group_gop_scope(int scope, void *x, int n, const char *op, int type, ARMCI_Group *group);

/* As gop; only process 0 is promised the result. */
void armci_msg_reduce(void *x, int n, const char *op, int type);
void armci_msg_reduce_scope(int scope, void *x, int n, const char *op, int type);

/* x is a record of n bytes whose first element has `type`; the least or greatest one reaches everybody.
 */
void armci_msg_sel_scope(int scope, void *x, int n, const char *op, int type, int contribute);
void armci_msg_sel(void *x, int n, const char *op, int type, int contribute);
/* A heap-shaped tree over the scope: world ranks, -1 where there is none. */
void armci_msg_bintree(int scope, int *root, int *up, int *left, int *right);

/* Broadcast from the lowest rank, and reductions, over the processes of the caller's domain. */
void armci_msg_clus_brdcst(void *buf, int len);
void armci_msg_clus_igop(int *x, int n, const char *op);
void armci_msg_clus_lgop(long *x, int n, const char *op);
__extension__ void armci_msg_clus_llgop(long long *x, int n, const char *op);
void armci_msg_clus_fgop(float *x, int n, const char *op);
void armci_msg_clus_dgop(double *x, int n, const char *op);
void armci_grp_clus_brdcst(void *buf, int len, int grp_master, int grp_clus_nproc,
			   ARMCI_Group *mastergroup);

void armci_exchange_address(void **ptr_ar, int n);
void armci_exchange_address_grp(void **ptr_ar, int n, ARMCI_Group *group);

#ifdef __cplusplus
}
#endif

#endif
