/* SPDX-License-Identifier: BSD-3-Clause */
/* EXT_quintorus_address: packets that the network leads to blocks (emu/directory.h). */
#include "pami/ext_address.h"

#include <stddef.h>
#include <string.h>

#include "emu/access.h"
#include "emu/directory.h"
#include "pami/core/client.h"
#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/ext/ext.h"
#include "pami/p2p/wire.h"

#define SAME(field)                                                                                \
	_Static_assert(offsetof(struct pami_quintorus_address, field) ==                           \
			   offsetof(struct emu_address, field),                                    \
		       "the public form of struct emu_address")
SAME(key);
SAME(at);
SAME(version);
SAME(kind);
SAME(flags);
SAME(state);
SAME(to);
_Static_assert(sizeof(struct pami_quintorus_address) == sizeof(struct emu_address), "the same");
_Static_assert(sizeof(struct pami_quintorus_access) == sizeof(struct emu_access) &&
		   offsetof(struct pami_quintorus_access, id) == offsetof(struct emu_access, id) &&
		   offsetof(struct pami_quintorus_access, bytes) ==
		       offsetof(struct emu_access, bytes) &&
		   offsetof(struct pami_quintorus_access, hop) == offsetof(struct emu_access, hop),
	       "the public form of struct emu_access");
_Static_assert(sizeof(struct pami_quintorus_lease) == sizeof(struct emu_lease) &&
		   offsetof(struct pami_quintorus_lease, votes) ==
		       offsetof(struct emu_lease, votes) &&
		   offsetof(struct pami_quintorus_bind, lease) ==
		       offsetof(struct emu_bind_lease, lease),
	       "the public forms of struct emu_lease and struct emu_bind_lease");
_Static_assert((int)PAMI_QUINTORUS_ADDRESS_GET == (int)EMU_ACCESS_GET &&
		   (int)PAMI_QUINTORUS_ADDRESS_CAS == (int)EMU_ACCESS_CAS &&
		   sizeof(struct pami_quintorus_operands) == sizeof(struct emu_operands),
	       "the same kinds");
_Static_assert((int)PAMI_QUINTORUS_ADDRESS_LONG_PUT == (int)EMU_ACCESS_LONG_PUT &&
		   (int)PAMI_QUINTORUS_ADDRESS_END == (int)EMU_ACCESS_END &&
		   (int)PAMI_QUINTORUS_ADDRESS_END_FAILED == (int)EMU_ACCESS_END_FAILED,
	       "the same kinds");
_Static_assert((int)PAMI_QUINTORUS_ADDRESS_BY_UNIT == (int)EMU_ADDRESS_BY_UNIT, "one flag");
_Static_assert((int)PAMI_QUINTORUS_ADDRESS_MISLED == (int)EMU_ADDRESS_MISLED, "one flag");
_Static_assert((int)PAMI_QUINTORUS_ADDRESS_OWNED == (int)EMU_BIND_OWNED, "the same states");
_Static_assert((int)PAMI_QUINTORUS_ADDRESS_HOME == (int)EMU_ADDRESS_HOME, "the same kinds");
_Static_assert((int)PAMI_QUINTORUS_ADDRESS_MODE_TORUS == (int)EMU_DIRECTORY_TORUS,
	       "the same modes");

static const struct mu_job *current_job(void)
{
	struct pami_client *c = pami_client_any();

	return c ? c->job : NULL;
}

static enum pami_quintorus_address_mode address_mode(void)
{
	const struct mu_job *j = current_job();

	return j ? (enum pami_quintorus_address_mode)j->directory
		 : PAMI_QUINTORUS_ADDRESS_MODE_NONE;
}

static bool address_has_near(void)
{
	const struct mu_job *j = current_job();

	return j && j->directory_near;
}

/* Does the job have the table that such a message needs? Leases serve software directories, too. */
static bool has_table(const pami_send_immediate_t *p)
{
	struct pami_quintorus_address a;

	memcpy(&a, p->header.iov_base, sizeof(a));
	return address_mode() != PAMI_QUINTORUS_ADDRESS_MODE_NONE ||
	       (a.kind == PAMI_QUINTORUS_ADDRESS_BIND && address_has_near());
}

static bool is_access(const pami_send_immediate_t *p)
{
	struct pami_quintorus_address a;

	memcpy(&a, p->header.iov_base, sizeof(a));
	return a.kind == PAMI_QUINTORUS_ADDRESS_MESSAGE &&
	       a.state != PAMI_QUINTORUS_ADDRESS_ACCESS_NONE;
}

static pami_result_t address_send(pami_context_t context, const pami_send_immediate_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_wire wire = {.kind = PAMI_WIRE_SHORT};
	int rc;

	mu_idle_reset();
	if (!pami_context_is_valid(context) || !p)
		return pami_fail_invalid(context);
	if (p->header.iov_len < sizeof(struct pami_quintorus_address) ||
	    (is_access(p) && p->header.iov_len != sizeof(struct pami_quintorus_access)) ||
	    p->header.iov_len > MU_PACKET_BYTES || p->data.iov_len > MU_PACKET_BYTES ||
	    p->dispatch > PAMI_DISPATCH_ID_MAX || !pami_endpoint_is_valid(ctx, p->dest))
		return pami_fail(PAMI_INVAL, "a message to an address: header, dispatch or dest");
	if (!has_table(p))
		return pami_fail(PAMI_INVAL, "this job has no directory in the network");
	wire.origin = ctx->offset | PAMI_WIRE_ADDRESSED;
	wire.dispatch = (uint16_t)p->dispatch;
	wire.header = (uint16_t)p->header.iov_len;
	wire.data = is_access(p) ? PAMI_WIRE_REST : (uint32_t)p->data.iov_len;
	mu_charge(MU_COST_send_immediate, 1);
	rc = mu_send_address(ctx->channel, pami_endpoint_task(p->dest),
			     pami_endpoint_channel(ctx, p->dest), &wire, p->header.iov_base,
			     (uint32_t)p->header.iov_len, p->data.iov_base,
			     (uint32_t)p->data.iov_len);
	return rc == -EAGAIN ? PAMI_EAGAIN : pami_result(rc);
}

static pami_task_t address_lead(uint64_t key, pami_task_t home)
{
	const struct mu_job *j = current_job();

	return j && home < j->tasks ? mu_address_lead(key, home) : home;
}

static uint64_t address_delay(void)
{
	const struct mu_job *j = current_job();

	return j ? j->directory_delay_ns : 0;
}

static size_t address_unit(void)
{
	const struct mu_job *j = current_job();

	return j && j->directory_unit ? MU_PACKET_BYTES - sizeof(struct emu_access) : 0;
}

static const char *address_counter(unsigned i, uint64_t *value, const char **meaning)
{
	const struct mu_job *j = current_job();

	return j ? emu_directory_counter(j->directory_stat, i, value, meaning) : NULL;
}

static void address_arrived(pami_context_t context, const struct pami_quintorus_address *a,
			    pami_endpoint_t origin)
{
	struct emu_address copy;

	memcpy(&copy, a, sizeof(copy));
	mu_address_arrived(&copy, pami_endpoint_task(origin));
}

/* ---- blocks of this host ---- */

static bool is_near_kind(const struct emu_access *x)
{
	return x->a.state == EMU_ACCESS_PUT || x->a.state == EMU_ACCESS_GET ||
	       (emu_access_is_atomic(x) && x->bytes == 8 && x->a.to % 8 == 0);
}

static bool address_near(const struct pami_quintorus_access *access, void *data,
			 struct pami_quintorus_near_end *end)
{
	struct mu_near_end e = {UINT32_MAX, 0, 0};
	struct emu_access x;
	bool done;

	memcpy(&x, access, sizeof(x));
	done = is_near_kind(&x) && mu_access_near(&x, data, &e);
	*end = (struct pami_quintorus_near_end){e.task, e.slot, e.key};
	return done;
}

static uint32_t address_claim(const struct pami_quintorus_lease *lease)
{
	return mu_lease_claim(lease);
}

static bool address_unpin(const struct pami_quintorus_lease *lease, pami_task_t task, uint32_t slot)
{
	return mu_lease_release(lease, task, slot);
}

static const struct pami_ext_symbol symbols[] = {
    {"mode", (void *)address_mode, NULL},
    {"send", (void *)address_send, NULL},
    {"arrived", (void *)address_arrived, NULL},
    {"delay", (void *)address_delay, NULL},
    {"lead", (void *)address_lead, NULL},
    {"counter", (void *)address_counter, NULL},
    {"unit", (void *)address_unit, NULL},
    {"has_near", (void *)address_has_near, NULL},
    {"near", (void *)address_near, NULL},
    {"claim", (void *)address_claim, NULL},
    {"unpin", (void *)address_unpin, NULL},
    {"death", (void *)mu_lease_death, NULL},
    {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_address = {PAMI_EXT_QUINTORUS_ADDRESS, NULL, symbols};
