/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records the counts in two histories: one reading in each interval, and, for five minutes, all readings that clients
 * cause, at most one a second.
 */
#ifndef DAEMON_RECORDER_H
#define DAEMON_RECORDER_H

#include <systemd/sd-event.h>

#include "collectors/history.h"
#include "config/values.h"

struct recorder;

/* `read` reads all collectors now. Returns -ENOMEM or an error of sd_event_add_time(3). */
int recorder_new(sd_event *event, const struct snapshot *(*read)(void *userdata), void *userdata,
                 struct recorder **ret);
struct recorder *recorder_free(struct recorder *recorder);

/*
 * Continues what an earlier process has recorded in this file, once recorder_configure() begins with the same size.
 * Takes ownership of the descriptor; -1 if there is none.
 */
void recorder_adopt(struct recorder *recorder, int fd);

/*
 * Starts, continues or stops recording. The record is lost if the settings differ from the previous ones. The service
 * manager keeps the record while the service is restarted. On failure, returns -ENOMEM and records nothing.
 */
int recorder_configure(struct recorder *recorder, const struct config_history *settings);
/* Records a reading of all collectors that a client has caused. */
void recorder_take(struct recorder *recorder, const struct snapshot *snapshot);

/* NULL while nothing is recorded. */
const struct histories *recorder_histories(const struct recorder *recorder);

#endif
