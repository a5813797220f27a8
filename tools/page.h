/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of torus run --html without its data (tools/html/page.py makes it). */
#ifndef TOOLS_PAGE_H
#define TOOLS_PAGE_H

extern const char page_before[], page_behind[];

#endif
