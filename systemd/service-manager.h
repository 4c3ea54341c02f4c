/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the service manager (sd_notify(3)); without one nothing happens. */
#ifndef SYSTEMD_SERVICE_MANAGER_H
#define SYSTEMD_SERVICE_MANAGER_H

#include <stdbool.h>

/* The daemon serves; sent also at the end of a reload. `status` is a line for `systemctl status`. */
void notify_ready(const char *status);
/* Replaces that line. */
void notify_status(const char *status);
void notify_reloading(void);
void notify_stopping(void);
/*
 * Whether a service manager started this very process and hears its messages, so that it may start another when this
 * one fails. A shell or a script inherits the same variables, with the number of another process in them.
 */
bool notify_is_heard(void);

#endif
