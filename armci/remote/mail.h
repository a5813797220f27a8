/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-sided messages (armci_msg_snd, armci_msg_rcv). */
#ifndef ARMCI_MAIL_H
#define ARMCI_MAIL_H

#include <stdint.h>

#include "pami/pami.h"

/* On ORIGIN: PAMI's handler of messages. */
void armci_mail_receive(pami_context_t context, void *cookie, const void *header,
			size_t header_bytes, const void *data, size_t bytes, pami_endpoint_t origin,
			pami_recv_t *recv);
/* proc has received that many bytes, so this process may send it as many more. */
void armci_mail_credit(int proc, uint64_t bytes);
void armci_mail_release(void);

#endif
