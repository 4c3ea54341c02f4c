/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists directories whose file names carry information and which may not exist yet, and keeps the lists up to date with
 * inotify(7). If a directory is missing, its nearest existing ancestor is watched until the next directory of the path
 * appears. Subdirectories are not watched.
 *
 * A directory is not listed if users other than root and the user of this process may write to it, because those users
 * could have chosen the names in it.
 */
#ifndef CGROUPS_DIRECTORY_WATCH_H
#define CGROUPS_DIRECTORY_WATCH_H

#include "perf/sys.h"

#define DIRECTORY_WATCHES_MAX 2

enum directory_state {
    DIRECTORY_MISSING,
    DIRECTORY_LISTED,
    DIRECTORY_UNWATCHED, /* no inotify, or no watch left: changes are missed, even the creation of the directory */
    DIRECTORY_REFUSED,   /* users other than root and the user of this process may write to the directory */
    DIRECTORY_UNREADABLE,
    N_DIRECTORY_STATES
};

/* Names that begin with a dot are skipped. A listener's functions must not change the watches. */
struct directory_listener {
    void *userdata;
    void (*found)(void *userdata, const char *name); /* the name is new, or now belongs to another file */
    void (*gone)(void *userdata, const char *name);  /* may be called for a name that was never found */
    void (*cleared)(void *userdata);                 /* all names are gone; found() follows for those that exist */
};

struct directory_watch {
    const char *path;
    struct directory_listener listener;
    enum directory_state state;
    int watch;     /* watch of the directory or of its nearest ancestor that can be opened; -1: none */
    size_t length; /* length of the path of the watched directory */
};

struct directory_watches {
    struct sys *sys;
    int fd; /* descriptor that is readable when directory_watches_dispatch() has something to do; -1 without inotify */
    struct directory_watch at[DIRECTORY_WATCHES_MAX];
    size_t n;
};

/* Cannot fail. directory_watches_done() is always needed afterwards. */
void directory_watches_init(struct directory_watches *watches, struct sys *sys);
void directory_watches_done(struct directory_watches *watches);
/*
 * Adds a directory and lists it. `path` begins with "/" and must stay valid. The caller adds at most
 * DIRECTORY_WATCHES_MAX. Returns the directory's index in `at`.
 */
size_t directory_watches_add(struct directory_watches *watches, const char *path,
                             const struct directory_listener *listener);
/* Lists all directories again. Must be called after a listener has dropped names. */
void directory_watches_rescan(struct directory_watches *watches);
/* Handles the pending events. Returns whether a listener was called or a state has changed. */
bool directory_watches_dispatch(struct directory_watches *watches);

#endif
