/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the daemon's place after the split and makes all attempts: see impostor.h.
 *
 *   impostor FLAGS...           accepts the daemon's flags, such as --config.file; the exit status is 1 if an attempt
 * did not have the required result, and 77 if there is no opener impostor --accomplice PATH  runs an accomplice, for an
 * impostor that cannot start one: PATH is its socket, which the environment variable IMPOSTOR_ACCOMPLICE passes to the
 * impostor impostor --gain             used internally
 *
 * If root runs it with IMPOSTOR_STEPS=1 in the environment, it makes only the attempts in stepped.c. With
 * IMPOSTOR_STEPS=2 the accomplice acts only at every second stop, since the stops after a system call and before the
 * next one are equivalent.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "daemon/session.h"
#include "tests/impostor/impostor.h"

#define SKIPPED 77
#define STRANGER 12345 /* nobody's user */
#define PROGRAM_MAX (64 * 1024 * 1024)
#define PATIENCE_S 60

/* Verdicts */

long impostor_skip(struct impostor *impostor, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(impostor->reason, sizeof(impostor->reason), format, arguments);
    va_end(arguments);
    return ATTEMPT_SKIPPED;
}

static const char *outcome_name(long got)
{
    return got < 0 ? error_name((int)got) : "done";
}

static bool must_allows(const struct must *must, long got)
{
    if (must->errors[0] == 0)
        return got >= 0;
    for (size_t i = 0; i < ATTEMPT_ERRORS_MAX && must->errors[i]; i++)
        if (got == -must->errors[i])
            return true;
    return false;
}

static void must_print(const struct must *must)
{
    if (must->errors[0] == 0)
        printf("done");
    for (size_t i = 0; i < ATTEMPT_ERRORS_MAX && must->errors[i]; i++)
        printf("%s%s", i ? " or " : "", outcome_name(-must->errors[i]));
}

void impostor_judge(struct impostor *impostor, const char *name, long got, const struct must *must)
{
    if (got == ATTEMPT_SKIPPED) {
        impostor->skipped++;
        printf("skip %s: %s\n", name, impostor->reason);
        return;
    }
    bool fine = must_allows(must, got);
    *(fine ? &impostor->passed : &impostor->failed) += 1;
    printf("%s %s: got %s, must ", fine ? "ok  " : "FAIL", name, outcome_name(got));
    must_print(must);
    putchar('\n');
    fflush(stdout);
}

void impostor_try(struct impostor *impostor, const struct attempt *attempts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        impostor_judge(impostor, attempts[i].name, attempts[i].try(impostor, &attempts[i]), &attempts[i].must);
}

struct outcome {
    long got;
    char reason[sizeof(((struct impostor *)NULL)->reason)];
};

static _Noreturn void be_child(struct impostor *impostor, const struct attempt *attempt, int pipe)
{
    struct outcome outcome = {0};

    alarm(PATIENCE_S);
    outcome.got = attempt->try(impostor, attempt);
    memcpy(outcome.reason, impostor->reason, sizeof(outcome.reason));
    _exit(write(pipe, &outcome, sizeof(outcome)) == sizeof(outcome) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static long end_of_child(struct impostor *impostor, pid_t pid, int pipe)
{
    struct outcome outcome;
    ssize_t n = read(pipe, &outcome, sizeof(outcome));
    int status;

    if (waitpid(pid, &status, 0) != pid)
        return -ECHILD;
    if (n == sizeof(outcome)) {
        memcpy(impostor->reason, outcome.reason, sizeof(outcome.reason));
        return outcome.got;
    }
    if (!WIFSIGNALED(status))
        return -EINTR;
    return WTERMSIG(status) == SIGSYS ? -EPERM : WTERMSIG(status) == SIGSEGV ? -EFAULT : -EINTR;
}

static long try_apart(struct impostor *impostor, const struct attempt *attempt)
{
    int ends[2];

    fflush(stdout);
    if (pipe(ends) < 0)
        return -errno;
    _cleanup_(closep) int ours = ends[0];
    _cleanup_(closep) int theirs = ends[1];
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        be_child(impostor, attempt, theirs);
    close(steal_fd(&theirs));
    return end_of_child(impostor, pid, ours);
}

void impostor_try_apart(struct impostor *impostor, const struct attempt *attempts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        impostor_judge(impostor, attempts[i].name, try_apart(impostor, &attempts[i]), &attempts[i].must);
}

/* Before the split */

static int64_t read_number(struct sys *sys, const char *path)
{
    _cleanup_(freep) char *text = NULL;
    uint64_t number;

    return sys_read_file(sys, path, &text) < 0 || number_parse_u64(text, &number) < 0 ? -1 : (int64_t)number;
}

static int64_t tracepoint_id(struct sys *sys, const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/events/%s/id", machine_find_tracefs(sys) ?: "/sys/kernel/tracing", name);
    return read_number(sys, path);
}

static uint64_t kernel_address(const char *symbol)
{
    _cleanup_(fclosep) FILE *file = fopen("/proc/kallsyms", "re");
    char line[512], name[256], type;
    unsigned long address;

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "%lx %c %255s", &address, &type, name) == 3 && str_equal(name, symbol) && address)
            return address;
    return UINT64_MAX - 0x7effffff; /* hidden: any kernel address will do */
}

/* Returns the offset of a function of this program in the program's file. */
static uint64_t file_offset_of(uintptr_t address)
{
    _cleanup_(fclosep) FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long start, end, offset;
    char line[PATH_MAX + 100];

    while (maps && fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && address >= start && address < end)
            return address - start + offset;
    return 0;
}

/* Creates a directory that all users may enter, with symbolic links and, as root, a setuid copy of this program. */
static void make_scratch(struct knowledge *known)
{
    char path[sizeof(known->gain)];
    _cleanup_(freep) char *program = NULL;
    size_t size;

    strcpy(known->scratch, "/tmp/impostor.XXXXXX");
    if (!mkdtemp(known->scratch)) {
        known->scratch[0] = '\0';
        return;
    }
    chmod(known->scratch, 01777);
    snprintf(path, sizeof(path), "%s/link", known->scratch);
    (void)!symlink("/etc/shadow", path);
    snprintf(path, sizeof(path), "%s/directory", known->scratch);
    (void)!symlink("/etc", path);
    snprintf(path, sizeof(path), "%s/gain", known->scratch);
    if (geteuid() != 0 || file_read(AT_FDCWD, known->program, PROGRAM_MAX, &program, &size) < 0)
        return;
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (fd >= 0 && write(fd, program, size) == (ssize_t)size && fchmod(fd, 04755) == 0)
        strcpy(known->gain, path);
}

static void remove_scratch(const struct knowledge *known)
{
    static const char *const names[] = {"link", "directory", "gain", "hard", "core", "mapped", "other"};
    char path[sizeof(known->gain)];

    if (!*known->scratch)
        return;
    state_requests_clean(known);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", known->scratch, names[i]);
        unlink(path);
    }
    rmdir(known->scratch);
}

static void learn(struct impostor *impostor)
{
    struct knowledge *known = &impostor->known;

    known->kernel_function = kernel_address("do_nanosleep");
    known->switch_id = tracepoint_id(&impostor->sys, "sched/sched_switch");
    known->openat_id = tracepoint_id(&impostor->sys, "syscalls/sys_enter_openat");
    known->uprobe_type = read_number(&impostor->sys, "/sys/bus/event_source/devices/uprobe/type");
    known->kprobe_type = read_number(&impostor->sys, "/sys/bus/event_source/devices/kprobe/type");
    (void)!readlink("/proc/self/exe", known->program, sizeof(known->program) - 1);
    known->victim_offset = file_offset_of((uintptr_t)witness_victim);
    make_scratch(known);
    state_requests_prepare(known);
}

/* Starts the other processes that the attempts need, which only root can do. An impostor that runs as a service
 * connects to an accomplice that was started separately. */
static void gather(struct impostor *impostor)
{
    const struct order become = {.kind = ORDER_BECOME, .number = STRANGER};
    const char *path = getenv("IMPOSTOR_ACCOMPLICE");

    impostor->accomplice = impostor->twin = impostor->stepper = -1;
    if (path)
        impostor->accomplice = helper_connect(path);
    if (geteuid() != 0)
        return;
    impostor->witness = witness_start();
    impostor->twin = helper_start();
    if (getenv("IMPOSTOR_STEPS"))
        impostor->stepper = stepper_start(impostor);
    if (path)
        return;
    impostor->accomplice = helper_start();
    if (impostor->accomplice >= 0 && helper_order(impostor->accomplice, &become, -1) < 0)
        impostor->accomplice = -1;
}

/* Makes the terminal the controlling terminal, as for a daemon that root starts by hand. The parent keeps the other end
 * open, and never reads from it. */
static bool take_terminal(int other_end)
{
    char path[64];

    if (other_end < 0 || ptsname_r(other_end, path, sizeof(path)) != 0 || setsid() < 0)
        return false;
    _cleanup_(closep) int fd = open(path, O_RDWR | O_CLOEXEC);
    close(other_end);
    return fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO;
}

static int make_terminal(void)
{
    _cleanup_(closep) int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    return fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0 ? steal_fd(&fd) : -1;
}

/* The split */

static void start_reader(struct impostor *impostor, struct error *error)
{
    impostor->has_reader = name_reader_start(&impostor->sys, &impostor->reader, error) == 0;
    if (impostor->has_reader)
        impostor->state_files.records = impostor->reader.records;
}

static int take_place(struct impostor *impostor, struct error *error)
{
    const struct privileged_calls calls = {&impostor->sys, &impostor->bpf, &impostor->state_files};

    start_reader(impostor, error);
    int r = settings_read(&impostor->options, &impostor->sys, &impostor->config, error);

    if (r == 0)
        r = privsep_new(&impostor->options, impostor->config, &calls, impostor->has_reader ? &impostor->reader : NULL,
                        &impostor->privsep, error);
    if (r == 0)
        r = privsep_drop(impostor->privsep, true, error);
    if (r < 0)
        return r;
    json_t *status = privsep_json(impostor->privsep);
    impostor->opener = (pid_t)json_integer_value(json_object_get(status, "pid"));
    json_decref(status);
    if (impostor->opener <= 0)
        return 0;
    impostor->client = impostor->sys.owner;
    return machine_load(&impostor->sys, &impostor->machine, error);
}

static const struct {
    const char *name;
    void (*run)(struct impostor *impostor);
} chapters[] = {
    {"the daemon's place", state_run},
    {"root's files", own_files_run},
    {"system calls", own_calls_run},
    {"other processes", own_processes_run},
    {"attacks on the daemon", strangers_run},
    {"requests for events", requests_run},
    {"an unlimited number of events", hoards_run},
    {"requests for probes", probe_requests_run},
    {"requests for files", file_requests_run},
    {"requests for state files", state_requests_run},
    {"requests for the BPF engine", bpf_requests_run},
    {"requests for finders", finder_requests_run},
    {"a stranger with the daemon's descriptors", powers_run},
    {"a stopped opener", stepped_run},
};

static int run(struct impostor *impostor)
{
    struct error error;

    if (take_place(impostor, &error) < 0) {
        printf("FAIL the split: %s\n", error.message);
        return EXIT_FAILURE;
    }
    if (impostor->opener <= 0) {
        printf("skipped: the daemon is not split: without privileges, or with --no-opener, it is a single process\n");
        return SKIPPED;
    }
    for (size_t i = 0; i < ARRAY_SIZE(chapters); i++) {
        if ((chapters[i].run == stepped_run) != (impostor->stepper >= 0))
            continue;
        printf("-- %s\n", chapters[i].name);
        chapters[i].run(impostor);
    }
    if (impostor->witness) {
        static const struct must alive = MUST_WORK;
        impostor_judge(impostor, "root's process still runs at the end", witness_lives(impostor->witness) ? 0 : -ESRCH,
                       &alive);
    }
    printf("%u attempts had the required result, %u did not, %u were skipped\n", impostor->passed, impostor->failed,
           impostor->skipped);
    return impostor->failed || !impostor->passed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Raises the limit as the daemon does, since each event takes a descriptor. */
static void raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){limit.rlim_max, limit.rlim_max});
}

/* Waits for the impostor. The waiting process keeps its privileges, so that it can clean up. */
static int wait_for(pid_t pid)
{
    int status;

    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return EXIT_FAILURE;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    printf("FAIL the impostor was killed by signal %d\n", WTERMSIG(status));
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static struct impostor impostor;
    struct error error;

    setlinebuf(stdout);
    if (argc == 2 && str_equal(argv[1], "--gain"))
        return geteuid() == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    if (argc == 3 && str_equal(argv[1], "--accomplice"))
        return raise_limit(), helper_listen(argv[2]) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    if (options_parse(argc, argv, &impostor.options, &error) < 0) {
        fprintf(stderr, "impostor: %s\n", error.message);
        return EXIT_FAILURE;
    }
    signal(SIGPIPE, SIG_IGN);
    raise_limit();
    sys_init(&impostor.sys);
    impostor.state_files.records = -1;
    learn(&impostor);
    fflush(stdout);
    int terminal = make_terminal();
    pid_t pid = fork();
    if (pid == 0) {
        impostor.on_terminal = take_terminal(terminal);
        gather(&impostor);
        return run(&impostor);
    }
    int status = wait_for(pid);
    remove_scratch(&impostor.known);
    return status;
}
