/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors in words. */
#include <string.h>

#include "agas/core/world.h"
#include "drivers/base/failure.h"

static const struct {
	int error;
	const char *name, *text;
} table[] = {
    {AGAS_SUCCESS, "AGAS_SUCCESS", "success"},
    {AGAS_EINVAL, "AGAS_EINVAL", "an argument is wrong"},
    {AGAS_EUNMAPPED, "AGAS_EUNMAPPED",
     "no block is mapped at this address: it was freed, or never mapped"},
    {AGAS_EDEAD, "AGAS_EDEAD", "a rank died that had the block, or that alone knew where it is"},
    {AGAS_ENOMEM, "AGAS_ENOMEM", "no memory"},
    {AGAS_ELOOP, "AGAS_ELOOP", "forwarded 64 times: the block moves faster than messages travel"},
    {AGAS_EACTION, "AGAS_EACTION",
     "the owner has no action of this number: register the same ones on all ranks"},
    {AGAS_ESTATE, "AGAS_ESTATE", "agas_init() was not called, or failed"},
};

static size_t row_of(int error)
{
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].error == error)
			return i;
	return 1;
}

#pragma GCC visibility push(default)
const char *agas_error_text(int error)
{
	return table[row_of(error)].text;
}
#pragma GCC visibility pop

static const char *const why_text[AGAS_WHYS] = {
    [AGAS_WHY_UNMAPPED] = "no block is mapped at this address: it was freed, or never mapped",
    [AGAS_WHY_FREED] = "the block at this address was freed",
    [AGAS_WHY_NEVER] = "no block was ever mapped at this address",
    [AGAS_WHY_LOST] = "the rank that had the block has died",
    [AGAS_WHY_HOME_DEAD] = "the home of the block has died, and no other rank knows its owner",
    [AGAS_WHY_TARGET_DEAD] = "the rank to which the block should move has died",
    [AGAS_WHY_MEMORY] = "the target has no memory for the block",
    [AGAS_WHY_LOOP] = "forwarded 64 times: the block moves faster than messages travel",
    [AGAS_WHY_PAYLOAD] = "the memory that the call names cannot be read; part of it may be written",
    [AGAS_WHY_ACTION] = "the owner has no action of this number: register the same on all ranks",
};

int agas_error_of(uint8_t why)
{
	static const int error[AGAS_WHYS] = {
	    [AGAS_WHY_UNMAPPED] = AGAS_EUNMAPPED, [AGAS_WHY_FREED] = AGAS_EUNMAPPED,
	    [AGAS_WHY_NEVER] = AGAS_EUNMAPPED,    [AGAS_WHY_LOST] = AGAS_EDEAD,
	    [AGAS_WHY_HOME_DEAD] = AGAS_EDEAD,    [AGAS_WHY_TARGET_DEAD] = AGAS_EDEAD,
	    [AGAS_WHY_MEMORY] = AGAS_ENOMEM,      [AGAS_WHY_LOOP] = AGAS_ELOOP,
	    [AGAS_WHY_ACTION] = AGAS_EACTION,     [AGAS_WHY_PAYLOAD] = AGAS_EINVAL,
	};

	return why < AGAS_WHYS ? error[why] : AGAS_EINVAL;
}

const char *agas_why_text(uint8_t why)
{
	return why < AGAS_WHYS && why_text[why] ? why_text[why] : "unknown";
}

int agas_fail(const char *call, int error, const char *why)
{
	drv_failure_of_call(call, !strncmp(call, "hpx_", 4) ? "hpx_" : "agas_",
			    table[row_of(error)].name, why);
	return error;
}

int agas_check(const char *call, uint64_t gva, size_t bytes)
{
	const struct agas_space *s = &agas_world.space;
	uint64_t room;

	if (!agas_world.open)
		return agas_fail(call, AGAS_ESTATE, "call agas_init() first");
	if (!agas_key_of(s, gva))
		return agas_fail(call, AGAS_EINVAL, "the null address: page 0 is never mapped");
	if (agas_home_of(s, gva) >= s->ranks)
		return agas_fail(call, AGAS_EINVAL, "the address names a rank that the job lacks");
	if (!agas_is_linear(gva) && agas_size_of(s, gva) < AGAS_SIZE_MIN)
		return agas_fail(call, AGAS_EINVAL, "no address of this library looks like this");
	room = agas_is_linear(gva) ? ((uint64_t)1 << AGAS_OFFSET_BITS) - gva
				   : agas_block_bytes(s, gva) - agas_offset_of(s, gva);
	if (bytes > room)
		return agas_fail(call, AGAS_EINVAL,
				 agas_is_linear(gva)
				     ? "address and size reach beyond the address space"
				     : "address and size reach beyond the block");
	return 0;
}

int agas_check_rank(const char *call, int rank)
{
	if (rank >= 0 && (uint32_t)rank < agas_world.space.ranks)
		return 0;
	return agas_fail(call, AGAS_EINVAL, "the job has no such rank");
}
