/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The message layer of ARMCI: ranks, collectives and some two-sided messaging over all processes.
 *
 * Reduction operators are matched by prefix: "+", "*", "max", "min", "absmax", "absmin", "or", and
 * for integers "&&" or "land", "||" or "lor", "&" or "band", "|" or "bor". Another operator ends
 * the job. None of these calls fences.
 */
#ifndef ARMCI_MESSAGE_H
#define ARMCI_MESSAGE_H

#include "armci.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller's world rank, 0 .. nproc - 1. From armci_msg_init or ARMCI_Init on. */
int armci_msg_me(void);
/* Number of processes of the job. From armci_msg_init or ARMCI_Init on. */
int armci_msg_nproc(void);
/* As ARMCI_Error, without a message of the program. */
void armci_msg_abort(int code);
/* Seconds on a monotonic clock with any origin; virtual seconds in virtual time. */
double armci_timer(void);
/* Start MPI if one is in the program and not yet started. argc and argv may be NULL. */
void armci_msg_init(int *argc, char ***argv);
/* End MPI if one is in the program and not yet ended. */
void armci_msg_finalize(void);

/*
 * Send len bytes (0 or more) to a process, which may be the caller. May wait for the receiver. buf
 * may be reused on return.
 */
void armci_msg_snd(int tag, void *buf, int len, int to);
/*
 * Receive the next message with this tag from process `from`, of at most buflen bytes (a longer one
 * ends the job). *msglen (unless NULL) receives its length; -1: the sender died (for
 * armci_msg_rcvany: all others did).
 */
void armci_msg_rcv(int tag, void *buf, int buflen, int *msglen, int from);
/* As armci_msg_rcv, from any process that sends with this tag; returns the sender. */
int armci_msg_rcvany(int tag, void *buf, int buflen, int *msglen);

/* Returns when every process has entered. No fence. */
void armci_msg_barrier(void);
/* armci_msg_barrier, for a profiler to call. */
void parmci_msg_barrier(void);
/* Returns when every member of the group has entered. No fence. */
void armci_msg_group_barrier(ARMCI_Group *group);
/* armci_msg_group_barrier, for a profiler to call. */
void parmci_msg_group_barrier(ARMCI_Group *group);

/* Broadcast len bytes from world rank root to all processes. */
void armci_msg_bcast(void *buf, int len, int root);
/* As armci_msg_bcast. */
void armci_msg_brdcst(void *buf, int len, int root);
/*
 * As armci_msg_bcast over the scope, a SCOPE_ code. root is a world rank in it. A process outside
 * returns at once.
 */
void armci_msg_bcast_scope(int scope, void *buf, int len, int root);
/* As armci_msg_bcast_scope among the members of the group. root is still a world rank. */
void armci_msg_group_bcast_scope(int scope, void *buf, int len, int root, ARMCI_Group *group);

/* Reduce n int in place over all processes. Every process gets the result, bit for bit the same. */
void armci_msg_igop(int *x, int n, const char *op);
/* As armci_msg_igop, of long. */
void armci_msg_lgop(long *x, int n, const char *op);
/* As armci_msg_igop, of long long. */
__extension__ void armci_msg_llgop(long long *x, int n, const char *op);
/* As armci_msg_igop, of float: no bitwise or logical op. */
void armci_msg_fgop(float *x, int n, const char *op);
/* As armci_msg_igop, of double: no bitwise or logical op. */
void armci_msg_dgop(double *x, int n, const char *op);
/*
 * As armci_msg_igop over the scope, for n elements of type ARMCI_INT ... A process outside returns
 * at once.
 */
void armci_msg_gop_scope(int scope, void *x, int n, const char *op, int type);
/* As armci_msg_igop over the members of the group. */
void armci_msg_group_igop(int *x, int n, const char *op, ARMCI_Group *group);
/* As armci_msg_group_igop, of long. */
void armci_msg_group_lgop(long *x, int n, const char *op, ARMCI_Group *group);
/* As armci_msg_group_igop, of long long. */
__extension__ void armci_msg_group_llgop(long long *x, int n, const char *op, ARMCI_Group *group);
/* As armci_msg_group_igop, of float. */
void armci_msg_group_fgop(float *x, int n, const char *op, ARMCI_Group *group);
/* As armci_msg_group_igop, of double. */
void armci_msg_group_dgop(double *x, int n, const char *op, ARMCI_Group *group);
/* As armci_msg_gop_scope among the members of the group. */
void armci_msg_group_gop_scope(int scope, void *x, int n, const char *op, int type,
			       ARMCI_Group *group);

/* As armci_msg_gop_scope over all processes; only process 0 is sure to get the result. */
void armci_msg_reduce(void *x, int n, const char *op, int type);
/* As armci_msg_reduce over the scope, whose lowest rank is sure to get the result. */
void armci_msg_reduce_scope(int scope, void *x, int n, const char *op, int type);

/*
 * x is a record of n bytes whose first element has `type` (ARMCI_INT ...). Among the records with a
 * non-zero contribute, the one with the least (op "min") or greatest ("max") first element reaches
 * every process in the scope.
 */
void armci_msg_sel_scope(int scope, void *x, int n, const char *op, int type, int contribute);
/* As armci_msg_sel_scope over all processes. */
void armci_msg_sel(void *x, int n, const char *op, int type, int contribute);
/* A heap-shaped tree over the scope: world ranks, -1 where there is none. */
void armci_msg_bintree(int scope, int *root, int *up, int *left, int *right);

/* Broadcast len bytes from the lowest rank of the caller's domain to the others there. */
void armci_msg_clus_brdcst(void *buf, int len);
/* As armci_msg_igop over the processes of the caller's domain. */
void armci_msg_clus_igop(int *x, int n, const char *op);
/* As armci_msg_clus_igop, of long. */
void armci_msg_clus_lgop(long *x, int n, const char *op);
/* As armci_msg_clus_igop, of long long. */
__extension__ void armci_msg_clus_llgop(long long *x, int n, const char *op);
/* As armci_msg_clus_igop, of float. */
void armci_msg_clus_fgop(float *x, int n, const char *op);
/* As armci_msg_clus_igop, of double. */
void armci_msg_clus_dgop(double *x, int n, const char *op);
/*
 * Send len bytes from rank grp_master of mastergroup to the next grp_clus_nproc - 1 ranks. All of
 * them call it.
 */
void armci_grp_clus_brdcst(void *buf, int len, int grp_master, int grp_clus_nproc,
			   ARMCI_Group *mastergroup);

/* Give ptr_ar[me] of each of the n = nproc processes to all, in place. Collective. */
void armci_exchange_address(void **ptr_ar, int n);
/* As armci_exchange_address among the n members of the group, by rank there. */
void armci_exchange_address_grp(void **ptr_ar, int n, ARMCI_Group *group);

#ifdef __cplusplus
}
#endif

#endif
