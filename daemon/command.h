/* SPDX-License-Identifier: Apache-2.0 */
/* The commands. Each returns the exit status: 0, 1 (run time) or 2 (bad usage or configuration). */
#ifndef DAEMON_COMMAND_H
#define DAEMON_COMMAND_H

#include <jansson.h>

#include "daemon/options.h"

int command_run(const struct options *options);
int command_check_config(const struct options *options);
int command_list_events(const struct options *options);
int command_list_metrics(const struct options *options);
int command_list_presets(const struct options *options);
int command_plan(const struct options *options);
int command_stat(const struct options *options);
int command_top(const struct options *options);

/* One sentence on standard error. Returns `status`. */
int command_fail(int status, const struct error *error);
int command_fail_memory(void);
/* Prints a document, indented, and releases it; NULL: out of memory. Returns the exit status. */
int command_print_json(json_t *document);
void command_sleep(uint64_t ns);

#endif
