/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78, as in iSCSI). It detects every burst error
 * of up to 32 bits. drv_crc32c() uses the instruction of the processor where there is one,
 * otherwise a table.
 */
#ifndef DRIVERS_BASE_CRC32C_H
#define DRIVERS_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * Return the checksum of `bytes` bytes. Pass 0 as crc, or the result for the bytes before these.
 * Any thread.
 */
uint32_t drv_crc32c(uint32_t crc, const void *data, size_t bytes);

/*
 * The checksum of 64 bytes, of which the 4 at `blank`, a multiple of 4, count as 0. Faster than
 * drv_crc32c() of a copy.
 */
uint32_t drv_crc32c_line(const void *line, unsigned blank);

/*
 * The two implementations, for the test that compares them. The one by instruction returns -1 if
 * the processor has none.
 */
uint32_t drv_crc32c_plain(uint32_t crc, const void *data, size_t bytes);
int drv_crc32c_instruction(uint32_t *crc, const void *data, size_t bytes);

#endif
