/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by drivers: the table of drivers, modules, and the parsing of arguments. Private.
 *
 * A driver is a function that opens a port from the text behind "name:". On failure it writes cause
 * and fix into `why` and returns a negative errno; drv_port_open() logs them with the spec.
 */
#ifndef DRIVERS_PORT_DRIVER_H
#define DRIVERS_PORT_DRIVER_H

#include "drivers/port.h"

#define DRV_PORT_WHY_BYTES 400
#define DRV_PORT_PEERS_MAX 4096

struct drv_port_why {
	char text[DRV_PORT_WHY_BYTES];
	const char *chosen; /* after success: the driver that "udp" has chosen, or NULL */
};

typedef int (*drv_port_open_fn)(const char *args, struct drv_port **port, struct drv_port_why *why);
/*
 * Open a device with n queues, and the ports of the first `ports` of them: all or none. "queues=N"
 * is not among the arguments.
 */
typedef int (*drv_port_open_queues_fn)(const char *args, unsigned n, unsigned ports,
				       struct drv_port **port, struct drv_port_why *why);

int drv_port_loop_open(const char *args, struct drv_port **port, struct drv_port_why *why);
int drv_port_shm_open(const char *args, struct drv_port **port, struct drv_port_why *why);
int drv_port_packet_open(const char *args, struct drv_port **port, struct drv_port_why *why);

/* Wrappers, "name(args)+spec". They take ownership of the port below on success only. */
typedef int (*drv_port_wrap_fn)(const char *args, struct drv_port *below, struct drv_port **port,
				struct drv_port_why *why);

int drv_port_fault_wrap(const char *args, struct drv_port *below, struct drv_port **port,
			struct drv_port_why *why);

/*
 * Drivers that need libraries are modules, libqt_port_NAME.so, which export this structure as
 * drv_port_module. abi changes with port.h and with this file.
 */
#define DRV_PORT_MODULE_ABI 4u

struct drv_port_module {
	uint32_t abi;
	uint32_t port_bytes; /* sizeof(struct drv_port) */
	drv_port_open_fn open;
	drv_port_open_queues_fn open_queues; /* NULL: `open` once for each queue */
};

#define DRV_PORT_MODULE(open_fn, open_queues_fn)                                                   \
	extern const struct drv_port_module drv_port_module;                                       \
	__attribute__((visibility("default"))) const struct drv_port_module drv_port_module = {    \
	    DRV_PORT_MODULE_ABI, sizeof(struct drv_port), open_fn, open_queues_fn}

/* Write the cause and the fix, and return `error`. */
int drv_port_fail(struct drv_port_why *why, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Read the next "key=value" or "word" of a comma-separated list into text (bytes). *value points
 * behind '=' in it, or is NULL. Advances *list. Returns 1, 0 at the end, or -EINVAL if it is too
 * long.
 */
int drv_port_arg_next(const char **list, char *text, size_t bytes, char **value);

/*
 * Parse an unsigned decimal number in min .. max without trailing characters. Returns 0 or -EINVAL.
 */
int drv_port_arg_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* Parse a number from 0 to 1. Returns 0 or -EINVAL. */
int drv_port_arg_unit(const char *text, double *value);

#endif
