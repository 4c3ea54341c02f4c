/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of cgroups that come and go, and a tally that fails, is replaced or does not agree. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/cgroup/tally.h"
#include "perf/tally/tally.h"
#include "tests/unit/cgroup-play.h"
#include "tests/unit/fake-tally.h"
#include "tests/unit/find-series.h"
#include "tests/unit/test.h"

/* The calls of the fake, which can fail. A cgroup is known by the number in its directory's name. */
static struct {
    const struct tally_calls *real;
    int start, set_cpu, attach, assign, withdraw, flush; /* the error of each, or 0 */
    unsigned n_assigned;
    uint32_t slots; /* of the last start */
} calls;

#define CGROUP_OF(i) (1000 + (int)(i))
#define CGROUP_ROOT 999

static int start(struct sys *sys, const struct tally_shape *shape, struct tally_maps *ret, struct error *error)
{
    calls.slots = shape->slots;
    return calls.start ? error_set(error, calls.start, "no") : calls.real->start(sys, shape, ret, error);
}

static int set_cpu(struct sys *sys, unsigned cpu, const struct tally_event *events, const int *fds)
{
    return calls.set_cpu ? calls.set_cpu : calls.real->set_cpu(sys, cpu, events, fds);
}

static int attach(struct sys *sys, bool attached)
{
    return calls.attach ? calls.attach : calls.real->attach(sys, attached);
}

static int assign(struct sys *sys, int cgroup_fd, uint32_t slot, uint64_t *ret_id)
{
    char link[64], path[PATH_MAX] = "";
    unsigned number;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", cgroup_fd);
    assert_true(readlink(link, path, sizeof(path) - 1) > 0);
    int cgroup = sscanf(strrchr(path, '/'), "/c%u", &number) == 1 && isdigit(strrchr(path, '/')[2]) ? CGROUP_OF(number)
                                                                                                    : CGROUP_ROOT;
    calls.n_assigned++;
    return calls.assign ? calls.assign : calls.real->assign(sys, cgroup, slot, ret_id);
}

static int withdraw(struct sys *sys, uint64_t id)
{
    return calls.withdraw ? calls.withdraw : calls.real->withdraw(sys, id);
}

static int flush(struct sys *sys)
{
    return calls.flush ? calls.flush : calls.real->flush(sys);
}

static struct tally_calls faulty;

static struct fake_sys *machine_with_tally(void)
{
    struct fake_sys *fake = fake_machine_no_pmu();

    fake_tally_add(fake);
    memset(&calls, 0, sizeof(calls));
    calls.real = fake->sys.tally;
    faulty = *calls.real;
    faulty.start = start;
    faulty.set_cpu = set_cpu;
    faulty.attach = attach;
    faulty.assign = assign;
    faulty.withdraw = withdraw;
    faulty.flush = flush;
    fake->sys.tally = &faulty;
    return fake;
}

static void play_init(struct cgroup_play *play, const char *settings)
{
    cgroup_play_init_on(play, machine_with_tally(), settings);
    assert_int_equal(play->set.engine.type->number, ENGINE_BPF);
}

static void read_all(struct cgroup_play *play)
{
    struct cgroup_set *set = &play->set;
    struct error error = {0};

    if (set->engine.type->read_all(&set->engine, &play->rig.context, set->counts, set->n, &error) < 0)
        fail_msg("%s", error.message);
}

static uint64_t value(const struct cgroup_play *play, const char *cgroup)
{
    return series_value(&play->rig.snapshot,
                        "perf_cgroup_page_faults_total{cgroup=\"%s\",pmu=\"software\",group=\"core\"}", cgroup);
}

static void assert_counted(struct cgroup_play *play, uint64_t n)
{
    read_all(play);
    assert_int_equal(value(play, "/c0001"), n);
}

static void run(struct cgroup_play *play, unsigned i, uint64_t ns)
{
    fake_cgroup_run(play->rig.fake, CGROUP_OF(i), 0, ns);
}

static void make_directory(struct cgroup_play *play, unsigned i)
{
    char path[128];

    assert_int_equal(mkdir(cgroup_play_path(play, i, path), 0755), 0);
}

/* --- which engine --- */

struct choice {
    const char *in_engine;
    bool in_tally;
    enum hierarchy_kind in_kind;
    int in_error; /* of starting it */
    int out_error;
    enum config_engine out_engine;
    const char *out_reason; /* its begin */
};

static void assert_choice(const struct choice *choice)
{
    struct hierarchy hierarchy = {.kind = choice->in_kind};
    struct fake_sys *fake = machine_with_tally();
    struct cgroup_engine engine;
    struct error error = {0};
    struct rig rig;
    char text[128];

    if (!choice->in_tally)
        fake->sys.tally = NULL;
    calls.start = choice->in_error;
    snprintf(text, sizeof(text), "collectors: {cgroup: {engine: %s}}", choice->in_engine);
    rig_init_collector(&rig, fake, "cgroup", text);
    assert_int_equal(cgroup_engine_open(&engine, &rig.context, &hierarchy, &error), choice->out_error);
    const char *reason = choice->out_error ? error.message : engine.reason.message;
    if (choice->out_error == 0)
        assert_int_equal(engine.type->number, choice->out_engine);
    if (strncmp(reason, choice->out_reason, strlen(choice->out_reason)) != 0 || !choice->out_reason[0] != !reason[0])
        fail_msg("%s: \"%s\"", choice->in_engine, reason);
    cgroup_engine_done(&engine, &rig.context);
    rig_done(&rig);
}

static void test_choice(void **state)
{
    static const char program[] = "the program in the kernel knows only cgroup v2";
    static const struct choice choices[] = {
        {"auto", true, HIERARCHY_V2, 0, 0, ENGINE_BPF, ""},
        {"bpf", true, HIERARCHY_V2, 0, 0, ENGINE_BPF, ""},
        {"perf", true, HIERARCHY_V2, 0, 0, ENGINE_PERF, ""},
        {"auto", true, HIERARCHY_V2, -EPERM, 0, ENGINE_PERF, "no"},
        {"auto", false, HIERARCHY_V2, 0, 0, ENGINE_PERF, "this process cannot"},
        {"auto", true, HIERARCHY_V1, 0, 0, ENGINE_PERF, program},
        {"perf", true, HIERARCHY_V1, 0, 0, ENGINE_PERF, ""},
        {"bpf", true, HIERARCHY_V2, -EPERM, -EPERM, ENGINE_PERF, "collectors.cgroup.engine is bpf: no"},
        {"bpf", false, HIERARCHY_V2, 0, -ENOSYS, ENGINE_PERF, "collectors.cgroup.engine is bpf: this process cannot"},
        {"bpf", true, HIERARCHY_V1, 0, -EOPNOTSUPP, ENGINE_PERF, "collectors.cgroup.engine is bpf: the program"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
        assert_choice(&choices[i]);
}

/* A program that does not give all to cgroups, and one that does not say what runs. */
static int attach_and_lie(struct sys *sys, bool attached)
{
    int r = attach(sys, attached);

    for (unsigned cpu = 0; cpu < 2; cpu++)
        fake_tally_spoil((struct fake_sys *)sys, cpu);
    return r;
}

static void test_disagreement(void **state)
{
    struct fake_sys *fake = machine_with_tally();
    struct cgroup_play play;

    (void)state;
    faulty.attach = attach_and_lie;
    cgroup_play_init_on(&play, fake, "engine: auto");
    assert_int_equal(play.set.engine.type->number, ENGINE_PERF);
    assert_non_null(strstr(play.set.engine.reason.message, "does not say what runs on CPU 0"));
    cgroup_play_done(&play);
}

/* --- slots --- */

/* The cgroup above keeps what one had, and never has less than those inside of it. */
static void test_removed(void **state)
{
    struct cgroup_play play;

    (void)state;
    play_init(&play, "include: ['/', '/c*'], linger: 1h");
    cgroup_play_make(&play, 1);
    run(&play, 1, 100);
    assert_counted(&play, 100);
    assert_int_equal(value(&play, "/"), 100);
    run(&play, 1, 10);
    cgroup_play_drop(&play, 1);
    assert_int_equal(value(&play, "/c0001"), 110);
    run(&play, 1, 1000); /* as of a task that exits late */
    assert_counted(&play, 110);
    assert_int_equal(value(&play, "/"), 1110);
    cgroup_play_make(&play, 1);
    run(&play, 1, 5);
    assert_counted(&play, 115);
    assert_int_equal(value(&play, "/"), 1115);
    cgroup_play_done(&play);
}

/* A slot is not given to another cgroup before it is known that nothing goes to it any more. */
static void test_slot_is_held(void **state)
{
    int *const errors[] = {&calls.withdraw, &calls.flush};
    struct cgroup_play play;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        play_init(&play, "include: ['/', '/c*'], linger: 0s");
        cgroup_play_make(&play, 1);
        uint32_t slot = play.set.counts[1]->slot;
        *errors[i] = -EAGAIN;
        cgroup_play_drop(&play, 1);
        run(&play, 1, 100);
        read_all(&play);
        assert_int_equal(value(&play, "/"), 100);
        for (unsigned k = 2; k < 256; k++)
            make_directory(&play, k);
        cgroup_play_dispatch(&play);
        for (size_t k = 0; k < play.set.n; k++)
            assert_int_not_equal(play.set.counts[k]->slot, slot);
        cgroup_play_done(&play);
    }
}

/* Those that there are slots for go on; the others get them once there are more. */
static void test_growth(void **state)
{
    struct cgroup_play play;

    (void)state;
    play_init(&play, "max_cgroups: 400");
    cgroup_play_make(&play, 0);
    run(&play, 0, 100);
    calls.start = -ENOMEM;
    for (unsigned i = 1; i < 300; i++)
        make_directory(&play, i);
    cgroup_play_dispatch(&play);
    assert_int_equal(fake_tally_starts(play.rig.fake), 1);
    assert_int_equal(calls.slots, 402);
    assert_int_equal(play.set.n, 254);
    assert_int_equal(play.set.n_dropped, 46);
    calls.start = 0;
    run(&play, 0, 10);
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    assert_int_equal(fake_tally_starts(play.rig.fake), 2);
    assert_int_equal(play.set.n, 300);
    assert_int_equal(play.set.n_dropped, 0);
    for (unsigned i = 0; i < 300; i++)
        run(&play, i, 1);
    read_all(&play);
    assert_int_equal(value(&play, "/c0000"), 111);
    assert_int_equal(value(&play, "/c0299"), 1);
    cgroup_play_done(&play);
}

/* Another reason than want of room is given, and it is tried again. A CPU that left meanwhile has its totals. */
static void test_late(void **state)
{
    struct cgroup_play play;
    struct error error;
    (void)state;
    play_init(&play, "");
    calls.assign = -EINVAL; /* for good */
    make_directory(&play, 1);
    cgroup_play_dispatch(&play);
    assert_int_equal(play.set.n_dropped, 1);
    calls.assign = -ETIMEDOUT;
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    assert_non_null(strstr(play.set.engine.no_room.message, "the opener does not answer"));
    calls.assign = 0;
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    assert_int_equal(play.set.n_dropped, 0);
    assert_string_equal(play.set.engine.no_room.message, "");
    run(&play, 1, 100);
    fake_set_online(play.rig.fake, 0, false);
    fake_set_online(play.rig.fake, 0, true);
    assert_int_equal(cpuset_add(&play.rig.left, 0), 0);
    calls.set_cpu = -ETIMEDOUT;
    assert_int_equal(cgroup_engine_resume(&play.set.engine, &play.rig.context, &error), 0);
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    cpuset_done(&play.rig.left);
    assert_counted(&play, 100);
    calls.set_cpu = 0;
    assert_counted(&play, 100);
    run(&play, 1, 10);
    assert_counted(&play, 110);
    cgroup_play_done(&play);
}

/* --- the tally as a whole --- */

/* The root alone has what belongs to no known cgroup, and what is in no cgroup that is watched. */
static void test_root(void **state)
{
    struct cgroup_play play;

    (void)state;
    play_init(&play, "include: ['/', '/c*']");
    cgroup_play_make(&play, 1);
    assert_int_equal(calls.n_assigned, 1);
    run(&play, 7, 50);
    fake_tally_miss(play.rig.fake, 0, 20);
    run(&play, 1, 1);
    read_all(&play);
    assert_int_equal(value(&play, "/"), 71);
    assert_int_equal(value(&play, "/c0001"), 1);
    assert_int_equal(cgroup_tally_unknown(play.set.engine.tally)->ns, 20);
    cgroup_play_done(&play);
}

static void test_pause(void **state)
{
    struct cgroup_play play;

    (void)state;
    play_init(&play, "linger: 0s");
    cgroup_play_make(&play, 1);
    run(&play, 1, 100);
    for (unsigned paused = 1; paused < 2; paused--) {
        unsigned n = play.rig.fake->calls[FAKE_IOCTL];
        play.rig.context.paused = paused;
        assert_int_equal(play.set.engine.type->pause(&play.set.engine, &play.rig.context, NULL, 0), 0);
        assert_int_equal(play.rig.fake->calls[FAKE_IOCTL], n + 2); /* on each CPU */
        run(&play, 1, 10);
        assert_counted(&play, paused ? 100 : 110);
        assert_int_equal(play.rig.stale, false);
    }
    cgroup_play_done(&play);
}

static bool is_lost(struct sys *sys)
{
    (void)sys;
    return true;
}

/* The opener is gone, and the program with it: what the records say is of the past. */
static void test_opener_lost(void **state)
{
    struct error error = {0};
    struct cgroup_play play;

    (void)state;
    play_init(&play, "linger: 1h");
    cgroup_play_make(&play, 1);
    run(&play, 1, 100);
    read_all(&play);
    faulty.is_lost = is_lost;
    calls.start = calls.attach = calls.assign = calls.withdraw = calls.flush = -EPIPE;
    cgroup_play_make(&play, 2);
    assert_int_equal(cgroup_play_state(&play, 2), '-');
    run(&play, 1, 10);
    struct cgroup_set *set = &play.set;
    assert_int_equal(set->engine.type->read_all(&set->engine, &play.rig.context, set->counts, set->n, &error), -EPIPE);
    assert_non_null(strstr(error.message, "the opener is gone"));
    cgroup_play_drop(&play, 1);
    assert_int_equal(value(&play, "/c0001"), 100);
    cgroup_play_done(&play);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),       cmocka_unit_test(test_disagreement), cmocka_unit_test(test_removed),
        cmocka_unit_test(test_slot_is_held), cmocka_unit_test(test_growth),       cmocka_unit_test(test_root),
        cmocka_unit_test(test_pause),        cmocka_unit_test(test_opener_lost),  cmocka_unit_test(test_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
