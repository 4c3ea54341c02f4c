/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads for the emulated board. The loop is two instructions, in assembly, so that its counts are known.
 *
 *   spin CPU MILLIONS            executes that many million instructions on the CPU
 *   spin CPU mixed MILLIONS      the same in user space, and after each million the kernel clears a megabyte
 *   spin CPU calls NUMBER        calls getppid(2) that many times
 *   spin CPU steady SECONDS      works all the time
 *   spin CPU changing SECONDS    works and sleeps in alternate seconds
 *   spin CPU yield SECONDS       occupies the CPU, and leaves the emulator's time to the other CPUs
 *   spin CPU rest MILLIONS       the kernel clears that many megabytes, while nothing else wants the CPU
 *   spin CPU service SECONDS PHASE BEFORE AFTER
 *                                works for 120 ms of each second, starting PHASE ms into it, with an IPC of
 *                                BEFORE hundredths in the first half and AFTER hundredths in the second
 *                                half; prints when the second half began
 *   spin CPU steps STEP...       takes the steps in turn, and prints what the task itself counted in each cgroup
 *
 * Steps:
 *   into=PATH        moves itself into a cgroup
 *   out              until the next step `into` or `in`, counts belong to no cgroup
 *   in               counts belong to the cgroup of the last step `into` again
 *   loop=MILLIONS    the loop; a decimal fraction is allowed
 *   follow=MILLIONS  the same, while others move the task: looks up its cgroup every 20,000 instructions
 *   faults=NUMBER    touches that many new pages
 *   cpu=LIST         runs on these CPUs, at most two, one digit each: 3, or 23 for CPUs 2 and 3
 *   exec             calls execve(2) on itself, and continues with the next step
 *   make=FILE        makes the file
 *   wait=FILE        sleeps until the file exists
 * At the end it moves into the root cgroup and creates the file /tmp/task.over. For each cgroup it prints "PATH
 * INSTRUCTIONS CYCLES FAULTS NANOSECONDS", where pinned events of each PMU count instructions and cycles, in user space
 * only; the PATH "-" has the cost of its own moves. Then it prints "end" and waits to be killed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Executes 2 * `rounds` instructions and a few more. */
static void loop(uint64_t rounds)
{
    __asm__ volatile(".balign 64\n"
                     "1: subs %0, %0, #1\n"
                     "b.ne 1b\n"
                     : "+r"(rounds)
                     :
                     : "cc");
}

static void mix(long long millions, uint64_t rounds)
{
    static char megabyte[1 << 20];
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

    for (; millions > 0; millions--) {
        loop(rounds);
        if (read(zero, megabyte, sizeof(megabyte)) != sizeof(megabyte)) {
            perror("/dev/zero");
            exit(1);
        }
    }
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void work(double seconds, int changing)
{
    double start = now();

    for (double t = 0; t < seconds; t = now() - start)
        if (changing && (long)t % 2)
            usleep(1000);
        else
            loop(100000);
}

/* QEMU switches to the next CPU at each yield instruction. */
static void yield(double seconds)
{
    for (double start = now(); now() - start < seconds;)
        for (int i = 0; i < 1000; i++)
            __asm__ volatile("yield");
}

/* --- service --- */

/*
 * The kernel traps WFI in user space. A semihosting call that reads QEMU's console, which has no input, halts the CPU
 * as well: interrupts are handled, and then the call is repeated, until a signal handler skips it. Meanwhile the task
 * owns the CPU, and its cycles are counted.
 */
#define SEMIHOSTING_CALL 0xd45e0000 /* hlt #0xf000 */
#define SYS_READC 7
#define SLOT_MS 20
#define SLOTS 6 /* per second */

static void skip_call(int number, siginfo_t *info, void *context)
{
    unsigned long long *pc = &((ucontext_t *)context)->uc_mcontext.pc;

    (void)number, (void)info;
    if (*(const uint32_t *)*pc == SEMIHOSTING_CALL)
        *pc += 4;
}

static void halt(void)
{
    register uint64_t call __asm__("x0") = SYS_READC;

    __asm__ volatile("hlt #0xf000" : "+r"(call) : : "x1", "memory");
}

/* Like loop(), but faster in the emulator: executes 400 instructions in each round. */
static void pass(uint64_t rounds)
{
    __asm__ volatile(".balign 64\n"
                     "1: .rept 398\n"
                     "nop\n"
                     ".endr\n"
                     "subs %0, %0, #1\n"
                     "b.ne 1b\n"
                     : "+r"(rounds)
                     :
                     : "cc");
}

static void serve(long seconds, long phase, long before, long after)
{
    struct sigaction action = {.sa_sigaction = skip_call, .sa_flags = SA_SIGINFO};
    struct itimerspec slots = {.it_interval.tv_nsec = SLOT_MS * 1000000};
    static const struct itimerspec never;
    struct timespec start;
    timer_t timer;

    if (sigaction(SIGALRM, &action, NULL) < 0 || timer_create(CLOCK_MONOTONIC, NULL, &timer) < 0) {
        perror("timer_create");
        exit(1);
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 1; i <= seconds; i++) {
        struct timespec begin = {start.tv_sec + i, phase * 1000000};
        long ipc = i > seconds / 2 ? after : before;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &begin, NULL);
        if (i == seconds / 2 + 1) {
            struct timespec time;
            clock_gettime(CLOCK_REALTIME, &time);
            printf("%lld.%03ld\n", (long long)time.tv_sec, time.tv_nsec / 1000000);
            fflush(stdout);
        }
        slots.it_value = (struct timespec){begin.tv_sec, begin.tv_nsec + SLOT_MS * 1000000};
        timer_settime(timer, TIMER_ABSTIME, &slots, NULL);
        for (int slot = 0; slot < SLOTS; slot++) {
            pass((uint64_t)ipc * SLOT_MS * 1000000 / 100 / 400); /* a cycle is a nanosecond */
            halt();
        }
        timer_settime(timer, 0, &never, NULL);
    }
}

/* --- steps --- */

enum { INSTRUCTIONS, CYCLES, FAULTS, CLOCK, N_COUNTED };
#define STAYS_MAX 256
#define MOVES 0 /* the stay "-" has the cost of the task's own moves, which may be counted in either cgroup */
#define PMUS_MAX 2

/* The state survives execve(2), as the events do: it is in a memory file that stays open. */
static struct task {
    struct stay {
        char path[256];
        int64_t counted[N_COUNTED];
    } stays[STAYS_MAX];
    /* The number of stays, the stay of the last step `into`, and the current one; -1: counts belong to no cgroup. */
    int n, last, current;
    int64_t begun[N_COUNTED];
    int fds[N_COUNTED][PMUS_MAX], n_fds[N_COUNTED];
} * task;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void open_event(int kind, uint32_t type, uint64_t config)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr), .type = type, .config = config, .pinned = 1, .exclude_kernel = kind <= CYCLES};
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

    if (fd < 0)
        fail("perf_event_open");
    task->fds[kind][task->n_fds[kind]++] = fd;
}

/* Each kind of core has its own PMU, which counts the task while it runs there. */
static void open_events(void)
{
    DIR *devices = opendir("/sys/bus/event_source/devices");
    const struct dirent *entry;

    while (devices && (entry = readdir(devices))) {
        char path[512], text[32] = "";
        if (strncmp(entry->d_name, "armv8_", 6) != 0 || task->n_fds[CYCLES] == PMUS_MAX)
            continue;
        snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file || !fgets(text, sizeof(text), file))
            fail(path);
        fclose(file);
        open_event(INSTRUCTIONS, (uint32_t)atoi(text), 0x08);
        open_event(CYCLES, (uint32_t)atoi(text), 0x11);
    }
    closedir(devices);
    open_event(FAULTS, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
    open_event(CLOCK, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
}

static int64_t count_of(int kind)
{
    int64_t sum = 0, value;

    for (int i = 0; i < task->n_fds[kind]; i++) {
        if (read(task->fds[kind][i], &value, sizeof(value)) != sizeof(value))
            fail("reading the task's event");
        sum += value;
    }
    return sum;
}

/* Attributes the counts since the last call to the current cgroup, and those that follow to `next`. */
static void begin_stay(int next)
{
    for (int kind = 0; kind < N_COUNTED; kind++) {
        int64_t now = count_of(kind);
        if (task->current >= 0)
            task->stays[task->current].counted[kind] += now - task->begun[kind];
        task->begun[kind] = now;
    }
    task->current = next;
}

static int find_stay(const char *path)
{
    int i = 0;

    while (i < task->n && strcmp(task->stays[i].path, path) != 0)
        i++;
    if (i == STAYS_MAX)
        exit(2);
    if (i == task->n)
        snprintf(task->stays[task->n++].path, sizeof(task->stays[0].path), "%s", path);
    return i;
}

static void move_into(const char *path)
{
    int stay = find_stay(path);
    char file[512];

    snprintf(file, sizeof(file), "/sys/fs/cgroup/%s/cgroup.procs", path);
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    begin_stay(MOVES);
    if (write(fd, "0", 1) != 1)
        fail(file);
    begin_stay(stay);
    task->last = stay;
    close(fd);
}

static void follow(double millions)
{
    int file = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);

    for (int64_t rest = (int64_t)(millions * 50); rest > 0; rest--) {
        char text[300] = "", *path;
        loop(10000);
        if (pread(file, text, sizeof(text) - 1, 0) <= 0 || !(path = strstr(text, "::/")))
            fail("/proc/self/cgroup");
        path[strcspn(path, "\n")] = '\0';
        if (task->current < 0 || strcmp(task->stays[task->current].path, path + 3) != 0)
            begin_stay(find_stay(path + 3));
    }
    close(file);
}

static void touch(size_t pages)
{
    size_t size = pages * (size_t)getpagesize();
    volatile char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (area == MAP_FAILED)
        fail("mmap");
    (void)madvise((void *)area, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < pages; i++)
        area[i * (size_t)getpagesize()] = 1;
    munmap((void *)area, size);
}

static void run_on(const char *cpus)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (; *cpus; cpus++)
        CPU_SET(*cpus - '0', &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        fail("sched_setaffinity");
}

/* All memory is allocated before anything is counted, so that only the steps cause page faults. */
static void open_task(void)
{
    const char *kept = getenv("SPIN_TASK");
    int fd = kept ? atoi(kept) : memfd_create("task", 0);
    char number[16];

    if (ftruncate(fd, sizeof(*task)) < 0)
        fail("memfd_create");
    task = mmap(NULL, sizeof(*task), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (task == MAP_FAILED || mlockall(MCL_CURRENT) < 0)
        fail("the task's memory");
    if (kept)
        return;
    snprintf(number, sizeof(number), "%d", fd);
    setenv("SPIN_TASK", number, 1);
    memset(task, 0, sizeof(*task));
    task->current = -1;
    find_stay("-");
    open_events();
}

static void take_steps(char **argv)
{
    char **steps = argv + 3;

    open_task();
    for (; *steps; steps++) {
        const char *value = strchr(*steps, '=');
        size_t length = value ? (size_t)(value++ - *steps) : strlen(*steps);
#define STEP(name) (length == sizeof(name) - 1 && strncmp(*steps, name, length) == 0)
        if (STEP("into"))
            move_into(value);
        else if (STEP("out"))
            begin_stay(-1);
        else if (STEP("in"))
            begin_stay(task->last);
        else if (STEP("loop"))
            loop((uint64_t)(atof(value) * 500000));
        else if (STEP("follow"))
            follow(atof(value));
        else if (STEP("faults"))
            touch((size_t)atoll(value));
        else if (STEP("cpu"))
            run_on(value);
        else if (STEP("exec")) {
            steps[-2] = argv[0];
            steps[-1] = argv[1];
            steps[0] = argv[2];
            execv("/proc/self/exe", steps - 2);
            fail("execv");
        } else if (STEP("make"))
            close(open(value, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        else if (STEP("wait"))
            while (access(value, F_OK) < 0)
                usleep(20000);
        else
            exit(2);
    }
    /* The output is not counted in the last cgroup. */
    move_into(".");
    begin_stay(-1);
    close(open("/tmp/task.over", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    for (int i = 0; i < task->n; i++) {
        const int64_t *counted = task->stays[i].counted;
        printf("%s %lld %lld %lld %lld\n", task->stays[i].path, (long long)counted[INSTRUCTIONS],
               (long long)counted[CYCLES], (long long)counted[FAULTS], (long long)counted[CLOCK]);
    }
    printf("end\n");
    fflush(stdout);
    pause();
}

int main(int argc, char **argv)
{
    cpu_set_t set;

    if (argc < 3)
        return 2;
    if (argc > 3 && !strcmp(argv[2], "steps") && getenv("SPIN_TASK"))
        take_steps(argv);
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[1]), &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0) {
        perror("sched_setaffinity");
        return 1;
    }
    /* The program that started this must be idle: QEMU's counters include the instructions of all CPUs. */
    usleep(300000);
    if (argc == 3)
        loop((uint64_t)atoll(argv[2]) * 500000);
    else if (!strcmp(argv[2], "steps"))
        take_steps(argv);
    else if (!strcmp(argv[2], "mixed"))
        mix(atoll(argv[3]), 500000);
    else if (!strcmp(argv[2], "yield"))
        yield(atof(argv[3]));
    else if (!strcmp(argv[2], "service") && argc == 7)
        serve(atol(argv[3]), atol(argv[4]), atol(argv[5]), atol(argv[6]));
    else if (!strcmp(argv[2], "rest")) {
        static const struct sched_param none;
        if (sched_setscheduler(0, SCHED_IDLE, &none) < 0) {
            perror("sched_setscheduler");
            return 1;
        }
        mix(atoll(argv[3]), 1);
    } else if (!strcmp(argv[2], "calls"))
        for (long long n = atoll(argv[3]); n > 0; n--)
            syscall(SYS_getppid);
    else
        work(atof(argv[3]), !strcmp(argv[2], "changing"));
    return 0;
}
