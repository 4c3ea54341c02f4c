/* SPDX-License-Identifier: Apache-2.0 */
/* The containers whose cgroups were asked about, and what their runtimes' state files say of them. */
#ifndef CGROUPS_CONTAINER_H
#define CGROUPS_CONTAINER_H

#include "cgroups/names.h"
#include "cgroups/state-files.h"

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
/* NULL where it is not known. */
struct container *containers_find(const struct containers *containers, uint32_t user, const char *id);
bool containers_have_user(const struct containers *containers, uint32_t user);
/* With its last cgroup the container goes. */
void containers_forget(struct containers *containers, uint32_t user, const char *id, const char *path);

/* Whether a file gives its name, or says that it has none. */
bool container_is_named(const struct container *container);
/*
 * Takes what the file of a place says of it, and leaves `names` empty, unless a place that is listed before has named
 * it. Whether that is something new.
 */
bool container_take(struct container *container, uint32_t place, struct names *names);

#endif
