/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a tally in the running kernel: what the verifier takes, and what each source of an event gives. */
#include "perf/tally/object.h"

#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/tally-rig.h"
#include "tests/unit/test.h"

static void test_object(void **state)
{
    void *object;
    size_t size;

    (void)state;
    assert_int_equal(tally_object_make(&object, &size), 0);
    const Elf64_Ehdr *header = object;
    assert_true(size > sizeof(*header) && header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr) == size);
    assert_memory_equal(header->e_ident, ((const char[]){ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB}),
                        6);
    assert_int_equal(header->e_machine, EM_BPF);
    free(object);
}

/* The verifier sees the shape as constants, so that each is a program of its own to it. */
static void test_shapes(void **state)
{
    static const struct tally_shape shapes[] = {
        {.events = 1, .groups = 1},
        {.events = 6, .groups = 2},
        {.events = TALLY_EVENTS_MAX, .groups = 1},
        {.events = TALLY_EVENTS_MAX, .groups = TALLY_GROUPS_MAX},
        {.events = TALLY_GROUPS_MAX, .groups = TALLY_GROUPS_MAX},
    };
    struct tally_rig rig;

    (void)state;
    tally_rig_init(&rig);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct tally_shape shape = shapes[i];
        struct error error = {0};
        struct tally_maps maps;
        shape.cpus = rig.shape.cpus;
        shape.slots = SLOTS;
        if (rig.sys.tally->start(&rig.sys, &shape, &maps, &error) < 0)
            fail_msg("%u events in %u groups: %s", shape.events, shape.groups, error.message);
        assert_int_equal(rig.sys.tally->attach(&rig.sys, true), 0);
        close(maps.counts);
        close(maps.records);
    }
    tally_rig_done(&rig);
}

static const struct tally_record *map_records(const struct tally_rig *rig)
{
    const void *records =
        mmap(NULL, rig->shape.cpus * sizeof(struct tally_record), PROT_READ, MAP_SHARED, rig->maps.records, 0);

    assert_ptr_not_equal(records, MAP_FAILED);
    return records;
}

static void unmap_records(const struct tally_rig *rig, const struct tally_record *records)
{
    munmap((void *)records, rig->shape.cpus * sizeof(*records));
}

/* The events of all CPUs; the counters begin, a task runs in the cgroup, they end, and all CPUs look again. */
static void run_with(struct tally_rig *rig, const struct tally_event events[2])
{
    for (unsigned cpu = 0; cpu < rig->shape.cpus; cpu++) {
        int fds[2];
        for (int i = 0; i < 2; i++)
            fds[i] = events[i].source == TALLY_READ ? rig->fds[cpu][i] : -1;
        assert_int_equal(rig->sys.tally->set_cpu(&rig->sys, cpu, events, fds), 0);
    }
    tally_rig_attach(rig, true);
    tally_rig_count(rig, true);
    tally_rig_run(rig);
    tally_rig_count(rig, false);
    assert_int_equal(rig->sys.tally->flush(&rig->sys), 0);
}

static void expect_record(const struct tally_record *record, uint64_t valid)
{
    uint64_t check = tally_check_begin(record->seq, record->slot, record->epoch, valid);

    for (unsigned i = 0; i < WORDS; i++)
        check = tally_check_step(check, record->offset[i]);
    assert_int_equal(record->valid, valid);
    assert_int_equal(record->check, check);
    assert_true(record->slot < SLOTS);
}

/* A word that the CPU does not count has its bit off, and no slot gets anything. */
static void test_none(void **state)
{
    static const struct tally_event events[2] = {{.source = TALLY_READ, .gives_times = 1}, {.source = TALLY_NONE}};
    struct tally_rig rig;

    (void)state;
    tally_rig_init(&rig);
    run_with(&rig, events);
    tally_rig_attach(&rig, false); /* so that the records stand still */
    const struct tally_record *records = map_records(&rig);
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++) {
        expect_record(&records[cpu], 1 | 3 << 2);
        assert_int_equal(tally_rig_sum_cpu(&rig, cpu, 1), 0);
        assert_true(tally_rig_sum_cpu(&rig, cpu, 0) > 0);
    }
    unmap_records(&rig, records);
    tally_rig_done(&rig);
}

/* task-clock by the running time of its group: to the nanosecond, whichever slot. */
static void test_running(void **state)
{
    static const struct tally_event events[2] = {{.source = TALLY_RUNNING}, {.source = TALLY_READ, .gives_times = 1}};
    struct tally_rig rig;

    (void)state;
    tally_rig_init(&rig);
    run_with(&rig, events);
    assert_true(tally_rig_sum_slot(&rig, SLOT, 0) > 0);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        assert_int_equal(tally_rig_sum_slot(&rig, slot, 0), tally_rig_sum_slot(&rig, slot, 3));
    tally_rig_done(&rig);
}

/* This task goes to the CPU, where another may run alone for long, and sleeps. No CPU is left that is offline. */
static void switch_on(unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
    usleep(100);
}

/* No slot has the switch at which the CPU's first interval began. One since it was flushed is in its record alone. */
static bool has_all_switches(struct tally_rig *rig, const struct tally_record *records, unsigned cpu)
{
    switch_on(cpu);
    assert_int_equal(rig->sys.tally->flush(&rig->sys), 0);
    uint64_t sum = tally_rig_sum_cpu(rig, cpu, 1);
    return sum > 0 && records[cpu].switches - sum <= 1;
}

/* All switches that the program saw have a slot. */
static void test_switches(void **state)
{
    static const struct tally_event events[2] = {{.source = TALLY_READ, .gives_times = 1}, {.source = TALLY_SWITCHES}};
    struct tally_rig rig;

    (void)state;
    tally_rig_init(&rig);
    run_with(&rig, events);
    const struct tally_record *records = map_records(&rig);
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++) {
        int tries = 0;
        while (!has_all_switches(&rig, records, cpu) && tries < 1000)
            tries++;
        assert_in_range(tries, 0, 999);
    }
    assert_true(tally_rig_sum_slot(&rig, SLOT, 1) > 0);
    tally_rig_attach(&rig, false);
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++)
        expect_record(&records[cpu], 0xf);
    unmap_records(&rig, records);
    tally_rig_done(&rig);
}

/* A cgroup without a slot counts for the nearest ancestor with one, also where the program found that before. */
static void test_nearest(void **state)
{
    struct tally_rig rig;
    char nested[2][300];

    (void)state;
    tally_rig_init(&rig);
    snprintf(nested[0], sizeof(nested[0]), "%s/nested", rig.cgroup);
    snprintf(nested[1], sizeof(nested[1]), "%s/nested/deeper", rig.cgroup);
    assert_int_equal(mkdir(nested[0], 0755), 0);
    assert_int_equal(mkdir(nested[1], 0755), 0);
    int watched = rig.cgroup_fd;
    rig.cgroup_fd = open(nested[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int round = 1; round <= 2; round++) {
        run_with(&rig, tally_rig_events);
        uint64_t faults = tally_rig_sum_slot(&rig, SLOT, 1), unknown = tally_rig_sum_slot(&rig, TALLY_SLOT_UNKNOWN, 1);
        assert_in_range(faults + unknown, (uintmax_t)round * PAGES, (uintmax_t)round * (PAGES + 200) + unknown);
    }
    uint64_t before = tally_rig_sum_slot(&rig, SLOT, 1), id;
    assert_int_equal(rig.sys.tally->assign(&rig.sys, rig.cgroup_fd, SLOT + 1, &id), 0);
    run_with(&rig, tally_rig_events);
    assert_int_equal(tally_rig_sum_slot(&rig, SLOT, 1), before);
    assert_true(tally_rig_sum_slot(&rig, SLOT + 1, 1) + tally_rig_sum_slot(&rig, TALLY_SLOT_UNKNOWN, 1) >= PAGES);
    close(rig.cgroup_fd);
    rig.cgroup_fd = watched;
    assert_int_equal(rmdir(nested[1]), 0);
    assert_int_equal(rmdir(nested[0]), 0);
    tally_rig_done(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_object),
        cmocka_unit_test_teardown(test_shapes, tally_rig_teardown),
        cmocka_unit_test_teardown(test_none, tally_rig_teardown),
        cmocka_unit_test_teardown(test_running, tally_rig_teardown),
        cmocka_unit_test_teardown(test_switches, tally_rig_teardown),
        cmocka_unit_test_teardown(test_nearest, tally_rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
