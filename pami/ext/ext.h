/* SPDX-License-Identifier: BSD-3-Clause */
/* An extension inside the library: a name and a table of symbols. */
#ifndef PAMI_EXT_H
#define PAMI_EXT_H

/*
 * Event type of "enable" of EXT_async_progress: as 0 (all), and a thread of the program that waits
 * in a progress call on another context advances this one, too. The handlers must allow that.
 */
enum { PAMI_ASYNC_SHARED = 1000 };

struct pami_ext_symbol {
	const char *name;
	void *value;        /* of the symbol, if get is NULL */
	void *(*get)(void); /* returns the value; or NULL */
};

struct pami_ext {
	const char *name;
	int (*open)(void);                    /* 0, or negative errno; or NULL */
	const struct pami_ext_symbol *symbol; /* ends with a NULL name */
};

extern const struct pami_ext pami_ext_async, pami_ext_torus, pami_ext_local, pami_ext_mapping,
    pami_ext_test, pami_ext_memory, pami_ext_deaths, pami_ext_wait, pami_ext_atomics,
    pami_ext_virtual, pami_ext_address, pami_ext_place, pami_ext_credit, pami_ext_pieces;

#endif
