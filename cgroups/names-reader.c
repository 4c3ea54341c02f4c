/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of state files, as the daemon starts and ends it: see reader.h. */
#include "cgroups/names-reader.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cgroups/reading.h"
#include "cgroups/state-files.h"
#include "process/fdpass.h"

/* How long the child may take to start, while nothing else waits. */
#define PATIENCE_MS 10000
#define END_MS 100

/* Whether there is a runtime */

/*
 * Files that are there where a runtime has been installed, though it has not started since boot, or is a user's: what
 * it writes below /run and below homes may come later.
 */
static const char *const signs[] = {
    "/var/lib/containerd", "/var/lib/containers", "/var/lib/rancher/k3s", "/usr/bin/podman", "/usr/local/bin/podman",
};

static bool path_exists(struct sys *sys, const char *path)
{
    int fd = sys->open_file(sys, path, O_PATH);

    if (fd >= 0)
        sys->close(sys, fd);
    return fd >= 0;
}

/* Whether the directory is there that has the ids, or the file. Those of users have no place before users do. */
static bool place_exists(struct sys *sys, const struct state_place *place)
{
    char path[STATE_PATH_MAX];
    size_t size = strcspn(place->path, "%");

    if (place->path[0] != '/')
        return false;
    snprintf(path, sizeof(path), "%.*s", (int)size, place->path);
    char *slash = strrchr(path, '/');
    if (slash && slash > path)
        *slash = '\0';
    return path_exists(sys, path);
}

static bool machine_has_runtime(struct sys *sys)
{
    const struct state_place *place;

    for (size_t i = 0; (place = state_place(i)); i++)
        if (place_exists(sys, place))
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
        if (path_exists(sys, signs[i]))
            return true;
    return false;
}

/* Start and end */

/* The first packet comes before the child enters its jail, the second one afterwards. */
static int reader_receive_hello(struct name_reader *reader, struct error *error)
{
    struct reading_hello hello = {0};
    int r = 0, fd = -1;

    for (size_t i = 0; i < 2 && r == 0; i++) {
        (void)!poll(&(struct pollfd){.fd = reader->records, .events = POLLIN}, 1, PATIENCE_MS);
        r = fd_socket_receive_one(reader->records, &hello, sizeof(hello), i ? &fd : &reader->child.stat_fd);
    }
    if (r < 0)
        return error_set(error, r, "the reader of container names does not start: %s", strerror(-r));
    if (hello.error < 0)
        return error_set(error, hello.error, "the reader of container names cannot give up its privileges: %s",
                         strerror(-hello.error));
    return 0;
}

static int reader_fork(struct name_reader *reader, struct error *error)
{
    int files[2], records[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) < 0)
        return error_set(error, -errno, "cannot make a socket pair: %s", strerror(errno));
    reader->files = files[0];
    _cleanup_(closep) int their_files = files[1];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, records) < 0)
        return error_set(error, -errno, "cannot make a socket pair: %s", strerror(errno));
    reader->records = records[0];
    _cleanup_(closep) int their_records = records[1];
    if (fcntl(records[0], F_SETFL, O_NONBLOCK) < 0) /* of this end alone */
        return error_set(error, -errno, "cannot set a socket non-blocking: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        return error_set(error, -errno, "cannot start the reader of container names: %s", strerror(errno));
    if (pid == 0)
        reading_run(their_files, their_records);
    reader->child.pid = pid;
    return 0;
}

int name_reader_start(struct sys *sys, struct name_reader *ret, struct error *error)
{
    struct name_reader reader = NAME_READER_NONE;

    if (!machine_has_runtime(sys))
        return -ENOENT;
    int r = reader_fork(&reader, error);
    if (r == 0)
        r = reader_receive_hello(&reader, error);
    if (r < 0)
        name_reader_end(&reader);
    else
        *ret = reader;
    return r;
}

/* One that hangs in the kernel, or that this process may not end any more, is left to the process that inherits it. */
void name_reader_end(struct name_reader *reader)
{
    int status;

    closep(&reader->files);
    closep(&reader->records);
    reader->files = reader->records = -1;
    if (reader->child.pid <= 0)
        return;
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, reader->child.pid, 0), .events = POLLIN};
    (void)!poll(&end, 1, END_MS);
    if (!child_reap(&reader->child, &status)) {
        kill(reader->child.pid, SIGKILL);
        (void)!poll(&end, 1, END_MS);
        child_reap(&reader->child, &status);
    }
    closep(&end.fd);
    child_forget(&reader->child);
}
