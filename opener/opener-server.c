/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's work: see server.h. It allocates nothing. */
#include "opener/opener-server.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "opener/open-events.h"
#include "opener/safe-open.h"
#include "opener/state-file.h"
#include "opener/tally-server.h"

static bool fd_is_on(int fd, long magic)
{
    struct statfs status;

    return fstatfs(fd, &status) == 0 && (unsigned long)status.f_type == (unsigned long)magic;
}

/* The kernel names the file by the mount through which it was opened, and adds " (deleted)" to one that is removed. */
static bool fd_is_below(int fd, const char *directory)
{
    char link[64], path[PATH_MAX];
    size_t length = strlen(directory);

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    if (n <= 0 || length == 0)
        return false;
    path[n] = '\0';
    return str_starts(path, directory) && (path[length] == '/' || path[length] == '\0');
}

/* -EXDEV where `fd` is not a directory of the hierarchy in which perf counts. */
static int server_check_cgroup(const struct opener_server *server, int fd)
{
    struct stat status;

    if (fstat(fd, &status) < 0 || !S_ISDIR(status.st_mode) ||
        !(fd_is_on(fd, CGROUP2_SUPER_MAGIC) || fd_is_on(fd, CGROUP_SUPER_MAGIC)) || !fd_is_below(fd, server->cgroups))
        return -EXDEV;
    return 0;
}

static int server_open_group(const struct opener_server *server, const struct opener_request *request,
                             const struct fd_list *given, struct opener_reply *reply, struct fd_list *opened)
{
    const struct event_opening opening = {server->sys, &server->rules, server->programs};
    int results[OPENER_EVENTS_MAX];
    int r = request->group->flags & PERF_FLAG_PID_CGROUP ? server_check_cgroup(server, given->fds[0]) : 0;

    if (r == 0)
        r = event_quota_check(server->events, request->group);
    if (r < 0)
        return r;
    opener_open_events(&opening, request, given, results);
    r = event_quota_add(server->events, request->group, results);
    for (size_t i = 0; i < request->group->n_events; i++)
        if (r == 0)
            opener_reply_add(reply, opened, results[i]);
        else if (results[i] >= 0)
            server->sys->close(server->sys, results[i]);
    return r;
}

/* Where the file system is not mounted, or another one hides it, the path may name another file. */
static int server_open_on(const struct opener_server *server, const char *path, long magic)
{
    _cleanup_(closep) int fd = server->sys->open_file(server->sys, path, O_NOFOLLOW);

    return fd >= 0 && !fd_is_on(fd, magic) ? -EBADRQC : steal_fd(&fd);
}

static int server_open_known(const struct opener_server *server, const char *path)
{
    if (opener_rules_permit_file(&server->rules, path))
        return opener_safe_path_open(server->sys, path);
    switch (opener_path_kind(path, server->rules.permissions.sampling)) {
    case OPENER_FILE_TRACEFS:
        return server_open_on(server, path, TRACEFS_MAGIC);
    case OPENER_FILE_PROC:
        return server_open_on(server, path, PROC_SUPER_MAGIC);
    case OPENER_FILE_UNKNOWN:
        break;
    }
    return -EBADRQC;
}

static int server_open_file(const struct opener_server *server, const struct opener_request *request,
                            struct opener_reply *reply, struct fd_list *opened)
{
    opener_reply_add(reply, opened, server_open_known(server, request->path));
    return 0;
}

/* A tally knows cgroups by their ids in the second version's hierarchy. */
static int server_tally(const struct opener_server *server, const struct opener_tally_packet *packet,
                        const struct fd_list *given, struct opener_reply *reply, struct fd_list *opened)
{
    int r = packet->call == OPENER_TALLY_ASSIGN ? server_check_cgroup(server, given->fds[0]) : 0;

    if (r == 0 && packet->call == OPENER_TALLY_ASSIGN && !fd_is_on(given->fds[0], CGROUP2_SUPER_MAGIC))
        r = -EXDEV;
    if (r == 0)
        r = opener_tally_serve(server->sys, server->tallies, packet, given, reply, opened);
    /* The daemon has tested the tally before it assigns cgroups, and would otherwise have gone on without it. */
    if (r == 0 && packet->call == OPENER_TALLY_ASSIGN)
        event_quota_use_tally(server->events);
    return r;
}

static int server_start_finder(const struct opener_server *server, struct opener_reply *reply, struct fd_list *opened)
{
    int ends[2];
    int r = finders_start(server->finders, ends);

    if (r < 0)
        return r;
    reply->id = (uint64_t)r;
    opener_reply_add(reply, opened, ends[0]);
    opener_reply_add(reply, opened, ends[1]);
    return 0;
}

static int server_reply(const struct opener_server *server, const void *packet, size_t size,
                        const struct fd_list *given, struct opener_reply *reply, struct fd_list *opened)
{
    struct opener_request request;
    int r = opener_request_parse(packet, size, given->n, &request);

    if (r == 0)
        r = opener_request_check(&request, &server->rules);
    if (r < 0)
        return r;
    switch (request.kind) {
    case OPENER_REQUEST_GROUP:
        return server_open_group(server, &request, given, reply, opened);
    case OPENER_REQUEST_FILE:
        return server_open_file(server, &request, reply, opened);
    case OPENER_REQUEST_STATE:
        return opener_state_file_send(server->sys, request.state, server->reader, server->stragglers);
    case OPENER_REQUEST_TALLY:
        return server_tally(server, request.tally, given, reply, opened);
    case OPENER_REQUEST_FINDER:
        return server_start_finder(server, reply, opened);
    }
    return -EBADMSG;
}

#define TRIES_MAX 1000

static int server_refuse(const struct opener_server *server, int error)
{
    const struct opener_reply reply = {.error = error};
    unsigned tries = 0;
    int r;

    do /* memory that is short for a moment ends nothing */
        r = fd_socket_send(server->socket, &reply, opener_reply_size(&reply), &(struct fd_list){0});
    while ((r == -ENOMEM || r == -ENOBUFS) && ++tries < TRIES_MAX && sched_yield() == 0);
    return r;
}

/* 1 after a reply, 0 when the daemon has closed its end, -errno. */
static int server_run_once(const struct opener_server *server)
{
    uint64_t packet[OPENER_PACKET_MAX / sizeof(uint64_t) + 1];
    _cleanup_(fd_list_close) struct fd_list given = {0}, opened = {0};
    struct opener_reply reply = {0};
    ssize_t n = fd_socket_receive(server->socket, packet, sizeof(packet), &given, NULL);

    if (n == 0 || (n < 0 && n != -EBADMSG))
        return (int)n;
    reply.error = n < 0 ? (int)n : server_reply(server, packet, (size_t)n, &given, &reply, &opened);
    int r = fd_socket_send(server->socket, &reply, opener_reply_size(&reply), &opened);
    /* Descriptors need memory (ENOMEM), and only some may be in flight (ETOOMANYREFS): the error goes without them. */
    if (r == -ENOMEM || r == -ENOBUFS || (r < 0 && opened.n > 0))
        r = server_refuse(server, r);
    return r < 0 ? r : 1;
}

int opener_server_run(const struct opener_server *server)
{
    for (;;) {
        int r = server_run_once(server);
        if (r <= 0)
            return r;
    }
}
