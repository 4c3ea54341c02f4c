/* SPDX-License-Identifier: Apache-2.0 */
#include "systemd/service-manager.h"

#include <inttypes.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"

/* --- messages --- */

/* Line breaks in the status are replaced by spaces, because a line break would start another assignment. */
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

    /* Units with Type=notify-reload expect MONOTONIC_USEC= together with RELOADING=1 (systemd.service(5)). */
    clock_gettime(CLOCK_MONOTONIC, &now);
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
               (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

void notify_stopping(void)
{
    sd_notify(0, "STOPPING=1");
}

#define STORED_NAME "history"

void notify_store_nothing(void)
{
    sd_notify(0, "FDSTOREREMOVE=1\nFDNAME=" STORED_NAME);
}

void notify_store(int fd)
{
    notify_store_nothing();
    sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=" STORED_NAME, &fd, 1);
}

/*
 * systemd sets SYSTEMD_EXEC_PID since version 248, and the other variables if the unit has a watchdog or sockets
 * (systemd.exec(5)).
 */
bool notify_is_received(void)
{
    static const char *const names[] = {"SYSTEMD_EXEC_PID", "WATCHDOG_PID", "LISTEN_PID"};
    bool is_own = false;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = getenv(names[i]);
        is_own = is_own || (value && strtoll(value, NULL, 10) == getpid());
    }
    return is_own && getenv("NOTIFY_SOCKET");
}

/* --- sockets --- */

void sockets_done(struct sockets *sockets)
{
    for (size_t i = 0; i < sockets->n; i++)
        close(sockets->fds[i]);
    free(sockets->fds);
    closep(&sockets->stored);
    *sockets = (struct sockets){.stored = -1};
}

static int check_socket(int fd, struct error *error)
{
    int r = sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1);

    if (r > 0)
        return 0;
    return error_set(
        error, -EINVAL,
        "the socket passed as descriptor %d is not a listening stream socket: its .socket unit needs ListenStream= and "
        "Accept=no",
        fd);
}

static void names_free(char ***names)
{
    for (size_t i = 0; *names && (*names)[i]; i++)
        free((*names)[i]);
    free(*names);
}

int sockets_take(struct sockets *ret, struct error *error)
{
    _cleanup_(sockets_done) struct sockets sockets = {.stored = -1};
    _cleanup_(names_free) char **names = NULL;
    int n = sd_listen_fds_with_names(1, &names), r = 0;

    if (n < 0)
        return error_set(error, n, "cannot take the sockets that systemd passed: %s", strerror(-n));
    sockets.fds = calloc((size_t)n + 1, sizeof(sockets.fds[0]));
    if (!sockets.fds)
        return error_oom(error);
    for (int i = 0; i < n; i++) {
        int fd = SD_LISTEN_FDS_START + i;
        if (!str_equal(names[i], STORED_NAME)) {
            sockets.fds[sockets.n++] = fd;
            continue;
        }
        closep(&sockets.stored);
        sockets.stored = fd;
    }
    for (size_t i = 0; i < sockets.n && r == 0; i++)
        r = check_socket(sockets.fds[i], error);
    if (r < 0)
        return r;
    *ret = sockets;
    sockets = (struct sockets){.stored = -1};
    return 0;
}
