/* SPDX-License-Identifier: BSD-3-Clause */
/* All of the MU's system programming interface: programs expect one header of it to bring the rest.
 */
#ifndef QT_QUINTORUS_SPI_H
#define QT_QUINTORUS_SPI_H

#include "spi/include/mu/Addressing.h"
#include "spi/include/mu/Classroute.h"
#include "spi/include/mu/Descriptor.h"
#include "spi/include/mu/Descriptor_inlines.h"
#include "spi/include/mu/GI.h"
#include "spi/include/mu/GIBarrier.h"
#include "spi/include/mu/InjFifo.h"
#include "spi/include/mu/RecFifo.h"
#include "spi/include/mu/Util.h"

#include "spi/include/kernel/MU.h"
#include "spi/include/kernel/collective.h"
#include "spi/include/kernel/gi.h"
#include "spi/include/kernel/location.h"
#include "spi/include/kernel/memory.h"
#include "spi/include/kernel/process.h"
#include "spi/include/kernel/spec.h"
#include "spi/include/kernel/thread.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How often this process's MU has refused, kept or noted a descriptor or packet by the rule of this
 * name, which is in the line on standard error, such as "map_empty"; UINT64_MAX: there is no such
 * rule.
 */
uint64_t quintorus_mu_refused(const char *rule);

#ifdef __cplusplus
}
#endif

#endif
