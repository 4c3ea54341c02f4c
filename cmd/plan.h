/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows which events would be opened on this machine with the configuration, for `perfcountd plan` and `perfcountd
 * report`.
 */
#ifndef CMD_PLAN_H
#define CMD_PLAN_H

#include <stdio.h>

#include "daemon/options.h"

/*
 * Opens, reads and closes the configured groups, and prints them to `file` or, with options->json, as JSON to standard
 * output. Without `names`, containers, their cgroups and the names of probes are left out. Returns the exit status of
 * the command, which fails, like `stat`, if nothing can be counted.
 */
int plan_print(FILE *file, const struct options *options, bool names);

#endif
