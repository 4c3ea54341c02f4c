/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/workload.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"

#define STATUS_CANNOT_EXECUTE 126 /* exit statuses follow sh(1p), "Exit Status for Commands" */
#define STATUS_NOT_FOUND 127
#define STATUS_SIGNAL 128

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/*
 * Executes the command in the child process. An error from execvp(3) is sent through the socket; on success the socket
 * closes without a message.
 */
__attribute__((noreturn)) static void begin_workload(const struct workload *workload, int fd)
{
    char go;

    if (recv(fd, &go, sizeof(go), 0) != sizeof(go))
        _exit(EXIT_FAILURE);
    /*
     * Drops the ambient capabilities of a service, which are meant for counting, so that the command only gets the
     * rights of the caller's user.
     */
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    sigprocmask(SIG_SETMASK, &workload->signals, NULL);
    execvp(workload->arguments[0], workload->arguments);
    int error = errno;
    send(fd, &error, sizeof(error), MSG_NOSIGNAL);
    _exit(STATUS_NOT_FOUND);
}

static void block_signals(sigset_t *ret_before)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
        sigaddset(&set, forwarded[i]);
    sigaddset(&set, SIGCHLD);
    /* If the caller ignored SIGCHLD, the kernel would discard the exit status of child processes. */
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &set, ret_before);
}

int workload_start(char *const *arguments, struct workload *ret, struct error *error)
{
    struct workload workload = {.arguments = arguments};
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return error_set(error, -errno, "%s: cannot create a socket: %s", arguments[0], strerror(errno));
    block_signals(&workload.signals);
    workload.pid = fork();
    if (workload.pid < 0) {
        int failure = errno;
        close(fds[0]);
        close(fds[1]);
        sigprocmask(SIG_SETMASK, &workload.signals, NULL);
        return error_set(error, -failure, "%s: cannot fork: %s", arguments[0], strerror(failure));
    }
    if (workload.pid == 0) {
        close(fds[0]);
        begin_workload(&workload, fds[1]);
    }
    close(fds[1]);
    workload.fd = fds[0];
    *ret = workload;
    return 0;
}

bool workload_has_ended(struct workload *workload)
{
    int status;

    if (!workload->pid)
        return true;
    if (wait4(workload->pid, &status, WNOHANG, &workload->usage) != workload->pid)
        return false;
    workload->pid = 0;
    workload->status = WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

/*
 * A signal from a terminal (SI_KERNEL) goes to the whole foreground process group, so the command has already received
 * it.
 */
void workload_forward(const struct workload *workload, int signal, int code)
{
    if (signal != SIGCHLD && code != SI_KERNEL && workload->pid)
        kill(workload->pid, signal);
}

static void workload_wait(struct workload *workload)
{
    sigset_t set;
    siginfo_t info;

    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
        sigaddset(&set, forwarded[i]);
    sigaddset(&set, SIGCHLD);
    while (!workload_has_ended(workload))
        if (sigwaitinfo(&set, &info) > 0)
            workload_forward(workload, info.si_signo, info.si_code);
    /* Discards signals that arrived as the command exited, because they were meant for the command. */
    while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0)
        ;
}

int workload_begin(struct workload *workload, struct error *error)
{
    const char *name = workload->arguments[0];
    ssize_t n = 0;
    int failure;

    /* send(2) fails if a signal has already killed the command's process; the exit status then shows the signal. */
    if (send(workload->fd, "", 1, MSG_NOSIGNAL) == 1)
        n = recv(workload->fd, &failure, sizeof(failure), 0);
    if (n != sizeof(failure))
        return 0;
    workload_wait(workload);
    workload->status = failure == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE;
    return error_set(error, -failure, "%s: cannot be run: %s", name, strerror(failure));
}

int workload_run(struct workload *workload, struct error *error)
{
    int r = workload_begin(workload, error);

    if (r == 0)
        workload_wait(workload);
    return r;
}

void workload_done(struct workload *workload)
{
    if (!workload->arguments)
        return;
    close(workload->fd);
    while (workload->pid && wait4(workload->pid, NULL, 0, NULL) < 0 && errno == EINTR)
        ;
    sigprocmask(SIG_SETMASK, &workload->signals, NULL);
    *workload = (struct workload){0};
}
