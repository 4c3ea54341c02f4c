/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scopes and containers' cgroups without processes, as a runtime that failed leaves them behind. One that is found so
 * is left out until a process enters it, which its file cgroup.events reports (cgroup v2; v1 has no such file, and
 * there nothing is vacant).
 */
#ifndef CGROUPS_VACANCY_H
#define CGROUPS_VACANCY_H

#include "cgroups/tree.h"

struct vacancies {
    int fd;     /* reports when one is not vacant any more; -1 while there never was one */
    int joined; /* the epoll descriptor that `fd` is added to */
};

void vacancies_done(struct vacancies *vacancies);
/* Leaves the node out where its cgroup is vacant; each node is looked at once. Whether it is left out. */
bool vacancies_find(struct vacancies *vacancies, const struct cgroup_tree *tree, struct cgroup_node *node);
/* Nodes whose cgroups have processes now are no longer left out. Whether there are such. */
bool vacancies_dispatch(struct vacancies *vacancies, const struct cgroup_tree *tree);
/* The node goes. */
void vacancies_forget(struct vacancies *vacancies, struct cgroup_node *node);

#endif
