/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of the privilege separation: starts the opener if this process has privileges, watches it, and
 * reports its state. opener/client.h says what the daemon can still do when the opener is late or lost.
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
 * Starts the opener if this process has capabilities and `options` do not forbid it. From then on `calls` ask the
 * opener, which opens only what `config` names. The socket that passes state files to `reader` (may be NULL) then
 * belongs to the opener. Must be called before threads are created or other descriptors are opened: the opener is a
 * fork of this process. Returns -errno with a sentence; -EINVAL if the configured user is wrong.
 */
int privsep_new(const struct options *options, const struct config *config, const struct privileged_calls *calls,
                struct name_reader *reader, struct privsep **ret, struct error *error);
/*
 * Gives up this process's privileges if it has an opener (process/sandbox.h). `has_bound` says that this process has
 * bound the configured unix sockets; then the opener removes their files at the end, if this process cannot. Must be
 * called after addresses, files and the log are open, which may need privileges, and before any client is served.
 * Returns -errno with a sentence; the process must then exit.
 */
int privsep_drop(struct privsep *privsep, bool has_bound, struct error *error);
struct privsep *privsep_free(struct privsep *privsep);

/*
 * Calls `on_change` when the opener has ended, and when a late opener has answered again. Also logs the end of the
 * reader. Returns the errors of sd_event_add_io(3).
 */
int privsep_watch(struct privsep *privsep, sd_event *event, void (*on_change)(void *userdata), void *userdata);
/*
 * Waits for an answer of the opener. Returns -ETIMEDOUT with a sentence if none arrives, and 0 if there is no opener or
 * it has ended.
 */
int privsep_check(const struct privsep *privsep, struct error *error);
bool privsep_is_lost(const struct privsep *privsep);
/* Describes how a lost opener ended. */
void privsep_describe_end(const struct privsep *privsep, char *text, size_t size);
/* Returns the opener's process; NULL if there is no opener. */
const struct child *privsep_opener(const struct privsep *privsep);
/* Returns the opener's effective user; if there is no opener, that of this process. */
uid_t privsep_opener_user(const struct privsep *privsep);
/* {"state": "running|late|lost|none", "pid", "capabilities", "filtered"}; NULL when out of memory. */
json_t *privsep_json(const struct privsep *privsep);
/* The reader of state files: {"state": "running|lost|none", "pid"}; NULL when out of memory. */
json_t *privsep_reader_json(const struct privsep *privsep);

#endif
