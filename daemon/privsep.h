/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side of the privilege split: the opener is started where there are privileges, watched and reported. */
#ifndef DAEMON_PRIVSEP_H
#define DAEMON_PRIVSEP_H

#include <jansson.h>
#include <systemd/sd-event.h>

#include "base/error.h"
#include "cgroups/names-reader.h"
#include "config/config.h"
#include "daemon/options.h"
#include "perf/sys.h"

struct split;

/*
 * Splits where this process has privileges and `options` allow it: `sys` then asks the opener, which opens what
 * `config` names and nothing else. The socket for files of `reader` (NULL: none) then goes to the opener. Call it
 * before there are threads or other open descriptors. -errno with a sentence; -EINVAL where the configured user is
 * wrong.
 */
int split_new(const struct options *options, const struct config *config, struct sys *sys, struct name_reader *reader,
              struct split **ret, struct error *error);
/*
 * Where it has split: gives up this process's privileges (opener/daemon-jail.h). Call it when addresses, files and the
 * log are open, which may need privileges, and before any client is served. -errno with a sentence: the process must
 * end then.
 */
int split_drop(struct split *split, struct error *error);
struct split *split_free(struct split *split);

/*
 * Calls `on_change` when the opener is gone, and when it answers again after it was late. Logs the end of the reader.
 * -errno of sd_event_add_io(3).
 */
int split_watch(struct split *split, sd_event *event, void (*on_change)(void *userdata), void *userdata);
/* -ETIMEDOUT with a sentence where the opener does not answer, which is waited for. */
int split_check(const struct split *split, struct error *error);
bool split_is_lost(const struct split *split);
/* How the opener ended, where it is lost. */
void split_describe_end(const struct split *split, char *text, size_t size);
/* NULL where there is one process. */
const struct child *split_opener(const struct split *split);
/* The opener's effective user; this process's where there is none. */
uid_t split_opener_user(const struct split *split);
/* {"state": "running|late|lost|none", "pid", "capabilities", "filtered"} */
json_t *split_json(const struct split *split);
/* Of the reader of state files: {"state": "running|lost|none", "pid"} */
json_t *split_reader_json(const struct split *split);

#endif
