/* SPDX-License-Identifier: Apache-2.0 */
/* A state file for the reader: see state-file.h. It allocates nothing. */
#include "opener/state-file.h"

#include "base/cleanup.h"
#include "base/process/fd-socket.h"
#include "opener/safe-path.h"

/* The reader reads on later (unix(7): only some descriptors may be in flight), or it reads no more. */
static int error_of_reader(int r)
{
    if (r == -ETOOMANYREFS || r == -ENOBUFS || r == -ENOMEM)
        return -EAGAIN;
    return r == -EPIPE || r == -ECONNRESET || r == -ENOTCONN ? -ENOSYS : r;
}

int opener_state_file_send(struct sys *sys, const struct state_request *request, int reader)
{
    char path[STATE_PATH_MAX];
    struct stat status;

    if (reader < 0)
        return -ENOSYS;
    if (state_request_path(request, path, sizeof(path)) < 0)
        return -EBADRQC;
    _cleanup_(closep) int fd = opener_safe_path_open_of(sys, path, request->user);
    if (fd < 0) /* also where a part of the path is a file: so it says less of what is there */
        return fd == -ENOTDIR ? -ENOENT : fd;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (state_file_version(&status) == request->version)
        return -EALREADY;
    return error_of_reader(fd_socket_send_one_now(reader, request, sizeof(*request), fd));
}

static int own_read_state(struct sys *sys, const struct state_request *request)
{
    const int *reader = sys->userdata;

    return opener_state_file_send(sys, request, *reader);
}

void opener_state_file_attach(struct sys *sys, int *reader)
{
    sys->userdata = reader;
    sys->read_state = own_read_state;
}
