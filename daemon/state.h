/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that the running daemon holds, for the files that are the daemon: daemon.c and serving.c. */
#ifndef DAEMON_STATE_H
#define DAEMON_STATE_H

#include <systemd/sd-event.h>

#include "daemon/failure-log.h"
#include "daemon/hotplug.h"
#include "daemon/listening.h"
#include "daemon/pause.h"
#include "daemon/retry.h"
#include "daemon/session.h"
#include "daemon/shutdown.h"
#include "daemon/split.h"
#include "daemon/watches.h"
#include "http/server.h"
#include "sampler/sampler.h"

struct daemon {
    const struct options *options;
    struct session session;
    struct split *split;
    struct service service;
    struct server *server;
    sd_event *event;
    struct hotplug *hotplug;
    uint64_t looked_ns; /* at the CPUs */
    struct cpuset left; /* CPUs that went away, which what is open has not followed yet */
    bool lagging;       /* it could not */
    struct retry *retry;
    struct watches *watches;
    struct failure_log failure_log;
    struct pause *pause;
    struct sampler *sampler;
    struct shutdown *shutdown;
    struct listening listening;
    size_t n_missing; /* when the service manager was last told */
    char reload_error[512];
    bool ready;
    uint64_t started_realtime_ns;
};

/* Reads the configuration again; -errno with a sentence, and the old one goes on. -ESHUTDOWN while it is shutdown. */
int daemon_reload(struct daemon *daemon, struct error *error);
/* Disables or enables all groups and whatever samples, and says so. */
int daemon_set_paused(struct daemon *daemon, bool paused);
/* Until counting goes on, in whole seconds, rounded up. */
unsigned daemon_paused_seconds(const struct daemon *daemon);

#endif
