/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/symboliser.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/timer.h"
#include "process/fdpass.h"
#include "process/sandbox.h"
#include "symbols/elf.h"
#include "symbols/symbol-lists.h"

#define SYMBOLISER_KERNEL_MAX ((size_t)5 << 20) /* maximum bytes of the kernel's table */
#define SYMBOLISER_QUEUE 64                     /* requests */
#define SYMBOLISER_TEXT 2                       /* value of answer.result if the message has whole lines in `text` */
#define SYMBOLISER_TEXT_MAX ((size_t)16 * 1024) /* bytes of text in a message; longer lines are left out */
#define SYMBOLISER_MAPS_MAX ((size_t)4 << 20)   /* maximum bytes of text of one maps file; the rest is left out */
struct symboliser_message {
    struct symboliser_answer answer;
    char text[SYMBOLISER_TEXT_MAX];
};

/* --- the chain of processes, in the daemon --- */

#define ANSWER_USEC (6 * USEC_PER_SEC) /* timeout of a request: one second more than SECONDS_MAX */
#define IDLE_USEC (30 * USEC_PER_SEC)  /* an idle chain is killed after this time */
#define SENT_MAX 16                    /* maximum requests in the chain; each may hold a descriptor in flight */
#define SENDS_MAX 2                    /* a request fails after it was sent to this many chains */
#define AGAIN_USEC (3 * USEC_PER_SEC)  /* delay before the next chain if the last one had no sandbox or no libdw */
#define SHUN_USEC (3600 * USEC_PER_SEC)
#define SHUNNED_MAX 16
#define NOBODYS UINT32_MAX    /* stands for the unknown user of an exited process */
#define END_MS 200            /* symboliser_free() waits this long for each killed process */
#define END_USEC USEC_PER_SEC /* a killed process exits within this time unless the kernel blocks it */
#define FD_MIN 10

struct table_request {
    TAILQ_ENTRY(table_request) entry;
    symboliser_done done;
    void *userdata;
    int fd;         /* the file if packet.find is FIND_NOTHING; else -1 */
    unsigned sends; /* number of failed attempts to send the request */
    uint32_t uid;
    void (*take_line)(void *userdata, char *line);
    size_t text_size; /* SYMBOLISER_MAPS: bytes of text received so far */
    struct find_request packet;
};

/* A killed process that has not been reaped yet. A file system can delay its exit indefinitely. */
struct ending {
    struct symboliser *symboliser;
    struct child child;
    int pidfd;
    sd_event_source *source;
    LIST_ENTRY(ending) entry;
};

/* A process of the chain. */
struct link {
    struct child *child;
    int pidfd;
    sd_event_source *source;
};

struct symboliser {
    struct sys *sys;
    sd_event *event;
    struct child own, finder_child;
    struct link tables, finder; /* the symboliser (its child is `own` unless another was set), and the last finder */
    int requests, answers;      /* sockets to the first process and from the last process; -1 if there is no chain */
    sd_event_source *answers_source, *timer;
    bool greeted;        /* SYMBOLISER_HELLO has arrived from this chain */
    bool unconfined;     /* the last process exited because it could not enter its jail */
    uint64_t again_usec; /* earliest time to retry after a process could not enter its jail or load libdw */
    uint64_t start_usec; /* earliest time to start the next chain */
    uint32_t suspect;    /* the user (or NOBODYS) whose file the timed-out chain was reading; valid if `has_suspect` */
    bool has_suspect;
    size_t n_hung; /* processes of earlier chains that had not exited when this chain was started */
    TAILQ_HEAD(, table_request) queue;
    size_t n, n_sent; /* requests in the queue; the first `n_sent` of them are in the chain */
    LIST_HEAD(, ending) endings;
    size_t n_endings;
    struct shunned {
        uint32_t uid;
        uint64_t until_usec; /* 0 if the entry is unused */
    } shunned[SHUNNED_MAX];
    size_t file_max;
};

static void queue_send(struct symboliser *symboliser);

static uint64_t symboliser_now(const struct symboliser *symboliser)
{
    uint64_t usec = 0;

    sd_event_now(symboliser->event, CLOCK_MONOTONIC, &usec);
    return usec;
}

/* --- the queue --- */

static void request_free(struct table_request *request)
{
    closep(&request->fd);
    free(request);
}

static void queue_finish(struct symboliser *symboliser, struct table_request *request,
                         const struct symboliser_answer *answer, struct symbol_table *table)
{
    TAILQ_REMOVE(&symboliser->queue, request, entry);
    symboliser->n--;
    if (request->done)
        request->done(request->userdata, answer, table);
    request_free(request);
}

static void queue_finish_first(struct symboliser *symboliser, const struct symboliser_answer *answer,
                               struct symbol_table *table)
{
    symboliser->n_sent -= symboliser->n_sent > 0;
    queue_finish(symboliser, TAILQ_FIRST(&symboliser->queue), answer, table);
}

static void queue_fail_first(struct symboliser *symboliser, int error)
{
    queue_finish_first(symboliser, &(struct symboliser_answer){.result = error}, NULL);
}

/* --- users whose files hung --- */

static uint32_t user_of(struct sys *sys, uint32_t pid)
{
    _cleanup_(freep) char *text = NULL;
    struct find_owner owner;

    if (sys_read_filef(sys, &text, "/proc/%u/status", pid) < 0 || find_parse_status(text, pid, &owner) < 0)
        return NOBODYS;
    return owner.real_uid;
}

static bool is_shunned(const struct symboliser *symboliser, uint32_t uid)
{
    uint64_t now = symboliser_now(symboliser);

    for (size_t i = 0; i < SHUNNED_MAX; i++)
        if (symboliser->shunned[i].uid == uid && symboliser->shunned[i].until_usec > now)
            return true;
    return false;
}

static bool request_is_shunned(const struct symboliser *symboliser, const struct table_request *request)
{
    return request->packet.find != FIND_NOTHING && is_shunned(symboliser, request->uid);
}

static void shun(struct symboliser *symboliser, uint32_t uid)
{
    struct shunned *oldest = &symboliser->shunned[0];

    if (is_shunned(symboliser, uid))
        return;
    for (size_t i = 0; i < SHUNNED_MAX; i++)
        if (symboliser->shunned[i].until_usec < oldest->until_usec)
            oldest = &symboliser->shunned[i];
    *oldest = (struct shunned){uid, symboliser_now(symboliser) + SHUN_USEC};
}

bool symboliser_has_hung(const struct symboliser *symboliser)
{
    uint64_t now = symboliser_now(symboliser);

    for (size_t i = 0; i < SHUNNED_MAX; i++)
        if (symboliser->shunned[i].until_usec > now)
            return true;
    return false;
}

/* --- end of a chain --- */

static void ending_free(struct ending *ending)
{
    LIST_REMOVE(ending, entry);
    ending->symboliser->n_endings--;
    sd_event_source_unref(ending->source);
    closep(&ending->pidfd);
    child_forget(&ending->child);
    free(ending);
}

static bool ending_reap(struct ending *ending)
{
    int status;

    if (!child_reap(&ending->child, &status))
        return false;
    ending->symboliser->tables.child->ended_cpu_ns += ending->child.ended_cpu_ns;
    ending_free(ending);
    return true;
}

static int ending_on_exit(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct ending *ending = userdata;
    struct symboliser *symboliser = ending->symboliser;

    (void)source;
    (void)fd;
    (void)events;
    if (ending_reap(ending))
        queue_send(symboliser); /* requests wait while SYMBOLISER_ABANDONED processes are left */
    return 0;
}

static void link_forget(struct link *link)
{
    link->source = sd_event_source_unref(link->source);
    closep(&link->pidfd);
    link->pidfd = -1;
    child_forget(link->child);
}

/* Kills the process without waiting for its exit, which a file system can delay indefinitely. */
static void link_end(struct symboliser *symboliser, struct link *link)
{
    struct ending *ending = link->child->pid ? calloc(1, sizeof(*ending)) : NULL;

    if (link->child->pid)
        kill(link->child->pid, SIGKILL);
    if (ending) {
        *ending = (struct ending){.symboliser = symboliser};
        ending->child = (struct child){.pid = link->child->pid, .stat_fd = -1};
        ending->pidfd = link->pidfd;
        link->pidfd = -1;
        link->source = sd_event_source_unref(link->source);
        LIST_INSERT_HEAD(&symboliser->endings, ending, entry);
        symboliser->n_endings++;
        /* If this fails, symboliser_free() reaps the process. */
        sd_event_add_io(symboliser->event, &ending->source, ending->pidfd, EPOLLIN, ending_on_exit, ending);
    }
    link_forget(link);
}

/* Ends the chain. The oldest request in the chain fails with `failure`; the others go to the next chain. */
static void chain_end(struct symboliser *symboliser, int failure)
{
    bool any = symboliser->n_sent > 0;

    timer_disarm(symboliser->timer);
    symboliser->answers_source = sd_event_source_unref(symboliser->answers_source);
    closep(&symboliser->answers);
    closep(&symboliser->requests);
    symboliser->answers = symboliser->requests = -1;
    link_end(symboliser, &symboliser->tables);
    link_end(symboliser, &symboliser->finder);
    symboliser->greeted = false;
    symboliser->n_sent = 0;
    if (any)
        queue_fail_first(symboliser, failure);
}

static int tables_on_exit(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct symboliser *symboliser = userdata;
    int status = 0, failure = -EIO;

    (void)source;
    (void)fd;
    (void)events;
    if (!child_reap(symboliser->tables.child, &status))
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == SYMBOLISER_UNCONFINED) {
        symboliser->unconfined = true;
        symboliser->again_usec = symboliser_now(symboliser) + AGAIN_USEC;
        failure = -EAGAIN;
    }
    chain_end(symboliser, failure);
    queue_send(symboliser);
    return 0;
}

/* Adds the CPU time of an exited finder to the symboliser's. */
static void count_finder(struct symboliser *symboliser)
{
    symboliser->tables.child->ended_cpu_ns += symboliser->finder.child->ended_cpu_ns;
    symboliser->finder.child->ended_cpu_ns = 0;
}

static int finder_on_exit(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct symboliser *symboliser = userdata;
    int status;

    (void)source;
    (void)fd;
    (void)events;
    /* The finder also exits when the symboliser has exited; the symboliser's exit status then gives the cause. */
    if (symboliser->tables.pidfd >= 0 &&
        poll(&(struct pollfd){.fd = symboliser->tables.pidfd, .events = POLLIN}, 1, 0) > 0)
        return tables_on_exit(NULL, -1, 0, symboliser);
    if (!child_reap(symboliser->finder.child, &status))
        return 0;
    count_finder(symboliser);
    chain_end(symboliser, -EIO);
    queue_send(symboliser);
    return 0;
}

/* --- answers --- */

/*
 * Passes the lines of a message to the oldest request. Returns -EAGAIN, since the answer comes later; -EBADMSG if the
 * request did not ask for lines, or if they exceed SYMBOLISER_MAPS_MAX bytes.
 */
static int take_text(struct symboliser *symboliser, char *text, size_t size)
{
    struct table_request *request = TAILQ_FIRST(&symboliser->queue);
    char *end;

    if (symboliser->n_sent == 0 || request->packet.kind != SYMBOLISER_MAPS ||
        size > SYMBOLISER_MAPS_MAX - request->text_size)
        return -EBADMSG;
    request->text_size += size;
    for (char *at = text; request->done && (end = memchr(at, '\n', size - (size_t)(at - text))); at = end + 1) {
        *end = '\0';
        request->take_line(request->userdata, at);
    }
    return -EAGAIN;
}

/* Returns -EAGAIN if the message does not answer a request. */
static int receive_answer(struct symboliser *symboliser, struct symboliser_answer *answer, struct symbol_table *ret)
{
    static struct symboliser_message message;
    _cleanup_(closep) int fd = -1;
    ssize_t n = fd_socket_receive_up_to(symboliser->answers, &message, sizeof(message.answer), sizeof(message), &fd);

    if (n < 0)
        return (int)n;
    size_t text_size = (size_t)n - sizeof(message.answer);
    *answer = message.answer;
    if (answer->magic != SYMBOLISER_MAGIC)
        return -EBADMSG;
    if (answer->result == SYMBOLISER_TEXT)
        return take_text(symboliser, message.text, text_size);
    if (answer->result == SYMBOLISER_HELLO && !text_size && !symboliser->greeted) {
        symboliser->greeted = true;
        symboliser->tables.child->stat_fd = steal_fd(&fd);
        return -EAGAIN;
    }
    if (text_size || symboliser->n_sent == 0 || answer->result > 0)
        return -EBADMSG;
    bool has_table = answer->result == 0 && TAILQ_FIRST(&symboliser->queue)->packet.kind != SYMBOLISER_MAPS;
    return has_table ? symbol_table_open(fd, ret) : 0;
}

/*
 * Ends a chain that could not load libdw. The next process may be able to load it, if libdw was installed in the
 * meantime or if this process ran out of descriptors.
 */
static void symboliser_load_again(struct symboliser *symboliser)
{
    if (symboliser_now(symboliser) < symboliser->again_usec)
        return;
    symboliser->again_usec = symboliser_now(symboliser) + AGAIN_USEC;
    chain_end(symboliser, -EAGAIN);
}

static int symboliser_on_answer(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct symboliser *symboliser = userdata;
    struct symboliser_answer answer = {0};
    struct symbol_table table = {0};

    (void)fd;
    (void)events;
    int r = receive_answer(symboliser, &answer, &table);
    if (r == -EAGAIN)
        return 0;
    if (r == -EPIPE) { /* the process is exiting; tables_on_exit() gets its status */
        sd_event_source_set_enabled(source, SD_EVENT_OFF);
        return 0;
    }
    if (r < 0) {
        chain_end(symboliser, -EIO);
        queue_send(symboliser);
        return 0;
    }
    symboliser->unconfined = false;
    timer_arm_in(symboliser->timer, symboliser->n_sent > 1 ? ANSWER_USEC : IDLE_USEC);
    queue_finish_first(symboliser, &answer, answer.result == 0 ? &table : NULL);
    symbol_table_close(&table); /* does nothing if the callee took the table, and thus zeroed it */
    if (answer.result == -ENOPKG)
        symboliser_load_again(symboliser);
    queue_send(symboliser);
    return 0;
}

/*
 * Called when a request has timed out, when the chain has been idle for too long, or at start_usec if requests are
 * waiting until then.
 */
static int symboliser_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct symboliser *symboliser = userdata;
    const struct table_request *first = TAILQ_FIRST(&symboliser->queue);

    (void)source;
    (void)usec;
    if (symboliser->n_sent > 0) {
        symboliser->has_suspect = first->packet.find != FIND_NOTHING;
        symboliser->suspect = first->uid;
        symboliser->start_usec = symboliser_now(symboliser) + END_USEC;
        /*
         * SIGKILL terminates a symboliser that waits for the mmap_lock of a process. note_hung() recognises only
         * processes that survive SIGKILL, so the user is shunned here.
         */
        if (first->packet.find == FIND_MAPS && symboliser->greeted)
            shun(symboliser, first->uid);
    }
    chain_end(symboliser, -ETIME);
    queue_send(symboliser);
    return 0;
}

/* --- start of a chain --- */

static int spawn_prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int in, int out)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    int r = posix_spawn_file_actions_adddup2(actions, in, SYMBOLISER_INPUT);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(actions, out, SYMBOLISER_SOCKET);
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

static int spawn_process(const char *role, int in, int out, pid_t *ret)
{
    char variable[64];
    char *const environment[] = {variable, NULL};
    char *const arguments[] = {(char *)"perfcountd", (char *)SYMBOLISER_COMMAND, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    snprintf(variable, sizeof(variable), "%s=%s", SYMBOLISER_ROLE, role);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -ENOMEM;
    int r = -posix_spawnattr_init(&attributes);
    if (r == 0) {
        r = spawn_prepare(&actions, &attributes, in, out);
        if (r == 0)
            r = -posix_spawn(ret, "/proc/self/exe", &actions, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

static int link_start(struct symboliser *symboliser, struct link *link, const char *role, int in, int out,
                      sd_event_io_handler_t on_exit)
{
    pid_t pid = 0;

    int r = spawn_process(role, in, out, &pid);
    if (r < 0)
        return r;
    link->child->pid = pid;
    link->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (link->pidfd < 0)
        return -errno;
    r = sd_event_add_io(symboliser->event, &link->source, link->pidfd, EPOLLIN, on_exit, symboliser);
    return MIN(r, 0);
}

/*
 * Makes a socket pair whose descriptors are FD_MIN or above, so that the dup2(2) calls of spawn_prepare() overwrite
 * neither.
 */
static int make_pair(int ret[2])
{
    _cleanup_(closep) int a = -1, b = -1;
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return -errno;
    a = sockets[0];
    b = sockets[1];
    for (size_t i = 0; i < 2; i++) {
        ret[i] = fcntl(sockets[i], F_DUPFD_CLOEXEC, FD_MIN);
        if (ret[i] < 0) {
            int r = -errno;
            if (i == 1)
                close(ret[0]);
            return r;
        }
    }
    return 0;
}

/*
 * Starts the opener's finder, the first of the chain, if there is an opener. *ret_others is the number of the opener's
 * earlier finders that have not exited.
 */
static int start_first_finder(struct symboliser *symboliser, int ret[2], size_t *ret_others)
{
    struct sys *sys = symboliser->sys;

    if (!sys_has_finder(sys))
        return make_pair(ret);
    int ends[2];
    int r = sys_start_finder(sys, ends);
    if (r < 0)
        return r;
    *ret_others = (size_t)r;
    ret[0] = ends[0];
    ret[1] = fcntl(ends[1], F_DUPFD_CLOEXEC, FD_MIN);
    r = ret[1] < 0 ? -errno : 0;
    close(ends[1]);
    if (r < 0)
        close(ret[0]);
    return r;
}

/*
 * Shuns the user of a timed-out request if the number of processes that have not exited has grown. If that chain was
 * only slow, its processes have exited by now.
 */
static void note_hung(struct symboliser *symboliser, size_t n)
{
    if (symboliser->has_suspect && n > symboliser->n_hung)
        shun(symboliser, symboliser->suspect);
    symboliser->has_suspect = false;
    symboliser->n_hung = n;
}

static int chain_connect(struct symboliser *symboliser)
{
    int first[2], between[2], last[2];
    size_t others = 0;

    int r = start_first_finder(symboliser, first, &others);
    if (r < 0)
        return r;
    note_hung(symboliser, symboliser->n_endings + others);
    symboliser->requests = first[0];
    _cleanup_(closep) int finder_in = first[1];
    r = make_pair(between);
    if (r < 0)
        return r;
    _cleanup_(closep) int finder_out = between[0], tables_in = between[1];
    r = make_pair(last);
    if (r < 0)
        return r;
    symboliser->answers = last[0];
    _cleanup_(closep) int tables_out = last[1];
    if (fcntl(symboliser->answers, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    r = link_start(symboliser, &symboliser->finder, SYMBOLISER_FINDER, finder_in, finder_out, finder_on_exit);
    if (r == 0)
        r = link_start(symboliser, &symboliser->tables, SYMBOLISER_COMMAND, tables_in, tables_out, tables_on_exit);
    return r;
}

static int chain_start(struct symboliser *symboliser)
{
    if (getenv(SYMBOLISER_ROLE))
        return -ELOOP;
    if (symboliser->n_endings >= SYMBOLISER_ABANDONED)
        return -EBUSY;
    int r = chain_connect(symboliser);
    if (r == 0)
        r = sd_event_add_io(symboliser->event, &symboliser->answers_source, symboliser->answers, EPOLLIN,
                            symboliser_on_answer, symboliser);
    if (r >= 0) /* an answer is then read before the exit of the process is handled */
        r = sd_event_source_set_priority(symboliser->answers_source, SD_EVENT_PRIORITY_NORMAL - 1);
    if (r < 0)
        chain_end(symboliser, r);
    return MIN(r, 0);
}

/* If the jail could not be entered, retry later: memory or descriptors may only have run out for a moment. */
static bool symboliser_may_start(const struct symboliser *symboliser)
{
    return !symboliser->unconfined || symboliser_now(symboliser) >= symboliser->again_usec;
}

/* --- requests --- */

static struct table_request *queue_next(struct symboliser *symboliser)
{
    struct table_request *request = TAILQ_FIRST(&symboliser->queue);

    for (size_t i = 0; request && i < symboliser->n_sent; i++)
        request = TAILQ_NEXT(request, entry);
    return request;
}

/* Sends a request. Returns whether more requests may be sent. */
static bool request_send(struct symboliser *symboliser, struct table_request *request)
{
    struct find_request *packet = &request->packet;

    packet->max = (uint32_t)(packet->kind == SYMBOLISER_KALLSYMS ? SYMBOLISER_KERNEL_MAX : symboliser->file_max);
    int r = fd_socket_send_one_now(symboliser->requests, packet, find_request_size(packet), request->fd);
    if (r == 0) {
        if (symboliser->n_sent++ == 0)
            timer_arm_in(symboliser->timer, ANSWER_USEC);
        return true;
    }
    if (symboliser->n_sent > 0) /* the request is sent again after the next answer, or to the next chain */
        return false;
    request->sends++;
    chain_end(symboliser, -EIO);
    if (request->sends >= SENDS_MAX)
        queue_fail_first(symboliser, -EIO);
    return true;
}

/* Returns whether requests must wait, so that the processes of a chain that timed out have time to exit. */
static bool queue_waits(struct symboliser *symboliser)
{
    uint64_t now = symboliser_now(symboliser);

    if (symboliser->requests >= 0 || now >= symboliser->start_usec)
        return false;
    return timer_arm_in(symboliser->timer, symboliser->start_usec - now) == 0;
}

static void queue_send(struct symboliser *symboliser)
{
    while (symboliser->n > symboliser->n_sent && symboliser->n_sent < SENT_MAX) {
        if (queue_waits(symboliser))
            return;
        if (symboliser->requests < 0 && (!symboliser_may_start(symboliser) || chain_start(symboliser) < 0)) {
            queue_fail_first(symboliser, -EAGAIN);
            continue;
        }
        struct table_request *request = queue_next(symboliser);
        if (request_is_shunned(symboliser, request)) /* files of this user have hung since the request was queued */
            queue_finish(symboliser, request, &(struct symboliser_answer){.result = -EHOSTDOWN}, NULL);
        else if (!request_send(symboliser, request))
            return;
    }
}

int symboliser_new(struct sys *sys, sd_event *event, struct symboliser **ret)
{
    struct symboliser *symboliser = calloc(1, sizeof(*symboliser));

    if (!symboliser)
        return -ENOMEM;
    symboliser->sys = sys;
    symboliser->own = symboliser->finder_child = CHILD_NONE;
    symboliser->tables = (struct link){.child = &symboliser->own, .pidfd = -1};
    symboliser->finder = (struct link){.child = &symboliser->finder_child, .pidfd = -1};
    symboliser->requests = symboliser->answers = -1;
    symboliser->file_max = SYMBOLISER_FILE_MAX;
    TAILQ_INIT(&symboliser->queue);
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
    struct ending *ending;

    if (!symboliser)
        return NULL;
    symboliser->n_sent = 0;
    chain_end(symboliser, -ECANCELED);
    while ((ending = LIST_FIRST(&symboliser->endings))) { /* init reaps a process that the kernel still blocks */
        (void)!poll(&(struct pollfd){.fd = ending->pidfd, .events = POLLIN}, 1, END_MS);
        if (!ending_reap(ending))
            ending_free(ending);
    }
    while (symboliser->n)
        queue_fail_first(symboliser, -ECANCELED);
    sd_event_source_disable_unref(symboliser->timer);
    sd_event_unref(symboliser->event);
    free(symboliser);
    return NULL;
}

static struct table_request *request_new(struct symboliser *symboliser, const struct symboliser_file *file)
{
    size_t length = file->path && strlen(file->path) < PATH_MAX ? strlen(file->path) : 0;
    struct table_request *request = calloc(1, sizeof(*request) + length + 1);

    if (!request)
        return NULL;
    request->fd = file->fd;
    request->uid = file->find == FIND_NOTHING ? NOBODYS : user_of(symboliser->sys, file->pid);
    request->packet = (struct find_request){
        .magic = FIND_MAGIC,
        .find = file->find,
        .kind = file->kind,
        .pid = file->pid,
        .start = file->start,
        .end = file->end,
        .inode = file->inode,
        .seen_inode = file->seen_inode,
        .seen_size = file->seen_size,
    };
    if (length)
        memcpy(request->packet.path, file->path, length);
    return request;
}

int symboliser_ask(struct symboliser *symboliser, const struct symboliser_file *file, symboliser_done done,
                   void *userdata)
{
    struct table_request *request = symboliser_is_full(symboliser) ? NULL : request_new(symboliser, file);

    if (!request) {
        closep(&file->fd);
        return symboliser_is_full(symboliser) ? -EBUSY : -ENOMEM;
    }
    if (request_is_shunned(symboliser, request)) {
        request_free(request);
        return -EHOSTDOWN;
    }
    request->done = done;
    request->userdata = userdata;
    request->take_line = file->take_line;
    TAILQ_INSERT_TAIL(&symboliser->queue, request, entry);
    symboliser->n++;
    queue_send(symboliser);
    return 0;
}

void symboliser_forget(struct symboliser *symboliser, const void *userdata)
{
    struct table_request *request;

    TAILQ_FOREACH (request, &symboliser->queue, entry)
        if (request->userdata == userdata)
            request->done = NULL;
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
    symboliser->tables.child = child;
}

/* --- the symboliser's process --- */

#define SECONDS_MAX 5 /* a request may take this long; then SIGALRM terminates the process */
/*
 * Limits of the symboliser's writable memory, in bytes. Arrays double as they grow, so much of their memory is never
 * touched. The size of the file is added to FILE_DATA_MAX, since libelf maps the file writable.
 */
#define DATA_MAX ((rlim_t)24 << 20)
#define FILE_DATA_MAX ((rlim_t)12 << 20)

/* A file that needs much more memory than its own size, for example when decompressed, gets no symbols (-ENOMEM). */
static void limit_data(uint32_t kind, int file)
{
    struct stat status = {0};
    rlim_t most = DATA_MAX;

    if (kind != SYMBOLISER_KALLSYMS && fstat(file, &status) == 0)
        most = FILE_DATA_MAX + (rlim_t)status.st_size;
    if (!HAS_ASAN)
        setrlimit(RLIMIT_DATA, &(struct rlimit){most, RLIM_INFINITY});
}

static int read_symbols(const struct elf_library *library, uint32_t kind, int file, struct symbol_list *list)
{
    switch (kind) {
    case SYMBOLISER_ELF:
        return elf_symbols_read(library, file, list);
    case SYMBOLISER_KALLSYMS:
        return kallsyms_read(file, list);
    case SYMBOLISER_JIT:
        return jit_symbols_read(file, list);
    default:
        return -EBADMSG;
    }
}

static int make_table(const struct elf_library *library, const struct find_request *request, int file, int *ret_fd)
{
    bool is_kernel = request->kind == SYMBOLISER_KALLSYMS;
    _cleanup_(symbol_list_done) struct symbol_list list = {.max = is_kernel ? 0 : request->max};

    limit_data(request->kind, file);
    int r = read_symbols(library, request->kind, file, &list);
    if (r < 0)
        return r;
    return symbol_list_seal(&list, request->max, ret_fd);
}

/*
 * Maps a finder's error to an error for the daemon: shortages are passed on; any other error means that there is no
 * file.
 */
static int error_of_finder(const struct find_request *request)
{
    static const int passing[] = {-EMFILE, -ENFILE, -ENOBUFS, -ETOOMANYREFS};

    for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
        if (request->error == passing[i])
            return request->error;
    bool denied = request->error == -EACCES || request->error == -EPERM;
    return request->find == FIND_MAPS && denied ? -EACCES : -ENOENT;
}

/*
 * Fills `text`, which already has `used` bytes, up to SYMBOLISER_TEXT_MAX or the end of the file. (A read(2) of
 * /proc/PID/maps returns at most a page.) Returns the number of bytes in `text`, or -errno.
 */
static ssize_t fill_text(int file, char *text, size_t used)
{
    while (used < SYMBOLISER_TEXT_MAX) {
        ssize_t n = read(file, text + used, SYMBOLISER_TEXT_MAX - used);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return -errno;
        used += (size_t)MAX(n, 0);
    }
    return (ssize_t)used;
}

/*
 * Sends the lines of a maps file. A line that does not fit into a message is left out: the kernel does not limit the
 * length of a path. No alarm is set: sending may take as long as the daemon needs to receive, and if a read hangs on
 * the mmap_lock of the process, the daemon kills this process.
 */
static int send_maps(int file)
{
    static struct symboliser_message message = {.answer = {.magic = SYMBOLISER_MAGIC, .result = SYMBOLISER_TEXT}};
    char *text = message.text;
    size_t rest = 0;
    bool leaves_out = false; /* the text begins inside a line that is left out */

    for (size_t total = 0; total <= SYMBOLISER_MAPS_MAX - SYMBOLISER_TEXT_MAX;) {
        ssize_t n = fill_text(file, text, rest);
        if (n <= 0)
            return (int)n;
        const char *end = leaves_out ? memchr(text, '\n', (size_t)n) : memrchr(text, '\n', (size_t)n);
        if (!end && (size_t)n < SYMBOLISER_TEXT_MAX)
            return 0; /* the last line is not complete */
        size_t size = end ? (size_t)(end - text) + 1 : (size_t)n;
        int r = 0;
        if (end && !leaves_out)
            r = fd_socket_send_one(SYMBOLISER_SOCKET, &message, sizeof(message.answer) + size, -1);
        if (r < 0)
            return r;
        leaves_out = !end;
        total += size;
        rest = (size_t)n - size;
        memmove(text, text + size, rest);
    }
    return 0;
}

static void answer_request(const struct elf_library *library, const struct find_request *request, int file,
                           struct symboliser_answer *answer, int *ret_table)
{
    struct stat status = {0};

    if (file < 0) {
        answer->result = error_of_finder(request);
        return;
    }
    if (request->kind == SYMBOLISER_MAPS) {
        answer->result = send_maps(file);
        return;
    }
    alarm(SECONDS_MAX);
    if (fstat(file, &status) == 0) {
        answer->inode = status.st_ino;
        answer->size = (uint64_t)status.st_size;
    }
    if (request->find == FIND_JIT_MAP && answer->inode == request->seen_inode && answer->size == request->seen_size)
        answer->result = -EALREADY;
    else
        answer->result = make_table(library, request, file, ret_table);
    alarm(0);
}

static int serve_one(const struct elf_library *library)
{
    static union find_buffer buffer;
    struct symboliser_answer answer = {.magic = SYMBOLISER_MAGIC};
    _cleanup_(closep) int file = -1, table = -1;

    int r = find_request_receive(SYMBOLISER_INPUT, &buffer, &file);
    if (r < 0)
        return r;
    answer_request(library, &buffer.request, file, &answer, &table);
    r = fd_socket_send_one(SYMBOLISER_SOCKET, &answer, sizeof(answer), table);
    /*
     * The kernel limits the descriptors in flight per user: if the limit is reached, an error is sent without a
     * descriptor.
     */
    if (table < 0 || (r != -ETOOMANYREFS && r != -ENOBUFS))
        return r;
    answer.result = r;
    return fd_socket_send_one(SYMBOLISER_SOCKET, &answer, sizeof(answer), -1);
}

/*
 * Passes a descriptor of /proc/self/stat to the daemon, which could not open the file itself if /proc is mounted with
 * hidepid=.
 */
static void send_hello(void)
{
    const struct symboliser_answer hello = {.magic = SYMBOLISER_MAGIC, .result = SYMBOLISER_HELLO};
    _cleanup_(closep) int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

    fd_socket_send_one(SYMBOLISER_SOCKET, &hello, sizeof(hello), stat);
}

static int enter_sandbox(void)
{
    static const int sockets[] = {SYMBOLISER_SOCKET, SYMBOLISER_INPUT};

    return sandbox_enter(&(struct sandbox){.kind = SANDBOX_SYMBOLISER,
                                           .fds = sockets,
                                           .n_fds = ARRAY_SIZE(sockets),
                                           .file_size = SYMBOL_TABLE_SIZE_MAX},
                         NULL, NULL);
}

static int serve_tables(void)
{
    const struct elf_library *library = elf_symbols_load();

    program_set_name("perfcountd-symboliser"); /* else the name would be "exe", from /proc/self/exe */
    send_hello();
    if (enter_sandbox() < 0)
        _exit(SYMBOLISER_UNCONFINED); /* exit(3) handlers could change the status */
    for (;;) {
        int r = serve_one(library);
        if (r < 0)
            return r == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
    }
}

static int serve_files(void)
{
    program_set_name("perfcountd-finder");
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    return finder_serve(SYMBOLISER_INPUT, SYMBOLISER_SOCKET, true);
}

int symboliser_serve(void)
{
    const char *role = getenv(SYMBOLISER_ROLE);

    signal(SIGPIPE, SIG_IGN);
    return role && str_equal(role, SYMBOLISER_FINDER) ? serve_files() : serve_tables();
}
