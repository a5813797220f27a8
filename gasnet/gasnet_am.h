/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages of GASNet-EX; gasnetex.h includes this. gex_AM_RequestShort2 has two handler
 * arguments, and so on from 0 to 16; gex_AM_RequestShort without a number counts them.
 *
 * tm, rank: the target. index: a handler that the target has registered with as many arguments.
 * src, bytes: payload, at most what the Max queries say. dest: in the target's segment.
 * lc_opt: GEX_EVENT_NOW, a variable for an event, or (requests) GEX_EVENT_GROUP; the source may be
 * reused then. Requests and replies return 0; non-zero only with GEX_FLAG_IMMEDIATE, if nothing was
 * sent. Requests make progress and may run handlers, except with GEX_FLAG_IMMEDIATE.
 */
/* Before the guard: gasnetex.h declares the types, then includes this file. */
#include "gasnetex.h"

#ifndef _GASNET_AM_H
#define _GASNET_AM_H

#ifdef __cplusplus
extern "C" {
#endif

unsigned int gex_AM_MaxArgs(void);
/* The least that the Max queries answer for any peer and arguments. */
size_t gex_AM_LUBRequestMedium(void);
size_t gex_AM_LUBReplyMedium(void);
size_t gex_AM_LUBRequestLong(void);
size_t gex_AM_LUBReplyLong(void);
/* Largest payload in bytes. rank GEX_RANK_INVALID: to any member. */
size_t gex_AM_MaxRequestMedium(gex_TM_t tm, gex_Rank_t rank, const gex_Event_t *lc_opt,
			       gex_Flags_t flags, unsigned int nargs);
size_t gex_AM_MaxReplyMedium(gex_TM_t tm, gex_Rank_t rank, const gex_Event_t *lc_opt,
			     gex_Flags_t flags, unsigned int nargs);
size_t gex_AM_MaxRequestLong(gex_TM_t tm, gex_Rank_t rank, const gex_Event_t *lc_opt,
			     gex_Flags_t flags, unsigned int nargs);
size_t gex_AM_MaxReplyLong(gex_TM_t tm, gex_Rank_t rank, const gex_Event_t *lc_opt,
			   gex_Flags_t flags, unsigned int nargs);
size_t gex_Token_MaxReplyMedium(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags,
				unsigned int nargs);
size_t gex_Token_MaxReplyLong(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags,
			      unsigned int nargs);

typedef struct {
	gex_Rank_t gex_srcrank; /* job rank */
	gex_EP_t gex_ep;
	const gex_AM_Entry_t *gex_entry;
	int gex_is_req;
	int gex_is_long;
} gex_Token_Info_t;
/* In a handler: who sent the message, and how. Returns the fields that it filled. */
gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask);

/* ---- negotiated payload ---- */

/*
 * Reserve a message of least .. most bytes. client_buf NULL: the payload is written to
 * gex_AM_SrcDescAddr(), at most gex_AM_SrcDescSize() bytes, and lc_opt is NULL. Commit sends it, or
 * fewer bytes. Between the two the thread makes no other call that communicates.
 * GEX_AM_SRCDESC_NO_OP: only with GEX_FLAG_IMMEDIATE.
 */
gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t tm, gex_Rank_t rank, const void *client_buf,
					     size_t least, size_t most, gex_Event_t *lc_opt,
					     gex_Flags_t flags, unsigned int nargs);
gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *client_buf, size_t least,
					   size_t most, gex_Event_t *lc_opt, gex_Flags_t flags,
					   unsigned int nargs);
gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t tm, gex_Rank_t rank, const void *client_buf,
					   size_t least, size_t most, void *dest,
					   gex_Event_t *lc_opt, gex_Flags_t flags,
					   unsigned int nargs);
gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *client_buf, size_t least,
					 size_t most, void *dest, gex_Event_t *lc_opt,
					 gex_Flags_t flags, unsigned int nargs);
/* How a prepared message begins; the rest is the library's. */
struct gexi_srcdesc_start {
	void *addr;
	size_t bytes;
};
/* Ends the process: there is no prepared message. */
void gexi_srcdesc_fail(const char *call) __attribute__((noreturn, cold));
static inline const struct gexi_srcdesc_start *gexi_srcdesc_start(gex_AM_SrcDesc_t sd,
								  const char *call)
{
	if (__builtin_expect(!sd, 0))
		gexi_srcdesc_fail(call);
	return (const struct gexi_srcdesc_start *)(const void *)sd;
}
/* Here, since a call of the library between prepare and the payload would delay the message. */
static inline void *gex_AM_SrcDescAddr(gex_AM_SrcDesc_t sd)
{
	return gexi_srcdesc_start(sd, "gex_AM_SrcDescAddr")->addr;
}
static inline size_t gex_AM_SrcDescSize(gex_AM_SrcDesc_t sd)
{
	return gexi_srcdesc_start(sd, "gex_AM_SrcDescSize")->bytes;
}

/*
 * What the numbered functions call: words are nargs arguments in pairs, as in the message. The
 * caller makes a pair in a register, since a load of 8 bytes that two stores of 4 have just written
 * waits until both are in the cache.
 */
static inline uint64_t gexi_am_pair(gex_AM_Arg_t a, gex_AM_Arg_t b)
{
	return (uint32_t)a | (uint64_t)(uint32_t)b << 32;
}
int gexi_am_request_short(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t index, gex_Flags_t flags,
			  unsigned int nargs, const uint64_t *words);
int gexi_am_request_medium(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t index, const void *src,
			   size_t bytes, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int nargs,
			   const uint64_t *words);
int gexi_am_request_long(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t index, const void *src,
			 size_t bytes, void *dest, gex_Event_t *lc_opt, gex_Flags_t flags,
			 unsigned int nargs, const uint64_t *words);
int gexi_am_reply_short(gex_Token_t token, gex_AM_Index_t index, gex_Flags_t flags,
			unsigned int nargs, const uint64_t *words);
int gexi_am_reply_medium(gex_Token_t token, gex_AM_Index_t index, const void *src, size_t bytes,
			 gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int nargs,
			 const uint64_t *words);
int gexi_am_reply_long(gex_Token_t token, gex_AM_Index_t index, const void *src, size_t bytes,
		       void *dest, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int nargs,
		       const uint64_t *words);
void gexi_am_commit(gex_AM_SrcDesc_t sd, unsigned int kind, gex_AM_Index_t index, size_t bytes,
		    void *dest, unsigned int nargs, const uint64_t *words);
/* kind of gexi_am_commit() */
#define GEXI_AM_REQUEST_MEDIUM 1u
#define GEXI_AM_REPLY_MEDIUM   5u
#define GEXI_AM_REQUEST_LONG   2u
#define GEXI_AM_REPLY_LONG     6u

/* ---- arities ---- */

/* The number of arguments after the first `fixed`. */
#define GEXI_CAT_(a, b) a##b
#define GEXI_CAT(a, b)  GEXI_CAT_(a, b)
/* clang-format off */
#define GEXI_AM_PICK_2(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, n, ...) n
#define GEXI_AM_COUNT_2(...) GEXI_AM_PICK_2(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define GEXI_AM_PICK_3(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, n, ...) n
#define GEXI_AM_COUNT_3(...) GEXI_AM_PICK_3(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define GEXI_AM_PICK_4(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, n, ...) n
#define GEXI_AM_COUNT_4(...) GEXI_AM_PICK_4(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define GEXI_AM_PICK_5(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, _21, n, ...) n
#define GEXI_AM_COUNT_5(...) GEXI_AM_PICK_5(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define GEXI_AM_PICK_6(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, _21, _22, n, ...) n
#define GEXI_AM_COUNT_6(...) GEXI_AM_PICK_6(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define GEXI_AM_PICK_7(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, _21, _22, _23, n, ...) n
#define GEXI_AM_COUNT_7(...) GEXI_AM_PICK_7(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define GEXI_AM_PICK_8(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, _21, _22, _23, _24, n, ...) n
#define GEXI_AM_COUNT_8(...) GEXI_AM_PICK_8(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define gex_AM_RequestShort(...) GEXI_CAT(gex_AM_RequestShort, GEXI_AM_COUNT_4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_RequestMedium(...) GEXI_CAT(gex_AM_RequestMedium, GEXI_AM_COUNT_7(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_RequestLong(...) GEXI_CAT(gex_AM_RequestLong, GEXI_AM_COUNT_8(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_ReplyShort(...) GEXI_CAT(gex_AM_ReplyShort, GEXI_AM_COUNT_3(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_ReplyMedium(...) GEXI_CAT(gex_AM_ReplyMedium, GEXI_AM_COUNT_6(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_ReplyLong(...) GEXI_CAT(gex_AM_ReplyLong, GEXI_AM_COUNT_7(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitRequestMedium(...) GEXI_CAT(gex_AM_CommitRequestMedium, GEXI_AM_COUNT_3(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitReplyMedium(...) GEXI_CAT(gex_AM_CommitReplyMedium, GEXI_AM_COUNT_3(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitRequestLong(...) GEXI_CAT(gex_AM_CommitRequestLong, GEXI_AM_COUNT_4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitReplyLong(...) GEXI_CAT(gex_AM_CommitReplyLong, GEXI_AM_COUNT_4(__VA_ARGS__))(__VA_ARGS__)

#define GEXI_AM_PARAMS_0
#define GEXI_AM_PASS_0 0, (const uint64_t *)0
#define GEXI_AM_ARGS_0
#define GEXI_AM_PARAMS_1 , gex_AM_Arg_t a0
#define GEXI_AM_PASS_1 1, gexi_args
#define GEXI_AM_ARGS_1 const uint64_t gexi_args[1] = {gexi_am_pair(a0, 0)};
#define GEXI_AM_PARAMS_2 , gex_AM_Arg_t a0, gex_AM_Arg_t a1
#define GEXI_AM_PASS_2 2, gexi_args
#define GEXI_AM_ARGS_2 const uint64_t gexi_args[1] = {gexi_am_pair(a0, a1)};
#define GEXI_AM_PARAMS_3 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2
#define GEXI_AM_PASS_3 3, gexi_args
#define GEXI_AM_ARGS_3 const uint64_t gexi_args[2] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, 0)};
#define GEXI_AM_PARAMS_4 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3
#define GEXI_AM_PASS_4 4, gexi_args
#define GEXI_AM_ARGS_4 const uint64_t gexi_args[2] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3)};
#define GEXI_AM_PARAMS_5 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3, gex_AM_Arg_t a4
#define GEXI_AM_PASS_5 5, gexi_args
#define GEXI_AM_ARGS_5 const uint64_t gexi_args[3] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3), gexi_am_pair(a4, 0)};
#define GEXI_AM_PARAMS_6 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5
#define GEXI_AM_PASS_6 6, gexi_args
#define GEXI_AM_ARGS_6 const uint64_t gexi_args[3] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3), gexi_am_pair(a4, a5)};
#define GEXI_AM_PARAMS_7 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6
#define GEXI_AM_PASS_7 7, gexi_args
#define GEXI_AM_ARGS_7 const uint64_t gexi_args[4] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3), gexi_am_pair(a4, a5), gexi_am_pair(a6, 0)};
#define GEXI_AM_PARAMS_8 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6, gex_AM_Arg_t a7
#define GEXI_AM_PASS_8 8, gexi_args
#define GEXI_AM_ARGS_8 const uint64_t gexi_args[4] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3), gexi_am_pair(a4, a5), gexi_am_pair(a6, a7)};
#define GEXI_AM_PARAMS_9 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6, gex_AM_Arg_t a7, gex_AM_Arg_t a8
#define GEXI_AM_PASS_9 9, gexi_args
#define GEXI_AM_ARGS_9 const uint64_t gexi_args[5] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3), gexi_am_pair(a4, a5), gexi_am_pair(a6, a7), gexi_am_pair(a8, 0)};
#define GEXI_AM_PARAMS_10 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6, gex_AM_Arg_t a7, gex_AM_Arg_t a8, gex_AM_Arg_t a9
#define GEXI_AM_PASS_10 10, gexi_args
#define GEXI_AM_ARGS_10 const uint64_t gexi_args[5] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3), gexi_am_pair(a4, a5), gexi_am_pair(a6, a7), gexi_am_pair(a8, a9)};
#define GEXI_AM_PARAMS_11 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6, gex_AM_Arg_t a7, gex_AM_Arg_t a8, gex_AM_Arg_t a9, gex_AM_Arg_t a10
#define GEXI_AM_PASS_11 11, gexi_args
#define GEXI_AM_ARGS_11 const uint64_t gexi_args[6] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3), gexi_am_pair(a4, a5), gexi_am_pair(a6, a7), gexi_am_pair(a8, a9), gexi_am_pair(a10, 0)};
#define GEXI_AM_PARAMS_12 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6, gex_AM_Arg_t a7, gex_AM_Arg_t a8, gex_AM_Arg_t a9, gex_AM_Arg_t a10, gex_AM_Arg_t a11
#define GEXI_AM_PASS_12 12, gexi_args
#define GEXI_AM_ARGS_12 const uint64_t gexi_args[6] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3), gexi_am_pair(a4, a5), gexi_am_pair(a6, a7), gexi_am_pair(a8, a9), gexi_am_pair(a10, a11)};
#define GEXI_AM_PARAMS_13 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6, gex_AM_Arg_t a7, gex_AM_Arg_t a8, gex_AM_Arg_t a9, gex_AM_Arg_t a10, gex_AM_Arg_t a11, gex_AM_Arg_t a12
#define GEXI_AM_PASS_13 13, gexi_args
#define GEXI_AM_ARGS_13 const uint64_t gexi_args[7] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3), gexi_am_pair(a4, a5), gexi_am_pair(a6, a7), gexi_am_pair(a8, a9), gexi_am_pair(a10, a11), gexi_am_pair(a12, 0)};
#define GEXI_AM_PARAMS_14 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6, gex_AM_Arg_t a7, gex_AM_Arg_t a8, gex_AM_Arg_t a9, gex_AM_Arg_t a10, gex_AM_Arg_t a11, gex_AM_Arg_t a12, gex_AM_Arg_t a13
#define GEXI_AM_PASS_14 14, gexi_args
#define GEXI_AM_ARGS_14 const uint64_t gexi_args[7] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3), gexi_am_pair(a4, a5), gexi_am_pair(a6, a7), gexi_am_pair(a8, a9), gexi_am_pair(a10, a11), gexi_am_pair(a12, a13)};
#define GEXI_AM_PARAMS_15 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6, gex_AM_Arg_t a7, gex_AM_Arg_t a8, gex_AM_Arg_t a9, gex_AM_Arg_t a10, gex_AM_Arg_t a11, gex_AM_Arg_t a12, gex_AM_Arg_t a13, gex_AM_Arg_t a14
#define GEXI_AM_PASS_15 15, gexi_args
#define GEXI_AM_ARGS_15 const uint64_t gexi_args[8] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3), gexi_am_pair(a4, a5), gexi_am_pair(a6, a7), gexi_am_pair(a8, a9), gexi_am_pair(a10, a11), gexi_am_pair(a12, a13), gexi_am_pair(a14, 0)};
#define GEXI_AM_PARAMS_16 , gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6, gex_AM_Arg_t a7, gex_AM_Arg_t a8, gex_AM_Arg_t a9, gex_AM_Arg_t a10, gex_AM_Arg_t a11, gex_AM_Arg_t a12, gex_AM_Arg_t a13, gex_AM_Arg_t a14, gex_AM_Arg_t a15
#define GEXI_AM_PASS_16 16, gexi_args
#define GEXI_AM_ARGS_16 const uint64_t gexi_args[8] = {gexi_am_pair(a0, a1), gexi_am_pair(a2, a3), gexi_am_pair(a4, a5), gexi_am_pair(a6, a7), gexi_am_pair(a8, a9), gexi_am_pair(a10, a11), gexi_am_pair(a12, a13), gexi_am_pair(a14, a15)};
#define GEXI_AM_ARITIES(form) form(0) form(1) form(2) form(3) form(4) form(5) form(6) form(7) form(8) form(9) form(10) form(11) form(12) form(13) form(14) form(15) form(16)

#define GEXI_AM_FORM(n) static inline int gex_AM_RequestShort##n(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t index, gex_Flags_t flags GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_request_short(tm, rank, index, flags, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline int gex_AM_RequestMedium##n(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t index, const void *src, size_t bytes, gex_Event_t *lc_opt, gex_Flags_t flags GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_request_medium(tm, rank, index, src, bytes, lc_opt, flags, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline int gex_AM_RequestLong##n(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t index, const void *src, size_t bytes, void *dest, gex_Event_t *lc_opt, gex_Flags_t flags GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_request_long(tm, rank, index, src, bytes, dest, lc_opt, flags, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline int gex_AM_ReplyShort##n(gex_Token_t token, gex_AM_Index_t index, gex_Flags_t flags GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_reply_short(token, index, flags, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline int gex_AM_ReplyMedium##n(gex_Token_t token, gex_AM_Index_t index, const void *src, size_t bytes, gex_Event_t *lc_opt, gex_Flags_t flags GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_reply_medium(token, index, src, bytes, lc_opt, flags, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline int gex_AM_ReplyLong##n(gex_Token_t token, gex_AM_Index_t index, const void *src, size_t bytes, void *dest, gex_Event_t *lc_opt, gex_Flags_t flags GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n return gexi_am_reply_long(token, index, src, bytes, dest, lc_opt, flags, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline void gex_AM_CommitRequestMedium##n(gex_AM_SrcDesc_t sd, gex_AM_Index_t index, size_t bytes GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n gexi_am_commit(sd, GEXI_AM_REQUEST_MEDIUM, index, bytes, (void *)0, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline void gex_AM_CommitReplyMedium##n(gex_AM_SrcDesc_t sd, gex_AM_Index_t index, size_t bytes GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n gexi_am_commit(sd, GEXI_AM_REPLY_MEDIUM, index, bytes, (void *)0, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline void gex_AM_CommitRequestLong##n(gex_AM_SrcDesc_t sd, gex_AM_Index_t index, size_t bytes, void *dest GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n gexi_am_commit(sd, GEXI_AM_REQUEST_LONG, index, bytes, dest, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
#define GEXI_AM_FORM(n) static inline void gex_AM_CommitReplyLong##n(gex_AM_SrcDesc_t sd, gex_AM_Index_t index, size_t bytes, void *dest GEXI_AM_PARAMS_##n) \
	{ GEXI_AM_ARGS_##n gexi_am_commit(sd, GEXI_AM_REPLY_LONG, index, bytes, dest, GEXI_AM_PASS_##n); }
GEXI_AM_ARITIES(GEXI_AM_FORM)
#undef GEXI_AM_FORM
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
