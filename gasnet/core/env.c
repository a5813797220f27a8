/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of libgasnet, from drivers/base/settings.def, as fields of gexi_world.env. */
#include <string.h>

#include "drivers/base/settings.h"
#include "gasnet/core/env.h"
#include "gasnet/core/world.h"

static size_t piece_limit(enum drv_setting_id id)
{
	return drv_setting_is_set(id) ? drv_setting_number(id) : GEXI_VIS_BY_TABLE;
}

int gexi_env_read(void)
{
	for (int i = 0; i < DRV_SETTINGS; i++)
		if (!strcmp(drv_settings[i].layer, "gasnet") &&
		    drv_setting_check((enum drv_setting_id)i))
			return GASNET_ERR_BAD_ARG;
	gexi_world.env = (struct gexi_env){
	    .npam = drv_setting_choice(DRV_TGEX_NPAM),
	    .imm = drv_setting_choice(DRV_TGEX_IMM),
	    .lc = drv_setting_choice(DRV_TGEX_LC),
	    .ratomic = drv_setting_choice(DRV_TGEX_RATOMIC),
	    .vis_opt = drv_setting_choice(DRV_TGEX_VIS_OPT),
	    .vis_am = drv_setting_choice(DRV_TGEX_VIS_AM),
	    .shm = drv_setting_choice(DRV_TGEX_SHM),
	    .nbrhd_max = (uint32_t)drv_setting_number(DRV_TGEX_NBRHD_MAX),
	    .credits = (uint32_t)drv_setting_number(DRV_TGEX_CREDITS),
	    .medium_max = drv_setting_number(DRV_TGEX_MEDIUM_MAX) & ~(size_t)63,
	    .vis_put_max = piece_limit(DRV_TGEX_VIS_PUT_MAX),
	    .vis_get_max = piece_limit(DRV_TGEX_VIS_GET_MAX),
	    .segment_max =
		drv_setting_number(DRV_TGEX_SEGMENT_MAX) & ~(size_t)(GASNET_PAGESIZE - 1),
	};
	return GASNET_OK;
}
