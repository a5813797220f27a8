/* SPDX-License-Identifier: BSD-3-Clause */
/* Scalable endpoints: a row of PAMI contexts under one address. */
#ifndef OFI_ENDPOINT_SCALABLE_H
#define OFI_ENDPOINT_SCALABLE_H

#include "ofi/endpoint/endpoint.h"

struct ofi_scalable;

/* Note that a transmit or receive context, or an alias of one, was opened or closed. */
void ofi_scalable_use(struct ofi_scalable *s);
void ofi_scalable_put(struct ofi_scalable *s);

#endif
