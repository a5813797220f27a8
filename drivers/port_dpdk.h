/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the dpdk module: EAL (once per process), devices (what to ask DPDK for), bursts
 * beside handlers, port.
 */
#ifndef DRIVERS_PORT_DPDK_H
#define DRIVERS_PORT_DPDK_H

#include <net/if.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
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

/*
 * Create the buffer pool of a queue: last in, first out, so that the buffers in use stay in the
 * cache. The pool of a memif has no lock: only the thread that uses the queue's port may take and
 * free its buffers. Sets d->mbuf_bytes. NULL: no memory, and why says so.
 */
struct rte_mempool;
struct rte_mempool *dpdk_pool_create(struct dpdk_device *d, unsigned queue,
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

/* ---- bursts and the handlers of net_memif (port_dpdk_bursts.c) ---- */

/* The bursts of a port, one at a time. */
struct dpdk_bursts {
	atomic_u32 inside;
	struct dpdk_bursts *next;
};

extern atomic_u64 dpdk_bursts_held_until; /* ticks; 0: they are not held */

/* Each burst has a barrier of its own, because the kernel has no membarrier(). */
extern atomic_u32 dpdk_bursts_fence;

/* Lines of handlers, which tell that another process has spoken. */
extern atomic_u32 dpdk_memif_lines;

/*
 * Before the first memif is opened, and before EAL has threads: with them the kernel waits for all
 * processors, which takes up to some 100 ms where they are busy.
 */
void dpdk_bursts_prepare(void);
void dpdk_bursts_add(struct dpdk_bursts *b);
void dpdk_bursts_remove(struct dpdk_bursts *b);

/*
 * EAL's thread only: wait until no burst runs, and let none begin until this thread has come to its
 * next alarm.
 */
void dpdk_bursts_hold(void);

/* False: not now. Otherwise dpdk_burst_end() follows. */
static inline bool dpdk_burst_begin(struct dpdk_bursts *b)
{
	uint64_t until;

	if (__builtin_expect(atomic_load_relaxed(&dpdk_bursts_fence), 0)) {
		atomic_exchange_seq_cst(&b->inside, 1);
	} else {
		/* The processor may make this store after the load that follows:
		 * dpdk_bursts_hold() has the barrier. */
		atomic_store_relaxed(&b->inside, 1);
		atomic_signal_fence_seq_cst();
	}
	until = atomic_load_seq_cst(&dpdk_bursts_held_until);
	if (__builtin_expect(!until, 1) || drv_clock_ticks() > until)
		return true;
	atomic_store_release(&b->inside, 0);
	return false;
}

static inline void dpdk_burst_end(struct dpdk_bursts *b)
{
	atomic_store_release(&b->inside, 0);
}

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
