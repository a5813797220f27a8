/* SPDX-License-Identifier: BSD-3-Clause */
/* Domains: runs of consecutive ranks that map each other's memory. */
#ifndef ARMCI_LOCALITY_H
#define ARMCI_LOCALITY_H

/* Agree on the domains. Collective, after the accumulate locks were mapped. 0 or FAIL6 (logged). */
int armci_locality_init(void);
void armci_locality_release(void);
/* Lowest world rank in the domain of a process. */
int armci_domain_first(int proc);

#endif
