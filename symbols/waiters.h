/* SPDX-License-Identifier: Apache-2.0 */
/* Callers that wait until /proc was read and the tables that all need are made, or until no table is being made. */
#ifndef SYMBOLS_WAITERS_H
#define SYMBOLS_WAITERS_H

#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "symbols/proc.h"

struct waiters {
    /* Whether the tables are there: those that all need if `after_scan`, else all that were asked for. */
    bool (*tables_are_ready)(void *userdata, bool after_scan);
    void *userdata;
    sd_event_source *turn; /* enabled while a waiter can go on */
    TAILQ_HEAD(, waiter) list;
    bool denied; /* the last scan could not see every process */
    bool failed; /* memory or descriptors were short in the last scan */
};

/* The caller fills the first two members before. Returns 0, -ENOMEM or an error of sd-event. */
int waiters_init(struct waiters *waiters, sd_event *event);
void waiters_done(struct waiters *waiters);

/* Has `done` called once, from the event loop. Takes `scan` (NULL: none) unless it fails. -ENOMEM. */
int waiters_add(struct waiters *waiters, struct proc_scan *scan, void (*done)(void *userdata), void *userdata);
/* Removes the waiters with this `userdata`. */
void waiters_remove(struct waiters *waiters, const void *userdata);
/* Checks all waiters again. To be called when tables were made, and when a scan can be stepped again. */
void waiters_wake(struct waiters *waiters);

#endif
