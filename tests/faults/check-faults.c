/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault injection: runs scenarios (scenario.h) under one fault after another.
 *
 *     check-faults [--only=SCENARIO[:POINT]] [--seed=N] [--points=N] [--all] [--jobs=N] [--list] [--verbose]
 *
 * A point is a fault that a scenario can run under: "call:17:read-EIO", "calls-from:17", "allocation:230",
 * "allocations-from:230". Without --all, each kind of fault is tried once at each place (faults.h); the seed determines
 * which of the times that the place is reached. --points limits the number of points of each scenario. The exit status
 * is 1 if a point fails; the names of all failed points are printed.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbols/symboliser.h"
#include "tests/faults/faulty-sys.h"
#include "tests/faults/run.h"

#define JOBS_MAX 16
#define POINT_NAME_MAX 64
/* Limit on the output shown for a run; a sanitizer's stack trace is longer. */
#define SHOWN_MAX 6000
#define REASON_MAX 300

static const struct scenario *const tables[] = {
    scenarios_of_daemon, scenarios_of_http, scenarios_of_streams, scenarios_of_secure, scenarios_of_ending,
};

struct options {
    const char *scenario, *point; /* NULL: all */
    uint64_t seed;
    size_t points; /* limit for each scenario */
    unsigned jobs;
    bool all, list, verbose;
};

/* A run in progress. */
struct job {
    pid_t pid; /* 0: none */
    int fd;    /* its output */
    const struct fault *fault;
};

struct campaign {
    struct options options;
    const struct scenario *scenario;
    struct observed *observed;
    size_t n_points, n_tried, n_unreached, n_failures;
    char **failures; /* names of the failed points, with the reasons */
};

/* --- points --- */

struct points {
    struct fault *faults;
    size_t n;
};

static void points_add(struct points *points, enum fault_kind kind, size_t k, unsigned variant)
{
    if (array_grow(&points->faults, points->n) < 0)
        abort();
    points->faults[points->n++] = (struct fault){.kind = kind, .k = k, .variant = variant};
}

/* Makes all points from the counts of the run without faults. */
static struct points points_make(const struct fault_counts *counts)
{
    struct points points = {0};

    for (size_t k = 0; k < counts->n_calls; k++) {
        for (unsigned i = 0; i < seam_count_variants(counts->calls[k]); i++)
            points_add(&points, FAULT_CALL, k, i);
        points_add(&points, FAULT_CALLS_FROM, k, 0);
    }
    for (size_t k = 0; k < counts->n_allocations; k++) {
        points_add(&points, FAULT_ALLOCATION, k, 0);
        points_add(&points, FAULT_ALLOCATIONS_FROM, k, 0);
    }
    return points;
}

static const char *point_name(const struct fault *fault, const struct fault_counts *counts, char name[POINT_NAME_MAX])
{
    static const char *const kinds[N_FAULT_KINDS] = {"none", "call", "calls-from", "allocation", "allocations-from"};
    const char *kind = kinds[fault ? fault->kind : FAULT_NONE];

    if (!fault)
        snprintf(name, POINT_NAME_MAX, "%s", kind);
    else if (fault->kind != FAULT_CALL)
        snprintf(name, POINT_NAME_MAX, "%s:%zu", kind, fault->k);
    else
        snprintf(name, POINT_NAME_MAX, "%s:%zu:%s-%s", kind, fault->k, seam_call_name(counts->calls[fault->k]),
                 seam_variant_name(counts->calls[fault->k], fault->variant));
    return name;
}

/* splitmix64 */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void points_shuffle(struct points *points, uint64_t seed)
{
    for (size_t i = 0; i < points->n; i++) {
        struct fault *other = &points->faults[i + random_next(&seed) % (points->n - i)], fault = *other;
        *other = points->faults[i];
        points->faults[i] = fault;
    }
}

static uint64_t place_of(const struct fault *fault, const struct fault_counts *counts)
{
    bool is_call = fault->kind == FAULT_CALL || fault->kind == FAULT_CALLS_FROM;

    return (is_call ? counts->call_places : counts->allocation_places)[fault->k];
}

static bool is_like(const struct fault *a, const struct fault *b, const struct fault_counts *counts)
{
    return a->kind == b->kind && a->variant == b->variant && place_of(a, counts) == place_of(b, counts);
}

/* Keeps the first fault of each kind at each place, and of these the first `max`. */
static void points_choose(struct points *points, const struct fault_counts *counts, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < points->n && n < max; i++) {
        size_t k = 0;
        while (k < n && !is_like(&points->faults[k], &points->faults[i], counts))
            k++;
        if (k == n)
            points->faults[n++] = points->faults[i];
    }
    points->n = n;
}

/* Keeps the point with this name. */
static void points_find(struct points *points, const struct fault_counts *counts, const char *name)
{
    char other[POINT_NAME_MAX];
    size_t n = 0;

    for (size_t i = 0; i < points->n; i++)
        if (str_equal(name, point_name(&points->faults[i], counts, other)))
            points->faults[n++] = points->faults[i];
    points->n = n;
}

/* --- runs --- */

static void job_start(const struct campaign *campaign, struct job *job, const struct fault *fault)
{
    fflush(stdout);
    job->fd = memfd_create("said", MFD_CLOEXEC);
    job->fault = fault;
    if (campaign->options.verbose)
        faults_show_place();
    job->pid = run_start(campaign->scenario, fault, campaign->observed, job->fd);
    if (job->fd < 0 || job->pid < 0)
        abort();
}

/* The reason is on the same line, since the summary shows only that line. */
static void note_failure(struct campaign *campaign, const char *name, const char *output)
{
    const char *reason = strstr(output, "FAILED: ");
    char *line = NULL;

    if (array_grow(&campaign->failures, campaign->n_failures) < 0 ||
        asprintf(&line, "%s: %.*s", name, REASON_MAX, reason ? reason + strlen("FAILED: ") : "no message") < 0)
        abort();
    for (char *at = line; (at = strchr(at, '\n'));)
        *at = ' ';
    campaign->failures[campaign->n_failures++] = line;
}

static bool job_finish(struct campaign *campaign, struct job *job, int status)
{
    bool reached = !WIFEXITED(status) || WEXITSTATUS(status) != RUN_UNREACHED, good = !reached || status == 0;
    char output[SHOWN_MAX + 1], point[POINT_NAME_MAX], name[128];

    output[MAX(pread(job->fd, output, SHOWN_MAX, 0), 0)] = '\0';
    close(job->fd);
    snprintf(name, sizeof(name), "%s:%s", campaign->scenario->name,
             point_name(job->fault, &campaign->observed->counts, point));
    campaign->n_unreached += !reached;
    if (!good) {
        note_failure(campaign, name, output);
        printf("--- %s: %s %d\n", name,
               !WIFSIGNALED(status)          ? "status"
               : WTERMSIG(status) == SIGALRM ? "hangs: signal"
                                             : "signal",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    if (!good || campaign->options.verbose)
        fputs(output, stdout);
    *job = (struct job){0};
    return good;
}

/* Runs the scenario without faults. Returns whether it passed. */
static bool campaign_observe(struct campaign *campaign)
{
    struct job job;
    int status;

    job_start(campaign, &job, NULL);
    return waitpid(job.pid, &status, 0) == job.pid && job_finish(campaign, &job, status);
}

static void campaign_run(struct campaign *campaign, const struct points *points)
{
    unsigned n_jobs = MIN(campaign->options.jobs, JOBS_MAX), n_running = 0;
    struct job jobs[JOBS_MAX] = {0};
    int status;

    for (size_t next = 0; next < points->n || n_running > 0;) {
        for (unsigned i = 0; i < n_jobs && next < points->n; i++)
            if (!jobs[i].pid) {
                job_start(campaign, &jobs[i], &points->faults[next++]);
                n_running++;
            }
        pid_t pid = waitpid(-1, &status, 0);
        for (unsigned i = 0; i < n_jobs; i++)
            if (pid > 0 && jobs[i].pid == pid) {
                job_finish(campaign, &jobs[i], status);
                n_running--;
            }
    }
}

static void run_scenario(struct campaign *campaign, const struct scenario *scenario)
{
    const struct options *options = &campaign->options;
    size_t n_failures = campaign->n_failures;
    char name[POINT_NAME_MAX];

    campaign->scenario = scenario;
    memset(campaign->observed, 0, sizeof(*campaign->observed));
    if (!campaign_observe(campaign))
        return;
    struct points points = points_make(&campaign->observed->counts);
    campaign->n_points += points.n;
    if (options->point)
        points_find(&points, &campaign->observed->counts, options->point);
    else if (!options->all) {
        points_shuffle(&points, options->seed);
        points_choose(&points, &campaign->observed->counts, options->points);
    }
    campaign->n_tried += points.n;
    for (size_t i = 0; options->list && i < points.n; i++)
        printf("%s:%s\n", scenario->name, point_name(&points.faults[i], &campaign->observed->counts, name));
    if (!options->list) {
        campaign_run(campaign, &points);
        printf("%s: %zu points, %zu failed\n", scenario->name, points.n, campaign->n_failures - n_failures);
    }
    free(points.faults);
}

static void run_scenarios(struct campaign *campaign)
{
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        for (const struct scenario *scenario = tables[i]; scenario->name; scenario++)
            if (!campaign->options.scenario || str_equal(campaign->options.scenario, scenario->name))
                run_scenario(campaign, scenario);
}

static bool options_parse(int argc, char **argv, struct options *ret)
{
    static const struct option options[] = {
        {"only", required_argument, NULL, 'o'},   {"seed", required_argument, NULL, 'r'},
        {"points", required_argument, NULL, 'n'}, {"jobs", required_argument, NULL, 'j'},
        {"all", no_argument, NULL, 'a'},          {"list", no_argument, NULL, 'l'},
        {"verbose", no_argument, NULL, 'v'},      {0},
    };
    int option;

    /* Each run spends most of its time waiting, so there are more jobs than CPUs. */
    *ret = (struct options){.seed = 1, .points = SIZE_MAX, .jobs = 6};
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?')
            return false;
        if (option == 'o') {
            ret->scenario = strsep(&optarg, ":");
            ret->point = optarg;
        }
        if (option == 'r')
            ret->seed = strtoull(optarg, NULL, 10);
        if (option == 'n')
            ret->points = strtoul(optarg, NULL, 10);
        if (option == 'j')
            ret->jobs = (unsigned)atoi(optarg);
        ret->all |= option == 'a';
        ret->list |= option == 'l';
        ret->verbose |= option == 'v';
    }
    return optind == argc && ret->jobs > 0 && ret->points > 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && str_equal(argv[1], SYMBOLISER_COMMAND)) /* symboliser.h */
        return symboliser_serve();
    struct campaign campaign = {0};
    const struct options *options = &campaign.options;

    faults_find_libraries();
    if (!options_parse(argc, argv, &campaign.options)) {
        fprintf(stderr, "usage: check-faults [--only=SCENARIO[:POINT]] [--seed=N] [--points=N] [--all] [--jobs=N] "
                        "[--list] [--verbose]\n");
        return 2;
    }
    campaign.observed = observed_new();
    if (!options->list)
        printf("faults: --seed=%" PRIu64 "\n", options->seed);
    run_scenarios(&campaign);
    if (!options->list)
        printf("faults: %zu points, %zu tried, %zu not reached, %zu failed\n", campaign.n_points, campaign.n_tried,
               campaign.n_unreached, campaign.n_failures);
    for (size_t i = 0; i < campaign.n_failures; i++) {
        printf("failed: %s\n", campaign.failures[i]);
        free(campaign.failures[i]);
    }
    free(campaign.failures);
    observed_free(campaign.observed);
    bool good =
        campaign.n_failures == 0 && (campaign.n_tried > 0 || (options->point && str_equal(options->point, "none")));
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
