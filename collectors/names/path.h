/* SPDX-License-Identifier: Apache-2.0 */
/* The names that a cgroup's path has: the systemd unit, the slice, the container. Pure. */
#ifndef COLLECTORS_NAMES_PATH_H
#define COLLECTORS_NAMES_PATH_H

#include "collectors/names/names.h"

/* `names` is empty. -ENOMEM. */
int names_from_path(struct names *names, const char *path);

#endif
