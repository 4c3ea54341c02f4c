/* SPDX-License-Identifier: Apache-2.0 */
/* A child that loads the program: see load-process.h. */
#include "bpf/load-process.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/newer.h"
#include "process/child.h"
#include "process/fdpass.h"
#include "process/program.h"

struct load_reply {
    int error;
    char message[512];
};

/* The child */

static void close_others(int socket)
{
    /* Where the call is missing, they close soon anyway. */
    syscall(SYS_close_range, STDERR_FILENO + 1, socket - 1, 0);
    syscall(SYS_close_range, socket + 1, ~0U, 0);
}

/*
 * Before Linux 5.11 maps and programs count as locked memory, and that of the real user: an opener of root's has the
 * daemon's (process/user.h), who needs it for rings.
 */
static void raise_memory_limit(void)
{
    (void)!setresuid(0, (uid_t)-1, (uid_t)-1);
    (void)!setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
}

static _Noreturn void child_run(const struct tally_shape *shape, const struct memory_limit *memory, int socket,
                                pid_t parent)
{
    struct load_reply reply = {0};
    struct fd_list fds = {.n = N_KERNEL_PARTS};
    struct error error = {0};

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    program_set_name("perfcountd-load");
    close_others(socket);
    raise_memory_limit();
    if (memory)
        memory_limit_apply(memory);
    reply.error = kernel_program_load(shape, fds.fds, &error);
    if (reply.error < 0) {
        fds.n = 0;
        snprintf(reply.message, sizeof(reply.message), "%s", error.message);
    }
    _exit(fd_socket_send(socket, &reply, sizeof(reply), &fds) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Its parent */

/* The child does not stop halfway: it has answered, or is killed. */
static int child_reap_now(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static bool wait_for_reply(int socket)
{
    struct pollfd fd = {.fd = socket, .events = POLLIN};
    int r;

    do
        r = poll(&fd, 1, TALLY_PATIENCE_S * 1000);
    while (r < 0 && errno == EINTR);
    return r > 0;
}

static int reply_receive(int socket, pid_t pid, int ret[N_KERNEL_PARTS], struct error *error)
{
    struct load_reply reply = {0};
    struct fd_list fds = {0};
    char end[128];

    if (!wait_for_reply(socket)) {
        kill(pid, SIGKILL);
        child_reap_now(pid);
        return error_set(error, -ETIMEDOUT, "the program that counts cgroups was not loaded within %d seconds",
                         TALLY_PATIENCE_S);
    }
    ssize_t n = fd_socket_receive(socket, &reply, sizeof(reply), &fds, NULL);
    child_describe_end(pid, child_reap_now(pid), end, sizeof(end));
    if (n == sizeof(reply) && reply.error < 0)
        return error_set(error, reply.error, "%s", reply.message);
    if (n == sizeof(reply) && fds.n == N_KERNEL_PARTS) {
        memcpy(ret, fds.fds, sizeof(*ret) * N_KERNEL_PARTS);
        return 0;
    }
    fd_list_close(&fds);
    if (n == -EBADMSG)
        return error_set(error, -EMFILE, NO_ROOM_FOR_PROGRAM);
    return error_set(error, -EPIPE, "the program that counts cgroups was not loaded: %s", end);
}

int load_process_run(const struct tally_shape *shape, const struct memory_limit *memory, int ret[N_KERNEL_PARTS],
                     struct error *error)
{
    int sockets[2];
    pid_t parent = getpid();

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return error_set(error, -errno, "cannot make a socket pair: %s", strerror(errno));
    _cleanup_(closep) int ours = sockets[0], theirs = sockets[1];
    pid_t pid = fork();
    if (pid < 0)
        return error_set(error, -errno, "cannot start the process that loads the program that counts cgroups: %s",
                         strerror(errno));
    if (pid == 0)
        child_run(shape, memory, theirs, parent);
    close(steal_fd(&theirs));
    return reply_receive(ours, pid, ret, error);
}
