/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_CHECK_H
#define TOOLS_CHECK_H

#include <stdbool.h>

enum check_state { CHECK_OK, CHECK_SLOW, CHECK_MISSING, CHECK_FATAL };

/* One finding. Each check tries the facility itself where it can, instead of reading versions. */
struct check {
	enum check_state state;
	char text[512];
	char fix[512]; /* "" if nothing has to be done */
};

void check_set(struct check *c, enum check_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void check_fix(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct check_entry {
	const char *name;
	void (*run)(struct check *c);
};
extern const struct check_entry check_list[]; /* ends with name NULL */

/* check_pairs.c: try each pair of a list of hosts, and print. Returns an exit status. */
int check_pairs(const char *list, bool json);

/* check_ports.c: open a port, or a cipher, in a separate process. */
void check_dpdk(struct check *c);
void check_packet(struct check *c);
void check_uring(struct check *c);
void check_af_xdp(struct check *c);
void check_seal(struct check *c);

#endif
