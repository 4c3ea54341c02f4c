/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes and containers' cgroups without processes: see vacancy.h. */
#include "cgroups/vacancy.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cgroups/path.h"

void vacancies_done(struct vacancies *vacancies)
{
    closep(&vacancies->fd);
}

static bool is_scope(const char *path)
{
    _cleanup_(names_done) struct names names = {0};
    const char *last = strrchr(path, '/');

    if (str_ends(path, ".scope"))
        return true;
    return last && names_from_path(&names, last) == 0 && names.texts[NAME_CONTAINER_ID];
}

/* Few machines have a vacant cgroup, and the others need no descriptor. */
static bool vacancies_open(struct vacancies *vacancies)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (vacancies->fd >= 0)
        return true;
    _cleanup_(closep) int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0 || epoll_ctl(vacancies->joined, EPOLL_CTL_ADD, fd, &event) < 0)
        return false;
    vacancies->fd = steal_fd(&fd);
    return true;
}

/* "populated 0": neither it nor one below has a process. */
static bool is_populated(int events)
{
    char text[256];
    ssize_t n = pread(events, text, sizeof(text) - 1, 0);

    text[MAX(n, (ssize_t)0)] = '\0';
    return !strstr(text, "populated 0\n");
}

static void vacancies_watch(struct vacancies *vacancies, struct cgroup_node *node, int events)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", events);
    int watch = vacancies_open(vacancies) ? inotify_add_watch(vacancies->fd, path, IN_MODIFY) : -1;
    node->left_out = watch >= 0;
    node->vacancy = MAX(watch, 0);
    if (watch >= 0 && is_populated(events)) /* since it was looked at */
        vacancies_forget(vacancies, node);
}

bool vacancies_find(struct vacancies *vacancies, const struct cgroup_tree *tree, struct cgroup_node *node)
{
    if (node->looked_at || node->left_out || node->userdata || !is_scope(node->path))
        return node->left_out;
    _cleanup_(closep) int directory = cgroup_tree_open(tree, node);
    _cleanup_(closep) int events = directory < 0 ? -1 : openat(directory, "cgroup.events", O_RDONLY | O_CLOEXEC);
    if (events >= 0 && !is_populated(events))
        vacancies_watch(vacancies, node, events);
    node->looked_at = true;
    return node->left_out;
}

void vacancies_forget(struct vacancies *vacancies, struct cgroup_node *node)
{
    if (node->vacancy <= 0)
        return;
    inotify_rm_watch(vacancies->fd, node->vacancy);
    node->vacancy = 0;
    node->left_out = false;
}

static bool vacancies_end(struct vacancies *vacancies, const struct cgroup_tree *tree, int watch)
{
    struct cgroup_node *node;

    for (size_t i = 0; (node = cgroup_tree_node(tree, i)); i++)
        if (node->vacancy == watch) {
            vacancies_forget(vacancies, node);
            return true;
        }
    return false;
}

bool vacancies_dispatch(struct vacancies *vacancies, const struct cgroup_tree *tree)
{
    struct inotify_event event; /* of a file: without a name */
    bool any = false;

    while (vacancies->fd >= 0 && read(vacancies->fd, &event, sizeof(event)) == sizeof(event))
        if (event.mask & IN_MODIFY)
            any |= vacancies_end(vacancies, tree, event.wd);
    return any;
}
