/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories whose names say something, and which may not be there yet: listed, and kept up to date by inotify(7).
 * Where one is missing, the nearest directory above it is watched for what leads to it. Nothing below is watched.
 *
 * A directory that others than root may write to is not listed: its names would be anybody's.
 */
#ifndef CGROUPS_DIRECTORY_WATCH_H
#define CGROUPS_DIRECTORY_WATCH_H

#include "perf/sys.h"

#define DIRECTORY_WATCHES_MAX 2

enum directory_state {
    DIRECTORY_MISSING,
    DIRECTORY_LISTED,
    DIRECTORY_UNWATCHED, /* there is no inotify or no watch left: it stays as it was, also where it was not there */
    DIRECTORY_REFUSED,   /* others than root, or this process, may write to it */
    DIRECTORY_UNREADABLE,
    N_DIRECTORY_STATES
};

/* Names that begin with a dot are left out. Functions must not change the watches. */
struct directory_listener {
    void *userdata;
    void (*found)(void *userdata, const char *name); /* it is new, or another file has its name now */
    void (*gone)(void *userdata, const char *name);  /* also of a name that was not found */
    void (*cleared)(void *userdata);                 /* all are gone; those that are there are found again */
};

struct directory_watch {
    const char *path;
    struct directory_listener listener;
    enum directory_state state;
    int watch;     /* of the directory, or of the nearest one above it that can be opened; -1: none */
    size_t length; /* of the path of that directory */
};

struct directory_watches {
    struct sys *sys;
    int fd; /* readable when directory_watches_dispatch() has something to do; -1 where there is no inotify */
    struct directory_watch at[DIRECTORY_WATCHES_MAX];
    size_t n;
};

/* In any case directory_watches_done(). */
void directory_watches_init(struct directory_watches *watches, struct sys *sys);
void directory_watches_done(struct directory_watches *watches);
/* Lists it. `path` begins with "/", and stays. At most DIRECTORY_WATCHES_MAX; returns which one it is. */
size_t directory_watches_add(struct directory_watches *watches, const char *path,
                             const struct directory_listener *listener);
/* Lists all again: a listener dropped names. */
void directory_watches_rescan(struct directory_watches *watches);
/* Whether the listeners heard of something, or a state changed. */
bool directory_watches_dispatch(struct directory_watches *watches);

#endif
