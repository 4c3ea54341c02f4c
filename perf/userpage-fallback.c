/* SPDX-License-Identifier: Apache-2.0 */
/* A CPU without known instructions to read a counter in user space: see userpage.h. */
#include "perf/userpage.h"

const struct userpage_reader userpage_reader = {.counter = NULL};
