/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Record the frames of a port in a pcapng file: what the wire hands to the port and what the port
 * hands to the wire, whole, with the time and the direction. tools/wireshark/quintorus.lua reads
 * the frames (link type USER0).
 */
#ifndef DRIVERS_PORT_CAPTURE_H
#define DRIVERS_PORT_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "drivers/port.h"

/*
 * Write the head of a capture: one interface for each host of the job, "host 0" and so on. 0 or a
 * negative errno; -EEXIST leaves a file as it is if `keep`.
 */
int drv_capture_create(const char *path, uint32_t hosts, int keep);

/*
 * Put a recorder before *port. The ports of several hosts of this machine append to one file, each
 * as the interface `host`; the head is written if there is no file yet. Frames reach the file when
 * the port has nothing to do, and when the port closes. If the file cannot take them, a line says
 * so, nothing more is recorded, and *error becomes the errno. 0, or a negative errno, logged; then
 * *port stays as it was.
 */
int drv_port_capture(struct drv_port **port, const char *path, uint32_t host, uint32_t hosts,
		     atomic_u32 *error);

/*
 * Put a watcher before *port: it gets the header of each frame that the port has taken, or that has
 * arrived (before anything has checked it; it is whole). 0 or -ENOMEM; then *port stays as it was.
 */
struct drv_frame_header;
typedef void (*drv_watch_fn)(void *arg, const struct drv_frame_header *header, bool leaves);
int drv_port_watch(struct drv_port **port, drv_watch_fn watch, void *arg);

#endif
