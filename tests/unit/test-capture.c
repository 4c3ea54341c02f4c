/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures of this machine's clock events, with CPU hotplug, CPUs that are only tracked, memory limits, and single
 * processes.
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "perf/ring.h"
#include "sampler/rings.h"
#include "tests/unit/build-record.h"
#include "tests/unit/sampled.h"
#include "tests/unit/test.h"
#include "tests/unit/wrap-calls.h"

/* Copies the machine without one of its online CPUs. */
static void leave_out_cpu(const struct sampled *f, int cpu, struct machine *ret, struct cpuset *ret_online)
{
    assert_int_equal(cpuset_copy(&f->machine->online, ret_online), 0);
    cpuset_remove(ret_online, (unsigned)cpu);
    *ret = *f->machine;
    ret->online = *ret_online;
}

/*
 * The ring of a CPU that goes offline is closed; a new one is opened when it is back. The capture ends with the last
 * CPU.
 */
TEST_WITH(test_hotplug, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct machine fewer;
    _cleanup_(cpuset_done) struct cpuset went_offline = {0}, rest = {0};
    size_t n = cpuset_count(&f->machine->online);
    struct reader a;

    if (n < 2)
        skip_because("a second CPU");
    sampled_start(f, &(struct record_request){0}, &a);
    sampled_until(f, reader_has(&a, "sample ", 1));
    int gone = cpuset_next(&f->machine->online, -1);
    leave_out_cpu(f, gone, &fewer, &rest);
    sampler_cpus_changed(f->sampler, &fewer, NULL);
    assert_int_equal(count_perf_fds(), n - 1);
    sampler_cpus_changed(f->sampler, f->machine, NULL);
    assert_int_equal(count_perf_fds(), n);
    assert_int_equal(cpuset_add(&went_offline, (unsigned)gone), 0);
    sampler_cpus_changed(f->sampler, f->machine, &went_offline); /* the CPU went offline and has already returned */
    assert_int_equal(count_perf_fds(), n);
    unsigned before = count_words(reader_text_of(&a), "sample ");
    sampled_until(f, reader_has(&a, "sample ", before + 100));
    fewer.online = (struct cpuset){0};
    sampler_cpus_changed(f->sampler, &fewer, NULL);
    sampled_until(f, reader_ended(&a));
    assert_non_null(strstr(reader_text_of(&a), "end no CPU is left to sample "));
    reader_stop(&a);
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
}

/*
 * Process records are also taken from CPUs that are not sampled, since processes migrate. The stream ends when the
 * sampled CPU goes offline, even if other CPUs are still tracked.
 */
TEST_WITH(test_one_cpu, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct reader a;
    struct machine fewer;
    _cleanup_(cpuset_done) struct cpuset rest = {0};
    unsigned other = (unsigned)cpuset_next(&f->machine->online, -1);
    int sampled = cpuset_next(&f->machine->online, (int)other);
    char cpus[16], expected[16];
    cpu_set_t set;

    if (sampled < 0)
        skip_because("a second CPU");
    snprintf(cpus, sizeof(cpus), "%d", sampled);
    snprintf(expected, sizeof(expected), "renamed-%u", other);

    sampled_start(f, &(struct record_request){.cpus = cpus}, &a);
    assert_int_equal(count_perf_fds(), cpuset_count(&f->machine->online));
    sampled_until(f, reader_has(&a, "begin ", 1));
    pid_t child = fork();
    if (child == 0) {
        CPU_ZERO(&set);
        CPU_SET(other, &set);
        if (sched_setaffinity(0, sizeof(set), &set) < 0)
            _exit(1);
        /* If other processes have filled the ring, a record is lost. */
        while (prctl(PR_SET_NAME, "renamed") == 0)
            usleep(10000);
        _exit(1);
    }
    sampled_until(f, str_equal(seen.renamed, expected));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    leave_out_cpu(f, sampled, &fewer, &rest);
    sampler_cpus_changed(f->sampler, &fewer, NULL);
    sampled_until(f, reader_ended(&a));
    assert_non_null(strstr(reader_text_of(&a), "end no CPU is left to sample "));
    reader_stop(&a);
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
}

static struct sys_calls real;
static unsigned n_mappable; /* number of rings that the locked-memory limit permits */
static size_t mapped[2];    /* the sizes of these rings in bytes */

static int map_few(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    if (n_mappable == 0)
        return -EPERM;
    int r = real.mmap(sys, fd, size, protection, ret);
    mapped[--n_mappable] = size;
    return r;
}

static int unmap(struct sys *sys, void *address, size_t size)
{
    n_mappable++;
    return real.munmap(sys, address, size);
}

/* Starts a stream on one CPU. Streams with different frequencies do not share a capture. */
static void start_on(struct sampled *f, int cpu, uint64_t frequency, struct reader *reader)
{
    char cpus[16];

    snprintf(cpus, sizeof(cpus), "%d", cpu);
    sampled_start(f, &(struct record_request){.seconds = 0.2, .cpus = cpus, .frequency = frequency}, reader);
}

/* Rings that only track processes are closed if a later client needs their memory. */
TEST_WITH(test_memory_for_samples, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    int first = cpuset_next(&f->machine->online, -1), sampled = cpuset_next(&f->machine->online, first);
    struct reader a, b;

    if (sampled < 0)
        skip_because("a second CPU");
    real = wrap_calls(&f->sys, (struct sys_calls){.mmap = map_few, .munmap = unmap});
    n_mappable = 2;
    start_on(f, sampled, 100, &a);
    assert_int_equal(n_mappable, 0);
    start_on(f, sampled, 101, &b);
    assert_int_equal(count_perf_fds(), 2);
    sampled_until(f, reader_ended(&a));
    sampled_until(f, reader_ended(&b));
    assert_non_null(strstr(reader_text_of(&a), "end seconds "));
    assert_non_null(strstr(reader_text_of(&b), "end seconds "));
    reader_stop(&a);
    reader_stop(&b);
}

/* If memory suffices for only one ring, the sampled CPU gets it. The rings of other CPUs are small. */
TEST_WITH(test_locked_memory, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    int first = cpuset_next(&f->machine->online, -1), sampled = cpuset_next(&f->machine->online, first);
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    struct reader a;
    char cpus[16];

    if (sampled < 0)
        skip_because("a second CPU");
    snprintf(cpus, sizeof(cpus), "%d", sampled);
    real = wrap_calls(&f->sys, (struct sys_calls){.mmap = map_few});
    for (unsigned rings = 2; rings > 0; rings--) {
        n_mappable = rings;
        sampled_start(f, &(struct record_request){.seconds = 0.2, .cpus = cpus}, &a);
        assert_int_equal(count_perf_fds(), rings);
        assert_int_equal(mapped[rings - 1], (1 + f->config.ring_pages) * page_size);
        sampled_until(f, reader_ended(&a));
        assert_non_null(strstr(reader_text_of(&a), "end seconds "));
        reader_stop(&a);
        sampled_until(f, count_perf_fds() == 0);
    }
    assert_int_equal(f->config.ring_pages, 16);
    assert_int_equal(mapped[0], (1 + f->config.ring_pages) * page_size);
}

/* A stream of one process has no samples of other processes, and ends with the process. */
TEST_WITH(test_process, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct reader a;
    char word[32];
    pid_t child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            continue;
    }
    sampled_start(f, &(struct record_request){.pid = (uint32_t)child}, &a);
    sampled_until(f, reader_has(&a, "sample ", 50));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    sampled_until(f, reader_ended(&a));
    const char *text = reader_text_of(&a);
    snprintf(word, sizeof(word), " %d\n", (int)child);
    assert_int_equal(count_words(text, word), count_words(text, "sample "));
    assert_non_null(strstr(text, "end the process has ended "));
    reader_stop(&a);
}

/* Stops after each part of its work, so that it cannot fill its ring while the test is not running. */
static _Noreturn void burn_in_parts(void)
{
    static const clock_t msec[] = {0, 250, 20, 20};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < ARRAY_SIZE(msec); i++) {
        for (clock_t end = clock() + msec[i] * (CLOCKS_PER_SEC / 1000); clock() < end;)
            continue;
        raise(SIGSTOP);
    }
    _exit(1);
}

/* Waits until the process has used the next part of its CPU time. */
static void burn(pid_t child)
{
    kill(child, SIGCONT);
    assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
}

/* Returns the time of the last sample. */
static uint64_t last_sample(const char *text)
{
    uint64_t last = 0;

    for (const char *line = text; (line = strstr(line, "sample ")); line++)
        assert_int_equal(sscanf(line, "sample %" SCNu64, &last), 1);
    return last;
}

/*
 * A process ends while the ring holds more of its records than are read in one turn of the event loop. The stream must
 * still contain the last samples of the process.
 */
TEST_WITH(test_process_ends_late, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct reader a;
    pid_t child = fork();

    if (child == 0)
        burn_in_parts();
    assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
    sampled_start(f, &(struct record_request){.pid = (uint32_t)child, .period = 250000}, &a);
    sampled_until(f, reader_has(&a, "begin ", 1));
    burn(child);
    sampled_until(f, reader_has(&a, "sample ", 1));
    burn(child);
    uint64_t late = sys_record_now(&f->sys);
    burn(child);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    sampled_until(f, reader_ended(&a));
    assert_true(last_sample(reader_text_of(&a)) > late);
    reader_stop(&a);
}

static void add_exit(struct buffer *bytes, uint64_t time_ns)
{
    struct built built;

    start_record(&built, PERF_RECORD_EXIT, 0);
    put_array(&built, 3, 1);
    put8(&built, time_ns);
    set_record_size(built.bytes, built.size);
    buffer_append(bytes, built.bytes, built.size);
}

/* A record with an implausible time is dropped and does not delay the records after it. */
TEST(test_future)
{
    struct sys sys;
    struct cpu_ring cpu_ring = {.sys = &sys};
    const struct record_layout layout = {.sample_type = PERF_SAMPLE_TIME, .sample_id_all = true};
    struct buffer bytes = {0};
    uint64_t malformed = 0;

    sys_init(&sys);
    uint64_t now = sys_record_now(&sys);
    add_exit(&bytes, now);
    add_exit(&bytes, now + 3600 * NSEC_PER_SEC);
    add_exit(&bytes, UINT64_MAX);
    add_exit(&bytes, now + 1);
    assert_int_equal(ring_of_records(bytes.data, bytes.size, &cpu_ring.ring), 0);
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(cpu_ring_peek(&cpu_ring, &layout, now, &malformed), 1);
        assert_int_equal(cpu_ring.record.id.time, now + i);
        assert_int_equal(malformed, 2 * i);
        cpu_ring_take(&cpu_ring);
    }
    assert_int_equal(cpu_ring_peek(&cpu_ring, &layout, now, &malformed), 0);
    ring_free(cpu_ring.ring);
}

TEST_MAIN(NULL, NULL)
