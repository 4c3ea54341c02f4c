/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks that another one moves between cgroups, also where the program does not see each switch: what nobody can know
 * is said to be unknown, and nothing else. The test attaches the program itself, so that it can hide switches.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perf/tally/bpf-call.h"
#include "perf/tally/load-process.h"
#include "tests/unit/tally-rig.h"
#include "tests/unit/test.h"

#define OTHER (SLOT + 1)
#define MS UINT64_C(1000000)
#define SPIN_MS 100
/* Of the worker's CPU time, what its naps and the switches themselves may take. */
#define AROUND_MS 2

struct moves_rig {
    struct tally_rig rig;
    int parts[N_KERNEL_PARTS], on_switch, on_attach;
    unsigned cpu; /* of the worker; the test runs on another one */
    const uint64_t *counts;
    char other[300]; /* a second cgroup, with the slot OTHER */
    pid_t worker;
    int start[2];         /* the worker waits here; a byte starts it */
    volatile char *spins; /* the worker spins while it is 1; 2: and then ends */
    double spun_ms;       /* the CPU time of the worker, as of moves_begin(), and then since */
    uint64_t before[SLOTS];
};

/* The program, without a loader */

static void moves_set_cpu(struct moves_rig *moves, uint32_t cpu)
{
    struct tally_control control = {.epoch = 1};

    memcpy(control.events, tally_rig_events, sizeof(tally_rig_events));
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t index = cpu * 2 + i;
        assert_int_equal(bpf_call_update(moves->parts[KERNEL_EVENTS], &index, &moves->rig.fds[cpu][i]), 0);
    }
    assert_int_equal(bpf_call_update(moves->parts[KERNEL_CONTROL], &cpu, &control), 0);
}

static void moves_assign(struct moves_rig *moves, const char *cgroup, uint32_t slot)
{
    struct stat st;

    assert_int_equal(stat(cgroup, &st), 0);
    assert_int_equal(bpf_call_update(moves->parts[KERNEL_SLOTS], &(uint64_t){st.st_ino}, &slot), 0);
}

static void moves_look(struct moves_rig *moves)
{
    int r;

    do
        r = bpf_call_run_on(moves->parts[KERNEL_LOOK], moves->cpu);
    while (r > 0);
    assert_int_equal(r, 0);
}

static void moves_see(struct moves_rig *moves, bool sees)
{
    if (sees) {
        moves->on_switch = bpf_call_attach(moves->parts[KERNEL_SWITCH], NULL);
        assert_true(moves->on_switch >= 0);
    } else {
        close(moves->on_switch);
    }
}

static size_t moves_counts_size(const struct moves_rig *moves)
{
    return (size_t)moves->rig.shape.cpus * SLOTS * WORDS * sizeof(uint64_t);
}

static void moves_load(struct moves_rig *moves)
{
    struct error error = {0};

    if (load_process_run(&moves->rig.shape, NULL, moves->parts, &error) < 0)
        fail_msg("%s", error.message);
    for (uint32_t cpu = 0; cpu < moves->rig.shape.cpus; cpu++)
        moves_set_cpu(moves, cpu);
    moves_assign(moves, moves->rig.cgroup, SLOT);
    moves_assign(moves, moves->other, OTHER);
    moves->counts = mmap(NULL, moves_counts_size(moves), PROT_READ, MAP_SHARED, moves->parts[KERNEL_COUNTS], 0);
    assert_ptr_not_equal(moves->counts, MAP_FAILED);
    moves->on_attach = bpf_call_attach(moves->parts[KERNEL_LOOK], "cgroup_attach_task");
    assert_true(moves->on_attach >= 0);
    moves_see(moves, true);
}

/* The slot's part of the CPU's time since moves_begin(). */
static double moves_ms(const struct moves_rig *moves, uint32_t slot)
{
    size_t at = ((size_t)moves->cpu * SLOTS + slot) * WORDS;

    return (double)(moves->counts[at] - moves->before[slot]) / (double)MS;
}

static double worker_ms(const struct moves_rig *moves)
{
    struct timespec now;
    clockid_t clock;

    assert_int_equal(clock_getcpuclockid(moves->worker, &clock), 0);
    assert_int_equal(clock_gettime(clock, &now), 0);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / (double)MS;
}

static void moves_begin(struct moves_rig *moves)
{
    moves->spun_ms = worker_ms(moves);
    moves_look(moves);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        moves->before[slot] = moves->counts[((size_t)moves->cpu * SLOTS + slot) * WORDS];
}

/* The tasks */

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * (long)MS}, NULL);
}

static void run_on(unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void move(const char *cgroup, pid_t pid)
{
    char path[320], text[16];

    snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
    int fd = open(path, O_WRONLY | O_CLOEXEC), n = snprintf(text, sizeof(text), "%d", (int)pid);
    assert_int_equal(write(fd, text, (size_t)n), n);
    close(fd);
}

/* Nothing interrupts it, where that can be had. */
static _Noreturn void worker_run(const struct moves_rig *moves)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    close(moves->on_switch); /* else it stays attached */
    run_on(moves->cpu);
    (void)sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
    for (;;) {
        char byte;
        if (read(moves->start[0], &byte, 1) != 1)
            _exit(1);
        while (*moves->spins == 1)
            ;
        if (*moves->spins == 2)
            _exit(0);
    }
}

static void moves_init(struct moves_rig *moves)
{
    *moves = (struct moves_rig){0};
    tally_rig_init(&moves->rig);
    if (moves->rig.shape.cpus < 2) {
        tally_rig_done(&moves->rig);
        skip_because("one CPU cannot move what it runs");
    }
    moves->cpu = moves->rig.shape.cpus - 1;
    snprintf(moves->other, sizeof(moves->other), "%s-other", moves->rig.cgroup);
    assert_int_equal(mkdir(moves->other, 0755), 0);
    moves_load(moves);
    tally_rig_count(&moves->rig, true);
    run_on(0);
    moves->spins = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(pipe(moves->start), 0);
    moves->worker = fork();
    if (moves->worker == 0)
        worker_run(moves);
    move(moves->rig.cgroup, moves->worker);
    sleep_ms(20);
}

static void moves_done(struct moves_rig *moves)
{
    kill(moves->worker, SIGKILL);
    waitpid(moves->worker, NULL, 0);
    munmap((void *)moves->spins, 1);
    close(moves->start[0]);
    close(moves->start[1]);
    moves_see(moves, false);
    close(moves->on_attach);
    munmap((void *)moves->counts, moves_counts_size(moves));
    for (size_t i = 0; i < N_KERNEL_PARTS; i++)
        close(moves->parts[i]);
    assert_int_equal(rmdir(moves->other), 0);
    tally_rig_done(&moves->rig);
}

/* Spins for half of the time, is moved, and spins for the other half. */
static void spin_moved(struct moves_rig *moves)
{
    sleep_ms(SPIN_MS / 2);
    move(moves->other, moves->worker);
    sleep_ms(SPIN_MS / 2);
}

static void moves_start(struct moves_rig *moves)
{
    *moves->spins = 1;
    assert_int_equal(write(moves->start[1], "", 1), 1);
}

static void moves_end(struct moves_rig *moves)
{
    *moves->spins = 0;
    sleep_ms(2);
    moves->spun_ms = worker_ms(moves) - moves->spun_ms;
    moves_look(moves);
}

/* Of what the worker ran, nothing is another's; its CPU may have switched to others at any time. */
static void expect_spun(const struct moves_rig *moves)
{
    double unknown = moves_ms(moves, TALLY_SLOT_UNKNOWN), first = moves_ms(moves, SLOT),
           second = moves_ms(moves, OTHER);

    if (moves->spun_ms < AROUND_MS || unknown + first + second < moves->spun_ms - AROUND_MS)
        fail_msg("of %.3f ms %.3f are unknown, %.3f and %.3f of the two cgroups; the root has %.3f", moves->spun_ms,
                 unknown, first, second, moves_ms(moves, TALLY_SLOT_ROOT));
}

/* It counts for where it was until its CPU switches: the program knows that nobody else ran. */
static void test_moved(void **state)
{
    struct moves_rig moves;

    (void)state;
    moves_init(&moves);
    moves_begin(&moves);
    moves_start(&moves);
    spin_moved(&moves);
    moves_end(&moves);
    expect_spun(&moves);
    moves_done(&moves);
}

/* The record says the idle task, which cannot be moved: that some task was moved says nothing about the interval. */
static void test_unseen(void **state)
{
    struct moves_rig moves;

    (void)state;
    moves_init(&moves);
    moves_see(&moves, false);
    sleep_ms(20); /* the kernel detaches it soon, not at once */
    moves_begin(&moves);
    moves_start(&moves);
    sleep_ms(5);
    moves_see(&moves, true);
    spin_moved(&moves);
    moves_end(&moves);
    expect_spun(&moves);
    moves_done(&moves);
}

/* It is in its cgroup until its last switch. */
static void test_ends(void **state)
{
    struct moves_rig moves;

    (void)state;
    moves_init(&moves);
    moves_begin(&moves);
    moves_start(&moves);
    sleep_ms(SPIN_MS);
    double begun = moves.spun_ms;
    moves.spun_ms = worker_ms(&moves) - begun;
    *moves.spins = 2;
    assert_int_equal(waitid(P_PID, (id_t)moves.worker, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    sleep_ms(2); /* it is gone from its CPU soon, not at once */
    moves_look(&moves);
    expect_spun(&moves);
    moves_done(&moves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_moved, tally_rig_teardown),
        cmocka_unit_test_teardown(test_unseen, tally_rig_teardown),
        cmocka_unit_test_teardown(test_ends, tally_rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
