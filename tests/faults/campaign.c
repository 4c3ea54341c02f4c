/* SPDX-License-Identifier: Apache-2.0 */
/* Runs many points of a scenario: see campaign.h. */
#include "tests/faults/campaign.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define JOBS_MAX 16
/* Of what a run said; a stack of the sanitizer is longer. */
#define SHOWN_MAX 6000
#define REASON_MAX 300

/* A run that is under way. */
struct job {
    pid_t pid; /* 0: none */
    int fd;
    const struct fault *fault;
};

/* Until the next call. */
static const char *read_output(int fd)
{
    static char text[SHOWN_MAX + 1];
    ssize_t n = pread(fd, text, SHOWN_MAX, 0);

    text[MAX(n, 0)] = '\0';
    return text;
}

static void campaign_name(const struct campaign *campaign, const struct fault *fault, char *name, size_t size)
{
    char point[POINT_NAME_MAX] = "none";

    if (fault)
        point_name(fault, &campaign->observed->counts, point);
    snprintf(name, size, "%s:%s", campaign->scenario->name, point);
}

static void job_start(const struct campaign *campaign, struct job *job, const struct fault *fault)
{
    fflush(stdout);
    job->fd = memfd_create("said", MFD_CLOEXEC);
    job->fault = fault;
    if (campaign->verbose)
        faults_show_place();
    job->pid = run_start(campaign->scenario, fault, campaign->observed, job->fd);
    if (job->fd < 0 || job->pid < 0)
        abort();
}

/* With the reason on the same line, since it is all that a summary shows. */
static void note_failure(struct campaign *campaign, const char *name, const char *output)
{
    const char *reason = strstr(output, "FAILED: ");
    char *line = NULL;

    campaign->failed++;
    if (array_grow(&campaign->failures, campaign->n_failures) < 0 ||
        asprintf(&line, "%s: %.*s", name, REASON_MAX, reason ? reason + strlen("FAILED: ") : "it says nothing") < 0)
        abort();
    for (char *at = line; (at = strchr(at, '\n'));)
        *at = ' ';
    campaign->failures[campaign->n_failures++] = line;
}

static bool job_finish(struct campaign *campaign, struct job *job, int status)
{
    bool reached = !WIFEXITED(status) || WEXITSTATUS(status) != RUN_UNREACHED;
    bool good = !reached || status == 0;
    const char *output = read_output(job->fd);
    char name[128];

    campaign_name(campaign, job->fault, name, sizeof(name));
    campaign->tried[job->fault ? job->fault->kind : FAULT_NONE]++;
    campaign->unreached += !reached;
    if (!good) {
        note_failure(campaign, name, output);
        printf("--- %s: %s %d\n", name,
               !WIFSIGNALED(status)          ? "status"
               : WTERMSIG(status) == SIGALRM ? "it hangs: signal"
                                             : "signal",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    if (!good || campaign->verbose)
        fputs(output, stdout);
    close(job->fd);
    *job = (struct job){0};
    return good;
}

bool campaign_observe(struct campaign *campaign, const struct scenario *scenario)
{
    struct job job;
    int status;

    campaign->scenario = scenario;
    campaign->failed = campaign->unreached = 0;
    memset(campaign->tried, 0, sizeof(campaign->tried));
    if (campaign->observed)
        observed_free(campaign->observed);
    campaign->observed = observed_new();
    if (!campaign->observed)
        abort();
    job_start(campaign, &job, NULL);
    return waitpid(job.pid, &status, 0) == job.pid && job_finish(campaign, &job, status);
}

/* Waits until one of the runs has ended. */
static void campaign_wait(struct campaign *campaign, struct job jobs[JOBS_MAX])
{
    int status = 0;
    pid_t pid = waitpid(-1, &status, 0);

    for (size_t i = 0; pid > 0 && i < JOBS_MAX; i++)
        if (jobs[i].pid == pid)
            job_finish(campaign, &jobs[i], status);
}

void campaign_run(struct campaign *campaign, const struct points *points)
{
    unsigned n_jobs = MIN(campaign->jobs, JOBS_MAX), n_running = 0;
    struct job jobs[JOBS_MAX] = {0};

    for (size_t next = 0; next < points->n || n_running > 0;) {
        for (unsigned i = 0; i < n_jobs && next < points->n; i++)
            if (!jobs[i].pid)
                job_start(campaign, &jobs[i], &points->faults[next++]);
        campaign_wait(campaign, jobs);
        n_running = 0;
        for (unsigned i = 0; i < n_jobs; i++)
            n_running += jobs[i].pid != 0;
    }
}

void campaign_done(struct campaign *campaign)
{
    for (size_t i = 0; i < campaign->n_failures; i++)
        free(campaign->failures[i]);
    free(campaign->failures);
    if (campaign->observed)
        observed_free(campaign->observed);
}
