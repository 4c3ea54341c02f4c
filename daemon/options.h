/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: its commands and flags, in the convention of Prometheus exporters (--web.listen-address,
 * --log.level).
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
    char **arguments;     /* a copy of argv, which program_set_name() overwrites; the strings below are in it */
    enum command command; /* with COMMAND_HELP and COMMAND_VERSION, the bool below is set too */
    bool help, version;
    const char *config_file; /* NULL: the default file, if it exists */
    char **listen;           /* own array of strings from `arguments` */
    size_t n_listen;
    const char *telemetry_path;  /* NULL: not given */
    const char *web_config_file; /* NULL: not given */
    enum log_level log_level;
    enum log_format log_format;
    bool no_opener;
    bool sampler; /* --sampler.enabled */
    bool profiles, password, undo;
    const char *setup_listen; /* NULL: not given */
    bool json;
    uint64_t interval_ns, count;
    uint64_t last_ns; /* 0: count now */
    bool per_cpu, all_cpus;
    char **cgroups; /* patterns; own array of strings from `arguments` */
    size_t n_cgroups;
    const char *sort, *order, *limit, *output, *url; /* NULL: not given; `order` is "asc" or "desc" */
    /* Arguments of `record` and `stat`, not checked yet; NULL: not given. */
    const char *pid, *cpu, *event, *frequency, *threshold, *state, *seconds;
    char *joined;    /* owned text of `event`, if --event of `stat` is repeated */
    char **workload; /* what follows "--", NULL-terminated; NULL: no command to run */
};

/* Returns -EINVAL with a sentence, which refers to --help; prints nothing. */
int options_parse(int argc, char *const *argv, struct options *ret, struct error *error);
void options_done(struct options *options);
/*
 * The first returns whether flags of `stat` select cgroups, the second whether it counts only a command instead of the
 * machine.
 */
bool options_of_cgroups(const struct options *options);
bool options_of_command(const struct options *options);
/* Prints the help of one command with its flags, or, for COMMAND_HELP, all commands and the flags of `run`. */
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

/* Prints the error as one line on standard error. Returns `status`. */
int command_fail(int status, const struct error *error);
/* The same for an error that names the parameter "NAME" of a request, which is printed as --PREFIXNAME. */
int command_fail_flag(int status, const char *prefix, const struct error *error);
int command_fail_memory(void);
/*
 * Flushes what a command has printed. Returns `status`, or EXIT_FAILURE with a sentence if it could not be written,
 * which is reported once. main() does so for standard output.
 */
int command_end_output(FILE *file, const char *name, int status);
/* Prints the document with indentation and releases it; NULL means out of memory. Returns the exit status. */
int command_print_json(json_t *document);
void command_sleep(uint64_t ns);

#endif
