/* SPDX-License-Identifier: BSD-3-Clause */
/* Actions: functions of the program that messages name by number. Under the library's lock. */
#ifndef AGAS_ACCESS_ACTION_H
#define AGAS_ACCESS_ACTION_H

#include "agas/access/wire.h"

/* Run the action of a request; its block is pinned. Returns enum agas_why. */
uint8_t agas_action_run(const struct agas_request *r, void *at, const void *payload);
/*
 * Returns true if an action is running: the request was copied and runs when that action has ended.
 * Returns false otherwise, and also if there is no memory for the copy; then the caller runs it
 * inside the other.
 */
bool agas_action_defer(const struct agas_request *r, const void *payload);
void agas_actions_release(void);

#endif
