/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `perfcountd top` runs in an event loop: readings and keys come in, frames go to the terminal or to standard output.
 */
#include <locale.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/glob.h"
#include "base/number.h"
#include "daemon/options.h"
#include "top/draw.h"
#include "top/readings.h"
#include "top/screen.h"

#define TOP_LIVE UINT64_MAX

struct top_loop_settings {
    const char *host, *source; /* shown in the first line of the screen */
    const char *filter;        /* filter of the cgroups, or "" for all cgroups */
    const char *sort, *order;  /* column to sort by, and "asc" or "desc"; each is NULL for the default */
    uint64_t interval_ns;
    uint64_t count; /* number of plain-text frames, 0 for no limit, or TOP_LIVE to draw on the terminal instead */
};

struct top_loop;

/* --- event loop --- */

#define PLAIN_WIDTH 160 /* width if standard output is not a terminal and COLUMNS is not set */

struct top_loop {
    sd_event *event;
    struct top_loop_settings settings;
    struct top_screen *screen; /* NULL for plain text */
    sd_event_source *input;
    struct top_view view;
    struct top_scene scene;
    struct top_page_extent size;
    json_t *rates, *cgroups, *status;
    char clock[16];
    char sentence[512];
    uint64_t frames;
    int signal;
    void (*on_interval)(void *userdata, uint64_t interval_ns);
    void *userdata;
};

static void drop_tables(struct top_loop *loop)
{
    loop->scene.table = top_table_free(loop->scene.table);
    loop->scene.pmus = top_table_free(loop->scene.pmus);
}

/* Frees the loop, and restores the terminal. */
static struct top_loop *top_loop_free(struct top_loop *loop)
{
    if (!loop)
        return NULL;
    top_screen_close(loop->screen);
    sd_event_source_disable_unref(loop->input);
    drop_tables(loop);
    json_decref(loop->rates);
    json_decref(loop->cgroups);
    json_decref(loop->status);
    sd_event_unref(loop->event);
    free(loop);
    return NULL;
}
DEFINE_CLEANUP(struct top_loop *, top_loop_free);

/* Makes the tables from the last reading. If memory runs out, no rows are shown until the next reading. */
static void make_tables(struct top_loop *loop)
{
    drop_tables(loop);
    if (!loop->rates)
        return;
    loop->scene.table = top_table_new(loop->rates, loop->cgroups, loop->view.kind, loop->view.by_pmu);
    loop->scene.pmus = top_table_new(loop->rates, NULL, TOP_PMUS, false);
}

/*
 * Returns the width of plain text, which is COLUMNS, else the terminal's width, else PLAIN_WIDTH, which has room for
 * most columns.
 */
static size_t plain_width(void)
{
    struct winsize size;
    uint64_t columns;
    const char *text = getenv("COLUMNS");

    if (text && number_parse_u64(text, &columns) == 0 && columns >= 20 && columns <= 10000)
        return (size_t)columns;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : PLAIN_WIDTH;
}

/* Draws the screen once. Exits the loop if standard output cannot be written. Returns whether the loop continues. */
static bool loop_draw(struct top_loop *loop)
{
    _cleanup_(top_frame_done) struct top_frame frame = {0};

    frame.width = loop->screen ? top_screen_width(loop->screen) : plain_width();
    frame.height = loop->screen ? top_screen_height(loop->screen) : 0;
    top_scene_write(&loop->scene, &loop->view, &frame, &loop->size);
    if (frame.failed)
        return true;
    if (loop->screen) {
        top_screen_show(loop->screen, &frame);
        return true;
    }
    if (loop->frames > 1)
        putchar('\n');
    top_frame_print(&frame, stdout);
    int status = command_end_output(stdout, "standard output", EXIT_SUCCESS);
    if (status != EXIT_SUCCESS)
        sd_event_exit(loop->event, status);
    return status == EXIT_SUCCESS;
}

static void set_document(json_t **to, json_t *document)
{
    json_incref(document);
    json_decref(*to);
    *to = document;
}

static void use_status(struct top_loop *loop)
{
    const char *kernel = json_string_value(json_object_get(json_object_get(loop->status, "machine"), "kernel"));

    loop->scene.kernel = kernel ? kernel : "";
    loop->scene.failures = json_object_get(loop->status, "failures");
    loop->scene.paused = json_is_true(json_object_get(loop->status, "paused"));
}

/* Shows CPUs first if no cgroup is counted. */
static void choose_kind(struct top_loop *loop)
{
    if (loop->frames == 0 && loop->view.kind == TOP_CGROUPS && !*top_view_filter(&loop->view) && loop->scene.table &&
        top_table_count(loop->scene.table) == 0) {
        loop->view.kind = TOP_CPUS;
        make_tables(loop);
    }
}

/*
 * Exits the loop with an error if plain text is printed and no row has the column of --sort (`stat` fails likewise). On
 * a terminal, the user can choose another column instead. Returns whether the loop was exited.
 */
static bool refuse_sort(struct top_loop *loop)
{
    const struct top_table *table = loop->scene.table;
    size_t column = loop->view.sort[loop->view.kind], cpu = top_column_find("cpu");
    struct error error;

    if (loop->screen || !loop->settings.sort || column == top_column_count() || !table || top_table_count(table) == 0 ||
        top_table_has(table, column))
        return false;
    error_set(&error, -EINVAL, "--sort: no row has \"%.64s\"; \"perfcountd plan\" says why%s", loop->settings.sort,
              top_table_has(table, cpu) ? "; sort by \"cpu\" instead" : "");
    sd_event_exit(loop->event, command_fail(EXIT_BAD_USAGE, &error));
    return true;
}

static void loop_on_reading(void *userdata, const struct top_reading *reading)
{
    struct top_loop *loop = userdata;
    time_t now = time(NULL);
    struct tm local;

    loop->sentence[0] = '\0';
    if (!loop->view.frozen) {
        set_document(&loop->rates, reading->rates);
        set_document(&loop->cgroups, reading->cgroups);
        set_document(&loop->status, reading->status);
        use_status(loop);
        strftime(loop->clock, sizeof(loop->clock), "%H:%M:%S", localtime_r(&now, &local));
        make_tables(loop);
        choose_kind(loop);
    }
    if (refuse_sort(loop))
        return;
    loop->frames++;
    if (loop_draw(loop) && !loop->screen && loop->frames == loop->settings.count)
        sd_event_exit(loop->event, EXIT_SUCCESS);
}

static void loop_on_error(void *userdata, const char *sentence)
{
    struct top_loop *loop = userdata;

    if (loop->screen) {
        snprintf(loop->sentence, sizeof(loop->sentence), "%s: %s; trying again", loop->settings.source, sentence);
        loop_draw(loop);
        return;
    }
    fprintf(stderr, "perfcountd: %s: %s\n", loop->settings.source, sentence);
    sd_event_exit(loop->event, EXIT_FAILURE);
}

static struct top_listener top_loop_listener(struct top_loop *loop)
{
    return (struct top_listener){loop_on_reading, loop_on_error, loop};
}

/* Sets the callback `on_interval`, which is called when the user changes the interval. */
static void top_loop_when_interval(struct top_loop *loop, void (*on_interval)(void *userdata, uint64_t interval_ns),
                                   void *userdata)
{
    loop->on_interval = on_interval;
    loop->userdata = userdata;
}

/* Returns the signal that ended the loop, or 0. */
static int top_loop_signal(const struct top_loop *loop)
{
    return loop->signal;
}

static void apply_key(struct top_loop *loop, int key)
{
    struct top_view before = loop->view;

    top_view_apply_key(&loop->view, key, &loop->size);
    if (loop->view.kind != before.kind || loop->view.by_pmu != before.by_pmu) {
        make_tables(loop);
        loop->size.table = loop->scene.table;
    }
    if (loop->view.interval_ns != before.interval_ns && loop->on_interval)
        loop->on_interval(loop->userdata, loop->view.interval_ns);
}

static int loop_on_input(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct top_loop *loop = userdata;
    int key;

    (void)source;
    (void)fd;
    if (events & (EPOLLHUP | EPOLLERR))
        return sd_event_exit(loop->event, EXIT_FAILURE);
    while ((key = top_screen_read_key(loop->screen)) != -EAGAIN) {
        apply_key(loop, key);
        loop_draw(loop); /* redraws before the next key, because keys must act on the frame that the user sees */
    }
    return loop->view.quit ? sd_event_exit(loop->event, EXIT_SUCCESS) : 0;
}

static int loop_on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct top_loop *loop = userdata;

    (void)source;
    switch (info->ssi_signo) {
    case SIGWINCH:
        top_screen_update_size(loop->screen);
        loop_draw(loop);
        return 0;
    case SIGTSTP:
        top_screen_suspend(loop->screen);
        raise(SIGSTOP);
        return 0;
    case SIGCONT: /* SIGCONT may follow a SIGSTOP; the shell may have changed the terminal's modes */
        top_screen_suspend(loop->screen);
        top_screen_resume(loop->screen);
        loop_draw(loop);
        return 0;
    default:
        loop->signal = (int)info->ssi_signo;
        return sd_event_exit(loop->event, EXIT_SUCCESS);
    }
}

/*
 * Watches signals. Must be called before the screen is opened, because a signal that is not watched would kill the
 * process without restoring the terminal.
 */
static int watch_signals(struct top_loop *loop)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT};
    sigset_t set;
    int r = 0;

    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        sigaddset(&set, signals[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    for (size_t i = 0; i < ARRAY_SIZE(signals) && r >= 0; i++)
        r = sd_event_add_signal(loop->event, NULL, signals[i], loop_on_signal, loop);
    return r < 0 ? r : 0;
}

static int open_terminal(struct top_loop *loop, struct error *error)
{
    int r = watch_signals(loop);

    if (r == 0)
        r = top_screen_open(&loop->screen, error);
    else
        error_set(error, r, "cannot wait for signals: %s", strerror(-r));
    if (r < 0)
        return r;
    r = sd_event_add_io(loop->event, &loop->input, STDIN_FILENO, EPOLLIN, loop_on_input, loop);
    return r < 0 ? error_set(error, r, "cannot wait for keys: %s", strerror(-r)) : 0;
}

/*
 * Sets the column to sort by and the order: by default, names are sorted alphabetically, and numbers from the largest
 * to the smallest.
 */
static int use_sort(struct top_view *view, const char *sort, const char *order, struct error *error)
{
    char names[256] = "name";
    size_t column = top_column_find(sort), used = strlen(names);

    for (size_t i = 0; i < top_column_count(); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, ", %s", top_column_at(i)->name);
    if (column == top_column_count() && !str_equal(sort, "name"))
        return error_set(error, -EINVAL, "--sort: there is no column \"%.64s\"; known are %s", sort, names);
    for (size_t i = 0; i < N_TOP_KINDS; i++)
        view->sort[i] = column;
    view->reverse = order && str_equal(order, column == top_column_count() ? "desc" : "asc");
    return 0;
}

static int use_filter(struct top_view *view, const char *filter, struct error *error)
{
    if (strlen(filter) >= TOP_FILTER_MAX)
        return error_set(error, -EINVAL, "--cgroup: a pattern has at most %d bytes here", TOP_FILTER_MAX - 1);
    snprintf(view->filters[TOP_CGROUPS], TOP_FILTER_MAX, "%s", filter);
    int r = glob_check(filter, error);
    if (r < 0)
        error_prefix(error, "--cgroup");
    return r;
}

/*
 * The strings of `settings` must outlive the loop. Returns these errors with a message: -EINVAL for an unknown column
 * or a bad pattern, and errors from top_screen_open().
 */
static int top_loop_new(sd_event *event, const struct top_loop_settings *settings, struct top_loop **ret,
                        struct error *error)
{
    _cleanup_(top_loop_freep) struct top_loop *loop = calloc(1, sizeof(*loop));
    int r;

    if (!loop)
        return error_oom(error);
    setlocale(LC_CTYPE, ""); /* the locale determines the encoding of the terminal */
    loop->event = sd_event_ref(event);
    loop->settings = *settings;
    loop->scene = (struct top_scene){.host = settings->host,
                                     .kernel = "",
                                     .source = settings->source,
                                     .clock = loop->clock,
                                     .error = loop->sentence};
    top_view_init(&loop->view, settings->interval_ns);
    r = use_filter(&loop->view, settings->filter, error);
    if (r == 0 && settings->sort)
        r = use_sort(&loop->view, settings->sort, settings->order, error);
    if (r == 0 && settings->count == TOP_LIVE)
        r = open_terminal(loop, error);
    if (r < 0)
        return r;
    if (loop->screen)
        loop_draw(loop);
    *ret = steal(loop);
    return 0;
}

/* --- `perfcountd top` --- */

/* Either `local` or `remote` is the source of readings. */
struct top_command {
    sd_event *event;
    struct session session;
    struct top_address address;
    const char *url; /* address of the daemon, or NULL for counters of this process */
    struct top_loop *loop;
    struct top_local *local;
    struct top_remote *remote;
};

/*
 * Frees the sources of readings before freeing the loop, because they report to it. Freeing the loop restores the
 * terminal; messages may only be printed after that.
 */
static void top_command_done(struct top_command *command)
{
    top_local_free(command->local);
    top_remote_free(command->remote);
    top_loop_free(command->loop);
    session_done(&command->session);
    top_address_done(&command->address);
    sd_event_unref(command->event);
}

/* Returns 0 if a process listens on the address, else -errno from connect(2). */
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
              "%s (%s): run \"sudo perfcountd top\", or name a daemon with --url=unix:/PATH or --url=http://HOST:PORT",
              TOP_DEFAULT_SOCKET, strerror(-code));
    return command_fail(EXIT_FAILURE, &error);
}

/* Chooses the source of readings: this process if it is permitted to open counters, else the daemon on this machine. */
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
    status = use_url(command, "unix:" TOP_DEFAULT_SOCKET);
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
        .order = options->order,
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

/* Terminates this process by the default action of the signal. The terminal must have been restored already. */
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

    log_configure(LOG_LEVEL_ERROR, options->log_format); /* hides warnings, which would disturb the screen */
    uname(&machine);
    status = choose_source(&command, options);
    if (status == EXIT_SUCCESS)
        status = open_loop(&command, options, machine.nodename);
    return status == EXIT_SUCCESS ? run_loop(&command, options) : status;
}
