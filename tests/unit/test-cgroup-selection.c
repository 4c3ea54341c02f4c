/* SPDX-License-Identifier: Apache-2.0 */
/* Which cgroups are watched: patterns for paths and names, the order, and the limits. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cgroups/names.h"
#include "cgroups/path.h"
#include "cgroups/selection.h"
#include "collectors/cgroup/watched.h"
#include "config/config.h"
#include "process/memory-limit.h"
#include "tests/unit/test.h"

static const struct {
    const char *in;
    enum name_kind out;
    const char *out_glob; /* NULL: not a name pattern */
} name_patterns[] = {
    {"container=grafana-*", NAME_CONTAINER, "grafana-*"},
    {"container_id=0*", NAME_CONTAINER_ID, "0*"},
    {"unit=a=b.service", NAME_UNIT, "a=b.service"},
    {"image=docker.io/**", NAME_IMAGE, "docker.io/**"},
    {"pod=", NAME_POD, ""},
    {"description=x", 0, NULL},
    {"container", 0, NULL},
    {"Container=x", 0, NULL},
    {" container=x", 0, NULL},
    {"/container=x", 0, NULL},
    {"=x", 0, NULL},
    {"", 0, NULL},
};

TEST(test_patterns)
{
    for (size_t i = 0; i < ARRAY_SIZE(name_patterns); i++) {
        enum name_kind kind = N_NAME_KINDS;
        const char *glob = NULL;
        int r = name_kind_parse(name_patterns[i].in, &kind, &glob);
        print_message("%s\n", name_patterns[i].in);
        assert_int_equal(r, name_patterns[i].out_glob ? 0 : -ENOENT);
        if (r == 0) {
            assert_int_equal(kind, name_patterns[i].out);
            assert_string_equal(glob, name_patterns[i].out_glob);
        }
    }
}

#define PATTERNS_MAX 3

static const char *const tree[] = {"/system.slice/b.service",
                                   "/user.slice",
                                   "/",
                                   "/system.slice/a.service",
                                   "/user.slice/user-0.slice/s.scope",
                                   "/system.slice",
                                   "/system.slice/c.service/x",
                                   "/\xff.slice",
                                   "/system.slice/a.service/y",
                                   "/system.slice/system-d.slice/d@1.service"};

/* The limits in most cases: 256 cgroups, any number of descriptors, 48 descriptors per cgroup. */
#define NO_LIMIT 256, UINT64_MAX, 48

static const struct {
    const char *name;
    const char *in_include[PATTERNS_MAX], *in_exclude[PATTERNS_MAX];
    uint64_t in_max, in_budget, in_needs;
    const char *out_watched, *out_dropped;
} cases[] = {
    {"slices and services",
     {"/*.slice", "/system.slice/*.service", "/system.slice/*.slice/*.service"},
     {0},
     NO_LIMIT,
     "/system.slice /user.slice /\xff.slice /system.slice/a.service /system.slice/b.service "
     "/system.slice/system-d.slice/d@1.service",
     ""},
    {"no include", {0}, {0}, NO_LIMIT, "", ""},
    {"only the root", {"/"}, {0}, NO_LIMIT, "/", ""},
    {"no match", {"/none/*"}, {0}, NO_LIMIT, "", ""},
    {"an exclude pattern takes precedence",
     {"/system.slice/*", "/system.slice"},
     {"/**/a.*", "/system.slice"},
     NO_LIMIT,
     "/system.slice/b.service",
     ""},
    {"everything excluded", {"/**"}, {"/**"}, NO_LIMIT, "", ""},
    {"cgroups are sorted by depth, then by name",
     {"/**"},
     {0},
     4,
     UINT64_MAX,
     48,
     "/ /system.slice /user.slice /\xff.slice",
     "/system.slice/a.service /system.slice/b.service /system.slice/a.service/y /system.slice/c.service/x "
     "/system.slice/system-d.slice/d@1.service /user.slice/user-0.slice/s.scope"},
    {"cgroups of the same depth are sorted by name",
     {"/system.slice/*"},
     {0},
     1,
     UINT64_MAX,
     48,
     "/system.slice/a.service",
     "/system.slice/b.service"},
    {"unwanted cgroups do not count towards the limit",
     {"/system.slice/*"},
     {"/**/a.service"},
     1,
     UINT64_MAX,
     48,
     "/system.slice/b.service",
     ""},
    {"descriptors", {"/*.slice"}, {0}, 256, 96, 48, "/system.slice /user.slice", "/\xff.slice"},
    {"one descriptor too few", {"/*.slice"}, {0}, 256, 143, 48, "/system.slice /user.slice", "/\xff.slice"},
    {"exactly enough descriptors", {"/*.slice"}, {0}, 256, 144, 48, "/system.slice /user.slice /\xff.slice", ""},
    {"no descriptors left", {"/*.slice"}, {0}, 256, 47, 48, "", "/system.slice /user.slice /\xff.slice"},
    {"max_cgroups is the lower limit", {"/*.slice"}, {0}, 1, 1000, 48, "/system.slice", "/user.slice /\xff.slice"},
    {"no descriptors needed", {"/*.slice"}, {0}, 2, 0, 0, "/system.slice /user.slice", "/\xff.slice"},
    {"max_cgroups is 0", {"/*.slice"}, {0}, 0, UINT64_MAX, 48, "", "/system.slice /user.slice /\xff.slice"},
};

static size_t count(const char *const *patterns)
{
    size_t n = 0;

    while (n < PATTERNS_MAX && patterns[n])
        n++;
    return n;
}

static struct cgroup_rules rules_of(const char *const *include, const char *const *exclude)
{
    return (struct cgroup_rules){
        .include = (char *const *)include,
        .n_include = count(include),
        .exclude = (char *const *)exclude,
        .n_exclude = count(exclude),
    };
}

static void list(const struct cgroup_candidate *candidates, size_t n, enum cgroup_choice choice, char *text,
                 size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        if (candidates[i].choice == choice)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "", candidates[i].path);
}

static unsigned depth_of(const char *path)
{
    unsigned depth = 0;

    for (const char *at = path; *at; at++)
        depth += *at == '/' && at[1];
    return depth;
}

TEST(test_select)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cgroup_rules rules = rules_of(cases[i].in_include, cases[i].in_exclude);
        rules.max_cgroups = cases[i].in_max;
        rules.descriptor_budget = cases[i].in_budget;
        rules.descriptors_per_cgroup = cases[i].in_needs;
        struct cgroup_candidate candidates[ARRAY_SIZE(tree)] = {0};
        char watched[512], dropped[512];
        size_t n_watched = 0, n_dropped = 0;

        print_message("%s\n", cases[i].name);
        for (size_t k = 0; k < ARRAY_SIZE(tree); k++)
            candidates[k] = (struct cgroup_candidate){
                .path = tree[k], .depth = depth_of(tree[k]), .wanted = cgroup_rules_want(&rules, tree[k], NULL)};
        struct cgroup_selection selection = cgroup_select(&rules, candidates, ARRAY_SIZE(tree));
        list(candidates, ARRAY_SIZE(tree), CGROUP_WATCHED, watched, sizeof(watched));
        list(candidates, ARRAY_SIZE(tree), CGROUP_DROPPED, dropped, sizeof(dropped));
        assert_string_equal(watched, cases[i].out_watched);
        assert_string_equal(dropped, cases[i].out_dropped);
        for (size_t k = 0; k < ARRAY_SIZE(tree); k++) {
            n_watched += candidates[k].choice == CGROUP_WATCHED;
            n_dropped += candidates[k].choice == CGROUP_DROPPED;
        }
        assert_int_equal(selection.watched, n_watched);
        assert_int_equal(selection.dropped, n_dropped);
    }
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SCOPE "/system.slice/docker-" ID ".scope"

/* `out`: the patterns select a cgroup with these names. `out_may`: they could select it with other names. */
static const struct {
    const char *in_include[PATTERNS_MAX], *in_exclude[PATTERNS_MAX], *in_path, *in_container, *in_image;
    bool out, out_may;
} named[] = {
    {{"container=grafana"}, {0}, SCOPE, "grafana", NULL, true, true},
    {{"container=grafana"}, {0}, SCOPE, NULL, NULL, false, true}, /* the name becomes known later */
    {{"container=grafana"}, {0}, SCOPE, "grafana-2", NULL, false, true},
    {{"container=graf*", "/none"}, {0}, SCOPE, "grafana", NULL, true, true},
    {{"image=nginx:*"}, {0}, SCOPE, "web", "docker.io/library/nginx:1.25", true, true},
    {{"image=docker.io/*"}, {0}, SCOPE, "web", "docker.io/library/nginx:1.25", false, true},
    {{"container_id=" ID}, {0}, SCOPE, NULL, NULL, true, true},
    {{"unit=ssh.service"}, {0}, "/system.slice/ssh.service", NULL, NULL, true, true},
    {{"slice=system.slice"}, {0}, "/system.slice/ssh.service", NULL, NULL, true, true},
    {{"namespace=*"}, {0}, SCOPE, "grafana", NULL, false, true},
    {{"nonsense=*"}, {0}, SCOPE, "grafana", NULL, false, false},
    /* cgroups inside a unit or container do not match its name, since its counters include them */
    {{"container=grafana"}, {0}, SCOPE "/inner", "grafana", NULL, false, true},
    {{"container=grafana", "/**"}, {0}, SCOPE "/inner", "grafana", NULL, true, true},
    {{"unit=a.service"}, {0}, "/a.service/b.service", NULL, NULL, false, true},
    {{"unit=b.service"}, {0}, "/a.service/b.service", NULL, NULL, true, true},
    {{"container=web"}, {0}, "/machine.slice/systemd-nspawn@web.service", NULL, NULL, true, true},
    {{"container=web"}, {0}, "/machine.slice/systemd-nspawn@web.service/payload", NULL, NULL, false, true},
    {{"container=web"}, {0}, "/machine.slice/systemd-nspawn@web.service/payload/a.service", NULL, NULL, false, true},
    {{"unit=a.service"}, {0}, "/machine.slice/systemd-nspawn@web.service/payload/a.service", NULL, NULL, true, true},
    {{"container_id=" ID}, {0}, "/docker/" ID, NULL, NULL, true, true},
    {{"container_id=" ID}, {0}, "/docker/" ID "/docker", NULL, NULL, false, true},
    {{"slice=a.slice"}, {0}, "/a.slice", NULL, NULL, true, true},
    {{"slice=a.slice"}, {0}, "/a.slice/x", NULL, NULL, false, true},
    /* exclude patterns for names */
    {{"/**"}, {"container=grafana"}, SCOPE, "grafana", NULL, false, true},
    {{"/**"}, {"container=grafana"}, SCOPE "/inner", "grafana", NULL, false, true},
    {{"/**"}, {"container=grafana"}, SCOPE, NULL, NULL, true, true},
    {{"container=*"}, {"image=nginx*"}, SCOPE, "web", "nginx", false, true},
    {{"container=*"}, {"/system.slice/**"}, SCOPE, "web", "nginx", false, false},
};

TEST(test_names)
{
    for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
        _cleanup_(names_done) struct names names = {0};
        struct cgroup_rules rules = rules_of(named[i].in_include, named[i].in_exclude);
        assert_int_equal(names_from_path(&names, named[i].in_path), 0);
        if (named[i].in_container)
            assert_int_equal(names_set(&names, NAME_CONTAINER, named[i].in_container, strlen(named[i].in_container)),
                             0);
        if (named[i].in_image)
            assert_int_equal(names_set(&names, NAME_IMAGE, named[i].in_image, strlen(named[i].in_image)), 0);
        if (cgroup_rules_want(&rules, named[i].in_path, &names) != named[i].out ||
            cgroup_rules_may_want(&rules, named[i].in_path) != named[i].out_may)
            fail_msg("%zu: %s of %s", i, named[i].in_include[0], named[i].in_path);
    }
}

#define USER "/user.slice/user-1000.slice/user@1000.service"
#define POD "pod0a1b2c3d_1111_2222_3333_444455556666"

/*
 * Cgroups of units and containers, and cgroups with similar names. `out`: the built-in patterns match the cgroup.
 * `out_below`: they may match a cgroup inside it.
 */
static const struct {
    const char *in;
    bool out, out_below;
} builtin[] = {
    {"/", false, true},
    {"/system.slice", true, true},
    {"/system.slice/ssh.service", true, false},
    {"/system.slice/system-getty.slice/getty@tty1.service", true, false},
    {SCOPE, true, false},
    {SCOPE "/inner", false, false},
    {"/system.slice/nerdctl-" ID ".scope", true, false},
    {"/system.slice/cri-containerd-" ID ".scope", true, false},
    {"/system.slice/run-r0123.scope", false, false},
    {"/system.slice/crio-conmon-" ID ".scope", false, false},
    {"/machine.slice/libpod-" ID ".scope", true, false},
    {"/machine.slice/libpod-" ID ".scope/container", false, false},
    {"/machine.slice/libpod-conmon-" ID ".scope", false, false},
    {"/machine.slice/machine-libpod_pod_" ID ".slice", false, true},
    {"/machine.slice/machine-libpod_pod_" ID ".slice/libpod-" ID ".scope", true, false},
    {"/machine.slice/systemd-nspawn@web.service", true, false},
    {"/machine.slice/systemd-nspawn@web.service/payload", false, false},
    {"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", true, false},
    {"/machine/vm.libvirt-qemu", true, false},
    {"/user.slice", true, true},
    {"/user.slice/user-1000.slice", false, true},
    {"/user.slice/user-1000.slice/session-1.scope", false, false},
    {USER "/app.slice", false, false},
    {USER "/user.slice", false, true},
    {USER "/user.slice/libpod-" ID ".scope", true, false},
    {USER "/user.slice/libpod-" ID ".scope/container", false, false},
    {USER "/user.slice/libpod-conmon-" ID ".scope", false, false},
    {USER "/user.slice/podman-pause-0a1b2c3d.scope", false, false},
    {USER "/user.slice/podman-1234.scope", false, false},
    {USER "/user.slice/user-libpod_pod_" ID ".slice/libpod-" ID ".scope", true, false},
    {USER "/user.slice/docker-" ID ".scope", true, false},
    {"/kubepods.slice", true, true},
    {"/kubepods.slice/kubepods-" POD ".slice", false, true},
    {"/kubepods.slice/kubepods-" POD ".slice/cri-containerd-" ID ".scope", true, false},
    {"/kubepods.slice/kubepods-" POD ".slice/crio-" ID ".scope", true, false},
    {"/kubepods.slice/kubepods-" POD ".slice/crio-" ID ".scope/container", false, false},
    {"/kubepods.slice/kubepods-burstable.slice", false, true},
    {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" POD ".slice", false, true},
    {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" POD ".slice/cri-containerd-" ID ".scope", true,
     false},
    {"/kubepods/" POD "/" ID, true, false},
    {"/kubepods/besteffort/" POD, false, true},
    {"/kubepods/besteffort/" POD "/" ID, true, false},
    {"/kubepods/besteffort/" POD "/crio-conmon-" ID, false, false},
    {"/docker/" ID, true, false},
    {"/docker/" ID "/inner", false, false},
    {"/default/db", true, false},
    {"/libpod_parent/libpod-" ID, true, false},
    {"/libpod_parent/conmon", false, false},
    {"/lxc.payload.web", true, false},
    {"/lxc.payload.web/init.scope", false, false},
    {"/lxc.monitor.web", false, false},
    {"/lxc/web", true, false},
    {"/init.scope", false, false},
    {"/dev-hugepages.mount", false, false},
};

TEST(test_builtin)
{
    _cleanup_(config_freep) struct config *config = NULL;

    assert_int_equal(config_default(&config, NULL), 0);
    struct cgroup_rules rules = {
        .include = config->cgroup.include,
        .n_include = config->cgroup.n_include,
        .exclude = config->cgroup.exclude,
        .n_exclude = config->cgroup.n_exclude,
    };
    assert_false(cgroup_rules_use_names(&rules));
    for (size_t i = 0; i < ARRAY_SIZE(builtin); i++)
        if (cgroup_rules_want(&rules, builtin[i].in, NULL) != builtin[i].out ||
            cgroup_rules_want_below(&rules, builtin[i].in) != builtin[i].out_below)
            fail_msg("%s", builtin[i].in);
}

TEST(test_want_below)
{
    static const struct {
        const char *in_include[PATTERNS_MAX], *in_exclude[PATTERNS_MAX], *in_path;
        bool out;
    } below[] = {
        {{"/*.slice", "/system.slice/*.service"}, {0}, "/", true},
        {{"/*.slice", "/system.slice/*.service"}, {0}, "/system.slice", true},
        {{"/*.slice", "/system.slice/*.service"}, {0}, "/user.slice", false},
        {{"/*.slice", "/system.slice/*.service"}, {0}, "/system.slice/a.service", false},
        {{0}, {0}, "/", false},
        {{"/**"}, {"/a/**"}, "/a", false},
        {{"/**"}, {"/a/**"}, "/a/b", false},
        {{"/**"}, {"/a/**"}, "/ab", true},
        {{"/**"}, {"/b", "/a/**"}, "/a", false},
        {{"/**"}, {"/**"}, "/", false},
        {{"/**"}, {"/a"}, "/a", true}, /* the exclude pattern matches only /a itself */
        {{"/**"}, {"/a/*"}, "/a", true},
        {{"/**"}, {"/a/**.skip"}, "/a", true},
        {{"container=x"}, {0}, "/", true}, /* the container may be anywhere */
        {{"container=x"}, {0}, "/a/b/c", true},
        {{"container=x"}, {"/a/**"}, "/a", false},
        {{"/a"}, {"container=x"}, "/a", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
        struct cgroup_rules rules = rules_of(below[i].in_include, below[i].in_exclude);
        if (cgroup_rules_want_below(&rules, below[i].in_path) != below[i].out)
            fail_msg("%zu: below %s", i, below[i].in_path);
    }
}

/* The lowest limit determines how many cgroups fit. */
TEST(test_room)
{
    static const struct {
        struct cgroup_rules in;
        uint64_t out;
        bool out_wants_memory;
    } rooms[] = {
        {{.max_cgroups = 9}, 9, false},
        {{.max_cgroups = 9, .memory_budget = UINT64_MAX, .memory_per_cgroup = 2000}, 9, false},
        {{.max_cgroups = 9, .memory_budget = 5999, .memory_per_cgroup = 2000}, 2, true},
        {{.max_cgroups = 3, .memory_budget = 6000, .memory_per_cgroup = 2000}, 3, false},
        {{.max_cgroups = 9, .memory_budget = 0, .memory_per_cgroup = 2000}, 0, true},
        {{.max_cgroups = 9,
          .descriptor_budget = 8,
          .descriptors_per_cgroup = 4,
          .memory_budget = 6000,
          .memory_per_cgroup = 2000},
         2,
         false},
        {{.max_cgroups = 9,
          .descriptor_budget = 16,
          .descriptors_per_cgroup = 4,
          .memory_budget = 6000,
          .memory_per_cgroup = 2000},
         3,
         true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rooms); i++) {
        assert_int_equal(cgroup_rules_room(&rooms[i].in), rooms[i].out);
        assert_int_equal(cgroup_rules_want_memory(&rooms[i].in), rooms[i].out_wants_memory);
    }
}

static size_t needs_nothing(const struct collector_env *env)
{
    return 0;
}

static void write_number(const char *directory, const char *name, uint64_t number)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%llu\n", (unsigned long long)number);
    assert_int_equal(fclose(file), 0);
}

/*
 * Of a 20 MB limit, a fifth is kept free, and cgroups get half of the remaining free memory. Cgroups that are already
 * watched keep their memory.
 */
TEST(test_memory)
{
    static const struct cgroup_engine_type type = {.number = ENGINE_BPF, .needs = needs_nothing};
    char directory[] = "/tmp/perfcountd-budget.XXXXXX", command[64];
    struct memory_limit limit = {.path = directory, .mount_size = strlen("/tmp")};
    struct config config = {.cgroup.enabled = true};
    struct sys sys = {.memory = &limit};
    const struct collector_env env = {.sys = &sys, .config = &config};
    struct cgroup_rules rules = {0};
    struct cgroup_engine engine = {.type = &type};
    struct cgroup_counts counts = {.engine = &engine}, *watched[] = {&counts, &counts, &counts};

    assert_non_null(mkdtemp(directory));
    write_number(directory, "memory.max", 20 << 20);
    write_number(directory, "memory.current", 6 << 20);
    cgroup_budget_update(&rules, &env, &type, watched, 0);
    assert_true(rules.memory_budget == 5 << 20);
    assert_true(rules.memory_per_cgroup > 1024);
    write_number(directory, "memory.current", 19 << 20);
    cgroup_budget_update(&rules, &env, &type, watched, 0);
    assert_true(rules.memory_budget == 0);
    cgroup_budget_update(&rules, &env, &type, watched, 3);
    assert_int_equal(cgroup_rules_room(&(struct cgroup_rules){.max_cgroups = 9,
                                                              .memory_budget = rules.memory_budget,
                                                              .memory_per_cgroup = rules.memory_per_cgroup}),
                     3);
    sys.memory = NULL;
    cgroup_budget_update(&rules, &env, &type, watched, 0);
    assert_true(rules.memory_budget == UINT64_MAX);
    snprintf(command, sizeof(command), "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

TEST_MAIN(NULL, NULL)
