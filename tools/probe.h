/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A probe: what torus check --hosts starts on each host. It reads commands from standard input and
 * answers each with one line on standard output; meanwhile it echoes datagrams of the other probes,
 * which carry the number of this check.
 *
 *	key HEX               the number; it answers with the facts of the host, then "ready PORT"
 *	ping IP PORT N        "pong SENT ANSWERED MEDIAN_NS OFFSET_NS": the far clock less this one
 *	mtu IP PORT MOST      "mtu BYTES": the longest IP packet that arrives whole; 0: none
 *
 * Facts: "version TEXT", "boot ID", "clock NAME INVARIANT", "driver NAME" for each that opens,
 * "address IP PREFIX INTERFACE MTU" for each.
 */
#ifndef TOOLS_PROBE_H
#define TOOLS_PROBE_H

/* Serve until the end of the input. Returns an exit status. */
int probe_serve(int in, int out);

#endif
