/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that leaves its job, gives up the right to open packet sockets, and joins again: the
 * port of its host is chosen anew.
 */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mu/transport/port_holder.h"
#include "tests/harness/t.h"

static int drop_net_raw(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return -1;
	data[0].effective &= ~(1u << CAP_NET_RAW);
	data[0].permitted &= ~(1u << CAP_NET_RAW);
	return (int)syscall(SYS_capset, &head, data);
}

static int reopening_child(void *arg)
{
	struct emu_coord at[2] = {{{0}, 0}, {{1}, 0}};
	uint16_t on[2] = {0, 1};
	struct mu_host_conf conf = {.job = 1,
				    .seed = 1,
				    .tasks = 2,
				    .hosts = 2,
				    .shape = {{2, 1, 1, 1, 1}, 1, 0},
				    .port = "udp:127.0.0.1",
				    .coords = at,
				    .task_host = on};
	struct mu_holder *holder;
	struct mu_host *host;
	int fd;

	REQUIRE_EQ(mu_host_create(&conf, &host, &fd), 0);
	REQUIRE_EQ(mu_holder_open(host, &holder), 0);
	CHECK_STR(host->opened, "packet:127.0.0.1");
	mu_holder_close(holder, 0);
	REQUIRE_EQ(drop_net_raw(), 0);
	REQUIRE_EQ(mu_holder_open(host, &holder), 0);
	CHECK_STR(host->opened, "uring:127.0.0.1");
	mu_holder_close(holder, 0);
	mu_host_unmap(host);
	return (int)t_failures();
}

static void the_port_is_chosen_anew(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	char path[512];

	if (fd < 0)
		T_SKIP("packet sockets are not permitted here");
	close(fd);
	snprintf(path, sizeof path, "%s/drivers/libqt_port_uring.so",
		 getenv("QT_BUILD") ? getenv("QT_BUILD") : ".");
	if (access(path, R_OK))
		T_SKIP("the uring module was not built");
	CHECK_EQ(t_wait(t_child(reopening_child, NULL), 60), 0);
}

T_MAIN(T(the_port_is_chosen_anew))
