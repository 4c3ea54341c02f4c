/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc in steps: see proc-scan.h. */
#include "symbols/proc-scan.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "symbols/proc-maps.h"

#define MAPS_SIZE_MAX ((size_t)4 << 20) /* of a process: what is behind it is not looked at */

struct proc_scan {
    struct sys *sys;
    char **pids, **tids;
    size_t n_pids, pid_at, n_tids, tid_at;
    uint32_t pid;             /* whose threads or mappings are being read; 0: none */
    bool hidden;              /* there are more than are listed */
    size_t n_denied, n_shown; /* processes */
    int maps;                 /* -1: the threads first */
    size_t maps_size, used;
    char text[PROC_SCAN_CHUNK];
};

static bool has_name(char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (str_equal(names[i], name))
            return true;
    return false;
}

int proc_scan_new(struct sys *sys, uint32_t pid, struct proc_scan **ret)
{
    _cleanup_(freep) struct proc_scan *learner = calloc(1, sizeof(*learner));

    if (!learner)
        return -ENOMEM;
    learner->sys = sys;
    learner->pid = pid;
    learner->maps = -1;
    if (pid) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%u/task", pid);
        sys_list_directory(sys, path, &learner->tids, &learner->n_tids); /* none: it has ended */
    } else {
        int r = sys_list_directory(sys, "/proc", &learner->pids, &learner->n_pids);
        if (r < 0)
            return r;
        learner->hidden = !has_name(learner->pids, learner->n_pids, "1"); /* the mount option hidepid=invisible */
    }
    *ret = steal(learner);
    return 0;
}

static void forget_tids(struct proc_scan *learner)
{
    strings_free(learner->tids, learner->n_tids);
    learner->tids = NULL;
    learner->n_tids = learner->tid_at = 0;
}

struct proc_scan *proc_scan_free(struct proc_scan *learner)
{
    if (!learner)
        return NULL;
    closep(&learner->maps);
    forget_tids(learner);
    strings_free(learner->pids, learner->n_pids);
    free(learner);
    return NULL;
}

static bool parse_id(const char *name, uint32_t *ret)
{
    uint64_t id;

    if (name[0] < '0' || name[0] > '9' || number_parse_u64(name, &id) < 0 || id == 0 || id > INT_MAX)
        return false;
    *ret = (uint32_t)id;
    return true;
}

static bool is_denied(int error)
{
    return error == -EACCES || error == -EPERM;
}

static void begin_process(struct proc_scan *learner, const char *name)
{
    char path[64];

    if (!parse_id(name, &learner->pid))
        return;
    snprintf(path, sizeof(path), "/proc/%u/task", learner->pid);
    int r = sys_list_directory(learner->sys, path, &learner->tids, &learner->n_tids);
    if (r < 0)
        learner->pid = 0; /* it has ended, or is hidden */
    learner->n_denied += is_denied(r);
}

static void read_comm(struct proc_scan *learner, struct processes *processes)
{
    _cleanup_(freep) char *comm = NULL;
    uint32_t tid;

    if (parse_id(learner->tids[learner->tid_at++], &tid) &&
        sys_read_filef(learner->sys, &comm, "/proc/%u/task/%u/comm", learner->pid, tid) == 0)
        processes_set_comm(processes, learner->pid, tid, comm);
}

static void end_process(struct proc_scan *learner)
{
    closep(&learner->maps);
    learner->maps = -1;
    forget_tids(learner);
    learner->pid = 0;
}

/* EACCES: strangers' mappings are not for everybody, and then only records tell of them. */
static void begin_maps(struct proc_scan *learner)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%u/maps", learner->pid);
    int fd = learner->sys->open_file(learner->sys, path, 0);
    learner->n_denied += is_denied(fd);
    if (fd < 0) {
        end_process(learner);
        return;
    }
    learner->maps = fd;
    learner->maps_size = learner->used = 0;
}

static void take_line(struct proc_scan *learner, struct processes *processes, char *line)
{
    struct mapping mapping;

    if (proc_maps_parse_line(line, &mapping) == 0)
        processes_map(processes, learner->pid, &mapping);
}

static void take_lines(struct proc_scan *learner, struct processes *processes)
{
    char *text = learner->text;
    size_t at = 0;

    for (char *end; (end = memchr(text + at, '\n', learner->used - at)); at = (size_t)(end - text) + 1) {
        *end = '\0';
        take_line(learner, processes, text + at);
    }
    if (at == 0 && learner->used == sizeof(learner->text)) /* no line is that long */
        at = learner->used;
    learner->used -= at;
    memmove(text, text + at, learner->used);
}

static void read_maps(struct proc_scan *learner, struct processes *processes)
{
    ssize_t n = read(learner->maps, learner->text + learner->used, sizeof(learner->text) - learner->used);

    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0 || (learner->maps_size += (size_t)n) > MAPS_SIZE_MAX) {
        end_process(learner);
        return;
    }
    learner->n_shown += learner->maps_size == (size_t)n; /* threads of the kernel have nothing mapped */
    learner->used += (size_t)n;
    take_lines(learner, processes);
}

bool proc_scan_was_denied(const struct proc_scan *learner)
{
    return learner->hidden || learner->n_denied * 10 > learner->n_shown;
}

bool proc_scan_step(struct proc_scan *learner, struct processes *processes)
{
    if (!learner->pid && learner->pid_at == learner->n_pids)
        return false;
    if (!learner->pid)
        begin_process(learner, learner->pids[learner->pid_at++]);
    else if (learner->tid_at < learner->n_tids && learner->tid_at < THREADS_MAX)
        read_comm(learner, processes);
    else if (learner->maps < 0)
        begin_maps(learner);
    else
        read_maps(learner, processes);
    return true;
}
