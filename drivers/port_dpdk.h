/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the dpdk module: EAL (once per process), devices (what to ask DPDK for), port. */
#ifndef DRIVERS_PORT_DPDK_H
#define DRIVERS_PORT_DPDK_H

#include <net/if.h>

#include "drivers/port_driver.h"

/* The Ethernet header and the length; data starts 16 bytes into an aligned buffer. */
#define DPDK_HEADER_BYTES 16u
#define DPDK_ETHERTYPE    0x88b5u /* IEEE 802 local experimental 1 */

enum dpdk_kind { DPDK_AF_PACKET, DPDK_AF_XDP, DPDK_MEMIF, DPDK_OTHER, DPDK_PCI };

struct dpdk_device {
	enum dpdk_kind kind;
	char name[64];           /* "net_af_packet3", "0000:3b:00.0" */
	char args[512];          /* devargs after the name */
	char iface[IF_NAMESIZE]; /* for af_packet and af_xdp */
	uint32_t ifindex;
	uint32_t mtu; /* bytes that the device carries after the Ethernet header; 0: ask it */
	uint32_t mbuf_bytes; /* data room with headroom; 0: computed from the mtu */
	uint32_t mbufs;
	uint32_t keep; /* callers may keep the buffers that they send */
};

/*
 * Parse and check the text behind "dpdk:". Fills in the defaults that depend on the interface.
 * queues: so many are wanted; -EINVAL if the device does not lead each to a queue of its own at the
 * other end.
 */
int dpdk_device_parse(const char *args, unsigned queues, struct dpdk_device *d,
		      struct drv_port_why *why);

/* Start EAL at the first call. Later calls check that this process may use it. */
int dpdk_eal_start(const struct dpdk_device *d, struct drv_port_why *why);

#define DPDK_COMPLAINT_BYTES 160

/*
 * Copy the first complaint that DPDK logged since dpdk_eal_complaint_clear(), or "no reason
 * given", to `text` and return it. Any thread; threads of DPDK may log meanwhile.
 */
const char *dpdk_eal_complaint(char text[DPDK_COMPLAINT_BYTES]);
bool dpdk_eal_complaint_contains(const char *words);
void dpdk_eal_complaint_clear(void);

/*
 * Run fn(arg) in the thread in which EAL calls the handlers of interrupts, so that none of them
 * runs meanwhile. Returns when fn has returned. Without such a thread (after a fork) or without
 * memory for the request fn runs here.
 */
void dpdk_eal_run_alone(void (*fn)(void *arg), void *arg);

/* The sockets of a family that this process has open. The caller frees the list. */
struct dpdk_sockets {
	int *fd;
	unsigned count;
};

void dpdk_sockets_list(int family, struct dpdk_sockets *list);
void dpdk_sockets_free(struct dpdk_sockets *list);
/*
 * Return the socket of that family that is open now and was not in `before`, or -1 if there is none
 * or if there are several.
 */
int dpdk_sockets_new(int family, const struct dpdk_sockets *before);

#endif
