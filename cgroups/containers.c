/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/containers.h"

#include <pwd.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "cgroups/name-source.h"
#include "cgroups/names-reader.h"
#include "cgroups/path.h"
#include "perf/reason.h"

struct container_users {
    struct container_user **items;
    size_t n;
};

/* --- reasons --- */

#define UNNAMED_YET "the state file of its runtime is being searched for"
#define WITHOUT_READER                                                                                                 \
    "no container runtime had a state file when perfcountd started, or the process that reads such files has ended; "  \
    "restart perfcountd"
#define NOT_FOUND                                                                                                      \
    "not found in any state file of a container runtime (doc/names.md lists the places); if its runtime has its "      \
    "files elsewhere, link them to one of these places"
#define HIDDEN_HOMES                                                                                                   \
    "; if the service hides home directories, user-containers.conf shows them with ProtectHome=read-only "             \
    "(perfcountd(8), Systemd)"
#define NOT_FOUND_OF_USER "not found in any state file of its user's container runtime" HIDDEN_HOMES
#define NO_ACCESS                                                                                                      \
    "perfcountd is not permitted to read the state file of its runtime; start perfcountd as root, with its opener, "   \
    "or as the user whose container it is"

#define NO_FILES                                                                                                       \
    "the state file of its runtime cannot be opened, since too many files are open; raise LimitNOFILE= or fs.file-max"

static const struct {
    int error;
    const char *reason;
} reasons[] = {
    {0, UNNAMED_YET},
    {-ENOSYS, WITHOUT_READER},
    {-EPIPE, REASON_OPENER_GONE "; " REASON_OPENER_GONE_REMEDY},
    {-EBADRQC, "the state file of its runtime is refused, since an account other than its owner could have written it; "
               "check the owners and modes of its directories"},
    {-EMFILE, NO_FILES},
    {-ENFILE, NO_FILES},
    {-ENOMEM, "the state file of its runtime cannot be opened, since the kernel is out of memory"},
    {-EACCES, NO_ACCESS},
    {-EHOSTDOWN, "the file system of its runtime's state file does not answer, or took too long; perfcountd will "
                 "retry; check the mounts of its user's directories (FUSE, NFS)"},
    {-EFBIG, "the state file of its runtime is too large to read; remove stopped containers"},
    {-EBADMSG, "the state file of its runtime has an unsupported format; doc/names.md lists the supported "
               "versions"},
    {-ENOENT, NOT_FOUND},
};

static const char *const unnamed_by_runtime = "its runtime has given it no name; name it when it is created (--name)";

/*
 * The rank of an error in requesting or reading a file. The error with the lowest rank is the most informative. Error
 * 0, which means that an answer will come, has the lowest rank.
 */
static size_t unnamed_rank(int error)
{
    size_t i = 0;

    while (i < ARRAY_SIZE(reasons) - 1 && reasons[i].error != (error == -EPERM ? -EACCES : error))
        i++;
    return i;
}

/* Returns the text that tells users why a container has no name. `is_of_user`: the cgroup is below a user's slice. */
static const char *unnamed_reason(int error, bool is_of_user)
{
    int reason = reasons[unnamed_rank(error)].error;

    if (is_of_user && reason == -ENOENT)
        return NOT_FOUND_OF_USER;
    /* EACCES may come from a hidden home, which is a directory that nobody may enter. */
    return is_of_user && reason == -EACCES ? NO_ACCESS HIDDEN_HOMES : reasons[unnamed_rank(error)].reason;
}

/* --- users --- */

/*
 * Finds the home of a user in /etc/passwd, if it is an absolute path. Does not ask other name services, which may wait
 * for the network. Returns -ENOENT, -ENAMETOOLONG, or an error of open(2).
 */
static int container_user_find_home(struct sys *sys, uint32_t user, char *ret, size_t size)
{
    _cleanup_(closep) int fd = sys_open_file(sys, "/etc/passwd", 0);
    const struct passwd *entry;

    if (fd < 0)
        return fd;
    _cleanup_(fclosep) FILE *file = fdopen(fd, "r");
    if (!file)
        return -errno;
    fd = -1;
    while ((entry = fgetpwent(file)))
        if (entry->pw_uid == user && entry->pw_dir[0] == '/') {
            if (strlen(entry->pw_dir) >= size)
                return -ENAMETOOLONG;
            strcpy(ret, entry->pw_dir);
            return 0;
        }
    return -ENOENT;
}

static void container_users_done(struct container_users *container_users)
{
    for (size_t i = 0; i < container_users->n; i++)
        free(container_users->items[i]);
    free(container_users->items);
    *container_users = (struct container_users){0};
}

/* Finds a user, or adds one with the home directory. Returns NULL if out of memory. */
static struct container_user *container_users_find(struct container_users *container_users, struct sys *sys,
                                                   uint32_t user)
{
    size_t n_places = 0;

    for (size_t i = 0; i < container_users->n; i++)
        if (container_users->items[i]->user == user)
            return container_users->items[i];
    while (state_place(n_places))
        n_places++;
    if (array_grow(&container_users->items, container_users->n) < 0)
        return NULL;
    struct container_user *container_user =
        calloc(1, sizeof(*container_user) + n_places * sizeof(container_user->lists[0]));
    if (!container_user)
        return NULL;
    container_user->user = user;
    if (user)
        container_user_find_home(sys, user, container_user->home, sizeof(container_user->home));
    container_users->items[container_users->n++] = container_user;
    return container_user;
}

static void container_users_drop(struct container_users *container_users, uint32_t user)
{
    for (size_t i = 0; i < container_users->n; i++)
        if (container_users->items[i]->user == user) {
            free(container_users->items[i]);
            container_users->items[i] = container_users->items[--container_users->n];
            return;
        }
}

/* --- lookups --- */

/* The time limit for an answer. The reader needs a few milliseconds for the largest file. */
#define ANSWER_NS (10 * NSEC_PER_SEC)

int lookups_ask(struct lookups *lookups, const struct container_user *container_user, uint32_t place, const char *id,
                uint64_t version, uint64_t now)
{
    struct lookup lookup = {.asked_ns = now, .place = place, .user = container_user->user};
    struct state_request request = {.place = place, .user = container_user->user, .version = version};

    if (lookups->n == LOOKUPS_MAX)
        return -EAGAIN;
    if (getrandom(&lookup.ticket, sizeof(lookup.ticket), GRND_NONBLOCK) != sizeof(lookup.ticket))
        return -EAGAIN;
    request.ticket = lookup.ticket;
    strcpy(lookup.id, id);
    strcpy(request.id, id);
    strcpy(request.home, container_user->home);
    int r = lookups->files->read(lookups->files->owner, &request);
    if (r == 0)
        lookups->items[lookups->n++] = lookup;
    return r;
}

int lookups_take(struct lookups *lookups, uint64_t ticket, bool is_last, struct lookup *ret)
{
    for (size_t i = 0; i < lookups->n; i++)
        if (lookups->items[i].ticket == ticket) {
            *ret = lookups->items[i];
            if (is_last)
                lookups->items[i] = lookups->items[--lookups->n];
            return 0;
        }
    return -ENOENT;
}

void lookups_expire(struct lookups *lookups, uint64_t now)
{
    size_t n = 0;

    for (size_t i = 0; i < lookups->n; i++)
        if (now - lookups->items[i].asked_ns < ANSWER_NS)
            lookups->items[n++] = lookups->items[i];
    lookups->n = n;
}

uint64_t lookups_due(const struct lookups *lookups)
{
    uint64_t due = UINT64_MAX;

    for (size_t i = 0; i < lookups->n; i++)
        due = MIN(due, lookups->items[i].asked_ns + ANSWER_NS);
    return due;
}

/* --- containers --- */

static struct container *container_free(struct container *container)
{
    if (!container)
        return NULL;
    for (size_t i = 0; i < container->n_paths; i++)
        free(container->paths[i]);
    free(container->paths);
    names_done(&container->names);
    free(container);
    return NULL;
}
DEFINE_CLEANUP(struct container *, container_free);

void containers_done(struct containers *containers)
{
    for (size_t i = 0; i < containers->n; i++)
        container_free(containers->items[i]);
    free(containers->items);
    *containers = (struct containers){0};
}

static int container_compare(const struct container *container, uint32_t user, const char *id)
{
    if (container->user != user)
        return container->user < user ? -1 : 1;
    return strcmp(container->id, id);
}

/* Returns the index of the container, or the index at which to insert it. */
static size_t containers_search(const struct containers *containers, uint32_t user, const char *id)
{
    return array_search(containers->n, i, container_compare(containers->items[i], user, id) < 0);
}

static bool containers_have(const struct containers *containers, size_t i, uint32_t user, const char *id)
{
    return i < containers->n && container_compare(containers->items[i], user, id) == 0;
}

/* Returns NULL if the container is not known. */
static struct container *containers_find(const struct containers *containers, uint32_t user, const char *id)
{
    size_t i = containers_search(containers, user, id);

    return containers_have(containers, i, user, id) ? containers->items[i] : NULL;
}

static bool containers_have_user(const struct containers *containers, uint32_t user)
{
    size_t i = containers_search(containers, user, "");

    return i < containers->n && containers->items[i]->user == user;
}

static size_t container_find_path(const struct container *container, const char *path)
{
    size_t i = 0;

    while (i < container->n_paths && !str_equal(container->paths[i], path))
        i++;
    return i;
}

static int container_add_path(struct container *container, const char *path)
{
    if (container_find_path(container, path) < container->n_paths)
        return 0;
    if (array_grow(&container->paths, container->n_paths) < 0)
        return -ENOMEM;
    container->paths[container->n_paths] = strdup(path);
    if (!container->paths[container->n_paths])
        return -ENOMEM;
    container->n_paths++;
    return 0;
}

int containers_add(struct containers *containers, uint32_t user, const char *id, const char *path,
                   struct container **ret)
{
    _cleanup_(container_freep) struct container *added = NULL;
    size_t i = containers_search(containers, user, id);

    if (containers_have(containers, i, user, id)) {
        *ret = containers->items[i];
        return container_add_path(*ret, path);
    }
    added = calloc(1, sizeof(*added));
    if (!added || container_add_path(added, path) < 0 || array_grow(&containers->items, containers->n) < 0)
        return -ENOMEM;
    memcpy(added->id, id, STATE_ID_LENGTH);
    added->user = user;
    added->place = -1;
    memmove(&containers->items[i + 1], &containers->items[i], (containers->n - i) * sizeof(containers->items[0]));
    containers->n++;
    *ret = containers->items[i] = steal(added);
    return 0;
}

/* Removes a cgroup of the container. Removes the container if that was its last cgroup. */
static void containers_forget(struct containers *containers, uint32_t user, const char *id, const char *path)
{
    size_t i = containers_search(containers, user, id);

    if (!containers_have(containers, i, user, id))
        return;
    struct container *container = containers->items[i];
    size_t k = container_find_path(container, path);
    if (k == container->n_paths)
        return;
    free(container->paths[k]);
    container->paths[k] = container->paths[--container->n_paths];
    if (container->n_paths > 0)
        return;
    container_free(container);
    containers->n--;
    memmove(&containers->items[i], &containers->items[i + 1], (containers->n - i) * sizeof(containers->items[0]));
}

static bool names_are_enough(const struct names *names)
{
    return names->texts[NAME_CONTAINER] || names->is_pause;
}

bool container_is_named(const struct container *container)
{
    return container->place >= 0 && names_are_enough(&container->names);
}

bool container_take(struct container *container, uint32_t place, struct names *names)
{
    bool is_better = !container_is_named(container) ? container->place < 0 || names_are_enough(names)
                                                    : names_are_enough(names) && (int)place < container->place;

    if ((int)place != container->place && !is_better)
        return false;
    bool changed = container->place < 0 || !names_equal(&container->names, names);
    names_done(&container->names);
    container->names = *names;
    container->place = (int)place;
    *names = (struct names){0};
    return changed;
}

/* --- source --- */

/*
 * The name source `state`: names of containers from the state files of their runtimes. This process never sees the
 * files: it requests a file through struct state_files and receives records with the names in it.
 *
 * A file may be written shortly after the cgroup is created, so a container is looked up when its cgroup is new and a
 * few more times soon afterwards. The container may be renamed, so once its file has been found, the file's version is
 * checked every few seconds. Each request has a ticket, by which its answer is recognized.
 */

/* The file of a named container is checked for changes at least this often. */
#define REFRESH_NS (15 * NSEC_PER_SEC)
#define REFRESH_STEP_NS (5 * NSEC_PER_SEC)
/*
 * A container that is listed in no file is looked up less and less often: first once a minute, finally every 16
 * minutes.
 */
#define SLOW_RETRY_NS (60 * NSEC_PER_SEC)
#define SLOW_DOUBLINGS 4
/* Maximum number of containers. A user may create any number of cgroups that look like those of containers. */
#define CONTAINERS_MAX 4096
/* The pause before the next try while the reader is busy. */
#define BUSY_NS (50 * NSEC_PER_MSEC)
/*
 * Maximum number of requests and records that are handled in one call, so that the event loop is not blocked. The
 * descriptor stays readable if there is more to do.
 */
#define ATTEMPTS_MAX 32
#define RECORDS_MAX 256
#define NEVER UINT64_MAX

/* The pauses after the first attempts to find a new container. */
static const uint64_t retries_ns[] = {200 * NSEC_PER_MSEC, 500 * NSEC_PER_MSEC, NSEC_PER_SEC, 2 * NSEC_PER_SEC,
                                      5 * NSEC_PER_SEC};

struct state {
    struct sys *sys;
    int fd, timer; /* both descriptors are -1 if there was no reader at the start */
    bool has_reader;
    uint64_t armed_ns; /* time at which the timer fires, or NEVER */
    struct containers containers;
    struct container_users container_users;
    struct lookups lookups;
};

/* Returns whether the `unnamed` reason of a container has changed. */
static bool container_set_unnamed(struct container *container, const char *unnamed)
{
    bool changed = container->unnamed != unnamed && !container_is_named(container);

    container->unnamed = unnamed;
    return changed;
}

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
    due = MIN(due, lookups_due(&state->lookups));
    state_arm(state, due, now);
}

/* --- requests --- */

/*
 * Requests a list; if several containers need it at the same time, it is requested only once. With `as_new`, the list
 * is requested even if its version is unchanged. Returns -EALREADY if the list has not changed.
 */
static int state_ask_list(struct state *state, struct container_user *container_user, uint32_t place, bool as_new,
                          uint64_t now)
{
    struct container_user_list *list = &container_user->lists[place];

    if (list->asked_ns == now && (list->was_new || !as_new))
        return list->result;
    int r = lookups_ask(&state->lookups, container_user, place, "", as_new ? 0 : list->version, now);
    if (r == -EAGAIN)
        return r;
    list->asked_ns = now;
    list->was_new = as_new;
    list->result = r == -EALREADY && list->error ? list->error : r;
    return list->result;
}

static int state_ask_place(struct state *state, struct container_user *container_user, struct container *container,
                           uint32_t place, uint64_t now)
{
    const struct state_place *at = state_place(place);

    if (state_place_is_of_user(at) != (container->user != 0))
        return -ENOENT;
    if (!state_place_is_of_one(at))
        return state_ask_list(state, container_user, place, container->attempts == 0, now);
    return lookups_ask(&state->lookups, container_user, place, container->id,
                       (int)place == container->place ? container->version : 0, now);
}

/*
 * Requests the file that names the container, or the files of all places if no file names it yet. *ret_error is the
 * most informative error; 0 means that an answer will come. Returns -EAGAIN if too many requests are pending.
 */
static int state_ask_places(struct state *state, struct container_user *container_user, struct container *container,
                            uint64_t now, int *ret_error)
{
    bool named = container_is_named(container);
    uint32_t first = named ? (uint32_t)container->place : 0;
    int error = -ENOENT;

    for (uint32_t place = first; state_place(place) && (place == first || !named); place++) {
        int r = state_ask_place(state, container_user, container, place, now);
        if (r == -EAGAIN)
            return r;
        error = unnamed_rank(r) < unnamed_rank(error) ? r : error;
    }
    *ret_error = error;
    return 0;
}

/* Returns the time of the next check, rounded so that the process wakes up once for many containers. */
static uint64_t next_refresh(uint64_t now)
{
    return (now + REFRESH_NS) / REFRESH_STEP_NS * REFRESH_STEP_NS;
}

static uint64_t next_retry(size_t attempts)
{
    size_t n = ARRAY_SIZE(retries_ns);

    return attempts < n ? retries_ns[attempts] : SLOW_RETRY_NS << (attempts - n);
}

/* Returns whether the container's `unnamed` reason has changed. */
static bool state_attempt(struct state *state, struct container *container, uint64_t now)
{
    struct container_user *container_user = container_users_find(&state->container_users, state->sys, container->user);
    int error;

    if (!container_user || state_ask_places(state, container_user, container, now, &error) < 0) {
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
    /* If a file lists the container without a name, that remains the reason. */
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
 * Called when the file system of a state file does not answer. It may answer soon, so the containers that the file
 * could name are looked up again at the short interval. Returns whether the `unnamed` reason of one of them has
 * changed.
 */
static bool state_take_silence(struct state *state, const struct lookup *lookup)
{
    uint64_t due = next_refresh(sys_now(state->sys, CLOCK_MONOTONIC));
    bool changed = false;

    for (size_t i = 0; i < state->containers.n; i++) {
        struct container *container = state->containers.items[i];
        if (container->user != lookup->user || container->place >= 0 ||
            (*lookup->id && !str_equal(lookup->id, container->id)))
            continue;
        container->due_ns = MIN(container->due_ns, due);
        changed |= container_set_unnamed(container, unnamed_reason(-EHOSTDOWN, container->user != 0));
    }
    return changed;
}

/* Handles the end of an answer. Returns whether the `unnamed` reason of a container has changed. */
static bool state_take_end(struct state *state, const struct lookup *lookup, const struct names_packet_header *header)
{
    bool has_container_user = containers_have_user(&state->containers, lookup->user);
    struct container_user *container_user =
        has_container_user ? container_users_find(&state->container_users, state->sys, lookup->user) : NULL;
    bool is_silent = header->error == -EHOSTDOWN; /* if so, the file is requested again */

    if (!*lookup->id && container_user) {
        container_user->lists[lookup->place].version = is_silent ? 0 : header->version;
        container_user->lists[lookup->place].error = header->error;
    }
    if (is_silent)
        return state_take_silence(state, lookup);
    struct container *container = containers_find(&state->containers, lookup->user, lookup->id);
    if (!container)
        return false;
    if (container->place == (int)lookup->place)
        container->version = header->version;
    return container_set_unnamed(container,
                                 container->place >= 0
                                     ? unnamed_by_runtime
                                     : unnamed_reason(header->error ? header->error : -ENOENT, container->user != 0));
}

/* CRI-O and podman keep their stores in the same places. */
static const char *source_of(const struct lookup *lookup, const struct names *names)
{
    const char *runtime = names->texts[NAME_RUNTIME];

    return runtime && str_equal(runtime, "cri-o") ? "cri-o" : state_place(lookup->place)->source;
}

/* Handles the names of a container. Returns whether the container's names have changed. */
static bool state_take_names(struct state *state, const struct lookup *lookup, struct names_packet *record)
{
    struct container *container = containers_find(&state->containers, lookup->user, record->header.id);

    if (!container || (*lookup->id && !str_equal(lookup->id, record->header.id)))
        return false;
    if (record->names.texts[NAME_CONTAINER])
        record->names.source = source_of(lookup, &record->names);
    bool changed = container_take(container, lookup->place, &record->names);
    if (container_is_named(container))
        container->due_ns = next_refresh(sys_now(state->sys, CLOCK_MONOTONIC));
    return changed;
}

static bool state_take_record(struct state *state, struct names_packet *record)
{
    const struct names_packet_header *header = &record->header;
    struct lookup lookup;

    if (lookups_take(&state->lookups, header->ticket, header->is_last, &lookup) < 0)
        return false;
    return header->is_last ? state_take_end(state, &lookup, header) : state_take_names(state, &lookup, record);
}

/* Called when the reader has exited. Its socket must be dropped, because the socket would be readable forever. */
static void state_lose_reader(struct state *state)
{
    epoll_ctl(state->fd, EPOLL_CTL_DEL, state->lookups.files->records, NULL);
    state->has_reader = false;
    state->lookups.n = 0;
}

static bool state_receive(struct state *state)
{
    char packet[NAMES_PACKET_MAX];
    bool changed = false;

    for (size_t i = 0; i < RECORDS_MAX && state->has_reader; i++) {
        struct names_packet record;
        ssize_t size = recv(state->lookups.files->records, packet, sizeof(packet), MSG_DONTWAIT);
        /* When out of memory, the record stays in the socket, which stays readable. */
        if (size < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOMEM || errno == ENOBUFS))
            break;
        if (size <= 0)
            state_lose_reader(state);
        else if (names_packet_parse(packet, (size_t)size, &record) == 0) {
            changed |= state_take_record(state, &record);
            names_packet_done(&record);
        }
    }
    return changed;
}

/* --- callbacks --- */

static void state_close(void *data)
{
    struct state *state = data;

    closep(&state->fd);
    closep(&state->timer);
    containers_done(&state->containers);
    container_users_done(&state->container_users);
    free(state);
}

static int state_open(struct sys *sys, const struct state_files *files, void **ret, int *ret_fd)
{
    struct state *state = calloc(1, sizeof(*state));
    int r = 0;

    if (!state)
        return -ENOMEM;
    *state = (struct state){.sys = sys, .fd = -1, .timer = -1, .has_reader = files && files->read, .armed_ns = NEVER};
    state->lookups.files = files;
    if (state->has_reader) {
        state->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        r = state->timer < 0 ? -errno : 0;
    }
    if (state->has_reader && r == 0) {
        state->fd = fd_join((int[]){state->timer, files->records}, 2);
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
    uint64_t now = sys_now(state->sys, CLOCK_MONOTONIC), fired;

    if (state->timer < 0)
        return false;
    if (read(state->timer, &fired, sizeof(fired)) > 0)
        state->armed_ns = NEVER;
    bool changed = state_receive(state);
    lookups_expire(&state->lookups, now);
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
        names->unnamed = "it is inside another container, whose own runtime knows its name; run perfcountd there";
        return 0;
    }
    if (state->timer < 0) {
        names->unnamed = names->unnamed ? names->unnamed : unnamed_reason(-ENOSYS, false);
        return 0;
    }
    size_t before = state->containers.n;
    path_find_user(path, &user);
    if (before == CONTAINERS_MAX && !containers_find(&state->containers, user, id)) {
        names->unnamed = "too many containers are already known; remove unused cgroups";
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
        container_users_drop(&state->container_users, user);
}

const struct name_source name_source_state = {
    .open = state_open,
    .dispatch = state_dispatch,
    .find = state_find,
    .forget = state_forget,
    .close = state_close,
};
