/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of the privilege separation: starts the opener if this process has privileges, watches the opener,
 * and reports the opener's state. opener/client.h describes what happens when the opener is late or lost.
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
 * Starts the opener if this process has capabilities and `options` do not forbid an opener. `calls` are then redirected
 * to the opener, which only opens events and files that `config` names. The opener also gets the socket that passes
 * state files to `reader` (may be NULL). Must be called before threads are created or other descriptors are opened: the
 * opener is a fork of this process. Returns -errno with a message; -EINVAL if the configured user is not valid.
 */
int privsep_new(const struct options *options, const struct config *config, const struct privileged_calls *calls,
                struct name_reader *reader, struct privsep **ret, struct error *error);
/*
 * Gives up the privileges of a process that has an opener (process/sandbox.h). `has_bound` is true if this process has
 * bound the configured unix sockets. When the opener exits, it then removes the socket files that this process cannot
 * remove. Must be called after the addresses, files and log have been opened, which may need privileges, and before any
 * client is served. Returns -errno with a message; the process must then exit.
 */
int privsep_drop(struct privsep *privsep, bool has_bound, struct error *error);
struct privsep *privsep_free(struct privsep *privsep);

/*
 * Calls `on_change` when the opener has exited, and when a late opener has answered again. Logs the exit of the reader
 * of state files. Returns the errors from sd_event_add_io(3).
 */
int privsep_watch(struct privsep *privsep, sd_event *event, void (*on_change)(void *userdata), void *userdata);
/*
 * Waits for an answer from the opener. Returns -ETIMEDOUT with a message if no answer arrives, and 0 after an answer,
 * without an opener, or if the opener has exited.
 */
int privsep_check(const struct privsep *privsep, struct error *error);
bool privsep_is_lost(const struct privsep *privsep);
/* Describes how a lost opener has ended. */
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
