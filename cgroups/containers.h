/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of containers from the state files of their runtimes. Keeps track of the users whose runtimes create cgroups,
 * the pending requests for files, and the known containers.
 *
 * A user is root, or somebody who runs podman or docker without root. A user's files name only the containers in that
 * user's cgroups. Each request for a file has a random ticket, and an answer can only name containers of the place and
 * user that belong to its ticket. A compromised reader therefore cannot answer for another file, whose ticket it cannot
 * guess.
 */
#ifndef CGROUPS_CONTAINERS_H
#define CGROUPS_CONTAINERS_H

#include "base/util.h"
#include "cgroups/names.h"
#include "cgroups/state-files.h"
#include "perf/sys.h"

/* A file that lists all containers of a user. */
struct container_user_list {
    uint64_t version;  /* version of the file that was read last; 0: none */
    int error;         /* error of reading that version; 0: none */
    uint64_t asked_ns; /* time of the last request for the file */
    bool was_new;      /* the last request ignored the file's version */
    int result;        /* result of the last request */
};

struct container_user {
    uint32_t user;                      /* UID; 0: root */
    char home[STATE_HOME_MAX];          /* home directory; "" for root, or if unknown */
    struct container_user_list lists[]; /* one list for each place */
};

#define LOOKUPS_MAX 32

struct lookup {
    uint64_t ticket, asked_ns;
    uint32_t place, user;
    char id[STATE_ID_LENGTH + 1]; /* "" if the file lists all containers */
};

/* The requests that have not been answered. If all members but `files` are zero, there are no requests. */
struct lookups {
    const struct state_files *files;
    size_t n;
    struct lookup items[LOOKUPS_MAX];
};

/*
 * Requests a file. Returns the errors of state_files.read(), -EALREADY if the file still has this version, or -EAGAIN
 * if too many requests are pending. `now` is CLOCK_MONOTONIC, in nanoseconds.
 */
int lookups_ask(struct lookups *lookups, const struct container_user *container_user, uint32_t place, const char *id,
                uint64_t version, uint64_t now);
/*
 * Finds the lookup to which an answer belongs, and removes the lookup if this is its last answer. Returns -ENOENT if
 * there is no such lookup.
 */
int lookups_take(struct lookups *lookups, uint64_t ticket, bool is_last, struct lookup *ret);
/* Drops lookups that have waited too long for an answer. */
void lookups_expire(struct lookups *lookups, uint64_t now);
/* Returns the time at which the next lookup expires, or UINT64_MAX if there is none. */
uint64_t lookups_due(const struct lookups *lookups);

struct container {
    char id[STATE_ID_LENGTH + 1];
    uint32_t user;      /* the user whose slice contains the cgroups, or 0 if they are root's */
    char **paths;       /* paths of its cgroups; the container is forgotten when the last one is removed */
    struct names names; /* names from the file of `place` */
    int place;          /* place of the file that lists the container; -1: none yet */
    uint64_t version;   /* version of that file if it describes this container alone; otherwise 0 */
    uint64_t due_ns;    /* time of the next request for a file */
    uint32_t n_paths, attempts;
    const char *unnamed; /* why the container has no name; only valid while it has none; static text */
};

struct containers {
    struct container **items; /* the containers, sorted by user, then by id */
    size_t n;
};

void containers_done(struct containers *containers);
/* Finds the container of a cgroup, and adds it if it is new. Returns -ENOMEM on failure. */
int containers_add(struct containers *containers, uint32_t user, const char *id, const char *path,
                   struct container **ret);

/* Whether a state file gave the container's name, or says that it is a pause container, which needs no name. */
bool container_is_named(const struct container *container);
/*
 * Moves `names`, which come from the file of a place, to the container, unless a place earlier in the list of places
 * has already named the container. Returns whether the container's names have changed.
 */
bool container_take(struct container *container, uint32_t place, struct names *names);

#endif
