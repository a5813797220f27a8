/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that Open MPI 4.1 gets wrong over any provider, and what direct.c needs as well. */
#ifndef OFI_COLL_MEND_H
#define OFI_COLL_MEND_H

#include <stdbool.h>
#include <stdint.h>

struct ofi_ep;

/* Returns true if the messages of Open MPI are pml cm's. */
bool mend_is_pml_cm(void);
/* Returns true if mtl ofi makes the tags that direct.h shows, and has one endpoint. */
bool mend_has_usual_messages(void);
/* Keep this library to the end: Open MPI unloads its components before its last messages. */
bool mend_stay_loaded(void);
/* Tell the sender of a message that it is being received, if the message is synchronous. */
void mend_answer(struct ofi_ep *ep, uint32_t source, uint64_t tag);

/* Put right what mend.c lists, for all clocks and numbers of threads. */
void mend_install(void);

#endif
