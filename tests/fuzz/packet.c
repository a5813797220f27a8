/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whatever lies in a slot of the packet port's ring: packet_parse() reads inside of it only, and
 * what it calls data lies inside.
 *
 * With clang: -fsanitize=fuzzer,address -DFUZZ_ENGINE. Else main() feeds a fixed number of seeded
 * mutations of sound packets (QT_SEED, QT_FUZZ_ROUNDS).
 */
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/rng.h"
#include "drivers/port_packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define FRAME_MAX 1472u

#define REQUIRE(ok)                                                                                \
	do {                                                                                       \
		if (!(ok)) {                                                                       \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #ok);                   \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static unsigned sound, trains;

/* data: flags, three bytes that are not used, the virtio header, then the packet. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct virtio_net_hdr v;
	struct packet_seen s;
	uint32_t here;
	unsigned char *ip;

	if (bytes < 4 + sizeof v)
		return 0;
	memcpy(&v, data + 4, sizeof v);
	here = (uint32_t)(bytes - 4 - sizeof v);
	/* Memory that ends where the packet does. */
	ip = malloc(here + 1);
	REQUIRE(ip);
	memcpy(ip, data + 4 + sizeof v, here);
	if (packet_parse(&s, &v, ip, here, data[0] & 1, FRAME_MAX)) {
		sound++;
		trains += s.segment < s.bytes;
		REQUIRE(s.segment <= s.bytes && !s.segment == !s.bytes);
		REQUIRE(s.segment <= FRAME_MAX);
		REQUIRE(s.data == ip + UDP_HEADERS && s.bytes + UDP_HEADERS <= here);
	}
	free(ip);
	return 0;
}

#ifndef FUZZ_ENGINE
/* A sound packet of some size, as LLVMFuzzerTestOneInput() takes it. Returns its bytes. */
static size_t make_sound(unsigned char *to, struct drv_rng *rng)
{
	uint32_t payload = (uint32_t)drv_rng_below(rng, 4000);
	struct virtio_net_hdr v = {0};
	struct iphdr ip = {.version = 4, .ihl = 5, .protocol = IPPROTO_UDP, .saddr = 7, .daddr = 8};
	struct udphdr udp = {.source = 9, .dest = 10};

	memset(to, 0, 4);
	to[0] = (unsigned char)drv_rng_below(rng, 2);
	if (drv_rng_below(rng, 2)) {
		v.gso_type = VIRTIO_NET_HDR_GSO_UDP_L4;
		v.gso_size = (uint16_t)drv_rng_below(rng, 2000);
	}
	ip.tot_len = htons((uint16_t)(UDP_HEADERS + payload));
	udp.len = htons((uint16_t)(sizeof udp + payload));
	memcpy(to + 4, &v, sizeof v);
	memcpy(to + 4 + sizeof v, &ip, sizeof ip);
	memcpy(to + 4 + sizeof v + sizeof ip, &udp, sizeof udp);
	memset(to + 4 + sizeof v + UDP_HEADERS, 0x5a, payload);
	return 4 + sizeof v + UDP_HEADERS + payload;
}

int main(void)
{
	const char *seed = getenv("QT_SEED"), *rounds = getenv("QT_FUZZ_ROUNDS");
	uint64_t n = rounds ? strtoull(rounds, NULL, 10) : 300000;
	static unsigned char data[8192];
	struct drv_rng rng;

	drv_rng_seed(&rng, seed ? strtoull(seed, NULL, 0) : 1);
	for (uint64_t i = 0; i < n; i++) {
		size_t bytes = make_sound(data, &rng);

		for (uint64_t k = drv_rng_below(&rng, 4); k; k--)
			data[drv_rng_below(&rng, bytes < 64 || k & 1 ? bytes : 64)] =
			    (unsigned char)drv_rng_below(&rng, 256);
		if (!drv_rng_below(&rng, 4))
			bytes = (size_t)drv_rng_below(&rng, bytes + 1);
		LLVMFuzzerTestOneInput(data, bytes);
	}
	printf("1..1\nok 1 - %llu packets, %u sound, %u of them trains\n", (unsigned long long)n,
	       sound, trains);
	REQUIRE(sound > n / 10 && trains > n / 100);
	return 0;
}
#endif
