/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the texts that a key of perfcountd.yaml takes: -EINVAL with what is wrong, or -ENOMEM. Pure. */
#ifndef CONFIG_OPTION_CHECKS_H
#define CONFIG_OPTION_CHECKS_H

#include "base/error.h"

int option_check_not_empty(const char *text, struct error *error);
int option_check_address(const char *text, struct error *error); /* config/address.h */
int option_check_telemetry_path(const char *text, struct error *error);
int option_check_host(const char *text, struct error *error); /* a name as the header "Host" has it, without a port */
int option_check_cpus(const char *text, struct error *error); /* "all" or a list */
int option_check_pattern(const char *text, struct error *error);       /* of paths or names of cgroups */
int option_check_sampled_event(const char *text, struct error *error); /* "auto" or a group */
int option_check_tracepoint(const char *text, struct error *error);
int option_check_power_of_two(const char *text, struct error *error);

#endif
