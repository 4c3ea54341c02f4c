/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and their mappings: see processes.h. */
#include "sampler/processes.h"

#include <sys/mman.h>

#include "sampler/maps.h"

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

void processes_rest(struct processes *processes)
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

/* Of an array as array_grow() has it. */
static size_t array_bytes(size_t n, size_t element_size)
{
    size_t capacity = n ? 1 : 0;

    while (capacity < n)
        capacity *= 2;
    return capacity * element_size;
}

static size_t own_bytes(const struct process *process)
{
    return sizeof(*process) + array_bytes(process->n_threads, sizeof(process->threads[0])) +
           array_bytes(process->n_places, sizeof(process->places[0]));
}

static void clear_places(struct process *process)
{
    for (size_t i = 0; i < process->n_places; i++)
        image_unref(process->places[i].image);
    free(process->places);
    process->places = NULL;
    process->n_places = process->last = 0;
}

static void forget(struct processes *processes, struct process *process)
{
    struct process **slot = slot_of(processes, process->pid);

    *slot = process->next_in_bucket;
    list_remove(list_of(processes, process), process);
    processes->bytes -= own_bytes(process);
    clear_places(process);
    free(process->threads);
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

/* The first thread whose number is not below `tid`. */
static size_t thread_at(const struct process *process, uint32_t tid)
{
    return array_search(process->n_threads, i, process->threads[i].tid < tid);
}

static const struct process_thread *find_thread(const struct process *process, uint32_t tid)
{
    size_t at = thread_at(process, tid);
    return at < process->n_threads && process->threads[at].tid == tid ? &process->threads[at] : NULL;
}

static void set_comm(struct processes *processes, struct process *process, uint32_t tid, const char *comm)
{
    size_t at = thread_at(process, tid);

    if (at == process->n_threads || process->threads[at].tid != tid) {
        size_t before = own_bytes(process);
        if (process->n_threads >= THREADS_MAX || array_grow(&process->threads, process->n_threads) < 0)
            return;
        memmove(&process->threads[at + 1], &process->threads[at],
                (process->n_threads++ - at) * sizeof(process->threads[0]));
        process->threads[at] = (struct process_thread){.tid = tid};
        processes->bytes += own_bytes(process) - before;
    }
    size_t size = MIN(strlen(comm), sizeof(process->threads[at].comm) - 1);
    memcpy(process->threads[at].comm, comm, size);
    process->threads[at].comm[size] = '\0';
    make_room(processes, process);
}

void processes_set_comm(struct processes *processes, uint32_t pid, uint32_t tid, const char *comm)
{
    struct process *process = get_process(processes, pid);

    if (!process)
        return;
    if (process->n_places == 0) /* a thread of the kernel; else it may be dead, and wait for its parent */
        set_ended(processes, process, false);
    set_comm(processes, process, tid, comm);
}

const char *process_comm(const struct process *process, uint32_t tid)
{
    const struct process_thread *thread = find_thread(process, tid);

    if (!thread) /* a thread has its process's name until it takes another */
        thread = find_thread(process, process->pid);
    return thread ? thread->comm : "";
}

/* The first mapping that ends behind the address. */
static size_t place_at(const struct process *process, uint64_t address)
{
    return array_search(process->n_places, i, process->places[i].mapping.end <= address);
}

struct place *process_place(struct process *process, uint64_t address)
{
    if (process->last < process->n_places) {
        struct place *last = &process->places[process->last];
        if (address >= last->mapping.start && address < last->mapping.end)
            return last;
    }
    size_t at = place_at(process, address);
    if (at == process->n_places || address < process->places[at].mapping.start)
        return NULL;
    process->last = at;
    return &process->places[at];
}

static int insert_place(struct process *process, size_t at, struct place place)
{
    if (array_grow(&process->places, process->n_places) < 0)
        return -ENOMEM;
    memmove(&process->places[at + 1], &process->places[at], (process->n_places++ - at) * sizeof(process->places[0]));
    process->places[at] = place;
    return 0;
}

static void remove_places(struct process *process, size_t at, size_t n)
{
    if (n == 0)
        return;
    for (size_t i = at; i < at + n; i++)
        image_unref(process->places[i].image);
    memmove(&process->places[at], &process->places[at + n], (process->n_places - at - n) * sizeof(process->places[0]));
    process->n_places -= n;
}

static void move_start(struct place *place, uint64_t start)
{
    place->mapping.offset += start - place->mapping.start;
    place->mapping.start = start;
    place->mapping.number = image_number(place->image, place->mapping.offset);
}

/* Nothing is mapped from `start` to `end` any more: the kernel reports what is mapped, and never what is unmapped. */
static void cut(struct process *process, uint64_t start, uint64_t end)
{
    size_t at = place_at(process, start);

    if (at < process->n_places && process->places[at].mapping.start < start) {
        struct place *place = &process->places[at], rest = *place;
        place->mapping.end = start;
        at++;
        if (rest.mapping.end > end) {
            move_start(&rest, end);
            if (process->n_places < MAPPINGS_MAX && insert_place(process, at, rest) == 0)
                image_ref(rest.image);
            return;
        }
    }
    size_t stop = at;
    while (stop < process->n_places && process->places[stop].mapping.end <= end)
        stop++;
    if (stop < process->n_places && process->places[stop].mapping.start < end)
        move_start(&process->places[stop], end);
    remove_places(process, at, stop - at);
}

static void map(struct processes *processes, struct process *process, const struct mapping *mapping)
{
    const struct image_key key = {.file = mapping->file,
                                  .major = mapping->major,
                                  .minor = mapping->minor,
                                  .inode = mapping->inode,
                                  .build_id = mapping->build_id,
                                  .build_id_size = mapping->build_id_size,
                                  .jit_pid = maps_is_anonymous(mapping->file) ? process->pid : 0};
    size_t before = own_bytes(process);

    /* Shrinking leaves an array larger than its length says: then bytes are counted low, by at most a half. */
    cut(process, mapping->start, mapping->end);
    struct image *image = process->n_places < MAPPINGS_MAX ? image_get(processes->images, &key) : NULL;
    if (image) {
        struct place place = {.mapping = *mapping, .image = image};
        place.mapping.file = image->file;
        place.mapping.build_id = image->build_id;
        place.mapping.build_id_size = image->build_id_size;
        if (key.jit_pid) /* as the kernel's records have it; /proc says 0, and numbers would be the same */
            place.mapping.offset = mapping->start;
        place.mapping.number = image_number(image, place.mapping.offset);
        size_t at = place_at(process, mapping->start);
        if (insert_place(process, at, place) < 0)
            image_unref(image);
    }
    processes->bytes += own_bytes(process) - before;
    if (!make_room(processes, process)) { /* it alone has too much */
        processes->bytes -= own_bytes(process);
        clear_places(process);
        processes->bytes += own_bytes(process);
    }
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

static void take_mmap(struct processes *processes, const struct record *record)
{
    const struct record_mmap *mmap = &record->mmap;
    char file[FILE_SIZE_MAX];

    if (mmap->pid == UINT32_MAX || record->misc & PERF_RECORD_MISC_MMAP_DATA)
        return;
    if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
        return;
    size_t size = strnlen(mmap->file, sizeof(file) - 1);
    memcpy(file, mmap->file, size);
    file[size] = '\0';
    maps_strip_deleted(file);
    struct mapping mapping = {
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
        .protection = record->type == PERF_RECORD_MMAP2 ? mmap->protection : PROT_READ | PROT_EXEC,
        .flags = record->type == PERF_RECORD_MMAP2 ? mmap->flags : MAP_PRIVATE,
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
        processes->bytes -= own_bytes(process);
        clear_places(process);
        free(process->threads);
        process->threads = NULL;
        process->n_threads = 0;
        processes->bytes += own_bytes(process);
    }
    set_comm(processes, process, record->comm.tid, record->comm.comm);
}

static void inherit_places(struct processes *processes, struct process *child, const struct process *parent)
{
    size_t before = own_bytes(child);

    for (size_t i = 0; i < parent->n_places; i++)
        if (insert_place(child, i, parent->places[i]) == 0)
            image_ref(child->places[i].image);
        else
            break;
    processes->bytes += own_bytes(child) - before;
}

static void take_fork(struct processes *processes, const struct record *record)
{
    uint32_t pid = record->task.pid, parent_pid = record->task.parent_pid;
    struct process *parent = *slot_of(processes, parent_pid);
    char comm[16] = "";

    if (parent)
        memccpy(comm, process_comm(parent, record->task.parent_tid), '\0', sizeof(comm));
    if (pid == parent_pid) { /* a thread */
        if (comm[0])
            set_comm(processes, parent, record->task.tid, comm);
        return;
    }
    struct process *old = *slot_of(processes, pid), *child; /* of an earlier process with this number */
    if (old)
        forget(processes, old);
    child = add_process(processes, pid);
    parent = *slot_of(processes, parent_pid); /* it may have gone to make room */
    if (!child)
        return;
    if (parent)
        inherit_places(processes, child, parent);
    if (comm[0])
        set_comm(processes, child, record->task.tid, comm);
    make_room(processes, child);
}

static void take_exit(struct processes *processes, const struct record *record)
{
    struct process *process = *slot_of(processes, record->task.pid);

    if (!process || process->ended)
        return;
    if (record->task.tid != record->task.pid) {
        size_t at = thread_at(process, record->task.tid), before = own_bytes(process);
        if (at == process->n_threads || process->threads[at].tid != record->task.tid)
            return;
        memmove(&process->threads[at], &process->threads[at + 1],
                (--process->n_threads - at) * sizeof(process->threads[0]));
        processes->bytes += own_bytes(process) - before;
        return;
    }
    set_ended(processes, process, true);
    if (processes->ended.n > PROCESSES_ENDED_MAX)
        forget(processes, processes->ended.oldest);
}

void processes_take(struct processes *processes, const struct record *record)
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

static void visit_process(const struct process *process, symbols_visit visit, void *userdata)
{
    for (size_t i = 0; i < process->n_threads; i++)
        visit(userdata, process->pid, process->threads[i].tid, process->threads[i].comm, NULL);
    for (size_t i = 0; i < process->n_places; i++) {
        struct place *place = &process->places[i];
        place->mapping.build_id_size = place->image->build_id_size; /* may be known by now */
        visit(userdata, process->pid, process->pid, process_comm(process, process->pid), &place->mapping);
    }
}

void processes_each(struct processes *processes, symbols_visit visit, void *userdata)
{
    for (const struct process *process = processes->running.oldest; process; process = process->newer)
        visit_process(process, visit, userdata);
}
