/* SPDX-License-Identifier: BSD-3-Clause */
#include "mu/channel/routing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The choice by the size of the partition: docs/hardware.md 13.6. */
static const struct {
	uint32_t nodes; /* at least */
	double low, high;
	uint8_t in, out;
} by_size[] = {
    {65536, 0.75, 3.0, 3, 0}, {16384, 1.3, 3.0, 3, 0}, {8192, 1.5, 2.5, 3, 0},
    {1025, 1.5, 3.5, 3, 0},   {1024, 1.5, 3.5, 2, 0},  {0, 1.5, 3.5, 3, 3},
};

static void set_number(const char *word, double *value)
{
	if (strcmp(word, "auto"))
		*value = strtod(word, NULL);
}

static void set_route(const char *word, uint8_t *route)
{
	if (strcmp(word, "auto"))
		*route = (uint8_t)(word[0] - '0');
}

/* Read a zone or 4 up to a comma or the end; nothing there: no change. Returns 0 or -EINVAL. */
static int read_route(const char **at, uint8_t *route)
{
	if (**at >= '0' && **at <= '4')
		*route = (uint8_t)(*(*at)++ - '0');
	return !**at || **at == ',' ? 0 : -EINVAL;
}

static int read_range(const char **at, struct mu_routing *r)
{
	char *end;

	if (!**at || **at == ',')
		return 0;
	r->low = strtod(*at, &end);
	if (end == *at || *end != ':')
		return -EINVAL;
	*at = end + 1;
	r->high = strtod(*at, &end);
	if (end == *at || (*end && *end != ','))
		return -EINVAL;
	*at = end;
	return 0;
}

static int read_size(const char **at, struct mu_routing *r)
{
	char *end;

	if (!**at || **at == ',')
		return 0;
	r->bytes = strtoull(*at, &end, 10);
	if (**at < '0' || **at > '9' || (*end && *end != ','))
		return -EINVAL;
	*at = end;
	return 0;
}

static int read_text(struct mu_routing *r, const char *at)
{
	int rc = 0;

	for (int field = 0; !rc && field < 5; field++) {
		rc = field == 0   ? read_size(&at, r)
		     : field == 1 ? read_route(&at, &r->small)
		     : field == 2 ? read_range(&at, r)
		     : field == 3 ? read_route(&at, &r->in)
				  : read_route(&at, &r->out);
		if (!*at)
			return rc;
		at++;
	}
	return rc ? rc : -EINVAL;
}

int mu_routing_make(struct mu_routing *r, const struct emu_shape *shape,
		    const struct emu_hardware *hw, const char *text, char *err, size_t err_bytes)
{
	uint32_t nodes = emu_shape_nodes(shape);
	struct mu_routing next;
	unsigned i = 0;

	while (by_size[i].nodes > nodes)
		i++;
	memset(r, 0, sizeof *r);
	r->shape = *shape;
	r->bytes = hw->routing_bytes;
	r->small = MU_ROUTE_DETERMINISTIC;
	r->low = by_size[i].low;
	r->high = by_size[i].high;
	r->in = by_size[i].in;
	r->out = by_size[i].out;
	r->stay_on_bubble = (uint8_t)hw->stay_on_bubble;
	r->e_split_bytes = hw->e_split_bytes;
	r->pacing_bytes = nodes > hw->pacing_nodes ? hw->pacing_bytes : UINT64_MAX;
	r->pacing_piece = hw->pacing_piece ? (uint32_t)hw->pacing_piece
			  : nodes < 4096   ? 16384
					   : 8192;
	r->pacing_window = (uint32_t)hw->pacing_window;
	set_number(hw->routing_low, &r->low);
	set_number(hw->routing_high, &r->high);
	set_route(hw->routing_in, &r->in);
	set_route(hw->routing_out, &r->out);
	next = *r;
	if (text && read_text(&next, text)) {
		snprintf(
		    err, err_bytes,
		    "PAMI_ROUTING=%s: expected [size][,[small][,[low:high][,[in][,[out]]]]], "
		    "where small, in and out are 0 to 3 (a zone) or 4 (deterministic), such as "
		    "65536,4,1.5:3.5,3,0",
		    text);
		return -EINVAL;
	}
	*r = next;
	return 0;
}

static unsigned hops_of(const struct emu_shape *s, unsigned d, unsigned a, unsigned b)
{
	unsigned way = a > b ? a - b : b - a;

	return !(s->mesh >> d & 1) && s->n[d] - way < way ? s->n[d] - way : way;
}

static unsigned most_hops(const struct emu_shape *s, unsigned d)
{
	return s->mesh >> d & 1 ? s->n[d] - 1u : s->n[d] / 2u;
}

double mu_routing_flexibility(const struct emu_shape *shape, const struct emu_coord *a,
			      const struct emu_coord *b)
{
	double sum = 0;

	for (unsigned d = 0; d < 4; d++)
		if (shape->n[d] > 1)
			sum += (double)hops_of(shape, d, a->c[d], b->c[d]) / most_hops(shape, d);
	return sum;
}

unsigned mu_routing_choose(const struct mu_routing *r, const struct emu_coord *from,
			   const struct emu_coord *to, uint64_t bytes)
{
	unsigned differ = 0;
	double flexibility;

	for (int d = 0; d < EMU_DIMS; d++)
		differ += from->c[d] != to->c[d];
	if (differ < 2) /* on a line there is one way only */
		return MU_ROUTE_DETERMINISTIC;
	if (bytes <= r->bytes)
		return r->small;
	flexibility = mu_routing_flexibility(&r->shape, from, to);
	return flexibility > r->low && flexibility < r->high ? r->in : r->out;
}

int mu_routing_splits(const struct mu_routing *r, const struct emu_coord *from,
		      const struct emu_coord *to, uint64_t bytes)
{
	return bytes > r->e_split_bytes && r->shape.n[4] == 2 && !(r->shape.mesh >> 4 & 1) &&
	       from->c[4] != to->c[4] && !memcmp(from->c, to->c, 4);
}

int mu_routing_paces(const struct mu_routing *r, const struct emu_coord *from,
		     const struct emu_coord *to, uint64_t bytes)
{
	unsigned differ = 0, hops = 0;

	for (unsigned d = 0; d < EMU_DIMS; d++) {
		differ += from->c[d] != to->c[d];
		hops += hops_of(&r->shape, d, from->c[d], to->c[d]);
	}
	return bytes > r->pacing_bytes && bytes > r->pacing_piece && (hops > 4 || differ > 1);
}

void mu_routing_apply(const struct mu_routing *r, unsigned choice, MUHWI_Descriptor_t *d)
{
	MUHWI_Pt2PtNetworkHeader_t *h = &d->PacketHeader.NetworkHeader.pt2pt;

	if (choice == MU_ROUTE_DETERMINISTIC)
		return;
	h->Byte2.Byte2 |= MUHWI_PACKET_USE_DYNAMIC_ROUTING;
	h->Byte3.Byte3 = (uint8_t)(MUHWI_PACKET_VIRTUAL_CHANNEL_DYNAMIC | choice << 3 |
				   (r->stay_on_bubble ? MUHWI_PACKET_STAY_ON_BUBBLE : 0));
}
