/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the events of a request, without allocating memory. */
#include "opener/open-events.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/hash-index.h"
#include "opener/safe-open.h"

/* The longest wait for a child. It is shorter than the daemon's wait for the opener (client.h, OPENER_PATIENCE_MS). */
#define PATIENCE_NS NSEC_PER_SEC

static bool is_program(const char *text)
{
    return text && strchr(text, '/');
}

/*
 * A process that holds the descriptor of a tracepoint or probe may set its filter without any capability, and a filter
 * can make the kernel follow pointers of the record. A filter can be set only once (kernel/trace/trace_events_filter.c,
 * ftrace_profile_set_filter()), so the opener sets one here that lets everything pass.
 */
#define SEAL "common_pid >= 0"

static int event_seal(const struct event_opening *opening, uint32_t type, int fd)
{
    struct sys *sys = opening->sys;

    if (fd < 0 || !opener_rules_type_takes_filter(opening->rules, type))
        return fd;
    if (sys->ioctl(sys, fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)SEAL) == 0)
        return fd;
    sys->close(sys, fd);
    return -EBADRQC;
}

/* The programs of a request's uprobes. They are held open, so that nobody can replace them meanwhile. */
struct programs {
    int fds[OPENER_EVENTS_MAX]; /* a descriptor, -errno of opening it, or -ENODATA for an event without a program */
    char links[OPENER_EVENTS_MAX][32];
};

static void programs_done(struct programs *programs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        closep(&programs->fds[i]);
}

/*
 * Returns the text to pass to the kernel for the n-th event: for a uprobe, the path of a descriptor. The owner of a
 * program could replace it by another one, and a uprobe in the middle of an instruction would change that program.
 */
static const char *programs_find(struct programs *programs, struct sys *sys, size_t n, const char *text)
{
    programs->fds[n] = is_program(text) ? opener_safe_path_open(sys, text) : -ENODATA;
    if (programs->fds[n] == -ENODATA)
        return text;
    snprintf(programs->links[n], sizeof(programs->links[n]), "/proc/self/fd/%d", programs->fds[n]);
    return programs->fds[n] < 0 ? "" : programs->links[n];
}

static int programs_result(const struct programs *programs, struct sys *sys, size_t n, int result)
{
    if (programs->fds[n] >= 0 || programs->fds[n] == -ENODATA || result == -ECANCELED)
        return result;
    if (result >= 0)
        sys->close(sys, result);
    return programs->fds[n];
}

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
    opening->sys->open_group(opening->sys, &group, ret);
    for (size_t i = 0; i < group.n; i++)
        ret[i] = programs_result(&programs, opening->sys, i, event_seal(opening, attrs[i].type, ret[i]));
    programs_done(&programs, group.n);
}

/* --- the child that opens uprobes --- */

/* Returns a hash of the paths of all programs in a request, usually one; 0 if the request has no uprobe. */
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

/* Runs in the child. Closes the opener's other descriptors, so that a child that hangs does not keep them open. */
static _Noreturn void child_run(const struct event_opening *opening, const struct opener_request *request,
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

/* Receives the reply of a child that has ended. Fills `ret` and returns 0, or returns -errno. */
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
        child_run(opening, request, given, its_socket);
    close(steal_fd(&its_socket)); /* so that a child that ends without a reply is noticed */
    r = straggler_await(&child, opening->programs, MIN(patience, PATIENCE_NS));
    if (r != 0)
        return r == -EINPROGRESS ? -EHOSTDOWN : r;
    return child_take_results(socket, request->group->n_events, ret);
}

void opener_open_events(const struct event_opening *opening, const struct opener_request *request,
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
