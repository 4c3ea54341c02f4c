/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fake-bpf.h"

#undef NDEBUG
#include <assert.h>
#include <sys/stat.h>

#include "bpf/calls.h"
#include "tests/unit/fake-event.h"
#include "tests/unit/wrap-calls.h"

#define FD_FIRST 500000
#define RUNS_MAX 64
#define SLOTS_MAX 1024

/* The event sources and descriptors that the loader has set for a CPU. */
struct fake_cpu {
    struct bpf_event events[BPF_EVENTS_MAX];
    int fds[BPF_EVENTS_MAX];
};

/* A BPF program that was started; its maps stay until the machine is freed. */
struct fake_run {
    struct bpf_shape shape;
    uint64_t *counts;
    struct bpf_record *records;
    struct fake_cpu *cpus;
    struct {
        int cgroup; /* inode or descriptor of the cgroup; 0: the entry is unused */
        uint32_t slot;
    } slots[SLOTS_MAX];
};

struct fake_bpf {
    struct fake_run runs[RUNS_MAX];
    unsigned n_runs;
    struct fake_run *counting; /* the attached program, or NULL */
    bool has_program;          /* true from start() until stop() */
    int running[64];           /* the cgroup on each CPU; -1: the root */
    struct fake_event switches[64];
    struct sys_calls kernel; /* the original calls, for descriptors that are not maps */
};

static struct fake_run *last_run(const struct fake_sys *fake)
{
    struct fake_bpf *bpf = fake->bpf;

    return bpf->n_runs ? &bpf->runs[bpf->n_runs - 1] : NULL;
}

/* --- the program --- */

static uint32_t find_slot(const struct fake_run *run, int cgroup)
{
    for (size_t i = 0; i < SLOTS_MAX && cgroup >= 0; i++)
        if (run->slots[i].cgroup == cgroup)
            return run->slots[i].slot;
    return BPF_SLOT_ROOT;
}

static void put_word(uint64_t *words, uint64_t *valid, unsigned word, uint64_t value)
{
    words[word] = value;
    *valid |= UINT64_C(1) << word;
}

/* Reads the current counters. Returns the mask of the words that are valid. */
static uint64_t read_words(struct fake_sys *fake, const struct fake_run *run, unsigned cpu, uint64_t *words)
{
    const struct fake_cpu *c = &run->cpus[cpu];
    uint64_t valid = 0;

    for (unsigned i = 0; i < run->shape.events; i++) {
        const struct fake_event *event = c->events[i].source == SOURCE_READ ? fake_find_event(fake, c->fds[i]) : NULL;
        unsigned enabled = run->shape.events + 2 * c->events[i].group;
        if (c->events[i].source == SOURCE_SWITCHES)
            put_word(words, &valid, i, run->records[cpu].switches);
        if (!event || event->dead || fake_will_fail(fake, FAKE_READ, &event->leader->attr, event->cpu))
            continue;
        put_word(words, &valid, i, event->count);
        if (!c->events[i].gives_times)
            continue;
        put_word(words, &valid, enabled, event->time_enabled);
        put_word(words, &valid, enabled + 1, event->time_running);
    }
    for (unsigned i = 0; i < run->shape.events; i++) {
        unsigned running = run->shape.events + 2 * c->events[i].group + 1;
        if (c->events[i].source == SOURCE_RUNNING && valid >> running & 1)
            put_word(words, &valid, i, words[running]);
    }
    return valid;
}

static uint64_t *entry_of(const struct fake_run *run, unsigned cpu, uint32_t slot, size_t word)
{
    return &run->counts[((size_t)cpu * run->shape.slots + slot) * bpf_words(&run->shape) + word];
}

/* Ends the current interval and starts one for `slot`. With BPF_SLOT_NONE no new interval starts. */
static void run_enter(struct fake_sys *fake, struct fake_run *run, unsigned cpu, uint32_t slot)
{
    struct bpf_record *r = &run->records[cpu];
    size_t n = bpf_words(&run->shape);
    uint64_t now[BPF_WORDS_MAX] = {0}, valid = read_words(fake, run, cpu, now);

    for (size_t i = 0; i < n && r->slot != BPF_SLOT_NONE; i++)
        if (r->valid & valid & UINT64_C(1) << i)
            *entry_of(run, cpu, r->slot, i) += now[i] - r->base[i];
    r->seq++;
    r->slot = slot;
    r->valid = valid;
    r->check = bpf_check_begin(r->seq, slot, r->epoch, valid);
    for (size_t i = 0; i < n; i++) {
        r->base[i] = now[i];
        r->check = bpf_check_step(r->check, r->base[i]);
    }
}

static void look(struct fake_sys *fake, unsigned cpu)
{
    struct fake_bpf *bpf = fake->bpf;

    if (bpf->counting)
        run_enter(fake, bpf->counting, cpu, find_slot(bpf->counting, bpf->running[cpu]));
}

/*
 * Lets a CPU run in a cgroup. The context switch event grows at its fake_rate(), although the CPU switches only to the
 * cgroup and back.
 */
static void run_cgroup(struct fake_sys *fake, int cgroup, unsigned cpu, uint64_t ns)
{
    struct fake_bpf *bpf = fake->bpf;
    struct fake_event *switches = &bpf->switches[cpu];

    bpf->running[cpu] = cgroup;
    look(fake, cpu);
    fake_run_cpu(fake, cpu, ns);
    switches->attr = (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES};
    fake_count_event(fake, switches, ns);
    if (bpf->counting)
        bpf->counting->records[cpu].switches = switches->count;
    bpf->running[cpu] = -1;
    look(fake, cpu);
}

/* --- the calls --- */

static int fake_start(void *owner, const struct bpf_shape *shape, struct bpf_maps *ret, struct error *error)
{
    struct fake_bpf *bpf = ((struct fake_sys *)owner)->bpf;
    struct fake_run *run = &bpf->runs[bpf->n_runs];

    (void)error;
    assert(bpf->n_runs < RUNS_MAX && shape->events <= BPF_EVENTS_MAX && shape->groups <= BPF_GROUPS_MAX);
    *run = (struct fake_run){
        .shape = *shape,
        .counts = calloc((size_t)shape->cpus * shape->slots, 8 * (size_t)bpf_words(shape)),
        .records = calloc(shape->cpus, sizeof(*run->records)),
        .cpus = calloc(shape->cpus, sizeof(*run->cpus)),
    };
    assert(run->counts && run->records && run->cpus);
    if (bpf->n_runs > 0 && bpf->has_program)
        memcpy(run->slots, run[-1].slots, sizeof(run->slots));
    bpf->has_program = true;
    for (unsigned cpu = 0; cpu < shape->cpus; cpu++) {
        run->records[cpu].slot = BPF_SLOT_NONE;
        run->records[cpu].epoch = 1;
        run->records[cpu].switches = bpf->switches[cpu].count;
    }
    *ret = (struct bpf_maps){FD_FIRST + 2 * (int)bpf->n_runs, FD_FIRST + 2 * (int)bpf->n_runs + 1};
    bpf->n_runs++;
    return 0;
}

static int fake_set_cpu(void *owner, unsigned cpu, const struct bpf_event *events, const int *fds)
{
    struct fake_bpf *bpf = ((struct fake_sys *)owner)->bpf;
    struct fake_run *run = last_run(owner);

    if (run == bpf->counting)
        run_enter(owner, run, cpu, BPF_SLOT_NONE);
    for (unsigned i = 0; i < run->shape.events; i++)
        assert((events[i].source == SOURCE_READ) == (fake_find_event(owner, fds[i]) != NULL));
    memcpy(run->cpus[cpu].events, events, sizeof(run->cpus[cpu].events));
    memcpy(run->cpus[cpu].fds, fds, sizeof(run->cpus[cpu].fds));
    return 0;
}

static int fake_flush(void *owner)
{
    for (unsigned cpu = 0; cpu < last_run(owner)->shape.cpus; cpu++)
        look(owner, cpu);
    return 0;
}

static int fake_attach(void *owner, bool attached)
{
    struct fake_bpf *bpf = ((struct fake_sys *)owner)->bpf;

    for (unsigned cpu = 0; bpf->counting && cpu < bpf->counting->shape.cpus; cpu++)
        run_enter(owner, bpf->counting, cpu, BPF_SLOT_NONE);
    bpf->counting = attached ? last_run(owner) : NULL;
    /* Switches that happened while the program was detached are not counted. */
    for (unsigned cpu = 0; attached && cpu < bpf->counting->shape.cpus; cpu++)
        bpf->counting->records[cpu].switches = bpf->switches[cpu].count;
    return attached ? fake_flush(owner) : 0;
}

/*
 * Identifies a cgroup by the inode of its directory. If the descriptor does not refer to a directory, the descriptor's
 * own number identifies the cgroup.
 */
static int id_of(int cgroup_fd)
{
    struct stat st;

    return fstat(cgroup_fd, &st) == 0 && S_ISDIR(st.st_mode) ? (int)st.st_ino : cgroup_fd;
}

static int fake_assign(void *owner, int cgroup_fd, uint32_t slot, uint64_t *ret_id)
{
    struct fake_run *run = last_run(owner);
    int cgroup = id_of(cgroup_fd);
    size_t i = 0;

    assert(slot >= BPF_SLOT_FIRST && slot < run->shape.slots);
    while (run->slots[i].cgroup && run->slots[i].cgroup != cgroup)
        assert(++i < SLOTS_MAX);
    run->slots[i].cgroup = cgroup;
    run->slots[i].slot = slot;
    *ret_id = (uint64_t)cgroup;
    return 0;
}

static int fake_withdraw(void *owner, uint64_t id)
{
    struct fake_run *run = last_run(owner);

    for (size_t i = 0; i < SLOTS_MAX; i++)
        if (run->slots[i].cgroup == (int)id) {
            run->slots[i].cgroup = 0;
            return 0;
        }
    return -ENOENT;
}

static void fake_stop(void *owner)
{
    struct fake_bpf *bpf = ((struct fake_sys *)owner)->bpf;

    bpf->counting = NULL;
    bpf->has_program = false;
}

/* --- its maps --- */

static struct fake_run *run_of(struct fake_bpf *bpf, int fd)
{
    return fd >= FD_FIRST && fd < FD_FIRST + 2 * (int)bpf->n_runs ? &bpf->runs[(fd - FD_FIRST) / 2] : NULL;
}

static int map(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    struct fake_sys *fake = fake_of(sys);
    struct fake_run *run = run_of(fake->bpf, fd);

    if (!run)
        return fake->bpf->kernel.mmap(sys, fd, size, protection, ret);
    *ret = (fd - FD_FIRST) % 2 ? (void *)run->records : (void *)run->counts;
    fake->n_mapped++;
    return 0;
}

static int unmap(struct sys *sys, void *address, size_t size)
{
    struct fake_sys *fake = fake_of(sys);

    for (unsigned i = 0; i < fake->bpf->n_runs; i++)
        if (address == fake->bpf->runs[i].counts || address == fake->bpf->runs[i].records) {
            fake->n_mapped--;
            return 0;
        }
    return fake->bpf->kernel.munmap(sys, address, size);
}

static int close_map(struct sys *sys, int fd)
{
    return run_of(fake_of(sys)->bpf, fd) ? 0 : fake_of(sys)->bpf->kernel.close(sys, fd);
}

static void bpf_remove(struct fake_sys *fake)
{
    assert(!fake->bpf->counting);
    for (unsigned i = 0; i < fake->bpf->n_runs; i++) {
        free(fake->bpf->runs[i].counts);
        free(fake->bpf->runs[i].records);
        free(fake->bpf->runs[i].cpus);
    }
    free(fake->bpf);
}

void fake_bpf_add(struct fake_sys *fake)
{
    struct fake_bpf *bpf = calloc(1, sizeof(*bpf));

    assert(bpf);
    for (size_t i = 0; i < ARRAY_SIZE(bpf->running); i++)
        bpf->running[i] = -1;
    fake->bpf = bpf;
    fake->run_cgroup = run_cgroup;
    fake->remove_bpf = bpf_remove;
    bpf->kernel = wrap_calls(&fake->sys, (struct sys_calls){.mmap = map, .munmap = unmap, .close = close_map});
    fake->bpf_calls = (struct bpf_calls){
        .owner = fake,
        .start = fake_start,
        .set_cpu = fake_set_cpu,
        .attach = fake_attach,
        .assign = fake_assign,
        .withdraw = fake_withdraw,
        .flush = fake_flush,
        .stop = fake_stop,
    };
}

unsigned fake_bpf_starts(const struct fake_sys *fake)
{
    return fake->bpf->n_runs;
}

size_t fake_bpf_assigned(const struct fake_sys *fake)
{
    const struct fake_bpf *bpf = fake->bpf;
    size_t n = 0;

    for (size_t i = 0; i < SLOTS_MAX && bpf->n_runs; i++)
        n += bpf->runs[bpf->n_runs - 1].slots[i].cgroup != 0;
    return n;
}

void fake_bpf_spoil(struct fake_sys *fake, unsigned cpu)
{
    fake->bpf->counting->records[cpu].check++;
}

void fake_bpf_move(struct fake_sys *fake, int cgroup, unsigned cpu)
{
    fake->bpf->running[cpu] = cgroup;
    fake->bpf->counting->records[0].moves++; /* a task on CPU 0 makes the move */
}

void fake_bpf_miss(struct fake_sys *fake, unsigned cpu, uint64_t ns)
{
    run_enter(fake, fake->bpf->counting, cpu, BPF_SLOT_UNKNOWN);
    fake_run_cpu(fake, cpu, ns);
    look(fake, cpu);
}
