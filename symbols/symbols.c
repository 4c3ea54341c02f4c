/* SPDX-License-Identifier: Apache-2.0 */
/* From addresses to symbols: see symbols.h. */
#include "symbols/symbols.h"

#include "base/cleanup.h"
#include "perf/jit-map.h"
#include "symbols/build-id.h"
#include "symbols/ksymbols.h"
#include "symbols/mapped-file.h"
#include "symbols/proc-scan.h"
#include "symbols/symboliser/elf-symbols.h"

#define STEPS_PER_TURN 40
#define KERNEL "[kernel.kallsyms]"
#define VDSO "[vdso]"

/* The last answers, since a profile asks for the same few thousand addresses over and over. */
#define ANSWERS 4096
struct answer {
    const struct symbol_table *table;
    uint64_t generation; /* of the images, which goes on when a table goes */
    uint64_t address, offset;
    const char *symbol;
};

/* Somebody waits for /proc to be read and the tables that all need, or for all tables. */
struct waiter {
    bool learns;
    struct proc_scan *learner; /* while it reads */
    void (*done)(void *userdata);
    void *userdata;
    struct waiter *next;
};

struct symbols {
    struct sys *sys;
    sd_event *event;
    sd_event_source *turn; /* on while a waiter can go on */
    struct images *images;
    struct processes *processes;
    struct ksymbols ksymbols;
    struct image *kernel, *vdso;
    bool kernel_is_closed; /* its list cannot be opened */
    bool denied;           /* not all of what runs already could be learned */
    struct mapping kernel_mapping;
    struct waiter *waiters;
    struct answer answers[ANSWERS];
};

static void start_turn(void *userdata)
{
    struct symbols *symbols = userdata;

    if (symbols->waiters)
        sd_event_source_set_enabled(symbols->turn, SD_EVENT_ON);
}

static void want_kernel(struct symbols *symbols)
{
    struct sys *sys = symbols->sys;

    if (!image_is_wanted(symbols->kernel))
        return;
    int fd = sys->open_file(sys, "/proc/kallsyms", 0);
    symbols->kernel_is_closed = fd < 0;
    image_load(symbols->kernel, SYMBOLISER_KALLSYMS, fd);
}

static void want_vdso(struct symbols *symbols)
{
    int fd = -1;

    if (!image_is_wanted(symbols->vdso))
        return;
    mapped_file_open_vdso(&fd);
    image_load(symbols->vdso, SYMBOLISER_ELF, fd);
}

static void want_file(struct symbols *symbols, uint32_t pid, const struct place *place)
{
    int fd = -1;

    if (!image_is_wanted(place->image))
        return;
    mapped_file_open(symbols->sys, pid, &place->mapping, &fd);
    image_load(place->image, SYMBOLISER_ELF, fd);
}

/* Of the process that made the functions: a child that was forked has them of its parent. */
static void want_jit(struct symbols *symbols, struct image *image)
{
    int fd = -1;

    if (!image_is_wanted(image))
        return;
    if (jit_map_open(symbols->sys, image->jit_pid, &fd) == -EACCES)
        jit_map_open_by_opener(symbols->sys, image->jit_pid, &fd);
    image_load(image, SYMBOLISER_JIT, fd);
}

static bool is_ready(const struct symbols *symbols, const struct waiter *waiter)
{
    if (waiter->learns)
        return symbols->kernel->state != IMAGE_PENDING && symbols->vdso->state != IMAGE_PENDING;
    return !images_pending(symbols->images);
}

/* Takes the waiter at `*at` out, then calls it: it may wait anew, and forget others. */
static void release(struct waiter **at)
{
    struct waiter waiter = **at;

    free(*at);
    *at = waiter.next;
    proc_scan_free(waiter.learner);
    waiter.done(waiter.userdata);
}

/* The first that reads, a few steps; one that is ready a turn, as calling it may change everything. */
static int on_turn(sd_event_source *source, void *userdata)
{
    struct symbols *symbols = userdata;
    bool reading = false;

    for (struct waiter **at = &symbols->waiters; *at; at = &(*at)->next) {
        bool more = (*at)->learner && !reading;
        for (int i = 0; i < STEPS_PER_TURN && more; i++)
            more = proc_scan_step((*at)->learner, symbols->processes);
        if ((*at)->learner && (more || reading)) {
            reading = true;
            continue;
        }
        if ((*at)->learner)
            symbols->denied = proc_scan_was_denied((*at)->learner);
        (*at)->learner = proc_scan_free((*at)->learner);
        if (is_ready(symbols, *at)) {
            release(at);
            return 0;
        }
    }
    if (!reading) /* the images will say when they are there */
        sd_event_source_set_enabled(source, SD_EVENT_OFF);
    return 0;
}

static int add_parts(struct symbols *symbols)
{
    const struct image_key kernel = {.file = KERNEL}, vdso = {.file = VDSO};

    int r = images_new(symbols->sys, symbols->event, &symbols->images);
    if (r == 0)
        r = processes_new(symbols->images, &symbols->processes);
    if (r < 0)
        return r;
    images_when_loaded(symbols->images, start_turn, symbols);
    symbols->kernel = image_get(symbols->images, &kernel);
    symbols->vdso = image_get(symbols->images, &vdso);
    if (!symbols->kernel || !symbols->vdso)
        return -ENOMEM;
    symbols->kernel->pinned = true;
    r = sd_event_add_defer(symbols->event, &symbols->turn, on_turn, symbols);
    if (r >= 0)
        r = sd_event_source_set_priority(symbols->turn, SD_EVENT_PRIORITY_IDLE);
    if (r >= 0)
        r = sd_event_source_set_enabled(symbols->turn, SD_EVENT_OFF);
    return MIN(r, 0);
}

int symbols_new(struct sys *sys, sd_event *event, struct symbols **ret)
{
    struct symbols *symbols = calloc(1, sizeof(*symbols));

    if (!symbols)
        return -ENOMEM;
    symbols->sys = sys;
    symbols->event = sd_event_ref(event);
    int r = add_parts(symbols);
    if (r < 0) {
        symbols_free(symbols);
        return r;
    }
    symbols->kernel_mapping = (struct mapping){
        .end = UINT64_MAX,
        .file = symbols->kernel->file,
        .build_id = symbols->kernel->build_id,
        .number = image_number(symbols->kernel, 0),
    };
    symbols->kernel->build_id_size = build_id_of_kernel(sys, symbols->kernel->build_id);
    symbols->kernel_mapping.build_id_size = symbols->kernel->build_id_size;
    *ret = symbols;
    return 0;
}

struct symbols *symbols_free(struct symbols *symbols)
{
    if (!symbols)
        return NULL;
    while (symbols->waiters) {
        struct waiter *waiter = symbols->waiters;
        symbols->waiters = waiter->next;
        proc_scan_free(waiter->learner);
        free(waiter);
    }
    sd_event_source_disable_unref(symbols->turn);
    if (symbols->images)
        images_when_loaded(symbols->images, NULL, NULL);
    processes_free(symbols->processes);
    image_unref(symbols->kernel);
    image_unref(symbols->vdso);
    images_free(symbols->images);
    ksymbols_done(&symbols->ksymbols);
    sd_event_unref(symbols->event);
    free(symbols);
    return NULL;
}

static void take_ksymbol(struct symbols *symbols, const struct record *record)
{
    if (record->ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
        ksymbols_remove(&symbols->ksymbols, record->ksymbol.address);
    else
        ksymbols_add(&symbols->ksymbols, record->ksymbol.address, record->ksymbol.length, record->ksymbol.name);
}

void symbols_update(struct symbols *symbols, const struct record *record)
{
    if (record->type == PERF_RECORD_KSYMBOL)
        take_ksymbol(symbols, record);
    else
        processes_update(symbols->processes, record);
}

void symbols_end_all(struct symbols *symbols)
{
    processes_end_all(symbols->processes);
}

static int add_waiter(struct symbols *symbols, struct proc_scan *learner, void (*done)(void *userdata), void *userdata)
{
    struct waiter *waiter = malloc(sizeof(*waiter)), **end = &symbols->waiters;

    if (!waiter)
        return -ENOMEM;
    *waiter = (struct waiter){.learns = learner, .learner = learner, .done = done, .userdata = userdata};
    while (*end)
        end = &(*end)->next;
    *end = waiter;
    start_turn(symbols);
    return 0;
}

int symbols_scan(struct symbols *symbols, uint32_t pid, void (*done)(void *userdata), void *userdata)
{
    struct proc_scan *learner;

    int r = proc_scan_new(symbols->sys, pid, &learner);
    if (r < 0)
        return r;
    want_kernel(symbols);
    want_vdso(symbols); /* this also tells whether there is libdw */
    r = add_waiter(symbols, learner, done, userdata);
    if (r < 0)
        proc_scan_free(learner);
    return r;
}

int symbols_when_idle(struct symbols *symbols, void (*idle)(void *userdata), void *userdata)
{
    return add_waiter(symbols, NULL, idle, userdata);
}

void symbols_cancel(struct symbols *symbols, const void *userdata)
{
    for (struct waiter **at = &symbols->waiters; *at;) {
        struct waiter *waiter = *at;
        if (waiter->userdata != userdata) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        proc_scan_free(waiter->learner);
        free(waiter);
    }
}

void symbols_each(struct symbols *symbols, process_visit visit, void *userdata)
{
    processes_each(symbols->processes, visit, userdata);
}

const char *symbols_comm(struct symbols *symbols, uint32_t pid, uint32_t tid)
{
    if (pid == 0)
        return "swapper"; /* as perf calls the idle task, which /proc does not have */
    const struct process *process = processes_find(symbols->processes, pid);
    return process ? process_comm(process, tid) : "";
}

static const char *find(struct symbols *symbols, const struct symbol_table *table, uint64_t address,
                        uint64_t *ret_offset)
{
    uint64_t generation = images_generation(symbols->images), hash = address * UINT64_C(0x9e3779b97f4a7c15);
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
    frame->image = symbols->kernel;
    frame->symbol = ksymbols_find(&symbols->ksymbols, ip, &frame->offset);
    if (frame->symbol)
        return;
    const struct symbol_table *table = image_table(symbols->kernel);
    if (table)
        frame->symbol = find(symbols, table, ip, &frame->offset);
    else
        want_kernel(symbols);
}

/* The table of what is mapped; NULL where there is none (yet). */
static const struct symbol_table *table_of(struct symbols *symbols, uint32_t pid, struct place *place)
{
    bool is_vdso = place->mapping.file[0] == '[' && str_equal(place->mapping.file, VDSO);

    const struct symbol_table *table = image_table(is_vdso ? symbols->vdso : place->image);
    if (table)
        return table;
    if (is_vdso)
        want_vdso(symbols);
    else if (place->mapping.file[0] == '/' && place->mapping.file[1] != '/')
        want_file(symbols, pid, place);
    return NULL;
}

/* The list has the addresses of the process. */
static void resolve_jit(struct symbols *symbols, struct image *image, uint64_t ip, struct frame *frame)
{
    want_jit(symbols, image);
    const struct symbol_table *table = image_table(image);
    if (table)
        frame->symbol = find(symbols, table, ip, &frame->offset);
}

static void resolve_place(struct symbols *symbols, uint32_t pid, struct place *place, uint64_t ip, struct frame *frame)
{
    uint64_t address;

    frame->mapping = &place->mapping;
    frame->image = place->image;
    if (place->image->jit_pid) {
        resolve_jit(symbols, place->image, ip, frame);
        return;
    }
    const struct symbol_table *table = table_of(symbols, pid, place);
    place->mapping.build_id_size = place->image->build_id_size; /* the table told it */
    if (table && symbol_table_address(table, ip - place->mapping.start + place->mapping.offset, &address))
        frame->symbol = find(symbols, table, address, &frame->offset);
}

static void resolve_user(struct symbols *symbols, uint32_t pid, uint64_t ip, struct frame *frame)
{
    struct process *process = processes_find(symbols->processes, pid);
    struct place *place = process ? mappings_find(&process->mappings, ip) : NULL;

    if (place)
        resolve_place(symbols, pid, place, ip, frame);
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
    *ret = (struct symbols_kept){
        .mapping = *frame->mapping, .image = image_ref(frame->image), .pid = pid, .kernel = frame->kernel};
}

void symbols_release(struct symbols_kept *kept)
{
    kept->image = image_unref(kept->image);
}

void symbols_resolve_kept(struct symbols *symbols, struct symbols_kept *kept, uint64_t ip, struct frame *ret)
{
    struct frame frame = {.ip = ip, .kernel = kept->kernel};
    struct place place = {.mapping = kept->mapping, .image = kept->image};

    if (kept->kernel)
        resolve_kernel(symbols, ip, &frame);
    else
        resolve_place(symbols, kept->pid, &place, ip, &frame);
    kept->mapping.build_id_size = frame.mapping->build_id_size;
    frame.mapping = &kept->mapping;
    *ret = frame;
}

bool symbols_pending(const struct symbols *symbols)
{
    return images_pending(symbols->images);
}

size_t symbols_bytes(const struct symbols *symbols)
{
    return sizeof(*symbols) + processes_bytes(symbols->processes) + symbols->kernel->table.size;
}

void symbols_set_room(struct symbols *symbols, size_t room)
{
    images_set_room(symbols->images, room);
}

#define UNCONFINED                                                                                                     \
    "since the process that reads them would keep privileges of root; start perfcountd as another user, or with "      \
    "CAP_SETUID and CAP_SETGID"

const char *symbols_reason_user(const struct symbols *symbols)
{
    if (images_symboliser_is_unconfined(symbols->images))
        return "the symbols of programs are not known, " UNCONFINED;
    if (images_library_is_missing(symbols->images))
        return elf_symbols_remedy();
    if (symbols->denied)
        return "of programs that ran before not all are known, and what they are called and have mapped, since "
               "/proc hides it from perfcountd; grant CAP_SYS_PTRACE, and with systemd see sampler.conf";
    if (images_were_cut(symbols->images))
        return "of large programs only the largest functions are known, since the tables of all would take more than "
               "the "
               "16 MB that sampling may use";
    return NULL;
}

const char *symbols_reason_kernel(const struct symbols *symbols)
{
    if (images_symboliser_is_unconfined(symbols->images))
        return "the symbols of the kernel are not known, " UNCONFINED;
    if (symbols->kernel_is_closed)
        return "the symbols of the kernel are not known, since /proc/kallsyms cannot be opened; with systemd see "
               "sampler.conf";
    if (symbols->kernel->state == IMAGE_BAD)
        return "the symbols of the kernel are not known, since it hides their addresses from this process "
               "(kernel.kptr_restrict, kernel.perf_event_paranoid); grant CAP_SYSLOG";
    return NULL;
}

pid_t symbols_symboliser_pid(const struct symbols *symbols)
{
    return images_symboliser_pid(symbols->images);
}
