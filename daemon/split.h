/* SPDX-License-Identifier: Apache-2.0 */
/* The opener of counters, as the daemon has it: started where there are privileges, watched, and told of. */
#ifndef DAEMON_SPLIT_H
#define DAEMON_SPLIT_H

#include <jansson.h>
#include <systemd/sd-event.h>

#include "base/error.h"
#include "config/config.h"
#include "daemon/options.h"
#include "perf/sys.h"

struct split;

/*
 * Splits, where this process has privileges and `options` does not say otherwise: `sys` then asks the opener, which
 * opens what the configuration has now. To be called before there are threads or anything else that is open. -errno
 * with a sentence.
 */
int split_new(const struct options *options, const struct config *config, struct sys *sys, struct split **ret,
              struct error *error);
/*
 * Where it has split: makes this process harmless (opener/daemon-jail.h). To be called when addresses, files and log
 * are open that may want privileges, and before any client is heard. -errno with a sentence: it must not go on then.
 */
int split_drop(struct split *split, struct error *error);
struct split *split_free(struct split *split);

/* Calls `on_change` when the opener is gone, and when one that was late answers again. */
int split_watch(struct split *split, sd_event *event, void (*on_change)(void *userdata), void *userdata);
bool split_is_lost(const struct split *split);
/* {"state": "running|late|lost|none", "pid", "capabilities", "filtered"} */
json_t *split_json(const struct split *split);

#endif
