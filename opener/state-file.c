/* SPDX-License-Identifier: Apache-2.0 */
/* A state file for the reader: see state-file.h. It allocates nothing. */
#include "opener/state-file.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "opener/safe-open.h"
#include "process/fdpass.h"

/* The reader reads on later (unix(7): only some descriptors may be in flight), or it reads no more. */
static int error_of_reader(int r)
{
    if (r == -ETOOMANYREFS || r == -ENOBUFS || r == -ENOMEM)
        return -EAGAIN;
    return r == -EPIPE || r == -ECONNRESET || r == -ENOTCONN ? -ENOSYS : r;
}

/* Returns 0 or -errno. May block forever if the path leads to a file system of another user. */
static int open_and_send(struct sys *sys, const struct state_request *request, const char *path, int reader)
{
    struct stat status;

    _cleanup_(closep) int fd = opener_safe_path_open_of(sys, path, request->user);
    if (fd == -ENOTDIR) /* the difference would say what exists on the path */
        return -ENOENT;
    if (fd < 0)
        return fd == -EAGAIN ? -EHOSTDOWN : fd; /* a process holds a lease on the file (fcntl(2), F_SETLEASE) */
    if (fstat(fd, &status) < 0)
        return -errno;
    if (state_file_version(&status) == request->version)
        return -EALREADY;
    return error_of_reader(fd_socket_send_one_now(reader, request, sizeof(*request), fd));
}

/*
 * Runs in the child. The exit status is 0 or an errno. Closes the daemon's socket, so that a child that hangs does not
 * keep it open.
 */
static _Noreturn void child_run(struct sys *sys, const struct state_request *request, const char *path, int reader)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    fd_close_all_but(&reader, 1);
    _exit(-open_and_send(sys, request, path, reader));
}

static int send_by_child(struct sys *sys, const struct state_request *request, const char *path, int reader,
                         struct stragglers *stragglers)
{
    struct straggler child = {.user = request->user};
    uint64_t patience;

    int r = straggler_fork(&child, stragglers, &patience);
    if (r < 0)
        return r;
    if (r == 0)
        child_run(sys, request, path, reader);
    r = straggler_await(&child, stragglers, patience);
    return r == -EINPROGRESS ? 0 : r;
}

int opener_state_file_send(struct sys *sys, const struct state_request *request, int reader,
                           struct stragglers *stragglers)
{
    char path[STATE_PATH_MAX];

    if (reader < 0)
        return -ENOSYS;
    if (state_request_path(request, path, sizeof(path)) < 0)
        return -EBADRQC;
    return request->user ? send_by_child(sys, request, path, reader, stragglers)
                         : open_and_send(sys, request, path, reader);
}

static int own_read_state(struct sys *sys, const struct state_request *request)
{
    struct own_state_files *files = sys->userdata;

    return opener_state_file_send(sys, request, *files->reader, &files->stragglers);
}

void opener_state_file_attach(struct sys *sys, struct own_state_files *files)
{
    sys->userdata = files;
    sys->read_state = own_read_state;
}
