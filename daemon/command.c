/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the printing commands share: see command.h. */
#include "daemon/command.h"

#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"

int command_fail(int status, const struct error *error)
{
    fflush(stdout);
    fprintf(stderr, "perfcountd: %s\n", error->message);
    return status;
}

int command_fail_memory(void)
{
    struct error error;

    error_oom(&error);
    return command_fail(EXIT_FAILURE, &error);
}

int command_print_json(json_t *document)
{
    _cleanup_(freep) char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;

    json_decref(document);
    if (!text)
        return command_fail_memory();
    puts(text);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void command_sleep(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / NSEC_PER_SEC), .tv_nsec = (long)(ns % NSEC_PER_SEC)};

    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time) == EINTR)
        ;
}
