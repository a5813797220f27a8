/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a router does to the payload of collective packets: twelve operations on words of 4 to 512
 * bytes. Source: spec/mu.md 2.4, 8.2.
 *
 * Words are integers of the host's byte order (the chip's are big-endian on a big-endian processor:
 * both are what the program stored). Floating point is IEEE double. Each is applied in the order of
 * ports, so a tree gives the same bits in every run.
 */
#ifndef EMU_COMBINE_H
#define EMU_COMBINE_H

#include <stdint.h>

/* What went wrong in some word; a flag and no more (the chip's are not fatal either). */
enum { EMU_COMBINE_OVERFLOW = 1, EMU_COMBINE_NAN = 2, EMU_COMBINE_MISMATCH = 4 };

#define EMU_NAN 0x7ff8000000000000ull /* the NaN that floating operations give */

/* Is it an operation with words that the payload can be cut into? op: MUHWI_COLLECTIVE_OP_CODE_...;
 * word: exponent n, words of 4 << n bytes. */
int emu_combine_valid(unsigned op, unsigned word, uint32_t bytes);

/* target = target op source. Valid arguments; payloads padded with zeros to a whole word. Flags. */
unsigned emu_combine(unsigned op, unsigned word, void *target, const void *source, uint32_t bytes);

/* What a lone contribution (broadcast) becomes: floating operations rewrite NaNs. Flags. */
unsigned emu_combine_alone(unsigned op, void *data, uint32_t bytes);

#endif
