/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Find out whether memory exists by touching it, without a system call: a touch of memory that is
 * not there raises SIGSEGV or SIGBUS, whose handler makes the touch return false. Only processes
 * that ask for it (drv_touch_start()) get these handlers. x86-64; elsewhere starting fails.
 */
#ifndef DRIVERS_BASE_TOUCH_H
#define DRIVERS_BASE_TOUCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Install the handlers. They pass each signal that no touch has caused to the handler that was
 * there before. 0 or -ENOTSUP. Each successful start needs a stop. Any thread.
 */
int drv_touch_start(void);
/* The last one restores the handlers, unless the program has installed others since. */
void drv_touch_stop(void);

/*
 * May the calling thread touch memory now? Not if it blocks one of the signals, or if the program
 * has installed another handler: then the signal of a touch would end the process. Each thread
 * looks at both again 1 ms after it has looked. A program that changes either and lets a touch of
 * bad memory follow within that time has its handler called or dies, as of any access to that
 * memory. 20 ns.
 */
bool drv_touch_is_safe(void);

/* Can the byte at this address be read? Only if touches are safe. 1 ns if the answer is yes. */
bool drv_touch_read(uint64_t va);
/*
 * Can the 4-byte word that contains this address be written? Adds 0 to it, atomically, so that no
 * change by others is lost. Only if touches are safe. 6 ns if the answer is yes.
 */
bool drv_touch_write(uint64_t va);

#endif
