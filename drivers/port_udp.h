/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the drivers that send UDP over IPv4, uring and packet: addresses, peers, the socket.
 * Private. A frame is one datagram, so a port of one kind reaches ports of the other.
 */
#ifndef DRIVERS_PORT_UDP_H
#define DRIVERS_PORT_UDP_H

#include <netinet/in.h>

#include "drivers/port_driver.h"

#define UDP_FRAME_MAX 65507u
#define UDP_HEADERS   28u /* IPv4 and UDP */

/* Consecutive frames of one size to one peer form a train, which passes through the kernel as one.
 */
#define UDP_TRAIN       32u    /* datagrams of a train, at most */
#define UDP_TRAIN_BYTES 65000u /* bytes of a train; below 64 KiB with headers */

/* Parse "1.2.3.4:567" or, where the port is optional, "1.2.3.4". Returns 0 or -EINVAL. */
int udp_parse_address(const char *text, int need_port, struct sockaddr_in *a);

/* Write "1.2.3.4:567". Returns 0 or -ENOSPC. */
int udp_write_address(const struct sockaddr_in *a, char *text, size_t bytes);

int udp_is_same_address(const struct sockaddr_in *a, const struct sockaddr_in *b);

/*
 * Open the socket and bind it to *self, which then has the port that the kernel chose. Lowers
 * *frame_bytes to what the MTU of the interface of this address permits. Datagrams are never
 * fragmented. Returns 0, or a negative errno with *udp closed and -1.
 */
int udp_open(int *udp, struct sockaddr_in *self, uint32_t *frame_bytes, struct drv_port_why *why);

/*
 * Close the socket. Its address can be bound at once, even while the kernel still holds the socket.
 */
void udp_close(int udp);

/*
 * The kernel has refused a frame to a peer with that negative errno. Log it once for each change of
 * *last, which is 0 at first.
 */
void udp_log_refused(int *last, const char *driver, const struct sockaddr_in *to, int error);

/*
 * Return how many of n frames may leave as a train: equal sizes, at most longest bytes (the last
 * may be shorter), one peer. At least 1.
 */
unsigned udp_count_train(const struct drv_frame *f, unsigned n, uint32_t longest);

/* Write the size of a train's datagrams as the control message of m. */
struct udp_control {
	_Alignas(8) unsigned char bytes[24];
};
struct msghdr;
void udp_set_segment(struct msghdr *m, struct udp_control *c, uint16_t bytes);

#endif
