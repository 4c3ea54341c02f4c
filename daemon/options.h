/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands and flags, which follow the conventions of Prometheus exporters (--web.listen-address, --log.level).
 *
 * Each command_NAME() runs a command and returns the exit status: 0, 1 for a failure at run time, or 2 for bad usage or
 * a bad configuration.
 */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "daemon/log.h"

/* Exit status for a wrong command line or configuration. */
#define EXIT_BAD_USAGE 2

enum command {
    COMMAND_RUN,
    COMMAND_CHECK_CONFIG,
    COMMAND_LIST_EVENTS,
    COMMAND_LIST_METRICS,
    COMMAND_LIST_PRESETS,
    COMMAND_PLAN,
    COMMAND_RECORD,
    COMMAND_REPORT,
    COMMAND_SETUP,
    COMMAND_STAT,
    COMMAND_TOP,
    COMMAND_SYMBOLISE,
    COMMAND_HELP,
    COMMAND_VERSION,
};

struct options {
    char **arguments;     /* a copy of argv, which contains the strings below (program_set_name() overwrites argv) */
    enum command command; /* for COMMAND_HELP and COMMAND_VERSION, `help` or `version` is set as well */
    bool help, version;
    const char *config_file; /* path of the configuration file, or NULL for the default path */
    char **listen;           /* array of addresses, which are strings in `arguments` */
    size_t n_listen;
    const char *telemetry_path;  /* value of the flag, or NULL */
    const char *web_config_file; /* value of the flag, or NULL */
    enum log_level log_level;
    enum log_format log_format;
    bool no_opener;
    bool sampler; /* --sampler.enabled */
    bool profiles, password, undo;
    const char *setup_listen; /* listening address for the socket unit, or NULL */
    bool json;
    uint64_t interval_ns, count;
    uint64_t last_ns; /* length of the past interval to report; 0 to count from now */
    bool per_cpu, all_cpus;
    char **cgroups; /* array of patterns, which are strings in `arguments` */
    size_t n_cgroups;
    const char *sort, *order, *limit, *output, *url; /* values of the flags (`order` is "asc" or "desc"), or NULL */
    /* Unchecked flag arguments for `record` and `stat`; NULL for flags that were not given. */
    const char *pid, *cpu, *event, *frequency, *threshold, *state, *seconds;
    char *joined;    /* owned text that `event` points to, if --event is repeated */
    char **workload; /* command to run (the arguments after "--"), NULL-terminated, or NULL */
};

/* Parses the command line. Returns -EINVAL with a message that refers to --help; prints nothing. */
int options_parse(int argc, char *const *argv, struct options *ret, struct error *error);
void options_done(struct options *options);
/*
 * options_of_cgroups() returns whether the flags of `stat` select cgroups. options_of_command() returns whether `stat`
 * only counts a command instead of the whole machine.
 */
bool options_of_cgroups(const struct options *options);
bool options_of_command(const struct options *options);
/*
 * Prints the help of one command with its flags or, for COMMAND_HELP, the general help, which lists all commands and
 * the flags of `run`.
 */
void options_print_help(FILE *file, enum command command);

int command_run(const struct options *options);
int command_check_config(const struct options *options);
int command_list_events(const struct options *options);
int command_list_metrics(const struct options *options);
int command_list_presets(const struct options *options);
int command_plan(const struct options *options);
int command_record(const struct options *options);
int command_report(const struct options *options);
int command_setup(const struct options *options);
int command_stat(const struct options *options);
int command_top(const struct options *options);

/* Prints the error as one line to standard error. Returns `status`. */
int command_fail(int status, const struct error *error);
/* Like command_fail(), for an error about a request's parameter "NAME", which is printed as --PREFIXNAME. */
int command_fail_flag(int status, const char *prefix, const struct error *error);
int command_fail_memory(void);
/*
 * Flushes a command's output and returns `status`. If the output could not be written, prints the error, once, and
 * returns EXIT_FAILURE. main() calls command_end_output() for standard output.
 */
int command_end_output(FILE *file, const char *name, int status);
/* Prints the JSON document (NULL: out of memory), indented, and releases it. Returns the exit status. */
int command_print_json(json_t *document);
void command_sleep(uint64_t ns);

#endif
