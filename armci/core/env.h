/* SPDX-License-Identifier: BSD-3-Clause */
/* ARMCI's settings (drivers/base/settings.def), read once by ARMCI_Init. */
#ifndef ARMCI_ENV_H
#define ARMCI_ENV_H

#include <stdbool.h>
#include <stddef.h>

enum { ARMCI_VERBOSE_HELP = 3 };
enum armci_iov_method { ARMCI_IOV_AUTO, ARMCI_IOV_ONE_BY_ONE, ARMCI_IOV_BATCHED, ARMCI_IOV_PACK };
enum armci_strided_method {
	ARMCI_STRIDED_AUTO,
	ARMCI_STRIDED_DIRECT,
	ARMCI_STRIDED_IOV,
	ARMCI_STRIDED_PACK
};
enum armci_conflict_rule { ARMCI_CONFLICT_RANGE, ARMCI_CONFLICT_REGION, ARMCI_CONFLICT_TARGET };
enum armci_acc_method { ARMCI_ACC_TARGET, ARMCI_ACC_SOURCE, ARMCI_ACC_PIPELINED };
enum armci_simd { ARMCI_SIMD_AUTO, ARMCI_SIMD_PLAIN, ARMCI_SIMD_AVX2, ARMCI_SIMD_AVX512 };
enum armci_context_rule { ARMCI_CONTEXTS_TWO, ARMCI_CONTEXTS_ONE };
enum armci_assist { ARMCI_ASSIST_AUTO, ARMCI_ASSIST_NEVER, ARMCI_ASSIST_ALWAYS };
enum armci_mapping { ARMCI_MAP_NODE, ARMCI_MAP_HOST, ARMCI_MAP_NONE };

struct armci_env {
	int verbose;
	bool debug_alloc;
	bool thread;
	long progress_us; /* -1: asynchronous progress sleeps until something arrives */
	int iov;          /* enum armci_iov_method */
	size_t iov_batch, iov_chunk;
	int contexts; /* enum armci_context_rule */
	bool alone;   /* every process is a domain of its own */
	int direct;   /* enum armci_mapping */
	size_t pack_bytes;
	size_t shm_limit;
	size_t regions;
	int strided;   /* enum armci_strided_method */
	int conflicts; /* enum armci_conflict_rule */
	int acc;       /* enum armci_acc_method */
	int simd;      /* enum armci_simd */
	size_t acc_chunk;
	int assist; /* enum armci_assist */
	const char *host;
};
extern struct armci_env armci_env;

/* 0, or FAIL6 where a value is not valid (logged). */
int armci_env_read(void);
/*
 * Log the settings that are set but have no effect. Print all settings, or their help, to stderr if
 * ARMCI_VERBOSE asks for it. Process 0 calls this once.
 */
void armci_env_print(void);

#endif
