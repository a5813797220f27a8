/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The progress of Open MPI while several threads call MPI. Its components poll under locks that
 * other threads try in a loop (mtl ofi, btl ofi). A thread that handed its turn over inside the
 * poll would make the others loop without a call, so it does that when the locks are free again.
 * ofi/coll/ replaces the blocking send, which polls by itself.
 */
#include "ofi/vtime/virtual.h"

void opal_progress(void);
VIRTUAL_API void opal_progress(void)
{
	static void (*next)(void); /* All threads store the same. */
	bool keeps = virtual_has_callers() && virtual_time()->is_on();

	if (!next)
		next = (void (*)(void))virtual_next("opal_progress", "libopen-pal.so.40");
	if (keeps)
		virtual_time()->keep_turn(1);
	next();
	if (keeps)
		virtual_time()->keep_turn(0);
}
