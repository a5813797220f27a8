/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fault wrapper has done so far; for reports and tests. */
#ifndef DRIVERS_PORT_FAULT_H
#define DRIVERS_PORT_FAULT_H

#include "drivers/port.h"

struct drv_fault_stat {
	uint64_t frames; /* handed in, all peers */
	uint64_t lost, duplicated, reordered, corrupted, delayed;
};

/* 0, or -EINVAL when the outermost wrapper of `port` is not a fault wrapper. */
int drv_port_fault_stat(const struct drv_port *port, struct drv_fault_stat *stat);

#endif
