/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every failure, on purpose: runs scenarios under each fault in turn; see scenario.h.
 *
 *     check-faults [--scenario=NAME] [--only=SCENARIO:POINT] [--sample=TEXT:N] [--jobs=N] [--list] [--verbose]
 *
 * --sample tries N points that TEXT chooses, spread over the scenarios, so that other texts choose others. Exit status
 * 1 where a point fails, with the names of all that did.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "symbols/symboliser/symboliser.h"
#include "tests/faults/brittle.h"
#include "tests/faults/campaign.h"

static const struct scenario *const scenarios[] = {
    &scenario_start,
    &scenario_scrapes,
    &scenario_reload,
    &scenario_hotplug,
    &scenario_pause,
    &scenario_end,
    &scenario_cgroups_perf,
    &scenario_cgroups_bpf,
    &scenario_cgroups_reload_perf,
    &scenario_cgroups_reload_bpf,
    &scenario_http,
    &scenario_streams,
    &scenario_secure,
    &scenario_renewal,
    &scenario_toggle,
    &scenario_relisten,
    &scenario_ending,
};

struct wishes {
    const char *scenario, *point; /* NULL: all */
    char *text;                   /* of a sample; NULL: all */
    size_t n;
    bool list;
};

/* "SCENARIO:POINT", "TEXT:N": the first part becomes a text of its own. */
static const char *split_at_colon(char *text)
{
    char *colon = strchr(text, ':');

    if (!colon)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

static bool wishes_parse(int argc, char **argv, struct wishes *ret, struct campaign *campaign)
{
    static const struct option options[] = {
        {"scenario", required_argument, NULL, 's'},
        {"only", required_argument, NULL, 'o'},
        {"sample", required_argument, NULL, 'n'},
        {"jobs", required_argument, NULL, 'j'},
        {"list", no_argument, NULL, 'l'},
        {"verbose", no_argument, NULL, 'v'},
        {0},
    };
    const char *number = "1";
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?')
            return false;
        if (option == 's' || option == 'o')
            ret->scenario = optarg;
        if (option == 'o')
            ret->point = split_at_colon(optarg);
        if (option == 'n') {
            ret->text = optarg;
            number = split_at_colon(optarg);
        }
        if (option == 'j')
            campaign->jobs = (unsigned)atoi(optarg);
        ret->list |= option == 'l';
        campaign->verbose |= option == 'v';
    }
    ret->n = number ? strtoul(number, NULL, 10) : 0;
    return optind == argc && campaign->jobs > 0 && ret->n > 0;
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static void list_points(const struct campaign *campaign, const struct points *points)
{
    char name[POINT_NAME_MAX];

    for (size_t i = 0; i < points->n; i++) {
        point_name(&points->faults[i], &campaign->observed->counts, name);
        printf("%s:%s\n", campaign->scenario->name, name);
    }
}

/* How many points there are, and how many of them were tried. */
static void show_scenario(const struct campaign *campaign, const struct points *points, const struct timespec *start)
{
    size_t all[N_FAULT_KINDS] = {0};

    for (size_t i = 0; i < points->n; i++)
        all[points->faults[i].kind]++;
    printf("%s:", campaign->scenario->name);
    for (enum fault_kind kind = FAULT_CALL; kind < N_FAULT_KINDS; kind++)
        printf(" %s %zu/%zu,", fault_kind_name(kind), campaign->tried[kind], all[kind]);
    printf(" %zu failed, %zu not reached, %.1f s\n", campaign->failed, campaign->unreached, seconds_since(start));
}

struct sums {
    size_t points, tried, unreached;
};

static void run_scenario(struct campaign *campaign, const struct scenario *scenario, const struct wishes *wishes,
                         size_t n, struct sums *sums)
{
    struct timespec start;

    clock_gettime(CLOCK_MONOTONIC, &start);
    if (!campaign_observe(campaign, scenario))
        return;
    struct points all = points_make(&campaign->observed->counts);
    struct points tried = points_make(&campaign->observed->counts);
    if (wishes->text)
        points_choose(&tried, wishes->text, n);
    if (wishes->point)
        points_find(&tried, &campaign->observed->counts, wishes->point);
    sums->points += all.n;
    sums->tried += tried.n;
    if (wishes->list) {
        list_points(campaign, &tried);
    } else {
        campaign_run(campaign, &tried);
        show_scenario(campaign, &all, &start);
        sums->unreached += campaign->unreached;
    }
    points_done(&all);
    points_done(&tried);
}

int main(int argc, char **argv)
{
    if (argc > 1 && str_equal(argv[1], SYMBOLISER_COMMAND)) /* symboliser.h */
        return symboliser_serve(SYMBOLISER_SOCKET);
    struct campaign campaign = {.jobs = 6}; /* they wait for most of the time */
    struct wishes wishes = {0};
    struct sums sums = {0};
    struct timespec start;

    brittle_find();
    if (!wishes_parse(argc, argv, &wishes, &campaign)) {
        fprintf(stderr, "usage: check-faults [--scenario=NAME] [--only=SCENARIO:POINT] [--sample=TEXT:N] [--jobs=N] "
                        "[--list] [--verbose]\n");
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    size_t n_scenarios = wishes.scenario ? 1 : ARRAY_SIZE(scenarios);
    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
        size_t n = wishes.n / n_scenarios + (i < wishes.n % n_scenarios);
        if (!wishes.scenario || str_equal(wishes.scenario, scenarios[i]->name))
            run_scenario(&campaign, scenarios[i], &wishes, n, &sums);
    }
    if (!wishes.list)
        printf("faults: %zu points, %zu tried, %zu not reached, %zu failed, %.0f s\n", sums.points, sums.tried,
               sums.unreached, campaign.n_failures, seconds_since(&start));
    for (size_t i = 0; i < campaign.n_failures; i++)
        printf("failed: %s\n", campaign.failures[i]);
    bool good = campaign.n_failures == 0 && sums.tried > 0;
    campaign_done(&campaign);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
