/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef AGAS_CORE_LOCK_H
#define AGAS_CORE_LOCK_H

#include "pami/ext_wait.h"

/* Function by which calls that wait advance the context; NULL: PAMI_Context_advancev(). */
void agas_wait_set(pami_quintorus_advancev_fn advancev);

#endif
