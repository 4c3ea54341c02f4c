/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a session: open groups with their CPUs, descriptors and series, and events that could not be opened.
 *
 * The part of `perfcountd plan` that says which derived metrics there are.
 */
#ifndef CMD_PLAN_H
#define CMD_PLAN_H

#include <jansson.h>

#endif
