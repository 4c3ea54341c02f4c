/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/client.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bpf/loader.h"
#include "bpf/program.h"
#include "cgroups/cgroupfs.h"
#include "opener/bound-sockets.h"
#include "opener/opener-server.h"
#include "perf/machine.h"
#include "perf/reason.h"
#include "process/fdpass.h"
#include "process/sandbox.h"

/*
 * How long the daemon waits for the reply to a request: a fixed time plus a time for each result, both much shorter
 * than the watchdog timeout of the systemd service.
 */
#define OPENER_PATIENCE_MS 2000
#define OPENER_PATIENCE_EACH_MS 100

/*
 * How long the daemon waits while a BPF program is loaded, attached or detached. A child of the opener loads the
 * program, for which bpf/loader.h allows less time. Attaching the program takes seconds on a heavily loaded board. The
 * watchdog timeout of the systemd service is longer.
 */
#define OPENER_BPF_PATIENCE_MS 22000

/* --- Requests --- */

/* Shuts the socket down rather than closing it, so that poll(2) reports the end of the connection. */
static int client_give_up(struct opener_client *client)
{
    client->lost = true;
    shutdown(client->socket, SHUT_RDWR);
    return -EPIPE;
}

/* A send that fails for lack of memory or an invalid descriptor does not end the connection. */
static bool error_is_fatal(int error)
{
    return error == -EPIPE || error == -ECONNRESET || error == -ENOTCONN || error == -EAGAIN;
}

/*
 * Returns whether this recv(2) result means that the reply is late: it has not arrived, or could not be received for
 * lack of memory.
 */
static bool reply_is_late(ssize_t size)
{
    return size == -EAGAIN || size == -ENOMEM || size == -ENOBUFS;
}

static bool socket_is_readable(int socket)
{
    struct pollfd fd = {.fd = socket, .events = POLLIN};

    return poll(&fd, 1, 0) > 0;
}

/* Sets the receive timeout of the socket, unless it already has this value. */
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

/*
 * Returns -ETIMEDOUT while a late reply is outstanding, because the opener would send that reply before the reply to
 * the next request.
 */
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

/*
 * Sends the request client->packet and waits for the reply, which must have `n` results. Returns 0, an error from
 * sending or receiving, or the reply's error for the request as a whole. `reply` and `opened` must be empty. If this
 * process had no room for all descriptors, `opened` has fewer of them than the reply has zero results.
 */
static int opener_client_ask(struct opener_client *client, const struct fd_list *given, size_t n, unsigned patience_ms,
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

/* Like opener_client_ask(), but with a timeout that depends on the number of results. */
static int client_ask(struct opener_client *client, const struct fd_list *given, size_t n, struct opener_reply *reply,
                      struct fd_list *opened)
{
    return opener_client_ask(client, given, n, OPENER_PATIENCE_MS + (unsigned)n * OPENER_PATIENCE_EACH_MS, reply,
                             opened);
}

/*
 * Sets each element of `ret` to a descriptor moved from `opened`, or to the error of its event. Descriptors that could
 * not be received, because this process has too many open files, become -EMFILE.
 */
static void reply_to_results(const struct opener_reply *reply, struct fd_list *opened, int *ret)
{
    size_t k = 0;

    for (size_t i = 0; i < reply->n; i++)
        ret[i] = reply->results[i] < 0 ? reply->results[i] : k < opened->n ? opened->fds[k++] : -EMFILE;
    opened->n = 0;
}

/* Requests as many of the group's events as fit into one packet, starting at `first`. */
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

/*
 * Returns the leader for the events in the next request: the group's leader or, without one, the first event that could
 * be opened.
 */
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
        r = client_ask_for_events(sys->owner, &rest, done, &n, ret);
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

/* Asks for "/", which no rule allows: any answer, even a refusal, shows that the opener is alive. */
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
 * Asks the opener first for the few files that show more to a privileged process. Tries to open all other files in this
 * process, and asks the opener only if access is denied and the rules know the path. The opener always opens files for
 * reading, whatever `flags` are.
 */
static int client_open_file(struct sys *sys, const char *path, int flags)
{
    struct opener_client *client = sys->owner;
    bool sampling = client->rules.permissions.sampling;

    if (opener_path_asks_opener_first(path, sampling)) {
        int fd = client_ask_for_file(client, path);
        return fd >= 0 ? fd : sys_own_open_file(sys, path, flags);
    }
    int fd = sys_own_open_file(sys, path, flags);
    bool known =
        opener_path_kind(path, sampling) != OPENER_FILE_UNKNOWN || opener_rules_permit_file(&client->rules, path);
    if (!error_is_denied(fd) || !known)
        return fd;
    int given = client_ask_for_file(client, path);
    /*
     * -EBADRQC means that the opener refused the path; the error from this process's own attempt is more informative.
     */
    return given == -EBADRQC ? fd : given;
}

static int client_read_state(void *owner, const struct state_request *request)
{
    struct opener_client *client = owner;
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    struct opener_reply reply;

    buffer_clear(&client->packet);
    int r = opener_request_write_state(request, &client->packet);
    return r < 0 ? r : client_ask(client, &(struct fd_list){0}, 0, &reply, &opened);
}

static int client_start_finder(struct sys *sys, int ret[2])
{
    struct opener_client *client = sys->owner;
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

void opener_client_done(struct opener_client *client)
{
    buffer_done(&client->packet);
    opener_rules_done(&client->rules);
    if (client->socket >= 0)
        close(client->socket);
    client->socket = -1;
}

/* --- Process --- */

#define REMEDY "; --no-opener runs without it"
/* How long the opener may take to start (no client is waiting at that time), and to accept a request. */
#define PATIENCE_S 10
/*
 * Maximum waiting time (process/stragglers.h) for children that open uprobes in one program. A uprobe is opened on each
 * CPU, and for each CPU the kernel visits all processes that run the program.
 */
#define PROGRAMS_PATIENCE_NS (5 * NSEC_PER_SEC)
/* How long the opener may take to exit before it is killed. */
#define END_SOON_NS (100 * NSEC_PER_MSEC)
/* How long the opener may take to exit if it has to remove socket files. */
#define REMOVAL_NS NSEC_PER_SEC

DEFINE_CLEANUP(struct opener *, opener_free);

static int opener_find_cgroups(struct sys *sys, char **ret)
{
    struct hierarchy hierarchy;

    if (hierarchy_find(sys, &hierarchy, NULL) == 0) {
        *ret = hierarchy.path;
        return 0;
    }
    *ret = strdup("");
    return *ret ? 0 : -ENOMEM;
}

/* --- Child --- */

struct opener_process {
    struct sys *sys;
    struct bpf_calls bpf;
    const struct user *user;
    struct event_quota events;
    struct quota bpf_programs;
    struct finders finders;
    struct stragglers stragglers, programs;
    struct bound_sockets sockets;
    struct opener_server server;
};

static unsigned opener_work(const struct opener_rules *rules)
{
    const struct opener_permissions *permissions = &rules->permissions;
    bool loads_bpf = permissions->bpf_slots || permissions->sampling; /* off-CPU sampling uses a BPF program */

    return (permissions->sampling ? SANDBOX_SAMPLES : 0) | (loads_bpf ? SANDBOX_LOADS_BPF : 0) |
           (permissions->state_files || permissions->uprobes ? SANDBOX_FORKS : 0) |
           (rules->needs_admin ? SANDBOX_NEEDS_ADMIN : 0) | (permissions->n_sockets ? SANDBOX_REMOVES : 0);
}

/* Makes the BPF program loader, which lives as long as this process and is never freed. */
static int bind_bpf(struct opener_process *process, struct error *error)
{
    struct bpf_loader *loader;

    if (!(opener_work(&process->server.rules) & SANDBOX_LOADS_BPF))
        return 0;
    if (bpf_loader_new(process->sys, &loader) < 0)
        return error_oom(error);
    bpf_loader_bind(loader, &process->bpf);
    return 0;
}

/*
 * Must be called before the process enters the sandbox, where it is not dumpable, so that only root may open its files
 * below /proc/self.
 */
static int open_quotas(const struct opener_server *server, struct error *error)
{
    struct rlimit limit;
    int r = event_quota_open(server->events, &server->rules);

    if (r == 0 && server->rules.permissions.bpf_slots)
        r = quota_open(server->bpf_programs, 1);
    if (r == -EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
        return error_set(error, r,
                         "the limit of open files is %llu, and the opener needs one for each CPU and some more; raise "
                         "LimitNOFILE= (ulimit -n)",
                         (unsigned long long)limit.rlim_cur);
    return r < 0 ? error_set(error, r, "cannot count open files with epoll(7) and /proc/self/fdinfo: %s", strerror(-r))
                 : 0;
}

static int enter_sandbox(const struct opener_process *process, struct child_hello *hello, struct error *error)
{
    const struct opener_server *server = &process->server;
    struct sandboxed sandboxed = {0};
    int fds[2 + 2 + 2 * EVENT_QUOTAS + BOUND_SOCKETS_MAX], n = 0;

    fds[n++] = server->socket;
    fds[n++] = server->reader;
    fds[n++] = server->bpf_programs->epoll;
    fds[n++] = server->bpf_programs->list;
    for (size_t i = 0; i < EVENT_QUOTAS; i++) {
        fds[n++] = server->events->quotas[i].epoll;
        fds[n++] = server->events->quotas[i].list;
    }
    for (size_t i = 0; i < process->sockets.n; i++)
        fds[n++] = process->sockets.directories[i];
    unsigned work = opener_work(&server->rules);
    if (work & SANDBOX_LOADS_BPF) /* no library can be loaded inside the sandbox */
        libbpf_preload();
    int r = sandbox_enter(&(struct sandbox){.kind = SANDBOX_OPENER, .fds = fds, .n_fds = (size_t)n, .work = work},
                          &sandboxed, error);
    hello->capabilities = sandboxed.capabilities;
    hello->filtered = sandboxed.filtered;
    return r;
}

static int opener_begin(void *userdata, int socket, struct child_hello *ret, struct error *error)
{
    struct opener_process *process = userdata;
    struct opener_server *server = &process->server;
    struct error cause = {0};

    server->socket = socket;
    int r = user_allow_kill(process->user, &cause);
    if (r == 0)
        r = bind_bpf(process, &cause);
    if (r == 0)
        r = open_quotas(server, &cause);
    bound_sockets_open(&process->sockets);
    if (r == 0)
        r = enter_sandbox(process, ret, &cause);
    malloc_trim(0); /* gives back the memory used to build the filter */
    return r < 0 ? error_set(error, r, "the opener did not start: %.200s" REMEDY, cause.message) : 0;
}

static int opener_serve(void *userdata, int socket)
{
    const struct opener_process *process = userdata;

    (void)socket;
    int r = opener_server_run(&process->server);
    bound_sockets_remove(&process->sockets);
    return r;
}

/* --- Parent --- */

/*
 * Limits how long sending a request blocks while the opener does not receive; client_set_patience() limits the wait for
 * a reply.
 */
static int socket_set_patience(int socket)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};

    return setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ? -errno : 0;
}

static int opener_fork(struct opener *opener, struct sys *sys, const struct user *user, int reader, struct error *error)
{
    struct opener_process process = {
        .sys = sys,
        .user = user,
        .events = EVENT_QUOTA_CLOSED,
        .bpf_programs = QUOTA_CLOSED,
        .programs.waited_max_ns = PROGRAMS_PATIENCE_NS,
        .sockets = opener->sockets,
        .server = {.sys = sys,
                   .reader = reader,
                   .rules = opener->client.rules,
                   .bpf = &process.bpf,
                   .cgroups = opener->cgroups,
                   .events = &process.events,
                   .bpf_programs = &process.bpf_programs,
                   .finders = &process.finders,
                   .stragglers = &process.stragglers,
                   .programs = &process.programs},
    };
    const struct child_plan plan = {
        .name = "perfcountd-opener",
        .failure = "the opener did not start",
        .remedy = REMEDY,
        .patience_s = PATIENCE_S,
        .kept = {.n = 1, .fds = {reader}},
        .userdata = &process,
        .begin = opener_begin,
        .serve = opener_serve,
    };
    struct child_hello hello;

    int r = child_start(&plan, &opener->child, &opener->client.socket, &hello, error);
    if (r < 0)
        return r;
    opener->pid = opener->child.pid;
    opener->capabilities = hello.capabilities;
    opener->filtered = hello.filtered;
    r = socket_set_patience(opener->client.socket);
    return r < 0 ? error_set(error, r, "the opener did not start: %s", strerror(-r)) : 0;
}

static struct opener *opener_new(struct sys *sys, struct opener_permissions *permissions)
{
    struct opener *opener = calloc(1, sizeof(*opener));

    if (!opener) {
        opener_permissions_done(permissions);
        return NULL;
    }
    opener->client.socket = -1;
    opener->child = CHILD_NONE;
    opener->user = geteuid();
    if (opener_rules_init(&opener->client.rules, sys, permissions) < 0 ||
        opener_find_cgroups(sys, &opener->cgroups) < 0)
        return opener_free(opener);
    const struct opener_permissions *taken = &opener->client.rules.permissions;
    if (bound_sockets_init(taken->sockets, taken->n_sockets, &opener->sockets) < 0)
        return opener_free(opener);
    opener->removes_sockets = taken->n_sockets > 0;
    return opener;
}

int opener_start(const struct privileged_calls *calls, struct opener_permissions *permissions, const struct user *user,
                 int reader, struct opener **ret, struct error *error)
{
    /* Neither the daemon nor the opener can mount tracefs after the fork. */
    machine_find_tracefs(calls->sys);
    _cleanup_(opener_freep) struct opener *opener = opener_new(calls->sys, permissions);
    if (!opener)
        return error_oom(error);
    int r = opener_fork(opener, calls->sys, user, reader, error);
    if (r < 0)
        return r;
    opener_client_attach(&opener->client, calls);
    opener->bpf = calls->bpf;
    *ret = steal(opener);
    return 0;
}

bool opener_reap(struct opener *opener)
{
    return child_reap(&opener->child, &opener->status);
}

/* Only SIGKILL terminates a stopped process. At worst, socket files are left behind. */
bool opener_kill(struct opener *opener)
{
    opener->client.lost = true;
    if (child_wait(&opener->child, END_SOON_NS, &opener->status))
        return true;
    opener->killed = true;
    kill(opener->child.pid, SIGKILL);
    return opener_reap(opener);
}

void opener_describe_end(const struct opener *opener, char *text, size_t size)
{
    if (opener->killed)
        snprintf(text, size, "process %d sent an invalid reply and was killed", (int)opener->pid);
    else
        child_describe_end(opener->pid, opener->status, text, size);
}

int opener_take_late_reply(struct opener *opener)
{
    return opener_client_take_late_reply(&opener->client);
}

int opener_poll_fd(const struct opener *opener)
{
    return opener->client.socket;
}

struct opener *opener_free(struct opener *opener)
{
    if (!opener)
        return NULL;
    if (opener->bpf) /* collectors are closed later, and must not call the opener then */
        *opener->bpf = (struct bpf_calls){0};
    opener_client_done(&opener->client);
    bound_sockets_done(&opener->sockets);
    if (opener->removes_sockets)
        child_wait(&opener->child, REMOVAL_NS, &opener->status);
    child_end(&opener->child, &opener->status);
    free(opener->cgroups);
    free(opener);
    return NULL;
}

/* --- BPF programs --- */

/* Sets the message for an error that came without one, because the opener failed before it made the call. */
static int start_fail(int code, const char *message, struct error *error)
{
    static const struct {
        int error;
        const char *sentence;
    } known[] = {
        {EUNATCH, "perfcountd was started without this engine, or for fewer cgroups; restart perfcountd"},
        {ENOSYS, "this perfcountd was built without BPF"},
        {ETIMEDOUT, "the opener does not answer; if it never does, restart perfcountd"},
        {EPIPE, REASON_OPENER_GONE "; " REASON_OPENER_GONE_REMEDY},
    };

    if (*message)
        return error_set(error, code, "%s", message);
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (known[i].error == -code)
            return error_set(error, code, "%s", known[i].sentence);
    return error_set(error, code, "the opener refuses to count cgroups by BPF (%s)", error_name(code));
}

static int client_ask_bpf(struct opener_client *client, const struct opener_bpf_packet *packet,
                          const struct fd_list *given, struct opener_reply *reply, struct fd_list *opened)
{
    bool starts = packet->call == OPENER_BPF_START;
    bool is_slow = starts || packet->call == OPENER_BPF_ATTACH || packet->call == OPENER_OFF_CPU_START ||
                   packet->call == OPENER_OFF_CPU_STOP;
    unsigned patience_ms = is_slow ? OPENER_BPF_PATIENCE_MS : OPENER_PATIENCE_MS;

    buffer_clear(&client->packet);
    int r = opener_bpf_write(packet, &client->packet);
    return r < 0 ? r : opener_client_ask(client, given, starts ? 2 : 0, patience_ms, reply, opened);
}

/* Sends the opener a BPF call whose reply is only an error code. */
static int client_order_bpf(struct opener_client *client, const struct opener_bpf_packet *packet,
                            const struct fd_list *given)
{
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    struct opener_reply reply;

    return client_ask_bpf(client, packet, given, &reply, &opened);
}

/* Returns whether the opener has exited, even if the daemon has not handled this yet. */
static bool client_is_lost(void *owner)
{
    const struct opener_client *client = owner;
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    return client->lost || recvmsg(client->socket, &message, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static int client_start(void *owner, const struct bpf_shape *shape, struct bpf_maps *ret, struct error *error)
{
    const struct opener_bpf_packet packet = {.call = OPENER_BPF_START, .shape = *shape};
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    struct opener_client *client = owner;
    struct opener_reply reply = {0};

    if (shape->events == 0 && !client_is_lost(client))
        return error_set(error, -E2BIG, BPF_NO_EVENTS);
    int r = client_ask_bpf(owner, &packet, &(struct fd_list){0}, &reply, &opened);
    if (r == 0 && opened.n < 2)
        r = -EMFILE;
    if (r < 0) {
        reply.message[sizeof(reply.message) - 1] = '\0';
        return start_fail(r, r == reply.error ? reply.message : "", error);
    }
    client->bpf_events = shape->events;
    *ret = (struct bpf_maps){.counts = opened.fds[0], .records = opened.fds[1]};
    opened.n = 0;
    return 0;
}

static int client_set_cpu(void *owner, unsigned cpu, const struct bpf_event *events, const int *fds)
{
    const struct opener_client *client = owner;
    struct opener_bpf_packet packet = {.call = OPENER_BPF_SET_CPU, .number = cpu};
    struct fd_list given = {0};

    for (size_t i = 0; i < client->bpf_events; i++) {
        packet.events[i] = events[i];
        if (events[i].source == SOURCE_READ)
            given.fds[given.n++] = fds[i];
    }
    return client_order_bpf(owner, &packet, &given);
}

static int client_attach(void *owner, bool attached)
{
    const struct opener_bpf_packet packet = {.call = OPENER_BPF_ATTACH, .number = attached};

    return client_order_bpf(owner, &packet, &(struct fd_list){0});
}

static int client_assign(void *owner, int cgroup_fd, uint32_t slot, uint64_t *ret_id)
{
    const struct opener_bpf_packet packet = {.call = OPENER_BPF_ASSIGN, .number = slot};
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    const struct fd_list given = {1, {cgroup_fd}};
    struct opener_reply reply;
    int r = client_ask_bpf(owner, &packet, &given, &reply, &opened);

    if (r == 0)
        *ret_id = reply.id;
    return r;
}

static int client_withdraw(void *owner, uint64_t id)
{
    const struct opener_bpf_packet packet = {.call = OPENER_BPF_WITHDRAW, .id = id};

    return client_order_bpf(owner, &packet, &(struct fd_list){0});
}

static int client_flush(void *owner)
{
    const struct opener_bpf_packet packet = {.call = OPENER_BPF_FLUSH};

    return client_order_bpf(owner, &packet, &(struct fd_list){0});
}

static void client_stop(void *owner)
{
    const struct opener_bpf_packet packet = {.call = OPENER_BPF_STOP};

    (void)client_order_bpf(owner, &packet, &(struct fd_list){0});
}

/* --- off-CPU time --- */

static int client_off_cpu_start(void *owner, const struct off_cpu_shape *shape, uint32_t *ret_number,
                                struct error *error)
{
    const struct opener_bpf_packet packet = {.call = OPENER_OFF_CPU_START, .id = shape->threshold_ns};
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    struct opener_reply reply = {0};
    int r = client_ask_bpf(owner, &packet, &(struct fd_list){0}, &reply, &opened);

    if (r == 0) {
        *ret_number = (uint32_t)reply.id;
        return 0;
    }
    if (r == -EUNATCH)
        return error_set(error, -EOPNOTSUPP, REASON_SAMPLER_LATE);
    reply.message[sizeof(reply.message) - 1] = '\0';
    return start_fail(r, r == reply.error ? reply.message : "", error);
}

static int client_off_cpu_set_cpu(void *owner, uint32_t number, unsigned cpu, int samples, int alarm)
{
    const struct opener_bpf_packet packet = {.call = OPENER_OFF_CPU_SET_CPU, .number = cpu, .id = number};

    return client_order_bpf(owner, &packet, &(struct fd_list){2, {samples, alarm}});
}

static int client_off_cpu_read(void *owner, uint32_t number, struct off_cpu_totals *ret)
{
    const struct opener_bpf_packet packet = {.call = OPENER_OFF_CPU_READ, .id = number};
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    struct opener_reply reply;
    int r = client_ask_bpf(owner, &packet, &(struct fd_list){0}, &reply, &opened);

    if (r == 0)
        *ret = reply.totals;
    return r;
}

static void client_off_cpu_stop(void *owner, uint32_t number)
{
    const struct opener_bpf_packet packet = {.call = OPENER_OFF_CPU_STOP, .id = number};

    (void)client_order_bpf(owner, &packet, &(struct fd_list){0});
}

/* --- all calls --- */

void opener_client_attach(struct opener_client *client, const struct privileged_calls *calls)
{
    struct sys_calls seam = sys_own_calls;

    seam.perf_event_open = client_perf_event_open;
    seam.open_group = client_open_group;
    seam.open_file = client_open_file;
    seam.start_finder = client->rules.permissions.sampling ? client_start_finder : NULL;
    calls->sys->calls = seam;
    calls->sys->owner = client;
    *calls->bpf = (struct bpf_calls){
        .owner = client,
        .start = client_start,
        .set_cpu = client_set_cpu,
        .attach = client_attach,
        .assign = client_assign,
        .withdraw = client_withdraw,
        .flush = client_flush,
        .is_lost = client_is_lost,
        .stop = client_stop,
        .off_cpu_start = client_off_cpu_start,
        .off_cpu_set_cpu = client_off_cpu_set_cpu,
        .off_cpu_read = client_off_cpu_read,
        .off_cpu_stop = client_off_cpu_stop,
    };
    if (client->rules.permissions.state_files) {
        calls->state_files->owner = client;
        calls->state_files->read = client_read_state;
    }
}
