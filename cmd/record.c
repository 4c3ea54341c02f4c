/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `perfcountd record` samples a command, a process, a cgroup or the machine, and writes the samples to a file. The
 * suffix of the file name determines the format. This process samples by itself, with the daemon's code; if the kernel
 * forbids that, it asks a running daemon for the samples.
 *
 * The file only appears under its name once it is complete.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/text.h"
#include "cgroups/cgroupfs.h"
#include "cgroups/resolver.h"
#include "cmd/workload.h"
#include "daemon/options.h"
#include "daemon/session.h"
#include "formats/flame.h"
#include "formats/writers.h"
#include "sampler/stream.h"
#include "top/http-get.h"

#define SECONDS_DEFAULT 10 /* default duration of a recording without a command */
#define SECONDS_MAX 1e9    /* maximum duration with a command, unless the command exits earlier */
#define RING_PAGES_MIN 8
#define BLOCK_SIZE 65536
#define DEFAULT_URL "unix:" TOP_DEFAULT_SOCKET
/*
 * Container names arrive a moment after the cgroups are found. `perfcountd record` waits until no name has arrived for
 * SILENCE_MS, but at most for SETTLE_NS.
 */
#define SILENCE_MS 100
#define SETTLE_NS (2 * NSEC_PER_SEC)
#define ANSWER_NS (60 * NSEC_PER_SEC) /* timeout for a daemon's answer after the end of the recording */

/* Output formats, by the suffix of the file's name. */
static const struct form {
    const char *ending;
    const struct writer *writer;
    const char *path; /* path in the URL of the request to a daemon */
    bool folded;      /* the content consists of folded stacks */
    bool picture;     /* the file is a flame graph, made from folded stacks */
    /* counts the samples in the content, or NULL for folded stacks */
    int (*count)(const void *bytes, size_t size, uint64_t *ret);
} forms[] = {
    {".svg", &writer_folded, "/api/v1/folded", true, true, NULL},
    {".folded", &writer_folded, "/api/v1/folded", true, false, NULL},
    {".pb.gz", &writer_pprof, "/debug/pprof/profile", false, false, pprof_count},
    {"perf.data", &writer_perf_data, "/api/v1/perf.data", false, false, perf_data_count},
};

struct output {
    char *path, *temporary; /* final path of the file, and the path of the temporary file, or NULL */
    int fd;
};

/* Properties of the recording, for the messages about it. */
struct summary {
    char event[128]; /* name of the sampled event, or "" if unknown */
    double seconds;
    uint64_t samples; /* number of samples; for off-CPU time in folded stacks, microseconds */
    bool is_time;     /* `samples` is a number of microseconds */
    struct writer_unnamed unnamed;
    char early[512]; /* sentence from a daemon about stacks that end early, or "" */
};

struct recording {
    const struct options *options;
    const struct form *form;
    struct record_request request;
    struct output output;
    struct workload workload;
    struct session session;
    struct config_sampler config; /* settings whose strings are borrowed from the session's configuration */
    sd_event *event;
    struct child symboliser;
    struct resolver *resolver; /* finds container names; NULL if they are not needed */
    struct sampler *sampler;
    struct stream *stream;
    struct top_request *question;      /* request to a daemon */
    const struct top_address *address; /* address of the daemon that is asked for samples */
    bool begun;                        /* the stream and the command have started */
    bool interrupted;                  /* a signal has ended the recording */
    struct buffer content;             /* folded stacks, or the answer from a daemon */
    struct summary summary;
    struct error *error; /* error from the request to the daemon */
    int answer;          /* result of the request to the daemon: 0, or -errno with `error` set */
    double past_seconds; /* with --last, the number of seconds that the answer covers */
};

/* --- output --- */

static void output_done(struct output *output)
{
    if (output->temporary) {
        close(output->fd);
        unlink(output->temporary);
    }
    free(output->temporary);
    free(output->path);
    *output = (struct output){0};
}

/* Creates the temporary file in the directory of `path` or, if that is a symbolic link, of its target. */
static int output_open(struct output *output, const char *path, struct error *error)
{
    struct stat status;
    mode_t mask = umask(0);

    umask(mask);
    output->path = realpath(path, NULL);
    if (!output->path)
        output->path = strdup(path);
    if (!output->path || asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0) {
        output->temporary = NULL;
        return error_oom(error);
    }
    bool exists = stat(output->path, &status) == 0;
    int code = exists && !S_ISREG(status.st_mode) ? -(S_ISDIR(status.st_mode) ? EISDIR : EEXIST) : 0;
    output->fd = code < 0 ? -1 : mkostemp(output->temporary, O_CLOEXEC);
    if (output->fd < 0) {
        code = code < 0 ? code : -errno;
        free(output->temporary);
        output->temporary = NULL;
        return error_of_file(error, code, "write", path);
    }
    fchmod(output->fd, exists ? status.st_mode & 0777 : 0666 & ~mask);
    return 0;
}

static int output_write(struct output *output, const void *bytes, size_t size, struct error *error)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t n = write(output->fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_of_file(error, n < 0 ? -errno : -ENOSPC, "write", output->path);
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Renames the temporary file to its final name. */
static int output_close(struct output *output, struct error *error)
{
    char *temporary = steal(output->temporary);
    int r = close(output->fd) < 0 ? -errno : 0;

    if (r == 0 && rename(temporary, output->path) < 0)
        r = -errno;
    if (r < 0) {
        unlink(temporary);
        error_of_file(error, r, "write", output->path);
    }
    free(temporary);
    return r;
}

/* --- flags --- */

static void recording_done(struct recording *recording)
{
    top_request_free(recording->question);
    stream_free(recording->stream);
    sampler_free(recording->sampler);
    resolver_free(recording->resolver);
    sd_event_unref(recording->event);
    session_done(&recording->session);
    workload_done(&recording->workload);
    output_done(&recording->output);
    record_request_done(&recording->request);
    buffer_done(&recording->content);
}

static const struct form *form_of(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        size_t size = strlen(path), ending = strlen(forms[i].ending);
        if (size >= ending && str_equal(path + size - ending, forms[i].ending))
            return &forms[i];
    }
    return NULL;
}

static int parse_flag(struct recording *recording, const char *name, const char *value, struct error *error)
{
    return value ? record_request_set(&recording->request, name, value, error) : 0;
}

/* Parses the value of --cgroup: a path, a pattern for paths, or KEY=PATTERN. */
static int parse_cgroup(struct recording *recording, const char *pattern, struct error *error)
{
    const char *value = pattern, *key = "cgroup";
    struct cgroup_selector selector;
    enum name_kind kind;

    if (name_kind_parse(pattern, &kind, &value) == 0)
        key = name_kind_text(kind);
    int r = record_request_set(&recording->request, key, value, error);
    if (r == 0 && record_request_selects_cgroups(&recording->request, &selector)) {
        r = glob_check(value, error);
        if (r < 0)
            error_prefix(error, "--cgroup");
    }
    return r;
}

/* Reads the flags of the command line. Returns the exit status. */
static int recording_parse(struct recording *recording)
{
    const struct options *options = recording->options;
    const char *path = options->output;
    struct error error;
    int r = 0;

    recording->form = path ? form_of(path) : NULL;
    if (!recording->form)
        r = error_set(&error, -EINVAL,
                      "%s%.256s%s: -o needs a name that ends in .svg (a flame graph), .folded (stacks), .pb.gz (pprof) "
                      "or .perf.data (perf)",
                      path ? "\"" : "", path ? path : "no file to write", path ? "\" has no known suffix" : "");
    recording->request.last = (double)options->last_ns / (double)NSEC_PER_SEC;
    if (r == 0 && options->n_cgroups > 1)
        r = error_set(&error, -EINVAL, "--cgroup: name one cgroup; those inside it are included");
    if (r == 0 && options->n_cgroups && options->workload)
        r = error_set(&error, -EINVAL, "--cgroup cannot be used with a command to run");
    if (r == 0 && options->n_cgroups)
        r = parse_cgroup(recording, options->cgroups[0], &error);
    if (r == 0)
        r = parse_flag(recording, "pid", options->pid, &error);
    if (r == 0)
        r = parse_flag(recording, "cpu", options->cpu, &error);
    if (r == 0)
        r = parse_flag(recording, "event", options->event, &error);
    if (r == 0)
        r = parse_flag(recording, "frequency", options->frequency, &error);
    if (r == 0)
        r = parse_flag(recording, "threshold", options->threshold, &error);
    if (r == 0)
        r = parse_flag(recording, "state", options->state, &error);
    if (r == 0)
        r = parse_flag(recording, "seconds", options->seconds, &error);
    if (r < 0)
        return command_fail_flag(EXIT_BAD_USAGE, "", &error);
    if (recording->request.seconds == 0 && recording->request.last == 0)
        recording->request.seconds = options->workload ? SECONDS_MAX : SECONDS_DEFAULT;
    return EXIT_SUCCESS;
}

/* --- signals --- */

/* The blocked signals, which end the recording or are passed to the command. */
static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct recording *recording = userdata;

    (void)source;
    if (recording->workload.arguments) {
        workload_forward(&recording->workload, (int)info->ssi_signo, info->ssi_code);
        return 0;
    }
    recording->interrupted = true;
    if (recording->stream)
        stream_stop(recording->stream, "interrupted");
    if (recording->question)
        sd_event_exit(recording->event, 0);
    return 0;
}

/* Ends the recording if the command has exited, without waiting for processes that the command has started. */
static int on_child(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct recording *recording = userdata;

    (void)source;
    (void)info;
    if (recording->begun && workload_has_ended(&recording->workload) && recording->stream)
        stream_stop(recording->stream, "the command has ended");
    return 0;
}

static void block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(handled); i++)
        sigaddset(&set, handled[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static int make_event_loop(struct recording *recording)
{
    int r = recording->event ? 0 : sd_event_new(&recording->event);

    for (size_t i = 0; i < ARRAY_SIZE(handled) && r >= 0; i++)
        r = sd_event_add_signal(recording->event, NULL, handled[i], on_signal, recording);
    if (r >= 0 && recording->workload.arguments)
        r = sd_event_add_signal(recording->event, NULL, SIGCHLD, on_child, recording);
    return MIN(r, 0);
}

/* --- sampling in this process --- */

/* Raises the descriptor limit, because each thread of a process needs a descriptor for each CPU. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* The stream's callback `ready` does nothing, because sample() reads the stream after each turn of the event loop. */
static void on_ready(void *userdata)
{
    (void)userdata;
}

/* Opens the stream, with smaller rings if they would exceed the locked-memory limit. */
static int open_stream(struct recording *recording, struct error *error)
{
    struct config_sampler *config = &recording->config;
    int r;

    do {
        sampler_configure(recording->sampler, recording->session.machine, config, TRUST_EVERYBODY);
        r = stream_open(recording->sampler, &recording->request, recording->form->writer, on_ready, NULL,
                        &recording->stream, error);
        config->ring_pages /= 2;
    } while (r == -EPERM && config->ring_pages >= RING_PAGES_MIN);
    return r;
}

/* --- names of containers --- */

/* A cgroup_namer. */
static int name_cgroup(void *userdata, const char *path, struct names *names)
{
    return resolver_find(((struct recording *)userdata)->resolver, path, names);
}

static bool ask_for_names(void *userdata, const char *path, uint64_t inode)
{
    _cleanup_(names_done) struct names names = {0};

    (void)inode;
    (void)name_cgroup(userdata, path, &names);
    return true;
}

/* Requests the names of all cgroups, and requests them again whenever some have arrived. */
static void settle_names(struct recording *recording, const char *hierarchy)
{
    struct sys *sys = &recording->session.sys;
    uint64_t end = sys_now(sys, CLOCK_MONOTONIC) + SETTLE_NS;
    struct pollfd ready[RESOLVER_FDS];
    int fds[RESOLVER_FDS];

    cgroup_walk(hierarchy, ask_for_names, recording);
    while (sys_now(sys, CLOCK_MONOTONIC) < end) {
        size_t n = resolver_fds(recording->resolver, fds);
        for (size_t i = 0; i < n; i++)
            ready[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
        if (poll(ready, n, SILENCE_MS) <= 0)
            return;
        if (resolver_dispatch(recording->resolver))
            cgroup_walk(hierarchy, ask_for_names, recording);
    }
}

/*
 * Returns whether container names are needed, to select cgroups or to label samples. Only root can read the containers'
 * state files.
 */
static bool needs_names(const struct recording *recording)
{
    bool any = recording->form->writer == &writer_pprof && !recording->workload.arguments && geteuid() == 0;

    for (size_t i = 0; i < N_NAME_KEYS; i++)
        any = any || recording->request.names[i];
    return any;
}

static int open_names(struct recording *recording, struct error *error)
{
    _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};
    struct session *session = &recording->session;

    int r = session_begin(session, recording->options, false, error);
    if (r < 0)
        return r;
    if (resolver_new(&session->sys, &session->state_files, &recording->resolver) < 0)
        return error_oom(error);
    if (session->has_reader && hierarchy_find(&session->sys, &hierarchy, NULL) == 0)
        settle_names(recording, hierarchy.path);
    return 0;
}

/* Returns -errno with a message. *ret_status is set on failure. */
static int start_sampling(struct recording *recording, int *ret_status, struct error *error)
{
    struct session *session = &recording->session;

    *ret_status = EXIT_BAD_USAGE;
    raise_descriptor_limit();
    sys_init(&session->sys);
    int r = needs_names(recording) ? open_names(recording, error) : 0;
    if (r == 0)
        r = session_load(session, recording->options, error);
    if (r < 0)
        return r;
    recording->config = session->config->sampler;
    recording->config.enabled = true;
    recording->config.hindsight.enabled = false;
    recording->config.max_clients = 1;
    recording->config.max_seconds = (uint64_t)SECONDS_MAX;
    *ret_status = EXIT_FAILURE;
    if (session_load_bpf(session) < 0)
        return error_oom(error);
    r = sampler_new(&session->sys, recording->event, &recording->symboliser, &session->bpf, &recording->sampler);
    if (r < 0)
        return capture_refuse(r, error);
    if (recording->resolver)
        sampler_set_namer(recording->sampler, name_cgroup, recording);
    r = open_stream(recording, error);
    if (r == -EINVAL)
        *ret_status = EXIT_BAD_USAGE;
    return r;
}

static int begin_workload(struct recording *recording, struct error *error)
{
    recording->begun = true;
    if (!recording->workload.arguments)
        return 0;
    int r = workload_begin(&recording->workload, error);
    if (r == 0 && workload_has_ended(&recording->workload))
        stream_stop(recording->stream, "the command has ended");
    return r;
}

static int take_bytes(struct recording *recording, const char *bytes, size_t size, struct error *error)
{
    if (!recording->form->folded)
        return output_write(&recording->output, bytes, size, error);
    buffer_append(&recording->content, bytes, size);
    return recording->content.failed ? error_oom(error) : 0;
}

/* Runs the event loop until the stream has ended. */
static int sample(struct recording *recording, struct error *error)
{
    char bytes[BLOCK_SIZE];
    int r = 0;

    while (r >= 0) {
        ssize_t n = stream_read(recording->stream, bytes, sizeof(bytes));
        if (n == -ENODATA)
            return 0;
        if (n < 0)
            return error_oom(error);
        if (n > 0)
            r = take_bytes(recording, bytes, (size_t)n, error);
        else if (!recording->begun && stream_source(recording->stream))
            r = begin_workload(recording, error);
        else if ((r = sd_event_run(recording->event, UINT64_MAX)) < 0)
            error_set(error, r, "the event loop has failed: %s", strerror(-r));
    }
    return r;
}

static void note(const char *format, ...) PRINTF_LIKE(1, 2);
static void note(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("perfcountd: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static void append_part(struct buffer *text, uint64_t samples, const char *of, const char *reason)
{
    if (samples && reason)
        buffer_appendf(text, "%s%" PRIu64 " %s: %s", text->size ? "; " : ": ", samples, of, reason);
}

/* Reports the number of samples without function names, and the known reasons. */
static void note_unnamed(const struct summary *summary, const struct symbols *symbols)
{
    const struct writer_unnamed *unnamed = &summary->unnamed;
    const char *user = symbols ? symbols_reason_user(symbols) : NULL;
    _cleanup_(buffer_done) struct buffer text = {0};
    char file[160];

    if (unnamed->samples == 0)
        return;
    snprintf(file, sizeof(file), "in %s", unnamed->file);
    if (user)
        append_part(&text, unnamed->samples - unnamed->kernel - unnamed->outside, "of programs", user);
    else
        append_part(&text, unnamed->of_file, file,
                    "the file has no symbols for them; install its debug symbols (on Debian, a -dbgsym package), or do "
                    "not strip it");
    append_part(&text, unnamed->outside, "of programs outside this pid namespace",
                "start the container with --pid=host");
    append_part(&text, unnamed->kernel, "in the kernel", symbols ? symbols_reason_kernel(symbols) : NULL);
    buffer_append_char(&text, '\0');
    note("%" PRIu64 " sample%s without a name for the innermost function%s", unnamed->samples, plural(unnamed->samples),
         text.failed ? "" : text.data);
}

/* Prints a sentence, which may come from an untrusted daemon, without control characters. */
static void note_early(const char *sentence)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    if (!*sentence)
        return;
    escape_append_printable(&text, sentence);
    buffer_append_char(&text, '\0');
    if (!text.failed)
        note("%s", text.data);
}

/* Reports which samples and names are missing from the file. */
static void note_missing(const struct recording *recording)
{
    const struct writer_end *end = stream_end(recording->stream);
    const struct writer_source *source = stream_source(recording->stream);

    if (source && source->user_only)
        note(
            "the kernel's functions are missing, since this user may sample only user mode: run it with sudo, or lower "
            "kernel.perf_event_paranoid to 1");
    if (end->lost)
        note("%" PRIu64 " record%s lost by the kernel, whose rings were full: ask for a lower --frequency", end->lost,
             plural(end->lost));
    if (end->dropped)
        note("%" PRIu64 " record%s dropped, because they were not written in time", end->dropped, plural(end->dropped));
    if (end->throttled)
        note(WRITER_THROTTLED, end->throttled, plural(end->throttled));
    if (end->off_cpu.brief)
        note(WRITER_BRIEF, (uint64_t)end->off_cpu.brief, plural(end->off_cpu.brief),
             (double)end->off_cpu.brief_ns / (double)NSEC_PER_SEC);
    if (end->off_cpu.missed)
        note(WRITER_MISSED, (uint64_t)end->off_cpu.missed, plural(end->off_cpu.missed));
    note_unnamed(&recording->summary, source ? source->symbols : NULL);
    note_early(end->early ? end->early : "");
}

static void summarise_stream(struct recording *recording)
{
    const struct writer_end *end = stream_end(recording->stream);
    const struct writer_source *source = stream_source(recording->stream);
    struct summary *summary = &recording->summary;

    snprintf(summary->event, sizeof(summary->event), "%s", source && source->n_events ? source->events[0].name : "");
    summary->seconds = (double)end->duration_ns / (double)NSEC_PER_SEC;
    summary->samples = end->samples;
    summary->unnamed = end->unnamed;
}

/* --- asking a daemon --- */

static void append_parameter(struct buffer *path, const char *name, const char *value)
{
    if (!value)
        return;
    buffer_appendf(path, "&%s=", name);
    escape_append_url(path, value);
}

static void append_question(const struct recording *recording, struct buffer *path)
{
    const struct options *options = recording->options;
    const struct record_request *request = &recording->request;

    buffer_appendf(path, "%s?%s=%.15g", recording->form->path, request->last > 0 ? "last" : "seconds",
                   request->last > 0 ? request->last : request->seconds);
    append_parameter(path, "cgroup", request->cgroup);
    for (size_t i = 0; i < N_NAME_KEYS; i++)
        append_parameter(path, name_kind_text((enum name_kind)i), request->names[i]);
    append_parameter(path, "pid", options->pid);
    append_parameter(path, "cpu", options->cpu);
    append_parameter(path, "event", options->event);
    append_parameter(path, "frequency", options->frequency);
    append_parameter(path, "threshold", options->threshold);
    append_parameter(path, "state", options->state);
    buffer_append_char(path, '\0');
}

static void on_answer(void *userdata, const struct top_reply *reply, const struct error *error)
{
    struct recording *recording = userdata;
    json_t *document = NULL;

    sd_event_exit(recording->event, 0);
    if (!reply)
        recording->answer = error_set(recording->error, -ENOTCONN, "%s", error->message);
    else if (reply->status != 200)
        recording->answer = top_reply_document(recording->address, reply, &document, recording->error);
    else
        buffer_append(&recording->content, reply->body, reply->size);
    if (reply && reply->status == 400)
        recording->answer = -EINVAL;
    if (reply)
        recording->past_seconds = reply->sampled_seconds;
    json_decref(document);
}

static int await_answer(struct recording *recording, const struct top_address *address, struct error *error)
{
    uint64_t patience = ANSWER_NS + (uint64_t)(MIN(recording->request.seconds, 1e6) * (double)NSEC_PER_SEC);
    _cleanup_(buffer_done) struct buffer path = {0};

    append_question(recording, &path);
    if (path.failed)
        return error_oom(error);
    recording->error = error;
    recording->address = address;
    int r =
        top_request_start(recording->event, address, path.data, patience, on_answer, recording, &recording->question);
    if (r >= 0)
        r = sd_event_loop(recording->event);
    recording->question = top_request_free(recording->question);
    if (r < 0)
        return top_request_refused(address, r, error);
    if (recording->interrupted)
        return error_set(error, -EINTR, "interrupted: what the daemon had recorded is not kept");
    return recording->content.failed ? error_oom(error) : recording->answer;
}

/*
 * Sends the request to the daemon and fills recording->content. Returns -errno with a message; -ENOTCONN if no daemon
 * answers.
 */
static int ask_daemon(struct recording *recording, const char *url, int *ret_status, struct error *error)
{
    _cleanup_(top_address_done) struct top_address address = {0};
    int r = top_address_parse(url, &address, error);

    *ret_status = r < 0 ? EXIT_BAD_USAGE : EXIT_FAILURE;
    if (r == 0)
        r = top_address_resolve(&address, error);
    if (r == 0)
        r = await_answer(recording, &address, error);
    if (r == -EINVAL)
        *ret_status = EXIT_BAD_USAGE;
    if (r == -ENOTCONN)
        error_prefix(error, "no daemon answers on %s", url);
    else if (r < 0 && r != -EINTR)
        error_prefix(error, "%s", url);
    return r;
}

/* --- the file --- */

static void append_amount(const struct summary *summary, struct buffer *text)
{
    if (summary->is_time)
        buffer_appendf(text, "%.3f s", (double)summary->samples / (double)USEC_PER_SEC);
    else
        buffer_appendf(text, "%" PRIu64 " sample%s", summary->samples, plural(summary->samples));
}

/* Appends a title such as "make -j2 on HOST: cycles, 10.2 s, 994 samples". */
static void append_title(const struct recording *recording, struct buffer *title)
{
    const struct options *options = recording->options;
    const struct summary *summary = &recording->summary;
    char host[HOST_NAME_MAX + 1] = "";

    for (char **word = options->workload; word && *word; word++)
        buffer_appendf(title, "%s%s", word == options->workload ? "" : " ", *word);
    if (options->pid)
        buffer_appendf(title, "process %s", options->pid);
    else if (options->n_cgroups)
        buffer_append_text(title, options->cgroups[0]);
    gethostname(host, sizeof(host) - 1);
    buffer_appendf(title, "%s%s: ", title->size ? " on " : "", options->url ? options->url : host);
    if (summary->event[0])
        buffer_appendf(title, "%s, ", summary->event);
    buffer_appendf(title, "%.1f s, ", summary->seconds);
    append_amount(summary, title);
    buffer_append_char(title, '\0');
}

static int write_picture(struct recording *recording, const struct flame *flame, struct error *error)
{
    _cleanup_(buffer_done) struct buffer title = {0}, picture = {0};

    append_title(recording, &title);
    if (!title.failed)
        flame_write(flame, title.data, &picture);
    if (title.failed || picture.failed)
        return error_oom(error);
    return output_write(&recording->output, picture.data, picture.size, error);
}

static int refuse_empty(const struct recording *recording, struct error *error)
{
    const struct summary *summary = &recording->summary;
    const struct rusage *usage = &recording->workload.usage;
    double used = (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
                  (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / (double)USEC_PER_SEC;
    const char *event = summary->event[0] ? summary->event : "the event";

    if (recording->workload.arguments && !recording->workload.pid)
        return error_set(error, -ENODATA,
                         "no sample of %s, so %s is not written: the command had only %.3f s of CPU time; raise "
                         "--frequency, or let it run for longer",
                         event, recording->options->output, used);
    if (recording->interrupted)
        return error_set(error, -EINTR, "interrupted before there was a sample of %s, so %s is not written", event,
                         recording->options->output);
    return error_set(error, -ENODATA,
                     "no sample of %s in %.1f s, so %s is not written: nothing ran that could be sampled, or the event "
                     "did not occur",
                     event, summary->seconds, recording->options->output);
}

/* Checks that the daemon's answer is complete, because HTTP/1.0 does not show whether a connection was closed early. */
static int summarise_answer(struct recording *recording, const struct flame *flame, struct error *error)
{
    struct summary *summary = &recording->summary;
    const struct buffer *content = &recording->content;
    int r = 0;

    summary->seconds = recording->past_seconds > 0 ? recording->past_seconds : recording->request.seconds;
    if (recording->options->event)
        snprintf(summary->event, sizeof(summary->event), "%s", recording->options->event);
    if (recording->form->count)
        r = recording->form->count(content->size ? content->data : "", content->size, &summary->samples);
    if (r == -EBADMSG)
        error_set(error, r, "the daemon's answer is incomplete: ask again");
    else if (r < 0)
        error_oom(error);
    if (!recording->form->folded)
        return r;
    summary->samples = flame->samples;
    summary->unnamed.samples = summary->is_time ? 0 : flame->unnamed;
    snprintf(summary->early, sizeof(summary->early), "%s", flame->note ? flame->note : "");
    return 0;
}

/* Writes the rest of the file, and renames it to its final name. */
static int write_file(struct recording *recording, struct error *error)
{
    _cleanup_(flame_done) struct flame flame = {0};
    const struct buffer *content = &recording->content;
    struct summary *summary = &recording->summary;
    int r = 0;

    if (recording->form->folded)
        r = flame_parse(content->size ? content->data : "", content->size, &flame);
    if (r < 0)
        return error_oom(error);
    flame.is_time = summary->is_time = recording->form->folded && record_request_is_off_cpu(&recording->request);
    if (summary->is_time)
        summary->samples = flame.samples;
    if (!recording->sampler)
        r = summarise_answer(recording, &flame, error);
    if (r == 0 && summary->samples == 0)
        r = refuse_empty(recording, error);
    if (r < 0)
        return r;
    if (recording->form->picture)
        r = write_picture(recording, &flame, error);
    else if (content->size)
        r = output_write(&recording->output, content->data, content->size, error);
    if (r == 0)
        r = output_close(&recording->output, error);
    return r;
}

static void note_file(const struct recording *recording)
{
    const struct summary *summary = &recording->summary;

    _cleanup_(buffer_done) struct buffer amount = {0};

    append_amount(summary, &amount);
    buffer_append_char(&amount, '\0');
    note("%s%s%s in %.1f s: %s", amount.failed ? "samples" : amount.data, summary->event[0] ? " of " : "",
         summary->event, summary->seconds, recording->options->output);
    if (recording->request.last > 0 && summary->seconds < 0.9 * recording->request.last)
        note("the daemon has no older samples: it was not running before then, or sampler.hindsight keeps no more");
}

/* --- command --- */

/*
 * Samples in this process. Returns the exit status. *ret_elsewhere says whether sampling failed for lack of permission,
 * so that a daemon might be able to do it.
 */
static int record_here(struct recording *recording, bool *ret_elsewhere, struct error *error)
{
    int status = EXIT_FAILURE, r = start_sampling(recording, &status, error);

    *ret_elsewhere = r == -EACCES || r == -EPERM || r == -ENOSYS;
    if (r < 0)
        return status;
    if (sample(recording, error) < 0)
        return recording->workload.status ? recording->workload.status : EXIT_FAILURE;
    summarise_stream(recording);
    if (write_file(recording, error) < 0)
        return EXIT_FAILURE;
    note_file(recording);
    note_missing(recording);
    return EXIT_SUCCESS;
}

static int record_there(struct recording *recording, const char *url, struct error *error)
{
    int status = EXIT_FAILURE;

    if (ask_daemon(recording, url, &status, error) < 0)
        return status;
    if (write_file(recording, error) < 0)
        return EXIT_FAILURE;
    note_file(recording);
    note_unnamed(&recording->summary, NULL);
    note_early(recording->summary.early);
    return EXIT_SUCCESS;
}

static int record(struct recording *recording)
{
    const char *url = recording->options->url;
    struct error error;
    bool elsewhere = false;
    int status;

    if (url || recording->request.last > 0)
        status = record_there(recording, url ? url : DEFAULT_URL, &error);
    else
        status = record_here(recording, &elsewhere, &error);
    if (elsewhere && !recording->workload.arguments) {
        const struct error first = error;
        recording->sampler = sampler_free(recording->sampler);
        status = record_there(recording, DEFAULT_URL, &error);
        if (status != EXIT_SUCCESS) {
            note("this process may not sample: %s", first.message);
            error_prefix(&error, "so a daemon was asked");
        }
    }
    return status == EXIT_SUCCESS ? status : command_fail_flag(status, "", &error);
}

/* Waits for the command, which may outlast the recording, and returns its exit status. */
static int outlast(struct recording *recording)
{
    recording->stream = stream_free(recording->stream);
    while (!workload_has_ended(&recording->workload))
        if (sd_event_run(recording->event, UINT64_MAX) < 0)
            return EXIT_FAILURE;
    return recording->workload.status;
}

int command_record(const struct options *options)
{
    _cleanup_(recording_done) struct recording recording = {.options = options};
    struct error error;
    int status = recording_parse(&recording);

    recording.symboliser = CHILD_NONE;
    if (status == EXIT_SUCCESS && output_open(&recording.output, options->output, &error) < 0)
        status = command_fail(EXIT_FAILURE, &error);
    if (status != EXIT_SUCCESS)
        return status;
    /*
     * The command's process is forked before anything is opened, and so inherits only the caller's descriptors.
     */
    if (options->workload && workload_start(options->workload, &recording.workload, &error) < 0)
        return command_fail(EXIT_FAILURE, &error);
    recording.request.own = true;
    recording.request.pid = options->workload ? (uint32_t)recording.workload.pid : recording.request.pid;
    block_signals();
    if (make_event_loop(&recording) < 0)
        return command_fail_memory();
    status = record(&recording);
    if (!recording.begun || !options->workload)
        return status;
    int of_command = outlast(&recording);
    return of_command ? of_command : status;
}
