/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Report on standard error why a call of the program failed, once for each place that calls.
 *
 * Programs rarely ask for the text behind a result: they print "result = 2" and end. The line names
 * the call, the result, the reason and the place. QUINTORUS_ERRORS=quiet turns the lines off.
 */
#ifndef DRIVERS_BASE_FAILURE_H
#define DRIVERS_BASE_FAILURE_H

/*
 * call:   the public function that failed. If the name does not begin with `prefix`, the name of
 *         the public function on the stack replaces it, if there is one.
 * prefix: what the names of public functions begin with, for example "PAMI_".
 * result: the name of the result, for example "PAMI_INVAL". Static.
 * why:    the reason. Static: the address identifies the failure in "once for each place".
 * Cold path only, because the function walks the stack. Any thread; errno is preserved.
 */
void drv_failure_of_call(const char *call, const char *prefix, const char *result, const char *why);

/*
 * The same for an operation that failed after its call had returned and whose callback got the
 * error.
 */
void drv_failure_of_callback(const void *callback, const char *result, const char *why);

#endif
