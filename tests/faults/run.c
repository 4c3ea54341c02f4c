/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a scenario, in a process of its own: see run.h. */
#include "tests/faults/run.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/fd.h"
#include "tests/faults/residue.h"
#include "tests/faults/said.h"

#define SECONDS_DEFAULT 20
#define LINES_MAX 4000

struct observed *observed_new(void)
{
    struct observed *observed =
        mmap(NULL, sizeof(*observed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return observed == MAP_FAILED ? NULL : observed;
}

void observed_free(struct observed *observed)
{
    munmap(observed, sizeof(*observed));
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Rows and series are in the order in which they were made, which is no part of what is there. */
static void sort_lines(char *lines, char *text)
{
    char *all[LINES_MAX], *line;
    size_t n = 0;

    while ((line = strsep(&lines, "\n")) && n < LINES_MAX)
        all[n++] = line;
    qsort(all, n, sizeof(all[0]), compare_lines);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !str_equal(all[i], all[i - 1]))
            text = stpcpy(stpcpy(text, all[i]), "\n");
}

static void run_describe(const struct scenario *scenario, void *state, char *text)
{
    _cleanup_(buffer_done) struct buffer out = {0};

    scenario->describe(state, &out);
    buffer_append_char(&out, '\0');
    fault_expect(!out.failed && out.size < DESCRIPTION_MAX, "the description is too long");
    sort_lines(out.data, text);
}

/* Fails with the first line that differs. */
static void compare_texts(const char *what, const char *before, const char *now)
{
    const char *line = now;
    size_t i = 0;

    for (; before[i] && before[i] == now[i]; i++)
        if (now[i] == '\n')
            line = now + i + 1;
    if (before[i] == now[i])
        return;
    const char *other = before + (line - now);
    fault_failed("%s:\n  it is     %.*s\n  it was    %.*s", what, (int)strcspn(line, "\n"), line,
                 (int)strcspn(other, "\n"), other);
}

/* A row that says by its state that it does not count all the time. */
static bool reports_state(const char *description)
{
    return strstr(description, ": starved") || strstr(description, ": multiplexed") ||
           strstr(description, ": unavailable") || strstr(description, "perfcountd_events_unavailable{");
}

static void run(const struct scenario *scenario, const struct fault *fault, struct observed *observed)
{
    static char after_act[DESCRIPTION_MAX], after_recover[DESCRIPTION_MAX];
    struct residue before = residue_now();

    faults_plan(fault ? fault : &(struct fault){0}, fault ? NULL : &observed->counts);
    void *state = scenario->prepare();
    size_t said = said_count();
    faults_begin();
    scenario->act(state);
    bool reached = faults_end();
    run_describe(scenario, state, fault ? after_act : observed->after_act);
    fault_expect(fault || said_count() == said, "it complains, and nothing fails");
    bool reported = said_count() > said || reports_state(after_act);
    scenario->recover(state);
    run_describe(scenario, state, fault ? after_recover : observed->after_recover);
    if (fault)
        compare_texts("not everything is back", observed->after_recover, after_recover);
    if (fault && !reported && !scenario->may_be_silent)
        compare_texts("it is not as without the fault, and nobody says so", observed->after_act, after_act);
    scenario->finish(state);
    said_check_repeats(MAX(scenario->asks, 1));
    struct residue after = residue_now();
    residue_compare(&before, &after, fault ? &observed->outstanding : NULL);
    if (!fault)
        observed->outstanding = after.allocations - before.allocations;
    else if (!reached)
        _exit(RUN_UNREACHED);
}

pid_t run_start(const struct scenario *scenario, const struct fault *fault, struct observed *observed, int out_fd)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    if (said_begin(out_fd) < 0)
        _exit(EXIT_FAILURE);
    alarm(scenario->seconds ? scenario->seconds : SECONDS_DEFAULT);
    run(scenario, fault, observed);
    _exit(EXIT_SUCCESS);
}
