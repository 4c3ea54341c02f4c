/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of this machine where a part that the program needs is missing: each case in a process of its own. */
#include "perf/tally/kernel-program.h"

#include <glob.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/capabilities.h"
#include "perf/tally/libbpf.h"
#include "perf/tally/load-process.h"
#include "tests/unit/test.h"

/* The declarations of libbpf.h are those of libbpf's own header, where that is installed. */
#if __has_include(<bpf/libbpf.h>)
#include <bpf/libbpf.h>
#define SAME(member, function)                                                                                         \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((struct libbpf *)0)->member), __typeof__(&(function))), "")
SAME(get_error, libbpf_get_error);
SAME(load, bpf_object__load);
SAME(close, bpf_object__close);
SAME(find_map, bpf_object__find_map_by_name);
SAME(find_program, bpf_object__find_program_by_name);
SAME(map_set_max_entries, bpf_map__set_max_entries);
SAME(map_set_value_size, bpf_map__set_value_size);
SAME(map_set_initial_value, bpf_map__set_initial_value);
SAME(map_fd, bpf_map__fd);
SAME(program_fd, bpf_program__fd);
#endif

#define SHAPE .cpus = 2, .slots = 256, .events = 2, .groups = 1

struct outcome {
    int result; /* 1: the machine could not be prepared */
    struct error error;
};

static bool hide_in_namespace(const char *path, const char *source, const char *type, unsigned long flags)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount(source, path, type, flags, NULL) == 0;
}

static bool without_rights(void)
{
    return capabilities_keep_only(0, NULL) == 0;
}

static bool without_types(void)
{
    return hide_in_namespace("/sys/kernel/btf", "tmpfs", "tmpfs", 0);
}

static bool without_library(void)
{
    glob_t found = {0};
    bool hidden = glob("/usr/lib*/libbpf.so.?", 0, NULL, &found) != GLOB_NOSPACE &&
                  glob("/usr/lib/*/libbpf.so.?", GLOB_APPEND, NULL, &found) != GLOB_NOSPACE;

    for (size_t i = 0; i < found.gl_pathc; i++)
        hidden = hidden && hide_in_namespace(found.gl_pathv[i], "/dev/null", NULL, MS_BIND);
    globfree(&found);
    return hidden;
}

static bool without_descriptors(void)
{
    return setrlimit(RLIMIT_NOFILE, &(struct rlimit){8, 8}) == 0;
}

/* The child, which closes what it has of its parent, has room; its parent has none for what it sends. */
static bool without_room(void)
{
    int last = -1;

    if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64}) < 0)
        return false;
    for (int fd; (fd = dup(STDERR_FILENO)) >= 0;)
        last = fd;
    for (int i = 0; i < 4; i++)
        close(last - i);
    return true;
}

static bool as_it_is(void)
{
    return true;
}

static const struct {
    const char *name;
    bool (*in_prepare)(void);
    struct tally_shape in_shape;
    int out;                 /* 0: some error */
    const char *out_message; /* its begin */
} cases[] = {
    {"as it is", as_it_is, {SHAPE}, 0, ""},
    {"no rights",
     without_rights,
     {SHAPE},
     -EPERM,
     "perfcountd may not load the program that counts cgroups: it takes "},
    {"no types", without_types, {SHAPE}, -ENOENT, "the kernel does not describe its types (/sys/kernel/btf/vmlinux)"},
    {"no libbpf", without_library, {SHAPE}, -ENOSYS, "libbpf, which loads the program that counts cgroups, cannot be "},
    {"no descriptors", without_descriptors, {SHAPE}, -EMFILE, "the limit of open files leaves no room for the program"},
    {"no room", without_room, {SHAPE}, -EMFILE, "the limit of open files leaves no room for the program"},
    {"events", as_it_is, {2, 256, 25, 1}, -E2BIG, "the program counts at most 24 events in 8 groups"},
    {"groups", as_it_is, {2, 256, 2, 9}, -E2BIG, "the program counts at most 24 events in 8 groups"},
    {"no event", as_it_is, {2, 256, 0, 1}, -E2BIG, "the program counts at most 24 events in 8 groups"},
    {"no CPU", as_it_is, {0, 256, 2, 1}, -E2BIG, "the program cannot count 256 slots on 0 CPUs"},
    {"slots", as_it_is, {2, 0x80000000, 2, 1}, -E2BIG, "the program cannot count 2147483648 slots on 2 CPUs"},
    {"memory", as_it_is, {2, 0x7fffffff, 24, 8}, 0, "the kernel "},
};

static void run_case(size_t i, int pipe)
{
    struct outcome outcome = {.result = 1};
    int parts[N_KERNEL_PARTS];

    if (cases[i].in_prepare())
        outcome.result = load_process_run(&cases[i].in_shape, NULL, parts, &outcome.error);
    else
        snprintf(outcome.error.message, sizeof(outcome.error.message), "%s", strerror(errno));
    _exit(write(pipe, &outcome, sizeof(outcome)) == sizeof(outcome) ? 0 : 1);
}

static struct outcome outcome_of(size_t i)
{
    struct outcome outcome;
    int pipes[2], status;

    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_case(i, pipes[1]);
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &outcome, sizeof(outcome)), sizeof(outcome));
    close(pipes[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return outcome;
}

static void test_sentences(void **state)
{
    struct outcome usual = outcome_of(0);

    (void)state;
    if (usual.result < 0)
        skip_because("%s", usual.error.message);
    for (size_t i = 1; i < ARRAY_SIZE(cases); i++) {
        struct outcome outcome = outcome_of(i);
        if (outcome.result == 1)
            leave_out("%s: %s", cases[i].name, outcome.error.message);
        else if ((cases[i].out ? outcome.result != cases[i].out : outcome.result == 0) ||
                 !str_starts(outcome.error.message, cases[i].out_message))
            fail_msg("%s: %d: %s", cases[i].name, outcome.result, outcome.error.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sentences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
