/* SPDX-License-Identifier: Apache-2.0 */
/* What the service manager is told (sd_notify(3)); nothing happens where there is none. */
#ifndef SYSTEMD_NOTIFY_H
#define SYSTEMD_NOTIFY_H

/* Serving; also said at the end of a reload. `status` is a line for `systemctl status`. */
void notify_ready(const char *status);
/* That line anew. */
void notify_status(const char *status);
void notify_reloading(void);
void notify_stopping(void);

#endif
