/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source `state`: names of containers in the state files of their runtimes.
 *
 * This process does not see the files: it asks for one by sys->read_state(), and gets records of what is in it. A
 * container is looked for when its cgroup is new, and some more times soon afterwards, since the file may be written
 * a moment after the cgroup was made; once it is found, its file is compared every few seconds, since it may be
 * renamed. A question has a ticket, so that an answer counts only for what was asked.
 */
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cgroups/container.h"
#include "cgroups/name-source.h"
#include "cgroups/names-packet.h"
#include "cgroups/path.h"
#include "cgroups/question.h"
#include "cgroups/unnamed.h"

/* How often, at least, the file of a container that is known is compared. */
#define REFRESH_NS (15 * NSEC_PER_SEC)
#define REFRESH_STEP_NS (5 * NSEC_PER_SEC)
/* A container that no file names is looked for more and more seldom: from once a minute to once in 16 minutes. */
#define SLOW_RETRY_NS (60 * NSEC_PER_SEC)
#define SLOW_DOUBLINGS 4
/* A user may make any number of cgroups that look like containers'. */
#define CONTAINERS_MAX 4096
/* While the reader has enough to do. */
#define BUSY_NS (50 * NSEC_PER_MSEC)
/* How much is done at once, so that the event loop is not held up; the descriptor stays readable. */
#define ATTEMPTS_MAX 32
#define RECORDS_MAX 256
#define NEVER UINT64_MAX

/* After each attempt to find a new container. */
static const uint64_t retries_ns[] = {200 * NSEC_PER_MSEC, 500 * NSEC_PER_MSEC, NSEC_PER_SEC, 2 * NSEC_PER_SEC,
                                      5 * NSEC_PER_SEC};

struct state {
    struct sys *sys;
    int fd, timer; /* -1 where there is no reader, and never was */
    bool has_reader;
    uint64_t armed_ns; /* when the timer fires; NEVER */
    struct containers containers;
    struct accounts accounts;
    struct questions questions;
};

/* Whether that is another reason than before. */
static bool container_set_unnamed(struct container *container, const char *unnamed)
{
    bool changed = container->unnamed != unnamed && !container_is_named(container);

    container->unnamed = unnamed;
    return changed;
}

/* --- timer --- */

static void state_arm(struct state *state, uint64_t due_ns, uint64_t now)
{
    uint64_t in = due_ns > now ? due_ns - now : 1;
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(in / NSEC_PER_SEC), .tv_nsec = (long)(in % NSEC_PER_SEC)}};

    if (due_ns == state->armed_ns)
        return;
    if (due_ns == NEVER)
        when = (struct itimerspec){0};
    timerfd_settime(state->timer, 0, &when, NULL);
    state->armed_ns = due_ns;
}

static void state_arm_next(struct state *state, uint64_t now)
{
    uint64_t due = NEVER;

    for (size_t i = 0; i < state->containers.n; i++)
        due = MIN(due, state->containers.items[i]->due_ns);
    due = MIN(due, questions_due(&state->questions));
    state_arm(state, due, now);
}

/* --- questions --- */

/* Several containers ask for a list at a time: it is asked for once. -EALREADY where it says nothing new. */
static int state_ask_list(struct state *state, struct account *account, uint32_t place, bool as_new, uint64_t now)
{
    struct account_list *list = &account->lists[place];

    if (list->asked_ns == now && (list->was_new || !as_new))
        return list->result;
    int r = questions_ask(&state->questions, account, place, "", as_new ? 0 : list->version, now);
    if (r == -EAGAIN)
        return r;
    list->asked_ns = now;
    list->was_new = as_new;
    list->result = r == -EALREADY && list->error ? list->error : r;
    return list->result;
}

static int state_ask_place(struct state *state, struct account *account, struct container *container, uint32_t place,
                           uint64_t now)
{
    const struct state_place *at = state_place(place);

    if (state_place_is_of_user(at) != (container->user != 0))
        return -ENOENT;
    if (!state_place_is_of_one(at))
        return state_ask_list(state, account, place, container->attempts == 0, now);
    return questions_ask(&state->questions, account, place, container->id,
                         (int)place == container->place ? container->version : 0, now);
}

/*
 * Asks the place that names the container, or else all of them; *ret_error is the one of their errors that says the
 * most, 0 where there will be an answer. -EAGAIN where too much is asked just now.
 */
static int state_ask_places(struct state *state, struct account *account, struct container *container, uint64_t now,
                            int *ret_error)
{
    bool named = container_is_named(container);
    uint32_t first = named ? (uint32_t)container->place : 0;
    int error = -ENOENT;

    for (uint32_t place = first; state_place(place) && (place == first || !named); place++) {
        int r = state_ask_place(state, account, container, place, now);
        if (r == -EAGAIN)
            return r;
        error = unnamed_rank(r) < unnamed_rank(error) ? r : error;
    }
    *ret_error = error;
    return 0;
}

/* At few times, so that the process wakes once for many containers. */
static uint64_t next_refresh(uint64_t now)
{
    return (now + REFRESH_NS) / REFRESH_STEP_NS * REFRESH_STEP_NS;
}

static uint64_t next_retry(size_t attempts)
{
    size_t n = ARRAY_SIZE(retries_ns);

    return attempts < n ? retries_ns[attempts] : SLOW_RETRY_NS << (attempts - n);
}

/* Whether the reason why it has no name is another now. */
static bool state_attempt(struct state *state, struct container *container, uint64_t now)
{
    struct account *account = accounts_find(&state->accounts, state->sys, container->user);
    int error;

    if (!account || state_ask_places(state, account, container, now, &error) < 0) {
        container->due_ns = now + BUSY_NS;
        return false;
    }
    if (container_is_named(container)) {
        container->due_ns = next_refresh(now);
        return false;
    }
    if (error == -EHOSTDOWN) {
        container->due_ns = next_refresh(now);
    } else {
        container->due_ns = now + next_retry(container->attempts);
        container->attempts += container->attempts < ARRAY_SIZE(retries_ns) + SLOW_DOUBLINGS;
    }
    /* The reason of a container that a file has without a name stays. */
    return error != 0 && container->place < 0 &&
           container_set_unnamed(container, unnamed_reason(error, container->user != 0));
}

static bool state_ask_due(struct state *state, uint64_t now)
{
    bool changed = false;
    size_t n = 0;

    for (size_t i = 0; i < state->containers.n && n < ATTEMPTS_MAX; i++) {
        struct container *container = state->containers.items[i];
        if (container->due_ns > now)
            continue;
        changed |= state_attempt(state, container, now);
        n++;
    }
    return changed;
}

/* --- answers --- */

/*
 * The file's file system does not answer, and may answer soon: the containers that it could name are looked for again
 * without the growing pauses. Whether the reason why one has no name is another now.
 */
static bool state_take_silence(struct state *state, const struct question *question)
{
    uint64_t due = next_refresh(state->sys->now(state->sys, CLOCK_MONOTONIC));
    bool changed = false;

    for (size_t i = 0; i < state->containers.n; i++) {
        struct container *container = state->containers.items[i];
        if (container->user != question->user || container->place >= 0 ||
            (*question->id && !str_equal(question->id, container->id)))
            continue;
        container->due_ns = MIN(container->due_ns, due);
        changed |= container_set_unnamed(container, unnamed_reason(-EHOSTDOWN, container->user != 0));
    }
    return changed;
}

/* The file has been read. Whether the reason why a container has no name is another now. */
static bool state_take_end(struct state *state, const struct question *question,
                           const struct name_record_header *header)
{
    bool has_account = containers_have_user(&state->containers, question->user);
    struct account *account = has_account ? accounts_find(&state->accounts, state->sys, question->user) : NULL;
    bool is_silent = header->error == -EHOSTDOWN; /* it is asked for again even if it is as it was */

    if (!*question->id && account) {
        account->lists[question->place].version = is_silent ? 0 : header->version;
        account->lists[question->place].error = header->error;
    }
    if (is_silent)
        return state_take_silence(state, question);
    struct container *container = containers_find(&state->containers, question->user, question->id);
    if (!container)
        return false;
    if (container->place == (int)question->place)
        container->version = header->version;
    return container_set_unnamed(container,
                                 container->place >= 0
                                     ? unnamed_by_runtime
                                     : unnamed_reason(header->error ? header->error : -ENOENT, container->user != 0));
}

/* CRI-O and podman have their stores in the same places. */
static const char *source_of(const struct question *question, const struct names *names)
{
    const char *runtime = names->texts[NAME_RUNTIME];

    return runtime && str_equal(runtime, "cri-o") ? "cri-o" : state_place(question->place)->source;
}

/* The names of a container. Whether they are other names than before. */
static bool state_take_names(struct state *state, const struct question *question, struct name_record *record)
{
    struct container *container = containers_find(&state->containers, question->user, record->header.id);

    if (!container || (*question->id && !str_equal(question->id, record->header.id)))
        return false;
    if (record->names.texts[NAME_CONTAINER])
        record->names.source = source_of(question, &record->names);
    bool changed = container_take(container, question->place, &record->names);
    if (container_is_named(container))
        container->due_ns = next_refresh(state->sys->now(state->sys, CLOCK_MONOTONIC));
    return changed;
}

static bool state_take_record(struct state *state, struct name_record *record)
{
    const struct name_record_header *header = &record->header;
    struct question question;

    if (questions_take(&state->questions, header->ticket, header->is_last, &question) < 0)
        return false;
    return header->is_last ? state_take_end(state, &question, header) : state_take_names(state, &question, record);
}

/* The reader has ended: its socket would be readable for ever. */
static void state_lose_reader(struct state *state)
{
    epoll_ctl(state->fd, EPOLL_CTL_DEL, state->sys->state_records, NULL);
    state->has_reader = false;
    state->questions.n = 0;
}

static bool state_receive(struct state *state)
{
    char packet[NAME_RECORD_MAX];
    bool changed = false;

    for (size_t i = 0; i < RECORDS_MAX && state->has_reader; i++) {
        struct name_record record;
        ssize_t size = recv(state->sys->state_records, packet, sizeof(packet), MSG_DONTWAIT);
        /* Where memory is short, the record stays in the socket, which stays readable. */
        if (size < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOMEM || errno == ENOBUFS))
            break;
        if (size <= 0)
            state_lose_reader(state);
        else if (name_record_parse(packet, (size_t)size, &record) == 0) {
            changed |= state_take_record(state, &record);
            name_record_done(&record);
        }
    }
    return changed;
}

/* --- the source --- */

static void state_close(void *data)
{
    struct state *state = data;

    closep(&state->fd);
    closep(&state->timer);
    containers_done(&state->containers);
    accounts_done(&state->accounts);
    free(state);
}

static int state_open(struct sys *sys, void **ret, int *ret_fd)
{
    struct state *state = calloc(1, sizeof(*state));
    int r = 0;

    if (!state)
        return -ENOMEM;
    *state =
        (struct state){.sys = sys, .fd = -1, .timer = -1, .has_reader = sys->state_records >= 0, .armed_ns = NEVER};
    state->questions.sys = sys;
    if (state->has_reader) {
        state->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        r = state->timer < 0 ? -errno : 0;
    }
    if (state->has_reader && r == 0) {
        state->fd = fd_join((int[]){state->timer, sys->state_records}, 2);
        r = MIN(state->fd, 0);
    }
    if (r < 0) {
        state_close(state);
        return r;
    }
    *ret = state;
    *ret_fd = state->fd;
    return 0;
}

static bool state_dispatch(void *data)
{
    struct state *state = data;
    uint64_t now = state->sys->now(state->sys, CLOCK_MONOTONIC), fired;

    if (state->timer < 0)
        return false;
    if (read(state->timer, &fired, sizeof(fired)) > 0)
        state->armed_ns = NEVER;
    bool changed = state_receive(state);
    questions_expire(&state->questions, now);
    changed |= state_ask_due(state, now);
    state_arm_next(state, now);
    return changed;
}

static int state_find(void *data, const char *path, struct names *names)
{
    struct state *state = data;
    struct container *container;
    uint32_t user = 0;
    const char *id = names->texts[NAME_CONTAINER_ID];

    if (!id || strlen(id) != STATE_ID_LENGTH)
        return 0;
    if (path_is_nested(path)) {
        names->unnamed = "it is in another container, whose own runtime knows its name; run perfcountd there";
        return 0;
    }
    if (state->timer < 0) {
        names->unnamed = names->unnamed ? names->unnamed : unnamed_reason(-ENOSYS, false);
        return 0;
    }
    size_t before = state->containers.n;
    path_find_user(path, &user);
    if (before == CONTAINERS_MAX && !containers_find(&state->containers, user, id)) {
        names->unnamed = "too many containers are known already; remove cgroups that are not used";
        return 0;
    }
    int r = containers_add(&state->containers, user, id, path, &container);
    if (r < 0)
        return r;
    if (state->containers.n > before) {
        container->unnamed = unnamed_reason(0, false);
        state_arm(state, 0, 0);
    }
    names->unnamed = names->unnamed ? names->unnamed : container->unnamed;
    return names_merge(names, &container->names);
}

static void state_forget(void *data, const char *path)
{
    _cleanup_(names_done) struct names names = {0};
    struct state *state = data;
    uint32_t user = 0;

    if (state->timer < 0 || names_from_path(&names, path) < 0 || !names.texts[NAME_CONTAINER_ID])
        return;
    path_find_user(path, &user);
    containers_forget(&state->containers, user, names.texts[NAME_CONTAINER_ID], path);
    if (!containers_have_user(&state->containers, user))
        accounts_drop(&state->accounts, user);
}

const struct name_source name_source_state = {
    .open = state_open,
    .dispatch = state_dispatch,
    .find = state_find,
    .forget = state_forget,
    .close = state_close,
};
