/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side of the symboliser: see symboliser.h. */
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

#define REQUEST_USEC (6 * UINT64_C(1000000)) /* a second more than the process gives itself */
#define IDLE_USEC (30 * UINT64_C(1000000))
#define ATTEMPTS_MAX 2
/* Set for the process, so that a main() that does not know the command never starts another one. */
#define GUARD "PERFCOUNTD_SYMBOLISER"

struct request {
    enum symboliser_kind kind;
    int fd;
    unsigned attempts;
    symboliser_done done;
    void *userdata;
};

struct symboliser {
    sd_event *event;
    pid_t pid; /* 0: none runs */
    int pidfd, socket;
    sd_event_source *pid_source, *socket_source, *timer;
    bool dying;      /* killed, and not yet waited for */
    bool busy;       /* with the queue's first */
    bool unconfined; /* it ended since it cannot be jailed */
    int failure;     /* what the first is told when the process has ended */
    struct request queue[SYMBOLISER_QUEUE];
    size_t first, n;
    size_t file_max;
};

static void pump(struct symboliser *symboliser);

static struct request *first_of(struct symboliser *symboliser)
{
    return &symboliser->queue[symboliser->first];
}

static void finish_first(struct symboliser *symboliser, int result, struct symbol_table *table)
{
    struct request request = *first_of(symboliser);

    close(request.fd);
    symboliser->busy = false;
    symboliser->first = (symboliser->first + 1) % SYMBOLISER_QUEUE;
    symboliser->n--;
    request.done(request.userdata, result, table);
}

static void set_timer(struct symboliser *symboliser, uint64_t usec)
{
    sd_event_source_set_time_relative(symboliser->timer, usec);
    sd_event_source_set_enabled(symboliser->timer, SD_EVENT_ONESHOT);
}

static void end_process(struct symboliser *symboliser, int failure)
{
    if (!symboliser->pid || symboliser->dying)
        return;
    symboliser->dying = true;
    symboliser->failure = failure;
    sd_event_source_set_enabled(symboliser->timer, SD_EVENT_OFF);
    symboliser->socket_source = sd_event_source_unref(symboliser->socket_source);
    kill(symboliser->pid, SIGKILL);
}

static void forget_process(struct symboliser *symboliser)
{
    symboliser->socket_source = sd_event_source_unref(symboliser->socket_source);
    symboliser->pid_source = sd_event_source_unref(symboliser->pid_source);
    closep(&symboliser->socket);
    closep(&symboliser->pidfd);
    symboliser->socket = symboliser->pidfd = -1;
    symboliser->pid = 0;
    symboliser->dying = false;
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct symboliser *symboliser = userdata;
    int status = 0;

    (void)source;
    (void)fd;
    (void)events;
    if (waitpid(symboliser->pid, &status, WNOHANG) == 0)
        return 0;
    int failure = symboliser->dying ? symboliser->failure : -EIO;
    if (WIFEXITED(status) && WEXITSTATUS(status) == SYMBOLISER_UNCONFINED) {
        symboliser->unconfined = true;
        failure = -EPERM;
    }
    forget_process(symboliser);
    if (symboliser->busy)
        finish_first(symboliser, failure, NULL);
    pump(symboliser);
    return 0;
}

static int receive(struct symboliser *symboliser, int *ret_result, struct symbol_table *ret)
{
    _cleanup_(closep) int fd = -1;
    struct symboliser_answer answer;

    int r = fd_socket_receive_one(symboliser->socket, &answer, sizeof(answer), &fd);
    if (r < 0)
        return r;
    if (answer.magic != SYMBOLISER_MAGIC || !symboliser->busy || answer.result > 0)
        return -EBADMSG;
    if (answer.result == 0)
        r = symbol_table_open(fd, ret);
    *ret_result = answer.result;
    return r;
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct symboliser *symboliser = userdata;
    struct symbol_table table = {0};
    int result = -EIO;

    (void)source;
    (void)fd;
    (void)events;
    int r = receive(symboliser, &result, &table);
    if (r == -EAGAIN)
        return 0;
    if (r < 0) {
        end_process(symboliser, -EIO);
        return 0;
    }
    set_timer(symboliser, IDLE_USEC);
    finish_first(symboliser, result, result == 0 ? &table : NULL);
    symbol_table_close(&table); /* nothing where it was taken */
    pump(symboliser);
    return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    end_process(userdata, -ETIME);
    return 0;
}

static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int socket)
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

static int spawn(int socket, pid_t *ret)
{
    static char *const environment[] = {(char *)GUARD "=1", NULL};
    char *const arguments[] = {(char *)"perfcountd", (char *)SYMBOLISER_COMMAND, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return -ENOMEM;
    int r = -posix_spawnattr_init(&attributes);
    if (r == 0) {
        r = prepare(&actions, &attributes, socket);
        if (r == 0)
            r = -posix_spawn(ret, "/proc/self/exe", &actions, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

static int watch(struct symboliser *symboliser)
{
    symboliser->pidfd = (int)syscall(SYS_pidfd_open, symboliser->pid, 0);
    if (symboliser->pidfd < 0)
        return -errno;
    int r = sd_event_add_io(symboliser->event, &symboliser->pid_source, symboliser->pidfd, EPOLLIN, on_end, symboliser);
    if (r >= 0)
        r = sd_event_add_io(symboliser->event, &symboliser->socket_source, symboliser->socket, EPOLLIN, on_answer,
                            symboliser);
    if (r >= 0) /* an answer comes before the end of who gave it */
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
    int r = spawn(sockets[1], &symboliser->pid);
    close(sockets[1]);
    symboliser->socket = sockets[0];
    if (r == 0)
        r = fcntl(sockets[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : watch(symboliser);
    else
        symboliser->pid = 0;
    if (r < 0) {
        if (symboliser->pid) {
            kill(symboliser->pid, SIGKILL);
            waitpid(symboliser->pid, NULL, 0);
        }
        forget_process(symboliser);
    }
    return r;
}

static int send_first(struct symboliser *symboliser)
{
    struct request *first = first_of(symboliser);
    size_t max = first->kind == SYMBOLISER_KALLSYMS ? SYMBOLISER_KERNEL_MAX : symboliser->file_max;
    const struct symboliser_request message = {SYMBOLISER_MAGIC, first->kind, (uint32_t)max};

    first->attempts++;
    int r = fd_socket_send_one(symboliser->socket, &message, sizeof(message), first->fd);
    if (r == 0) {
        symboliser->busy = true;
        set_timer(symboliser, REQUEST_USEC);
        return 0;
    }
    symboliser->busy = first->attempts >= ATTEMPTS_MAX; /* else another process gets it */
    end_process(symboliser, -EIO);
    return r;
}

/* Sends the first of the queue where nothing else is under way. */
static void pump(struct symboliser *symboliser)
{
    while (symboliser->n && !symboliser->busy && !symboliser->dying) {
        if (!symboliser->unconfined && (symboliser->pid || start_process(symboliser) == 0)) {
            send_first(symboliser);
            return;
        }
        finish_first(symboliser, symboliser->unconfined ? -EPERM : -EAGAIN, NULL);
    }
}

int symboliser_new(sd_event *event, struct symboliser **ret)
{
    struct symboliser *symboliser = calloc(1, sizeof(*symboliser));

    if (!symboliser)
        return -ENOMEM;
    symboliser->pidfd = symboliser->socket = -1;
    symboliser->file_max = SYMBOLISER_FILE_MAX;
    symboliser->event = sd_event_ref(event);
    int r = sd_event_add_time_relative(event, &symboliser->timer, CLOCK_MONOTONIC, IDLE_USEC, 0, on_timer, symboliser);
    if (r >= 0)
        r = sd_event_source_set_enabled(symboliser->timer, SD_EVENT_OFF);
    if (r < 0) {
        symboliser_free(symboliser);
        return r;
    }
    *ret = symboliser;
    return 0;
}

struct symboliser *symboliser_free(struct symboliser *symboliser)
{
    if (!symboliser)
        return NULL;
    end_process(symboliser, -ECANCELED);
    if (symboliser->pid) { /* it is killed; one that the kernel holds back is init's one day */
        (void)!poll(&(struct pollfd){.fd = symboliser->pidfd, .events = POLLIN}, 1, 200);
        waitpid(symboliser->pid, NULL, WNOHANG);
    }
    forget_process(symboliser);
    while (symboliser->n)
        finish_first(symboliser, -ECANCELED, NULL);
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
    symboliser->queue[at] = (struct request){.kind = kind, .fd = fd, .done = done, .userdata = userdata};
    pump(symboliser);
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

pid_t symboliser_pid(const struct symboliser *symboliser)
{
    return symboliser->pid;
}
