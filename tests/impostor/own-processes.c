/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts of this process at others: the opener, the reader, the process 1, one of root's; setuid programs; and
 * attempts of others at these: an account on the machine, and one that has the daemon's user.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/impostor/helper.h"
#include "tests/impostor/impostor.h"

/* The filter, or the kernel; ProtectProc= hides processes. */
#define DENIED MUST(EPERM, EACCES, ENOSYS, ENOENT, ESRCH)

static void intrude(struct impostor *impostor, const char *whom, pid_t pid)
{
    static const struct must denied = DENIED;

    for (int i = 0; i < N_INTRUSIONS; i++) {
        char name[96];
        if (i == INTRUSION_SIGNAL || i == INTRUSION_LIMIT)
            continue;
        snprintf(name, sizeof(name), "itself: %s of %s", intrusion_name((enum intrusion)i), whom);
        impostor_judge(impostor, name, intrusion_try((enum intrusion)i, pid), &denied);
    }
}

/* The daemon may end the opener, which is no more than ending its own service. */
static void disturb(struct impostor *impostor, const char *whom, pid_t pid)
{
    static const struct must denied = DENIED;
    char name[96];

    snprintf(name, sizeof(name), "itself: kill of %s", whom);
    if (pid != impostor->opener)
        impostor_judge(impostor, name, intrusion_try(INTRUSION_SIGNAL, pid), &denied);
    snprintf(name, sizeof(name), "itself: prlimit of %s", whom);
    impostor_judge(impostor, name, intrusion_try(INTRUSION_LIMIT, pid), &denied);
}

/* The answer of a setuid program of root's about itself: 0 where it was not root, else 1. */
static long try_setuid_copy(struct impostor *impostor, const struct attempt *attempt)
{
    int status;

    (void)attempt;
    if (!*impostor->known.gain)
        return impostor_skip(impostor, "no setuid program could be made");
    pid_t pid = fork();
    if (pid == 0) {
        execl(impostor->known.gain, impostor->known.gain, "--gain", (char *)NULL);
        _exit(EXIT_SUCCESS);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -ECHILD;
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS ? -EPERM : 0;
}

static long try_program(struct impostor *impostor, const struct attempt *attempt)
{
    int status;

    if (access(attempt->text, X_OK) < 0)
        return impostor_skip(impostor, "there is no %s here", attempt->text);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        if (attempt->number)
            execl(attempt->text, attempt->text, "root", "-c", "true", (char *)NULL);
        else
            execl(attempt->text, attempt->text, "-t", "tmpfs", "none", impostor->known.scratch, (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -ECHILD;
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS ? 0 : -EPERM;
}

/* A core would have what the daemon's memory has: the key of TLS, passwords. */
static long try_core(struct impostor *impostor, const struct attempt *attempt)
{
    int status;

    (void)attempt;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limits;
        getrlimit(RLIMIT_CORE, &limits);
        limits.rlim_cur = limits.rlim_max;
        setrlimit(RLIMIT_CORE, &limits);
        if (!*impostor->known.scratch || chdir(impostor->known.scratch) < 0)
            (void)!chdir("/tmp");
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -ECHILD;
    return WIFSIGNALED(status) && WCOREDUMP(status) ? 0 : -EPERM;
}

static const struct attempt attempts[] = {
    {"itself: a setuid program of root's", try_setuid_copy, .must = MUST(EPERM)},
    {"itself: su", try_program, .must = MUST(EPERM), .text = "/bin/su", .number = 1},
    {"itself: mount(8)", try_program, .must = MUST(EPERM), .text = "/bin/mount", .number = 0},
    {"itself: a core dump", try_core, .must = MUST(EPERM)},
};

void own_processes_run(struct impostor *impostor)
{
    intrude(impostor, "the opener", impostor->opener);
    if (impostor->has_reader)
        intrude(impostor, "the reader", impostor->reader.child.pid);
    intrude(impostor, "the process 1", 1);
    disturb(impostor, "the process 1", 1);
    if (impostor->witness) {
        intrude(impostor, "root's process", impostor->witness->pid);
        disturb(impostor, "root's process", impostor->witness->pid);
        disturb(impostor, "the opener", impostor->opener);
    }
    impostor_try(impostor, attempts, ARRAY_SIZE(attempts));
}

/* Others */

static void helper_intrude(struct impostor *impostor, int helper, const char *who, const char *whom, pid_t pid)
{
    static const struct must denied = DENIED;

    for (int i = 0; i < N_INTRUSIONS; i++) {
        const struct order order = {.kind = ORDER_PROCESS, .number = (uint32_t)i, .pid = pid};
        char name[96];
        /* The same user may end it, and see how many files it may have: there is no remedy. */
        if (helper == impostor->twin && (i == INTRUSION_SIGNAL || i == INTRUSION_LIMIT))
            continue;
        snprintf(name, sizeof(name), "%s: %s of %s", who, intrusion_name((enum intrusion)i), whom);
        impostor_judge(impostor, name, helper_order(helper, &order, -1), &denied);
    }
}

static void helper_intrude_all(struct impostor *impostor, int helper, const char *who)
{
    if (helper < 0) {
        impostor_skip(impostor, "only root can start it before the split");
        impostor_judge(impostor, who, ATTEMPT_SKIPPED, NULL);
        return;
    }
    helper_intrude(impostor, helper, who, "the daemon", getpid());
    helper_intrude(impostor, helper, who, "the opener", impostor->opener);
    if (impostor->has_reader)
        helper_intrude(impostor, helper, who, "the reader", impostor->reader.child.pid);
}

void strangers_run(struct impostor *impostor)
{
    const struct order become = {.kind = ORDER_BECOME, .number = getuid()};

    if (impostor->twin >= 0 && helper_order(impostor->twin, &become, -1) < 0)
        impostor->twin = -1;
    helper_intrude_all(impostor, impostor->accomplice, "an account");
    helper_intrude_all(impostor, impostor->twin, "a process of the daemon's user");
}
