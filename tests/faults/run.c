/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/faults/run.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/util.h"
#include "daemon/log.h"
#include "tests/faults/faults.h"

/* --- residue --- */

#define FDS_MAX 64

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>

/* A leak check at the exit of each process would slow down every run; residue_compare() checks for leaks instead. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "leak_check_at_exit=0:allocator_may_return_null=1:exitcode=99:quarantine_size_mb=8";
}

/*
 * These libraries leak when one of their own allocations fails: the dynamic loader, while it opens a library; GnuTLS
 * (gnutls_hmac_init() of 3.7, among others); libpfm, whose PMU list grows by realloc(); and libyaml 0.2.5, which leaks
 * the pairs of a mapping if it cannot enlarge the array of nodes.
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

static void residue_compare(const struct residue *before, const struct residue *after, const long *allowed)
{
    if (after->descriptors != before->descriptors)
        show_descriptors();
    fault_expect(after->descriptors == before->descriptors, "descriptors: %" PRIu64 " before, %" PRIu64 " after",
                 before->descriptors, after->descriptors);
    fault_expect(after->mappings == before->mappings, "mappings: %u before, %u after", before->mappings,
                 after->mappings);
    if (!allowed || after->allocations - before->allocations > *allowed)
        fault_expect(__lsan_do_recoverable_leak_check() == 0, "memory leaks");
}

/* --- messages --- */

static int said_fd = -1;

static int said_begin(int fd)
{
    said_fd = fd;
    log_configure(LOG_LEVEL_WARNING, LOG_FORMAT_TEXT);
    return dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0 ? -errno : 0;
}

void said_add(const char *sentence)
{
    fprintf(stderr, "now warning %s\n", sentence);
}

/* Returns the whole output of the run; the caller frees it. */
static char *said_text(void)
{
    struct stat st = {0};

    fflush(stdout);
    fault_expect(fstat(said_fd, &st) == 0, "fstat: %s", strerror(errno));
    char *text = calloc(1, (size_t)st.st_size + 1);
    fault_expect(text, "out of memory");
    fault_expect(pread(said_fd, text, (size_t)st.st_size, 0) >= 0, "pread: %s", strerror(errno));
    return text;
}

/* Returns the message of a log line, without its time and level; NULL if the line is not a warning or an error. */
static const char *sentence_of(const char *line)
{
    static const char *const levels[] = {" warning ", " error   "};

    for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
        const char *at = strstr(line, levels[i]);
        if (at && at - line < 40)
            return at + strlen(levels[i]);
    }
    return NULL;
}

/* Cuts lines off `*at` until one is a warning or an error. Returns its message, or NULL at the end. */
static const char *said_next(char **at)
{
    const char *sentence = NULL;
    char *line;

    while (!sentence && (line = strsep(at, "\n")))
        sentence = sentence_of(line);
    return sentence;
}

static size_t said_count(void)
{
    _cleanup_(freep) char *text = said_text();
    char *at = text;
    size_t n = 0;

    while (said_next(&at))
        n++;
    return n;
}

static void said_check_repeats(unsigned max)
{
    _cleanup_(freep) char *text = said_text();
    const char *sentences[1000], *sentence;
    unsigned counts[ARRAY_SIZE(sentences)] = {0};
    char *at = text;
    size_t n = 0;

    while ((sentence = said_next(&at)) && n < ARRAY_SIZE(sentences)) {
        size_t i = 0;
        sentences[n++] = sentence;
        while (!str_equal(sentences[i], sentence))
            i++;
        fault_expect(++counts[i] <= max, "the daemon logged this more than %u times: %s", max, sentence);
    }
}

/* --- a run --- */

/* A run that takes longer hangs: every wait within it has a lower limit. */
#define SECONDS_MAX 600
#define LINES_MAX 4000

struct observed *observed_new(void)
{
    struct observed *observed =
        mmap(NULL, sizeof(*observed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return observed == MAP_FAILED ? NULL : observed;
}

void observed_free(struct observed *observed)
{
    munmap(observed, sizeof(*observed));
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the lines and drops duplicates, since the order in which rows and series were created does not matter. */
static void sort_lines(char *lines, char *text)
{
    char *all[LINES_MAX], *line;
    size_t n = 0;

    while ((line = strsep(&lines, "\n")) && n < LINES_MAX)
        all[n++] = line;
    qsort(all, n, sizeof(all[0]), compare_lines);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !str_equal(all[i], all[i - 1]))
            text = stpcpy(stpcpy(text, all[i]), "\n");
}

static void run_describe(const struct scenario *scenario, void *state, char *text)
{
    _cleanup_(buffer_done) struct buffer out = {0};

    scenario->describe(state, &out);
    buffer_append_char(&out, '\0');
    fault_expect(!out.failed && out.size < DESCRIPTION_MAX, "the description is too long");
    sort_lines(out.data, text);
}

void compare_texts(const char *what, const char *before, const char *now)
{
    const char *line = now;
    size_t i = 0;

    for (; before[i] && before[i] == now[i]; i++)
        if (now[i] == '\n')
            line = now + i + 1;
    if (before[i] == now[i])
        return;
    const char *other = before + (line - now);
    fault_failed("%s:\n  it is     %.*s\n  it was    %.*s", what, (int)strcspn(line, "\n"), line,
                 (int)strcspn(other, "\n"), other);
}

/* Returns whether a row is reported as starved, multiplexed or unavailable. */
static bool reports_state(const char *description)
{
    return strstr(description, ": starved") || strstr(description, ": multiplexed") ||
           strstr(description, ": unavailable") || strstr(description, "perfcountd_events_unavailable{");
}

static void run(const struct scenario *scenario, const struct fault *fault, struct observed *observed)
{
    static char after_act[DESCRIPTION_MAX], after_recover[DESCRIPTION_MAX];
    struct residue before = residue_now();

    faults_plan(fault ? fault : &(struct fault){0}, fault ? NULL : &observed->counts);
    void *state = scenario->prepare();
    size_t said = said_count();
    faults_begin();
    scenario->act(state);
    bool reached = faults_end();
    run_describe(scenario, state, fault ? after_act : observed->after_act);
    fault_expect(fault || said_count() == said, "the daemon logs a warning, although nothing fails");
    bool reported = said_count() > said || reports_state(after_act);
    scenario->recover(state);
    run_describe(scenario, state, fault ? after_recover : observed->after_recover);
    if (fault)
        compare_texts("the daemon has not recovered fully", observed->after_recover, after_recover);
    if (fault && !reported && !scenario->may_be_silent)
        compare_texts("the state differs from the run without a fault, and no message reports it", observed->after_act,
                      after_act);
    scenario->finish(state);
    said_check_repeats(MAX(scenario->asks, 1));
    struct residue after = residue_now();
    residue_compare(&before, &after, fault ? &observed->outstanding : NULL);
    if (!fault)
        observed->outstanding = after.allocations - before.allocations;
    else if (!reached)
        _exit(RUN_UNREACHED);
}

pid_t run_start(const struct scenario *scenario, const struct fault *fault, struct observed *observed, int out_fd)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    if (said_begin(out_fd) < 0)
        _exit(EXIT_FAILURE);
    alarm(SECONDS_MAX);
    run(scenario, fault, observed);
    _exit(EXIT_SUCCESS);
}
