/* SPDX-License-Identifier: Apache-2.0 */
/* perfcountd exports Linux hardware counters to Prometheus and as JSON. */
#include <malloc.h>

#include "base/cleanup.h"
#include "daemon/options.h"
#include "symbols/symboliser.h"

static int symbolise(const struct options *options)
{
    (void)options;
    return symboliser_serve();
}

static int (*const commands[])(const struct options *options) = {
    [COMMAND_RUN] = command_run,
    [COMMAND_CHECK_CONFIG] = command_check_config,
    [COMMAND_LIST_EVENTS] = command_list_events,
    [COMMAND_LIST_METRICS] = command_list_metrics,
    [COMMAND_LIST_PRESETS] = command_list_presets,
    [COMMAND_PLAN] = command_plan,
    [COMMAND_RECORD] = command_record,
    [COMMAND_REPORT] = command_report,
    [COMMAND_SETUP] = command_setup,
    [COMMAND_STAT] = command_stat,
    [COMMAND_TOP] = command_top,
    [COMMAND_SYMBOLISE] = symbolise,
};

static int run(const struct options *options)
{
    if (options->help)
        options_print_help(stdout, options->command);
    else if (options->version)
        printf("perfcountd %s\n", PACKAGE_VERSION);
    else
        return commands[options->command](options);
    return EXIT_SUCCESS;
}

/*
 * Blocks larger than this are returned to the system as soon as they are freed. By default, malloc(3) raises this
 * threshold to the size of the largest response and keeps that much memory.
 */
#define MMAP_THRESHOLD (256 * 1024)
/* Up to this much free memory is kept for compressing responses; otherwise each scrape would fault it in again. */
#define TRIM_THRESHOLD (512 * 1024)

int main(int argc, char **argv)
{
    _cleanup_(options_done) struct options options = {0};
    struct error error;

    mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
    mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD);
    if (options_parse(argc, argv, &options, &error) < 0)
        return command_fail(EXIT_BAD_USAGE, &error);
    log_configure(options.log_level, options.log_format);
    return command_end_output(stdout, "standard output", run(&options));
}
