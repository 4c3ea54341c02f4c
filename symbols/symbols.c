/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/symbols.h"

#include "base/cleanup.h"
#include "symbols/elf.h"
#include "symbols/kernel.h"

/* Callers that wait until a scan of /proc is complete or no table is being built. */
struct waiters {
    /*
     * Returns whether the tables are complete: with `after_scan`, the tables that every caller needs; otherwise, all
     * requested tables.
     */
    bool (*tables_are_ready)(void *userdata, bool after_scan);
    void *userdata;
    sd_event_source *turn; /* the event source is enabled while waiters must be checked */
    TAILQ_HEAD(, waiter) list;
    bool denied; /* what proc_scan_was_denied() returned for the last scan */
    bool failed; /* what proc_scan_has_failed() returned for the last scan */
};

static void waiters_wake(struct waiters *waiters);

/* --- waiters --- */

/* Maximum number of proc_scan_step() calls in one turn of the event loop. */
#define STEPS_PER_TURN 40

struct waiter {
    bool scans;             /* the waiter waits for a scan, which may already be complete */
    struct proc_scan *scan; /* NULL once the scan is complete */
    void (*done)(void *userdata);
    void *userdata;
    TAILQ_ENTRY(waiter) entry;
};

static void waiter_free(struct waiters *waiters, struct waiter *waiter)
{
    TAILQ_REMOVE(&waiters->list, waiter, entry);
    proc_scan_free(waiter->scan);
    free(waiter);
}

/* Runs some steps of the scan. Returns true if the scan must be continued in the next iteration of the event loop. */
static bool waiter_scan(struct waiters *waiters, struct waiter *waiter)
{
    enum proc_scan_state state = SCAN_GOES_ON;

    for (int i = 0; i < STEPS_PER_TURN && state == SCAN_GOES_ON; i++)
        state = proc_scan_step(waiter->scan);
    if (state == SCAN_COMPLETE) {
        waiters->denied = proc_scan_was_denied(waiter->scan);
        waiters->failed = proc_scan_has_failed(waiter->scan);
        waiter->scan = proc_scan_free(waiter->scan);
    }
    return state == SCAN_GOES_ON;
}

/* Removes the waiter and calls its function, which may add and remove waiters. */
static void waiter_call(struct waiters *waiters, struct waiter *waiter)
{
    void (*done)(void *userdata) = waiter->done;
    void *userdata = waiter->userdata;

    waiter_free(waiters, waiter);
    done(userdata);
}

/*
 * Continues the first scan that need not wait, and calls at most one ready waiter, because the call may change the
 * list.
 */
static int waiters_on_turn(sd_event_source *source, void *userdata)
{
    struct waiters *waiters = userdata;
    struct waiter *waiter;
    bool scanning = false;

    TAILQ_FOREACH (waiter, &waiters->list, entry) {
        if (waiter->scan && !scanning)
            scanning = waiter_scan(waiters, waiter);
        if (!waiter->scan && waiters->tables_are_ready(waiters->userdata, waiter->scans)) {
            waiter_call(waiters, waiter);
            return 0;
        }
    }
    if (!scanning) /* waiters_wake() enables the event source again */
        sd_event_source_set_enabled(source, SD_EVENT_OFF);
    return 0;
}

/* Initializes a struct whose first two members the caller has set. Returns 0 or an error from sd-event. */
static int waiters_init(struct waiters *waiters, sd_event *event)
{
    TAILQ_INIT(&waiters->list);
    int r = sd_event_add_defer(event, &waiters->turn, waiters_on_turn, waiters);
    if (r >= 0)
        r = sd_event_source_set_priority(waiters->turn, SD_EVENT_PRIORITY_IDLE);
    if (r >= 0)
        r = sd_event_source_set_enabled(waiters->turn, SD_EVENT_OFF);
    return r < 0 ? r : 0;
}

static void waiters_done(struct waiters *waiters)
{
    while (waiters->turn && !TAILQ_EMPTY(&waiters->list))
        waiter_free(waiters, TAILQ_FIRST(&waiters->list));
    waiters->turn = sd_event_source_disable_unref(waiters->turn);
}

/*
 * Adds a waiter, whose `done` is called once from the event loop. On success, takes ownership of `scan` (may be NULL).
 * Returns -ENOMEM on failure.
 */
static int waiters_add(struct waiters *waiters, struct proc_scan *scan, void (*done)(void *userdata), void *userdata)
{
    struct waiter *waiter = malloc(sizeof(*waiter));

    if (!waiter)
        return -ENOMEM;
    *waiter = (struct waiter){.scans = scan, .scan = scan, .done = done, .userdata = userdata};
    TAILQ_INSERT_TAIL(&waiters->list, waiter, entry);
    waiters_wake(waiters);
    return 0;
}

/* Removes the waiters with this `userdata`. */
static void waiters_remove(struct waiters *waiters, const void *userdata)
{
    for (struct waiter *waiter = TAILQ_FIRST(&waiters->list), *next; waiter; waiter = next) {
        next = TAILQ_NEXT(waiter, entry);
        if (waiter->userdata == userdata)
            waiter_free(waiters, waiter);
    }
}

/* Checks all waiters in the next turn. Must be called when a table was built or a scan can be stepped again. */
static void waiters_wake(struct waiters *waiters)
{
    if (!TAILQ_EMPTY(&waiters->list))
        sd_event_source_set_enabled(waiters->turn, SD_EVENT_ON);
}

/* --- kernel functions added at run time --- */

void ksymbols_done(struct ksymbols *ksymbols)
{
    free(ksymbols->symbols);
    *ksymbols = (struct ksymbols){0};
}

/* Returns the index of the first symbol that starts after the address. */
static size_t ksymbols_search(const struct ksymbols *ksymbols, uint64_t address)
{
    return array_search(ksymbols->n, i, ksymbols->symbols[i].address <= address);
}

void ksymbols_remove(struct ksymbols *ksymbols, uint64_t address)
{
    size_t at = ksymbols_search(ksymbols, address);

    if (at == 0 || ksymbols->symbols[at - 1].address != address)
        return;
    memmove(&ksymbols->symbols[at - 1], &ksymbols->symbols[at], (ksymbols->n - at) * sizeof(ksymbols->symbols[0]));
    ksymbols->n--;
}

void ksymbols_add(struct ksymbols *ksymbols, uint64_t address, uint32_t length, const char *name)
{
    struct ksymbol symbol = {.address = address, .length = length};
    size_t size = MIN(strlen(name), sizeof(symbol.name) - 1);

    ksymbols_remove(ksymbols, address);
    if (ksymbols->n >= KSYMBOLS_MAX || array_grow(&ksymbols->symbols, ksymbols->n) < 0)
        return;
    memcpy(symbol.name, name, size);
    size_t at = ksymbols_search(ksymbols, address);
    memmove(&ksymbols->symbols[at + 1], &ksymbols->symbols[at], (ksymbols->n++ - at) * sizeof(symbol));
    ksymbols->symbols[at] = symbol;
}

const char *ksymbols_find(const struct ksymbols *ksymbols, uint64_t address, uint64_t *ret_offset)
{
    size_t at = ksymbols_search(ksymbols, address);

    if (at == 0 || address - ksymbols->symbols[at - 1].address >= ksymbols->symbols[at - 1].length)
        return NULL;
    *ret_offset = address - ksymbols->symbols[at - 1].address;
    return ksymbols->symbols[at - 1].name;
}

/* --- tables --- */

#define KERNEL "[kernel.kallsyms]"
#define VDSO "[vdso]"

/* A cache of lookups, since callers resolve the same few thousand addresses again and again. */
#define ANSWERS 4096
struct answer {
    const struct symbol_table *table;
    uint64_t generation; /* value of dsos_generation(): the entry becomes invalid when any table is dropped */
    uint64_t address, offset;
    const char *symbol;
};

struct symbols {
    struct sys *sys;
    struct dsos *dsos;
    struct processes *processes;
    struct ksymbols ksymbols;
    struct dso *kernel, *vdso;
    bool kernel_is_closed; /* /proc/kallsyms cannot be opened */
    struct mapping kernel_mapping;
    struct waiters waiters;
    struct answer answers[ANSWERS];
};

static void symbols_load_kernel(struct symbols *symbols)
{
    struct sys *sys = symbols->sys;

    if (!dso_needs_load(symbols->kernel))
        return;
    int fd = sys_open_file(sys, "/proc/kallsyms", 0);
    symbols->kernel_is_closed = fd < 0;
    dso_load(symbols->kernel, &(struct symboliser_file){.kind = SYMBOLISER_KALLSYMS, .fd = fd});
}

static void symbols_load_vdso(struct symbols *symbols)
{
    if (!dso_needs_load(symbols->vdso))
        return;
    dso_load(symbols->vdso, &(struct symboliser_file){.kind = SYMBOLISER_ELF, .fd = vdso_open()});
}

static void symbols_load_file(uint32_t pid, const struct mapping *mapping)
{
    const struct symboliser_file file = {
        .kind = SYMBOLISER_ELF,
        .find = FIND_MAPPED,
        .fd = -1,
        .pid = pid,
        .start = mapping->start,
        .end = mapping->end,
        .inode = mapping->inode,
        /* If neither the inode nor the build ID is known, the file at the path may not be the mapped file. */
        .path = mapping->inode || mapping->build_id_size ? mapping->file : NULL,
    };

    if (dso_needs_load(mapping->dso))
        dso_load(mapping->dso, &file);
}

/*
 * Requests the list of functions that a process has compiled. After a fork, this is the list of the parent, which
 * compiled the functions.
 */
static void symbols_load_jit(struct dso *dso)
{
    const struct symboliser_file file = {
        .kind = SYMBOLISER_JIT,
        .find = FIND_JIT_MAP,
        .fd = -1,
        .pid = dso->jit_pid,
        .seen_inode = dso->state == DSO_READY ? dso->seen_inode : 0,
        .seen_size = dso->state == DSO_READY ? dso->seen_size : 0,
    };

    if (dso_needs_load(dso))
        dso_load(dso, &file);
}

/* After a scan, callers wait only for the tables of the kernel and the vdso. */
static bool tables_are_ready(void *userdata, bool after_scan)
{
    const struct symbols *symbols = userdata;

    if (after_scan)
        return symbols->kernel->state != DSO_PENDING && symbols->vdso->state != DSO_PENDING;
    return !dsos_pending(symbols->dsos);
}

static void symbols_on_loaded(void *userdata)
{
    struct symbols *symbols = userdata;

    waiters_wake(&symbols->waiters);
}

/* --- creation --- */

static int symbols_init(struct symbols *symbols, sd_event *event)
{
    const struct dso_key kernel = {.file = KERNEL}, vdso = {.file = VDSO};

    int r = dsos_new(symbols->sys, event, &symbols->dsos);
    if (r == 0)
        r = processes_new(symbols->dsos, &symbols->processes);
    if (r < 0)
        return r;
    symbols->kernel = dso_get(symbols->dsos, &kernel);
    symbols->vdso = dso_get(symbols->dsos, &vdso);
    if (!symbols->kernel || !symbols->vdso)
        return -ENOMEM;
    symbols->kernel->pinned = true;
    symbols->waiters.tables_are_ready = tables_are_ready;
    symbols->waiters.userdata = symbols;
    r = waiters_init(&symbols->waiters, event);
    dsos_when_loaded(symbols->dsos, symbols_on_loaded, symbols);
    return r;
}

int symbols_new(struct sys *sys, sd_event *event, struct symbols **ret)
{
    struct symbols *symbols = calloc(1, sizeof(*symbols));

    if (!symbols)
        return -ENOMEM;
    symbols->sys = sys;
    int r = symbols_init(symbols, event);
    if (r < 0) {
        symbols_free(symbols);
        return r;
    }
    symbols->kernel->build_id_size = build_id_of_kernel(sys, symbols->kernel->build_id);
    symbols->kernel_mapping = (struct mapping){
        .end = UINT64_MAX,
        .file = symbols->kernel->file,
        .build_id = symbols->kernel->build_id,
        .build_id_size = symbols->kernel->build_id_size,
        .number = dso_number(symbols->kernel, 0),
        .dso = symbols->kernel,
    };
    *ret = symbols;
    return 0;
}

struct symbols *symbols_free(struct symbols *symbols)
{
    if (!symbols)
        return NULL;
    waiters_done(&symbols->waiters);
    if (symbols->dsos)
        dsos_when_loaded(symbols->dsos, NULL, NULL);
    processes_free(symbols->processes);
    dso_unref(symbols->kernel);
    dso_unref(symbols->vdso);
    dsos_free(symbols->dsos);
    ksymbols_done(&symbols->ksymbols);
    free(symbols);
    return NULL;
}

/* --- processes --- */

static void update_ksymbols(struct ksymbols *ksymbols, const struct record *record)
{
    if (record->ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
        ksymbols_remove(ksymbols, record->ksymbol.address);
    else
        ksymbols_add(ksymbols, record->ksymbol.address, record->ksymbol.length, record->ksymbol.name);
}

void symbols_update(struct symbols *symbols, const struct record *record)
{
    if (record->type == PERF_RECORD_KSYMBOL)
        update_ksymbols(&symbols->ksymbols, record);
    else
        processes_update(symbols->processes, record);
}

void symbols_end_all(struct symbols *symbols)
{
    processes_end_all(symbols->processes);
}

int symbols_scan(struct symbols *symbols, uint32_t pid, void (*done)(void *userdata), void *userdata)
{
    const struct proc_scan_place place = {.sys = symbols->sys,
                                          .processes = symbols->processes,
                                          .symboliser = dsos_symboliser(symbols->dsos),
                                          .answered = symbols_on_loaded,
                                          .userdata = symbols};
    struct proc_scan *scan;

    int r = proc_scan_new(&place, pid, &scan);
    if (r < 0)
        return r;
    symbols_load_kernel(symbols);
    symbols_load_vdso(symbols); /* this also shows early whether libdw is missing */
    r = waiters_add(&symbols->waiters, scan, done, userdata);
    if (r < 0)
        proc_scan_free(scan);
    return r;
}

int symbols_when_idle(struct symbols *symbols, void (*idle)(void *userdata), void *userdata)
{
    return waiters_add(&symbols->waiters, NULL, idle, userdata);
}

void symbols_cancel(struct symbols *symbols, const void *userdata)
{
    waiters_remove(&symbols->waiters, userdata);
}

void symbols_each(struct symbols *symbols, process_visit visit, void *userdata)
{
    processes_each(symbols->processes, visit, userdata);
}

static bool has_user_space(const struct record *sample)
{
    struct callchain chain = callchain_begin(sample);
    bool has = chain.space == SPACE_USER;
    uint64_t ip;

    while (!has && callchain_next(&chain, &ip))
        has = chain.space == SPACE_USER;
    return has;
}

/*
 * The kernel gives pid 0 to the idle task, which is not in /proc, and to tasks outside the pid namespace of the process
 * that opened the event. Only tasks of the latter kind run in user space; in the kernel, the two kinds cannot be told
 * apart.
 */
const char *symbols_comm(struct symbols *symbols, const struct record *sample)
{
    if (sample->id.pid == 0)
        return has_user_space(sample) ? "[outside this pid namespace]" : "swapper"; /* perf's name for the idle task */
    const struct process *process = processes_find(symbols->processes, sample->id.pid);
    return process ? process_comm(process, sample->id.tid) : "";
}

/* --- addresses --- */

static const char *find_symbol(struct symbols *symbols, const struct symbol_table *table, uint64_t address,
                               uint64_t *ret_offset)
{
    uint64_t generation = dsos_generation(symbols->dsos), hash = address * UINT64_C(0x9e3779b97f4a7c15);
    struct answer *answer = &symbols->answers[hash >> 52];

    if (answer->table != table || answer->address != address || answer->generation != generation) {
        *answer = (struct answer){.table = table, .generation = generation, .address = address};
        answer->symbol = symbol_table_find(table, address, &answer->offset);
    }
    *ret_offset = answer->offset;
    return answer->symbol;
}

static void resolve_kernel(struct symbols *symbols, uint64_t ip, struct frame *frame)
{
    frame->mapping = &symbols->kernel_mapping;
    frame->symbol = ksymbols_find(&symbols->ksymbols, ip, &frame->offset);
    if (frame->symbol)
        return;
    const struct symbol_table *table = dso_table(symbols->kernel);
    if (table) {
        frame->symbol = find_symbol(symbols, table, ip, &frame->offset);
        return;
    }
    symbols_load_kernel(symbols);
    frame->awaited = dso_is_awaited(symbols->kernel);
}

/* Returns the DSO of the mapped file if its table is ready; else requests the table and returns NULL. */
static struct dso *ready_dso(struct symbols *symbols, uint32_t pid, const struct mapping *mapping, bool *ret_awaited)
{
    bool is_vdso = mapping->file[0] == '[' && str_equal(mapping->file, VDSO);
    struct dso *dso = is_vdso ? symbols->vdso : mapping->dso;

    if (dso_table(dso))
        return dso;
    if (is_vdso)
        symbols_load_vdso(symbols);
    else if (mapping->file[0] == '/' && mapping->file[1] != '/')
        symbols_load_file(pid, mapping);
    else
        return NULL;
    *ret_awaited = dso_is_awaited(dso);
    return NULL;
}

/* A perf-PID.map contains addresses of the process, so `ip` is looked up unchanged. */
static void resolve_jit(struct symbols *symbols, struct dso *dso, uint64_t ip, struct frame *frame)
{
    symbols_load_jit(dso);
    const struct symbol_table *table = dso_table(dso);
    if (table)
        frame->symbol = find_symbol(symbols, table, ip, &frame->offset);
}

static void resolve_mapping(struct symbols *symbols, uint32_t pid, struct mapping *mapping, uint64_t ip,
                            struct frame *frame)
{
    uint64_t address;

    frame->mapping = mapping;
    if (mapping->dso->jit_pid) {
        resolve_jit(symbols, mapping->dso, ip, frame);
        return;
    }
    struct dso *dso = ready_dso(symbols, pid, mapping, &frame->awaited);
    mapping->build_id_size = mapping->dso->build_id_size; /* the build ID becomes known with the table */
    if (dso && symbol_table_address(&dso->table, ip - mapping->start + mapping->offset, &address))
        frame->symbol = find_symbol(symbols, dso_names(dso), address, &frame->offset);
}

static void resolve_user(struct symbols *symbols, uint32_t pid, uint64_t ip, struct frame *frame)
{
    struct process *process = processes_find(symbols->processes, pid);
    struct mapping *mapping = process ? mappings_find(&process->mappings, ip) : NULL;

    if (mapping)
        resolve_mapping(symbols, pid, mapping, ip, frame);
}

void symbols_resolve(struct symbols *symbols, uint32_t pid, bool kernel, uint64_t ip, struct frame *ret)
{
    struct frame frame = {.ip = ip, .kernel = kernel};

    if (kernel)
        resolve_kernel(symbols, ip, &frame);
    else
        resolve_user(symbols, pid, ip, &frame);
    *ret = frame;
}

void symbols_keep(const struct frame *frame, uint32_t pid, struct symbols_kept *ret)
{
    dso_ref(frame->mapping->dso);
    *ret = (struct symbols_kept){.mapping = *frame->mapping, .pid = pid, .kernel = frame->kernel};
}

void symbols_release(struct symbols_kept *kept)
{
    kept->mapping.dso = dso_unref(kept->mapping.dso);
}

void symbols_resolve_kept(struct symbols *symbols, struct symbols_kept *kept, uint64_t ip, struct frame *ret)
{
    struct frame frame = {.ip = ip, .kernel = kept->kernel};

    if (kept->kernel) {
        resolve_kernel(symbols, ip, &frame);
        frame.mapping = &kept->mapping;
        kept->mapping.build_id_size = symbols->kernel_mapping.build_id_size;
    } else {
        resolve_mapping(symbols, kept->pid, &kept->mapping, ip, &frame);
    }
    *ret = frame;
}

/* --- memory and reasons --- */

bool symbols_pending(const struct symbols *symbols)
{
    return dsos_pending(symbols->dsos);
}

size_t symbols_bytes(const struct symbols *symbols)
{
    return sizeof(*symbols) + processes_bytes(symbols->processes) + symbols->kernel->table.size;
}

void symbols_set_room(struct symbols *symbols, size_t room)
{
    dsos_set_room(symbols->dsos, room);
}

#define UNCONFINED                                                                                                     \
    "because the process that reads them would keep root privileges; start perfcountd as another user, or with "       \
    "CAP_SETUID and CAP_SETGID"

const char *symbols_reason_user(const struct symbols *symbols)
{
    if (dsos_symboliser_is_unconfined(symbols->dsos))
        return "program symbols are unknown, " UNCONFINED;
    if (dsos_library_is_missing(symbols->dsos))
        return elf_symbols_remedy();
    if (symbols->waiters.denied)
        return "the names and mappings of some programs that were already running are unknown, because /proc hides "
               "them from perfcountd; run it with sudo, or grant CAP_SYS_PTRACE; with systemd see sampler.conf";
    if (dsos_have_hung(symbols->dsos))
        return "the symbols of some users' programs are unknown: reading one of their files timed out, and perfcountd "
               "reads none of their files for an hour";
    if (symbols->waiters.failed || dsos_have_failed(symbols->dsos))
        return "the symbols of some programs are unknown: memory or open files ran out, and perfcountd will retry; "
               "or the process that reads symbols failed on a file";
    if (dsos_were_cut(symbols->dsos))
        return "only the largest functions of large programs are known, because all of their symbols would need more "
               "memory than sampler.memory allows";
    return NULL;
}

const char *symbols_reason_kernel(const struct symbols *symbols)
{
    if (dsos_symboliser_is_unconfined(symbols->dsos))
        return "kernel symbols are unknown, " UNCONFINED;
    if (symbols->kernel_is_closed)
        return "kernel symbols are unknown, because /proc/kallsyms cannot be opened; with systemd see "
               "sampler.conf";
    if (symbols->kernel->state == DSO_BAD)
        return "kernel symbols are unknown, because the kernel hides their addresses from this process "
               "(kernel.kptr_restrict, kernel.perf_event_paranoid); run it with sudo, or grant CAP_SYSLOG";
    return NULL;
}

void symbols_set_child(struct symbols *symbols, struct child *child)
{
    dsos_set_child(symbols->dsos, child);
}
