/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side of the opener: see client.h. */
#include "opener/client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/fdpass.h"

/* The socket is shut down rather than closed, so that poll(2) reports it. */
static int client_give_up(struct opener_client *client)
{
    client->lost = true;
    shutdown(client->socket, SHUT_RDWR);
    return -EPIPE;
}

/* A request that could not be sent, because memory is short or a descriptor is invalid, is no reason to give up. */
static bool error_is_fatal(int error)
{
    return error == -EPIPE || error == -ECONNRESET || error == -ENOTCONN || error == -EAGAIN;
}

/* The reply is still in the socket: it is late, as one that has not come yet. */
static bool reply_is_late(ssize_t size)
{
    return size == -EAGAIN || size == -ENOMEM || size == -ENOBUFS;
}

static bool socket_is_readable(int socket)
{
    struct pollfd fd = {.fd = socket, .events = POLLIN};

    return poll(&fd, 1, 0) > 0;
}

/* Sets how long a reply is waited for; the socket remembers it. */
static int client_set_patience(struct opener_client *client, unsigned ms)
{
    struct timeval patience = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};

    if (ms == client->patience_ms)
        return 0;
    if (setsockopt(client->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
        return -errno;
    client->patience_ms = ms;
    return 0;
}

static int client_receive_late_reply(struct opener_client *client)
{
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    struct opener_reply reply;
    bool had_no_room;

    ssize_t size = fd_socket_receive(client->socket, &reply, sizeof(reply), &opened, &had_no_room);
    if (reply_is_late(size))
        return 0;
    if (size < (ssize_t)offsetof(struct opener_reply, results))
        return client_give_up(client);
    client->late = false;
    return 1;
}

int opener_client_take_late_reply(struct opener_client *client)
{
    if (client->lost)
        return -EPIPE;
    if (!socket_is_readable(client->socket))
        return 0;
    return client->late ? client_receive_late_reply(client) : client_give_up(client);
}

/* The opener would reply to the next request only after the late one. */
static int client_check_late(struct opener_client *client)
{
    int r = client->late ? opener_client_take_late_reply(client) : 1;

    return r == 0 ? -ETIMEDOUT : MIN(r, 0);
}

static size_t count_opened(const struct opener_reply *reply)
{
    size_t n = 0;

    for (size_t i = 0; i < reply->n; i++)
        n += reply->results[i] == 0;
    return n;
}

int opener_client_ask(struct opener_client *client, const struct fd_list *given, size_t n, unsigned patience_ms,
                      struct opener_reply *reply, struct fd_list *opened)
{
    bool had_no_room;

    if (client->lost)
        return -EPIPE;
    int r = client_check_late(client);
    if (r == 0)
        r = client_set_patience(client, patience_ms);
    if (r < 0)
        return r;
    r = fd_socket_send(client->socket, client->packet.data, client->packet.size, given);
    if (r < 0)
        return error_is_fatal(r) ? client_give_up(client) : r;
    ssize_t size = fd_socket_receive(client->socket, reply, sizeof(*reply), opened, &had_no_room);
    client->late = reply_is_late(size);
    if (client->late)
        return size == -EAGAIN ? -ETIMEDOUT : (int)size;
    if (size < (ssize_t)offsetof(struct opener_reply, results))
        return client_give_up(client);
    if (reply->error < 0)
        return reply->error;
    if (reply->n != n || (size_t)size != offsetof(struct opener_reply, results[n]))
        return client_give_up(client);
    size_t wanted = count_opened(reply);
    return opened->n == wanted || (had_no_room && opened->n < wanted) ? 0 : client_give_up(client);
}

/* With a tenth of a second more for each result. */
static int client_ask(struct opener_client *client, const struct fd_list *given, size_t n, struct opener_reply *reply,
                      struct fd_list *opened)
{
    return opener_client_ask(client, given, n, OPENER_PATIENCE_MS + (unsigned)n * OPENER_PATIENCE_EACH_MS, reply,
                             opened);
}

/* An event whose descriptor this process had no room for fails because too many files are open. */
static void reply_to_results(const struct opener_reply *reply, struct fd_list *opened, int *ret)
{
    size_t k = 0;

    for (size_t i = 0; i < reply->n; i++)
        ret[i] = reply->results[i] < 0 ? reply->results[i] : k < opened->n ? opened->fds[k++] : -EMFILE;
    opened->n = 0;
}

/* Asks for as many of the group's events, from `first` on, as one request has room for. */
static int client_ask_for_events(struct opener_client *client, const struct sys_group *group, size_t first,
                                 size_t *ret_n, int *ret)
{
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    struct fd_list given = {0};
    struct opener_reply reply;

    buffer_clear(&client->packet);
    int r = opener_request_write(&client->rules, group, first, &client->packet, ret_n);
    if (r < 0)
        return r;
    if (group->flags & PERF_FLAG_PID_CGROUP)
        given.fds[given.n++] = group->pid;
    if (group->leader >= 0)
        given.fds[given.n++] = group->leader;
    r = client_ask(client, &given, *ret_n, &reply, &opened);
    if (r == 0)
        reply_to_results(&reply, &opened, ret + first);
    return r;
}

/* The first event that was opened leads the events of the next request. */
static int leader_of(const struct sys_group *group, const int *results, size_t n)
{
    for (size_t i = 0; group->leader < 0 && i < n; i++)
        if (results[i] >= 0)
            return results[i];
    return group->leader;
}

static void client_open_group(struct sys *sys, const struct sys_group *group, int *ret)
{
    struct sys_group rest = *group;
    size_t done = 0, n;
    int r = 0;

    while (done < group->n && r == 0) {
        r = client_ask_for_events(sys->userdata, &rest, done, &n, ret);
        if (r < 0)
            break;
        done += n;
        rest.leader = leader_of(&rest, ret, done);
        for (size_t i = 0; group->whole && i < done; i++)
            r = ret[i] < 0 ? -ECANCELED : r;
    }
    for (; done < group->n; done++)
        ret[done] = r;
}

static int client_perf_event_open(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                                  unsigned long flags)
{
    struct sys_group group = {.attrs = attr, .n = 1, .pid = pid, .cpu = cpu, .leader = group_fd, .flags = flags};
    int fd;

    client_open_group(sys, &group, &fd);
    return fd;
}

static int client_ask_for_file(struct opener_client *client, const char *path)
{
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    struct opener_reply reply;
    int fd;

    buffer_clear(&client->packet);
    int r = opener_request_write_file(path, &client->packet);
    if (r == 0)
        r = client_ask(client, &(struct fd_list){0}, 1, &reply, &opened);
    if (r < 0)
        return r;
    reply_to_results(&reply, &opened, &fd);
    return fd;
}

/* No rule allows this file: any opener refuses it, and a refusal is an answer. */
int opener_client_check(struct opener_client *client)
{
    int r = client_ask_for_file(client, "/");

    return r == -ETIMEDOUT || r == -EPIPE ? r : 0;
}

static bool error_is_denied(int error)
{
    return error == -EACCES || error == -EPERM;
}

/*
 * Only root may read a few files; the others this process opens itself. A descriptor of the opener is for reading,
 * whatever `flags` are.
 */
static int client_open_file(struct sys *sys, const char *path, int flags)
{
    struct opener_client *client = sys->userdata;
    bool sampling = client->rules.permissions.sampling;

    if (opener_path_asks_opener_first(path, sampling)) {
        int fd = client_ask_for_file(client, path);
        return fd >= 0 ? fd : sys_open_file(sys, path, flags);
    }
    int fd = sys_open_file(sys, path, flags);
    bool known =
        opener_path_kind(path, sampling) != OPENER_FILE_UNKNOWN || opener_rules_permit_file(&client->rules, path);
    if (!error_is_denied(fd) || !known)
        return fd;
    int given = client_ask_for_file(client, path);
    /* The opener refused the file for a reason of its own, and the first error says more. */
    return given == -EBADRQC ? fd : given;
}

static int client_read_state(struct sys *sys, const struct state_request *request)
{
    struct opener_client *client = sys->userdata;
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    struct opener_reply reply;

    buffer_clear(&client->packet);
    int r = opener_request_write_state(request, &client->packet);
    return r < 0 ? r : client_ask(client, &(struct fd_list){0}, 0, &reply, &opened);
}

static int client_start_finder(struct sys *sys, int ret[2])
{
    struct opener_client *client = sys->userdata;
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    struct opener_reply reply;

    buffer_clear(&client->packet);
    int r = opener_request_write_finder(&client->packet);
    if (r == 0)
        r = client_ask(client, &(struct fd_list){0}, 2, &reply, &opened);
    if (r == 0 && opened.n < 2)
        r = -EMFILE;
    if (r < 0)
        return r;
    ret[0] = opened.fds[0];
    ret[1] = opened.fds[1];
    opened.n = 0;
    return reply.id <= OPENER_FINDERS_MAX ? (int)reply.id : OPENER_FINDERS_MAX;
}

void opener_client_attach(struct opener_client *client, struct sys *sys)
{
    sys->userdata = client;
    sys->perf_event_open = client_perf_event_open;
    sys->open_group = client_open_group;
    sys->open_file = client_open_file;
    sys->read_state = client_read_state;
    if (client->rules.permissions.sampling)
        sys->start_finder = client_start_finder;
}

void opener_client_done(struct opener_client *client)
{
    buffer_done(&client->packet);
    opener_rules_done(&client->rules);
    if (client->socket >= 0)
        close(client->socket);
    client->socket = -1;
}
