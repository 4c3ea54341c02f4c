/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory is watched before it is listed, so that a name that is created in between is either listed or reported.
 * After any event for the directory itself or for a name on its path, the search for the directory restarts with the
 * full path.
 */
#include "cgroups/directory-watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define HERE (IN_CREATE | IN_MOVED_TO)
#define OFFLINE (IN_DELETE | IN_MOVED_FROM)
#define SELF (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)
/*
 * All watches use one mask, because a common ancestor of two directories has only one watch. The mask includes
 * IN_ATTRIB because the owner and the mode of a directory matter.
 */
#define WATCH_MASK (HERE | OFFLINE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
#define EVENTS_SIZE (16 * 1024)
/*
 * Maximum number of events that are read in one call, because an endless stream of names must not block the event loop.
 * The descriptor stays readable if there are more.
 */
#define READS_MAX 16
/*
 * Maximum number of tries for a directory that is replaced again and again during the search. The search continues at
 * the next event.
 */
#define TRIES_MAX 8

/* --- search --- */

/* The directory, or its nearest ancestor that can be opened. */
struct nearest_directory {
    int fd;
    size_t length; /* length of the directory's path */
    int error;     /* the error of opening the directory itself, or 0 if it can be opened */
    struct stat status;
};

static void nearest_done(struct nearest_directory *nearest)
{
    closep(&nearest->fd);
}

static struct nearest_directory find_nearest(struct sys *sys, const char *path)
{
    struct nearest_directory nearest = {.fd = -1, .length = strlen(path)};
    char text[PATH_MAX];

    for (;;) {
        snprintf(text, sizeof(text), "%.*s", (int)nearest.length, path);
        nearest.fd = sys_open_file(sys, nearest.length ? text : "/", O_DIRECTORY);
        if (nearest.fd >= 0 || nearest.length == 0)
            break;
        nearest.error = nearest.error ? nearest.error : nearest.fd;
        while (nearest.length && path[--nearest.length] != '/')
            ;
    }
    if (nearest.fd >= 0 && fstat(nearest.fd, &nearest.status) < 0)
        nearest.error = -errno;
    return nearest;
}

static bool is_same(const struct nearest_directory *a, const struct nearest_directory *b)
{
    return a->length == b->length && a->fd >= 0 && b->fd >= 0 && a->status.st_dev == b->status.st_dev &&
           a->status.st_ino == b->status.st_ino;
}

/* Watches an open directory. Returns the watch, or -1 on failure. */
static int add_watch(const struct directory_watches *watches, int fd)
{
    char path[32];

    if (fd < 0 || watches->fd < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return inotify_add_watch(watches->fd, path, WATCH_MASK);
}

/* Watches the nearest directory. Tries again if that directory is replaced before the watch exists. */
static struct nearest_directory watch_nearest(struct directory_watches *watches, struct directory_watch *watch)
{
    struct nearest_directory nearest = find_nearest(watches->sys, watch->path);

    for (size_t i = 0; i < TRIES_MAX; i++) {
        int old = watch->watch;
        watch->watch = add_watch(watches, nearest.fd);
        /* Other directories that use the same watch get IN_IGNORED and are searched for again. */
        if (old >= 0 && old != watch->watch)
            inotify_rm_watch(watches->fd, old);
        struct nearest_directory again = find_nearest(watches->sys, watch->path);
        bool settled = is_same(&nearest, &again);
        nearest_done(&nearest);
        nearest = again;
        if (settled)
            break;
    }
    watch->length = nearest.length;
    return nearest;
}

/* --- listing --- */

static bool is_trusted(const struct stat *status)
{
    return (status->st_uid == 0 || status->st_uid == geteuid()) && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

static int list_names(const struct directory_listener *listener, int *fd)
{
    _cleanup_(closedirp) DIR *directory = fdopendir(*fd);

    if (!directory)
        return -errno;
    *fd = -1;
    for (;;) {
        errno = 0;
        const struct dirent *item = readdir(directory);
        if (!item)
            return -errno;
        if (item->d_name[0] != '.')
            listener->found(listener->userdata, item->d_name);
    }
}

static enum directory_state list_nearest(const struct directory_watch *watch, struct nearest_directory *nearest)
{
    if (nearest->error == -ENOENT || nearest->error == -ENOTDIR)
        return watch->watch < 0 ? DIRECTORY_UNWATCHED : DIRECTORY_MISSING;
    if (nearest->error)
        return DIRECTORY_UNREADABLE;
    if (!is_trusted(&nearest->status))
        return DIRECTORY_REFUSED;
    if (list_names(&watch->listener, &nearest->fd) < 0)
        return DIRECTORY_UNREADABLE;
    return watch->watch < 0 ? DIRECTORY_UNWATCHED : DIRECTORY_LISTED;
}

static bool is_listed(enum directory_state state)
{
    return state == DIRECTORY_LISTED || state == DIRECTORY_UNWATCHED;
}

/* Watches the directory and lists it. While it does not exist, watches its nearest existing ancestor. */
static void look(struct directory_watches *watches, struct directory_watch *watch)
{
    _cleanup_(nearest_done) struct nearest_directory nearest = watch_nearest(watches, watch);

    if (is_listed(watch->state))
        watch->listener.cleared(watch->listener.userdata);
    watch->state = list_nearest(watch, &nearest);
    if (!is_listed(watch->state))
        watch->listener.cleared(watch->listener.userdata);
}

/* --- events --- */

/* Whether `name` is the next component of the path after the watched directory. */
static bool leads_on(const struct directory_watch *watch, const char *name)
{
    const char *rest = watch->path + watch->length;
    size_t length = *rest ? strcspn(rest + 1, "/") : 0;

    return length && strlen(name) == length && memcmp(rest + 1, name, length) == 0;
}

/* Handles an event for a name. Returns whether anything has changed. */
static bool take_name(struct directory_watches *watches, struct directory_watch *watch,
                      const struct inotify_event *event)
{
    const struct directory_listener *listener = &watch->listener;
    enum directory_state before = watch->state;

    if (leads_on(watch, event->name)) {
        look(watches, watch);
        return is_listed(before) || watch->state != before;
    }
    if (!is_listed(before) || watch->path[watch->length] || event->name[0] == '.' || !(event->mask & (HERE | OFFLINE)))
        return false;
    if (event->mask & HERE)
        listener->found(listener->userdata, event->name);
    else
        listener->gone(listener->userdata, event->name);
    return true;
}

static bool take_event(struct directory_watches *watches, struct directory_watch *watch,
                       const struct inotify_event *event)
{
    enum directory_state before = watch->state;

    if (!(event->mask & IN_Q_OVERFLOW)) {
        if (event->wd != watch->watch)
            return false;
        if (event->len > 0)
            return take_name(watches, watch, event);
        if (event->mask & IN_IGNORED)
            watch->watch = -1;
    }
    look(watches, watch);
    return is_listed(before) || watch->state != before;
}

bool directory_watches_dispatch(struct directory_watches *watches)
{
    _Alignas(struct inotify_event) char events[EVENTS_SIZE];
    bool changed = false;

    for (size_t i = 0; watches->fd >= 0 && i < READS_MAX; i++) {
        ssize_t n = read(watches->fd, events, sizeof(events));
        if (n <= 0)
            break;
        for (char *at = events; at < events + n;) {
            const struct inotify_event *event = (const void *)at;
            for (size_t k = 0; k < watches->n; k++)
                changed |= take_event(watches, &watches->at[k], event);
            at += sizeof(*event) + event->len;
        }
    }
    return changed;
}

/* --- all watches --- */

void directory_watches_rescan(struct directory_watches *watches)
{
    for (size_t i = 0; i < watches->n; i++)
        look(watches, &watches->at[i]);
}

void directory_watches_init(struct directory_watches *watches, struct sys *sys)
{
    *watches = (struct directory_watches){.sys = sys, .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
}

void directory_watches_done(struct directory_watches *watches)
{
    closep(&watches->fd);
    watches->fd = -1;
    watches->n = 0;
}

size_t directory_watches_add(struct directory_watches *watches, const char *path,
                             const struct directory_listener *listener)
{
    size_t n = watches->n++;

    watches->at[n] = (struct directory_watch){.path = path, .listener = *listener, .watch = -1};
    look(watches, &watches->at[n]);
    return n;
}
