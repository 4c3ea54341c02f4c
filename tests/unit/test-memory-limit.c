/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that cgroup limits leave to a process, and the resource limit derived from it. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/memory-limit.h"
#include "tests/unit/test.h"

#define V2 "/sys/fs/cgroup"
#define V1 "/sys/fs/cgroup/memory"
#define NONE UINT64_MAX
#define SKIPPED 77 /* exit status of a child that skips its test */

static char root[] = "/tmp/perfcountd-memory.XXXXXX";

struct file {
    const char *path, *text;
};

static const struct {
    const char *name;
    struct file in[12];
    const char *out_path; /* NULL: no limit applies */
    uint64_t out_room;
} cases[] = {
    {"no /proc", {{0}}, NULL, NONE},
    {"no hierarchy is mounted", {{"/proc/self/cgroup", "0::/a\n"}}, NULL, NONE},
    {"a service without a limit",
     {{"/proc/self/cgroup", "0::/a\n"}, {V2 "/a/memory.max", "max\n"}, {V2 "/a/memory.current", "4096\n"}},
     V2 "/a",
     NONE},
    {"a service with a limit: a fifth of the memory is kept free",
     {{"/proc/self/cgroup", "0::/s.slice/a.service\n"},
      {V2 "/s.slice/a.service/memory.max", "8000\n"},
      {V2 "/s.slice/a.service/memory.current", "3000\n"}},
     V2 "/s.slice/a.service",
     3400},
    {"file pages count as free, unless they are mapped",
     {{"/proc/self/cgroup", "0::/a\n"},
      {V2 "/a/memory.max", "8000\n"},
      {V2 "/a/memory.current", "6000\n"},
      {V2 "/a/memory.stat", "anon 10\nfile 3000\nfile_mapped 1000\ninactive_file 2000\nactive_file 500\n"}},
     V2 "/a",
     1900},
    {"the usage already exceeds the bound",
     {{"/proc/self/cgroup", "0::/a\n"}, {V2 "/a/memory.max", "8000\n"}, {V2 "/a/memory.current", "7500\n"}},
     V2 "/a",
     0},
    {"the slice has less room than the service",
     {{"/proc/self/cgroup", "0::/s.slice/a\n"},
      {V2 "/s.slice/memory.max", "800\n"},
      {V2 "/s.slice/memory.current", "300\n"},
      {V2 "/s.slice/a/memory.max", "8000\n"},
      {V2 "/s.slice/a/memory.current", "100\n"}},
     V2 "/s.slice/a",
     340},
    {"only the slice has a limit",
     {{"/proc/self/cgroup", "0::/s.slice/t.slice/a\n"},
      {V2 "/s.slice/memory.max", "800\n"},
      {V2 "/s.slice/memory.current", "300\n"},
      {V2 "/s.slice/t.slice/a/memory.max", "max\n"}},
     V2 "/s.slice/t.slice/a",
     340},
    {"a container in a cgroup namespace",
     {{"/proc/self/cgroup", "0::/\n"}, {V2 "/memory.max", "800\n"}, {V2 "/memory.current", "300\n"}},
     V2,
     340},
    {"a container without a cgroup namespace",
     {{"/proc/self/cgroup", "0::/docker/1\n"}, {V2 "/memory.max", "800\n"}, {V2 "/memory.current", "300\n"}},
     V2,
     340},
    {"cgroup v1 mounted beside v2",
     {{"/proc/self/cgroup", "12:cpu,memory:/a\n1:name=systemd:/b\n0::/b\n"},
      {V1 "/a/memory.limit_in_bytes", "8000\n"},
      {V1 "/a/memory.usage_in_bytes", "4000\n"},
      {V1 "/a/memory.stat",
       "inactive_file 9999\ntotal_inactive_file 600\ntotal_active_file 500\ntotal_mapped_file 100\n"}},
     V1 "/a",
     3400},
    {"cgroup v1 without a limit",
     {{"/proc/self/cgroup", "4:memory:/a\n"},
      {V1 "/a/memory.limit_in_bytes", "9223372036854771712\n"},
      {V1 "/a/memory.usage_in_bytes", "4000\n"}},
     V1 "/a",
     NONE},
    {"not numbers",
     {{"/proc/self/cgroup", "x\n:\n0::/a\n"},
      {V2 "/a/memory.max", "-5\n"},
      {V2 "/a/memory.current", ""},
      {V2 "/a/memory.stat", "\n\n"}},
     V2 "/a",
     NONE},
};

static void write_file(const char *path, const char *text)
{
    char full[512];

    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(full, 0700);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void remove_all(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

TEST(test_room)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(memory_limit_done) struct memory_limit limit = {0};

        print_message("%s\n", cases[i].name);
        strcpy(strrchr(root, '.'), ".XXXXXX");
        assert_non_null(mkdtemp(root));
        for (size_t k = 0; k < ARRAY_SIZE(cases[i].in) && cases[i].in[k].path; k++)
            write_file(cases[i].in[k].path, cases[i].in[k].text);
        assert_int_equal(memory_limit_find(root, &limit), 0);
        if (cases[i].out_path)
            assert_string_equal(limit.path + strlen(root), cases[i].out_path);
        else
            assert_null(limit.path);
        assert_true(memory_limit_room(&limit) == cases[i].out_room);
        remove_all();
    }
}

/* False under qemu-user, which ignores an RLIMIT_DATA that the emulated process sets. */
static bool limits_are_set(void)
{
    const struct rlimit some = {1 << 30, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    struct rlimit limit;

    return setrlimit(RLIMIT_DATA, &some) == 0 && getrlimit(RLIMIT_DATA, &limit) == 0 &&
           limit.rlim_cur == some.rlim_cur && setrlimit(RLIMIT_DATA, &none) == 0;
}

/* Runs in a child: allocating 64 MB succeeds; allocating 256 MB fails, but succeeds once the limit is removed. */
static void run_limited(const char *path)
{
    struct memory_limit limit = {0};

    if (!limits_are_set())
        _exit(SKIPPED);
    if (memory_limit_find(root, &limit) < 0)
        _exit(1);
    memory_limit_apply(&limit);
    void *small = malloc(64 << 20), *large = malloc(256 << 20);
    if (!small || large)
        _exit(2);
    write_file(path, "max\n");
    memory_limit_apply(&limit);
    large = malloc(256 << 20);
    _exit(large ? 0 : 3);
}

TEST(test_apply)
{
    int status = 0;

#ifdef __SANITIZE_ADDRESS__
    skip_because("malloc() that fails under AddressSanitizer");
#endif
    strcpy(strrchr(root, '.'), ".XXXXXX");
    assert_non_null(mkdtemp(root));
    write_file("/proc/self/cgroup", "0::/a\n");
    write_file(V2 "/a/memory.max", "134217728\n");
    write_file(V2 "/a/memory.current", "4096\n");
    pid_t pid = fork();
    if (pid == 0)
        run_limited(V2 "/a/memory.max");
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        remove_all();
        skip_because("RLIMIT_DATA");
    }
    assert_int_equal(status, 0);
    remove_all();
}

TEST_MAIN(NULL, NULL)
