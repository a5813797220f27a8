/* SPDX-License-Identifier: BSD-3-Clause */
#include "mu/vtime/cost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "drivers/base/text.h"

#define COST_MAX_NS 1e9

uint64_t mu_cost_ps[MU_COSTS] = {
#define COST(name, ps, text) ps,
#include "mu/vtime/cost.def"
#undef COST
};

static const char *const names[] = {
#define COST(name, ps, text) #name,
#include "mu/vtime/cost.def"
#undef COST
};

static const char *const sources[] = {
#define COST(name, ps, text) text,
#include "mu/vtime/cost.def"
#undef COST
};

const char *mu_cost_row(unsigned i, uint64_t *ps, const char **source)
{
	if (i >= MU_COSTS)
		return NULL;
	*ps = mu_cost_ps[i];
	*source = sources[i];
	return names[i];
}

uint64_t mu_cost_of(const char *name)
{
	for (unsigned i = 0; i < MU_COSTS; i++)
		if (!strcmp(names[i], name))
			return mu_cost_ps[i];
	return 0;
}

/* Enter one line into the table. Returns 0 or -EINVAL. */
static int line_read(const char *line, uint64_t *table)
{
	char name[64], rest[2];
	double ns;
	int n = sscanf(line, "%63s %lf %1s", name, &ns, rest);

	if (n <= 0 || name[0] == '#')
		return 0;
	if (n != 2 && !(n == 3 && rest[0] == '#'))
		return -EINVAL;
	if (!(ns >= 0 && ns <= COST_MAX_NS))
		return -EINVAL;
	for (unsigned i = 0; i < MU_COSTS; i++) {
		if (!strcmp(names[i], name)) {
			table[i] = (uint64_t)(ns * 1000 + 0.5);
			return 0;
		}
	}
	return -EINVAL;
}

int mu_cost_load(const char *path)
{
	uint64_t table[MU_COSTS];
	char line[512];
	unsigned number = 0;
	int rc = 0;
	char *text;
	FILE *f = drv_text_open(path, &text);

	if (!f) {
		rc = -errno;
		drv_error("cost file %s: %s", path, strerror(errno));
		return rc;
	}
	memcpy(table, mu_cost_ps, sizeof table);
	while (!rc && fgets(line, sizeof line, f)) {
		number++;
		rc = line_read(line, table);
	}
	fclose(f);
	free(text);
	if (rc) {
		line[strcspn(line, "\n")] = 0;
		drv_error("cost file %s line %u: \"%s\": expected a name of mu/vtime/cost.def and "
			  "nanoseconds, "
			  "such as \"receive 250\"",
			  path, number, line);
		return rc;
	}
	memcpy(mu_cost_ps, table, sizeof table);
	return 0;
}
