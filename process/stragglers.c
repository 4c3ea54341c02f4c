/* SPDX-License-Identifier: Apache-2.0 */
#include "process/stragglers.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"

/*
 * The default limit on a user's waiting time, and how fast the waiting time decreases: by a twentieth of the elapsed
 * time.
 */
#define WAITED_MAX_NS (250 * NSEC_PER_MSEC)
#define WAITED_SHARE 20
/*
 * If a user has less waiting time left than this, no child is started for the user, because even a child that does not
 * hang might need more time.
 */
#define PATIENCE_MIN_NS (50 * NSEC_PER_MSEC)
/* Polling interval for a child without pidfd. */
#define LOOK_NS (20 * NSEC_PER_MSEC)

static bool has_straggler(const struct stragglers *stragglers, uint32_t user)
{
    for (size_t i = 0; i < stragglers->n; i++)
        if (stragglers->items[i].user == user)
            return true;
    return false;
}

/* Returns the user's waiting time as of `now`. */
static uint64_t used_now(const struct waiting_time *time, uint64_t now)
{
    uint64_t back = (now - time->at_ns) / WAITED_SHARE;

    return time->used_ns > back ? time->used_ns - back : 0;
}

/* Returns the user's entry. A user without an entry takes over the entry of the user with the least waiting time. */
static struct waiting_time *find_time(struct stragglers *stragglers, uint32_t user, uint64_t now)
{
    struct waiting_time *found = &stragglers->times[0];

    for (size_t i = 0; i < ARRAY_SIZE(stragglers->times); i++) {
        struct waiting_time *time = &stragglers->times[i];
        if (time->user == user)
            return time;
        if (used_now(time, now) < used_now(found, now))
            found = time;
    }
    *found = (struct waiting_time){.user = user, .at_ns = now};
    return found;
}

uint64_t stragglers_patience(struct stragglers *stragglers, uint32_t user, uint64_t now)
{
    size_t n_of_users = stragglers->n - has_straggler(stragglers, 0);

    if (has_straggler(stragglers, user) || (user && n_of_users >= STRAGGLERS_MAX))
        return 0;
    if (!user)
        return STRAGGLER_DEADLINE_NS;
    uint64_t most = stragglers->waited_max_ns ? stragglers->waited_max_ns : WAITED_MAX_NS;
    uint64_t used = used_now(find_time(stragglers, user, now), now);
    return used + PATIENCE_MIN_NS > most ? 0 : most - used;
}

void stragglers_count_wait(struct stragglers *stragglers, uint32_t user, uint64_t now, uint64_t waited_ns)
{
    if (!user)
        return;
    struct waiting_time *time = find_time(stragglers, user, now);
    time->used_ns = used_now(time, now) + waited_ns;
    time->at_ns = now;
}

int straggler_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/*
 * ECHILD means that the child has exited: the kernel itself reaps the children of a process that inherited an ignored
 * SIGCHLD.
 */
bool straggler_reap(pid_t pid, int *ret_status)
{
    pid_t reaped = waitpid(pid, ret_status, WNOHANG);

    return reaped > 0 || (reaped < 0 && errno == ECHILD);
}

void stragglers_add(struct stragglers *stragglers, const struct straggler *straggler)
{
    stragglers->items[stragglers->n++] = *straggler;
}

void stragglers_tend(struct stragglers *stragglers, uint64_t now,
                     void (*over)(void *userdata, const struct straggler *straggler, int status), void *userdata)
{
    size_t n = 0;

    for (size_t i = 0; i < stragglers->n; i++) {
        struct straggler straggler = stragglers->items[i];
        int status = 0;
        bool ended = straggler_reap(straggler.pid, &status), late = !ended && now >= straggler.deadline_ns;
        if (over && !straggler.killed && (ended || late))
            over(userdata, &straggler, ended ? status : -1);
        if (late && !straggler.killed)
            kill(straggler.pid, SIGKILL);
        straggler.killed |= late;
        if (ended)
            closep(&straggler.pidfd);
        else
            stragglers->items[n++] = straggler;
    }
    stragglers->n = n;
}

uint64_t stragglers_due(const struct stragglers *stragglers)
{
    uint64_t due = UINT64_MAX;

    for (size_t i = 0; i < stragglers->n; i++)
        if (!stragglers->items[i].killed)
            due = MIN(due, stragglers->items[i].deadline_ns);
    return due;
}

uint64_t stragglers_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

void straggler_wait(int pidfd, int fd, uint64_t until_ns)
{
    struct pollfd fds[] = {{.fd = pidfd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    uint64_t now = stragglers_now(), left = until_ns > now ? until_ns - now : 0;

    if (pidfd < 0)
        left = MIN(left, LOOK_NS);
    (void)!poll(fds, ARRAY_SIZE(fds), (int)MIN((left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC, INT32_MAX));
}

int straggler_fork(struct straggler *child, struct stragglers *stragglers, uint64_t *ret_patience)
{
    stragglers_tend(stragglers, stragglers_now(), NULL, NULL);
    *ret_patience = stragglers_patience(stragglers, child->user, stragglers_now());
    if (*ret_patience == 0)
        return -EHOSTDOWN;
    child->pid = fork();
    if (child->pid < 0)
        return -errno;
    if (child->pid > 0)
        child->pidfd = straggler_open(child->pid);
    return child->pid;
}

int straggler_await(struct straggler *child, struct stragglers *stragglers, uint64_t patience)
{
    uint64_t begin = stragglers_now(), now = begin;
    int status = 0;
    bool ended;

    while (!(ended = straggler_reap(child->pid, &status)) && now < begin + patience) {
        straggler_wait(child->pidfd, -1, begin + patience);
        now = stragglers_now();
    }
    now = stragglers_now();
    stragglers_count_wait(stragglers, child->user, now, now - begin);
    if (!ended) {
        child->deadline_ns = begin + STRAGGLER_DEADLINE_NS;
        stragglers_add(stragglers, child);
        return -EINPROGRESS;
    }
    closep(&child->pidfd);
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}
