/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Translates a spec into the arguments of DPDK: checks that give a better reason than a PMD would,
 * and defaults that measurements showed to be good.
 *
 *   net_af_packet  ring frames as large as the MTU of the interface; qdisc_bypass=1 (half the
 *                  latency)
 *   net_af_xdp     busy_budget=0 (otherwise a setting of the kernel would be needed)
 *   net_memif      buffers of 9216 bytes, a random MAC (by default all have the same one)
 */
#define _GNU_SOURCE
#include "drivers/base/atomic.h"
#include "drivers/port_dpdk.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEADROOM       128u
#define RING_SLACK     192u   /* tpacket2 header, Ethernet header, alignment */
#define RING_FRAME_MAX 61440u /* largest multiple of a page in an mbuf (16-bit length) */
#define RING_BYTES     (9u << 19)
#define XDP_FRAME_MAX  3072u /* what a 4 KiB chunk leaves beside headroom and headers */
#define MEMIF_BYTES    9216u
#define PCI_MTU        9000u

static int device_has(const struct dpdk_device *d, const char *key)
{
	const char *at = d->args;
	size_t n = strlen(key);

	while ((at = strstr(at, key))) {
		if ((at == d->args || at[-1] == ',') && at[n] == '=')
			return 1;
		at += n;
	}
	return 0;
}

static int device_add_argument(struct dpdk_device *d, const char *key, const char *value,
			       struct drv_port_why *why)
{
	size_t n = strlen(d->args);

	if (n + strlen(key) + strlen(value) + 3 > sizeof d->args)
		return drv_port_fail(why, -EINVAL,
				     "the device's arguments are longer than %zu characters",
				     sizeof d->args - 64);
	sprintf(d->args + n, "%s%s=%s", n ? "," : "", key, value);
	return 0;
}

static int device_set_default(struct dpdk_device *d, const char *key, unsigned long value,
			      struct drv_port_why *why)
{
	char text[24];

	if (device_has(d, key))
		return 0;
	snprintf(text, sizeof text, "%lu", value);
	return device_add_argument(d, key, text, why);
}

/* Check that the interface exists, is up and may be used; read its MTU. */
static int device_check_iface(struct dpdk_device *d, struct drv_port_why *why)
{
	struct ifreq r = {0};
	int fd, up;

	if (!d->iface[0])
		return drv_port_fail(why, -EINVAL,
				     "no interface is named; write dpdk:%s,iface=eth0", d->name);
	d->ifindex = if_nametoindex(d->iface);
	if (!d->ifindex)
		return drv_port_fail(why, -ENODEV,
				     "there is no interface %s in this network namespace; "
				     "'ip link' lists them",
				     d->iface);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return drv_port_fail(why, -errno,
				     "no packet socket (%s); run as root or give the program "
				     "CAP_NET_RAW, or take the uring driver",
				     strerror(errno));
	memcpy(r.ifr_name, d->iface, sizeof r.ifr_name);
	up = !ioctl(fd, SIOCGIFFLAGS, &r) && r.ifr_flags & IFF_UP;
	if (!ioctl(fd, SIOCGIFMTU, &r) && (!d->mtu || d->mtu > (uint32_t)r.ifr_mtu))
		d->mtu = (uint32_t)r.ifr_mtu;
	close(fd);
	if (!up)
		return drv_port_fail(why, -ENETDOWN, "interface %s is down; ip link set %s up",
				     d->iface, d->iface);
	return 0;
}

/*
 * Return how much of `bytes` this process may lock for each ring; net_af_packet locks both rings.
 */
static unsigned long ring_bytes_allowed(unsigned long bytes)
{
	size_t whole = 2 * bytes;
	void *p = mmap(NULL, whole, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return bytes;
	while (bytes > 65536 && syscall(SYS_mlock2, p, 2 * bytes, 1 /* MLOCK_ONFAULT */))
		bytes -= bytes / 8;
	munmap(p, whole);
	return bytes;
}

static int device_af_packet(struct dpdk_device *d, struct drv_port_why *why)
{
	unsigned long frame, block, count;
	int rc = device_check_iface(d, why);

	if (rc)
		return rc;
	if (d->mtu > RING_FRAME_MAX - RING_SLACK)
		d->mtu = RING_FRAME_MAX - RING_SLACK;
	frame = d->mtu + RING_SLACK <= 2048 ? 2048 : d->mtu + RING_SLACK <= 4096 ? 4096 : 9216;
	block = frame == 9216 ? 36864 : 4096;
	if (d->mtu + RING_SLACK > 9216)
		frame = block = (d->mtu + RING_SLACK + 4095) & ~4095ul;
	count = ring_bytes_allowed(RING_BYTES) / frame;
	count = count > 1024 ? 1024 : count < 8 ? 8 : count & ~7ul;
	if (device_has(d, "framesz") || device_has(d, "blocksz"))
		return drv_port_fail(why, -EINVAL,
				     "framesz and blocksz follow from the MTU; give mtu=BYTES "
				     "for smaller frames");
	d->mbuf_bytes = (uint32_t)frame + HEADROOM;
	rc = device_set_default(d, "framesz", frame, why);
	if (!rc)
		rc = device_set_default(d, "blocksz", block, why);
	if (!rc)
		rc = device_set_default(d, "framecnt", count, why);
	return rc ? rc : device_set_default(d, "qdisc_bypass", 1, why);
}

/* Return the number of receive queues in use; 1 if the interface does not tell. */
static unsigned device_rx_queues(const struct dpdk_device *d)
{
	struct ethtool_channels c = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq r = {.ifr_data = (void *)&c};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return 1;
	memcpy(r.ifr_name, d->iface, sizeof r.ifr_name);
	rc = ioctl(fd, SIOCETHTOOL, &r);
	close(fd);
	return rc || c.combined_count + c.rx_count < 1 ? 1 : c.combined_count + c.rx_count;
}

/*
 * A socket receives from one queue, so frames that the interface puts into another one would be
 * lost without notice. A user who names a queue has a rule in the device that steers the frames
 * there.
 */
static int device_check_queues(const struct dpdk_device *d, struct drv_port_why *why)
{
	unsigned n = device_has(d, "start_queue") ? 1 : device_rx_queues(d);

	return n == 1 ? 0
		      : drv_port_fail(why, -EINVAL,
				      "interface %s spreads what it receives over %u queues, "
				      "net_af_xdp hears one; "
				      "ethtool -L %s combined 1 (or rx 1 tx 1), or steer ethertype "
				      "88b5 to one queue and say "
				      "start_queue=N",
				      d->iface, n, d->iface);
}

static int device_af_xdp(struct dpdk_device *d, struct drv_port_why *why)
{
	int rc = device_check_iface(d, why);

	if (!rc)
		rc = device_check_queues(d, why);
	if (rc)
		return rc;
	if (d->mtu > XDP_FRAME_MAX - DPDK_HEADER_BYTES)
		d->mtu = XDP_FRAME_MAX - DPDK_HEADER_BYTES;
	d->mbuf_bytes = 4096 - 256; /* with the headers of mbuf and pool one page */
	d->mbufs = 8192;
	return device_set_default(d, "busy_budget", 0, why);
}

static int device_memif(struct dpdk_device *d, struct drv_port_why *why)
{
	const char *own = strstr(d->args, "bsize=");
	unsigned long bytes = own ? strtoul(own + 6, NULL, 10) : MEMIF_BYTES;
	unsigned char m[6];
	char mac[18];
	int rc;

	if (bytes < 128 || bytes > 65024)
		return drv_port_fail(why, -EINVAL, "memif bsize is 128 .. 65024");
	rc = device_set_default(d, "bsize", bytes, why);
	if (!rc)
		rc = device_set_default(d, "rsize", 9, why);
	if (!rc && !device_has(d, "mac")) {
		if (getrandom(m, sizeof m, 0) != sizeof m)
			return -errno;
		m[0] = (m[0] & 0xfc) | 2; /* local, unicast */
		snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3],
			 m[4], m[5]);
		rc = device_add_argument(d, "mac", mac, why);
	}
	if (!d->mtu || d->mtu > bytes - 14)
		d->mtu = (uint32_t)bytes - 14;
	d->mbuf_bytes = (uint32_t)bytes + HEADROOM;
	return rc;
}

static bool is_pci(const char *text)
{
	unsigned a, b, c, f;
	int n = 0;

	return (sscanf(text, "%4x:%2x:%2x.%1x%n", &a, &b, &c, &f, &n) == 4 && !text[n]) ||
	       (sscanf(text, "%2x:%2x.%1x%n", &b, &c, &f, &n) == 3 && !text[n]);
}

static int device_name(const char *word, struct dpdk_device *d, struct drv_port_why *why)
{
	static unsigned serial;
	size_t n = strlen(word);

	if (is_pci(word)) {
		d->kind = DPDK_PCI;
		snprintf(d->name, sizeof d->name, "%s", word);
		return 0;
	}
	if (strncmp(word, "net_", 4))
		return drv_port_fail(why, -EINVAL,
				     "'%s' is neither a PCI address (0000:3b:00.0) nor a "
				     "virtual device (net_af_packet,iface=eth0; net_af_xdp; "
				     "net_memif)",
				     word);
	while (n && isdigit((unsigned char)word[n - 1]))
		n--;
	d->kind = n == 13 && !memcmp(word, "net_af_packet", n) ? DPDK_AF_PACKET
		  : n == 10 && !memcmp(word, "net_af_xdp", n)  ? DPDK_AF_XDP
		  : n == 9 && !memcmp(word, "net_memif", n)    ? DPDK_MEMIF
							       : DPDK_OTHER;
	snprintf(d->name, sizeof d->name, "%.*s%u", (int)n, word,
		 atomic_fetch_add_relaxed(&serial, 1));
	return 0;
}

/* Does the device lead what its queue k sends to queue k of another host? */
static int device_check_several(struct dpdk_device *d, unsigned queues, struct drv_port_why *why)
{
	if (d->kind == DPDK_MEMIF)
		return 0;
	if (!strncmp(d->name, "net_vhost", 9) || !strncmp(d->name, "net_virtio_user", 15))
		return device_set_default(d, "queues", queues, why);
	return drv_port_fail(why, -EINVAL,
			     "queues=%u: nothing leads a frame to its queue of %s; give each queue "
			     "a device, such as a virtual function or a macvlan: dpdk:A&dpdk:B",
			     queues, d->name);
}

int dpdk_device_parse(const char *args, unsigned queues, struct dpdk_device *d,
		      struct drv_port_why *why)
{
	char word[160], *value;
	uint64_t mtu, keep;
	int rc = drv_port_arg_next(&args, word, 48, &value);

	memset(d, 0, sizeof *d);
	d->mbufs = 1024;
	d->keep = 1;
	if (rc <= 0 || value)
		return drv_port_fail(why, -EINVAL,
				     "no device is named; write e.g. "
				     "dpdk:net_af_packet,iface=eth0 or dpdk:0000:3b:00.0");
	rc = device_name(word, d, why);
	while (!rc && (rc = drv_port_arg_next(&args, word, sizeof word, &value)) > 0) {
		rc = 0;
		if (!strcmp(word, "mtu")) {
			rc = drv_port_arg_u64(value, 128, 65000, &mtu);
			if (rc)
				return drv_port_fail(why, rc, "mtu is 128 .. 65000");
			d->mtu = (uint32_t)mtu;
			continue;
		}
		if (!strcmp(word, "keep")) {
			if (drv_port_arg_u64(value, 0, 1, &keep))
				return drv_port_fail(why, -EINVAL, "keep is 0 or 1");
			d->keep = (uint32_t)keep;
			continue;
		}
		if (!value || !*word || !*value)
			return drv_port_fail(why, -EINVAL, "'%s' is not key=value", word);
		if (!strcmp(word, "iface") &&
		    (d->kind == DPDK_AF_PACKET || d->kind == DPDK_AF_XDP)) {
			if (strlen(value) >= sizeof d->iface)
				return drv_port_fail(why, -EINVAL, "interface name %s is too long",
						     value);
			strcpy(d->iface, value);
		}
		rc = device_add_argument(d, word, value, why);
	}
	if (rc)
		return why->text[0] ? rc : drv_port_fail(why, rc, "an argument is too long");
	if (queues > 1 && (rc = device_check_several(d, queues, why)))
		return rc;
	switch (d->kind) {
	case DPDK_AF_PACKET:
		return device_af_packet(d, why);
	case DPDK_AF_XDP:
		return device_af_xdp(d, why);
	case DPDK_MEMIF:
		return device_memif(d, why);
	case DPDK_PCI:
		d->mbufs = 4096;
		d->mtu = d->mtu ? d->mtu : PCI_MTU;
		return 0;
	case DPDK_OTHER:
		d->mbufs = 4096; /* its rings keep up to twice DPDK_DESCS of them */
		break;
	}
	return 0;
}
