#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# part.sh TASKS-PER-HOST PORT COMMAND...: under mpirun, several hosts of one machine
r=${PMIX_RANK:-$PMI_RANK}
QUINTORUS_HOST=part$((r / $1)) QUINTORUS_PORT=$2
export QUINTORUS_HOST QUINTORUS_PORT
shift 2
exec "$@"
