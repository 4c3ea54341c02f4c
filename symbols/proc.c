/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/proc.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/reason.h"
#include "symbols/processes.h"

/*
 * Maximum number of attempts to read a process's mappings. A read is repeated after a timeout, or if the mappings
 * change during the read.
 */
#define TRIES_MAX 3
#define HANGS_MAX 3 /* after this many timeouts, which take some seconds each, a scan reads no more mappings */

struct proc_scan {
    struct proc_scan_place place;
    char **pids, **tids;
    size_t n_pids, pid_at, n_tids, tid_at;
    uint32_t pid;             /* the process whose threads or mappings are being read; 0: none */
    bool hidden;              /* /proc does not list all processes */
    size_t n_denied, n_shown; /* numbers of processes whose mappings could not be read, and could be read */
    bool failed;              /* see proc_scan_has_failed() */
    unsigned n_hangs;
    bool asked; /* the scan waits for the symboliser to send the mappings of `pid` */
    bool shown; /* some of the mappings of `pid` were received */
    unsigned tries;
    uint64_t state; /* value of processes_state() when the mappings were requested */
};

static bool has_name(char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (str_equal(names[i], name))
            return true;
    return false;
}

int proc_scan_new(const struct proc_scan_place *place, uint32_t pid, struct proc_scan **ret)
{
    _cleanup_(freep) struct proc_scan *scan = calloc(1, sizeof(*scan));

    if (!scan)
        return -ENOMEM;
    scan->place = *place;
    scan->pid = pid;
    if (pid) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%u/task", pid);
        sys_list_directory(place->sys, path, &scan->tids, &scan->n_tids); /* none if the process has exited */
    } else {
        int r = sys_list_directory(place->sys, "/proc", &scan->pids, &scan->n_pids);
        if (r < 0)
            return r;
        scan->hidden = !has_name(scan->pids, scan->n_pids, "1"); /* /proc is mounted with hidepid=invisible */
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
    symboliser_forget(scan->place.symboliser, scan);
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
    int r = sys_list_directory(scan->place.sys, path, &scan->tids, &scan->n_tids);
    if (r < 0)
        scan->pid = 0; /* the process has exited or is hidden */
    scan_note(scan, r);
}

static void scan_read_comm(struct proc_scan *scan)
{
    _cleanup_(freep) char *comm = NULL;
    uint32_t tid;

    if (parse_id(scan->tids[scan->tid_at++], &tid) &&
        sys_read_filef(scan->place.sys, &comm, "/proc/%u/task/%u/comm", scan->pid, tid) == 0)
        processes_set_comm(scan->place.processes, scan->pid, tid, comm);
}

static void scan_end_process(struct proc_scan *scan)
{
    scan_free_tids(scan);
    scan->pid = 0;
    scan->tries = 0;
}

/*
 * Returns whether records have updated the process since its mappings were requested. If so, the mappings that are
 * being read may be older than the records, and must not replace the mappings from the records.
 */
static bool scan_is_behind(const struct proc_scan *scan)
{
    return processes_state(scan->place.processes, scan->pid) != scan->state;
}

static void scan_take_line(void *userdata, char *line)
{
    struct proc_scan *scan = userdata;
    struct mapping mapping;

    scan->shown = true;
    if (!scan_is_behind(scan) && proc_maps_parse_line(line, &mapping) == 0)
        processes_map(scan->place.processes, scan->pid, &mapping);
}

/*
 * Records whether the mappings of a process could be read. After an error, the mappings of the process are known only
 * from records. Kernel threads have no mappings and are not counted as shown.
 */
static void scan_note_maps(struct proc_scan *scan, int result)
{
    scan->n_hangs += result == -ETIME;
    if (is_denial(result))
        scan->n_denied++;
    else if (result == 0)
        scan->n_shown += scan->shown;
    else if (result != -ENOENT && result != -ESRCH && result != -EHOSTDOWN && result != -ETIME)
        scan->failed = true;
}

static void scan_on_answer(void *userdata, const struct symboliser_answer *answer, struct symbol_table *table)
{
    struct proc_scan *scan = userdata;
    bool again = answer->result == -ETIME || (answer->result == 0 && scan_is_behind(scan));

    (void)table;
    scan->asked = false;
    scan_note_maps(scan, answer->result);
    if (!again || ++scan->tries >= TRIES_MAX)
        scan_end_process(scan);
    scan->place.answered(scan->place.userdata);
}

static enum proc_scan_state scan_ask_for_maps(struct proc_scan *scan)
{
    const struct symboliser_file file = {
        .kind = SYMBOLISER_MAPS, .find = FIND_MAPS, .fd = -1, .pid = scan->pid, .take_line = scan_take_line};

    if (symboliser_is_full(scan->place.symboliser))
        return SCAN_WAITS;
    if (scan->n_hangs >= HANGS_MAX) {
        scan_end_process(scan);
        return SCAN_GOES_ON;
    }
    scan->asked = true;
    scan->shown = false;
    scan->state = processes_state(scan->place.processes, scan->pid);
    int r = symboliser_ask(scan->place.symboliser, &file, scan_on_answer, scan); /* may call scan_on_answer() itself */
    if (r < 0)
        scan_on_answer(scan, &(struct symboliser_answer){.result = r}, NULL);
    return scan->asked ? SCAN_WAITS : SCAN_GOES_ON;
}

bool proc_scan_was_denied(const struct proc_scan *scan)
{
    return scan->hidden || scan->n_denied * 10 > scan->n_shown;
}

bool proc_scan_has_failed(const struct proc_scan *scan)
{
    return scan->failed;
}

enum proc_scan_state proc_scan_step(struct proc_scan *scan)
{
    if (scan->asked)
        return SCAN_WAITS;
    if (!scan->pid && scan->pid_at == scan->n_pids)
        return SCAN_COMPLETE;
    if (!scan->pid)
        scan_begin_process(scan, scan->pids[scan->pid_at++]);
    else if (scan->tid_at < scan->n_tids && scan->tid_at < THREADS_MAX)
        scan_read_comm(scan);
    else
        return scan_ask_for_maps(scan);
    return SCAN_GOES_ON;
}
