/* SPDX-License-Identifier: Apache-2.0 */
/* The finders of the opener: see finders.h. They have its privileges, its filter of system calls, and no other socket.
 */
#include "opener/finders.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "process/finder.h"
#include "process/program.h"

static _Noreturn void finder_run(pid_t opener, int in, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != opener)
        _exit(EXIT_FAILURE);
    program_set_name("perfcountd-finder");
    fd_close_all_but((const int[]){in, out}, 2);
    _exit(finder_serve(in, out, false));
}

/* Returns how many have not ended; *ret_place is a free place, or NULL. */
static int finders_reap(struct finders *finders, pid_t **ret_place)
{
    int n = 0;

    *ret_place = NULL;
    for (size_t i = 0; i < OPENER_FINDERS_MAX; i++) {
        pid_t *pid = &finders->pids[i];
        if (*pid && waitpid(*pid, NULL, WNOHANG) != 0)
            *pid = 0;
        if (!*pid)
            *ret_place = pid;
        n += *pid != 0;
    }
    return n;
}

int finders_start(struct finders *finders, int ret[2])
{
    int requests[2], files[2];
    pid_t *place, opener = getpid();

    int n = finders_reap(finders, &place);
    if (!place)
        return -EBUSY;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests) < 0)
        return -errno;
    _cleanup_(closep) int own_requests = requests[0], its_requests = requests[1];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) < 0)
        return -errno;
    _cleanup_(closep) int own_files = files[0], its_files = files[1];
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        finder_run(opener, its_requests, its_files);
    *place = pid;
    ret[0] = steal_fd(&own_requests);
    ret[1] = steal_fd(&own_files);
    return n;
}
