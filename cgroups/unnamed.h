/* SPDX-License-Identifier: Apache-2.0 */
/* Why no state file gives a container's name: sentences with their remedies. Pure; all texts are static. */
#ifndef CGROUPS_UNNAMED_H
#define CGROUPS_UNNAMED_H

#include "base/util.h"

/* Of a container that a file has, without a name. */
extern const char *const unnamed_by_runtime;

/*
 * Of several errors of sys->read_state() or of a file, that of the lowest rank says the most. 0, where there will be an
 * answer, comes first.
 */
size_t unnamed_rank(int error);
/* `is_of_user`: its cgroup is below a user's slice. */
const char *unnamed_reason(int error, bool is_of_user);

#endif
