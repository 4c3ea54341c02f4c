/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of containers from the state files of their runtimes. Keeps the users whose runtimes create cgroups, the
 * pending requests for files, and the known containers.
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
    int error;         /* error of that reading; valid while the file keeps this version */
    uint64_t asked_ns; /* when the file was last requested */
    bool was_new;      /* that request ignored the file's version */
    int result;        /* result of that request */
};

struct container_user {
    uint32_t user;                      /* UID; 0: root */
    char home[STATE_HOME_MAX];          /* "" for root, or if unknown */
    struct container_user_list lists[]; /* one for each place */
};

#define LOOKUPS_MAX 32

struct lookup {
    uint64_t ticket, asked_ns;
    uint32_t place, user;
    char id[STATE_ID_LENGTH + 1]; /* "" if the file lists all containers */
};

/* The requests that have not been answered. Zeroed, except for `files`, there are none. */
struct lookups {
    const struct state_files *files;
    size_t n;
    struct lookup items[LOOKUPS_MAX];
};

/*
 * Requests a file. Returns errors of read() in struct state_files: -EALREADY if the file still has this version,
 * -EAGAIN if too many requests are pending. `now` is CLOCK_MONOTONIC, in nanoseconds.
 */
int lookups_ask(struct lookups *lookups, const struct container_user *container_user, uint32_t place, const char *id,
                uint64_t version, uint64_t now);
/*
 * Finds the lookup of an answer, and removes it with its last answer. Returns -ENOENT if there is no such lookup.
 */
int lookups_take(struct lookups *lookups, uint64_t ticket, bool is_last, struct lookup *ret);
/* Drops lookups that have waited too long for an answer. */
void lookups_expire(struct lookups *lookups, uint64_t now);
/* When the next lookup expires; UINT64_MAX: there is none. */
uint64_t lookups_due(const struct lookups *lookups);

struct container {
    char id[STATE_ID_LENGTH + 1];
    uint32_t user;      /* the user whose slice has its cgroups; 0 for root's */
    char **paths;       /* of its cgroups; the container is forgotten with the last one */
    struct names names; /* from the file of `place` */
    int place;          /* -1: no file has listed it yet */
    uint64_t version;   /* of that file, if it is of this container alone; otherwise 0 */
    uint64_t due_ns;    /* when a file is requested next */
    uint32_t n_paths, attempts;
    const char *unnamed; /* why no file names it, as long as none does; static text */
};

struct containers {
    struct container **items; /* sorted by user, then id */
    size_t n;
};

void containers_done(struct containers *containers);
/* Finds the container of a cgroup, and adds it if it is new. Returns -ENOMEM on failure. */
int containers_add(struct containers *containers, uint32_t user, const char *id, const char *path,
                   struct container **ret);

/* Whether a file has given its name or says that it is a pause container, which needs no name. */
bool container_is_named(const struct container *container);
/*
 * Moves the names that the file of a place gives to the container, which leaves `names` empty, unless an earlier place
 * in the list of places has named it. Returns whether the container's names have changed.
 */
bool container_take(struct container *container, uint32_t place, struct names *names);

#endif
