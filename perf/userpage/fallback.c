/* SPDX-License-Identifier: Apache-2.0 */
/* A CPU whose instructions to read a counter in user space are not known here: see userpage.h. */
#include "perf/userpage/userpage.h"

const struct userpage_reader userpage_reader = {.counter = NULL};
