/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records the counts in two histories. The coarse history has a reading for each interval. The fine history has the
 * readings that clients caused in the last five minutes, at most one reading a second.
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
 * Passes a file in which an earlier process has recorded; recorder_configure() continues the file if the size is the
 * same. Takes ownership of the descriptor `fd`, which is -1 without such a file.
 */
void recorder_adopt(struct recorder *recorder, int fd);

/*
 * Starts, continues or stops recording. The recorded history is lost if the settings differ from the previous settings.
 * The service manager keeps the history while the service is restarted. Returns -ENOMEM on failure, and then records
 * nothing.
 */
int recorder_configure(struct recorder *recorder, const struct config_history *settings);
/* Records a reading of all collectors that was caused by a client. */
void recorder_take(struct recorder *recorder, const struct snapshot *snapshot);

/* Returns the histories, or NULL if nothing is recorded. */
const struct histories *recorder_histories(const struct recorder *recorder);

#endif
