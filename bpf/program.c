/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/program.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/file.h"
#include "base/library.h"
#include "base/util.h"
#include "bpf/offsets.h"
#include "process/child.h"
#include "process/privileges.h"

#define MAP_CONSTANTS "cgroup.rodata" /* struct bpf_constants */
#define MAP_EVENTS "events"
#define MAP_SLOTS "slots"
#define MAP_COUNTS "counts"
#define MAP_RECORDS "records"
#define MAP_CONTROL "control"
#define MAP_WORK "work"
#define MAP_SUCCESSOR "successor"

/* The programs in the object. */
#define PROGRAM_SWITCH "cgroup_switch" /* tp_btf: runs at each task switch */
/*
 * raw_tp: runs when a task is moved to another cgroup. BPF_PROG_TEST_RUN on a CPU, with arguments of 0, makes that CPU
 * look up its running task again.
 */
#define PROGRAM_LOOK "cgroup_look"
/*
 * Never attached: BPF_PROG_TEST_RUN on a CPU stops counting there and runs PROGRAM_LOOK of the object that takes over.
 */
#define PROGRAM_HAND_OVER "cgroup_hand_over"
/* raw_tp: runs when a cgroup is created; only in the object for kernels without BTF. */
#define PROGRAM_MADE "cgroup_made"

/* --- bpf(2) --- */

static __u64 address_of(const void *pointer)
{
    return (__u64)(uintptr_t)pointer;
}

static int bpf_call(enum bpf_cmd command, union bpf_attr *attr, size_t size)
{
    int r = (int)syscall(SYS_bpf, command, attr, size);

    return r < 0 ? -errno : r;
}

int bpf_call_update(int map, const void *key, const void *value)
{
    union bpf_attr attr = {.map_fd = (__u32)map, .key = address_of(key), .value = address_of(value)};

    return bpf_call(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr));
}

int bpf_call_lookup(int map, const void *key, void *ret)
{
    union bpf_attr attr = {.map_fd = (__u32)map, .key = address_of(key), .value = address_of(ret)};

    return bpf_call(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
}

int bpf_call_delete(int map, const void *key)
{
    union bpf_attr attr = {.map_fd = (__u32)map, .key = address_of(key)};

    return bpf_call(BPF_MAP_DELETE_ELEM, &attr, sizeof(attr));
}

/* Afterwards system calls can neither write to the map nor map it writable; BPF programs can still write to it. */
static int bpf_call_freeze(int map)
{
    union bpf_attr attr = {.map_fd = (__u32)map};

    return bpf_call(BPF_MAP_FREEZE, &attr, sizeof(attr));
}

int bpf_call_attach(int program, const char *name)
{
    union bpf_attr attr = {.raw_tracepoint = {.name = address_of(name), .prog_fd = (__u32)program}};

    return bpf_call(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}

/*
 * Runs a raw tracepoint program on `cpu`, or in this process if `cpu` is -1. Returns what the program returns, or
 * -errno.
 */
static int bpf_call_run(int program, int cpu, const __u64 arguments[4])
{
    union bpf_attr attr = {.test = {.prog_fd = (__u32)program,
                                    .ctx_in = address_of(arguments),
                                    .ctx_size_in = 4 * sizeof(arguments[0]),
                                    .flags = cpu < 0 ? 0 : BPF_F_TEST_RUN_ON_CPU,
                                    .cpu = cpu < 0 ? 0 : (__u32)cpu}};
    int r = bpf_call(BPF_PROG_TEST_RUN, &attr, sizeof(attr));

    return r < 0 ? r : (int)attr.test.retval;
}

int bpf_call_run_on(int program, unsigned cpu)
{
    return bpf_call_run(program, (int)cpu, (const __u64[4]){0});
}

/* --- libbpf --- */

static const struct library_function functions[] = {
    {"libbpf_set_print", offsetof(struct libbpf, set_print)},
    {"libbpf_get_error", offsetof(struct libbpf, get_error)},
    {"bpf_object__open_mem", offsetof(struct libbpf, open_mem)},
    {"bpf_object__load", offsetof(struct libbpf, load)},
    {"bpf_object__close", offsetof(struct libbpf, close)},
    {"bpf_object__find_map_by_name", offsetof(struct libbpf, find_map)},
    {"bpf_object__find_program_by_name", offsetof(struct libbpf, find_program)},
    {"bpf_map__set_max_entries", offsetof(struct libbpf, map_set_max_entries)},
    {"bpf_map__set_value_size", offsetof(struct libbpf, map_set_value_size)},
    {"bpf_map__set_initial_value", offsetof(struct libbpf, map_set_initial_value)},
    {"bpf_map__fd", offsetof(struct libbpf, map_fd)},
    {"bpf_program__fd", offsetof(struct libbpf, program_fd)},
};

static const struct library libbpf_library = {
    .name = "libbpf, which loads BPF programs,",
    .package = "libbpf1 (libbpf0 on Debian 11)",
    .files = {"libbpf.so.1", "libbpf.so.0"},
    .functions = functions,
    .n_functions = ARRAY_SIZE(functions),
};

/* Returns -ENOSYS, with a message, if libbpf or one of the functions is missing. */
static int libbpf_load(struct libbpf *ret, struct error *error)
{
    return library_load(&libbpf_library, ret, error);
}

void libbpf_preload(void)
{
    struct libbpf unused;

    (void)libbpf_load(&unused, NULL);
}

/* --- object --- */

/* The objects are compressed in the daemon, because they are needed rarely and only for a moment. */

#include BPF_OBJECT_FILE

DEFINE_CLEANUP(struct libdeflate_decompressor *, libdeflate_free_decompressor);

struct packed_object {
    const unsigned char *bytes;
    size_t n, full_size;
    const char *name; /* libbpf's prefix of the .rodata, .data and .bss map names */
};
#define PACKED(object, name)                                                                                           \
    {                                                                                                                  \
        object, sizeof(object), object##_size, name                                                                    \
    }
static const struct packed_object packed_by_types = PACKED(object_by_types, "cgroup"),
                                  packed_by_offsets = PACKED(object_by_offsets, "cgroup"),
                                  packed_off_cpu = PACKED(object_off_cpu, "offcpu");

/* Unpacks an object; the caller frees *ret. Returns -ENOMEM on failure. */
static int object_unpack(const struct packed_object *packed, void **ret)
{
    _cleanup_(libdeflate_free_decompressorp) struct libdeflate_decompressor *decompressor =
        libdeflate_alloc_decompressor();
    _cleanup_(freep) void *object = malloc(packed->full_size);

    if (!decompressor || !object ||
        libdeflate_gzip_decompress(decompressor, packed->bytes, packed->n, object, packed->full_size, NULL) !=
            LIBDEFLATE_SUCCESS)
        return -ENOMEM;
    *ret = steal(object);
    return 0;
}

/* --- load errors --- */

#define TYPES "/sys/kernel/btf/vmlinux"
/* Approximate memory that libbpf needs for these types, in bytes. */
#define LOADING_BYTES ((size_t)12 << 20)
#define NO_MEMORY_TO_LOAD                                                                                              \
    "the memory limit of this service or container leaves less than it takes to load a BPF program, about 14 MB: "     \
    "raise it (MemoryMax= of the unit)"
#define LOCKDOWN "/sys/kernel/security/lockdown"

static const char *const names[N_KERNEL_PARTS] = {
    [KERNEL_COUNTS] = MAP_COUNTS,     [KERNEL_RECORDS] = MAP_RECORDS, [KERNEL_CONTROL] = MAP_CONTROL,
    [KERNEL_SLOTS] = MAP_SLOTS,       [KERNEL_EVENTS] = MAP_EVENTS,   [KERNEL_SUCCESSOR] = MAP_SUCCESSOR,
    [KERNEL_SWITCH] = PROGRAM_SWITCH, [KERNEL_LOOK] = PROGRAM_LOOK,   [KERNEL_HAND_OVER] = PROGRAM_HAND_OVER,
    [KERNEL_MADE] = PROGRAM_MADE,
};

/*
 * The first warning of libbpf, or the verdict of the kernel's verifier if there is one. Static, because libbpf's print
 * function takes no user data; a process loads only one program.
 */
static char warning[200];

/*
 * Returns the last line of the verifier's log before its statistics, and cuts the log there; NULL if the log has no
 * statistics.
 */
static const char *wanted_find(char *log)
{
    char *end = strstr(log, "\nprocessed ");

    if (!end)
        return NULL;
    *end = '\0';
    const char *line = strrchr(log, '\n');
    return line ? line + 1 : log;
}

static int keep_warning(int level, const char *format, va_list arguments)
{
    _cleanup_(freep) char *text = NULL;

    if (level != 0 || vasprintf(&text, format, arguments) < 0)
        return 0;
    const char *verdict = strstr(text, "BEGIN PROG LOAD LOG") ? wanted_find(text) : NULL;
    const char *from = verdict ? verdict : str_starts(text, "libbpf: ") ? text + strlen("libbpf: ") : text;
    if (verdict || !warning[0])
        snprintf(warning, sizeof(warning), "%.*s", (int)strcspn(from, "\n"), from);
    return 0;
}

static bool is_locked_down(void)
{
    _cleanup_(freep) char *text = NULL;
    size_t size;

    return file_read(AT_FDCWD, LOCKDOWN, 4096, &text, &size) == 0 && strstr(text, "[confidentiality]");
}

static bool has_rights(void)
{
    const uint64_t admin = UINT64_C(1) << CAP_SYS_ADMIN, both = UINT64_C(1) << CAP_BPF | UINT64_C(1) << CAP_PERFMON;
    uint64_t own = capabilities_own();

    return own & admin || (own & both) == both;
}

/* libbpf reads all kernel types. If it runs out of memory for them, it reports that a type was not found (ESRCH). */
static bool is_data_limited(void)
{
    void *volatile room = malloc(LOADING_BYTES); /* volatile: else the compiler would remove this */

    free(room);
    return !room;
}

/*
 * RLIMIT_MEMLOCK limits maps before Linux 5.11. Since then their memory is charged to the cgroup of the process that
 * creates them.
 */
static bool is_memory_limited(void)
{
    struct rlimit limit;
    struct utsname name;
    unsigned major, minor;

    return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && uname(&name) == 0 &&
           sscanf(name.release, "%u.%u", &major, &minor) == 2 && (major < 5 || (major == 5 && minor < 11));
}

/* The warnings of libbpf 0.x and 1.x about BTF that they cannot parse. */
static bool is_library_older(void)
{
    return strstr(warning, "valid kernel BTF") || strstr(warning, "loading vmlinux BTF");
}

static const struct {
    int error;
    bool (*applies)(void); /* NULL: always */
    bool negated;
    int becomes;
    const char *sentence;
} reasons[] = {
    {EPERM, has_rights, true, EPERM,
     "perfcountd is not allowed to load its BPF program: it needs CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN"},
    {EPERM, is_locked_down, false, EPERM,
     "the kernel is locked down (" LOCKDOWN " says confidentiality) and does not let BPF programs read counters"},
    {EPERM, is_memory_limited, false, ENOMEM,
     "the locked-memory limit is too low for a BPF program: raise it (LimitMEMLOCK=infinity of the unit, ulimit -l)"},
    {EPERM, NULL, false, EPERM,
     "a system-call filter (container runtime, SystemCallFilter=), a security module or a container refuses bpf(2)"},
    {ENOMEM, is_data_limited, false, ENOMEM, NO_MEMORY_TO_LOAD},
    {ESRCH, is_data_limited, false, ENOMEM, NO_MEMORY_TO_LOAD},
    {ENOMEM, NULL, false, ENOMEM,
     "the kernel is out of memory for the BPF program: if the program counts cgroups, watch fewer (max_cgroups)"},
    {E2BIG, NULL, false, E2BIG, "the kernel refuses BPF maps of that size: watch fewer cgroups (max_cgroups)"},
    {EMFILE, NULL, false, EMFILE, NO_ROOM_FOR_PROGRAM},
    {ESRCH, is_library_older, false, ENOENT,
     "libbpf does not understand the kernel's type information (" TYPES
     "), because libbpf is older than the kernel: install a newer libbpf"},
    {ENOSYS, NULL, false, EOPNOTSUPP, "the kernel has no bpf(2): build it with CONFIG_BPF_SYSCALL"},
};

static int explain(int error, struct error *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (reasons[i].error == -error && (!reasons[i].applies || reasons[i].applies() != reasons[i].negated))
            return error_set(ret, -reasons[i].becomes, "%s", reasons[i].sentence);
    return error_set(ret, error, "the kernel refuses the BPF program: %s (libbpf: %s)", strerror(-error),
                     warning[0] ? warning : "no warning");
}

/* --- maps and programs --- */

/* Returns the -errno of the libbpf function that has returned `pointer`, or 0 if it has not failed. */
static int pointer_error(const struct libbpf *libbpf, const void *pointer)
{
    int error = errno;
    long r = libbpf->get_error(pointer);

    if (!pointer)
        return error ? -error : -EINVAL;
    return r < 0 ? (int)r : 0;
}

static int object_open(const struct libbpf *libbpf, const struct packed_object *packed, struct bpf_object **ret,
                       struct error *error)
{
    const struct libbpf_options options = {.size = sizeof(options), .object_name = packed->name};
    _cleanup_(freep) void *bytes = NULL;
    int r = object_unpack(packed, &bytes);

    if (r < 0)
        return error_set(error, r, "cannot unpack the BPF program: %s", strerror(-r));
    struct bpf_object *object = libbpf->open_mem(bytes, packed->full_size, &options);
    r = pointer_error(libbpf, object);
    if (r < 0)
        return explain(r, error);
    *ret = object;
    return 0;
}

static int map_resize(const struct libbpf *libbpf, struct bpf_object *object, const char *name, uint32_t n)
{
    struct bpf_map *map = libbpf->find_map(object, name);

    return map ? libbpf->map_set_max_entries(map, n) : -ENOENT;
}

static int object_shape(const struct libbpf *libbpf, struct bpf_object *object, const struct bpf_constants *constants)
{
    const struct bpf_shape *shape = &constants->shape;
    const struct {
        const char *name;
        uint32_t n;
    } sizes[] = {
        {MAP_COUNTS, shape->cpus * shape->slots},  {MAP_RECORDS, shape->cpus}, {MAP_CONTROL, shape->cpus},
        {MAP_EVENTS, shape->cpus * shape->events}, {MAP_WORK, shape->cpus},    {MAP_SLOTS, shape->slots},
    };
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(sizes) && r == 0; i++)
        r = map_resize(libbpf, object, sizes[i].name, sizes[i].n);
    struct bpf_map *map = libbpf->find_map(object, MAP_CONSTANTS);
    if (r == 0)
        r = map ? libbpf->map_set_initial_value(map, constants, sizeof(*constants)) : -ENOENT;
    if (r == 0)
        r = libbpf->map_set_value_size(libbpf->find_map(object, MAP_COUNTS), bpf_words(shape) * sizeof(uint64_t));
    return r;
}

/* The first `n_maps` of the `n` parts are maps, the others programs. Returns -ENOENT if a part is missing. */
static int object_find_parts(const struct libbpf *libbpf, struct bpf_object *object, const char *const *part_names,
                             size_t n_maps, size_t n, int *ret)
{
    for (size_t i = 0; i < n; i++) {
        const struct bpf_map *map = i < n_maps ? libbpf->find_map(object, part_names[i]) : NULL;
        const struct bpf_program *program = map ? NULL : libbpf->find_program(object, part_names[i]);
        ret[i] = map ? libbpf->map_fd(map) : program ? libbpf->program_fd(program) : -ENOENT;
        if (ret[i] < 0)
            return ret[i];
    }
    return 0;
}

/* Returns how many parts there are. */
static int cgroup_find_parts(const struct libbpf *libbpf, struct bpf_object *object, bool by_types,
                             int ret[N_KERNEL_PARTS])
{
    size_t n = by_types ? KERNEL_MADE : N_KERNEL_PARTS;
    int r = object_find_parts(libbpf, object, names, KERNEL_SWITCH, n, ret);

    if (r == 0)
        r = bpf_call_freeze(ret[KERNEL_COUNTS]);
    if (r == 0)
        r = bpf_call_freeze(ret[KERNEL_RECORDS]);
    return r < 0 ? r : (int)n;
}

static int shape_check(const struct bpf_shape *shape, struct error *error)
{
    if (shape->events < 1)
        return error_set(error, -E2BIG, BPF_NO_EVENTS);
    if (shape->events > BPF_EVENTS_MAX || shape->groups < 1 || shape->groups > BPF_GROUPS_MAX)
        return error_set(error, -E2BIG, "the BPF program counts at most %d events in %d groups", BPF_EVENTS_MAX,
                         BPF_GROUPS_MAX);
    if (shape->cpus < 1 || shape->slots <= BPF_SLOT_ROOT || shape->slots > UINT32_MAX / shape->cpus)
        return error_set(error, -E2BIG, "the BPF program cannot count %u slots on %u CPUs", shape->slots, shape->cpus);
    return 0;
}

/* --- offsets, for kernels without BTF --- */

/* Data stored by the program that reads kernel memory. */
struct peeked {
    struct peeked_task task;
    uint64_t words[PEEK_WORDS];
};

struct peeking {
    int map, program;
    const struct peeked *peeked;
};

/*
 * Loads a program that stores the running task, and copies args[1] bytes of kernel memory from args[0], if that is not
 * 0. The program is short enough to be written as instructions here.
 */
static int peek_load(int map)
{
#define INSN(code_, dst_, src_, off_, imm_)                                                                            \
    {                                                                                                                  \
        .code = (code_), .dst_reg = (dst_), .src_reg = (src_), .off = (off_), .imm = (imm_)                            \
    }
#define CALL(function) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define MOVE(to, from) INSN(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
    const struct bpf_insn code[] = {
        MOVE(BPF_REG_6, BPF_REG_1),
        INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0), /* the key: 0 */
        INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
        INSN(0, 0, 0, 0, 0),
        MOVE(BPF_REG_2, BPF_REG_10),
        INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
        CALL(BPF_FUNC_map_lookup_elem),
        INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 13, 0),
        MOVE(BPF_REG_7, BPF_REG_0),
        CALL(BPF_FUNC_get_current_task),
        INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_7, BPF_REG_0, offsetof(struct peeked, task.address), 0),
        CALL(BPF_FUNC_get_current_cgroup_id),
        INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_7, BPF_REG_0, offsetof(struct peeked, task.cgroup), 0),
        INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_3, BPF_REG_6, 0, 0),
        INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_2, BPF_REG_6, 8, 0),
        INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_3, 0, 5, 0),
        INSN(BPF_JMP | BPF_JGT | BPF_K, BPF_REG_2, 0, 4, sizeof(((struct peeked *)0)->words)),
        INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_2, 0, 3, 0),
        MOVE(BPF_REG_1, BPF_REG_7),
        INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, offsetof(struct peeked, words)),
        CALL(BPF_FUNC_probe_read_kernel),
        INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
        INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
#undef INSN
#undef CALL
#undef MOVE
    union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
                           .insns = address_of(code),
                           .insn_cnt = ARRAY_SIZE(code),
                           .license = address_of("GPL")};

    return bpf_call(BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int peek_task(void *userdata, int cpu, struct peeked_task *ret)
{
    const struct peeking *peeking = userdata;
    int r = bpf_call_run(peeking->program, cpu, (const __u64[4]){0});

    if (r == 0)
        memcpy(ret, &peeking->peeked->task, sizeof(*ret));
    return r;
}

static int peek_words(void *userdata, uint64_t address, size_t n, uint64_t *ret)
{
    const struct peeking *peeking = userdata;
    int r = bpf_call_run(peeking->program, -1, (const __u64[4]){address, n * sizeof(*ret)});

    if (r == 0)
        memcpy(ret, peeking->peeked->words, n * sizeof(*ret));
    return r;
}

static int peek_open(struct peeking *ret)
{
    union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY,
                           .key_size = sizeof(uint32_t),
                           .value_size = sizeof(struct peeked),
                           .max_entries = 1,
                           .map_flags = BPF_F_MMAPABLE};

    ret->map = bpf_call(BPF_MAP_CREATE, &attr, sizeof(attr));
    if (ret->map < 0)
        return ret->map;
    void *peeked = mmap(NULL, sizeof(*ret->peeked), PROT_READ, MAP_SHARED, ret->map, 0);
    if (peeked == MAP_FAILED)
        return -errno;
    ret->peeked = peeked;
    ret->program = peek_load(ret->map);
    return MIN(ret->program, 0);
}

/* The descriptors that this function opens are closed when the process exits. */
static int kernel_offsets_find(const struct bpf_shape *shape, struct bpf_offsets *ret, struct error *error)
{
    struct peeking peeking;
    int r = peek_open(&peeking);

    if (r < 0)
        return explain(r, error);
    const struct peek peek = {&peeking, shape->cpus, peek_task, peek_words};
    return offsets_find(&peek, ret, error);
}

/* --- loading --- */

/*
 * Loads the program for `shape`, and freezes `counts` and `records`. The descriptors stay open until this process
 * exits. Returns how many parts there are. Errors and their messages are those of bpf_calls.start().
 */
static int cgroup_load(const struct bpf_shape *shape, int *ret, struct error *error)
{
    struct bpf_constants constants = {.shape = *shape};
    struct libbpf libbpf;
    struct bpf_object *object = NULL;
    bool by_types = access(TYPES, F_OK) == 0;
    int r = shape_check(shape, error);

    if (r == 0 && !has_rights())
        return explain(-EPERM, error);
    if (r == 0 && !by_types)
        r = kernel_offsets_find(shape, &constants.offsets, error);
    if (r == 0)
        r = libbpf_load(&libbpf, error);
    if (r < 0)
        return r;
    libbpf.set_print(keep_warning);
    r = object_open(&libbpf, by_types ? &packed_by_types : &packed_by_offsets, &object, error);
    if (r < 0)
        return r;
    r = object_shape(&libbpf, object, &constants);
    if (r == 0)
        r = libbpf.load(object);
    if (r == 0)
        r = cgroup_find_parts(&libbpf, object, by_types, ret);
    return r < 0 ? explain(r, error) : r;
}

/* Like cgroup_load(), for the program that measures off-CPU time. That program has the same parts on every kernel. */
static int off_cpu_load(const struct off_cpu_shape *shape, int *ret, struct error *error)
{
    static const char *const part_names[N_OFF_CPU_PARTS] = {
        [OFF_CPU_SAMPLES] = "samples",       [OFF_CPU_ALARMS] = "alarms",         [OFF_CPU_TOTALS] = "totals",
        [OFF_CPU_SWITCH] = "off_cpu_switch", [OFF_CPU_WAKEUP] = "off_cpu_wakeup", [OFF_CPU_WORK] = "off_cpu_sample",
    };
    const struct off_cpu_constants constants = {.threshold_ns = shape->threshold_ns};
    struct libbpf libbpf;
    struct bpf_object *object = NULL;
    int r = has_rights() ? libbpf_load(&libbpf, error) : explain(-EPERM, error);

    if (r < 0)
        return r;
    libbpf.set_print(keep_warning);
    r = object_open(&libbpf, &packed_off_cpu, &object, error);
    if (r < 0)
        return r;
    struct bpf_map *map = libbpf.find_map(object, "offcpu.rodata");
    r = map ? libbpf.map_set_initial_value(map, &constants, sizeof(constants)) : -ENOENT;
    if (r == 0)
        r = map_resize(&libbpf, object, "samples", shape->cpus);
    if (r == 0)
        r = map_resize(&libbpf, object, "alarms", shape->cpus);
    if (r == 0)
        r = libbpf.load(object);
    if (r == 0)
        r = object_find_parts(&libbpf, object, part_names, OFF_CPU_SWITCH, N_OFF_CPU_PARTS, ret);
    return r < 0 ? explain(r, error) : N_OFF_CPU_PARTS;
}

/* --- loading child --- */

struct load {
    const struct bpf_shape *shape; /* NULL: `off_cpu` describes the program to load */
    const struct off_cpu_shape *off_cpu;
    const struct memory_limit *memory;
};

/*
 * Before Linux 5.11 maps and programs count as locked memory of the real user. If the opener runs as root, its real
 * user is that of the daemon (process/privileges.h), which needs this memory for ring buffers.
 */
static void raise_memory_limit(void)
{
    (void)!setresuid(0, (uid_t)-1, (uid_t)-1);
    (void)!setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
}

static int load_begin(void *userdata, int socket, struct child_hello *ret, struct error *error)
{
    const struct load *load = userdata;

    (void)socket;
    raise_memory_limit();
    if (load->memory)
        memory_limit_apply(load->memory);
    int r =
        load->shape ? cgroup_load(load->shape, ret->fds.fds, error) : off_cpu_load(load->off_cpu, ret->fds.fds, error);
    if (r < 0)
        return r;
    ret->fds.n = (size_t)r;
    return 0;
}

static int run_load(const struct load *load, int *ret, struct error *error)
{
    struct load own = *load;
    const struct child_plan plan = {
        .name = "perfcountd-load",
        .failure = "the BPF program was not loaded",
        .remedy = "",
        .patience_s = BPF_START_MAX_S,
        .userdata = &own,
        .begin = load_begin,
    };
    struct child_hello hello;
    struct child child;
    _cleanup_(closep) int socket = -1;

    int r = child_start(&plan, &child, &socket, &hello, error);
    if (r == 0)
        memcpy(ret, hello.fds.fds, sizeof(*ret) * hello.fds.n);
    return r == 0 ? (int)hello.fds.n : r == -EMFILE ? error_set(error, r, NO_ROOM_FOR_PROGRAM) : r;
}

int load_process_run(const struct bpf_shape *shape, const struct memory_limit *memory, int ret[N_KERNEL_PARTS],
                     struct error *error)
{
    return run_load(&(struct load){.shape = shape, .memory = memory}, ret, error);
}

int load_process_run_off_cpu(const struct off_cpu_shape *shape, const struct memory_limit *memory,
                             int ret[N_OFF_CPU_PARTS], struct error *error)
{
    return MIN(run_load(&(struct load){.off_cpu = shape, .memory = memory}, ret, error), 0);
}
