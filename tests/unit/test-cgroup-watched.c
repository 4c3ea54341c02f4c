/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups on a simulated machine, whose directories the tests create and remove. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "perf/sys.h"
#include "tests/unit/cgroup-rig.h"
#include "tests/unit/cgroup-sim.h"
#include "tests/unit/find-series.h"
#include "tests/unit/test.h"
#include "tests/unit/wrap-calls.h"

/*
 * Makes counting the open descriptors fail. Before Linux 6.2, counting needs a free descriptor to read /proc/self/fd.
 */
int __wrap_fd_count_open(int directory, uint64_t *ret);

int __wrap_fd_count_open(int directory, uint64_t *ret)
{
    return -EMFILE;
}

/* An entry of the simulated resolver: the container in the cgroup with this number. */
struct entry {
    const char *container;
    bool is_pause;
};

static struct {
    struct entry entries[1024];
    bool changed;
    bool asked[1024]; /* looked up and not forgotten since */
} resolver;

/* Returns the number of a cgroup, which is 1 for "/c0001". Other cgroups have the number 0, whose entry has no name. */
static size_t number_of(const char *path)
{
    unsigned number = 0;

    return sscanf(path, "/c%4u", &number) == 1 && number < ARRAY_SIZE(resolver.entries) ? number : 0;
}

int __wrap_resolver_find(struct resolver *unused, const char *path, struct names *names);

int __wrap_resolver_find(struct resolver *unused, const char *path, struct names *names)
{
    const struct entry *entry = &resolver.entries[number_of(path)];

    resolver.asked[number_of(path)] = true;
    names->is_pause = entry->is_pause;
    names->source = entry->container ? "docker" : NULL;
    names->unnamed = entry->container ? NULL : "nobody knows it";
    return entry->container ? names_set(names, NAME_CONTAINER, entry->container, strlen(entry->container)) : 0;
}

bool __wrap_resolver_dispatch(struct resolver *unused);

bool __wrap_resolver_dispatch(struct resolver *unused)
{
    bool changed = resolver.changed;

    resolver.changed = false;
    return changed;
}

void __wrap_resolver_forget(struct resolver *unused, const char *path);

void __wrap_resolver_forget(struct resolver *unused, const char *path)
{
    resolver.asked[number_of(path)] = false;
}

static void names_write(size_t i, struct entry entry)
{
    resolver.entries[i] = entry;
    resolver.changed = true;
    sim_dispatch();
}

static void begin_on(struct fake_sys *fake, const char *settings)
{
    memset(&resolver, 0, sizeof(resolver));
    sim_init_on(fake, settings);
}

static void begin(const char *settings)
{
    begin_on(fake_machine_no_pmu(), settings);
}

/*
 * Cgroups do not use descriptors that are reserved for others. The number of cgroups that fit is determined before any
 * is opened.
 */
TEST(test_share_of_descriptors)
{
    NEEDS_ENGINE(ENGINE_PERF); /* only the engine perf has descriptors for each cgroup */
    struct descriptors descriptors = {0};
    begin("max_cgroups: 4");
    descriptors_attach(&descriptors, &sim.rig.fake->sys, &(struct descriptor_limits){.counting = 9});
    for (unsigned i = 1; i <= 3; i++)
        sim_make(i);
    assert_int_equal(sim_state(1), 'w');
    assert_int_equal(sim_state(2), 'w');
    assert_int_equal(sim.set.n_dropped, 1);
    assert_int_equal(sim.set.limit, 2);
    assert_int_equal(descriptors.n_counting, 8);
    sim_drop(1);
    assert_int_equal(sim_state(3), 'w');
    assert_int_equal(sim.set.n_dropped, 0);
    sim_drop(2);
    sim_drop(3);
    assert_int_equal(descriptors.n_counting, 0);
    descriptors_done(&descriptors, &sim.rig.fake->sys);
    sim_done();
}

/* After all cgroups, the self collector opens two descriptors per kind of core; these are reserved. */
TEST(test_room_for_self)
{
    NEEDS_ENGINE(ENGINE_PERF); /* only the engine perf has descriptors for each cgroup */
    struct descriptors descriptors = {0};
    begin_on(fake_machine_one_pmu(), "max_cgroups: 4");
    descriptors_attach(&descriptors, &sim.rig.fake->sys, &(struct descriptor_limits){.counting = 17});
    sim_make(1);
    sim_make(2);
    assert_int_equal(sim_state(1), 'w');
    assert_int_equal(sim.set.n_dropped, 1);
    assert_int_equal(descriptors.n_counting, 8);
    descriptors.limits.counting = 18;
    assert_int_equal(cgroup_set_configure(&sim.set, &sim.rig.env), 0);
    assert_int_equal(descriptors.n_counting, 16);
    sim_drop(1);
    sim_drop(2);
    descriptors_done(&descriptors, &sim.rig.fake->sys);
    sim_done();
}

/* Leaves no free descriptor in this process. Returns the previous limit. */
static struct rlimit leave_no_room(void)
{
    struct rlimit before, none;
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    return before;
}

/* A cgroup whose directory cannot be opened for lack of descriptors is dropped until one is free. */
TEST(test_no_descriptor_for_the_directory)
{
    begin("max_cgroups: 4");
    sim_make(1);
    cgroup_counts_end(sim.set.counts[0], &sim.rig.fake->sys);
    struct rlimit before = leave_no_room();
    assert_int_equal(cgroup_set_select(&sim.set, &sim.rig.env), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(sim_state(1), 'l');
    assert_int_equal(sim.set.n_dropped, 1);
    assert_int_equal(sim.set.span, REASON_PASSES);
    assert_int_equal(cgroup_set_configure(&sim.set, &sim.rig.env), 0);
    assert_int_equal(sim_state(1), 'w');
    assert_int_equal(sim.set.n_dropped, 0);
    assert_int_equal(sim.set.span, REASON_LASTS);
    sim_done();
}

static uint64_t enabled_of(void)
{
    cgroup_counts_read(sim.set.counts[0], &sim.rig.fake->sys);
    return sim.rig.snapshot.rows[0]->enabled_ns;
}

/* A CPU goes offline while no directory can be opened. The dead groups are opened again as soon as possible. */
TEST(test_no_descriptor_in_a_hotplug)
{
    begin("max_cgroups: 4");
    sim_make(1);
    assert_int_equal(sim.rig.fake->n_open, 4);
    fake_set_online(sim.rig.fake, 1, false);
    fake_set_online(sim.rig.fake, 1, true);
    assert_int_equal(cpuset_add(&sim.rig.went_offline, 1), 0);
    struct rlimit before = leave_no_room();
    assert_int_equal(cgroup_set_configure(&sim.set, &sim.rig.env), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    cpuset_done(&sim.rig.went_offline);
    assert_int_equal(sim.set.span, REASON_PASSES);
    assert_int_equal(sim.rig.fake->n_open, cgroup_rig_uses(ENGINE_PERF) ? 2 : 4);
    assert_int_equal(cgroup_set_configure(&sim.set, &sim.rig.env), 0);
    assert_int_equal(sim.set.span, REASON_LASTS);
    assert_int_equal(sim.rig.fake->n_open, 4);
    assert_int_equal(enabled_of(), 0);
    sim_done();
}

/* A new cgroup is opened when it is found, if there is room, without waiting for the next selection. */
TEST(test_opened_at_once)
{
    begin("max_cgroups: 2");
    for (unsigned i = 1; i <= 3; i++)
        assert_int_equal(mkdir(sim_path(i), 0755), 0);
    sim.set.env = &sim.rig.env;
    cgroup_tree_dispatch(sim.set.tree);
    assert_int_equal(sim_state(1), 'w');
    assert_int_equal(sim_state(2), 'w');
    assert_int_equal(sim_state(3), '-');
    assert_int_equal(sim.set.n_free, 0);
    sim_dispatch();
    assert_int_equal(sim.set.n_dropped, 1);
    assert_int_equal(sim.set.n, 2);
    assert_int_equal(sim.rig.fake->n_open, cgroup_rig_uses(ENGINE_PERF) ? 8 : 4);
    for (unsigned i = 1; i <= 3; i++)
        sim_drop(i);
    assert_int_equal(sim.rig.fake->n_open, cgroup_rig_uses(ENGINE_PERF) ? 0 : 4);
    assert_int_equal(cgroup_tree_watches(sim.set.tree), 1);
    sim_done();
}

/* After the patterns change, an existing cgroup becomes watched, and the previously watched one no longer is. */
TEST(test_other_patterns)
{
    char *patterns[] = {(char *)"/d/*", (char *)"/c*"};

    begin("max_cgroups: 4");
    assert_int_equal(mkdir(fake_path(sim.rig.fake, "/sys/fs/cgroup/d"), 0755), 0);
    assert_int_equal(mkdir(fake_path(sim.rig.fake, "/sys/fs/cgroup/d/e"), 0755), 0);
    sim_make(1);
    assert_int_equal(sim.set.n_wanted, 1);
    assert_int_equal(cgroup_tree_watches(sim.set.tree), 1);
    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
        struct config config = *sim.rig.env.config;
        struct collector_env env = sim.rig.env;
        config.cgroup.include = &patterns[i];
        env.config = &config;
        assert_int_equal(cgroup_set_configure(&sim.set, &env), 0);
        assert_int_equal(sim.set.n_wanted, 1);
        assert_int_equal(sim.rig.fake->n_open, 4);
        assert_int_equal(sim_state(1), i ? 'w' : 'l');
        assert_int_equal(cgroup_tree_watches(sim.set.tree), i ? 1 : 2);
    }
    sim_done();
}

/*
 * Returns the container's name in the cgroup's row, or NULL, and checks that exactly one info series shows the same
 * name.
 */
static const char *shown_name(unsigned i)
{
    char path[16];
    size_t n = 0;

    snprintf(path, sizeof(path), "/c%04u", i);
    for (size_t k = 0; k < sim.rig.snapshot.n_rows; k++) {
        const struct row *row = sim.rig.snapshot.rows[k];
        const char *name = row->names->texts[NAME_CONTAINER];
        if (!str_equal(row->cgroup, path))
            continue;
        n += name && find_series(&sim.rig.snapshot, "perf_cgroup_info{cgroup=\"%s\",container=\"%s\"}", path, name);
        n += find_series(&sim.rig.snapshot, "perf_cgroup_info{cgroup=\"%s\"}", path) != NULL;
        assert_int_equal(n, 1);
        assert_true(!name || !row->names->unnamed);
        return name;
    }
    return NULL;
}

/* Renaming a container replaces the series of its names but not the series of its counts. */
TEST(test_renamed)
{
    static const char *const names[] = {"shop", "shop", "till"};

    begin("max_cgroups: 4");
    sim_make(1);
    assert_null(shown_name(1));
    const struct row *row = sim.rig.snapshot.rows[0];
    const struct series *counts = row->counters[0].series;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        names_write(1, (struct entry){names[i], false});
        assert_string_equal(shown_name(1), names[i]);
        assert_string_equal(row->names->source, "docker");
        assert_int_equal(sim.rig.snapshot.n_rows, 1);
        assert_ptr_equal(sim.rig.snapshot.rows[0], row);
        assert_ptr_equal(row->counters[0].series, counts);
    }
    assert_null(find_series(&sim.rig.snapshot, "perf_cgroup_info{cgroup=\"/c0001\",container=\"shop\"}"));
    sim_done();
}

/*
 * Asserts the container name of a cgroup, which need not be watched; "" if it has none. NULL: the cgroup is a container
 * whose name is unknown, and the reason is found instead.
 */
static void assert_found(const char *path, const char *container)
{
    _cleanup_(names_done) struct names names = {0};

    assert_int_equal(cgroup_set_find_names(&sim.set, path, &names), 0);
    assert_string_equal(names.texts[NAME_CONTAINER] ? names.texts[NAME_CONTAINER] : "", container ? container : "");
    assert_int_equal(names.unnamed != NULL, container == NULL);
}

/*
 * Samples in a watched cgroup have the names of that cgroup, even after its removal. Cgroups inside it have names of
 * their own.
 */
TEST(test_found)
{
    begin("max_cgroups: 4");
    sim_make(1);
    assert_found("/c0001", NULL);
    names_write(1, (struct entry){"shop", false});
    assert_found("/c0001", "shop");
    assert_found("/c0001/inner", "");
    assert_found("/c00011", "");
    assert_found("/", "");
    sim_drop(1);
    assert_found("/c0001", "shop");
    sim_done();
}

/*
 * Each step carries out `in` and expects `out`. `in`: "+1" creates c0001, "-1" removes it, "1=shop" names it, "1="
 * forgets the name, "t60" lets 60 s pass, "reload" configures again. `out`: "1w=shop" is watched under that name, "2l"
 * lingers.
 */
static const struct {
    const char *name, *in_settings;
    struct {
        const char *in, *out;
    } steps[8];
} scenarios[] = {
    {"the lingering cgroup that was removed first is dropped",
     "max_cgroups: 2, linger: 1h",
     {{"+1 t1 -1 +2 t1 -2", "1l 2l"}, {"+1", "1w 2l"}, {"t1 -1 +3 t1 -3", "1l 3l"}, {"t3600", ""}}},
    {"a lingering cgroup keeps a name that the resolver knew only briefly",
     "max_cgroups: 4, linger: 1m",
     {{"+1 -1", "1l"}, {"1=brief", "1l=brief"}, {"1=", "1l=brief"}, {"t60", ""}}},
    {"a new container with the same path has its own name",
     "max_cgroups: 4, linger: 1m",
     {{"1=first +1 -1", "1l=first"}, {"1=second +1", "1w=second"}}},
    {"included by name: opened once the name is known, closed once it changes",
     "include: 'container=shop*', max_cgroups: 4, linger: 1m",
     {{"2=shop-2 +1 +2 +3", "2w=shop-2"},
      {"1=shop-1", "1w=shop-1 2w=shop-2"},
      {"1=till", "1l=till 2w=shop-2"},
      {"1=shop-1", "1w=shop-1 2w=shop-2"},
      {"reload", "1w=shop-1 2w=shop-2"},
      {"-1 -2 -3", "1l=shop-1 2l=shop-2"},
      {"t60", ""}}},
    {"excluded by name: counted until the name is known",
     "exclude: 'container=noise', max_cgroups: 4, linger: 1m",
     {{"2=noise +1 +2", "1w"}, {"1=noise", "1l=noise"}}},
};

static void do_step(const char *in, bool made[4])
{
    char words[64], *rest = words;

    snprintf(words, sizeof(words), "%s", in);
    for (char *word; (word = strsep(&rest, " "));) {
        unsigned i = (unsigned)(*word & 3);
        if (*word == '+' || *word == '-') {
            i = (unsigned)(word[1] & 3);
            made[i] = *word == '+';
            (made[i] ? sim_make : sim_drop)(i);
        } else if (*word == 't') {
            fake_advance(sim.rig.fake, strtoul(word + 1, NULL, 10) * NSEC_PER_SEC);
            sim_dispatch();
        } else if (*word == 'r') {
            assert_int_equal(cgroup_set_configure(&sim.set, &sim.rig.env), 0);
        } else {
            static char names[4][16];
            snprintf(names[i], sizeof(names[i]), "%s", word + 2);
            names_write(i, (struct entry){names[i][0] ? names[i] : NULL, false});
        }
    }
}

TEST(test_scenarios)
{
    for (size_t k = 0; k < ARRAY_SIZE(scenarios); k++) {
        bool made[4] = {0};
        print_message("%s\n", scenarios[k].name);
        begin(scenarios[k].in_settings);
        for (size_t step = 0; step < ARRAY_SIZE(scenarios[k].steps) && scenarios[k].steps[step].in; step++) {
            char out[64] = "", *to = out;
            do_step(scenarios[k].steps[step].in, made);
            for (unsigned i = 1; i < 4; i++) {
                const char *name = shown_name(i);
                if (sim_state(i) != '-')
                    to += sprintf(to, "%s%u%c%s%s", to == out ? "" : " ", i, sim_state(i), name ? "=" : "",
                                  name ? name : "");
                /* Only cgroups that exist or linger are looked up in the resolver. */
                assert_int_equal(resolver.asked[i], made[i] || sim_state(i) != '-');
            }
            assert_string_equal(out, scenarios[k].steps[step].out);
        }
        sim_done();
    }
}

/* A pause container has no descriptors and no series, whether it is recognised when it is opened or later. */
TEST(test_pause_is_left_out)
{
    for (size_t late = 0; late < 2; late++) {
        begin("max_cgroups: 2");
        resolver.entries[1].is_pause = !late;
        sim_make(1);
        if (late)
            names_write(1, (struct entry){"POD", true});
        assert_int_equal(sim_state(1), '-');
        assert_int_equal(sim.rig.fake->n_open, cgroup_rig_uses(ENGINE_PERF) ? 0 : 4);
        assert_int_equal(sim.rig.snapshot.n_rows, 0);
        sim_make(2);
        sim_make(3); /* the pause container does not count towards max_cgroups */
        assert_int_equal(sim.set.n_wanted, 2);
        assert_int_equal(sim.set.n_dropped, 0);
        assert_int_equal(cgroup_set_configure(&sim.set, &sim.rig.env), 0);
        assert_int_equal(sim_state(1), '-');
        for (unsigned i = 1; i <= 3; i++)
            sim_drop(i);
        resolver.entries[1].is_pause = false;
        sim_make(1); /* a new cgroup with the same path */
        assert_int_equal(sim_state(1), 'w');
        sim_drop(1);
        sim_done();
    }
}

static void write_events(const char *directory, const char *text)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/cgroup.events", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/*
 * A scope that is empty at the start is not watched before it has a process. A new cgroup is always empty and is
 * watched at once.
 */
TEST(test_vacant)
{
    char paths[3][144], path[160];

    begin("max_cgroups: 4");
    for (unsigned i = 0; i < ARRAY_SIZE(paths); i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s%s", sim_path(i), i < 2 ? ".scope" : ".slice");
        assert_int_equal(mkdir(paths[i], 0755), 0);
        write_events(paths[i], "populated 0\nfrozen 0\n");
    }
    cgroup_tree_rescan(sim.set.tree); /* as when the daemon starts */
    assert_int_equal(cgroup_set_select(&sim.set, &sim.rig.env), 0);
    assert_int_equal(sim.set.n_wanted, 1);
    assert_string_equal(sim.set.counts[0]->path, "/c0002.slice");
    write_events(paths[0], "populated 1\nfrozen 0\n");
    sim_dispatch();
    assert_int_equal(sim.set.n_wanted, 2);
    assert_string_equal(sim.set.counts[1]->path, "/c0000.scope");
    write_events(paths[0], "populated 0\nfrozen 0\n"); /* a watched cgroup stays watched until it is removed */
    sim_dispatch();
    assert_int_equal(cgroup_set_select(&sim.set, &sim.rig.env), 0);
    assert_int_equal(sim.set.n_wanted, 2);
    sim_make(3);
    assert_int_equal(sim.set.n_wanted, 3);
    for (unsigned i = 0; i < ARRAY_SIZE(paths); i++) {
        strcat(strcpy(path, paths[i]), "/cgroup.events");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(paths[i]), 0);
    }
    sim_drop(3);
    assert_int_equal(sim.set.n_wanted, 0);
    sim_done();
}

/* The cgroups exist before the resolver is opened. */
TEST(test_wanted_from_the_start)
{
    struct fake_sys *fake = fake_machine_no_pmu();
    memset(&resolver, 0, sizeof(resolver));
    resolver.entries[1].container = "shop";
    fake_file(fake, "/sys/fs/cgroup/c0001/cgroup.procs", "%s", "");
    fake_file(fake, "/sys/fs/cgroup/c0002/cgroup.procs", "%s", "");
    sim_init_on(fake, "include: [container=shop, '/c0002'], max_cgroups: 4");
    assert_int_equal(sim_state(1), 'w');
    assert_int_equal(sim_state(2), 'w');
    sim_done();
}

static size_t count_series(const struct metrics *metrics)
{
    size_t n = 0;

    for (size_t i = 0; i < metrics->n; i++)
        n += metrics->families[i]->n;
    return n;
}

static size_t count_asked(void)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(resolver.asked); i++)
        n += resolver.asked[i];
    return n;
}

/*
 * A hundred pods come and go: only the most recent ones linger, up to max_cgroups, and a cgroup that exists all the
 * time stays watched.
 */
TEST(test_churn)
{
    static char containers[100][32];
    size_t series = 0;

    begin("max_cgroups: 8, linger: 1h");
    sim_make(999);
    for (unsigned i = 0; i < ARRAY_SIZE(containers); i++) {
        sim_make(i);
        snprintf(containers[i], sizeof(containers[i]), "pod-%u", i);
        names_write(i, (struct entry){containers[i], false});
        fake_advance(sim.rig.fake, NSEC_PER_SEC);
        sim_drop(i);
        assert_true(sim.set.n <= 9 && count_asked() <= 9);
        assert_int_equal(sim_state(i), 'l');
        if (i == 20)
            series = count_series(&sim.rig.snapshot.metrics);
    }
    assert_int_equal(sim_state(999), 'w');
    assert_int_equal(sim_state(91), '-');
    assert_int_equal(sim_state(92), 'l');
    assert_int_equal(count_series(&sim.rig.snapshot.metrics), series);
    assert_int_equal(sim.rig.snapshot.n_rows, 9);
    sim_done();
}

/* --- parents and children --- */

/* A machine on which each system call takes `call_ns`; all enabled events count during this time. */
static uint64_t call_ns;
static struct sys_calls swift;

static void count_a_while(struct sys *sys)
{
    for (int fd = 0; fd < 64; fd++)
        for (unsigned cpu = 0; cpu < 2; cpu++)
            fake_cgroup_run((struct fake_sys *)sys, fd, cpu, call_ns);
}

static int open_slowly(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                       unsigned long flags)
{
    count_a_while(sys);
    return swift.perf_event_open(sys, attr, pid, cpu, group_fd, flags);
}

static ssize_t read_slowly(struct sys *sys, int fd, void *buffer, size_t size)
{
    count_a_while(sys);
    return swift.read(sys, fd, buffer, size);
}

static int ioctl_slowly(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    count_a_while(sys);
    return swift.ioctl(sys, fd, request, argument);
}

static struct fake_sys *slow_machine(void)
{
    struct fake_sys *fake = fake_machine_no_pmu();

    call_ns = 0;
    swift = wrap_calls(&fake->sys,
                       (struct sys_calls){.perf_event_open = open_slowly, .read = read_slowly, .ioctl = ioctl_slowly});
    return fake;
}

static void read_all(void)
{
    struct cgroup_set *set = &sim.set;
    struct collected collected = {0};
    struct error error;

    assert_int_equal(set->engine.type->read_all(&set->engine, &sim.rig.env, set->counts, set->n, &collected, &error),
                     0);
}

/* Asserts that no cgroup has a lower count than its child: /c0001, /c0001/in, /c0001/in/most. */
static void assert_parent_has_all(void)
{
    static const char *const cgroups[] = {"/c0001", "/c0001/in", "/c0001/in/most"};
    uint64_t above = UINT64_MAX;

    for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
        uint64_t value = series_value(
            &sim.rig.snapshot, "perf_cgroup_context_switches_total{cgroup=\"%s\",pmu=\"software\",group=\"core\"}",
            cgroups[i]);
        assert_true(value != NOT_SHOWN && value > 0);
        assert_true(value <= above);
        above = value;
    }
}

static void pause_all(bool paused)
{
    sim.rig.env.paused = paused;
    assert_int_equal(sim.set.engine.type->pause(&sim.set.engine, &sim.rig.env, sim.set.counts, sim.set.n), 0);
}

static void hotplug(bool online)
{
    fake_set_online(sim.rig.fake, 1, online);
    rig_rescan(&sim.rig, online ? "" : "1");
    sim.rig.env.machine = sim.rig.machine;
    assert_int_equal(cgroup_set_configure(&sim.set, &sim.rig.env), 0);
    cpuset_done(&sim.rig.went_offline);
}

/* In each reading, a parent's count includes that of its children, whatever happened since the previous reading. */
TEST(test_parents_have_all)
{
    NEEDS_ENGINE(ENGINE_PERF); /* the bpf engine reads each CPU only once */
    char inside[160], most[170];

    begin_on(slow_machine(), "max_cgroups: 4, include: ['/c*', '/c*/in', '/c*/in/most']");
    snprintf(inside, sizeof(inside), "%s/in", sim_path(1));
    snprintf(most, sizeof(most), "%s/most", inside);
    sim_make(1);
    assert_int_equal(mkdir(inside, 0755) | mkdir(most, 0755), 0);
    sim_dispatch();
    call_ns = 1;
    read_all();
    assert_parent_has_all();
    /*
     * The reading itself takes no time here, so its counts depend on the order in which the groups stopped and started.
     */
    for (int i = 0; i < 4; i++) {
        pause_all(i % 2 == 0);
        call_ns = 0;
        read_all();
        assert_parent_has_all();
        call_ns = 1;
    }
    for (int i = 0; i < 4; i++) {
        hotplug(i % 2);
        read_all();
        assert_parent_has_all();
    }
    /* A removed cgroup is read one last time, after the other cgroups. */
    assert_int_equal(rmdir(most), 0);
    sim_dispatch();
    assert_parent_has_all();
    /* The remaining cgroups are removed, and all are created again under the same names. */
    assert_int_equal(rmdir(inside), 0);
    sim_drop(1);
    assert_parent_has_all();
    sim_make(1);
    assert_int_equal(mkdir(inside, 0755) | mkdir(most, 0755), 0);
    sim_dispatch();
    read_all();
    assert_parent_has_all();
    assert_int_equal(rmdir(most) | rmdir(inside), 0);
    sim_drop(1);
    sim_done();
}

CGROUP_RIG_MAIN()
