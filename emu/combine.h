/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations that a router applies to the payload of collective packets: twelve operations on
 * words of 4 to 512 bytes. Source: docs/hardware.md 2.4, 8.2.
 *
 * Words are integers in the byte order of the host. (The chip's words are big-endian on a
 * big-endian processor: in both cases what the program stored.) Floating point is IEEE double. A
 * router applies the operation in the order of ports, so a tree gives the same bits in every run.
 */
#ifndef EMU_COMBINE_H
#define EMU_COMBINE_H

#include <stdbool.h>
#include <stdint.h>

/* Flags that say what happened in some word. They do not stop the operation (nor are they fatal on
 * the chip). */
enum { EMU_COMBINE_OVERFLOW = 1, EMU_COMBINE_NAN = 2, EMU_COMBINE_MISMATCH = 4 };

#define EMU_NAN 0x7ff8000000000000ull /* the NaN that floating-point operations return */

/* True if `op` is an operation and the payload consists of whole words. op:
 * MUHWI_COLLECTIVE_OP_CODE_...; word: exponent n, words of 4 << n bytes. */
bool emu_combine_is_valid(unsigned op, unsigned word, uint32_t bytes);

/* Compute target = target op source. The arguments must be valid, and the payloads padded with
 * zeros to a whole word. Returns flags. */
unsigned emu_combine(unsigned op, unsigned word, void *target, const void *source, uint32_t bytes);

/* Apply the operation to a lone contribution (broadcast): floating-point operations rewrite NaNs.
 * Returns flags. */
unsigned emu_combine_alone(unsigned op, void *data, uint32_t bytes);

#endif
