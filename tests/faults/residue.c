/* SPDX-License-Identifier: Apache-2.0 */
/* The remains of a run: see residue.h. */
#include "tests/faults/residue.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/fd.h"
#include "tests/faults/faults.h"

#define FDS_MAX 64

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>

/* The check at the end of each process would take its time from every point. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "leak_check_at_exit=0:allocator_may_return_null=1:exitcode=99:quarantine_size_mb=8";
}

/*
 * Libraries that lose memory where an allocation of their own fails: the dynamic loader, of a library that it cannot
 * open for want of it; GnuTLS (gnutls_hmac_init() of 3.7, among others); libpfm, whose list of PMUs grows by realloc();
 * and libyaml 0.2.5, which forgets the pairs of a mapping that finds no room among the nodes.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:ld-linux\nleak:libgnutls.so\nleak:libpfm.so\nleak:yaml_parser_load\n";
}
#else
static int __lsan_do_recoverable_leak_check(void)
{
    return 0;
}
#endif

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1:exitcode=98";
}

static unsigned count_mappings(void)
{
    _cleanup_(fclosep) FILE *file = fopen("/proc/self/maps", "re");
    unsigned n = 0;
    char line[1024], access[8];

    fault_expect(file, "/proc/self/maps cannot be read");
    while (fgets(line, sizeof(line), file))
        n += sscanf(line, "%*s %7s", access) == 1 && access[3] == 's';
    return n;
}

struct residue residue_now(void)
{
    struct residue now = {.allocations = faults_outstanding(), .mappings = count_mappings()};

    fault_expect(fd_count_open(-1, &now.descriptors) == 0, "descriptors cannot be counted");
    return now;
}

/* The fdinfo of an inotify descriptor has "inotify wd:1 ino:9e7e sdev:...", in hexadecimal. */
size_t residue_count_watches(const ino_t *inodes, size_t n_inodes)
{
    char path[64], line[512];
    size_t n = 0;

    for (int fd = 0; fd < FDS_MAX; fd++) {
        snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
        _cleanup_(fclosep) FILE *file = fopen(path, "re");
        while (file && fgets(line, sizeof(line), file)) {
            unsigned long inode;
            if (sscanf(line, "inotify wd:%*x ino:%lx", &inode) == 1)
                for (size_t i = 0; i < n_inodes; i++)
                    n += inodes[i] == inode;
        }
    }
    return n;
}

static void show_descriptors(void)
{
    _cleanup_(closedirp) DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;
    char path[300], target[300];

    while (directory && (entry = readdir(directory))) {
        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        fprintf(stderr, "%s -> %.*s\n", path, (int)(n < 0 ? 0 : n), target);
    }
}

void residue_compare(const struct residue *before, const struct residue *after, const long *allowed)
{
    if (after->descriptors != before->descriptors)
        show_descriptors();
    fault_expect(after->descriptors == before->descriptors, "descriptors: %" PRIu64 " before, %" PRIu64 " after",
                 before->descriptors, after->descriptors);
    fault_expect(after->mappings == before->mappings, "mappings: %u before, %u after", before->mappings,
                 after->mappings);
    if (!allowed || after->allocations - before->allocations > *allowed)
        fault_expect(__lsan_do_recoverable_leak_check() == 0, "memory is lost");
}
