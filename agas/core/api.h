/* SPDX-License-Identifier: BSD-3-Clause */
/* The published headers as the library's own files include them: visible to the linker. */
#ifndef AGAS_CORE_API_H
#define AGAS_CORE_API_H

#pragma GCC visibility push(default)
#include "agas/agas.h"
#include "agas/agas_hpx.h"
#pragma GCC visibility pop

#endif
