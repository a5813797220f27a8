/* SPDX-License-Identifier: BSD-3-Clause */
/* ARMCI's settings, from drivers/base/settings.def, as fields of armci_env. */
#include <stdio.h>
#include <string.h>

#include "armci/core/env.h"
#include "armci/core/world.h"
#include "armci/transfer/acc.h"
#include "drivers/base/settings.h"

struct armci_env armci_env;

static size_t shm_limit(void)
{
	if (drv_setting_is_set(DRV_ARMCI_DEFAULT_SHMMAX))
		return (size_t)drv_setting_number(DRV_ARMCI_DEFAULT_SHMMAX) << 20;
	if (drv_setting_is_set(DRV_ARMCI_SHM_LIMIT))
		return (size_t)drv_setting_number(DRV_ARMCI_SHM_LIMIT);
	return SIZE_MAX;
}

static bool is_of_armci(const struct drv_setting *s)
{
	return !strcmp(s->layer, "armci");
}

int armci_env_read(void)
{
	const char *host = drv_setting_text(DRV_ARMCI_HOSTNAME);

	for (int i = 0; i < DRV_SETTINGS; i++)
		if (is_of_armci(&drv_settings[i]) && drv_setting_check((enum drv_setting_id)i))
			return FAIL6;
	armci_env = (struct armci_env){
	    .verbose = (int)drv_setting_choice(DRV_ARMCI_VERBOSE),
	    .debug_alloc = drv_setting_flag(DRV_ARMCI_DEBUG_ALLOC),
	    .thread = drv_setting_flag(DRV_ARMCI_PROGRESS_THREAD),
	    .progress_us = -1,
	    .iov = (int)drv_setting_choice(DRV_ARMCI_IOV_METHOD),
	    .iov_batch = drv_setting_number(DRV_ARMCI_IOV_BATCHED_LIMIT),
	    .iov_chunk = drv_setting_number(DRV_ARMCI_IOV_DTYPE_CHUNK),
	    .contexts = (int)drv_setting_choice(DRV_QUINTORUS_ARMCI_CONTEXTS),
	    .alone = drv_setting_flag(DRV_ARMCI_NSERV_EQ_NPROC),
	    .direct = (int)drv_setting_choice(DRV_QUINTORUS_ARMCI_DIRECT),
	    .pack_bytes = drv_setting_number(DRV_QUINTORUS_ARMCI_PACK),
	    .shm_limit = shm_limit(),
	    .regions = drv_setting_number(DRV_QUINTORUS_ARMCI_REGIONS),
	    .strided = (int)drv_setting_choice(DRV_ARMCI_STRIDED_METHOD),
	    .conflicts = (int)drv_setting_choice(DRV_QUINTORUS_ARMCI_CONFLICTS),
	    .acc = (int)drv_setting_choice(DRV_QUINTORUS_ARMCI_ACC),
	    .simd = (int)drv_setting_choice(DRV_QUINTORUS_ARMCI_SIMD),
	    .acc_chunk = drv_setting_number(DRV_QUINTORUS_ARMCI_ACC_CHUNK),
	    .assist = (int)drv_setting_choice(DRV_QUINTORUS_ARMCI_ASSIST),
	    .host = host ? host : "",
	};
	if (drv_setting_is_set(DRV_ARMCI_PROGRESS_USLEEP))
		armci_env.progress_us = (long)drv_setting_number(DRV_ARMCI_PROGRESS_USLEEP);
	return 0;
}

void armci_env_print(void)
{
	bool help = armci_env.verbose == ARMCI_VERBOSE_HELP;

	drv_settings_log_ineffective("armci");
	if (!armci_env.verbose)
		return;
	fprintf(stderr, "armci: %d processes, progress %s, accumulate by %s instructions\n",
		armci_world.nproc, armci_world.thread ? "asynchronous" : "in calls only",
		armci_acc_name());
	for (int i = 0; i < DRV_SETTINGS; i++) {
		const struct drv_setting *s = &drv_settings[i];
		enum drv_setting_id id = (enum drv_setting_id)i;
		const char *text = drv_setting_text(id);

		if (!is_of_armci(s))
			continue;
		if (help)
			fprintf(stderr, "  %-24s %s (default %s%s%s)\n", s->name, s->help,
				*s->standard ? s->standard : "none", s->choices ? " of: " : "",
				s->choices ? s->choices : "");
		else if (drv_setting_is_set(id) || armci_env.verbose > 1)
			fprintf(stderr, "armci: %s=%s\n", s->name, text ? text : s->standard);
	}
}
