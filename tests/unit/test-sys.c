/* SPDX-License-Identifier: Apache-2.0 */
/* System calls, the descriptors reserved for counting and sampling, and the simulated kernel of the other tests. */
#include <sys/stat.h>

#include "base/cleanup.h"
#include "perf/sys.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

static int setup(void **state)
{
    *state = fake_sys_new();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    fake_sys_free(*state);
    return 0;
}

/* struct sys on the real machine: files and directories below a root directory, and system call errors as -errno. */

TEST_WITH(test_read_file, setup, teardown)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""}, {"\n", ""}, {"0-3\n", "0-3"}, {"a\nb\n\n", "a\nb"}, {" kept ", " kept "},
    };
    struct fake_sys *fake = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(freep) char *text = NULL;
        fake_file(fake, "/sys/x/y", "%s", cases[i].in);
        assert_int_equal(sys_read_file(&fake->sys, "/sys/x/y", &text), 0);
        assert_string_equal(text, cases[i].out);
    }
}

TEST_WITH(test_read_file_errors, setup, teardown)
{
    struct fake_sys *fake = *state;
    char *untouched = (char *)"untouched", large[70 * 1024];

    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    fake_file(fake, "/sys/large", "%s", large);
    assert_int_equal(sys_read_file(&fake->sys, "/sys/none", &untouched), -ENOENT);
    assert_int_equal(sys_read_file(&fake->sys, "/sys", &untouched), -EISDIR);
    assert_int_equal(sys_read_file(&fake->sys, "/sys/large", &untouched), -EFBIG);
    assert_int_equal(sys_read_file(&fake->sys, large, &untouched), -ENAMETOOLONG);
    assert_int_equal(sys_read_filef(&fake->sys, &untouched, "/%s", large), -ENAMETOOLONG);
    assert_string_equal(untouched, "untouched");
}

TEST_WITH(test_list_directory, setup, teardown)
{
    struct fake_sys *fake = *state;
    char **names = NULL;
    size_t n = 0;

    fake_file(fake, "/sys/d/c", "x");
    fake_file(fake, "/sys/d/a/x", "x");
    fake_file(fake, "/sys/d/.hidden", "x");
    assert_int_equal(sys_list_directory(&fake->sys, "/sys/none", &names, &n), -ENOENT);
    assert_int_equal(sys_list_directory(&fake->sys, "/sys/d/c", &names, &n), -ENOTDIR);
    assert_null(names);
    assert_int_equal(sys_list_directory(&fake->sys, "/sys/d", &names, &n), 0);
    assert_int_equal(n, 2);
    assert_string_equal(names[0], "a");
    assert_string_equal(names[1], "c");
    strings_free(names, n);
    strings_free(NULL, 0);
}

TEST(test_real_machine)
{
    struct sys sys;
    struct perf_event_attr attr = {.type = UINT32_MAX, .size = 1};
    char byte;

    sys_init(&sys);
    assert_string_equal(sys.root, "");
    assert_true(sys_now(&sys, CLOCK_MONOTONIC) > 0);
    assert_int_equal(sys_read(&sys, -1, &byte, 1), -EBADF);
    if (runs_emulated())
        leave_out("ioctl(2) of perf events under qemu");
    else
        assert_int_equal(sys_ioctl(&sys, -1, PERF_EVENT_IOC_ENABLE, 0), -EBADF);
    assert_int_equal(sys_close(&sys, -1), -EBADF);
    /* The size causes E2BIG, unless a sandbox refuses the call altogether. */
    assert_true(sys_perf_event_open(&sys, &attr, 0, -1, -1, 0) < 0);
    assert_true(sys_mount_tracefs(&sys, "/does/not/exist") < 0);
}

TEST(test_time_namespace)
{
    static const struct {
        const char *in;
        int64_t out_ns;
    } cases[] = {
        {"", 0},
        {"boottime 5 0", 0},
        {"monotonic           0         0\nboottime            0         0", 0},
        {"monotonic        -100       500\nboottime            7         0\n", -100 * (int64_t)NSEC_PER_SEC + 500},
        {"boottime            7         0\nmonotonic          20 999999999", 20999999999},
    };
    struct fake_sys *fake = fake_sys_new();

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(sys_parse_monotonic_offset(cases[i].in), cases[i].out_ns);
        fake->sys.monotonic_offset_ns = cases[i].out_ns;
        assert_int_equal(sys_now(&fake->sys, CLOCK_MONOTONIC) - sys_record_now(&fake->sys), cases[i].out_ns);
    }
    fake_sys_free(fake);
}

/* How descriptors are divided between counting and sampling. */

#define GROUP_MAX 6

struct rig {
    struct fake_sys *fake;
    struct descriptors descriptors;
};

static void rig_init(struct rig *rig, struct descriptor_limits limits)
{
    *rig = (struct rig){.fake = fake_machine_no_pmu()};
    descriptors_attach(&rig->descriptors, &rig->fake->sys, &limits);
}

static void rig_done(struct rig *rig)
{
    descriptors_done(&rig->descriptors, &rig->fake->sys);
    assert_null(rig->fake->sys.descriptors);
    assert_int_equal(rig->fake->n_open, 0);
    fake_sys_free(rig->fake);
}

/*
 * Opens a group of `n` events. The machine lacks the event `absent`, unless that is -1. Returns how many were opened.
 */
static size_t open_group(struct rig *rig, size_t n, bool samples, bool whole, int absent, int fds[GROUP_MAX])
{
    struct perf_event_attr attrs[GROUP_MAX] = {{0}};
    size_t opened = 0;

    for (size_t i = 0; i < n; i++)
        attrs[i] = (struct perf_event_attr){
            .size = sizeof(attrs[i]),
            .type = (int)i == absent ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
            .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
            .sample_type = samples && i == 0 ? PERF_SAMPLE_IP : 0,
            .disabled = 1,
        };
    struct sys_group group = {.attrs = attrs, .n = n, .pid = -1, .cpu = 0, .leader = -1, .whole = whole};
    sys_open_group(&rig->fake->sys, &group, fds);
    for (size_t i = 0; i < n; i++)
        opened += fds[i] >= 0;
    return opened;
}

static void close_all(struct rig *rig, int *fds, size_t n)
{
    while (n-- > 0)
        if (fds[n] >= 0)
            sys_close(&rig->fake->sys, fds[n]);
}

static const struct {
    const char *name;
    struct descriptor_limits in_limits;
    size_t in_counting, in_sampling; /* descriptors that are already open */
    size_t in_n;
    bool in_samples, in_whole;
    int in_absent;
    size_t out_opened;
    int out_last; /* error of the last event; 0: it was opened */
} cases[] = {
    {"fits", {4, 0}, 0, 0, 4, false, true, -1, 4, 0},
    {"no descriptor is left for the last event", {4, 0}, 1, 0, 4, false, false, -1, 3, -EMFILE},
    {"a group that must be opened whole has one event too many", {4, 0}, 1, 0, 4, false, true, -1, 3, -EMFILE},
    {"no descriptors for counting", {0, 8}, 0, 0, 2, false, true, -1, 0, -EMFILE},
    {"an event that the machine lacks needs no descriptor", {2, 0}, 0, 0, 3, false, false, 0, 2, 0},
    {"no descriptors for sampling", {8, 0}, 0, 0, 1, true, true, -1, 0, -EMFILE},
    {"sampling uses the descriptors reserved for it", {4, 2}, 4, 0, 2, true, true, -1, 2, 0},
    {"sampling uses descriptors that counting leaves free", {4, 2}, 1, 2, 3, true, true, -1, 3, 0},
    {"counting does not use descriptors reserved for sampling", {4, 2}, 4, 0, 1, false, true, -1, 0, -EMFILE},
    {"counting cannot use descriptors that sampling has taken", {4, 2}, 1, 4, 2, false, false, -1, 1, -EMFILE},
    {"more descriptors are open than permitted", {0, 1}, 0, 1, 1, false, true, -1, 0, -EMFILE},
};

TEST(test_limits)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int counting[GROUP_MAX], sampling[GROUP_MAX], fds[GROUP_MAX];
        _cleanup_(rig_done) struct rig rig;

        print_message("%s\n", cases[i].name);
        rig_init(&rig, cases[i].in_limits);
        assert_int_equal(open_group(&rig, cases[i].in_counting, false, true, -1, counting), cases[i].in_counting);
        assert_int_equal(open_group(&rig, cases[i].in_sampling, true, true, -1, sampling), cases[i].in_sampling);
        unsigned before = rig.fake->n_open;
        assert_int_equal(
            open_group(&rig, cases[i].in_n, cases[i].in_samples, cases[i].in_whole, cases[i].in_absent, fds),
            cases[i].out_opened);
        assert_int_equal(MIN(fds[cases[i].in_n - 1], 0), cases[i].out_last);
        assert_int_equal(rig.fake->n_open, before + cases[i].out_opened);
        close_all(&rig, fds, cases[i].in_n);
        close_all(&rig, sampling, cases[i].in_sampling);
        close_all(&rig, counting, cases[i].in_counting);
        assert_int_equal(rig.descriptors.n_counting, 0);
        assert_int_equal(rig.descriptors.n_sampling, 0);
    }
}

/*
 * Descriptors that were opened elsewhere are either all counted towards the limit, or all refused if there is no room.
 */
TEST(test_keep)
{
    _cleanup_(rig_done) struct rig rig;
    int fds[3], more[GROUP_MAX];

    rig_init(&rig, (struct descriptor_limits){.counting = 3});
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = sys_open_file(&rig.fake->sys, "/proc", 0);
    assert_int_equal(open_group(&rig, 1, false, false, -1, more), 1);
    assert_int_equal(descriptors_keep(&rig.fake->sys, fds, 3), -EMFILE);
    assert_int_equal(rig.descriptors.n_counting, 1);
    close_all(&rig, more, 1);
    assert_int_equal(descriptors_keep(&rig.fake->sys, fds, 3), 0);
    assert_int_equal(rig.descriptors.n_counting, 3);
    assert_int_equal(open_group(&rig, 1, false, false, -1, more), 0);
    close_all(&rig, fds, 3);
    assert_int_equal(rig.descriptors.n_counting, 0);
}

/*
 * A kept file stays open if there is a descriptor for it. Each read returns its current content, and the file is
 * reopened after a failure.
 */
TEST(test_kept_file)
{
    static const struct {
        uint64_t in_room, out_counting;
    } rooms[] = {{1, 1}, {0, 0}};

    for (size_t i = 0; i < ARRAY_SIZE(rooms); i++) {
        _cleanup_(rig_done) struct rig rig;
        _cleanup_(buffer_done) struct buffer text = {0};
        struct kept_file file = {0};
        char large[9000];
        rig_init(&rig, (struct descriptor_limits){.counting = rooms[i].in_room});
        struct sys *sys = &rig.fake->sys;
        assert_int_equal(kept_file_read(sys, &file, "/sys/x", 100, &text), -ENOENT);
        fake_file(rig.fake, "/sys/x", "first\n");
        assert_int_equal(kept_file_read(sys, &file, "/sys/x", 100, &text), 0);
        assert_string_equal(text.data, "first\n");
        assert_int_equal(text.size, 6);
        assert_int_equal(file.fd > 0, rooms[i].out_counting);
        assert_int_equal(rig.descriptors.n_counting, rooms[i].out_counting);
        memset(large, 'x', sizeof(large) - 1);
        large[sizeof(large) - 1] = '\0';
        fake_file(rig.fake, "/sys/x", "%s", large);
        assert_int_equal(kept_file_read(sys, &file, "/sys/x", sizeof(large), &text), 0);
        assert_string_equal(text.data, large);
        assert_int_equal(kept_file_read(sys, &file, "/sys/x", 100, &text), -EFBIG);
        assert_int_equal(file.fd, 0);
        assert_int_equal(rig.descriptors.n_counting, 0);
        fake_file(rig.fake, "/sys/x", "%s", "");
        assert_int_equal(kept_file_read(sys, &file, "/sys/x", 100, &text), 0);
        assert_string_equal(text.data, "");
        kept_file_close(sys, &file);
        assert_int_equal(rig.descriptors.n_counting, 0);
    }
}

TEST(test_room)
{
    int fds[GROUP_MAX];
    _cleanup_(rig_done) struct rig rig;

    rig_init(&rig, (struct descriptor_limits){.counting = 6, .sampling = 1});
    struct sys *sys = &rig.fake->sys;
    assert_int_equal(descriptors_room(sys, 0), 6);
    assert_int_equal(open_group(&rig, 4, false, true, -1, fds), 4);
    assert_int_equal(descriptors_room(sys, 0), 2);
    assert_int_equal(descriptors_room(sys, 3), 5);
    assert_int_equal(descriptors_room(sys, 9), 6);
    rig.descriptors.limits.counting = 1;
    assert_int_equal(descriptors_room(sys, 2), 0);
    close_all(&rig, fds, 4);
    descriptors_done(&rig.descriptors, sys);
    assert_int_equal(descriptors_room(sys, 0), UINT64_MAX);
    descriptors_done(&rig.descriptors, sys);
}

/*
 * The leader of a cgroup's group is opened disabled. If early_leaders is set, as on some kernels, the leader is enabled
 * before its siblings are opened.
 */
TEST(test_early_leader)
{
    enum { CGROUP = 7 };
    const struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES};
    struct perf_event_attr attrs[] = {attr, attr};
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_no_pmu();
    struct sys *sys = &fake->sys;
    const struct {
        bool in_early, in_paused, out_counts;
    } leaders[] = {{false, false, false}, {true, false, true}, {true, true, false}};

    fake_rate(fake, (struct fake_rate){.type = attr.type, .config = attr.config, .count = 1, .ns = 1});
    for (size_t i = 0; i < ARRAY_SIZE(leaders); i++) {
        uint64_t reading = 0;
        int fds[2];
        sys->early_leaders = leaders[i].in_early;
        attrs[0].disabled = attrs[1].disabled = leaders[i].in_paused;
        sys_open_group(
            sys,
            &(struct sys_group){
                .attrs = attrs, .n = 2, .pid = CGROUP, .cpu = 0, .leader = -1, .flags = PERF_FLAG_PID_CGROUP},
            fds);
        assert_true(fake_attr(fake, fds[0])->disabled);
        assert_false(fake_attr(fake, fds[1])->disabled);
        fake_cgroup_run(fake, CGROUP, 0, 5);
        assert_int_equal(sys_read(sys, fds[0], &reading, sizeof(reading)), sizeof(reading));
        assert_int_equal(reading, leaders[i].out_counts ? 5 : 0);
        sys_close(sys, fds[1]);
        sys_close(sys, fds[0]);
    }
    fake_fail(fake, (struct fake_failure){.call = FAKE_IOCTL, .error = EIO});
    sys->early_leaders = true;
    attrs[0].disabled = 0;
    int fd;
    sys_open_group(sys,
                   &(struct sys_group){
                       .attrs = attrs, .n = 1, .pid = CGROUP, .cpu = 0, .leader = -1, .flags = PERF_FLAG_PID_CGROUP},
                   &fd);
    assert_int_equal(fd, -EIO);
    assert_int_equal(fake->n_open, 0);
}

TEST_MAIN(NULL, NULL)
