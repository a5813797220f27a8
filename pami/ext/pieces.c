/* SPDX-License-Identifier: BSD-3-Clause */
/* EXT_quintorus_pieces: gets whose packet has several descriptors. */
#include <errno.h>

#include "pami/core/context.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/ext/ext.h"
#include "pami/ext_pieces.h"
#include "pami/p2p/request.h"

_Static_assert((int)PAMI_QUINTORUS_PIECES == (int)MU_GET_PIECES, "as the MU has them");

static pami_result_t get_pieces(pami_context_t context, const pami_rma_t *rma,
				const pami_quintorus_piece_t *piece, size_t count)
{
	static const char call[] = "EXT_quintorus_pieces get";
	struct pami_context *ctx = pami_context_of(context);
	struct mu_get_piece list[MU_GET_PIECES];
	struct pami_request *r;
	int rc;

	mu_idle_reset();
	if (!pami_context_is_valid(context) || !rma || !piece || !count || count > MU_GET_PIECES)
		return pami_fail_in(call, PAMI_INVAL, "no context, or not 1 to 8 pieces");
	if (!pami_endpoint_is_valid(ctx, rma->dest))
		return pami_fail_in(call, PAMI_INVAL, pami_endpoint_problem(ctx, rma->dest));
	if (ctx->slow)
		return PAMI_EAGAIN;
	for (size_t i = 0; i < count; i++) {
		list[i] = (struct mu_get_piece){
		    piece[i].local, (uint64_t)(uintptr_t)piece[i].remote, piece[i].bytes};
		if (!piece[i].bytes)
			return pami_fail_in(call, PAMI_INVAL, "a piece without bytes");
	}
	mu_charge(MU_COST_get, 1);
	r = pami_request_new(ctx);
	if (!r)
		return pami_result_in(call, -ENOMEM);
	r->local_fn = rma->done_fn;
	r->cookie = rma->cookie;
	r->op.done = pami_request_on_local_done;
	r->awaited |= PAMI_REQUEST_LOCAL;
	rc = mu_get_pieces(ctx->channel, pami_endpoint_task(rma->dest),
			   pami_endpoint_channel(ctx, rma->dest), list, (unsigned)count, &r->op);
	if (!rc)
		return PAMI_SUCCESS;
	pami_request_free(r);
	return rc == -EAGAIN ? PAMI_EAGAIN : pami_result_in(call, rc);
}

static const struct pami_ext_symbol pieces_symbols[] = {
    {"get", (void *)get_pieces, NULL},
    {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_pieces = {PAMI_EXT_QUINTORUS_PIECES, NULL, pieces_symbols};
