/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/loader.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "bpf/program.h"
#include "perf/sys.h"

#define FLUSH_TRIES 100
#define OFF_CPU_TRACEPOINTS 3

struct loaded_program {
    struct sys *sys;
    struct bpf_shape shape;
    int parts[N_KERNEL_PARTS];
    size_t n_parts;
    int on_switch, on_attach, on_made; /* descriptors that keep the programs attached; -1: detached */
    uint32_t epoch;                    /* the last epoch that was given to any CPU */
    struct bpf_event *events;          /* shape.events elements for each CPU, as last set by set_cpu() */
    uint64_t *ids;                     /* indexed by slot: id of the cgroup that has the slot; 0: none */
};

struct off_cpu_program {
    bool used;
    uint32_t cpus;
    int parts[N_OFF_CPU_PARTS];
    int on[OFF_CPU_TRACEPOINTS]; /* descriptors that keep the programs attached */
};

struct bpf_loader {
    struct sys *sys;
    struct loaded_program *counting; /* the attached program; NULL: none was attached yet */
    struct loaded_program *started;  /* loaded by start(); replaces `counting` when it is attached; NULL: none */
    struct off_cpu_program off_cpu[OFF_CPU_PROGRAMS_MAX];
};

static struct loaded_program *last_started(const struct bpf_loader *loader)
{
    return loader->started ? loader->started : loader->counting;
}

/* --- one program --- */

/* The descriptors were counted by descriptors_keep(), so sys_close() must close them. */
static void loaded_close(const struct loaded_program *loaded, int *fd)
{
    if (*fd >= 0)
        sys_close(loaded->sys, steal_fd(fd));
}

static void loaded_detach(struct loaded_program *loaded)
{
    loaded_close(loaded, &loaded->on_switch);
    loaded_close(loaded, &loaded->on_attach);
    loaded_close(loaded, &loaded->on_made);
}

static struct loaded_program *loaded_free(struct loaded_program *loaded)
{
    if (!loaded)
        return NULL;
    loaded_detach(loaded);
    for (size_t i = 0; i < N_KERNEL_PARTS; i++)
        loaded_close(loaded, &loaded->parts[i]);
    free(loaded->events);
    free(loaded->ids);
    free(loaded);
    return NULL;
}
DEFINE_CLEANUP(struct loaded_program *, loaded_free);

/*
 * Runs a program on a CPU; an offline CPU is skipped. The program returns 1 if it interrupted another run of itself
 * between two stores, and is then run again.
 */
static int loaded_run_on(const struct loaded_program *loaded, enum kernel_part program, unsigned cpu)
{
    int r = 0;

    for (int tries = 0; tries < FLUSH_TRIES && loaded->on_switch >= 0; tries++) {
        r = bpf_call_run_on(loaded->parts[program], cpu);
        if (r <= 0)
            break;
    }
    return r == -ENXIO ? 0 : r > 0 ? -EBUSY : r;
}

static int loaded_flush_cpu(const struct loaded_program *loaded, unsigned cpu)
{
    return loaded_run_on(loaded, KERNEL_LOOK, cpu);
}

static int loaded_flush(const struct loaded_program *loaded)
{
    for (unsigned cpu = 0; cpu < loaded->shape.cpus; cpu++) {
        int r = loaded_flush_cpu(loaded, cpu);
        if (r < 0)
            return r;
    }
    return 0;
}

static int attach_program(const struct loaded_program *loaded, enum kernel_part program, const char *name, int *ret)
{
    int fd = *ret = bpf_call_attach(loaded->parts[program], name);

    return fd < 0 ? fd : descriptors_keep(loaded->sys, ret, 1);
}

/* Attaches the program. Nothing is counted on a CPU until KERNEL_LOOK has run there once. */
static int loaded_attach(struct loaded_program *loaded)
{
    bool by_offsets = loaded->n_parts > KERNEL_MADE;
    int r = attach_program(loaded, KERNEL_LOOK, "cgroup_attach_task", &loaded->on_attach);

    if (r == 0 && by_offsets)
        r = attach_program(loaded, KERNEL_MADE, "cgroup_mkdir", &loaded->on_made);
    if (r == 0)
        r = attach_program(loaded, KERNEL_SWITCH, by_offsets ? "sched_switch" : NULL, &loaded->on_switch);
    if (r < 0)
        loaded_detach(loaded);
    return r;
}

static int loaded_begin(struct loaded_program *loaded)
{
    bool attached = loaded->on_switch >= 0;
    int r = attached ? 0 : loaded_attach(loaded);

    if (r == 0)
        r = loaded_flush(loaded);
    if (r < 0 && !attached)
        loaded_detach(loaded);
    return r;
}

/* --- events --- */

/* Writes the plan of a CPU, with a new epoch. If `events` is NULL, nothing is counted. */
static int control_set(struct loaded_program *loaded, uint32_t cpu, const struct bpf_event *events)
{
    struct bpf_control control = {.epoch = ++loaded->epoch};

    bpf_control_plan(&control, cpu, events, events ? loaded->shape.events : 0);
    return bpf_call_update(loaded->parts[KERNEL_CONTROL], &cpu, &control);
}

static int event_set(const struct loaded_program *loaded, uint32_t cpu, uint32_t event, int fd)
{
    uint32_t index = cpu * loaded->shape.events + event;
    int r = fd < 0 ? bpf_call_delete(loaded->parts[KERNEL_EVENTS], &index)
                   : bpf_call_update(loaded->parts[KERNEL_EVENTS], &index, &fd);

    return fd < 0 && r == -ENOENT ? 0 : r;
}

static struct bpf_event *events_of(const struct loaded_program *loaded, unsigned cpu)
{
    return &loaded->events[(size_t)cpu * loaded->shape.events];
}

/* Attributes the CPU's counts up to now to the running slot, and stops counting there. */
static int loaded_end_cpu(struct loaded_program *loaded, unsigned cpu)
{
    int r = loaded_flush_cpu(loaded, cpu);

    if (r == 0)
        r = control_set(loaded, cpu, NULL);
    return r < 0 ? r : loaded_flush_cpu(loaded, cpu);
}

/* A CPU has no events while its events are replaced, so that no interval mixes old and new ones. */
static int loaded_set_cpu(struct loaded_program *loaded, unsigned cpu, const struct bpf_event *events, const int *fds)
{
    int r = loaded_end_cpu(loaded, cpu);

    for (uint32_t i = 0; i < loaded->shape.events && r == 0; i++)
        r = event_set(loaded, cpu, i, events[i].source == SOURCE_READ ? fds[i] : -1);
    if (r < 0)
        return r;
    memcpy(events_of(loaded, cpu), events, loaded->shape.events * sizeof(*events));
    return control_set(loaded, cpu, events);
}

/*
 * To attach a program, the kernel changes its code and waits for its CPUs (RCU), which takes seconds on a loaded board.
 * So the old program counts until the new one is attached. Then the old program hands over CPU by CPU, each in one
 * interrupt on that CPU.
 */
static int loaded_replace(struct loaded_program *loaded, const struct loaded_program *old)
{
    const uint32_t key = 0;
    int r = loaded_attach(loaded);

    if (r == 0)
        r = bpf_call_update(old->parts[KERNEL_SUCCESSOR], &key, &loaded->parts[KERNEL_LOOK]);
    for (unsigned cpu = 0; cpu < loaded->shape.cpus && r == 0; cpu++)
        r = loaded_run_on(old, KERNEL_HAND_OVER, cpu);
    if (r < 0)
        loaded_detach(loaded);
    return r;
}

/* --- slots --- */

/* Forgets the slot of the cgroup. A cgroup has at most one slot, because its id is the key of the map. */
static void loaded_forget(struct loaded_program *loaded, uint64_t id)
{
    for (uint32_t slot = 0; slot < loaded->shape.slots; slot++)
        if (loaded->ids[slot] == id)
            loaded->ids[slot] = 0;
}

static int loaded_assign(struct loaded_program *loaded, uint64_t id, uint32_t slot)
{
    int r = bpf_call_update(loaded->parts[KERNEL_SLOTS], &id, &slot);

    if (r < 0)
        return r;
    loaded_forget(loaded, id);
    loaded->ids[slot] = id;
    return 0;
}

static int loaded_withdraw(struct loaded_program *loaded, uint64_t id)
{
    loaded_forget(loaded, id);
    return bpf_call_delete(loaded->parts[KERNEL_SLOTS], &id);
}

/* Gives each cgroup the slot that it has in `old`. */
static int loaded_copy_slots(struct loaded_program *loaded, const struct loaded_program *old)
{
    int r = 0;

    for (uint32_t slot = 0; slot < MIN(loaded->shape.slots, old->shape.slots) && r == 0; slot++)
        if ((loaded->ids[slot] = old->ids[slot]))
            r = bpf_call_update(loaded->parts[KERNEL_SLOTS], &loaded->ids[slot], &slot);
    return r;
}

/* --- calls --- */

static int loaded_load(struct loaded_program *loaded, struct error *error)
{
    int r = load_process_run(&loaded->shape, loaded->sys->memory, loaded->parts, error);

    if (r < 0)
        return r;
    loaded->n_parts = (size_t)r;
    r = descriptors_keep(loaded->sys, loaded->parts, loaded->n_parts);
    return r == -EMFILE ? error_set(error, r, NO_ROOM_FOR_PROGRAM) : r < 0 ? error_oom(error) : 0;
}

static int loader_start(void *owner, const struct bpf_shape *shape, struct bpf_maps *ret, struct error *error)
{
    struct bpf_loader *loader = owner;
    _cleanup_(loaded_freep) struct loaded_program *loaded = malloc(sizeof(*loaded));

    if (!loaded)
        return error_oom(error);
    *loaded = (struct loaded_program){
        .sys = loader->sys,
        .shape = *shape,
        .on_switch = -1,
        .on_attach = -1,
        .on_made = -1,
        .events = calloc((size_t)shape->cpus * shape->events, sizeof(loaded->events[0])),
        .ids = calloc(shape->slots, sizeof(loaded->ids[0])),
    };
    memset(loaded->parts, -1, sizeof(loaded->parts));
    if (!loaded->events || !loaded->ids)
        return error_oom(error);
    int r = loaded_load(loaded, error);
    if (r < 0)
        return r;
    r = loader->counting ? loaded_copy_slots(loaded, loader->counting) : 0;
    if (r < 0)
        return error_set(error, r, "cannot pass the cgroups to the BPF program: %s", strerror(-r));
    _cleanup_(closep) int counts = fcntl(loaded->parts[KERNEL_COUNTS], F_DUPFD_CLOEXEC, 0);
    _cleanup_(closep) int records = fcntl(loaded->parts[KERNEL_RECORDS], F_DUPFD_CLOEXEC, 0);
    if (counts < 0 || records < 0)
        return error_set(error, -errno, "cannot duplicate a descriptor: %s", strerror(errno));
    *ret = (struct bpf_maps){.counts = steal_fd(&counts), .records = steal_fd(&records)};
    loaded_free(loader->started);
    loader->started = steal(loaded);
    return 0;
}

static int loader_set_cpu(void *owner, unsigned cpu, const struct bpf_event *events, const int *fds)
{
    struct loaded_program *loaded = last_started(owner);

    return !loaded || cpu >= loaded->shape.cpus ? -EINVAL : loaded_set_cpu(loaded, cpu, events, fds);
}

/*
 * The flush attributes the counts of the running slots up to now, because after the next attach() it is unknown what
 * ran before.
 */
static int loader_detach(struct bpf_loader *loader)
{
    int r = loader->counting ? loaded_flush(loader->counting) : 0;

    if (loader->counting)
        loaded_detach(loader->counting);
    return r;
}

static int loader_attach(void *owner, bool attached)
{
    struct bpf_loader *loader = owner;
    struct loaded_program *loaded = last_started(owner);

    if (!loaded)
        return -EINVAL;
    if (!attached)
        return loader_detach(loader);
    bool is_paused = !loader->counting || loader->counting->on_switch < 0;
    int r = loader->started && !is_paused ? loaded_replace(loaded, loader->counting) : loaded_begin(loaded);
    if (r == 0 && loader->started) {
        loaded_free(loader->counting);
        loader->counting = steal(loader->started);
    }
    return r;
}

/* The id of a cgroup is the file handle of its directory (fs/kernfs/mount.c), 64 bits on every architecture. */
static int cgroup_find_id(int fd, uint64_t *ret)
{
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + sizeof(*ret)];
    } of = {.handle = {.handle_bytes = sizeof(*ret)}};
    struct statfs status;
    int mount;

    if (fstatfs(fd, &status) < 0)
        return -errno;
    if ((unsigned long)status.f_type != CGROUP2_SUPER_MAGIC)
        return -EOPNOTSUPP;
    if (name_to_handle_at(fd, "", &of.handle, &mount, AT_EMPTY_PATH) < 0)
        return -errno;
    if (of.handle.handle_bytes != sizeof(*ret))
        return -EOPNOTSUPP;
    memcpy(ret, of.handle.f_handle, sizeof(*ret));
    return 0;
}

static int loader_assign(void *owner, int cgroup_fd, uint32_t slot, uint64_t *ret_id)
{
    struct loaded_program *loaded = last_started(owner);
    uint64_t id = 0;

    if (!loaded || slot == BPF_SLOT_UNKNOWN || slot >= loaded->shape.slots)
        return -EINVAL;
    int r = cgroup_find_id(cgroup_fd, &id);
    if (r == 0)
        r = loaded_assign(loaded, id, slot);
    if (r == 0)
        *ret_id = id;
    return r;
}

static int loader_withdraw(void *owner, uint64_t id)
{
    struct loaded_program *loaded = last_started(owner);

    return loaded ? loaded_withdraw(loaded, id) : -ENOENT;
}

static int loader_flush(void *owner)
{
    const struct bpf_loader *loader = owner;

    if (loader->counting)
        return loaded_flush(loader->counting);
    return loader->started ? 0 : -EINVAL;
}

static void loader_stop(void *owner)
{
    struct bpf_loader *loader = owner;

    loader->started = loaded_free(loader->started);
    loader->counting = loaded_free(loader->counting);
}

/* --- off-CPU time --- */

static void off_cpu_free(const struct bpf_loader *loader, struct off_cpu_program *program)
{
    if (!program->used)
        return;
    for (size_t i = 0; i < OFF_CPU_TRACEPOINTS; i++)
        if (program->on[i] >= 0)
            sys_close(loader->sys, program->on[i]);
    for (size_t i = 0; i < N_OFF_CPU_PARTS; i++)
        if (program->parts[i] >= 0)
            sys_close(loader->sys, program->parts[i]);
    program->used = false;
}

static int tracepoint_find(struct sys *sys, const char *name, uint64_t *ret)
{
    static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    int r = -ENOENT;

    for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
        _cleanup_(freep) char *text = NULL;
        int read = sys_read_filef(sys, &text, "%s/events/%s/id", roots[i], name);
        if (read == 0)
            return number_parse_u64(text, ret);
        if (read != -ENOENT)
            r = read;
    }
    return r;
}

/* A program that is attached to a tracepoint event runs on all CPUs, whichever CPU the event is on. */
static int tracepoint_attach(struct sys *sys, const char *name, const struct off_cpu_program *program, int part,
                             int *ret, struct error *error)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr)};
    int fd = -ENODEV;
    uint64_t id;

    int r = tracepoint_find(sys, name, &id);
    if (r == -EACCES)
        return error_set(error, r,
                         "off-CPU time needs the tracepoint %s, but this process may not read tracefs: run perfcountd "
                         "as root, or grant CAP_DAC_READ_SEARCH",
                         name);
    if (r < 0)
        return error_set(error, -ENOENT,
                         "off-CPU time needs the tracepoint %s: this kernel lacks it, or tracefs is not mounted", name);
    attr.config = id;
    for (uint32_t cpu = 0; cpu < program->cpus && fd == -ENODEV; cpu++) /* -ENODEV: the CPU is offline */
        fd = *ret = sys_perf_event_open(sys, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
    r = fd < 0 ? fd : descriptors_keep(sys, ret, 1);
    if (r == 0)
        r = sys_ioctl(sys, fd, PERF_EVENT_IOC_SET_BPF, (unsigned long)program->parts[part]);
    if (r == 0)
        r = sys_ioctl(sys, fd, PERF_EVENT_IOC_ENABLE, 0);
    return r < 0 ? error_set(error, r, "the tracepoint %s cannot be watched: %s", name, strerror(-r)) : 0;
}

/* The tracepoint of the irq_work interrupt. arm64 and arm have one tracepoint for all interrupts between CPUs. */
#if defined(__x86_64__) || defined(__i386__)
#define TRACEPOINT_OF_WORK "irq_vectors/irq_work_entry"
#else
#define TRACEPOINT_OF_WORK "ipi/ipi_entry"
#endif

static int off_cpu_attach(const struct bpf_loader *loader, struct off_cpu_program *program, struct error *error)
{
    static const struct {
        const char *name;
        enum off_cpu_part part;
    } tracepoints[OFF_CPU_TRACEPOINTS] = {
        {TRACEPOINT_OF_WORK, OFF_CPU_WORK},
        {"sched/sched_wakeup", OFF_CPU_WAKEUP},
        {"sched/sched_switch", OFF_CPU_SWITCH},
    };
    int r = 0;

    for (size_t i = 0; i < OFF_CPU_TRACEPOINTS && r == 0; i++)
        r = tracepoint_attach(loader->sys, tracepoints[i].name, program, tracepoints[i].part, &program->on[i], error);
    return r;
}

static int loader_off_cpu_start(void *owner, const struct off_cpu_shape *shape, uint32_t *ret_number,
                                struct error *error)
{
    struct bpf_loader *loader = owner;
    uint32_t number = 0;

    while (number < OFF_CPU_PROGRAMS_MAX && loader->off_cpu[number].used)
        number++;
    if (number == OFF_CPU_PROGRAMS_MAX)
        return error_set(error, -EBUSY, "%d programs already measure off-CPU time, which is the limit",
                         OFF_CPU_PROGRAMS_MAX);
    struct off_cpu_program *program = &loader->off_cpu[number];
    *program = (struct off_cpu_program){.used = true, .cpus = shape->cpus};
    memset(program->parts, -1, sizeof(program->parts));
    memset(program->on, -1, sizeof(program->on));
    int r = load_process_run_off_cpu(shape, loader->sys->memory, program->parts, error);
    if (r == 0 && descriptors_keep(loader->sys, program->parts, N_OFF_CPU_PARTS) < 0)
        r = error_set(error, -EMFILE, NO_ROOM_FOR_PROGRAM);
    if (r == 0)
        r = off_cpu_attach(loader, program, error);
    if (r < 0)
        off_cpu_free(loader, program);
    else
        *ret_number = number;
    return r;
}

static struct off_cpu_program *off_cpu_find(struct bpf_loader *loader, uint32_t number)
{
    return number < OFF_CPU_PROGRAMS_MAX && loader->off_cpu[number].used ? &loader->off_cpu[number] : NULL;
}

static int loader_off_cpu_set_cpu(void *owner, uint32_t number, unsigned cpu, int samples, int alarm)
{
    const struct off_cpu_program *program = off_cpu_find(owner, number);

    if (!program || cpu >= program->cpus)
        return -EINVAL;
    int r = bpf_call_update(program->parts[OFF_CPU_SAMPLES], &cpu, &samples);
    return r < 0 ? r : bpf_call_update(program->parts[OFF_CPU_ALARMS], &cpu, &alarm);
}

static int loader_off_cpu_read(void *owner, uint32_t number, struct off_cpu_totals *ret)
{
    const struct off_cpu_program *program = off_cpu_find(owner, number);
    struct off_cpu_totals sum = {0};
    const uint32_t key = 0;

    if (!program)
        return -EINVAL;
    _cleanup_(freep) struct off_cpu_totals *each = calloc(program->cpus, sizeof(*each));
    if (!each)
        return -ENOMEM;
    int r = bpf_call_lookup(program->parts[OFF_CPU_TOTALS], &key, each);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < program->cpus; i++) {
        sum.brief += each[i].brief;
        sum.brief_ns += each[i].brief_ns;
        sum.missed += each[i].missed;
    }
    *ret = sum;
    return 0;
}

static void loader_off_cpu_stop(void *owner, uint32_t number)
{
    struct bpf_loader *loader = owner;
    struct off_cpu_program *program = off_cpu_find(loader, number);

    if (program)
        off_cpu_free(loader, program);
}

/* --- loader --- */

int bpf_loader_new(struct sys *sys, struct bpf_loader **ret)
{
    struct bpf_loader *loader = malloc(sizeof(*loader));

    if (!loader)
        return -ENOMEM;
    *loader = (struct bpf_loader){.sys = sys};
    *ret = loader;
    return 0;
}

struct bpf_loader *bpf_loader_free(struct bpf_loader *loader)
{
    if (!loader)
        return NULL;
    loaded_free(loader->started);
    loaded_free(loader->counting);
    for (size_t i = 0; i < OFF_CPU_PROGRAMS_MAX; i++)
        off_cpu_free(loader, &loader->off_cpu[i]);
    free(loader);
    return NULL;
}

void bpf_loader_bind(struct bpf_loader *loader, struct bpf_calls *ret)
{
    *ret = (struct bpf_calls){
        .owner = loader,
        .start = loader_start,
        .set_cpu = loader_set_cpu,
        .attach = loader_attach,
        .assign = loader_assign,
        .withdraw = loader_withdraw,
        .flush = loader_flush,
        .stop = loader_stop,
        .off_cpu_start = loader_off_cpu_start,
        .off_cpu_set_cpu = loader_off_cpu_set_cpu,
        .off_cpu_read = loader_off_cpu_read,
        .off_cpu_stop = loader_off_cpu_stop,
    };
}
