/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/seal.h"

#include <errno.h>
#include <string.h>

#include "drivers/base/log.h"
#include "drivers/base/module.h"

#ifndef QUINTORUS_BUILD_MODULES
#define QUINTORUS_BUILD_MODULES ""
#endif

static const struct drv_seal_module *module;

const char *drv_seal_text(enum drv_seal_kind kind)
{
	static const char *const text[DRV_SEAL_KINDS] = {"none", "authenticated", "encrypted"};

	return (unsigned)kind < DRV_SEAL_KINDS ? text[kind] : "?";
}

int drv_seal_parse(const char *text)
{
	for (int k = 0; k < DRV_SEAL_KINDS; k++)
		if (!strcmp(text, drv_seal_text((enum drv_seal_kind)k)))
			return k;
	return -EINVAL;
}

int drv_seal_open(struct drv_seal **seal, enum drv_seal_kind kind, const unsigned char *key)
{
	char why[4500];

	if (kind != DRV_SEAL_AUTHENTICATED && kind != DRV_SEAL_ENCRYPTED)
		return -EINVAL;
	if (!module) {
		const struct drv_seal_module *m = drv_module_symbol(
		    "seal", QUINTORUS_BUILD_MODULES, "drv_seal_module", why, sizeof why);

		if (!m) {
			drv_error("frames are to be %s: %s; build with libssl-dev present, or "
				  "trust the network "
				  "(torus run --seal none, QUINTORUS_SEAL=none)",
				  drv_seal_text(kind), why);
			return -errno;
		}
		if (m->abi != DRV_SEAL_MODULE_ABI) {
			drv_error("libqt_seal.so is of another version of Quintorus; rebuild or "
				  "reinstall it");
			return -ENOEXEC;
		}
		module = m;
	}
	*seal = module->open(kind, key);
	return *seal ? 0 : -ENOMEM;
}

void drv_seal_close(struct drv_seal *seal)
{
	if (seal)
		module->close(seal);
}

int drv_seal_frame(struct drv_seal *seal, unsigned char *frame, uint32_t to, uint64_t number)
{
	return module->frame(seal, frame, to, number);
}

enum drv_frame_error drv_seal_check(struct drv_seal *seal, unsigned char *frame, uint32_t self,
				    uint64_t *number)
{
	return module->check(seal, frame, self, number);
}

int drv_seal_is_fresh(struct drv_seal_window *w, uint32_t epoch, uint64_t number)
{
	uint64_t bit = 1ull << number % 64, *word = &w->seen[number / 64 % (DRV_SEAL_WINDOW / 64)];

	if (!w->epoch || (int32_t)(epoch - w->epoch) > 0)
		*w = (struct drv_seal_window){.epoch = epoch, .top = number};
	else if (epoch != w->epoch)
		return 0;
	if (number > w->top) {
		if (number - w->top >= DRV_SEAL_WINDOW)
			memset(w->seen, 0, sizeof w->seen);
		else
			for (uint64_t n = w->top + 1; n <= number; n++)
				w->seen[n / 64 % (DRV_SEAL_WINDOW / 64)] &= ~(1ull << n % 64);
		w->top = number;
	} else if (w->top - number >= DRV_SEAL_WINDOW || *word & bit) {
		return 0;
	}
	*word |= bit;
	return 1;
}
