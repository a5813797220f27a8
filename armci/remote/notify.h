/* SPDX-License-Identifier: BSD-3-Clause */
/* Notifications between processes, and the end of a job in which a process died. */
#ifndef ARMCI_NOTIFY_H
#define ARMCI_NOTIFY_H

struct armci_request;

/* 0 or FAIL6 (logged). */
int armci_notify_init(void);
void armci_notify_release(void);
/* On SERVE: a notification arrived. */
void armci_notify_serve(const struct armci_request *r);

/*
 * After a death no barrier tells that all processes are in ARMCI_Finalize. Each survivor then
 * announces it to all, and waits until every process has announced it or died.
 */
void armci_finalize_announce(void);
void armci_finalize_await(void);
/* On SERVE: another process announced it. */
void armci_finalize_serve(const struct armci_request *r);

#endif
