/* SPDX-License-Identifier: BSD-3-Clause */
/* torus run --trace: what this host recorded (mu/trace.h) goes to torus run; in virtual time, into
 * the file, behind the steps of packets. */
#include <errno.h>
#include <string.h>

#include "drivers/base/log.h"
#include "tools/agent.h"
#include "tools/messages.h"
#include "tools/trace.h"

void agent_trace_close(struct agent *a)
{
	bool is_virtual = a->plan.clock == MU_CLOCK_VIRTUAL;
	struct messages s = {0};
	int rc;

	if (a->host && a->host->trace_at_pages) {
		rc = messages_collect(&s, a->host, is_virtual ? 1 : 1000);
		messages_sort(&s);
		if (rc)
			drv_warn("--trace: no memory for all messages of host %u", a->self);
		if (!is_virtual)
			messages_send(&s, a->self, &a->ctl);
		else if (a->trace)
			trace_messages(a->trace, &s, 0);
		messages_free(&s);
	}
	rc = trace_close(a->trace);
	a->trace = NULL;
	if (rc)
		agent_fail(a, 1, "--trace %s: %s; the file is cut short", a->plan.trace,
			   strerror(-rc));
}
