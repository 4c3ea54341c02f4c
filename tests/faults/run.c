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

static void run_describe(const struct scenario *scenario, void *state, char *text)
{
    _cleanup_(buffer_done) struct buffer out = {0};

    scenario->describe(state, &out);
    buffer_append_char(&out, '\0');
    fault_expect(!out.failed && out.size <= DESCRIPTION_MAX, "the description is too long");
    memcpy(text, out.data, out.size);
}

/* Shows the first line that differs. */
static void compare_texts(const char *before, const char *now)
{
    const char *line = now;
    size_t i = 0;

    for (; before[i] && before[i] == now[i]; i++)
        if (now[i] == '\n')
            line = now + i + 1;
    if (before[i] == now[i])
        return;
    const char *other = before + (line - now);
    fault_failed("not everything is back:\n  it is     %.*s\n  it was    %.*s", (int)strcspn(line, "\n"), line,
                 (int)strcspn(other, "\n"), other);
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
    if (fault && !str_equal(after_act, observed->after_act))
        fault_expect(said_count() > said, "it is not as without the fault, and nobody says so");
    scenario->recover(state);
    run_describe(scenario, state, fault ? after_recover : observed->after_recover);
    if (fault)
        compare_texts(observed->after_recover, after_recover);
    scenario->finish(state);
    said_check_once();
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
