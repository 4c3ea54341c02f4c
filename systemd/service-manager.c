/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the service manager: see notify.h. */
#include "systemd/service-manager.h"

#include <inttypes.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/util.h"

/* Line breaks in the status become blanks, as a line break begins another assignment. */
static void notify_manager(const char *before, const char *status)
{
    _cleanup_(freep) char *line = strdup(status);

    for (char *at = line; at && *at; at++)
        if (*at == '\n' || *at == '\r')
            *at = ' ';
    sd_notifyf(0, "%sSTATUS=%s", before, line ? line : "");
}

void notify_ready(const char *status)
{
    notify_manager("READY=1\n", status);
}

void notify_status(const char *status)
{
    notify_manager("", status);
}

void notify_reloading(void)
{
    struct timespec now;

    /* Type=notify-reload needs the time as well. */
    clock_gettime(CLOCK_MONOTONIC, &now);
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
               (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

void notify_stopping(void)
{
    sd_notify(0, "STOPPING=1");
}

/* systemd.exec(5): the first since systemd 248, the others where the unit has a watchdog or sockets. */
bool notify_is_heard(void)
{
    static const char *const names[] = {"SYSTEMD_EXEC_PID", "WATCHDOG_PID", "LISTEN_PID"};
    bool is_own = false;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = getenv(names[i]);
        is_own = is_own || (value && strtoll(value, NULL, 10) == getpid());
    }
    return is_own && getenv("NOTIFY_SOCKET");
}
