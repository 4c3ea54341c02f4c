/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The accounts whose container runtimes make cgroups: root, and users who run podman or docker by themselves. A user
 * names the containers in his own cgroups, and nobody else's.
 */
#ifndef CGROUPS_ACCOUNT_H
#define CGROUPS_ACCOUNT_H

#include "cgroups/state-files.h"
#include "perf/sys.h"

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

struct accounts {
    struct account **items;
    size_t n;
};

/*
 * The home of a user by /etc/passwd, as an absolute path. Other name services are not asked, since they may wait for
 * the network. -ENOENT; -ENAMETOOLONG; errors of open(2).
 */
int account_find_home(struct sys *sys, uint32_t user, char *ret, size_t size);

void accounts_done(struct accounts *accounts);
/* The account, which is added with its home where it is not known. NULL when out of memory. */
struct account *accounts_find(struct accounts *accounts, struct sys *sys, uint32_t user);
void accounts_drop(struct accounts *accounts, uint32_t user);

#endif
