/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of privilege separation: starts the opener if this process has privileges, watches it, and reports
 * its state. opener/client.h describes what happens when the opener is late or lost.
 */
#ifndef DAEMON_PRIVSEP_H
#define DAEMON_PRIVSEP_H

#include <jansson.h>
#include <systemd/sd-event.h>

#include "base/error.h"
#include "cgroups/names-reader.h"
#include "config/config.h"
#include "daemon/options.h"
#include "opener/client.h"

struct privsep;

/*
 * Starts the opener if this process has capabilities and `options` do not forbid it. `calls` are then redirected to the
 * opener, which only opens events and files named in `config`. It also gets the socket that passes state files to
 * `reader` (may be NULL). Must be called before threads are created or other descriptors are opened: the opener is a
 * fork of this process. Returns -errno with a message; -EINVAL if the configured user is not valid.
 */
int privsep_new(const struct options *options, const struct config *config, const struct privileged_calls *calls,
                struct name_reader *reader, struct privsep **ret, struct error *error);
/*
 * Gives up the privileges of a process that has an opener (process/sandbox.h). `has_bound` says whether this process
 * has bound the configured unix sockets. If so, the opener removes on exit the socket files that this process cannot
 * remove. Must be called after opening addresses, files and log, which may need privileges, and before serving any
 * client. Returns -errno with a message; the process must then exit.
 */
int privsep_drop(struct privsep *privsep, bool has_bound, struct error *error);
struct privsep *privsep_free(struct privsep *privsep);

/*
 * Calls `on_change` when the opener has exited, and when a late opener has answered again. Logs the exit of the state
 * file reader. Returns the errors from sd_event_add_io(3).
 */
int privsep_watch(struct privsep *privsep, sd_event *event, void (*on_change)(void *userdata), void *userdata);
/*
 * Waits for an answer from the opener. Returns -ETIMEDOUT with a message if none arrives, and 0 if one does, if the
 * opener has exited, or without an opener.
 */
int privsep_check(const struct privsep *privsep, struct error *error);
bool privsep_is_lost(const struct privsep *privsep);
/* Describes how a lost opener terminated. */
void privsep_describe_end(const struct privsep *privsep, char *text, size_t size);
/* Returns the opener's process, or NULL without an opener. */
const struct child *privsep_opener(const struct privsep *privsep);
/* Returns the effective user of the opener or, without an opener, of this process. */
uid_t privsep_opener_user(const struct privsep *privsep);
/* {"state": "running|late|lost|none", "pid", "capabilities", "filtered"}, or NULL when out of memory. */
json_t *privsep_json(const struct privsep *privsep);
/* Returns the state of the reader of state files: {"state": "running|lost|none", "pid"}, or NULL when out of memory. */
json_t *privsep_reader_json(const struct privsep *privsep);

#endif
