/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78, as iSCSI): finds every burst error up to
 * 32 bits. drv_crc32c() is the processor's instruction where there is one, else the plain table.
 */
#ifndef DRIVERS_BASE_CRC32C_H
#define DRIVERS_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Checksum of `bytes` bytes; pass 0, or the result for the bytes before these. Any thread. */
uint32_t drv_crc32c(uint32_t crc, const void *data, size_t bytes);

/* The two ways it is made, for the test that compares them. hard: -1 if the processor cannot. */
uint32_t drv_crc32c_plain(uint32_t crc, const void *data, size_t bytes);
int drv_crc32c_hard(uint32_t *crc, const void *data, size_t bytes);

#endif
