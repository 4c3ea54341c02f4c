/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and their mappings: see processes.h. */
#include "symbols/processes.h"

#include <sys/mman.h>

#include "symbols/proc-maps.h"

#define BUCKETS 1024
#define FILE_SIZE_MAX 4096

/* Least recently used is the oldest. */
struct process_list {
    struct process *newest, *oldest;
    size_t n;
};

struct processes {
    struct images *images;
    struct process *buckets[BUCKETS];
    struct process_list running, ended;
    size_t bytes;
};

int processes_new(struct images *images, struct processes **ret)
{
    struct processes *processes = calloc(1, sizeof(*processes));

    if (!processes)
        return -ENOMEM;
    processes->images = images;
    *ret = processes;
    return 0;
}

static struct process_list *list_of(struct processes *processes, const struct process *process)
{
    return process->ended ? &processes->ended : &processes->running;
}

static void list_add(struct process_list *list, struct process *process)
{
    process->newer = NULL;
    process->older = list->newest;
    *(list->newest ? &list->newest->newer : &list->oldest) = process;
    list->newest = process;
    list->n++;
}

static void list_remove(struct process_list *list, struct process *process)
{
    *(process->newer ? &process->newer->older : &list->newest) = process->older;
    *(process->older ? &process->older->newer : &list->oldest) = process->newer;
    list->n--;
}

static void set_ended(struct processes *processes, struct process *process, bool ended)
{
    if (process->ended == ended)
        return;
    list_remove(list_of(processes, process), process);
    process->ended = ended;
    list_add(list_of(processes, process), process);
}

void processes_end_all(struct processes *processes)
{
    while (processes->running.oldest)
        set_ended(processes, processes->running.oldest, true);
}

static struct process **slot_of(struct processes *processes, uint32_t pid)
{
    struct process **at = &processes->buckets[pid * UINT32_C(2654435761) >> 22];

    while (*at && (*at)->pid != pid)
        at = &(*at)->next_in_bucket;
    return at;
}

static size_t own_bytes(const struct process *process)
{
    return sizeof(*process) + thread_names_bytes(&process->threads) + mappings_bytes(&process->mappings);
}

static void forget(struct processes *processes, struct process *process)
{
    struct process **slot = slot_of(processes, process->pid);

    *slot = process->next_in_bucket;
    list_remove(list_of(processes, process), process);
    processes->bytes -= own_bytes(process);
    mappings_done(&process->mappings);
    thread_names_done(&process->threads);
    free(process);
}

struct processes *processes_free(struct processes *processes)
{
    if (!processes)
        return NULL;
    while (processes->running.oldest)
        forget(processes, processes->running.oldest);
    while (processes->ended.oldest)
        forget(processes, processes->ended.oldest);
    free(processes);
    return NULL;
}

size_t processes_n(const struct processes *processes)
{
    return processes->running.n + processes->ended.n;
}

size_t processes_bytes(const struct processes *processes)
{
    return processes->bytes + images_bytes(processes->images);
}

/* Makes room; false where only `but` is left to go. */
static bool forget_one(struct processes *processes, const struct process *but)
{
    struct process *victim = processes->ended.oldest;

    if (!victim || victim == but)
        victim = processes->running.oldest;
    if (victim && victim == but)
        victim = victim->newer;
    if (!victim)
        return false;
    forget(processes, victim);
    return true;
}

static bool make_room(struct processes *processes, const struct process *but)
{
    while (processes_bytes(processes) > PROCESSES_BYTES_MAX)
        if (!forget_one(processes, but))
            return false;
    return true;
}

static struct process *add_process(struct processes *processes, uint32_t pid)
{
    if (processes_n(processes) >= PROCESSES_MAX)
        forget_one(processes, NULL);
    struct process *process = calloc(1, sizeof(*process));
    if (!process)
        return NULL;
    process->pid = pid;
    *slot_of(processes, pid) = process;
    list_add(&processes->running, process);
    processes->bytes += own_bytes(process);
    make_room(processes, process);
    return process;
}

static struct process *get_process(struct processes *processes, uint32_t pid)
{
    struct process *process = *slot_of(processes, pid);
    return process ? process : add_process(processes, pid);
}

struct process *processes_find(struct processes *processes, uint32_t pid)
{
    struct process *process = *slot_of(processes, pid);

    if (process && process->newer) {
        struct process_list *list = list_of(processes, process);
        list_remove(list, process);
        list_add(list, process);
    }
    return process;
}

static void set_comm(struct processes *processes, struct process *process, uint32_t tid, const char *comm)
{
    size_t before = own_bytes(process);

    thread_names_set(&process->threads, tid, comm);
    processes->bytes += own_bytes(process) - before;
    make_room(processes, process);
}

void processes_set_comm(struct processes *processes, uint32_t pid, uint32_t tid, const char *comm)
{
    struct process *process = get_process(processes, pid);

    if (!process)
        return;
    if (process->mappings.n == 0) /* a thread of the kernel; else it may be dead, and wait for its parent */
        set_ended(processes, process, false);
    set_comm(processes, process, tid, comm);
}

const char *process_comm(const struct process *process, uint32_t tid)
{
    const char *comm = thread_names_find(&process->threads, tid);

    if (!comm) /* a thread has its process's name until it takes another */
        comm = thread_names_find(&process->threads, process->pid);
    return comm ? comm : "";
}

static struct image *image_of(struct processes *processes, uint32_t pid, const struct mapping *mapping)
{
    const struct image_key key = {.file = mapping->file,
                                  .major = mapping->major,
                                  .minor = mapping->minor,
                                  .inode = mapping->inode,
                                  .build_id = mapping->build_id,
                                  .build_id_size = mapping->build_id_size,
                                  .jit_pid = proc_maps_is_anonymous(mapping->file) ? pid : 0};

    return image_get(processes->images, &key);
}

static void clear_mappings(struct processes *processes, struct process *process)
{
    processes->bytes -= mappings_bytes(&process->mappings);
    mappings_done(&process->mappings);
}

static void map(struct processes *processes, struct process *process, const struct mapping *mapping)
{
    size_t before = own_bytes(process);

    /* Shrinking leaves an array larger than its length says: then bytes are counted low, by at most a half. */
    mappings_cut(&process->mappings, mapping->start, mapping->end);
    struct image *image = image_of(processes, process->pid, mapping);
    if (image)
        mappings_put(&process->mappings, mapping, image);
    processes->bytes += own_bytes(process) - before;
    if (!make_room(processes, process)) /* it alone has too much */
        clear_mappings(processes, process);
}

void processes_map(struct processes *processes, uint32_t pid, const struct mapping *mapping)
{
    if (!(mapping->protection & PROT_EXEC) || mapping->end <= mapping->start)
        return;
    struct process *process = get_process(processes, pid);
    if (!process)
        return;
    set_ended(processes, process, false);
    map(processes, process, mapping);
}

/* NUL-terminated, and as /proc has it. */
static void copy_file(const char *from, char to[FILE_SIZE_MAX])
{
    size_t size = strnlen(from, FILE_SIZE_MAX - 1);

    memcpy(to, from, size);
    to[size] = '\0';
    proc_maps_strip_deleted(to);
}

static void take_mmap(struct processes *processes, const struct record *record)
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
        .end = mmap->address + mmap->length, /* where it wraps around it is no mapping */
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
}

static void take_comm(struct processes *processes, const struct record *record)
{
    struct process *process = get_process(processes, record->comm.pid);

    if (!process)
        return;
    if (record->misc & PERF_RECORD_MISC_COMM_EXEC) { /* another program, and one thread: its first may have ended */
        set_ended(processes, process, false);
        clear_mappings(processes, process);
        processes->bytes -= thread_names_bytes(&process->threads);
        thread_names_done(&process->threads);
    }
    set_comm(processes, process, record->comm.tid, record->comm.comm);
}

/* A thread has the name of the one that made it. */
static void take_thread(struct processes *processes, const struct record *record, const char *comm)
{
    struct process *process = *slot_of(processes, record->task.pid);

    if (process && comm[0])
        set_comm(processes, process, record->task.tid, comm);
}

/* A process begins as its parent is, whoever had its number before. */
static void take_process(struct processes *processes, const struct record *record, const char *comm)
{
    struct process *old = *slot_of(processes, record->task.pid);

    if (old)
        forget(processes, old);
    struct process *child = add_process(processes, record->task.pid);
    const struct process *parent = *slot_of(processes, record->task.parent_pid); /* it may have gone to make room */
    if (!child)
        return;
    if (parent) {
        mappings_copy(&parent->mappings, &child->mappings);
        processes->bytes += mappings_bytes(&child->mappings);
    }
    if (comm[0])
        set_comm(processes, child, record->task.tid, comm);
    make_room(processes, child);
}

static void take_fork(struct processes *processes, const struct record *record)
{
    const struct process *parent = *slot_of(processes, record->task.parent_pid);
    char comm[16] = "";

    if (parent)
        memccpy(comm, process_comm(parent, record->task.parent_tid), '\0', sizeof(comm));
    if (record->task.pid == record->task.parent_pid)
        take_thread(processes, record, comm);
    else
        take_process(processes, record, comm);
}

static void take_exit(struct processes *processes, const struct record *record)
{
    struct process *process = *slot_of(processes, record->task.pid);

    if (!process || process->ended)
        return;
    if (record->task.tid != record->task.pid) {
        size_t before = own_bytes(process);
        thread_names_remove(&process->threads, record->task.tid);
        processes->bytes += own_bytes(process) - before;
        return;
    }
    set_ended(processes, process, true);
    if (processes->ended.n > PROCESSES_ENDED_MAX)
        forget(processes, processes->ended.oldest);
}

void processes_update(struct processes *processes, const struct record *record)
{
    switch (record->type) {
    case PERF_RECORD_COMM:
        take_comm(processes, record);
        break;
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        take_mmap(processes, record);
        break;
    case PERF_RECORD_FORK:
        take_fork(processes, record);
        break;
    case PERF_RECORD_EXIT:
        take_exit(processes, record);
        break;
    default:
        break;
    }
}

static void visit_process(const struct process *process, process_visit visit, void *userdata)
{
    const struct thread_names *threads = &process->threads;
    const struct mappings *mappings = &process->mappings;

    for (size_t i = 0; i < threads->n; i++)
        visit(userdata, process->pid, threads->names[i].tid, threads->names[i].comm, NULL);
    for (size_t i = 0; i < mappings->n; i++) {
        struct place *place = &mappings->places[i];
        place->mapping.build_id_size = place->image->build_id_size; /* may be known by now */
        visit(userdata, process->pid, process->pid, process_comm(process, process->pid), &place->mapping);
    }
}

void processes_each(struct processes *processes, process_visit visit, void *userdata)
{
    for (const struct process *process = processes->running.oldest; process; process = process->newer)
        visit_process(process, visit, userdata);
}
