/* SPDX-License-Identifier: BSD-3-Clause */
/* mu_holder_wait_idle(): a host whose only task has ended is not waited for. */
#include "mu/engine/engine.h"
#include "mu/transport/port_holder.h"
#include "tests/harness/t.h"

enum { HOUR_MS = 3600000 };

static void departed_host_is_not_waited_for(void)
{
	struct emu_coord at[3] = {{{0}, 0}, {{0}, 1}, {{1}, 0}};
	uint16_t on[3] = {0, 0, 1};
	struct mu_host_conf conf = {.job = 1,
				    .seed = 1,
				    .tasks = 3,
				    .hosts = 2,
				    .shape = {{2, 1, 1, 1, 1}, 2, 0},
				    .port = "shm:",
				    .coords = at,
				    .task_host = on};
	struct mu_store store = {0};
	struct mu_holder *holder;
	struct mu_host *host;
	int fd;

	REQUIRE_EQ(mu_host_create(&conf, &host, &fd), 0);
	REQUIRE_EQ(mu_holder_open(host, &holder), 0);
	/* Nobody will acknowledge this. */
	REQUIRE_EQ(mu_holder_store(holder, 2, &store), 0);
	mu_holders_wait_idle(&holder, 1, 1);
	mu_host_mark_departed(host, 7); /* There is no such host. */
	mu_host_mark_departed(host, 1);
	mu_holders_wait_idle(&holder, 1, HOUR_MS); /* the test's time limit ends before this */
	mu_holder_close(holder, HOUR_MS);
	mu_host_unmap(host);
}

T_MAIN(T(departed_host_is_not_waited_for))
