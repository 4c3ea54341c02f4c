/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the program by libbpf: see kernel-program.h. */
#include "bpf/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "bpf/bpf-call.h"
#include "bpf/libbpf-api.h"
#include "bpf/object.h"
#include "process/privileges.h"

#define TYPES "/sys/kernel/btf/vmlinux"
/* libbpf takes about that much for them. */
#define LOADING_BYTES ((size_t)12 << 20)
#define NO_MEMORY_TO_LOAD                                                                                              \
    "the memory limit of this service or container leaves less than it takes to load the program that counts "         \
    "cgroups, about 14 MB: raise it (MemoryMax= of the unit)"
#define LOCKDOWN "/sys/kernel/security/lockdown"

static const char *const names[N_KERNEL_PARTS] = {
    [KERNEL_COUNTS] = TALLY_MAP_COUNTS, [KERNEL_RECORDS] = TALLY_MAP_RECORDS, [KERNEL_CONTROL] = TALLY_MAP_CONTROL,
    [KERNEL_SLOTS] = TALLY_MAP_SLOTS,   [KERNEL_EVENTS] = TALLY_MAP_EVENTS,   [KERNEL_SWITCH] = TALLY_PROGRAM_SWITCH,
    [KERNEL_LOOK] = TALLY_PROGRAM_LOOK,
};

/* Why it fails */

/*
 * The first warning of libbpf, or better the verdict of the kernel's verifier. The print function has no argument of
 * the caller's, and a process loads one program.
 */
static char warning[200];

/* The last line of the verifier's log before its statistics. */
static const char *verdict_find(char *log)
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
    const char *verdict = strstr(text, "BEGIN PROG LOAD LOG") ? verdict_find(text) : NULL;
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

/* libbpf reads all of the kernel's types; without memory for them it misses one (ESRCH). */
static bool is_data_limited(void)
{
    void *volatile room = malloc(LOADING_BYTES); /* else the compiler leaves it out */

    free(room);
    return !room;
}

/* Since Linux 5.11 the memory of maps belongs to the cgroup of the process that makes them. */
static bool is_memory_limited(void)
{
    struct rlimit limit;
    struct utsname name;
    unsigned major, minor;

    return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && uname(&name) == 0 &&
           sscanf(name.release, "%u.%u", &major, &minor) == 2 && (major < 5 || (major == 5 && minor < 11));
}

/* As libbpf 0.x says it, and 1.x. */
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
     "perfcountd may not load the program that counts cgroups: it takes CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN"},
    {EPERM, is_locked_down, false, EPERM,
     "the kernel is locked down (" LOCKDOWN " says confidentiality) and lets no program read counters"},
    {EPERM, is_memory_limited, false, ENOMEM,
     "the limit of locked memory is too low for the program that counts cgroups: raise it (LimitMEMLOCK=infinity of "
     "the unit, ulimit -l)"},
    {EPERM, NULL, false, EPERM,
     "a system-call filter (container runtime, SystemCallFilter=), a security module or a container refuses bpf(2)"},
    {ENOMEM, is_data_limited, false, ENOMEM, NO_MEMORY_TO_LOAD},
    {ESRCH, is_data_limited, false, ENOMEM, NO_MEMORY_TO_LOAD},
    {ENOMEM, NULL, false, ENOMEM,
     "the kernel has no memory for the program that counts cgroups: watch fewer of them (max_cgroups)"},
    {E2BIG, NULL, false, E2BIG, "the kernel takes no maps of that size: watch fewer cgroups (max_cgroups)"},
    {EMFILE, NULL, false, EMFILE, NO_ROOM_FOR_PROGRAM},
    {ESRCH, is_library_older, false, ENOENT,
     "libbpf does not understand how the kernel describes its types (" TYPES "), since it is older than the kernel: "
     "install a newer libbpf"},
    {ENOSYS, NULL, false, EOPNOTSUPP, "the kernel has no bpf(2): build it with CONFIG_BPF_SYSCALL"},
};

static int explain(int error, struct error *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (reasons[i].error == -error && (!reasons[i].applies || reasons[i].applies() != reasons[i].negated))
            return error_set(ret, -reasons[i].becomes, "%s", reasons[i].sentence);
    return error_set(ret, error, "the kernel does not take the program that counts cgroups: %s (libbpf: %s)",
                     strerror(-error), warning[0] ? warning : "no warning");
}

/* The object */

/* 0, or -errno of a function that returns a pointer. */
static int pointer_error(const struct libbpf *libbpf, const void *pointer)
{
    int error = errno;
    long r = libbpf->get_error(pointer);

    if (!pointer)
        return error ? -error : -EINVAL;
    return r < 0 ? (int)r : 0;
}

static int object_open(const struct libbpf *libbpf, struct bpf_object **ret, struct error *error)
{
    const struct libbpf_options options = {.size = sizeof(options), .object_name = TALLY_OBJECT_NAME};
    _cleanup_(freep) void *bytes = NULL;
    size_t size;
    int r = tally_object_make(&bytes, &size);

    if (r < 0)
        return error_set(error, r, "cannot unpack the program that counts cgroups: %s", strerror(-r));
    struct bpf_object *object = libbpf->open_mem(bytes, size, &options);
    r = pointer_error(libbpf, object);
    if (r < 0)
        return explain(r, error);
    *ret = object;
    return 0;
}

/* An absent map fails later, with libbpf's own error. */
static int map_resize(const struct libbpf *libbpf, struct bpf_object *object, const char *name, uint32_t n)
{
    struct bpf_map *map = libbpf->find_map(object, name);

    return map ? libbpf->map_set_max_entries(map, n) : -ENOENT;
}

static int object_shape(const struct libbpf *libbpf, struct bpf_object *object, const struct tally_shape *shape)
{
    const struct {
        const char *name;
        uint32_t n;
    } sizes[] = {
        {TALLY_MAP_COUNTS, shape->cpus * shape->slots},
        {TALLY_MAP_RECORDS, shape->cpus},
        {TALLY_MAP_CONTROL, shape->cpus},
        {TALLY_MAP_EVENTS, shape->cpus * shape->events},
        {TALLY_MAP_WORK, shape->cpus},
        {TALLY_MAP_SLOTS, shape->slots},
    };
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(sizes) && r == 0; i++)
        r = map_resize(libbpf, object, sizes[i].name, sizes[i].n);
    struct bpf_map *constants = libbpf->find_map(object, TALLY_MAP_SHAPE);
    if (r == 0)
        r = constants ? libbpf->map_set_initial_value(constants, shape, sizeof(*shape)) : -ENOENT;
    if (r == 0)
        r = libbpf->map_set_value_size(libbpf->find_map(object, TALLY_MAP_COUNTS),
                                       tally_words(shape) * sizeof(uint64_t));
    return r;
}

static int object_find_parts(const struct libbpf *libbpf, struct bpf_object *object, int ret[N_KERNEL_PARTS])
{
    for (size_t i = 0; i < N_KERNEL_PARTS; i++) {
        const struct bpf_map *map = i < KERNEL_SWITCH ? libbpf->find_map(object, names[i]) : NULL;
        const struct bpf_program *program = map ? NULL : libbpf->find_program(object, names[i]);
        ret[i] = map ? libbpf->map_fd(map) : program ? libbpf->program_fd(program) : -ENOENT;
        if (ret[i] < 0)
            return ret[i];
    }
    int r = bpf_call_freeze(ret[KERNEL_COUNTS]);
    return r < 0 ? r : bpf_call_freeze(ret[KERNEL_RECORDS]);
}

static int shape_check(const struct tally_shape *shape, struct error *error)
{
    if (shape->events < 1 || shape->events > TALLY_EVENTS_MAX || shape->groups < 1 || shape->groups > TALLY_GROUPS_MAX)
        return error_set(error, -E2BIG, "the program counts at most %d events in %d groups", TALLY_EVENTS_MAX,
                         TALLY_GROUPS_MAX);
    if (shape->cpus < 1 || shape->slots <= TALLY_SLOT_ROOT || shape->slots > UINT32_MAX / shape->cpus)
        return error_set(error, -E2BIG, "the program cannot count %u slots on %u CPUs", shape->slots, shape->cpus);
    return 0;
}

int kernel_program_load(const struct tally_shape *shape, int ret[N_KERNEL_PARTS], struct error *error)
{
    struct libbpf libbpf;
    struct bpf_object *object = NULL;
    int r = shape_check(shape, error);

    if (r == 0 && !has_rights())
        return explain(-EPERM, error);
    if (r == 0 && access(TYPES, F_OK) < 0)
        return error_set(error, -ENOENT,
                         "the kernel does not describe its types (" TYPES
                         "), which the program that counts cgroups needs: build it with CONFIG_DEBUG_INFO_BTF");
    if (r == 0)
        r = libbpf_load(&libbpf, error);
    if (r < 0)
        return r;
    libbpf.set_print(keep_warning);
    r = object_open(&libbpf, &object, error);
    if (r < 0)
        return r;
    r = object_shape(&libbpf, object, shape);
    if (r == 0)
        r = libbpf.load(object);
    if (r == 0)
        r = object_find_parts(&libbpf, object, ret);
    return r < 0 ? explain(r, error) : 0;
}
