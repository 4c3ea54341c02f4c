/* SPDX-License-Identifier: Apache-2.0 */
/* Counting cgroups with BPF: how the engine is chosen, cgroup slots, and BPF programs that fail or are replaced. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bpf/calls.h"
#include "collectors/cgroup/bpf-engine.h"
#include "collectors/cgroup/counts.h"
#include "metrics/metrics.h"
#include "tests/unit/cgroup-sim.h"
#include "tests/unit/fake-bpf.h"
#include "tests/unit/fake-event.h"
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

/*
 * Intercepts the calls of the fake BPF program to inject errors. A cgroup is identified by the number in its
 * directory's name.
 */
static struct {
    struct bpf_calls real;
    int start, set_cpu, attach, assign, withdraw, flush; /* the error of each call, or 0 */
    unsigned n_assigned, n_flushes;
    uint32_t slots; /* the number of slots in the last start() */
    bool attached;  /* the argument of the last attach() */
} calls;

#define CGROUP_OF(i) (1000 + (int)(i))
#define CGROUP_ROOT 999

static int start(void *owner, const struct bpf_shape *shape, struct bpf_maps *ret, struct error *error)
{
    calls.slots = shape->slots;
    return calls.start ? error_set(error, calls.start, "no") : calls.real.start(owner, shape, ret, error);
}

static int set_cpu(void *owner, unsigned cpu, const struct bpf_event *events, const int *fds)
{
    return calls.set_cpu ? calls.set_cpu : calls.real.set_cpu(owner, cpu, events, fds);
}

static int attach(void *owner, bool attached)
{
    calls.attached = attached;
    return calls.attach ? calls.attach : calls.real.attach(owner, attached);
}

static int assign(void *owner, int cgroup_fd, uint32_t slot, uint64_t *ret_id)
{
    char link[64], path[PATH_MAX] = "";
    unsigned number;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", cgroup_fd);
    assert_true(readlink(link, path, sizeof(path) - 1) > 0);
    int cgroup = sscanf(strrchr(path, '/'), "/c%u", &number) == 1 && isdigit(strrchr(path, '/')[2]) ? CGROUP_OF(number)
                                                                                                    : CGROUP_ROOT;
    calls.n_assigned++;
    return calls.assign ? calls.assign : calls.real.assign(owner, cgroup, slot, ret_id);
}

static int withdraw(void *owner, uint64_t id)
{
    return calls.withdraw ? calls.withdraw : calls.real.withdraw(owner, id);
}

static int flush(void *owner)
{
    calls.n_flushes++;
    return calls.flush ? calls.flush : calls.real.flush(owner);
}

static struct fake_sys *machine_with_bpf(void)
{
    struct fake_sys *fake = fake_machine_no_pmu();

    fake_bpf_add(fake);
    memset(&calls, 0, sizeof(calls));
    calls.real = fake->bpf_calls;
    fake->bpf_calls.start = start;
    fake->bpf_calls.set_cpu = set_cpu;
    fake->bpf_calls.attach = attach;
    fake->bpf_calls.assign = assign;
    fake->bpf_calls.withdraw = withdraw;
    fake->bpf_calls.flush = flush;
    return fake;
}

static void begin(const char *settings)
{
    sim_init_on(machine_with_bpf(), settings);
    assert_int_equal(sim.set.engine.type->number, ENGINE_BPF);
}

static void read_all(void)
{
    struct cgroup_set *set = &sim.set;
    struct collected collected = {0};
    struct error error = {0};

    if (set->engine.type->read_all(&set->engine, &sim.rig.env, set->counts, set->n, &collected, &error) < 0)
        fail_msg("%s", error.message);
}

static uint64_t value(const char *cgroup)
{
    return series_value(&sim.rig.snapshot,
                        "perf_cgroup_page_faults_total{cgroup=\"%s\",pmu=\"software\",group=\"core\"}", cgroup);
}

static void assert_counted(uint64_t n)
{
    read_all();
    assert_int_equal(value("/c0001"), n);
}

static void run(unsigned i, uint64_t ns)
{
    fake_cgroup_run(sim.rig.fake, CGROUP_OF(i), 0, ns);
}

static void make_directory(unsigned i)
{
    assert_int_equal(mkdir(sim_path(i), 0755), 0);
}

/* --- the choice of the engine --- */

TEST(test_choice)
{
    static const char program[] = "the BPF program supports only cgroup v2";
    static const struct {
        const char *in_engine;
        bool in_bpf;
        enum hierarchy_kind in_kind;
        int in_error; /* the result of start() */
        int out_error;
        enum config_engine out_engine;
        const char *out_reason; /* the beginning of the message */
    } choices[] = {
        {"auto", true, HIERARCHY_V2, 0, 0, ENGINE_BPF, ""},
        {"bpf", true, HIERARCHY_V2, 0, 0, ENGINE_BPF, ""},
        {"perf", true, HIERARCHY_V2, 0, 0, ENGINE_PERF, ""},
        {"auto", true, HIERARCHY_V2, -EPERM, 0, ENGINE_PERF, "no"},
        {"auto", false, HIERARCHY_V2, 0, 0, ENGINE_PERF, "this process cannot"},
        {"auto", true, HIERARCHY_V1, 0, 0, ENGINE_PERF, program},
        {"perf", true, HIERARCHY_V1, 0, 0, ENGINE_PERF, ""},
        {"bpf", true, HIERARCHY_V2, -EPERM, -EPERM, ENGINE_PERF, "collectors.cgroup.engine is bpf: no"},
        {"bpf", false, HIERARCHY_V2, 0, -ENOSYS, ENGINE_PERF, "collectors.cgroup.engine is bpf: this process cannot"},
        {"bpf", true, HIERARCHY_V1, 0, -EOPNOTSUPP, ENGINE_PERF, "collectors.cgroup.engine is bpf: the BPF program"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
        struct hierarchy hierarchy = {.kind = choices[i].in_kind};
        struct fake_sys *fake = machine_with_bpf();
        struct cgroup_engine engine;
        struct error error = {0};
        struct rig rig;
        char text[128];
        if (!choices[i].in_bpf)
            fake->bpf_calls = (struct bpf_calls){0};
        calls.start = choices[i].in_error;
        snprintf(text, sizeof(text), "collectors: {cgroup: {engine: %s}}", choices[i].in_engine);
        rig_init_collector(&rig, fake, "cgroup", text);
        assert_int_equal(cgroup_engine_open(&engine, &rig.env, &hierarchy, &error), choices[i].out_error);
        const char *reason = choices[i].out_error ? error.message : engine.reason.message, *out = choices[i].out_reason;
        if (choices[i].out_error == 0)
            assert_int_equal(engine.type->number, choices[i].out_engine);
        if (!str_starts(reason, out) || !out[0] != !reason[0])
            fail_msg("%s: \"%s\"", choices[i].in_engine, reason);
        cgroup_engine_done(&engine, &rig.env);
        rig_done(&rig);
    }
}

/* Attaches the program, but damages the records of all CPUs. */
static int attach_and_spoil(void *owner, bool attached)
{
    int r = attach(owner, attached);

    for (unsigned cpu = 0; cpu < 2; cpu++)
        fake_bpf_spoil(owner, cpu);
    return r;
}

TEST(test_disagreement)
{
    struct fake_sys *fake = machine_with_bpf();
    fake->bpf_calls.attach = attach_and_spoil;
    sim_init_on(fake, "engine: auto");
    assert_int_equal(sim.set.engine.type->number, ENGINE_PERF);
    assert_non_null(strstr(sim.set.engine.reason.message, "does not report what runs on CPU 0"));
    sim_done();
}

/* --- slots --- */

/* A removed cgroup keeps its last total. Later counts go to its parent, which never has less than its children. */
TEST(test_removed)
{
    begin("include: ['/', '/c*'], linger: 1h");
    sim_make(1);
    run(1, 100);
    assert_counted(100);
    assert_int_equal(value("/"), 100);
    run(1, 10);
    sim_drop(1);
    assert_int_equal(value("/c0001"), 110);
    run(1, 1000); /* as if a task exits after its cgroup was removed */
    assert_counted(110);
    assert_int_equal(value("/"), 1110);
    sim_make(1);
    run(1, 5);
    assert_counted(115);
    assert_int_equal(value("/"), 1115);
    sim_done();
}

/* A slot is not reused while the BPF program may still add counts to it. */
TEST(test_slot_is_held)
{
    int *const errors[] = {&calls.withdraw, &calls.flush};
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        begin("include: ['/', '/c*'], linger: 0s");
        sim_make(1);
        uint32_t slot = sim.set.counts[1]->slot;
        *errors[i] = -EAGAIN;
        sim_drop(1);
        run(1, 100);
        read_all();
        assert_int_equal(value("/"), 100);
        for (unsigned k = 2; k < 256; k++)
            make_directory(k);
        sim_dispatch();
        for (size_t k = 0; k < sim.set.n; k++)
            assert_int_not_equal(sim.set.counts[k]->slot, slot);
        sim_done();
    }
}

/*
 * Cgroups that have a slot continue to count. The other cgroups get a slot once a program with more slots is started.
 */
TEST(test_growth)
{
    begin("max_cgroups: 400");
    sim_make(0);
    run(0, 100);
    calls.start = -ENOMEM;
    for (unsigned i = 1; i < 300; i++)
        make_directory(i);
    sim_dispatch();
    assert_int_equal(fake_bpf_starts(sim.rig.fake), 1);
    assert_int_equal(calls.slots, 402);
    assert_int_equal(sim.set.n, 254);
    assert_int_equal(sim.set.n_dropped, 46);
    calls.start = 0;
    run(0, 10);
    assert_int_equal(cgroup_set_configure(&sim.set, &sim.rig.env), 0);
    assert_int_equal(fake_bpf_starts(sim.rig.fake), 2);
    assert_int_equal(sim.set.n, 300);
    assert_int_equal(sim.set.n_dropped, 0);
    for (unsigned i = 0; i < 300; i++)
        run(i, 1);
    read_all();
    assert_int_equal(value("/c0000"), 111);
    assert_int_equal(value("/c0299"), 1);
    sim_done();
}

/* While no cgroup is watched, the program is detached, and nothing that runs is counted. */
TEST(test_detached)
{
    begin("include: ['/c*'], linger: 0s");
    sim_dispatch();
    read_all();
    assert_false(calls.attached);
    run(1, 1000);
    sim_make(1);
    assert_true(calls.attached);
    run(1, 10);
    assert_counted(10);
    run(7, 100);
    run(1, 5);
    sim_drop(1);
    for (unsigned i = 0; i < 2; i++)
        read_all(); /* the first of these readings frees the slot */
    assert_false(calls.attached);
    run(1, 1000);
    sim_make(2);
    run(2, 7);
    read_all();
    assert_int_equal(value("/c0002"), 7);
    assert_int_equal(fake_bpf_starts(sim.rig.fake), 1);
    sim_done();
}

/*
 * The end of a pause does not attach the program if no cgroup is watched. A cgroup that is created during a pause is
 * counted from the end of the pause.
 */
TEST(test_detached_and_paused)
{
    begin("include: ['/c*']");
    struct cgroup_engine *engine = &sim.set.engine;
    read_all();
    for (unsigned i = 0; i < 2; i++) {
        sim.rig.env.paused = i == 0;
        assert_int_equal(engine->type->pause(engine, &sim.rig.env, sim.set.counts, sim.set.n), 0);
        assert_false(calls.attached);
    }
    sim.rig.env.paused = true;
    assert_int_equal(engine->type->pause(engine, &sim.rig.env, sim.set.counts, sim.set.n), 0);
    sim_make(1);
    assert_false(calls.attached);
    run(1, 100);
    sim.rig.env.paused = false;
    assert_int_equal(engine->type->pause(engine, &sim.rig.env, sim.set.counts, sim.set.n), 0);
    assert_true(calls.attached);
    run(1, 10);
    assert_counted(10);
    sim_done();
}

/* If the opener does not answer when the program is to be attached again, the next reading retries. */
TEST(test_attached_late)
{
    begin("include: ['/c*']");
    read_all();
    calls.attach = -ETIMEDOUT;
    sim_make(1);
    run(1, 100);
    calls.attach = 0;
    read_all();
    assert_true(calls.attached);
    run(1, 10);
    assert_counted(10);
    sim_done();
}

static int attach_late(void *owner, bool attached)
{
    run(0, 50);
    return attach(owner, attached);
}

/* While a new program is started and attached, the previous program still counts everything that runs. */
TEST(test_replaced)
{
    begin("include: ['/', '/c*'], max_cgroups: 400");
    sim_make(0);
    sim_make(1);
    sim_drop(1);
    run(0, 100);
    sim.rig.fake->bpf_calls.attach = attach_late;
    for (unsigned i = 2; i < 300; i++)
        make_directory(i);
    sim_dispatch();
    assert_int_equal(fake_bpf_starts(sim.rig.fake), 2);
    run(0, 10);
    read_all();
    assert_int_equal(value("/c0000"), 160);
    assert_int_equal(value("/"), 160);
    sim_done();
}

/* If the opener does not attach the program, nothing is counted, and readings fail until the engine is reopened. */
TEST(test_attach_fails)
{
    struct cgroup_set *set = &sim.set;
    struct collected collected = {0};
    struct error error = {0};

    begin("max_cgroups: 400");
    calls.attach = -ETIMEDOUT;
    for (unsigned i = 0; i < 300; i++)
        make_directory(i);
    sim_dispatch();
    int r = set->engine.type->read_all(&set->engine, &sim.rig.env, set->counts, set->n, &collected, &error);
    assert_int_equal(r, -EBADE);
    assert_non_null(strstr(error.message, "cannot attach the BPF program"));
    assert_true(bpf_engine_is_stale(set->engine.bpf));
    sim_done();
}

/*
 * If a cgroup cannot be counted for a reason other than a lack of slots, the reason is shown, and the cgroup is
 * retried. If a CPU that comes back online cannot be set up, its totals remain.
 */
TEST(test_late)
{
    struct error error;
    begin("");
    calls.assign = -EINVAL; /* a permanent error */
    make_directory(1);
    sim_dispatch();
    assert_int_equal(sim.set.n_dropped, 1);
    calls.assign = -ETIMEDOUT;
    assert_int_equal(cgroup_set_configure(&sim.set, &sim.rig.env), 0);
    assert_non_null(strstr(sim.set.engine.no_room.message, "the opener does not answer"));
    calls.assign = 0;
    assert_int_equal(cgroup_set_configure(&sim.set, &sim.rig.env), 0);
    assert_int_equal(sim.set.n_dropped, 0);
    assert_string_equal(sim.set.engine.no_room.message, "");
    run(1, 100);
    fake_set_online(sim.rig.fake, 0, false);
    fake_set_online(sim.rig.fake, 0, true);
    assert_int_equal(cpuset_add(&sim.rig.went_offline, 0), 0);
    calls.set_cpu = -ETIMEDOUT;
    assert_int_equal(cgroup_engine_resume(&sim.set.engine, &sim.rig.env, &error), 0);
    assert_int_equal(cgroup_set_configure(&sim.set, &sim.rig.env), 0);
    cpuset_done(&sim.rig.went_offline);
    assert_counted(100);
    calls.set_cpu = 0;
    assert_counted(100);
    run(1, 10);
    assert_counted(110);
    sim_done();
}

/* --- the BPF program as a whole --- */

/* Counts of unwatched cgroups, and counts that the program cannot attribute, are included only in the root's. */
TEST(test_root)
{
    begin("include: ['/', '/c*']");
    sim_make(1);
    assert_int_equal(calls.n_assigned, 1);
    run(7, 50);
    fake_bpf_miss(sim.rig.fake, 0, 20);
    run(1, 1);
    read_all();
    assert_int_equal(value("/"), 71);
    assert_int_equal(value("/c0001"), 1);
    assert_int_equal(bpf_engine_unknown(sim.set.engine.bpf)->ns, 20);
    sim_done();
}

static void assert_moved(uint64_t first, uint64_t second, unsigned n_flushes)
{
    calls.n_flushes = 0;
    read_all();
    assert_int_equal(value("/c0001"), first);
    assert_int_equal(value("/c0002"), second);
    assert_int_equal(calls.n_flushes, n_flushes);
}

/*
 * A running task that another task moves is attributed to its new cgroup from the next reading on. Each reading flushes
 * at most once, however often tasks are moved; a failed flush is retried by the next reading.
 */
TEST(test_moved)
{
    begin("include: ['/c*']");
    struct fake_sys *fake = sim.rig.fake;
    sim_make(1);
    sim_make(2);
    fake_bpf_move(fake, CGROUP_OF(1), 1);
    assert_moved(0, 0, 1);
    fake_run_cpu(fake, 1, 100);
    assert_moved(100, 0, 0);
    for (unsigned i = 0; i < 7; i++)
        fake_bpf_move(fake, CGROUP_OF(2), 1);
    fake_run_cpu(fake, 1, 10);
    assert_moved(110, 0, 1);
    fake_run_cpu(fake, 1, 5);
    assert_moved(110, 5, 0);
    fake_bpf_move(fake, CGROUP_OF(1), 1);
    calls.flush = -ETIMEDOUT;
    for (unsigned i = 1; i <= 2; i++) {
        fake_run_cpu(fake, 1, 1);
        assert_moved(110, 5 + i, 1);
    }
    calls.flush = 0;
    assert_moved(110, 7, 1);
    fake_run_cpu(fake, 1, 1);
    assert_moved(111, 7, 0);
    /* Reading a single cgroup does not flush. */
    fake_bpf_move(fake, CGROUP_OF(2), 1);
    assert_true(sim.set.engine.type->read(sim.set.counts[0], &fake->sys) > 0);
    assert_int_equal(calls.n_flushes, 0);
    assert_moved(111, 7, 1);
    sim_done();
}

static bool is_lost(void *owner)
{
    return true;
}

/* Once the opener has exited, the BPF program is gone as well, so its records are stale. */
TEST(test_opener_lost)
{
    struct error error = {0};
    begin("linger: 1h");
    sim_make(1);
    run(1, 100);
    read_all();
    sim.rig.fake->bpf_calls.is_lost = is_lost;
    calls.start = calls.attach = calls.assign = calls.withdraw = calls.flush = -EPIPE;
    sim_make(2);
    assert_int_equal(sim_state(2), '-');
    run(1, 10);
    struct cgroup_set *set = &sim.set;
    struct collected collected = {0};
    int r = set->engine.type->read_all(&set->engine, &sim.rig.env, set->counts, set->n, &collected, &error);
    assert_int_equal(r, -EPIPE);
    assert_non_null(strstr(error.message, "the opener is gone"));
    sim_drop(1);
    assert_int_equal(value("/c0001"), 100);
    sim_done();
}

#define ENGINE(name) "collectors: {cgroup: {engine: " name ", include: ['/*'], groups: [{name: f, events: faults}]}}"

static void assert_unknown_created(struct rig *rig, const char *expected)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    exposition_write(&text, &rig_read(rig)->metrics, UINT32_MAX, EXPOSITION_OPENMETRICS);
    _cleanup_(freep) char *page = buffer_string(&text);
    const char *line = strstr(page, "perfcountd_cgroup_unknown_seconds_created ");
    assert_true(line && strncmp(strchr(line, ' ') + 1, expected, strlen(expected)) == 0);
}

/*
 * After the engine changes, the unknown time starts at 0 with a new creation time. If the engine stays the same, its
 * totals continue.
 */
TEST(test_engine_changes)
{
    struct fake_sys *fake = fake_machine_no_pmu();
    struct rig rig;

    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    fake_bpf_add(fake);
    rig_init(&rig, fake, ENGINE("bpf"));
    assert_unknown_created(&rig, "1700000000\n");
    fake_advance(fake, 2 * NSEC_PER_SEC);
    rig_configure(&rig, ENGINE("bpf"));
    assert_unknown_created(&rig, "1700000000\n");
    rig_configure(&rig, ENGINE("perf"));
    rig_configure(&rig, ENGINE("bpf"));
    assert_unknown_created(&rig, "1700000002\n");
    rig_done(&rig);
}

static int start_without_opener(void *owner, const struct bpf_shape *shape, struct bpf_maps *ret, struct error *error)
{
    return error_set(error, -EPIPE, "the opener is gone; restart perfcountd");
}

static int attach_without_opener(void *owner, bool attached)
{
    return -EPIPE;
}

/*
 * Once the engine is lost, no cgroup values are shown, and the failures say why. A reload does not bring back the lost
 * engine's values.
 */
TEST(test_engine_lost)
{
    const char *engines[] = {ENGINE("bpf"), ENGINE("auto")};

    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        struct fake_sys *fake = fake_machine_no_pmu();
        struct rig rig;

        fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
        fake_bpf_add(fake);
        rig_init(&rig, fake, engines[i]);
        assert_int_equal(series_value(rig_read(&rig), "perfcountd_cgroup_unknown_seconds_total"), 0);
        fake->bpf_calls.is_lost = is_lost;
        fake->bpf_calls.start = start_without_opener;
        fake->bpf_calls.attach = attach_without_opener;
        assert_int_equal(registry_pause(rig.registry, true), 0);
        assert_int_equal(registry_pause(rig.registry, false), 0);
        for (int k = 0; k < 2; k++) {
            const struct snapshot *snapshot = rig_read(&rig);
            assert_int_equal(series_value(snapshot, "perfcountd_cgroup_unknown_seconds_total"), NOT_SHOWN);
            assert_int_equal(series_value(snapshot, "perfcountd_cgroups{state=\"watched\"}"), NOT_SHOWN);
            assert_int_equal(series_value(snapshot, "perfcountd_collector_success{collector=\"cgroup\"}"), 0);
            assert_true(registry_has_failed(rig.registry, &collector_cgroup));
            const struct failures *failures = registry_failures(rig.registry);
            size_t n = 0;
            for (size_t f = 0; f < failures->n; f++)
                n += str_equal(failures->items[f].reason, FAILURE_OF_COLLECTOR) &&
                     strstr(failures->items[f].message, "restart perfcountd");
            assert_int_equal(n, 1);
            rig_configure(&rig, engines[i]);
        }
        rig_done(&rig);
    }
}

TEST_MAIN(NULL, NULL)
