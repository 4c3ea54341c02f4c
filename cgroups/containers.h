/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why no state file gives a container's name: sentences with their remedies. Pure; all texts are static.
 *
 * The accounts whose container runtimes make cgroups: root, and users who run podman or docker by themselves. A user
 * names the containers in his own cgroups, and nobody else's.
 *
 * The state files that were asked for, and whose answers are on their way. An answer counts only for the place, the
 * account and the container that were asked for, whatever the process says that has read the file: nobody can guess the
 * ticket of another file.
 *
 * The containers whose cgroups were asked about, and what their runtimes' state files say of them.
 */
#ifndef CGROUPS_CONTAINERS_H
#define CGROUPS_CONTAINERS_H

#include "base/util.h"
#include "cgroups/names.h"
#include "cgroups/state-files.h"
#include "perf/sys.h"

/* Of a container that a file has, without a name. */
extern const char *const unnamed_by_runtime;

/* The file of a place that has all containers of an account. */
struct account_list {
    uint64_t version;  /* that was read last; 0: none */
    int error;         /* of that; it holds as long as the file is as it was */
    uint64_t asked_ns; /* when it was asked for last */
    bool was_new;      /* and whatever its version */
    int result;        /* of that question */
};

struct account {
    uint32_t user;               /* 0: root */
    char home[STATE_HOME_MAX];   /* "" where there is none */
    struct account_list lists[]; /* by place */
};

#define QUESTIONS_MAX 32

struct question {
    uint64_t ticket, asked_ns;
    uint32_t place, user;
    char id[STATE_ID_LENGTH + 1]; /* "" where the place has all containers */
};

/* `sys` is set at first. */
struct questions {
    struct sys *sys;
    size_t n;
    struct question items[QUESTIONS_MAX];
};

/* Errors of sys->read_state(): -EALREADY where the file still has this version, -EAGAIN where too much is asked. */
int questions_ask(struct questions *questions, const struct account *account, uint32_t place, const char *id,
                  uint64_t version, uint64_t now);
/* The question of an answer; the last answer ends it. -ENOENT. */
int questions_take(struct questions *questions, uint64_t ticket, bool is_last, struct question *ret);
/* Gives up those that have waited for too long. */
void questions_expire(struct questions *questions, uint64_t now);
/* When that will be; UINT64_MAX: there is none. */
uint64_t questions_due(const struct questions *questions);

struct container {
    char id[STATE_ID_LENGTH + 1];
    uint32_t user;      /* below whose slice its cgroups are; 0 for root's */
    char **paths;       /* of its cgroups; it is known as long as there is one */
    struct names names; /* as the file of `place` has them */
    int place;          /* -1: no file has it yet */
    uint64_t version;   /* of the file, where it is of this container alone; else 0 */
    uint64_t due_ns;    /* when a file is asked for next */
    uint32_t n_paths, attempts;
    const char *unnamed; /* why no file names it, while none does; static text */
};

struct containers {
    struct container **items; /* by user and id */
    size_t n;
};

void containers_done(struct containers *containers);
/* The container of a cgroup, which is added where it is not known. -ENOMEM. */
int containers_add(struct containers *containers, uint32_t user, const char *id, const char *path,
                   struct container **ret);

/* Whether a file gives its name, or says that it has none. */
bool container_is_named(const struct container *container);
/*
 * Takes what the file of a place says of it, and leaves `names` empty, unless a place that is listed before has named
 * it. Whether that is something new.
 */
bool container_take(struct container *container, uint32_t place, struct names *names);

#endif
