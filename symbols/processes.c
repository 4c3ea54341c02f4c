/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/processes.h"

#include <sys/mman.h>

#include "base/number.h"

/* --- mappings --- */

static void mappings_done(struct mappings *mappings)
{
    for (size_t i = 0; i < mappings->n; i++)
        dso_unref(mappings->mappings[i].dso);
    free(mappings->mappings);
    *mappings = (struct mappings){0};
}

/* Returns the index of the first mapping that ends after the address. */
static size_t mappings_search(const struct mappings *mappings, uint64_t address)
{
    return array_search(mappings->n, i, mappings->mappings[i].end <= address);
}

static bool mapping_covers(const struct mapping *mapping, uint64_t address)
{
    return address >= mapping->start && address < mapping->end;
}

struct mapping *mappings_find(struct mappings *mappings, uint64_t address)
{
    if (mappings->last < mappings->n && mapping_covers(&mappings->mappings[mappings->last], address))
        return &mappings->mappings[mappings->last];
    size_t at = mappings_search(mappings, address);
    if (at == mappings->n || !mapping_covers(&mappings->mappings[at], address))
        return NULL;
    mappings->last = at;
    return &mappings->mappings[at];
}

static int mappings_insert(struct mappings *mappings, size_t at, struct mapping mapping)
{
    if (mappings->n >= MAPPINGS_MAX)
        return -ENOSPC;
    if (array_grow(&mappings->mappings, mappings->n) < 0)
        return -ENOMEM;
    memmove(&mappings->mappings[at + 1], &mappings->mappings[at], (mappings->n++ - at) * sizeof(mapping));
    mappings->mappings[at] = mapping;
    return 0;
}

static void mappings_remove(struct mappings *mappings, size_t at, size_t n)
{
    if (n == 0)
        return;
    for (size_t i = at; i < at + n; i++)
        dso_unref(mappings->mappings[i].dso);
    memmove(&mappings->mappings[at], &mappings->mappings[at + n],
            (mappings->n - at - n) * sizeof(mappings->mappings[0]));
    mappings->n -= n;
}

static void mapping_move_start(struct mapping *mapping, uint64_t start)
{
    mapping->offset += start - mapping->start;
    mapping->start = start;
    mapping->number = dso_number(mapping->dso, mapping->offset);
}

/* Truncates the mapping at index `at`, which starts before `start`, and keeps its rest after `end`, if any. */
static void cut_within(struct mappings *mappings, size_t at, uint64_t start, uint64_t end)
{
    struct mapping rest = mappings->mappings[at];

    mappings->mappings[at].end = start;
    if (rest.end <= end)
        return;
    mapping_move_start(&rest, end);
    if (mappings_insert(mappings, at + 1, rest) == 0)
        dso_ref(rest.dso);
}

/*
 * Removes all mappings between `start` and `end`, to make room for a new one: the kernel reports when memory is mapped,
 * but not when it is unmapped. A mapping around the range is split; its second part is lost if there is no room.
 */
static void mappings_cut(struct mappings *mappings, uint64_t start, uint64_t end)
{
    size_t at = mappings_search(mappings, start);

    if (at < mappings->n && mappings->mappings[at].start < start)
        cut_within(mappings, at++, start, end);
    size_t stop = at;
    while (stop < mappings->n && mappings->mappings[stop].end <= end)
        stop++;
    if (stop < mappings->n && mappings->mappings[stop].start < end)
        mapping_move_start(&mappings->mappings[stop], end);
    mappings_remove(mappings, at, stop - at);
}

/* Adds a mapping in a free range. Takes over the reference to `dso`. Does nothing if there is no room. */
static void mappings_put(struct mappings *mappings, const struct mapping *mapping, struct dso *dso)
{
    struct mapping put = *mapping;

    put.dso = dso;
    put.file = dso->file;
    put.build_id = dso->build_id;
    put.build_id_size = dso->build_id_size;
    /* The offset of anonymous memory is its address, as in the kernel's records: /proc shows 0 for every mapping. */
    if (dso->jit_pid)
        put.offset = mapping->start;
    put.number = dso_number(dso, put.offset);
    if (mappings_insert(mappings, mappings_search(mappings, mapping->start), put) < 0)
        dso_unref(dso);
}

/* Copies mappings to `to`, which must be empty; if out of memory, the rest is not copied. */
static void mappings_copy(const struct mappings *from, struct mappings *to)
{
    for (size_t i = 0; i < from->n && mappings_insert(to, i, from->mappings[i]) == 0; i++)
        dso_ref(to->mappings[i].dso);
}

static size_t mappings_bytes(const struct mappings *mappings)
{
    return array_bytes(mappings->n, sizeof(mappings->mappings[0]));
}

/* --- thread names --- */

static void thread_names_done(struct thread_names *names)
{
    free(names->names);
    *names = (struct thread_names){0};
}

/* Finds the index of the first thread whose tid is not below `tid`. Returns whether that thread is `tid`. */
static bool thread_names_search(const struct thread_names *names, uint32_t tid, size_t *ret_at)
{
    *ret_at = array_search(names->n, i, names->names[i].tid < tid);
    return *ret_at < names->n && names->names[*ret_at].tid == tid;
}

static const char *thread_names_find(const struct thread_names *names, uint32_t tid)
{
    size_t at;

    return thread_names_search(names, tid, &at) ? names->names[at].comm : NULL;
}

/* Does nothing if there is no room for another thread. */
static void thread_names_set(struct thread_names *names, uint32_t tid, const char *comm)
{
    size_t at, size = MIN(strlen(comm), sizeof(names->names[0].comm) - 1);

    if (!thread_names_search(names, tid, &at)) {
        if (names->n >= THREADS_MAX || array_grow(&names->names, names->n) < 0)
            return;
        memmove(&names->names[at + 1], &names->names[at], (names->n++ - at) * sizeof(names->names[0]));
    }
    names->names[at] = (struct thread_name){.tid = tid};
    memcpy(names->names[at].comm, comm, size);
}

static void thread_names_remove(struct thread_names *names, uint32_t tid)
{
    size_t at;

    if (thread_names_search(names, tid, &at))
        memmove(&names->names[at], &names->names[at + 1], (--names->n - at) * sizeof(names->names[0]));
}

static size_t thread_names_bytes(const struct thread_names *names)
{
    return array_bytes(names->n, sizeof(names->names[0]));
}

/* --- lines of /proc/PID/maps --- */

#define DELETED " (deleted)"

/* Parses the hexadecimal number before `end`, and moves `at` past `end`. */
static bool maps_take_hex(char **at, char end, uint64_t *ret)
{
    char *stop = strchr(*at, end);

    if (!stop || number_parse_hex_n(*at, (size_t)(stop - *at), ret) < 0)
        return false;
    *at = stop + 1;
    return true;
}

static bool maps_take_protection(char **at, struct mapping *mapping)
{
    static const struct {
        char character;
        uint32_t bit;
    } bits[] = {{'r', PROT_READ}, {'w', PROT_WRITE}, {'x', PROT_EXEC}};
    const char *text = *at;

    if (strnlen(text, 5) < 5 || text[4] != ' ')
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(bits); i++) {
        if (text[i] == bits[i].character)
            mapping->protection |= bits[i].bit;
        else if (text[i] != '-')
            return false;
    }
    mapping->flags = text[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
    *at += 5;
    return true;
}

static bool is_octal_escape(const char *text)
{
    for (int i = 0; i < 3; i++)
        if (text[i] < '0' || text[i] > '7')
            return false;
    return true;
}

/* Replaces octal escapes in place. The kernel escapes only newlines (proc_pid_maps(5)). */
static void maps_unescape(char *text)
{
    char *to = text;

    while (*text)
        if (text[0] == '\\' && is_octal_escape(text + 1)) {
            *to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
            text += 4;
        } else {
            *to++ = *text++;
        }
    *to = '\0';
}

bool proc_maps_is_anonymous(const char *file)
{
    static const char *const begins[] = {"//anon", "[anon:", "/dev/zero", "/anon_hugepage"};

    for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
        if (str_starts(file, begins[i]))
            return true;
    return false;
}

/* Removes " (deleted)", which the kernel appends to the path of a deleted file. */
static void proc_maps_strip_deleted(char *file)
{
    size_t size = strlen(file), mark = strlen(DELETED);

    if (size > mark && str_equal(file + size - mark, DELETED))
        file[size - mark] = '\0';
}

int proc_maps_parse_line(char *line, struct mapping *ret)
{
    struct mapping mapping = {0};
    uint64_t device_major, device_minor;

    if (!maps_take_hex(&line, '-', &mapping.start) || !maps_take_hex(&line, ' ', &mapping.end) ||
        mapping.end <= mapping.start || !maps_take_protection(&line, &mapping) ||
        !maps_take_hex(&line, ' ', &mapping.offset) || !maps_take_hex(&line, ':', &device_major) ||
        !maps_take_hex(&line, ' ', &device_minor))
        return -EBADMSG;
    size_t digits = strspn(line, "0123456789");
    if (number_parse_u64_n(line, digits, &mapping.inode) < 0)
        return -EBADMSG;
    line += digits;
    line += strspn(line, " ");
    maps_unescape(line);
    proc_maps_strip_deleted(line);
    mapping.major = (uint32_t)device_major;
    mapping.minor = (uint32_t)device_minor;
    mapping.file = *line ? line : "//anon";
    *ret = mapping;
    return 0;
}

/* --- processes --- */

#define BUCKETS 1024
#define FILE_SIZE_MAX 4096

struct process_list {
    TAILQ_HEAD(, process) list; /* the least recently used process comes first */
    size_t n;
};

struct processes {
    struct dsos *dsos;
    LIST_HEAD(process_bucket, process) buckets[BUCKETS];
    struct process_list running, ended;
    size_t bytes;
    uint64_t n_states;
};

int processes_new(struct dsos *dsos, struct processes **ret)
{
    struct processes *processes = calloc(1, sizeof(*processes));

    if (!processes)
        return -ENOMEM;
    processes->dsos = dsos;
    TAILQ_INIT(&processes->running.list);
    TAILQ_INIT(&processes->ended.list);
    *ret = processes;
    return 0;
}

static struct process_list *process_list_of(struct processes *processes, const struct process *process)
{
    return process->ended ? &processes->ended : &processes->running;
}

static void process_list_add(struct process_list *list, struct process *process)
{
    TAILQ_INSERT_TAIL(&list->list, process, use);
    list->n++;
}

static void process_list_remove(struct process_list *list, struct process *process)
{
    TAILQ_REMOVE(&list->list, process, use);
    list->n--;
}

static void process_set_ended(struct processes *processes, struct process *process, bool ended)
{
    if (process->ended == ended)
        return;
    process_list_remove(process_list_of(processes, process), process);
    process->ended = ended;
    process_list_add(process_list_of(processes, process), process);
}

void processes_end_all(struct processes *processes)
{
    while (processes->running.n)
        process_set_ended(processes, TAILQ_FIRST(&processes->running.list), true);
}

static struct process_bucket *process_bucket_of(struct processes *processes, uint32_t pid)
{
    return &processes->buckets[pid * UINT32_C(2654435761) >> 22];
}

static struct process *process_get_known(struct processes *processes, uint32_t pid)
{
    struct process *process;

    LIST_FOREACH (process, process_bucket_of(processes, pid), bucket)
        if (process->pid == pid)
            return process;
    return NULL;
}

static size_t process_bytes(const struct process *process)
{
    return sizeof(*process) + thread_names_bytes(&process->threads) + mappings_bytes(&process->mappings);
}

static void process_forget(struct processes *processes, struct process *process)
{
    LIST_REMOVE(process, bucket);
    process_list_remove(process_list_of(processes, process), process);
    processes->bytes -= process_bytes(process);
    mappings_done(&process->mappings);
    thread_names_done(&process->threads);
    free(process);
}

struct processes *processes_free(struct processes *processes)
{
    if (!processes)
        return NULL;
    processes_end_all(processes);
    while (processes->ended.n)
        process_forget(processes, TAILQ_FIRST(&processes->ended.list));
    free(processes);
    return NULL;
}

size_t processes_n(const struct processes *processes)
{
    return processes->running.n + processes->ended.n;
}

size_t processes_bytes(const struct processes *processes)
{
    return processes->bytes + dsos_bytes(processes->dsos);
}

/*
 * Forgets the least recently used exited process or, if none has exited, the least recently used running process. Never
 * forgets `but` (may be NULL). Returns false if no other process is left.
 */
static bool processes_forget_one(struct processes *processes, const struct process *but)
{
    struct process *victim = TAILQ_FIRST(&processes->ended.list);

    if (!victim || victim == but)
        victim = TAILQ_FIRST(&processes->running.list);
    if (victim && victim == but)
        victim = TAILQ_NEXT(victim, use);
    if (!victim)
        return false;
    process_forget(processes, victim);
    return true;
}

/* Forgets processes other than `but` until the memory limit is met. Returns false if `but` alone exceeds it. */
static bool processes_make_room(struct processes *processes, const struct process *but)
{
    while (processes_bytes(processes) > PROCESSES_BYTES_MAX)
        if (!processes_forget_one(processes, but))
            return false;
    return true;
}

static struct process *process_add(struct processes *processes, uint32_t pid)
{
    if (processes_n(processes) >= PROCESSES_MAX)
        processes_forget_one(processes, NULL);
    struct process *process = calloc(1, sizeof(*process));
    if (!process)
        return NULL;
    process->pid = pid;
    LIST_INSERT_HEAD(process_bucket_of(processes, pid), process, bucket);
    process_list_add(&processes->running, process);
    processes->bytes += process_bytes(process);
    processes_make_room(processes, process);
    return process;
}

static struct process *process_get(struct processes *processes, uint32_t pid)
{
    struct process *process = process_get_known(processes, pid);
    return process ? process : process_add(processes, pid);
}

struct process *processes_find(struct processes *processes, uint32_t pid)
{
    struct process *process = process_get_known(processes, pid);

    if (process && TAILQ_NEXT(process, use)) {
        struct process_list *list = process_list_of(processes, process);
        process_list_remove(list, process);
        process_list_add(list, process);
    }
    return process;
}

static void process_set_comm(struct processes *processes, struct process *process, uint32_t tid, const char *comm)
{
    size_t before = process_bytes(process);

    thread_names_set(&process->threads, tid, comm);
    processes->bytes += process_bytes(process) - before;
    processes_make_room(processes, process);
}

void processes_set_comm(struct processes *processes, uint32_t pid, uint32_t tid, const char *comm)
{
    struct process *process = process_get(processes, pid);

    if (!process)
        return;
    /*
     * A process without mappings may be a kernel thread, so it counts as running. A process with known mappings may be
     * a zombie, so processes_map() decides whether it runs.
     */
    if (process->mappings.n == 0)
        process_set_ended(processes, process, false);
    process_set_comm(processes, process, tid, comm);
}

const char *process_comm(const struct process *process, uint32_t tid)
{
    const char *comm = thread_names_find(&process->threads, tid);

    if (!comm) /* a thread starts with the name of its process */
        comm = thread_names_find(&process->threads, process->pid);
    return comm ? comm : "";
}

static struct dso *process_dso_of(struct processes *processes, uint32_t pid, const struct mapping *mapping)
{
    const struct dso_key key = {.file = mapping->file,
                                .major = mapping->major,
                                .minor = mapping->minor,
                                .inode = mapping->inode,
                                .build_id = mapping->build_id,
                                .build_id_size = mapping->build_id_size,
                                .jit_pid = proc_maps_is_anonymous(mapping->file) ? pid : 0};

    return dso_get(processes->dsos, &key);
}

static void process_clear_mappings(struct processes *processes, struct process *process)
{
    processes->bytes -= mappings_bytes(&process->mappings);
    mappings_done(&process->mappings);
}

static void process_map(struct processes *processes, struct process *process, const struct mapping *mapping)
{
    size_t before = process_bytes(process);

    /*
     * The new reference is taken first, because the mapping that is replaced may hold the last reference to the same
     * file and its table.
     */
    struct dso *dso = process_dso_of(processes, process->pid, mapping);
    /* An array that shrinks keeps its memory, so up to half of its bytes may be missing from the sum. */
    mappings_cut(&process->mappings, mapping->start, mapping->end);
    if (dso)
        mappings_put(&process->mappings, mapping, dso);
    processes->bytes += process_bytes(process) - before;
    if (!processes_make_room(processes, process))
        process_clear_mappings(processes, process);
}

void processes_map(struct processes *processes, uint32_t pid, const struct mapping *mapping)
{
    if (!(mapping->protection & PROT_EXEC) || mapping->end <= mapping->start)
        return;
    struct process *process = process_get(processes, pid);
    if (!process)
        return;
    process_set_ended(processes, process, false);
    process_map(processes, process, mapping);
}

uint64_t processes_state(struct processes *processes, uint32_t pid)
{
    const struct process *process = process_get_known(processes, pid);

    return process ? process->state : 0;
}

static void process_set_changed(struct processes *processes, struct process *process)
{
    if (process)
        process->state = ++processes->n_states;
}

/* Copies a path, truncated to FILE_SIZE_MAX and without " (deleted)". */
static void copy_file(const char *from, char to[FILE_SIZE_MAX])
{
    size_t size = strnlen(from, FILE_SIZE_MAX - 1);

    memcpy(to, from, size);
    to[size] = '\0';
    proc_maps_strip_deleted(to);
}

static void update_mmap(struct processes *processes, const struct record *record)
{
    const struct record_mmap *mmap = &record->mmap;
    bool is_full = record->type == PERF_RECORD_MMAP2;
    char file[FILE_SIZE_MAX];

    if (mmap->pid == UINT32_MAX || record->misc & PERF_RECORD_MISC_MMAP_DATA)
        return;
    if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
        return;
    copy_file(mmap->file, file);
    const struct mapping mapping = {
        .start = mmap->address,
        .end = mmap->address + mmap->length, /* if this overflows, processes_map() ignores the mapping */
        .offset = mmap->offset,
        .file = file,
        .build_id = mmap->build_id,
        .build_id_size = MIN((size_t)mmap->build_id_size, BUILD_ID_MAX),
        .major = mmap->major,
        .minor = mmap->minor,
        .inode = mmap->inode,
        .inode_generation = mmap->inode_generation,
        .protection = is_full ? mmap->protection : PROT_READ | PROT_EXEC,
        .flags = is_full ? mmap->flags : MAP_PRIVATE,
    };
    processes_map(processes, mmap->pid, &mapping);
    process_set_changed(processes, process_get_known(processes, mmap->pid));
}

static void update_comm(struct processes *processes, const struct record *record)
{
    struct process *process = process_get(processes, record->comm.pid);

    if (!process)
        return;
    /* exec(2) starts a new program with a single thread, even if the main thread had exited before. */
    if (record->misc & PERF_RECORD_MISC_COMM_EXEC) {
        process_set_ended(processes, process, false);
        process_clear_mappings(processes, process);
        processes->bytes -= thread_names_bytes(&process->threads);
        thread_names_done(&process->threads);
        process_set_changed(processes, process);
    }
    process_set_comm(processes, process, record->comm.tid, record->comm.comm);
}

/* Adds a forked process, which starts with the mappings of its parent. `comm` is the name of the forking thread. */
static void update_process(struct processes *processes, const struct record *record, const char *comm)
{
    struct process *old = process_get_known(processes, record->task.pid);

    if (old)
        process_forget(processes, old);
    struct process *child = process_add(processes, record->task.pid);
    /* The parent is looked up only now, since process_add() may have forgotten it to make room. */
    const struct process *parent = process_get_known(processes, record->task.parent_pid);
    if (!child)
        return;
    process_set_changed(processes, child);
    if (parent) {
        mappings_copy(&parent->mappings, &child->mappings);
        processes->bytes += mappings_bytes(&child->mappings);
    }
    if (comm[0])
        process_set_comm(processes, child, record->task.tid, comm);
    processes_make_room(processes, child);
}

/* A new thread or process starts with the name of the thread that created it. */
static void update_fork(struct processes *processes, const struct record *record)
{
    struct process *parent = process_get_known(processes, record->task.parent_pid);
    char comm[16] = "";

    if (parent)
        memccpy(comm, process_comm(parent, record->task.parent_tid), '\0', sizeof(comm));
    if (record->task.pid != record->task.parent_pid)
        update_process(processes, record, comm);
    else if (comm[0])
        process_set_comm(processes, parent, record->task.tid, comm);
}

static void update_exit(struct processes *processes, const struct record *record)
{
    struct process *process = process_get_known(processes, record->task.pid);

    if (!process || process->ended)
        return;
    if (record->task.tid != record->task.pid) {
        size_t before = process_bytes(process);
        thread_names_remove(&process->threads, record->task.tid);
        processes->bytes += process_bytes(process) - before;
        return;
    }
    process_set_ended(processes, process, true);
    process_set_changed(processes, process);
    if (processes->ended.n > PROCESSES_ENDED_MAX)
        process_forget(processes, TAILQ_FIRST(&processes->ended.list));
}

void processes_update(struct processes *processes, const struct record *record)
{
    switch (record->type) {
    case PERF_RECORD_COMM:
        update_comm(processes, record);
        break;
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        update_mmap(processes, record);
        break;
    case PERF_RECORD_FORK:
        update_fork(processes, record);
        break;
    case PERF_RECORD_EXIT:
        update_exit(processes, record);
        break;
    default:
        break;
    }
}

static void process_visit_all(const struct process *process, process_visit visit, void *userdata)
{
    const struct thread_names *threads = &process->threads;
    const struct mappings *mappings = &process->mappings;

    for (size_t i = 0; i < threads->n; i++)
        visit(userdata, process->pid, threads->names[i].tid, threads->names[i].comm, NULL);
    for (size_t i = 0; i < mappings->n; i++) {
        struct mapping *mapping = &mappings->mappings[i];
        mapping->build_id_size = mapping->dso->build_id_size; /* the build ID may have become known in the meantime */
        visit(userdata, process->pid, process->pid, process_comm(process, process->pid), mapping);
    }
}

void processes_each(struct processes *processes, process_visit visit, void *userdata)
{
    const struct process *process;

    TAILQ_FOREACH (process, &processes->running.list, use)
        process_visit_all(process, visit, userdata);
}
