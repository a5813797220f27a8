/* SPDX-License-Identifier: BSD-3-Clause */
/* Weak stand-ins while a part is not linked in: each says so and fails. */
#include <errno.h>

#include "drivers/base/log.h"
#include "mu/holder.h"
#include "mu/live.h"
#include "mu/vtask.h"

#define NONE __attribute__((weak))

NONE int mu_vt_attach(struct mu_host *host, uint32_t local)
{
	drv_error("this build has no virtual clock");
	return -ENOSYS;
}
NONE void mu_vt_detach(void) {}
NONE void mu_vt_inject(unsigned channel, unsigned slot) {}
NONE void mu_vt_check(void) {}
NONE void mu_vt_idle(void) {}
NONE uint64_t mu_vt_now_ps(void) { return 0; }
NONE void mu_charge_now(enum mu_cost cost, uint64_t times) {}

NONE int mu_holder_open(struct mu_host *host, struct mu_holder **holder)
{
	drv_error("this build has no wires between hosts");
	return -ENOSYS;
}
NONE void mu_holder_close(struct mu_holder *holder, int timeout_ms) {}
NONE int mu_holder_poll(struct mu_holder *holder) { return 0; }
NONE int mu_holder_arm(struct mu_holder *holder, struct pollfd *fds, unsigned max, int64_t *t) { return -EAGAIN; }
NONE void mu_holder_disarm(struct mu_holder *holder) {}
NONE int mu_holder_poll_for(struct mu_holder *holder, struct mu_channel *ch) { return 0; }
NONE int mu_holder_send(struct mu_holder *holder, uint32_t host, uint32_t source, const void *header,
                        const void *payload, uint32_t bytes, struct mu_process *guarded) { return -EAGAIN; }
NONE unsigned char *mu_holder_reserve(struct mu_holder *h, uint32_t host, uint32_t s, uint32_t b) { return 0; }
NONE void mu_holder_commit(struct mu_holder *holder, uint32_t host, uint32_t bytes) {}
NONE void mu_holder_flush(struct mu_holder *holder) {}
