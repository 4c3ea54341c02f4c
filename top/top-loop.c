/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd top` in the event loop: see top-loop.h. */
#include "top/top-loop.h"

#include <locale.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/number.h"
#include "top/draw.h"
#include "top/screen.h"

#define PLAIN_WIDTH 160 /* where standard output is no terminal and COLUMNS does not say it */

struct top_loop {
    sd_event *event;
    struct top_loop_settings settings;
    struct top_screen *screen; /* NULL: plain text */
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

struct top_loop *top_loop_free(struct top_loop *loop)
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

/* Without memory the rows are not there until the next reading. */
static void make_tables(struct top_loop *loop)
{
    drop_tables(loop);
    if (!loop->rates)
        return;
    loop->scene.table = top_table_new(loop->rates, loop->cgroups, loop->view.kind, loop->view.by_pmu);
    loop->scene.pmus = top_table_new(loop->rates, NULL, TOP_PMUS, false);
}

/* Of plain text: the terminal's width, COLUMNS, or a width that has most columns. */
static size_t plain_width(void)
{
    struct winsize size;
    uint64_t columns;
    const char *text = getenv("COLUMNS");

    if (text && number_parse_u64(text, &columns) == 0 && columns >= 20 && columns <= 10000)
        return (size_t)columns;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : PLAIN_WIDTH;
}

static void loop_draw(struct top_loop *loop)
{
    _cleanup_(top_frame_done) struct top_frame frame = {0};

    frame.width = loop->screen ? top_screen_width(loop->screen) : plain_width();
    frame.height = loop->screen ? top_screen_height(loop->screen) : 0;
    top_scene_write(&loop->scene, &loop->view, &frame, &loop->size);
    if (frame.failed)
        return;
    if (loop->screen) {
        top_screen_show(loop->screen, &frame);
        return;
    }
    if (loop->frames > 1)
        putchar('\n');
    top_frame_print(&frame, stdout);
    if (fflush(stdout) != 0)
        sd_event_exit(loop->event, EXIT_FAILURE);
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

/* Where no cgroup is counted, the first thing to see is CPUs. */
static void choose_kind(struct top_loop *loop)
{
    if (loop->frames == 0 && loop->view.kind == TOP_CGROUPS && !*top_view_filter(&loop->view) && loop->scene.table &&
        top_table_count(loop->scene.table) == 0) {
        loop->view.kind = TOP_CPUS;
        make_tables(loop);
    }
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
    loop->frames++;
    loop_draw(loop);
    if (!loop->screen && loop->frames == loop->settings.count)
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

struct top_listener top_loop_listener(struct top_loop *loop)
{
    return (struct top_listener){loop_on_reading, loop_on_error, loop};
}

void top_loop_when_interval(struct top_loop *loop, void (*on_interval)(void *userdata, uint64_t interval_ns),
                            void *userdata)
{
    loop->on_interval = on_interval;
    loop->userdata = userdata;
}

int top_loop_signal(const struct top_loop *loop)
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
        loop_draw(loop); /* the next key acts on what is seen */
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
    case SIGCONT: /* also after a SIGSTOP, when a shell has set other modes */
        top_screen_suspend(loop->screen);
        top_screen_resume(loop->screen);
        loop_draw(loop);
        return 0;
    default:
        loop->signal = (int)info->ssi_signo;
        return sd_event_exit(loop->event, EXIT_SUCCESS);
    }
}

/* Signals are blocked before the screen is opened, or one could end the process between the two. */
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
        error_set(error, r, "signals cannot be waited for: %s", strerror(-r));
    if (r < 0)
        return r;
    r = sd_event_add_io(loop->event, &loop->input, STDIN_FILENO, EPOLLIN, loop_on_input, loop);
    return r < 0 ? error_set(error, r, "keys cannot be waited for: %s", strerror(-r)) : 0;
}

static int use_sort(struct top_view *view, const char *sort, struct error *error)
{
    char names[256] = "name";
    size_t column = top_column_find(sort), used = strlen(names);

    for (size_t i = 0; i < top_column_count(); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, ", %s", top_column_at(i)->name);
    if (column == top_column_count() && !str_equal(sort, "name"))
        return error_set(error, -EINVAL, "--sort: there is no column \"%.64s\"; known are %s", sort, names);
    for (size_t i = 0; i < N_TOP_KINDS; i++)
        view->sort[i] = column;
    return 0;
}

static int use_filter(struct top_view *view, const char *filter, struct error *error)
{
    if (strlen(filter) >= TOP_FILTER_MAX)
        return error_set(error, -EINVAL, "--cgroup: a pattern has at most %d bytes here", TOP_FILTER_MAX - 1);
    snprintf(view->filters[TOP_CGROUPS], TOP_FILTER_MAX, "%s", filter);
    int r = glob_check(filter, error);
    if (r < 0)
        error_prefix(error, "--cgroup: ");
    return r;
}

int top_loop_new(sd_event *event, const struct top_loop_settings *settings, struct top_loop **ret, struct error *error)
{
    _cleanup_(top_loop_freep) struct top_loop *loop = calloc(1, sizeof(*loop));
    int r;

    if (!loop)
        return error_oom(error);
    setlocale(LC_CTYPE, ""); /* the characters that the terminal has */
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
        r = use_sort(&loop->view, settings->sort, error);
    if (r == 0 && settings->count == TOP_LIVE)
        r = open_terminal(loop, error);
    if (r < 0)
        return r;
    if (loop->screen)
        loop_draw(loop);
    *ret = steal(loop);
    return 0;
}
