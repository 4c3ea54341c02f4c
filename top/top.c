/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd top`: the terminal, or plain text by --count, and where its readings come from. */
#include <signal.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "daemon/command.h"
#include "top/local.h"
#include "top/remote.h"
#include "top/top-loop.h"

#define DEFAULT_SOCKET "/run/perfcountd.sock"

/* One of both sources. */
struct top_command {
    sd_event *event;
    struct session session;
    struct top_address address;
    const char *url; /* NULL: counters of this process */
    struct top_loop *loop;
    struct top_local *local;
    struct top_remote *remote;
};

/* The loop has the terminal until it is freed, so it comes last, and after it a message may be printed. */
static void top_command_done(struct top_command *command)
{
    top_local_free(command->local);
    top_remote_free(command->remote);
    top_loop_free(command->loop);
    session_done(&command->session);
    top_address_done(&command->address);
    sd_event_unref(command->event);
}

/* Whether anything listens there. -errno of connect(2). */
static int probe_address(const struct top_address *address)
{
    int r = -EHOSTUNREACH;

    for (size_t i = 0; r < 0 && i < address->n_endpoints; i++) {
        _cleanup_(closep) int fd = socket(address->endpoints[i].family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const void *endpoint = &address->endpoints[i].address;
        r = fd < 0 || connect(fd, endpoint, address->endpoints[i].size) < 0 ? -errno : 0;
    }
    return r;
}

static int use_url(struct top_command *command, const char *url)
{
    struct error error;
    int r = top_address_parse(url, &command->address, &error);

    if (r == 0)
        r = top_address_resolve(&command->address, &error);
    if (r < 0)
        return command_fail(r == -EHOSTUNREACH ? EXIT_FAILURE : EXIT_BAD_USAGE, &error);
    command->url = url;
    return EXIT_SUCCESS;
}

static int fail_without_source(int code)
{
    struct error error;

    error_set(&error, code,
              "no counter can be opened here by this user (see \"perfcountd plan\"), and no daemon answers on "
              "%s (%s): run \"sudo perfcountd top\", or name a daemon by --url=unix:/PATH or --url=http://HOST:PORT",
              DEFAULT_SOCKET, strerror(-code));
    return command_fail(EXIT_FAILURE, &error);
}

/* Own counters where this process may open them, or those of the daemon that runs here. */
static int choose_source(struct top_command *command, const struct options *options)
{
    struct error error = {0};
    int status, r;

    if (options->url)
        return use_url(command, options->url);
    status = session_start(&command->session, options, false, &error);
    if (status != EXIT_SUCCESS)
        return command_fail(status, &error);
    if (top_local_has_counters(&command->session))
        return EXIT_SUCCESS;
    session_done(&command->session);
    command->session = (struct session){0};
    status = use_url(command, "unix:" DEFAULT_SOCKET);
    r = status == EXIT_SUCCESS ? probe_address(&command->address) : 0;
    return r < 0 ? fail_without_source(r) : status;
}

static void command_on_interval(void *userdata, uint64_t interval_ns)
{
    struct top_command *command = userdata;

    if (command->local)
        top_local_set_interval(command->local, interval_ns);
    if (command->remote)
        top_remote_set_interval(command->remote, interval_ns);
}

static int start_source(struct top_command *command, const struct options *options)
{
    struct top_listener listener = top_loop_listener(command->loop);

    top_loop_when_interval(command->loop, command_on_interval, command);
    if (command->url)
        return top_remote_new(command->event, &command->address, options->interval_ns, &listener, &command->remote);
    return top_local_new(command->event, &command->session, options->interval_ns, &listener, &command->local);
}

static int open_loop(struct top_command *command, const struct options *options, const char *host)
{
    const struct top_loop_settings settings = {
        .host = command->url && command->address.host ? command->address.authority : host,
        .source = command->url ? command->url : "own counters",
        .filter = options->n_cgroups ? options->cgroups[options->n_cgroups - 1] : "",
        .sort = options->sort,
        .interval_ns = options->interval_ns,
        .count = options->count,
    };
    struct error error;
    int r = sd_event_new(&command->event);

    if (r < 0)
        return command_fail_memory();
    r = top_loop_new(command->event, &settings, &command->loop, &error);
    return r == 0 ? EXIT_SUCCESS : command_fail(r == -ENOSYS ? EXIT_FAILURE : EXIT_BAD_USAGE, &error);
}

/* The terminal is as it was: the signal ends the process as it would end any other. */
static void die_of(int signo)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, signo);
    signal(signo, SIG_DFL);
    raise(signo);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int run_loop(struct top_command *command, const struct options *options)
{
    int r = start_source(command, options);

    if (r >= 0)
        r = sd_event_loop(command->event);
    int signo = top_loop_signal(command->loop);
    command->local = top_local_free(command->local);
    command->remote = top_remote_free(command->remote);
    command->loop = top_loop_free(command->loop);
    if (signo)
        die_of(signo);
    if (r >= 0)
        return r;
    struct error error;
    error_set(&error, r, "top ended: %s", strerror(-r));
    return command_fail(EXIT_FAILURE, &error);
}

int command_top(const struct options *options)
{
    _cleanup_(top_command_done) struct top_command command = {0};
    struct utsname machine;
    int status;

    log_configure(LOG_LEVEL_ERROR, options->log_format); /* lines of a log would stand on the screen */
    uname(&machine);
    status = choose_source(&command, options);
    if (status == EXIT_SUCCESS)
        status = open_loop(&command, options, machine.nodename);
    return status == EXIT_SUCCESS ? run_loop(&command, options) : status;
}
