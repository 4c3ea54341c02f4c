/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc in steps: see proc-scan.h. */
#include "symbols/proc-scan.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/reason.h"
#include "symbols/proc-maps.h"

#define MAPS_SIZE_MAX ((size_t)4 << 20) /* of a process: the rest is not read */

struct proc_scan {
    struct sys *sys;
    char **pids, **tids;
    size_t n_pids, pid_at, n_tids, tid_at;
    uint32_t pid;             /* the process whose threads or mappings are being read; 0: none */
    bool hidden;              /* some processes are not listed */
    size_t n_denied, n_shown; /* the number of processes */
    bool failed;              /* some could not be read, which were neither denied nor gone */
    int maps;                 /* a descriptor; -1: threads come first */
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
    _cleanup_(freep) struct proc_scan *scan = calloc(1, sizeof(*scan));

    if (!scan)
        return -ENOMEM;
    scan->sys = sys;
    scan->pid = pid;
    scan->maps = -1;
    if (pid) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%u/task", pid);
        sys_list_directory(sys, path, &scan->tids, &scan->n_tids); /* fails if it has ended */
    } else {
        int r = sys_list_directory(sys, "/proc", &scan->pids, &scan->n_pids);
        if (r < 0)
            return r;
        scan->hidden = !has_name(scan->pids, scan->n_pids, "1"); /* the mount option hidepid=invisible */
    }
    *ret = steal(scan);
    return 0;
}

static void scan_free_tids(struct proc_scan *scan)
{
    strings_free(scan->tids, scan->n_tids);
    scan->tids = NULL;
    scan->n_tids = scan->tid_at = 0;
}

struct proc_scan *proc_scan_free(struct proc_scan *scan)
{
    if (!scan)
        return NULL;
    closep(&scan->maps);
    scan_free_tids(scan);
    strings_free(scan->pids, scan->n_pids);
    free(scan);
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

static bool is_denial(int error)
{
    return error == -EACCES || error == -EPERM;
}

static void scan_note(struct proc_scan *scan, int result)
{
    if (is_denial(result))
        scan->n_denied++;
    else
        scan->failed |= reason_span(result) == REASON_PASSES;
}

static void scan_begin_process(struct proc_scan *scan, const char *name)
{
    char path[64];

    if (!parse_id(name, &scan->pid))
        return;
    snprintf(path, sizeof(path), "/proc/%u/task", scan->pid);
    int r = sys_list_directory(scan->sys, path, &scan->tids, &scan->n_tids);
    if (r < 0)
        scan->pid = 0; /* it has ended, or is hidden */
    scan_note(scan, r);
}

static void scan_read_comm(struct proc_scan *scan, struct processes *processes)
{
    _cleanup_(freep) char *comm = NULL;
    uint32_t tid;

    if (parse_id(scan->tids[scan->tid_at++], &tid) &&
        sys_read_filef(scan->sys, &comm, "/proc/%u/task/%u/comm", scan->pid, tid) == 0)
        processes_set_comm(processes, scan->pid, tid, comm);
}

static void scan_end_process(struct proc_scan *scan)
{
    closep(&scan->maps);
    scan->maps = -1;
    scan_free_tids(scan);
    scan->pid = 0;
}

/* EACCES: this process may not see the mappings; then they are known only from records. */
static void scan_begin_maps(struct proc_scan *scan)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%u/maps", scan->pid);
    int fd = scan->sys->open_file(scan->sys, path, 0);
    scan_note(scan, fd);
    if (fd < 0) {
        scan_end_process(scan);
        return;
    }
    scan->maps = fd;
    scan->maps_size = scan->used = 0;
}

static void scan_take_line(struct proc_scan *scan, struct processes *processes, char *line)
{
    struct mapping mapping;

    if (proc_maps_parse_line(line, &mapping) == 0)
        processes_map(processes, scan->pid, &mapping);
}

static void scan_take_lines(struct proc_scan *scan, struct processes *processes)
{
    char *text = scan->text;
    size_t at = 0;

    for (char *end; (end = memchr(text + at, '\n', scan->used - at)); at = (size_t)(end - text) + 1) {
        *end = '\0';
        scan_take_line(scan, processes, text + at);
    }
    if (at == 0 && scan->used == sizeof(scan->text)) /* a line that long is not a mapping */
        at = scan->used;
    scan->used -= at;
    memmove(text, text + at, scan->used);
}

static void scan_read_maps(struct proc_scan *scan, struct processes *processes)
{
    ssize_t n = read(scan->maps, scan->text + scan->used, sizeof(scan->text) - scan->used);

    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0 || (scan->maps_size += (size_t)n) > MAPS_SIZE_MAX) {
        scan_end_process(scan);
        return;
    }
    scan->n_shown += scan->maps_size == (size_t)n; /* not a thread of the kernel, which has no mappings */
    scan->used += (size_t)n;
    scan_take_lines(scan, processes);
}

bool proc_scan_was_denied(const struct proc_scan *scan)
{
    return scan->hidden || scan->n_denied * 10 > scan->n_shown;
}

bool proc_scan_has_failed(const struct proc_scan *scan)
{
    return scan->failed;
}

bool proc_scan_step(struct proc_scan *scan, struct processes *processes)
{
    if (!scan->pid && scan->pid_at == scan->n_pids)
        return false;
    if (!scan->pid)
        scan_begin_process(scan, scan->pids[scan->pid_at++]);
    else if (scan->tid_at < scan->n_tids && scan->tid_at < THREADS_MAX)
        scan_read_comm(scan, processes);
    else if (scan->maps < 0)
        scan_begin_maps(scan);
    else
        scan_read_maps(scan, processes);
    return true;
}
