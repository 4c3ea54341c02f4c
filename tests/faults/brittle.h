/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries whose own allocations may not fail, since they end the process then, whatever their caller does: GMP calls
 * abort() (its manual, "Custom Allocation"), and libtasn1 4.19 follows a NULL pointer. Both are below GnuTLS.
 */
#ifndef TESTS_FAULTS_BRITTLE_H
#define TESTS_FAULTS_BRITTLE_H

#include <stdbool.h>

/* Finds where they are; before any of them is asked for. */
void brittle_find(void);
/* Whether the code at this address, which asks for memory now, is of one of them, or asks for it. */
bool brittle_has(const void *address);

#endif
