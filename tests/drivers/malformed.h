/* SPDX-License-Identifier: BSD-3-Clause */
/* What is no frame, sent to the address of the other side past its own driver. */
#ifndef TESTS_PORT_MALFORMED_H
#define TESTS_PORT_MALFORMED_H

#include "tests/drivers/pair.h"

/* Nothing; a datagram too long; one of a stranger (1 frame from peer -1). */
void malformed_uring(struct side *s);

/*
 * On interface va: another ethertype, another's MAC, lengths of 0 and beyond the end, a bare
 * header; and one frame of a stranger (1 frame from peer -1).
 */
void malformed_ethernet(struct side *s);

/* Descriptors that are no rings: /dev/null, an unsealed, an empty and a wrong memfd. */
void malformed_shm(struct side *s);

#endif
