/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records the counts in two histories. The coarse history has a reading for each interval. The fine history has the
 * readings that clients caused in the last five minutes, at most one a second.
 */
#ifndef DAEMON_RECORDER_H
#define DAEMON_RECORDER_H

#include <systemd/sd-event.h>

#include "collectors/history.h"
#include "config/values.h"

struct recorder;

/*
 * Creates a recorder, which calls `read` to read all collectors. Returns -ENOMEM or an error from sd_event_add_time(3).
 */
int recorder_new(sd_event *event, const struct snapshot *(*read)(void *userdata), void *userdata,
                 struct recorder **ret);
struct recorder *recorder_free(struct recorder *recorder);

/*
 * Takes ownership of `fd`, a file in which an earlier process has recorded, or -1. recorder_configure() continues the
 * file if its size is the same.
 */
void recorder_adopt(struct recorder *recorder, int fd);

/*
 * Starts, continues or stops recording. The recorded history is lost if the settings have changed. The service manager
 * keeps it across a restart of the service. Returns -ENOMEM on failure, and then records nothing.
 */
int recorder_configure(struct recorder *recorder, const struct config_history *settings);
/* Records a reading of all collectors caused by a client. */
void recorder_take(struct recorder *recorder, const struct snapshot *snapshot);

/* Returns the histories, or NULL if nothing is recorded. */
const struct histories *recorder_histories(const struct recorder *recorder);

#endif
