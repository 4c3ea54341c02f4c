/* SPDX-License-Identifier: Apache-2.0 */
/* The result of an attempt against the result that it must have: see impostor.h. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "tests/impostor/impostor.h"

#define PATIENCE_S 30

long impostor_skip(struct impostor *impostor, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(impostor->reason, sizeof(impostor->reason), format, arguments);
    va_end(arguments);
    return ATTEMPT_SKIPPED;
}

static const char *outcome_name(long got)
{
    return got < 0 ? error_name((int)got) : "done";
}

static bool must_allows(const struct must *must, long got)
{
    if (must->errors[0] == 0)
        return got >= 0;
    for (size_t i = 0; i < ATTEMPT_ERRORS_MAX && must->errors[i]; i++)
        if (got == -must->errors[i])
            return true;
    return false;
}

static void must_print(const struct must *must)
{
    if (must->errors[0] == 0)
        printf("done");
    for (size_t i = 0; i < ATTEMPT_ERRORS_MAX && must->errors[i]; i++)
        printf("%s%s", i ? " or " : "", outcome_name(-must->errors[i]));
}

void impostor_judge(struct impostor *impostor, const char *name, long got, const struct must *must)
{
    if (got == ATTEMPT_SKIPPED) {
        impostor->skipped++;
        printf("skip %s: %s\n", name, impostor->reason);
        return;
    }
    bool fine = must_allows(must, got);
    *(fine ? &impostor->passed : &impostor->failed) += 1;
    printf("%s %s: got %s, must ", fine ? "ok  " : "FAIL", name, outcome_name(got));
    must_print(must);
    putchar('\n');
    fflush(stdout);
}

void impostor_try(struct impostor *impostor, const struct attempt *attempts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        impostor_judge(impostor, attempts[i].name, attempts[i].try(impostor, &attempts[i]), &attempts[i].must);
}

struct outcome {
    long got;
    char reason[sizeof(((struct impostor *)NULL)->reason)];
};

static _Noreturn void be_child(struct impostor *impostor, const struct attempt *attempt, int pipe)
{
    struct outcome outcome = {0};

    alarm(PATIENCE_S);
    outcome.got = attempt->try(impostor, attempt);
    memcpy(outcome.reason, impostor->reason, sizeof(outcome.reason));
    _exit(write(pipe, &outcome, sizeof(outcome)) == sizeof(outcome) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static long end_of_child(struct impostor *impostor, pid_t pid, int pipe)
{
    struct outcome outcome;
    ssize_t n = read(pipe, &outcome, sizeof(outcome));
    int status;

    if (waitpid(pid, &status, 0) != pid)
        return -ECHILD;
    if (n == sizeof(outcome)) {
        memcpy(impostor->reason, outcome.reason, sizeof(outcome.reason));
        return outcome.got;
    }
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? -EPERM : -EINTR;
}

static long try_apart(struct impostor *impostor, const struct attempt *attempt)
{
    int ends[2];

    fflush(stdout);
    if (pipe(ends) < 0)
        return -errno;
    _cleanup_(closep) int ours = ends[0];
    _cleanup_(closep) int theirs = ends[1];
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        be_child(impostor, attempt, theirs);
    close(steal_fd(&theirs));
    return end_of_child(impostor, pid, ours);
}

void impostor_try_apart(struct impostor *impostor, const struct attempt *attempts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        impostor_judge(impostor, attempts[i].name, try_apart(impostor, &attempts[i]), &attempts[i].must);
}
