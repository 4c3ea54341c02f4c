/* SPDX-License-Identifier: Apache-2.0 */
/* The homes with state files that the impostor asks for: see state-requests.c. */
#ifndef TESTS_IMPOSTOR_STATE_REQUESTS_H
#define TESTS_IMPOSTOR_STATE_REQUESTS_H

#include "tests/impostor/impostor.h"

/* As root, before the split: makes them in the directory of this run. Nothing for others. */
void state_requests_prepare(const struct knowledge *known);
void state_requests_clean(const struct knowledge *known);

#endif
