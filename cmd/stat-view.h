/* SPDX-License-Identifier: Apache-2.0 */
/* A session of `perfcountd stat`, and how its flags want the counts to be shown. */
#ifndef CMD_STAT_VIEW_H
#define CMD_STAT_VIEW_H

#include <stdio.h>

#include "cmd/workload.h"
#include "collectors/totals.h"
#include "daemon/session.h"
#include "formats/order.h"
#include "formats/query.h"

struct stat_view {
    const struct options *options;
    struct session session;
    struct workload workload;
    struct filter filter;
    struct order order;
    char *sort; /* as events are named in metrics */
    FILE *file; /* NULL until it is open */
};

/* Reads the flags. Returns the exit status; stat_view_done() in either case. */
int stat_view_parse(struct stat_view *view);
void stat_view_done(struct stat_view *view);

/* Whether cgroups are shown: where they were asked for, and where nothing else is counted. */
bool stat_view_shows_cgroups(const struct stat_view *view, const struct snapshot *snapshot);
/* Whether there is something to show, and to sort by. Returns the exit status. */
int stat_view_check(const struct stat_view *view, const struct snapshot *snapshot);
/* The rows that are shown, added up. -ENOMEM; totals_done() in either case. */
int stat_view_totals(const struct stat_view *view, const struct baseline *baseline, const struct snapshot *snapshot,
                     struct totals *ret);

#endif
