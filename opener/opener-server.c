/* SPDX-License-Identifier: Apache-2.0 */
/* Serving a request allocates no memory, except in the calls of server->bpf. */
#include "opener/opener-server.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/intern.h"
#include "opener/safe-open.h"
#include "process/child.h"
#include "process/fdpass.h"
#include "process/finder.h"

struct event_opening {
    struct sys *sys;
    const struct opener_rules *rules;
    struct stragglers *programs; /* children that open uprobes, or NULL to open events without children */
};

/* --- State files --- */

/*
 * Converts an error from sending to the reader of state files: -EAGAIN if the reader's socket is full or too many
 * descriptors are in flight (unix(7)), -ENOSYS if the reader has exited.
 */
static int error_of_reader(int r)
{
    if (r == -ETOOMANYREFS || r == -ENOBUFS || r == -ENOMEM)
        return -EAGAIN;
    return r == -EPIPE || r == -ECONNRESET || r == -ENOTCONN ? -ENOSYS : r;
}

/* Returns 0 or -errno. May block forever if the path leads to another user's file system. Allocates nothing. */
static int open_and_send(struct sys *sys, const struct state_request *request, const char *path, int reader)
{
    struct stat status;

    _cleanup_(closep) int fd = opener_safe_path_open_of(sys, path, request->user);
    if (fd == -ENOTDIR) /* ENOTDIR would reveal which components of the path exist */
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
 * Runs in the child: opens a state file and sends it to the reader. The exit status is 0 or an errno. Closes the
 * daemon's socket, which a hanging child would keep open.
 */
static _Noreturn void state_child_run(struct sys *sys, const struct state_request *request, const char *path,
                                      int reader)
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
        state_child_run(sys, request, path, reader);
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

static int own_state_file_read(void *owner, const struct state_request *request)
{
    struct own_state_files *own = owner;

    return opener_state_file_send(own->sys, request, *own->reader, &own->stragglers);
}

void own_state_files_bind(struct own_state_files *own, struct state_files *ret)
{
    ret->owner = own;
    ret->read = own_state_file_read;
}

/* --- Events --- */

/*
 * Maximum time to wait for a child, less than the daemon waits for the opener (OPENER_PATIENCE_MS in opener/client.c).
 */
#define PATIENCE_NS NSEC_PER_SEC

static bool is_program(const char *text)
{
    return text && strchr(text, '/');
}

/*
 * A process that holds a tracepoint's or probe's descriptor needs no capability to set its filter, and a filter can
 * make the kernel follow pointers in the record. Since an event's filter can be set only once
 * (kernel/trace/trace_events_filter.c, ftrace_profile_set_filter()), the opener sets a filter that accepts every
 * record.
 */
#define SEAL "common_pid >= 0"

static int event_seal(const struct event_opening *opening, uint32_t type, int fd)
{
    struct sys *sys = opening->sys;

    if (fd < 0 || !opener_rules_type_takes_filter(opening->rules, type))
        return fd;
    if (sys_ioctl(sys, fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)SEAL) == 0)
        return fd;
    sys_close(sys, fd);
    return -EBADRQC;
}

/*
 * The program files in which a request sets uprobes. They are kept open, and the kernel gets their descriptors, so that
 * nobody can replace a file while its uprobe is set.
 */
struct programs {
    /* The program of each event: a descriptor, the error from opening it, or -ENODATA for an event without a program.
     */
    int fds[OPENER_EVENTS_MAX];
    char links[OPENER_EVENTS_MAX][32];
};

static void programs_done(struct programs *programs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        closep(&programs->fds[i]);
}

/*
 * Returns the text to pass to the kernel for the n-th event. For a uprobe, this is the path of the open program in
 * /proc/self/fd. With the program's own path, the owner could replace the file in between, and the uprobe could then
 * overwrite the middle of an instruction in the new file.
 */
static const char *programs_find(struct programs *programs, struct sys *sys, size_t n, const char *text)
{
    programs->fds[n] = is_program(text) ? opener_safe_path_open(sys, text) : -ENODATA;
    if (programs->fds[n] == -ENODATA)
        return text;
    snprintf(programs->links[n], sizeof(programs->links[n]), "/proc/self/fd/%d", programs->fds[n]);
    return programs->fds[n] < 0 ? "" : programs->links[n];
}

/* Returns the result for the n-th event, or the error from opening its program. */
static int programs_result(const struct programs *programs, struct sys *sys, size_t n, int result)
{
    if (programs->fds[n] >= 0 || programs->fds[n] == -ENODATA || result == -ECANCELED)
        return result;
    if (result >= 0)
        sys_close(sys, result);
    return programs->fds[n];
}

/* Opens the events in this process. Allocates no memory. */
static void open_here(const struct event_opening *opening, const struct opener_request *request,
                      const struct fd_list *given, int *ret)
{
    struct perf_event_attr attrs[OPENER_EVENTS_MAX];
    const char *texts[OPENER_EVENTS_MAX];
    struct programs programs;
    const struct opener_group_packet *asked = request->group;
    const struct sys_group group = {
        .attrs = attrs,
        .texts = texts,
        .n = asked->n_events,
        .pid = asked->flags & PERF_FLAG_PID_CGROUP ? given->fds[0] : asked->pid,
        .cpu = asked->cpu,
        .leader = asked->leader ? given->fds[given->n - 1] : -1,
        .flags = asked->flags | PERF_FLAG_FD_CLOEXEC,
        .whole = asked->whole,
    };

    for (size_t i = 0; i < group.n; i++) {
        attrs[i] = request->events[i].attr;
        texts[i] = programs_find(&programs, opening->sys, i, opener_request_text(request, i));
    }
    sys_open_group(opening->sys, &group, ret);
    for (size_t i = 0; i < group.n; i++)
        ret[i] = programs_result(&programs, opening->sys, i, event_seal(opening, attrs[i].type, ret[i]));
    programs_done(&programs, group.n);
}

/* --- Uprobes --- */

/* Returns a hash of the paths of all programs (usually one) in a request, or 0 if the request has no uprobe. */
static uint32_t programs_key(const struct opener_request *request)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < request->group->n_events; i++) {
        const char *text = opener_request_text(request, i);
        for (const char *at = is_program(text) ? text : ""; *at; at++)
            hash = hash_mix(hash, (unsigned char)*at);
    }
    return hash ? hash_fold(hash) | 1 : 0;
}

/*
 * Runs in the child: opens the events and sends their descriptors to the opener. Closes the opener's other descriptors,
 * which a hanging child would keep open.
 */
static _Noreturn void events_child_run(const struct event_opening *opening, const struct opener_request *request,
                                       const struct fd_list *given, int socket)
{
    int kept[FD_LIST_MAX + 1], results[OPENER_EVENTS_MAX];
    struct opener_reply reply = {0};
    struct fd_list opened = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    memcpy(kept, given->fds, given->n * sizeof(kept[0]));
    kept[given->n] = socket;
    fd_close_all_but(kept, given->n + 1);
    open_here(opening, request, given, results);
    for (size_t i = 0; i < request->group->n_events; i++)
        opener_reply_add(&reply, &opened, results[i]);
    _exit(-fd_socket_send(socket, &reply, opener_reply_size(&reply), &opened));
}

/* Receives the reply of a child that has exited. Returns 0 with the results in `ret`, or -errno. */
static int child_take_results(int socket, size_t n, int *ret)
{
    struct opener_reply reply;
    struct fd_list opened = {0};
    ssize_t size = fd_socket_receive(socket, &reply, sizeof(reply), &opened, NULL);
    size_t at = 0;

    if (size <= 0)
        return size < 0 ? (int)size : -EIO;
    for (size_t i = 0; i < n; i++)
        ret[i] = reply.results[i] < 0 ? reply.results[i] : opened.fds[at++];
    return 0;
}

static int open_by_child(const struct event_opening *opening, const struct opener_request *request,
                         const struct fd_list *given, uint32_t key, int *ret)
{
    struct straggler child = {.user = key};
    uint64_t patience;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    _cleanup_(closep) int socket = ends[0], its_socket = ends[1];
    int r = straggler_fork(&child, opening->programs, &patience);
    if (r < 0)
        return r;
    if (r == 0)
        events_child_run(opening, request, given, its_socket);
    close(steal_fd(&its_socket)); /* if the child exits without a reply, the opener must see end-of-file */
    r = straggler_await(&child, opening->programs, MIN(patience, PATIENCE_NS));
    if (r != 0)
        return r == -EINPROGRESS ? -EHOSTDOWN : r;
    return child_take_results(socket, request->group->n_events, ret);
}

/* Sets ret[i] to a descriptor of the i-th event, which the caller owns, or to -errno. */
static void opener_open_events(const struct event_opening *opening, const struct opener_request *request,
                               const struct fd_list *given, int *ret)
{
    uint32_t key = opening->programs ? programs_key(request) : 0;
    int r = 0;

    if (!key)
        open_here(opening, request, given, ret);
    else
        r = open_by_child(opening, request, given, key, ret);
    for (size_t i = 0; r < 0 && i < request->group->n_events; i++)
        ret[i] = r;
}

/* --- Finders --- */

/* Runs in the child, as a finder with the opener's privileges and system-call filter, but only its own sockets. */
static _Noreturn void finder_run(pid_t opener, int in, int out)
{
    child_settle(opener, "perfcountd-finder", (const int[]){in, out}, 2);
    _exit(finder_serve(in, out, false));
}

/*
 * Reaps finders that have exited, and returns how many are still running. *ret_place is set to a free element of
 * finders->pids, or to NULL if none is free.
 */
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

/* --- BPF programs --- */

/* Checks that the quota has room for the two maps of one more BPF program. */
static int check_quota(struct quota *quota, struct error *error)
{
    int r = quota_check(quota, 0, 1, 2, (uint64_t)2 * OPENER_PROGRAMS_MAX);

    if (r == -EDQUOT)
        return error_set(error, -EBUSY, "%d BPF programs that count cgroups are loaded, which is the limit",
                         OPENER_PROGRAMS_MAX);
    return r < 0 ? error_set(error, r, "cannot tell how many BPF programs count cgroups: %s", strerror(-r)) : 0;
}

static int add_to_quota(struct quota *quota, const struct bpf_maps *maps, struct error *error)
{
    int r = quota_add(quota, 0, maps->counts);

    if (r == 0)
        r = quota_add(quota, 0, maps->records);
    return r < 0 ? error_set(error, r, "cannot register the maps of the BPF program that counts cgroups: %s%s",
                             strerror(-r), r == -EUSERS ? "; raise fs.epoll.max_user_watches" : "")
                 : 0;
}

static int start_bpf(const struct opener_server *server, const struct bpf_shape *shape, struct fd_list *opened,
                     struct error *error)
{
    struct bpf_maps maps;
    int r = check_quota(server->bpf_programs, error);

    if (r == 0)
        r = server->bpf->start(server->bpf->owner, shape, &maps, error);
    if (r < 0)
        return r;
    r = add_to_quota(server->bpf_programs, &maps, error);
    if (r < 0) {
        sys_close(server->sys, maps.counts);
        sys_close(server->sys, maps.records);
        return r;
    }
    opened->fds[opened->n++] = maps.counts;
    opened->fds[opened->n++] = maps.records;
    return 0;
}

static int serve_start(const struct opener_server *server, const struct bpf_shape *shape, struct opener_reply *reply,
                       struct fd_list *opened)
{
    struct error error = {0};
    int r = start_bpf(server, shape, opened, &error);

    if (r < 0)
        snprintf(reply->message, sizeof(reply->message), "%s", error.message);
    else
        reply->n = 2;
    return r;
}

static int serve_off_cpu_start(const struct opener_server *server, const struct opener_bpf_packet *packet,
                               struct opener_reply *reply)
{
    const struct off_cpu_shape shape = {.cpus = server->rules.n_cpus, .threshold_ns = packet->id};
    struct error error = {0};
    uint32_t number = 0;
    int r = server->bpf->off_cpu_start(server->bpf->owner, &shape, &number, &error);

    if (r < 0)
        snprintf(reply->message, sizeof(reply->message), "%s", error.message);
    reply->id = number;
    return r;
}

static int serve_set_cpu(const struct bpf_calls *bpf, const struct opener_bpf_packet *packet,
                         const struct fd_list *given)
{
    int fds[BPF_EVENTS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < BPF_EVENTS_MAX; i++)
        fds[i] = packet->events[i].source == SOURCE_READ ? given->fds[n++] : -1;
    return bpf->set_cpu(bpf->owner, packet->number, packet->events, fds);
}

/*
 * Makes the BPF call of a checked request, through server->bpf and with the received descriptors. Returns 0, or the
 * call's error with a message in the reply; -ENOSYS if this process cannot load BPF programs; -EBUSY if there are too
 * many programs.
 */
static int opener_bpf_serve(const struct opener_server *server, const struct opener_bpf_packet *packet,
                            const struct fd_list *given, struct opener_reply *reply, struct fd_list *opened)
{
    const struct bpf_calls *bpf = server->bpf;

    if (!bpf_is_available(bpf))
        return -ENOSYS;
    switch ((enum opener_bpf_call)packet->call) {
    case OPENER_BPF_START:
        return serve_start(server, &packet->shape, reply, opened);
    case OPENER_BPF_SET_CPU:
        return serve_set_cpu(bpf, packet, given);
    case OPENER_BPF_ATTACH:
        return bpf->attach(bpf->owner, packet->number == 1);
    case OPENER_BPF_ASSIGN:
        return bpf->assign(bpf->owner, given->fds[0], packet->number, &reply->id);
    case OPENER_BPF_WITHDRAW:
        return bpf->withdraw(bpf->owner, packet->id);
    case OPENER_BPF_FLUSH:
        return bpf->flush(bpf->owner);
    case OPENER_OFF_CPU_START:
        return serve_off_cpu_start(server, packet, reply);
    case OPENER_OFF_CPU_SET_CPU:
        return bpf->off_cpu_set_cpu(bpf->owner, (uint32_t)packet->id, packet->number, given->fds[0], given->fds[1]);
    case OPENER_OFF_CPU_READ:
        return bpf->off_cpu_read(bpf->owner, (uint32_t)packet->id, &reply->totals);
    case OPENER_OFF_CPU_STOP:
        bpf->off_cpu_stop(bpf->owner, (uint32_t)packet->id);
        return 0;
    case OPENER_BPF_STOP:
        bpf->stop(bpf->owner);
        return 0;
    case N_OPENER_BPF_CALLS:
        break;
    }
    return -EBADMSG;
}

/* --- Requests --- */

static bool fd_is_on(int fd, long magic)
{
    struct statfs status;

    return fstatfs(fd, &status) == 0 && (unsigned long)status.f_type == (unsigned long)magic;
}

/*
 * Returns whether the file is `directory` or below it. The kernel reports the file's path through the mount by which it
 * was opened, and appends " (deleted)" if it was removed.
 */
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

/* Returns -EXDEV if `fd` is not a directory in the cgroup hierarchy that perf_event uses. */
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
            sys_close(server->sys, results[i]);
    return r;
}

/*
 * Opens a file in a pseudo file system, and checks the file system's type, because the path leads to some other file if
 * the pseudo file system is not mounted or is hidden by another mount.
 */
static int server_open_on(const struct opener_server *server, const char *path, long magic)
{
    _cleanup_(closep) int fd = sys_open_file(server->sys, path, O_NOFOLLOW);

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

/*
 * The BPF program identifies cgroups by their ids in the cgroup v2 hierarchy, so directories in other file systems are
 * refused.
 */
static int server_bpf(const struct opener_server *server, const struct opener_bpf_packet *packet,
                      const struct fd_list *given, struct opener_reply *reply, struct fd_list *opened)
{
    int r = packet->call == OPENER_BPF_ASSIGN ? server_check_cgroup(server, given->fds[0]) : 0;

    if (r == 0 && packet->call == OPENER_BPF_ASSIGN && !fd_is_on(given->fds[0], CGROUP2_SUPER_MAGIC))
        r = -EXDEV;
    if (r == 0)
        r = opener_bpf_serve(server, packet, given, reply, opened);
    /*
     * The daemon assigns slots to cgroups only after it has tested the BPF program successfully. Until then, it may
     * still fall back to perf events for each cgroup, and needs the higher limit.
     */
    if (r == 0 && packet->call == OPENER_BPF_ASSIGN)
        event_quota_use_bpf(server->events);
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
    case OPENER_REQUEST_BPF:
        return server_bpf(server, request.bpf, given, reply, opened);
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

    do /* the opener must survive a temporary lack of memory */
        r = fd_socket_send(server->socket, &reply, opener_reply_size(&reply), &(struct fd_list){0});
    while ((r == -ENOMEM || r == -ENOBUFS) && ++tries < TRIES_MAX && sched_yield() == 0);
    return r;
}

/*
 * Serves one request. Returns 1 after sending a reply, 0 when the daemon has closed its end of the socket, or -errno.
 */
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
    /*
     * Sending descriptors can fail for lack of memory (ENOMEM) or because too many descriptors are in flight
     * (ETOOMANYREFS). The reply then consists of the error alone.
     */
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
