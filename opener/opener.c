/* SPDX-License-Identifier: Apache-2.0 */
/* The opener: see opener.h. */
#include "opener/opener.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bpf/loader.h"
#include "cgroups/cgroupfs.h"
#include "opener/jail.h"
#include "opener/opener-server.h"
#include "opener/tally-client.h"
#include "perf/machine.h"
#include "process/fdpass.h"
#include "process/privileges.h"
#include "process/program.h"

/* How long the opener may take to start, while nothing else waits. */
#define PATIENCE_S 10
/* For a program of uprobes at once: they are opened on each CPU, and there the kernel visits all its processes. */
#define PROGRAMS_PATIENCE_NS (5 * NSEC_PER_SEC)
#define END_MS 1000
#define END_SOON_MS 100

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

/* The opener */

/* With its /proc/PID/stat, which a /proc that hides processes (hidepid=) would not show to the daemon. */
static int opener_send_hello(int socket, const struct opener_hello *hello)
{
    _cleanup_(closep) int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

    return fd_socket_send_one(socket, hello, sizeof(*hello), stat);
}

/* It lives as long as this process. */
static int bind_tally(struct sys *sys, const struct opener_rules *rules, struct error *error)
{
    struct tally_loader *loader;

    if (!rules->permissions.tally_slots)
        return 0;
    if (tally_loader_new(&loader) < 0)
        return error_oom(error);
    tally_loader_bind(loader, sys);
    return 0;
}

/* Before the jail, in which nothing below /proc/self may be opened by those who are not root. */
static int open_quotas(const struct opener_server *server, struct error *error)
{
    struct rlimit limit;
    int r = event_quota_open(server->events, &server->rules);

    if (r == 0 && server->rules.permissions.tally_slots)
        r = quota_open(server->tallies, 1);
    if (r == -EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
        return error_set(error, r,
                         "the limit of open files is %llu, and the opener needs one for each CPU and some more; "
                         "raise LimitNOFILE (ulimit -n)",
                         (unsigned long long)limit.rlim_cur);
    return r < 0 ? error_set(error, r, "cannot count what is open, by epoll(7) and /proc/self/fdinfo: %s", strerror(-r))
                 : 0;
}

static int enter_jail(const struct opener_server *server, struct opener_hello *hello, struct error *error)
{
    int fds[2 + 2 + 2 * EVENT_QUOTAS], n = 0;
    bool filtered = false;

    fds[n++] = server->socket;
    fds[n++] = server->reader;
    fds[n++] = server->tallies->epoll;
    fds[n++] = server->tallies->list;
    for (size_t i = 0; i < EVENT_QUOTAS; i++) {
        fds[n++] = server->events->quotas[i].epoll;
        fds[n++] = server->events->quotas[i].list;
    }
    int r = opener_jail_enter(fds, (size_t)n, &server->rules, &hello->capabilities, &filtered, error);
    hello->filtered = filtered;
    return r;
}

/* _exit(2) does not run the handlers of exit(3), which are the daemon's. */
static _Noreturn void opener_run(struct sys *sys, const struct opener *opener, const struct user *user, int socket,
                                 int reader)
{
    struct event_quota events = EVENT_QUOTA_CLOSED;
    struct quota tallies = QUOTA_CLOSED;
    struct finders finders = {0};
    struct stragglers stragglers = {0}, programs = {.waited_max_ns = PROGRAMS_PATIENCE_NS};
    struct opener_server server = {.sys = sys,
                                   .socket = socket,
                                   .reader = reader,
                                   .rules = opener->client.rules,
                                   .cgroups = opener->cgroups,
                                   .events = &events,
                                   .tallies = &tallies,
                                   .finders = &finders,
                                   .stragglers = &stragglers,
                                   .programs = &programs};
    struct opener_hello hello = {0};
    struct error error = {0};

    program_set_name("perfcountd-opener");
    hello.error = user_allow_kill(user, &error);
    if (hello.error == 0)
        hello.error = bind_tally(sys, &server.rules, &error);
    if (hello.error == 0)
        hello.error = open_quotas(&server, &error);
    if (hello.error == 0)
        hello.error = enter_jail(&server, &hello, &error);
    if (hello.error < 0)
        snprintf(hello.message, sizeof(hello.message), "%.200s", error.message);
    malloc_trim(0); /* of the filter, which was put together on the heap */
    int r = opener_send_hello(socket, &hello);
    if (r == 0 && hello.error == 0)
        r = opener_server_run(&server);
    _exit(r < 0 || hello.error < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* The daemon */

static int socket_set_patience(int socket)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};

    if (setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
        return -errno;
    return 0;
}

static int opener_receive_hello(struct opener *opener, struct error *error)
{
    struct opener_hello hello = {0};

    if (fd_socket_receive_one(opener->client.socket, &hello, sizeof(hello), &opener->child.stat_fd) < 0)
        return error_set(error, -EPIPE, "the opener of counters does not start; --no-opener runs without it");
    if (hello.error)
        return error_set(error, hello.error, "the opener of counters cannot start: %.200s; --no-opener runs without it",
                         hello.message);
    opener->capabilities = hello.capabilities;
    opener->filtered = hello.filtered;
    return 0;
}

static int opener_fork(struct opener *opener, struct sys *sys, const struct user *user, int reader, struct error *error)
{
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return error_set(error, -errno, "cannot make a socket pair: %s", strerror(errno));
    opener->client.socket = sockets[0];
    _cleanup_(closep) int theirs = sockets[1];
    int r = socket_set_patience(sockets[0]);
    opener->child.pid = r < 0 ? -1 : fork();
    opener->pid = opener->child.pid;
    if (opener->child.pid < 0)
        return error_set(error, -errno, "cannot start the opener of counters: %s", strerror(errno));
    if (opener->child.pid == 0)
        opener_run(sys, opener, user, theirs, reader);
    return 0;
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
    return opener;
}

int opener_start(struct sys *sys, struct opener_permissions *permissions, const struct user *user, int reader,
                 struct opener **ret, struct error *error)
{
    /* Neither of the two processes can mount tracefs later. */
    machine_find_tracefs(sys);
    _cleanup_(opener_freep) struct opener *opener = opener_new(sys, permissions);
    if (!opener)
        return error_oom(error);
    int r = opener_fork(opener, sys, user, reader, error);
    if (r == 0)
        r = opener_receive_hello(opener, error);
    if (r < 0)
        return r;
    opener->sys = sys;
    opener_client_attach(&opener->client, sys);
    opener_client_attach_tally(sys);
    *ret = steal(opener);
    return 0;
}

bool opener_reap(struct opener *opener)
{
    return child_reap(&opener->child, &opener->status);
}

/* Without a descriptor poll(2) sleeps. */
static void opener_wait_for_end(const struct opener *opener, int ms)
{
    struct pollfd fd = {.fd = (int)syscall(SYS_pidfd_open, opener->child.pid, 0), .events = POLLIN};

    (void)!poll(&fd, 1, ms);
    if (fd.fd >= 0)
        close(fd.fd);
}

/* The opener has nothing to finish, and no other signal ends a process that is stopped. */
bool opener_kill(struct opener *opener)
{
    opener->client.lost = true;
    if (opener_reap(opener))
        return true;
    opener_wait_for_end(opener, END_SOON_MS);
    if (opener_reap(opener))
        return true;
    opener->killed = true;
    kill(opener->child.pid, SIGKILL);
    return opener_reap(opener);
}

void opener_describe_end(const struct opener *opener, char *text, size_t size)
{
    if (opener->killed)
        snprintf(text, size, "process %d gave a wrong answer and was killed", (int)opener->pid);
    else
        child_describe_end(opener->pid, opener->status, text, size);
}

/* An opener that hangs in the kernel is left to the process that inherits it. */
static void opener_end(struct opener *opener)
{
    if (opener_kill(opener))
        return;
    opener_wait_for_end(opener, END_MS);
    opener_reap(opener);
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
    if (opener->sys) /* collectors are closed later */
        opener->sys->tally = NULL;
    opener_client_done(&opener->client);
    opener_end(opener);
    child_forget(&opener->child);
    free(opener->cgroups);
    free(opener);
    return NULL;
}
