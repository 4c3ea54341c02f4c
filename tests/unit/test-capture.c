/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of this machine's clocks: CPUs that come and go, CPUs that only track, limits of memory, one process. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "tests/unit/sampled.h"
#include "tests/unit/test.h"

/* A CPU leaves and comes back: its ring is closed, and another opened. */
static void test_hotplug(void **state)
{
    struct sampled *f = *state;
    struct machine fewer = *f->machine;
    _cleanup_(cpuset_done) struct cpuset left = {0}, rest = {0};
    size_t n = cpuset_count(&f->machine->online);
    struct reader a, *all[] = {&a};

    if (n < 2)
        skip_because("there is one CPU");
    sampled_start(f, &(struct stream_request){.seconds = 1}, &a);
    sampled_run(f, 0.2, NULL, 0);
    int gone = cpuset_next(&f->machine->online, -1);
    assert_int_equal(cpuset_copy(&f->machine->online, &rest), 0);
    cpuset_remove(&rest, (unsigned)gone);
    fewer.online = rest;
    sampler_cpus_changed(f->sampler, &fewer, NULL);
    assert_int_equal(count_perf_fds(), n - 1);
    sampler_cpus_changed(f->sampler, f->machine, NULL);
    assert_int_equal(count_perf_fds(), n);
    assert_int_equal(cpuset_add(&left, (unsigned)gone), 0);
    sampler_cpus_changed(f->sampler, f->machine, &left); /* it left and is back already */
    assert_int_equal(count_perf_fds(), n);
    sampled_run(f, 10, all, 1);
    assert_non_null(strstr(reader_text_of(&a), "end seconds "));
    reader_stop(&a);
    /* The last one takes the capture with it. */
    sampled_start(f, &(struct stream_request){.seconds = 10}, &a);
    sampled_run(f, 0.05, NULL, 0);
    struct cpuset none = {0};
    fewer.online = none;
    sampler_cpus_changed(f->sampler, &fewer, NULL);
    sampled_run(f, 5, all, 1);
    assert_non_null(strstr(reader_text_of(&a), "end no CPU is left to sample "));
    reader_stop(&a);
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
}

/* Records of processes come also from CPUs that are not sampled, since processes move. */
static void test_other_cpus(void **state)
{
    struct sampled *f = *state;
    struct reader a, *all[] = {&a};
    unsigned other = (unsigned)cpuset_next(&f->machine->online, -1);
    int sampled = cpuset_next(&f->machine->online, (int)other);
    char cpus[16], expected[16];
    cpu_set_t set;

    if (sampled < 0)
        skip_because("there is one CPU");
    snprintf(cpus, sizeof(cpus), "%d", sampled);
    snprintf(expected, sizeof(expected), "renamed-%u", other);
    seen.renamed[0] = '\0';
    sampled_start(f, &(struct stream_request){.seconds = 1, .cpus = cpus}, &a);
    assert_int_equal(count_perf_fds(), cpuset_count(&f->machine->online));
    sampled_run(f, 0.1, NULL, 0);
    pid_t child = fork();
    if (child == 0) {
        CPU_ZERO(&set);
        CPU_SET(other, &set);
        _exit(sched_setaffinity(0, sizeof(set), &set) < 0 || prctl(PR_SET_NAME, "renamed") < 0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    sampled_run(f, 10, all, 1);
    assert_string_equal(seen.renamed, expected);
    reader_stop(&a);
    sampled_run(f, 0.01, NULL, 0);
}

/* Without its CPU, nothing is sampled, even if other CPUs are still tracked. */
static void test_only_cpu_leaves(void **state)
{
    struct sampled *f = *state;
    struct reader a, *all[] = {&a};
    struct machine fewer = *f->machine;
    _cleanup_(cpuset_done) struct cpuset rest = {0};
    int sampled = cpuset_next(&f->machine->online, cpuset_next(&f->machine->online, -1));
    char cpus[16];

    if (sampled < 0)
        skip_because("there is one CPU");
    snprintf(cpus, sizeof(cpus), "%d", sampled);
    sampled_start(f, &(struct stream_request){.seconds = 10, .cpus = cpus}, &a);
    sampled_run(f, 0.05, NULL, 0);
    assert_int_equal(cpuset_copy(&f->machine->online, &rest), 0);
    cpuset_remove(&rest, (unsigned)sampled);
    fewer.online = rest;
    sampler_cpus_changed(f->sampler, &fewer, NULL);
    sampled_run(f, 5, all, 1);
    assert_non_null(strstr(reader_text_of(&a), "end no CPU is left to sample "));
    reader_stop(&a);
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    sampled_run(f, 0.01, NULL, 0);
}

static int (*real_mmap)(struct sys *sys, int fd, size_t size, int protection, void **ret);
static int (*real_munmap)(struct sys *sys, void *address, size_t size);
static unsigned n_mappable; /* rings that the limit of locked memory has room for */
static size_t mapped[2];    /* bytes */

static int map_few(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    if (n_mappable == 0)
        return -EPERM;
    int r = real_mmap(sys, fd, size, protection, ret);
    mapped[--n_mappable] = size;
    return r;
}

static int unmap(struct sys *sys, void *address, size_t size)
{
    n_mappable++;
    return real_munmap(sys, address, size);
}

/* On one CPU; the frequency distinguishes it from other streams. */
static void start_on(struct sampled *f, int cpu, uint64_t frequency, struct reader *reader)
{
    char cpus[16];

    snprintf(cpus, sizeof(cpus), "%d", cpu);
    sampled_start(f, &(struct stream_request){.seconds = 0.2, .cpus = cpus, .frequency = frequency}, reader);
}

/* Lanes that only track are closed for a client that comes later and needs their memory. */
static void test_memory_for_samples(void **state)
{
    struct sampled *f = *state;
    int first = cpuset_next(&f->machine->online, -1), sampled = cpuset_next(&f->machine->online, first);
    struct reader a, b, *both[] = {&a, &b};

    if (sampled < 0)
        skip_because("there is one CPU");
    real_mmap = f->sys.mmap;
    real_munmap = f->sys.munmap;
    f->sys.mmap = map_few;
    f->sys.munmap = unmap;
    n_mappable = 2;
    start_on(f, sampled, 100, &a);
    assert_int_equal(n_mappable, 0);
    start_on(f, sampled, 101, &b);
    assert_int_equal(count_perf_fds(), 2);
    sampled_run(f, 5, both, 2);
    assert_non_null(strstr(reader_text_of(&a), "end seconds "));
    assert_non_null(strstr(reader_text_of(&b), "end seconds "));
    reader_stop(&a);
    reader_stop(&b);
    sampled_run(f, 0.01, NULL, 0);
}

/* If there is memory for one ring only, it is that of the sampled CPU; other rings are small. */
static void test_locked_memory(void **state)
{
    struct sampled *f = *state;
    int first = cpuset_next(&f->machine->online, -1), sampled = cpuset_next(&f->machine->online, first);
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    struct reader a, *all[] = {&a};
    char cpus[16];

    if (sampled < 0)
        skip_because("there is one CPU");
    snprintf(cpus, sizeof(cpus), "%d", sampled);
    real_mmap = f->sys.mmap;
    f->sys.mmap = map_few;
    for (unsigned rings = 2; rings > 0; rings--) {
        n_mappable = rings;
        sampled_start(f, &(struct stream_request){.seconds = 0.2, .cpus = cpus}, &a);
        assert_int_equal(count_perf_fds(), rings);
        assert_int_equal(mapped[rings - 1], (1 + f->config.ring_pages) * page_size);
        sampled_run(f, 5, all, 1);
        assert_non_null(strstr(reader_text_of(&a), "end seconds "));
        reader_stop(&a);
        sampled_run(f, 0.01, NULL, 0);
    }
    assert_int_equal(f->config.ring_pages, 16);
    assert_int_equal(mapped[0], (1 + f->config.ring_pages) * page_size);
}

/* One process is sampled and no other, with its child; the stream ends with it. */
static void test_process(void **state)
{
    struct sampled *f = *state;
    struct reader a, *all[] = {&a};
    pid_t child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (clock() < CLOCKS_PER_SEC * 7 / 10) /* of CPU time, however busy the machine is */
            continue;
        _exit(0);
    }
    sampled_start(f, &(struct stream_request){.pid = (uint32_t)child}, &a);
    sampled_run(f, 0.3, NULL, 0);
    waitpid(child, NULL, 0);
    sampled_run(f, 5, all, 1);
    char word[32], *text = reader_text_of(&a);
    snprintf(word, sizeof(word), " %d\n", (int)child);
    assert_true(count_words(text, "sample ") > 50);
    assert_int_equal(count_words(text, word), count_words(text, "sample "));
    assert_non_null(strstr(text, "end the process has ended "));
    reader_stop(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hotplug, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_other_cpus, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_only_cpu_leaves, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_locked_memory, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_memory_for_samples, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_process, sampled_begin, sampled_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
