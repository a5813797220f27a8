/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns the computation of a program between calls of MPI into virtual time. QUINTORUS_COMPUTE,
 * which torus run --compute sets, chooses how:
 *
 *   none             it takes no time (also without the variable)
 *   declared         it takes what the program declares (MPI_Pcontrol)
 *   measured[:F]     the processor time of this thread, times F
 *   trace:FILE       the same as in the run that made FILE.TASK; the run in which there is no such
 *                    file measures, and makes it
 *
 * The first thread that calls MPI is measured, or replayed; others take no time.
 */
#ifndef OFI_VTIME_COMPUTE_H
#define OFI_VTIME_COMPUTE_H

/* A call of MPI begins: charge the computation before it. */
void compute_end(void);
/* A call of MPI ends, and the program computes again. */
void compute_begin(void);
/* The program declares that it computes for this long. Only `declared` uses it. */
void compute_declare(double seconds);

#endif
