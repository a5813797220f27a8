/* SPDX-License-Identifier: BSD-3-Clause */
/* Where this process has the segment of its host (mu/segment/host.h), for tests that aim at it. */
#ifndef TESTS_SEGMENT_H
#define TESTS_SEGMENT_H

#include <stdio.h>
#include <string.h>

/* Address of its first byte; NULL: this process has none. */
static inline void *find_segment(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	void *at = NULL;

	while (maps && !at && fgets(line, sizeof line, maps))
		if (!strstr(line, "memfd:quintorus ") || sscanf(line, "%p-", &at) != 1)
			at = NULL;
	if (maps)
		fclose(maps);
	return at;
}

#endif
