/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups of samples, and the cgroups that a request selects, on a simulated machine. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cgroups/lookup.h"
#include "cgroups/path.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define V2 "1 0 0:1 / /c rw - cgroup2 none rw\n"
#define V1 "1 0 0:1 / /c rw - cgroup none rw,perf_event\n"

struct machine {
    struct fake_sys *fake;
    struct cgroup_lookup *lookup;
};

static void make(const struct machine *machine, const char *path)
{
    char file[512];

    snprintf(file, sizeof(file), "/c%s/cgroup.procs", path);
    fake_file(machine->fake, file, "%s", "");
}

static struct machine begin(const char *mountinfo)
{
    struct machine machine = {.fake = fake_sys_new()};

    fake_file(machine.fake, "/proc/self/mountinfo", "%s", mountinfo);
    make(&machine, "");
    assert_int_equal(cgroup_lookup_new(&machine.fake->sys, &machine.lookup), 0);
    return machine;
}

static void end(struct machine *machine)
{
    cgroup_lookup_free(machine->lookup);
    fake_sys_free(machine->fake);
}

static uint64_t id_of(const struct machine *machine, const char *path)
{
    struct stat status;
    char file[512];

    snprintf(file, sizeof(file), "/c%s", path);
    assert_int_equal(stat(fake_path(machine->fake, file), &status), 0);
    return status.st_ino;
}

static void remove_cgroup(const struct machine *machine, const char *path)
{
    char file[512];

    snprintf(file, sizeof(file), "/c%s/cgroup.procs", path);
    unlink(fake_path(machine->fake, file));
    snprintf(file, sizeof(file), "/c%s", path);
    assert_int_equal(rmdir(fake_path(machine->fake, file)), 0);
}

static void set_process(const struct machine *machine, uint32_t pid, const char *text)
{
    char file[64];

    snprintf(file, sizeof(file), "/proc/%" PRIu32 "/cgroup", pid);
    fake_file(machine->fake, file, "%s", text);
}

/* Returns the path of a sample's cgroup, or "" if it is unknown. */
static const char *sample(const struct machine *machine, uint64_t id, uint32_t pid)
{
    const struct record record = {.type = PERF_RECORD_SAMPLE, .id = {.pid = pid}, .sample.cgroup = id};
    const struct found_cgroup *found = cgroup_lookup_sample(machine->lookup, &record);

    return found ? found->path : "";
}

static void told(const struct machine *machine, uint64_t id, const char *path)
{
    const struct record record = {.type = PERF_RECORD_CGROUP, .cgroup = {id, path}};

    cgroup_lookup_update(machine->lookup, &record);
}

TEST(test_ids)
{
    struct machine machine = begin(V2);

    make(&machine, "/a.slice/web.service");
    make(&machine, "/b");
    uint64_t web = id_of(&machine, "/a.slice/web.service"), b = id_of(&machine, "/b");
    /*
     * Process 10 is in web.service, so /proc names this cgroup. A sample in /b is from before the process moved, so all
     * directories are searched for the id of /b.
     */
    set_process(&machine, 10, "0::/a.slice/web.service\n");
    assert_string_equal(sample(&machine, web, 10), "/a.slice/web.service");
    assert_string_equal(sample(&machine, b, 10), "/b");
    assert_string_equal(sample(&machine, id_of(&machine, ""), 0), "/");
    /* An id that is not found is searched again after a second, then after two. */
    assert_string_equal(sample(&machine, UINT64_C(0xf0000000), 99), "");
    make(&machine, "/new");
    uint64_t new = id_of(&machine, "/new");
    assert_string_equal(sample(&machine, new, 99), ""); /* the last search was less than a second ago */
    fake_advance(machine.fake, 2 * NSEC_PER_SEC);
    assert_string_equal(sample(&machine, new, 99), "/new");
    /* A removed cgroup stays known. */
    remove_cgroup(&machine, "/a.slice/web.service");
    assert_string_equal(sample(&machine, web, 99), "/a.slice/web.service");
    /* The kernel's records name cgroups that may be removed before they are looked up. */
    told(&machine, UINT64_C(0xf1000000), "/short");
    assert_string_equal(sample(&machine, UINT64_C(0xf1000000), 99), "/short");
    end(&machine);
}

/* In a cgroup namespace, the paths in the kernel's records are relative to another root, so they are not used. */
TEST(test_namespace)
{
    struct machine machine = begin("1 0 0:1 /docker/1 /c rw - cgroup2 none rw\n");

    told(&machine, UINT64_C(0xf1000000), "/docker/1/a");
    assert_string_equal(sample(&machine, UINT64_C(0xf1000000), 99), "");
    set_process(&machine, 10, "0::/../outside\n");
    assert_string_equal(sample(&machine, 0, 10), "");
    end(&machine);
}

TEST(test_processes)
{
    static const struct {
        const char *in_mounts, *in, *out;
    } cases[] = {
        {V2, "0::/a:b\n", "/a:b"},
        {V2, "12:perf_event:/b\n0::/a:b\n", "/a:b"},
        {V2, "12:perf_event:/b\n", ""},
        {V1, "3:cpu,perf_event:/b\n0::/a:b\n", "/b"},
        {V1, "3:xperf_event,perf_events:/b\n0::/a:b\n", ""},
        {V2, "0::/gone (deleted)\n", ""},
        {V2, "0:\n::\n0::a\n0::/a:b", "/a:b"},
        {V2, "", ""},
        {"", "0::/a:b\n", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct machine machine = begin(cases[i].in_mounts);
        make(&machine, "/a:b");
        make(&machine, "/b");
        set_process(&machine, 10, cases[i].in);
        print_message("%s", cases[i].in);
        assert_string_equal(sample(&machine, 0, 10), cases[i].out);
        end(&machine);
    }
}

/*
 * Without cgroup ids, the cgroup of a process is read once, and again after exec(2), after 10 seconds, and when its pid
 * is reused.
 */
TEST(test_process_changes)
{
    struct machine machine = begin(V2);
    const struct record executes = {
        .type = PERF_RECORD_COMM, .misc = PERF_RECORD_MISC_COMM_EXEC, .comm = {.pid = 10, .tid = 10, .comm = "x"}};
    const struct record forks = {.type = PERF_RECORD_FORK, .task = {.pid = 10, .tid = 10}};

    make(&machine, "/a");
    make(&machine, "/b");
    set_process(&machine, 10, "0::/a\n");
    assert_string_equal(sample(&machine, 0, 10), "/a");
    set_process(&machine, 10, "0::/b\n");
    assert_string_equal(sample(&machine, 0, 10), "/a");
    cgroup_lookup_update(machine.lookup, &executes);
    assert_string_equal(sample(&machine, 0, 10), "/b");
    set_process(&machine, 10, "0::/a\n");
    cgroup_lookup_update(machine.lookup, &forks);
    assert_string_equal(sample(&machine, 0, 10), "/a");
    set_process(&machine, 10, "0::/b\n");
    fake_advance(machine.fake, 11 * NSEC_PER_SEC);
    assert_string_equal(sample(&machine, 0, 10), "/b");
    /* A process that has ended keeps its last cgroup. */
    unlink(fake_path(machine.fake, "/proc/10/cgroup"));
    fake_advance(machine.fake, 11 * NSEC_PER_SEC);
    assert_string_equal(sample(&machine, 0, 10), "/b");
    assert_string_equal(sample(&machine, 0, 10 + 1024), "");
    assert_string_equal(sample(&machine, 0, UINT32_MAX), "");
    end(&machine);
}

TEST(test_bound)
{
    struct machine machine = begin(V2);
    char path[4000];
    const struct record first = {.type = PERF_RECORD_SAMPLE, .sample.cgroup = UINT64_C(0xf0000000)};

    told(&machine, UINT64_C(0xf0000000), "/kept");
    struct found_cgroup *kept = found_cgroup_ref(cgroup_lookup_sample(machine.lookup, &first));
    for (size_t size = 10; size < sizeof(path); size += 3000)
        for (uint64_t i = 1; i <= 10000; i++) {
            snprintf(path, sizeof(path), "/%0*" PRIu64, (int)size, i);
            told(&machine, UINT64_C(0xf0000000) + i, path);
            assert_true(cgroup_lookup_bytes(machine.lookup) <= LOOKUP_BYTES_MAX + ((size_t)64 << 10));
        }
    assert_string_equal(sample(&machine, UINT64_C(0xf0000000) + 10000, 0), path);
    assert_string_equal(sample(&machine, UINT64_C(0xf0000000), 0), "");
    assert_string_equal(kept->path, "/kept"); /* a reference keeps the cgroup's entry alive */
    found_cgroup_unref(kept);
    end(&machine);
}

/* --- selecting cgroups by path and name --- */

/*
 * Names the cgroups of two pods in the namespace "shop": /k/pod1 is "one" with the container "web", /k/pod2 is "two".
 */
static int name(void *userdata, const char *path, struct names *names)
{
    const char *pod = strstr(path, "/k/pod");
    int r = names_from_path(names, path);

    (void)userdata;
    if (r < 0 || !pod)
        return r;
    r = names_set(names, NAME_NAMESPACE, "shop", 4);
    if (r == 0)
        r = names_set(names, NAME_POD, pod[6] == '1' ? "one" : "two", 3);
    if (r == 0 && strstr(path, "/web"))
        r = names_set(names, NAME_CONTAINER, "web", 3);
    names->is_pause = strstr(path, "/pause");
    return r;
}

TEST(test_selectors)
{
    static const struct {
        struct cgroup_selector in;
        const char *out; /* the paths that are found, or the error message */
    } cases[] = {
        {{.cgroup = "web.service"}, "/s.slice/web.service"},
        {{.cgroup = "/s.slice/w*"}, "/s.slice/web.service"},
        {{.cgroup = "/lit*"}, "/lit*"}, /* an existing path is not a pattern, so /literal is not found */
        {{.cgroup = "*.slice"}, "/s.slice"},
        {{.names[NAME_UNIT] = "web.service"}, "/s.slice/web.service"},
        {{.names[NAME_CONTAINER] = "w*"}, "/k/pod1/web,/k/pod2/web"},
        {{.names[NAME_CONTAINER] = "web", .names[NAME_POD] = "two"}, "/k/pod2/web"},
        {{.names[NAME_NAMESPACE] = "shop"}, "/k/pod1,/k/pod2"},
        {{.cgroup = "pod1", .names[NAME_NAMESPACE] = "shop"}, "/k/pod1"},
        {{.cgroup = "pause", .names[NAME_POD] = "one"}, "pause and pod=one matches no cgroup"},
        {{.names[NAME_UNIT] = "a\x1b"}, "unit=a\\x1b matches no cgroup"},
        {{.cgroup = "a["}, "parameter \"cgroup\": \"[\" has no \"]\"; write \"\\[\" for the character itself"},
        {{.names[NAME_POD] = "a\\"}, "parameter \"pod\": "},
    };
    struct machine machine = begin(V2);

    make(&machine, "/s.slice/web.service/inner");
    make(&machine, "/lit*");
    make(&machine, "/literal");
    make(&machine, "/k/pod1/web/inner");
    make(&machine, "/k/pod1/pause");
    make(&machine, "/k/pod2/web");
    cgroup_lookup_set_namer(machine.lookup, name, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(buffer_done) struct buffer shown = {0};
        char **paths = NULL;
        size_t n = 0;
        struct error error = {0};
        int r = cgroup_lookup_find(machine.lookup, &cases[i].in, false, &paths, &n, &error);
        for (size_t k = 0; k < n; k++)
            buffer_appendf(&shown, "%s%s", k ? "," : "", paths[k]);
        buffer_append_text(&shown, error.message);
        buffer_append_char(&shown, '\0');
        print_message("%s\n", shown.data);
        assert_int_equal(strncmp(shown.data, cases[i].out, strlen(cases[i].out)), 0);
        assert_int_equal(r, n ? 0 : str_starts(cases[i].out, "parameter") ? -EINVAL : -ENOENT);
        strings_free(paths, n);
    }
    end(&machine);
}

static int count_id(void *userdata, uint64_t id)
{
    (void)id;
    ++*(size_t *)userdata;
    return 0;
}

/* A search that includes the past also finds removed cgroups, but no cgroup inside another one that it finds. */
TEST(test_removed)
{
    struct machine machine = begin(V2);
    const struct cgroup_selector all = {.cgroup = "/s/**"}, one = {.cgroup = "web"};
    struct error error = {0};
    char **paths;
    size_t n;

    make(&machine, "/s/now/inner");
    told(&machine, UINT64_C(0xf0000000), "/s/gone/inner");
    told(&machine, UINT64_C(0xf0000000) + 1, "/s/gone");
    told(&machine, UINT64_C(0xf0000000) + 2, "/s/now/gone");
    told(&machine, UINT64_C(0xf0000000) + 3, "/s/gone-too");
    assert_int_equal(cgroup_lookup_find(machine.lookup, &all, false, &paths, &n, &error), 0);
    assert_int_equal(n, 1);
    strings_free(paths, n);
    assert_int_equal(cgroup_lookup_find(machine.lookup, &one, true, &paths, &n, &error), -ENOENT);
    assert_int_equal(cgroup_lookup_find(machine.lookup, &all, true, &paths, &n, &error), 0);
    assert_int_equal(n, 3);
    assert_string_equal(paths[0], "/s/gone");
    assert_string_equal(paths[1], "/s/gone-too");
    assert_string_equal(paths[2], "/s/now");
    strings_free(paths, n);
    n = 0;
    assert_int_equal(cgroup_lookup_ids(machine.lookup, "/s/gone", count_id, &n), 0);
    assert_int_equal(n, 2);
    assert_true(cgroup_lookup_knows(machine.lookup, "/s/gone"));
    assert_false(cgroup_lookup_knows(machine.lookup, "/s"));
    end(&machine);
}

TEST(test_several)
{
    static char *paths[] = {(char *)"/a", (char *)"/b\n", (char *)"/c", (char *)"/d", (char *)"/e"};
    const struct cgroup_selector selector = {.names[NAME_NAMESPACE] = "shop"};
    struct error error;

    assert_int_equal(cgroup_selector_refuse_several(&selector, paths, 2, &error), -EINVAL);
    assert_string_equal(error.message,
                        "namespace=shop matches 2 cgroups: /a, /b\\x0a; name one cgroup; those inside it "
                        "are included");
    assert_int_equal(cgroup_selector_refuse_several(&selector, paths, 5, &error), -EINVAL);
    assert_non_null(strstr(error.message, "matches 5 cgroups, such as /a, /b\\x0a, /c, /d; name one"));
}

TEST_MAIN(NULL, NULL)
