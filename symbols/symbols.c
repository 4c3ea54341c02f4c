/* SPDX-License-Identifier: Apache-2.0 */
/* From addresses to symbols: see symbols.h. */
#include "symbols/symbols.h"

#include "base/cleanup.h"
#include "symbols/build-id.h"
#include "symbols/elf.h"
#include "symbols/ksymbols.h"
#include "symbols/vdso.h"
#include "symbols/waiters.h"

#define KERNEL "[kernel.kallsyms]"
#define VDSO "[vdso]"

/* The last answers, since callers ask for the same few thousand addresses over and over. */
#define ANSWERS 4096
struct answer {
    const struct symbol_table *table;
    uint64_t generation; /* of the images; it changes when a table goes */
    uint64_t address, offset;
    const char *symbol;
};

struct symbols {
    struct sys *sys;
    struct images *images;
    struct processes *processes;
    struct ksymbols ksymbols;
    struct image *kernel, *vdso;
    bool kernel_is_closed; /* /proc/kallsyms cannot be opened */
    struct mapping kernel_mapping;
    struct waiters waiters;
    struct answer answers[ANSWERS];
};

/* Tables */

static void symbols_load_kernel(struct symbols *symbols)
{
    struct sys *sys = symbols->sys;

    if (!image_needs_load(symbols->kernel))
        return;
    int fd = sys->open_file(sys, "/proc/kallsyms", 0);
    symbols->kernel_is_closed = fd < 0;
    image_load(symbols->kernel, &(struct symboliser_file){.kind = SYMBOLISER_KALLSYMS, .fd = fd});
}

static void symbols_load_vdso(struct symbols *symbols)
{
    if (!image_needs_load(symbols->vdso))
        return;
    image_load(symbols->vdso, &(struct symboliser_file){.kind = SYMBOLISER_ELF, .fd = vdso_open()});
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
        /* Nothing else says whether the file at the path is the one that was mapped. */
        .path = mapping->inode || mapping->build_id_size ? mapping->file : NULL,
    };

    if (image_needs_load(mapping->image))
        image_load(mapping->image, &file);
}

/* The list of the process that made the functions: a child that was forked has those of its parent. */
static void symbols_load_jit(struct image *image)
{
    const struct symboliser_file file = {
        .kind = SYMBOLISER_JIT,
        .find = FIND_JIT_MAP,
        .fd = -1,
        .pid = image->jit_pid,
        .seen_inode = image->state == IMAGE_READY ? image->seen_inode : 0,
        .seen_size = image->state == IMAGE_READY ? image->seen_size : 0,
    };

    if (image_needs_load(image))
        image_load(image, &file);
}

/* After a scan, the tables that every caller needs are those of the kernel and the vdso. */
static bool tables_are_ready(void *userdata, bool after_scan)
{
    const struct symbols *symbols = userdata;

    if (after_scan)
        return symbols->kernel->state != IMAGE_PENDING && symbols->vdso->state != IMAGE_PENDING;
    return !images_pending(symbols->images);
}

static void symbols_on_loaded(void *userdata)
{
    struct symbols *symbols = userdata;

    waiters_wake(&symbols->waiters);
}

/* The beginning and the end */

static int symbols_init(struct symbols *symbols, sd_event *event)
{
    const struct image_key kernel = {.file = KERNEL}, vdso = {.file = VDSO};

    int r = images_new(symbols->sys, event, &symbols->images);
    if (r == 0)
        r = processes_new(symbols->images, &symbols->processes);
    if (r < 0)
        return r;
    symbols->kernel = image_get(symbols->images, &kernel);
    symbols->vdso = image_get(symbols->images, &vdso);
    if (!symbols->kernel || !symbols->vdso)
        return -ENOMEM;
    symbols->kernel->pinned = true;
    symbols->waiters.tables_are_ready = tables_are_ready;
    symbols->waiters.userdata = symbols;
    r = waiters_init(&symbols->waiters, event);
    images_when_loaded(symbols->images, symbols_on_loaded, symbols);
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
        .number = image_number(symbols->kernel, 0),
        .image = symbols->kernel,
    };
    *ret = symbols;
    return 0;
}

struct symbols *symbols_free(struct symbols *symbols)
{
    if (!symbols)
        return NULL;
    waiters_done(&symbols->waiters);
    if (symbols->images)
        images_when_loaded(symbols->images, NULL, NULL);
    processes_free(symbols->processes);
    image_unref(symbols->kernel);
    image_unref(symbols->vdso);
    images_free(symbols->images);
    ksymbols_done(&symbols->ksymbols);
    free(symbols);
    return NULL;
}

/* Processes */

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
                                          .symboliser = images_symboliser(symbols->images),
                                          .answered = symbols_on_loaded,
                                          .userdata = symbols};
    struct proc_scan *scan;

    int r = proc_scan_new(&place, pid, &scan);
    if (r < 0)
        return r;
    symbols_load_kernel(symbols);
    symbols_load_vdso(symbols); /* it also shows whether libdw is there */
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

const char *symbols_comm(struct symbols *symbols, uint32_t pid, uint32_t tid)
{
    if (pid == 0)
        return "swapper"; /* perf's name for the idle task, which /proc does not have */
    const struct process *process = processes_find(symbols->processes, pid);
    return process ? process_comm(process, tid) : "";
}

/* Addresses */

static const char *find_symbol(struct symbols *symbols, const struct symbol_table *table, uint64_t address,
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
    frame->symbol = ksymbols_find(&symbols->ksymbols, ip, &frame->offset);
    if (frame->symbol)
        return;
    const struct symbol_table *table = image_table(symbols->kernel);
    if (table) {
        frame->symbol = find_symbol(symbols, table, ip, &frame->offset);
        return;
    }
    symbols_load_kernel(symbols);
    frame->awaited = image_is_awaited(symbols->kernel);
}

/* NULL if the table is not there (yet). */
static const struct symbol_table *table_of(struct symbols *symbols, uint32_t pid, const struct mapping *mapping,
                                           bool *ret_awaited)
{
    bool is_vdso = mapping->file[0] == '[' && str_equal(mapping->file, VDSO);

    const struct symbol_table *table = image_table(is_vdso ? symbols->vdso : mapping->image);
    if (table)
        return table;
    if (is_vdso)
        symbols_load_vdso(symbols);
    else if (mapping->file[0] == '/' && mapping->file[1] != '/')
        symbols_load_file(pid, mapping);
    else
        return NULL;
    *ret_awaited = image_is_awaited(is_vdso ? symbols->vdso : mapping->image);
    return NULL;
}

/* The list has addresses of the process, not of a file. */
static void resolve_jit(struct symbols *symbols, struct image *image, uint64_t ip, struct frame *frame)
{
    symbols_load_jit(image);
    const struct symbol_table *table = image_table(image);
    if (table)
        frame->symbol = find_symbol(symbols, table, ip, &frame->offset);
}

static void resolve_mapping(struct symbols *symbols, uint32_t pid, struct mapping *mapping, uint64_t ip,
                            struct frame *frame)
{
    uint64_t address;

    frame->mapping = mapping;
    if (mapping->image->jit_pid) {
        resolve_jit(symbols, mapping->image, ip, frame);
        return;
    }
    const struct symbol_table *table = table_of(symbols, pid, mapping, &frame->awaited);
    mapping->build_id_size = mapping->image->build_id_size; /* the table may have had it */
    if (table && symbol_table_address(table, ip - mapping->start + mapping->offset, &address))
        frame->symbol = find_symbol(symbols, table, address, &frame->offset);
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
    image_ref(frame->mapping->image);
    *ret = (struct symbols_kept){.mapping = *frame->mapping, .pid = pid, .kernel = frame->kernel};
}

void symbols_release(struct symbols_kept *kept)
{
    kept->mapping.image = image_unref(kept->mapping.image);
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

/* Memory and reasons */

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
    if (symbols->waiters.denied)
        return "the names and mappings of some programs that were running before are not known, since /proc hides them "
               "from perfcountd; run it with sudo, or grant CAP_SYS_PTRACE; with systemd see sampler.conf";
    if (images_have_hung(symbols->images))
        return "the symbols of some users' programs are not known: a file of theirs did not answer, and perfcountd "
               "leaves "
               "their files alone for an hour";
    if (symbols->waiters.failed || images_have_failed(symbols->images))
        return "the symbols of some programs are not known: memory or open files were short, and they are tried again; "
               "or the process that reads them ended over a file";
    if (images_were_cut(symbols->images))
        return "of large programs only the largest functions are known, since all of their symbols would need more "
               "memory than perfcountd may use for them";
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
               "(kernel.kptr_restrict, kernel.perf_event_paranoid); run it with sudo, or grant CAP_SYSLOG";
    return NULL;
}

void symbols_set_child(struct symbols *symbols, struct child *child)
{
    images_set_child(symbols->images, child);
}
