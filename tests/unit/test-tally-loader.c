/* SPDX-License-Identifier: Apache-2.0 */
/* A tally on this machine: the program is loaded into the running kernel, counts a cgroup, and is gone afterwards. */
#include "perf/tally/loader.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/descriptors.h"
#include "tests/unit/tally-rig.h"
#include "tests/unit/test.h"

#define DEADLINE_MS 5000

/* Some machines do not show every switch; then part of it is in the slot of the unknown. */
static void expect_faults(const struct tally_rig *rig, uint32_t slot, uint64_t n, uint64_t more)
{
    assert_int_equal(rig->sys.tally->flush((struct sys *)&rig->sys), 0);
    uint64_t faults = tally_rig_sum_slot(rig, slot, 1), unknown = tally_rig_sum_slot(rig, TALLY_SLOT_UNKNOWN, 1);
    if (faults + unknown < n || faults > n + more)
        fail_msg("%u faults of %u, and %u unknown", (unsigned)faults, (unsigned)n, (unsigned)unknown);
}

static void test_slots(void **state)
{
    struct tally_rig rig;

    (void)state;
    tally_rig_init(&rig);
    tally_rig_attach(&rig, true);
    tally_rig_count(&rig, true);
    tally_rig_run(&rig);
    expect_faults(&rig, SLOT, PAGES, 200);
    uint64_t faults = tally_rig_sum_slot(&rig, SLOT, 1);
    assert_int_equal(rig.sys.tally->withdraw(&rig.sys, rig.id), 0);
    assert_int_equal(rig.sys.tally->withdraw(&rig.sys, rig.id), -ENOENT);
    tally_rig_run(&rig);
    expect_faults(&rig, TALLY_SLOT_ROOT, PAGES, UINT32_MAX);
    assert_int_equal(tally_rig_sum_slot(&rig, SLOT, 1), faults);
    tally_rig_done(&rig);
}

static void expect_sums(const struct tally_rig *rig, uint64_t before[CPUS_MAX][WORDS])
{
    for (unsigned cpu = 0; cpu < rig->shape.cpus; cpu++) {
        uint64_t words[WORDS];
        tally_rig_read(rig, cpu, words);
        for (unsigned i = 0; i < WORDS; i++) {
            before[cpu][i] += words[i];
            assert_int_equal(tally_rig_sum_cpu(rig, cpu, i), before[cpu][i]);
        }
    }
}

/* Nothing is lost or counted twice where the tally is detached, and where a CPU gets other counters. */
static void test_sums(void **state)
{
    static uint64_t counted[CPUS_MAX][WORDS];
    struct tally_rig rig;

    (void)state;
    tally_rig_init(&rig);
    for (int round = 0; round < 3; round++) {
        tally_rig_attach(&rig, true);
        tally_rig_count(&rig, true);
        tally_rig_run(&rig);
        tally_rig_count(&rig, false);
        if (round != 1)
            tally_rig_attach(&rig, false);
        if (round == 2)
            break;
        tally_rig_run(&rig);
        if (round == 1)
            tally_rig_set_cpus(&rig); /* by which an attached tally takes what was counted */
        expect_sums(&rig, counted);
        tally_rig_reopen(&rig);
        tally_rig_set_cpus(&rig);
    }
    expect_sums(&rig, counted);
    expect_faults(&rig, SLOT, 3 * PAGES, 600);
    tally_rig_done(&rig);
}

/* A second tally takes over when it is attached; the slots of the first stand still then. */
static void test_replaced(void **state)
{
    struct tally_rig rig;

    (void)state;
    tally_rig_init(&rig);
    tally_rig_attach(&rig, true);
    tally_rig_count(&rig, true);
    struct tally_rig first = rig;
    tally_rig_start(&rig);
    tally_rig_set_cpus(&rig);
    tally_rig_run(&rig);
    expect_faults(&first, SLOT, PAGES, 200);
    tally_rig_assign(&rig);
    tally_rig_attach(&rig, true);
    uint64_t before = tally_rig_sum_slot(&first, SLOT, 1);
    assert_int_equal(tally_rig_sum_slot(&rig, SLOT, 1), 0);
    tally_rig_run(&rig);
    expect_faults(&rig, SLOT, PAGES, 200);
    assert_int_equal(tally_rig_sum_slot(&first, SLOT, 1), before);
    tally_rig_stop(&first);
    tally_rig_done(&rig);
}

static int map_call(enum bpf_cmd command, int map)
{
    uint32_t key = 0;
    uint64_t value[sizeof(struct tally_record) / sizeof(uint64_t)] = {0};
    union bpf_attr attr = {.map_fd = (uint32_t)map};

    if (command == BPF_MAP_UPDATE_ELEM) {
        attr.key = (uintptr_t)&key;
        attr.value = (uintptr_t)value;
    }
    return syscall(SYS_bpf, command, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static void expect_frozen(int map)
{
    assert_int_equal(map_call(BPF_MAP_UPDATE_ELEM, map), -EPERM);
    assert_int_equal(map_call(BPF_MAP_FREEZE, map), -EPERM);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0), MAP_FAILED);
    assert_int_equal(errno, EPERM);
    void *readable = mmap(NULL, 4096, PROT_READ, MAP_SHARED, map, 0);
    assert_ptr_not_equal(readable, MAP_FAILED);
    assert_int_equal(mprotect(readable, 4096, PROT_READ | PROT_WRITE), -1);
    munmap(readable, 4096);
}

static void test_frozen(void **state)
{
    struct tally_rig rig;

    (void)state;
    tally_rig_init(&rig);
    expect_frozen(rig.maps.counts);
    expect_frozen(rig.maps.records);
    tally_rig_done(&rig);
}

static void test_refusals(void **state)
{
    struct tally_rig rig;
    uint64_t id = 0;
    int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    tally_rig_init(&rig);
    const struct tally_calls *calls = rig.sys.tally;
    assert_int_equal(calls->assign(&rig.sys, root, SLOT, &id), -EOPNOTSUPP);
    assert_int_equal(calls->assign(&rig.sys, rig.cgroup_fd, TALLY_SLOT_UNKNOWN, &id), -EINVAL);
    assert_int_equal(calls->assign(&rig.sys, rig.cgroup_fd, SLOTS, &id), -EINVAL);
    assert_int_equal(calls->set_cpu(&rig.sys, rig.shape.cpus, tally_rig_events, rig.fds[0]), -EINVAL);
    assert_int_equal(calls->set_cpu(&rig.sys, 0, tally_rig_events, (const int[]){root, root}), -EBADF);
    calls->stop(&rig.sys);
    assert_int_equal(calls->attach(&rig.sys, true), -EINVAL);
    assert_int_equal(calls->flush(&rig.sys), -EINVAL);
    assert_int_equal(calls->withdraw(&rig.sys, rig.id), -ENOENT);
    assert_int_equal(id, 0);
    close(root);
    tally_rig_done(&rig);
}

/* A tally has 7 descriptors, and 2 more while it is attached. */
static void test_descriptors(void **state)
{
    struct tally_rig rig;
    struct descriptors descriptors;
    struct error error = {0};

    (void)state;
    tally_rig_init(&rig);
    rig.sys.tally->stop(&rig.sys);
    tally_rig_stop(&rig);
    descriptors_attach(&descriptors, &rig.sys, &(struct descriptor_limits){.counting = 6});
    assert_int_equal(rig.sys.tally->start(&rig.sys, &rig.shape, &rig.maps, &error), -EMFILE);
    assert_true(str_starts(error.message, "the limit of open files leaves no room for the program"));
    assert_int_equal(descriptors.n_counting, 0);
    descriptors.limits.counting = 8;
    tally_rig_start(&rig);
    assert_int_equal(rig.sys.tally->attach(&rig.sys, true), -EMFILE);
    assert_int_equal(descriptors.n_counting, 7);
    descriptors.limits.counting = 9;
    tally_rig_attach(&rig, true);
    assert_int_equal(descriptors.n_counting, 9);
    rig.sys.tally->stop(&rig.sys);
    assert_int_equal(descriptors.n_counting, 0);
    descriptors_done(&descriptors, &rig.sys);
    tally_rig_done(&rig);
}

/* A process that is killed leaves nothing */

static uint32_t map_id(int map)
{
    struct bpf_map_info info = {0};
    union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)map, .info_len = sizeof(info), .info = (uintptr_t)&info}};

    assert_int_equal(syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)), 0);
    return info.id;
}

static bool map_is_there(uint32_t id)
{
    union bpf_attr attr = {.map_id = id};
    int map = (int)syscall(SYS_bpf, BPF_MAP_GET_FD_BY_ID, &attr, sizeof(attr));

    if (map < 0)
        return false;
    close(map);
    return true;
}

/* The program holds its maps: where they are gone, so is the program. The kernel frees them a moment later. */
static void test_killed(void **state)
{
    struct tally_rig rig;

    (void)state;
    tally_rig_init(&rig);
    tally_rig_attach(&rig, true);
    uint32_t id = map_id(rig.maps.counts);
    pid_t pid = fork(); /* the child has all of it, too */
    if (pid == 0) {
        pause();
        _exit(1);
    }
    tally_rig_done(&rig);
    bool outlives = map_is_there(id);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(outlives);
    for (int ms = 0; ms < DEADLINE_MS && map_is_there(id); ms++)
        usleep(1000);
    assert_false(map_is_there(id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_slots, tally_rig_teardown),
        cmocka_unit_test_teardown(test_sums, tally_rig_teardown),
        cmocka_unit_test_teardown(test_replaced, tally_rig_teardown),
        cmocka_unit_test_teardown(test_frozen, tally_rig_teardown),
        cmocka_unit_test_teardown(test_refusals, tally_rig_teardown),
        cmocka_unit_test_teardown(test_descriptors, tally_rig_teardown),
        cmocka_unit_test_teardown(test_killed, tally_rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
