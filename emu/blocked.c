/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/blocked.h"

#include "emu/router_state.h"

bool emu_router_blocked(const struct emu_router *r, unsigned q, struct emu_blocked *out)
{
	if (q >= EMU_QUEUES || !(r->occupied & queue_bit(q)))
		return false;
	*out = (struct emu_blocked){
	    .packet = q < FROM_LINKS ? r->link[q / EMU_VCS].queue[q % EMU_VCS].head
				     : r->injection[q - FROM_LINKS].head,
	    .here = r->local & queue_bit(q),
	};
	if (out->here)
		return true;
	if (r->dynamic & queue_bit(q)) {
		out->link = r->want[q] >> 12;
		out->vc = EMU_VC_BUBBLE;
		return true;
	}
	for (unsigned link = 0; link < EMU_LINKS; link++)
		for (unsigned vc = 0; vc < EMU_VCS; vc++)
			if (r->link[link].request[vc] & queue_bit(q)) {
				out->link = link;
				out->vc = vc;
				return true;
			}
	return false;
}
