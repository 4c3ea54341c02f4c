/* SPDX-License-Identifier: Apache-2.0 */
/* The side of the symboliser that sends requests: see symboliser.h. */
#include "symbols/symboliser/symboliser.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/fd-socket.h"
#include "base/timer.h"

#define REQUEST_USEC (6 * USEC_PER_SEC) /* a second more than the process gives itself */
#define IDLE_USEC (30 * USEC_PER_SEC)
#define ATTEMPTS_MAX 2
#define AGAIN_USEC (3 * USEC_PER_SEC) /* between two that cannot be jailed, or have no library */
/* Set in the environment of the process, so that a main() that does not know the command never starts another. */
#define GUARD "PERFCOUNTD_SYMBOLISER"

struct table_request {
    enum symboliser_kind kind;
    int fd;
    unsigned attempts;
    symboliser_done done;
    void *userdata;
};

struct symboliser {
    sd_event *event;
    struct child own, *child; /* `child` is `own` unless another was set */
    int pidfd, socket;
    sd_event_source *pid_source, *socket_source, *timer;
    bool dying;          /* killed, and not yet waited for */
    bool busy;           /* with the first request of the queue */
    bool greeted;        /* its first message was read */
    bool unconfined;     /* the last one ended since it cannot be jailed */
    uint64_t again_usec; /* from then on, that or a missing library may have changed */
    int failure;         /* the result of the first request when the process has ended */
    struct table_request queue[SYMBOLISER_QUEUE];
    size_t first, n;
    size_t file_max;
};

static void queue_send_first(struct symboliser *symboliser);

static struct table_request *queue_first(struct symboliser *symboliser)
{
    return &symboliser->queue[symboliser->first];
}

static void queue_finish_first(struct symboliser *symboliser, int result, struct symbol_table *table)
{
    struct table_request request = *queue_first(symboliser);

    close(request.fd);
    symboliser->busy = false;
    symboliser->first = (symboliser->first + 1) % SYMBOLISER_QUEUE;
    symboliser->n--;
    request.done(request.userdata, result, table);
}

static void end_process(struct symboliser *symboliser, int failure)
{
    if (!symboliser->child->pid || symboliser->dying)
        return;
    symboliser->dying = true;
    symboliser->failure = failure;
    timer_disarm(symboliser->timer);
    symboliser->socket_source = sd_event_source_unref(symboliser->socket_source);
    kill(symboliser->child->pid, SIGKILL);
}

static void forget_process(struct symboliser *symboliser)
{
    symboliser->socket_source = sd_event_source_unref(symboliser->socket_source);
    symboliser->pid_source = sd_event_source_unref(symboliser->pid_source);
    closep(&symboliser->socket);
    closep(&symboliser->pidfd);
    symboliser->socket = symboliser->pidfd = -1;
    child_forget(symboliser->child);
    symboliser->dying = symboliser->greeted = false;
}

static uint64_t symboliser_now(const struct symboliser *symboliser)
{
    uint64_t usec = 0;

    sd_event_now(symboliser->event, CLOCK_MONOTONIC, &usec);
    return usec;
}

/* Memory or descriptors may have been short when the last one entered its jail. */
static bool symboliser_may_start(const struct symboliser *symboliser)
{
    return !symboliser->unconfined || symboliser_now(symboliser) >= symboliser->again_usec;
}

static int symboliser_on_exit(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct symboliser *symboliser = userdata;
    int status = 0;

    (void)source;
    (void)fd;
    (void)events;
    if (!child_reap(symboliser->child, &status))
        return 0;
    int failure = symboliser->dying ? symboliser->failure : -EIO;
    if (WIFEXITED(status) && WEXITSTATUS(status) == SYMBOLISER_UNCONFINED) {
        symboliser->unconfined = true;
        symboliser->again_usec = symboliser_now(symboliser) + AGAIN_USEC;
        failure = -EAGAIN;
    }
    forget_process(symboliser);
    if (symboliser->busy)
        queue_finish_first(symboliser, failure, NULL);
    queue_send_first(symboliser);
    return 0;
}

/* -EAGAIN: there is none yet. */
static int receive_answer(struct symboliser *symboliser, int *ret_result, struct symbol_table *ret)
{
    _cleanup_(closep) int fd = -1;
    struct symboliser_answer answer;

    int r = fd_socket_receive_one(symboliser->socket, &answer, sizeof(answer), &fd);
    if (r < 0)
        return r;
    if (answer.magic == SYMBOLISER_MAGIC && answer.result == SYMBOLISER_HELLO && !symboliser->greeted) {
        symboliser->greeted = true;
        symboliser->child->stat_fd = steal_fd(&fd);
        return -EAGAIN;
    }
    if (answer.magic != SYMBOLISER_MAGIC || !symboliser->busy || answer.result > 0)
        return -EBADMSG;
    if (answer.result == 0)
        r = symbol_table_open(fd, ret);
    *ret_result = answer.result;
    return r;
}

/* The library may be there for the next process: installed meanwhile, or there were no descriptors to load it. */
static void symboliser_load_again(struct symboliser *symboliser)
{
    if (symboliser_now(symboliser) < symboliser->again_usec)
        return;
    symboliser->again_usec = symboliser_now(symboliser) + AGAIN_USEC;
    end_process(symboliser, -EAGAIN);
}

static int symboliser_on_answer(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct symboliser *symboliser = userdata;
    struct symbol_table table = {0};
    int result = -EIO;

    (void)source;
    (void)fd;
    (void)events;
    int r = receive_answer(symboliser, &result, &table);
    if (r == -EAGAIN)
        return 0;
    if (r < 0) {
        end_process(symboliser, -EIO);
        return 0;
    }
    symboliser->unconfined = false;
    timer_arm_in(symboliser->timer, IDLE_USEC);
    queue_finish_first(symboliser, result, result == 0 ? &table : NULL);
    symbol_table_close(&table); /* unless it was taken */
    if (result == -ENOPKG)
        symboliser_load_again(symboliser);
    queue_send_first(symboliser);
    return 0;
}

static int symboliser_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    end_process(userdata, -ETIME);
    return 0;
}

static int spawn_prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int socket)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    /* The socket may have the number already, and then only loses its FD_CLOEXEC. */
    int r = posix_spawn_file_actions_adddup2(actions, socket, SYMBOLISER_SOCKET);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawnattr_setsigmask(attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attributes, &all);
    if (r == 0)
        r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return -r;
}

static int spawn_process(int socket, pid_t *ret)
{
    static char *const environment[] = {(char *)GUARD "=1", NULL};
    char *const arguments[] = {(char *)"perfcountd", (char *)SYMBOLISER_COMMAND, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return -ENOMEM;
    int r = -posix_spawnattr_init(&attributes);
    if (r == 0) {
        r = spawn_prepare(&actions, &attributes, socket);
        if (r == 0)
            r = -posix_spawn(ret, "/proc/self/exe", &actions, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

static int watch_process(struct symboliser *symboliser)
{
    symboliser->pidfd = (int)syscall(SYS_pidfd_open, symboliser->child->pid, 0);
    if (symboliser->pidfd < 0)
        return -errno;
    int r = sd_event_add_io(symboliser->event, &symboliser->pid_source, symboliser->pidfd, EPOLLIN, symboliser_on_exit,
                            symboliser);
    if (r >= 0)
        r = sd_event_add_io(symboliser->event, &symboliser->socket_source, symboliser->socket, EPOLLIN,
                            symboliser_on_answer, symboliser);
    if (r >= 0) /* an answer is read before the end of the process */
        r = sd_event_source_set_priority(symboliser->socket_source, SD_EVENT_PRIORITY_NORMAL - 1);
    return MIN(r, 0);
}

static int start_process(struct symboliser *symboliser)
{
    int sockets[2];

    if (getenv(GUARD))
        return -ELOOP;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return -errno;
    int r = spawn_process(sockets[1], &symboliser->child->pid);
    close(sockets[1]);
    symboliser->socket = sockets[0];
    if (r == 0)
        r = fcntl(sockets[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : watch_process(symboliser);
    else
        symboliser->child->pid = 0;
    if (r < 0) {
        if (symboliser->child->pid) {
            kill(symboliser->child->pid, SIGKILL);
            waitpid(symboliser->child->pid, NULL, 0);
        }
        forget_process(symboliser);
    }
    return r;
}

static int request_send(struct symboliser *symboliser)
{
    struct table_request *first = queue_first(symboliser);
    size_t max = first->kind == SYMBOLISER_KALLSYMS ? SYMBOLISER_KERNEL_MAX : symboliser->file_max;
    const struct symboliser_request message = {SYMBOLISER_MAGIC, first->kind, (uint32_t)max};

    first->attempts++;
    int r = fd_socket_send_one(symboliser->socket, &message, sizeof(message), first->fd);
    if (r == 0) {
        symboliser->busy = true;
        timer_arm_in(symboliser->timer, REQUEST_USEC);
        return 0;
    }
    symboliser->busy = first->attempts >= ATTEMPTS_MAX; /* otherwise another process gets it */
    end_process(symboliser, -EIO);
    return r;
}

/* Sends the first request of the queue unless another one is under way. */
static void queue_send_first(struct symboliser *symboliser)
{
    while (symboliser->n && !symboliser->busy && !symboliser->dying) {
        if (symboliser->child->pid || (symboliser_may_start(symboliser) && start_process(symboliser) == 0)) {
            request_send(symboliser);
            return;
        }
        queue_finish_first(symboliser, -EAGAIN, NULL);
    }
}

int symboliser_new(sd_event *event, struct symboliser **ret)
{
    struct symboliser *symboliser = calloc(1, sizeof(*symboliser));

    if (!symboliser)
        return -ENOMEM;
    symboliser->own = CHILD_NONE;
    symboliser->child = &symboliser->own;
    symboliser->pidfd = symboliser->socket = -1;
    symboliser->file_max = SYMBOLISER_FILE_MAX;
    symboliser->event = sd_event_ref(event);
    int r = timer_init(event, CLOCK_MONOTONIC, 0, symboliser_on_timer, symboliser, &symboliser->timer);
    if (r < 0) {
        symboliser_free(symboliser);
        return r;
    }
    *ret = symboliser;
    return 0;
}

struct symboliser *symboliser_free(struct symboliser *symboliser)
{
    int status;

    if (!symboliser)
        return NULL;
    end_process(symboliser, -ECANCELED);
    if (symboliser->child->pid) { /* it is killed; if the kernel holds it back, init reaps it later */
        (void)!poll(&(struct pollfd){.fd = symboliser->pidfd, .events = POLLIN}, 1, 200);
        child_reap(symboliser->child, &status);
    }
    forget_process(symboliser);
    while (symboliser->n)
        queue_finish_first(symboliser, -ECANCELED, NULL);
    sd_event_source_disable_unref(symboliser->timer);
    sd_event_unref(symboliser->event);
    free(symboliser);
    return NULL;
}

int symboliser_ask(struct symboliser *symboliser, enum symboliser_kind kind, int fd, symboliser_done done,
                   void *userdata)
{
    if (symboliser_is_full(symboliser)) {
        close(fd);
        return -EBUSY;
    }
    size_t at = (symboliser->first + symboliser->n++) % SYMBOLISER_QUEUE;
    symboliser->queue[at] = (struct table_request){.kind = kind, .fd = fd, .done = done, .userdata = userdata};
    queue_send_first(symboliser);
    return 0;
}

void symboliser_set_max(struct symboliser *symboliser, size_t max)
{
    symboliser->file_max = MIN(max, SYMBOLISER_FILE_MAX);
}

bool symboliser_is_full(const struct symboliser *symboliser)
{
    return symboliser->n == SYMBOLISER_QUEUE;
}

bool symboliser_is_unconfined(const struct symboliser *symboliser)
{
    return symboliser->unconfined;
}

void symboliser_set_child(struct symboliser *symboliser, struct child *child)
{
    symboliser->child = child;
}
