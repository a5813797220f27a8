#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# spi_handlers.sh PROGRAM: a thread for packets beside one that waits for memory. Each run ends, with the same hash.
. "$QT_SOURCE/tests/harness/virtual.bash"
for way in load nap interrupt wait handler sum barrier; do
	ends_same $way --shape 2x2x1x1x1
done
ends_same load --fabric express --shape 2x2x2x1x1
exit $failed
