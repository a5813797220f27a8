/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of a fault wrapper, for reports and tests. */
#ifndef DRIVERS_PORT_FAULT_H
#define DRIVERS_PORT_FAULT_H

#include "drivers/port.h"

struct drv_fault_stat {
	uint64_t frames; /* handed in, all peers */
	uint64_t lost, duplicated, reordered, corrupted, delayed;
};

/*
 * Faults from one time to another, and of the frames to one host alone. Kinds: what becomes of a
 * frame, as in the spec; CUT loses all, RATE lets frames leave at most so fast.
 */
enum drv_fault_kind {
	DRV_FAULT_CUT,
	DRV_FAULT_LOSS,
	DRV_FAULT_CORRUPT,
	DRV_FAULT_DUP,
	DRV_FAULT_REORDER,
	DRV_FAULT_DELAY,
	DRV_FAULT_RATE
};
#define DRV_FAULT_ANY_HOST UINT32_MAX

struct drv_fault_rule {
	enum drv_fault_kind kind;
	double value;           /* share of frames; DELAY: microseconds; RATE: bytes per ns */
	uint32_t host;          /* or DRV_FAULT_ANY_HOST */
	uint64_t at_ns, end_ns; /* of drv_clock_ns() */
};

/* Add a rule. -EINVAL when the outermost wrapper of `port` is not a fault wrapper, -ENOMEM. */
int drv_port_fault_rule(struct drv_port *port, const struct drv_fault_rule *rule);
/* The peer with that address is that host. As above. */
int drv_port_fault_host(struct drv_port *port, const char *address, uint32_t host);

/* 0, or -EINVAL when the outermost wrapper of `port` is not a fault wrapper. */
int drv_port_fault_stat(const struct drv_port *port, struct drv_fault_stat *stat);

#endif
