/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfcountd on a simulated board: an RK3588 with four Cortex-A55, four Cortex-A76 and several services. Only the
 * system calls are simulated, and the PMUs count in real time. Configuration, HTTP and the event loop are the daemon's
 * own. fleet.py runs many of these as a fleet on one machine.
 *
 *     simulated-board FLAGS...     takes the flags of perfcountd run
 *
 * SIMULATED_IPC sets the instructions per 100 cycles (default: 110). The program is linked with --wrap=sys_init to
 * replace the system calls.
 */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/number.h"
#include "daemon/options.h"
#include "tests/unit/fake-sys.h"

#define A55 8
#define A76 9
#define CPUS 8
/* A CPU of 1.8 GHz that is busy for two fifths of the time runs 36 cycles in 50 ns. */
#define CYCLES 36
#define RATE_NS 50
#define CONFIG_FILE "/etc/perfcountd.yaml"
/* Disables everything that would open descriptors of the real kernel. */
#define CONFIG "{web: {min_interval: 0s}, history: {enabled: false}, collectors: {cgroup: {engine: perf}}}\n"
/* Counts grow every STEP_NS, not at each read of the clock, since each step visits all events. */
#define STEP_NS (10 * NSEC_PER_MSEC)

static const char *const services[] = {"db", "web", "log", "queue", "backup", "camera"};

static struct fake_sys *fake;
static int inodes[ARRAY_SIZE(services)];

void __wrap_sys_init(struct sys *sys);

/* --- fake machine --- */

static uint64_t real_now(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void set_rates(uint64_t ipc)
{
    const struct fake_rate rates[] = {
        {A55, 0x17, 1, 200},
        {A76, 0x17, 1, 300},
        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, CYCLES, RATE_NS},
        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, CYCLES * ipc, RATE_NS * 100},
        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 1, 400},
        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 1, 500},
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1, 500 * 1000},
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 1, 20 * NSEC_PER_MSEC},
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1, NSEC_PER_MSEC},
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 1, NSEC_PER_MSEC},
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1, NSEC_PER_SEC},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
        fake_rate(fake, rates[i]);
}

/* Identifies a cgroup by the inode of its directory, since every open gives a new descriptor. */
static void make_services(void)
{
    char path[64];
    struct stat st;

    for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
        snprintf(path, sizeof(path), "/sys/fs/cgroup/system.slice/%s.service", services[i]);
        for (const char *const *file = (const char *const[]){"cgroup.procs", "cgroup.events", NULL}; *file; file++) {
            char name[96];
            snprintf(name, sizeof(name), "%s/%s", path, *file);
            fake_file(fake, name, "%s", str_equal(*file, "cgroup.events") ? "populated 1\nfrozen 0\n" : "1\n");
        }
        assert(stat(fake_path(fake, path), &st) == 0);
        inodes[i] = (int)st.st_ino;
    }
}

static void make_board(void)
{
    const char *text = getenv("SIMULATED_IPC");
    uint64_t ipc = 110;

    assert(!text || number_parse_u64(text, &ipc) == 0);
    fake = fake_machine_big_little();
    fake_file(fake, "/proc/device-tree/model", "Orange Pi 5%c", '\0');
    fake_file(fake, "/proc/device-tree/compatible", "xunlong,orangepi-5%crockchip,rk3588s%c", '\0', '\0');
    fake_file(fake, "/proc/self/mountinfo", "24 1 0:21 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, CONFIG_FILE, CONFIG);
    set_rates(ipc);
    make_services();
    fake->monotonic_ns = real_now(CLOCK_MONOTONIC);
    fake->realtime_ns = real_now(CLOCK_REALTIME);
}

/* --- fake system calls --- */

static struct sys *simulated(const struct sys *sys)
{
    return &((struct fake_sys *)sys->owner)->sys;
}

static int board_open(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                      unsigned long flags)
{
    struct stat st;

    if (flags & PERF_FLAG_PID_CGROUP && fstat(pid, &st) == 0)
        pid = (int)st.st_ino;
    return sys_perf_event_open(simulated(sys), attr, pid, cpu, group_fd, flags);
}

static ssize_t board_read(struct sys *sys, int fd, void *buffer, size_t size)
{
    return sys_read(simulated(sys), fd, buffer, size);
}

static int board_ioctl(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    return sys_ioctl(simulated(sys), fd, request, argument);
}

static int board_close(struct sys *sys, int fd)
{
    return sys_close(simulated(sys), fd);
}

static int board_mmap(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    return sys_mmap(simulated(sys), fd, size, protection, ret);
}

static int board_munmap(struct sys *sys, void *address, size_t size)
{
    return sys_munmap(simulated(sys), address, size);
}

/* Whenever the clock is read, the counters are advanced to the real time. */
static uint64_t board_now(struct sys *sys, clockid_t clock)
{
    uint64_t passed = real_now(CLOCK_MONOTONIC) - fake->monotonic_ns;

    if (passed >= STEP_NS) {
        fake_advance(fake, passed);
        for (size_t i = 0; i < ARRAY_SIZE(services); i++)
            for (unsigned cpu = 0; cpu < CPUS; cpu++)
                fake_cgroup_run(fake, inodes[i], cpu, passed / (20 + 3 * i));
    }
    return sys_now(simulated(sys), clock);
}

static int board_mount(struct sys *sys, const char *path)
{
    return sys_mount_tracefs(simulated(sys), path);
}

void __wrap_sys_init(struct sys *sys)
{
    if (!fake)
        make_board();
    *sys = (struct sys){
        .calls = {.perf_event_open = board_open,
                  .open_group = sys_own_open_group,
                  .open_file = sys_own_open_file,
                  .read = board_read,
                  .ioctl = board_ioctl,
                  .close = board_close,
                  .mmap = board_mmap,
                  .munmap = board_munmap,
                  .now = board_now,
                  .mount_tracefs = board_mount},
        .owner = fake,
        .root = fake->sys.root,
    };
}

int main(int argc, char **argv)
{
    _cleanup_(options_done) struct options options = {0};
    struct error error;

    if (options_parse(argc, argv, &options, &error) < 0)
        return command_fail(EXIT_BAD_USAGE, &error);
    options.config_file = CONFIG_FILE;
    options.no_opener = true;
    log_configure(options.log_level, options.log_format);
    int status = command_run(&options);
    fake_sys_free(fake);
    return status;
}
