/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GASNET_CORE_ENV_H
#define GASNET_CORE_ENV_H

/* Read the settings. GASNET_OK, or GASNET_ERR_BAD_ARG after a logged error. */
int gexi_env_read(void);

#endif
