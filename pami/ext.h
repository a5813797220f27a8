/* SPDX-License-Identifier: BSD-3-Clause */
/* Extensions inside: a name, and a table of symbols. */
#ifndef PAMI_EXT_H
#define PAMI_EXT_H

/*
 * Event type of EXT_async_progress's enable: as 0 (all), and a thread of the program that waits in a
 * progress call on another context advances this one too. For those whose handlers may run there.
 */
enum { PAMI_ASYNC_SHARED = 1000 };

struct pami_ext_symbol {
	const char *name;
	void *value; /* or, if get is set, what it returns */
	void *(*get)(void);
};

struct pami_ext {
	const char *name;
	int (*open)(void); /* 0, or negative errno; or NULL */
	const struct pami_ext_symbol *symbol; /* ends with a NULL name */
};

extern const struct pami_ext pami_ext_async, pami_ext_torus, pami_ext_local, pami_ext_mapping, pami_ext_test, pami_ext_memory,
	pami_ext_deaths;

#endif
