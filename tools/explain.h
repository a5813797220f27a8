/* SPDX-License-Identifier: BSD-3-Clause */
/* torus explain: tables whose lines have a bar, from one time to another of a whole. */
#ifndef TOOLS_EXPLAIN_H
#define TOOLS_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/messages.h"
#include "tools/trace.h"

/* Print "|   ====   |" and the end of the line: [from, to] of [0, whole]. */
void explain_print_bar(double from, double to, double whole);
/* "node 4, leaves over B+"; returns text. */
const char *explain_step_text(const struct trace_step *s, char *text, size_t bytes);

/*
 * Print where the time of a message went: of the `number`th from one endpoint ("3" or "3.1": task
 * and context) to another; words NULL: of the one that took longest. Returns 0, -ENOENT: there is
 * no such message, -EINVAL: a word is no endpoint. file: the trace, in which the ways of its
 * packets are (virtual time).
 */
int explain_message(const struct messages *s, FILE *file, const char *const word[3], bool json);
/* Print who took part in a collective, and its critical path: of the collective with this number,
 * by the time of its first call; NULL: of the longest. 0 or -ENOENT. */
int explain_collective(const struct messages *s, const char *word, bool json);

/* The event of this kind that belongs to message `number` from (task, channel) to (to, peer), or
 * NULL. `from`: look at the events from here on. */
const struct message_event *explain_find(const struct messages *s, enum mu_trace_kind kind,
					 const struct message_event *send, size_t from);

#endif
