/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include <getopt.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "symbols/symboliser.h"

#define OPTIONS_LIVE UINT64_MAX /* value of `count` when `top` draws on the terminal until it is quit (no --count) */

/* --- command line --- */

#define IN(command) (1u << (command))
#define IN_ALL (~0u)

static const struct {
    const char *name, *argument;
    const char *help; /* description, or NULL for an internal command, which the help does not list */
    const char *example;
} commands[] = {
    [COMMAND_RUN] = {"run", "", "serve in the foreground (the default)",
                     "perfcountd run --web.listen-address=127.0.0.1:10298"},
    [COMMAND_CHECK_CONFIG] = {"check-config", "[FILE]", "check a configuration and report all errors",
                              "perfcountd check-config ./perfcountd.yaml"},
    [COMMAND_LIST_EVENTS] = {"list-events", "", "list every event this machine offers",
                             "sudo perfcountd list-events | grep sched:"},
    [COMMAND_LIST_METRICS] = {"list-metrics", "", "list the derived metrics, with their formulas",
                              "perfcountd list-metrics --json | jq '.metrics[].name'"},
    [COMMAND_LIST_PRESETS] = {"list-presets", "", "list the presets and their events on this machine",
                              "perfcountd list-presets"},
    [COMMAND_PLAN] = {"plan", "", "show what a configuration can and cannot open here",
                      "sudo perfcountd plan --config.file=./perfcountd.yaml"},
    [COMMAND_RECORD] = {"record", "[-- COMMAND]", "sample into a flame graph, pprof or perf.data",
                        "perfcountd record -o out.svg -- make"},
    [COMMAND_REPORT] = {"report", "", "describe this machine for a bug report, and test the formulas",
                        "sudo perfcountd report --output=report.txt"},
    [COMMAND_SETUP] = {"setup", "", "let the service take profiles or ask for a password",
                       "sudo perfcountd setup --profiles --password"},
    [COMMAND_STAT] = {"stat", "[-- COMMAND]", "count a command or the machine, and print the counts",
                      "perfcountd stat -e cycles,instructions -- make"},
    [COMMAND_TOP] = {"top", "", "show live what cgroups and CPUs do", "sudo perfcountd top --sort=cpu"},
    [COMMAND_SYMBOLISE] = {SYMBOLISER_COMMAND, "", NULL, NULL},
    [COMMAND_HELP] = {"help", "[COMMAND]", "print this, or the help of a command", "perfcountd help stat"},
    [COMMAND_VERSION] = {"version", "", "print the version", "perfcountd version"},
};

enum flag_id {
    FLAG_CONFIG_FILE = 256, /* larger than any character, because short flags are represented by characters */
    FLAG_LISTEN,
    FLAG_TELEMETRY_PATH,
    FLAG_WEB_CONFIG_FILE,
    FLAG_LOG_LEVEL,
    FLAG_LOG_FORMAT,
    FLAG_NO_OPENER,
    FLAG_SAMPLER,
    FLAG_PROFILES,
    FLAG_PASSWORD,
    FLAG_SETUP_LISTEN,
    FLAG_UNDO,
    FLAG_JSON,
    FLAG_INTERVAL,
    FLAG_COUNT,
    FLAG_LAST,
    FLAG_PER_CPU,
    FLAG_ALL_CPUS,
    FLAG_CGROUP,
    FLAG_PID,
    FLAG_CPU,
    FLAG_EVENT,
    FLAG_FREQUENCY,
    FLAG_THRESHOLD,
    FLAG_STATE,
    FLAG_SECONDS,
    FLAG_SORT,
    FLAG_ORDER,
    FLAG_LIMIT,
    FLAG_OUTPUT,
    FLAG_URL,
    FLAG_WORKLOAD, /* stands for the command after "--", which is not a flag */
    FLAG_HELP,
    FLAG_VERSION,
};

/* Commands that read the configuration. */
#define READS_CONFIG                                                                                                   \
    (IN(COMMAND_RUN) | IN(COMMAND_CHECK_CONFIG) | IN(COMMAND_PLAN) | IN(COMMAND_RECORD) | IN(COMMAND_REPORT) |         \
     IN(COMMAND_STAT) | IN(COMMAND_TOP))
#define LISTS (IN(COMMAND_LIST_EVENTS) | IN(COMMAND_LIST_METRICS) | IN(COMMAND_LIST_PRESETS) | IN(COMMAND_PLAN))

/*
 * A new flag needs a row here and a case in apply_flag(), apply_count_flag() or apply_switch(). A flag whose help
 * differs between commands has several rows. Flags whose row has `of_daemon` set are accepted by all commands, as in
 * other exporters, but are only listed in the help of the commands in `commands`.
 */
static const struct {
    const char *name; /* name of the flag, with its dashes */
    const char *argument, *help;
    enum flag_id id;
    unsigned commands;
    bool of_daemon;
} flags[] = {
    {"--config.file", "FILE", "default: " SYSCONFDIR "/perfcountd/perfcountd.yaml", FLAG_CONFIG_FILE, READS_CONFIG,
     true},
    {"--web.listen-address", "ADDRESS",
     ":10298, 127.0.0.1:10298, [::1]:10298 or unix:/PATH; repeatable (default: :10298)", FLAG_LISTEN, IN(COMMAND_RUN),
     true},
    {"--web.telemetry-path", "PATH", "path of the metrics (default: /metrics)", FLAG_TELEMETRY_PATH, IN(COMMAND_RUN),
     true},
    {"--web.config.file", "FILE", "TLS and passwords, in the format of other exporters", FLAG_WEB_CONFIG_FILE,
     IN(COMMAND_RUN) | IN(COMMAND_CHECK_CONFIG), true},
    {"--log.level", "LEVEL", "debug, info, warning or error (default: info)", FLAG_LOG_LEVEL, IN(COMMAND_RUN), true},
    {"--log.format", "FORMAT", "auto, text, json or journal (default: auto)", FLAG_LOG_FORMAT, IN(COMMAND_RUN), true},
    {"--no-opener", NULL, "remain a single process, which keeps its privileges", FLAG_NO_OPENER, IN(COMMAND_RUN),
     false},
    {"--sampler.enabled", NULL, "let authorised clients take samples", FLAG_SAMPLER, IN(COMMAND_RUN), false},
    {"--profiles", NULL, "let the service take profiles, with all names", FLAG_PROFILES, IN(COMMAND_SETUP), false},
    {"--password", NULL, "generate and print a password, which clients then need", FLAG_PASSWORD, IN(COMMAND_SETUP),
     false},
    {"--listen", "ADDRESS", "where the service listens, as :10298 or 127.0.0.1:10298", FLAG_SETUP_LISTEN,
     IN(COMMAND_SETUP), false},
    {"--undo", NULL, "remove what setup wrote, and nothing else", FLAG_UNDO, IN(COMMAND_SETUP), false},
    {"--json", NULL, "print JSON", FLAG_JSON, LISTS | IN(COMMAND_STAT), false},
    {"--interval", "DURATION", "how long to count: 2, 500ms, 1m; 50ms to 1h (default: 1s)", FLAG_INTERVAL,
     IN(COMMAND_STAT), false},
    {"--interval", "DURATION", "time between two readings: 2, 500ms, 1m; 50ms to 1h (default: 1s)", FLAG_INTERVAL,
     IN(COMMAND_TOP), false},
    {"--count", "N", "number of intervals, 0 for no limit (default: 1)", FLAG_COUNT, IN(COMMAND_STAT), false},
    {"--count", "N", "print N intervals as text and exit, 0 for no limit (default: draw on the terminal)", FLAG_COUNT,
     IN(COMMAND_TOP), false},
    {"--last", "DURATION", "instead of counting, print what a running daemon has recorded in the last 1s to 7d",
     FLAG_LAST, IN(COMMAND_STAT), false},
    {"--last", "DURATION",
     "instead of sampling, use a daemon's past samples, as far back as its sampler.hindsight reaches", FLAG_LAST,
     IN(COMMAND_RECORD), false},
    {"--event", "EVENTS", "what to count, such as cycles,instructions:u or a preset; also -e EVENTS", FLAG_EVENT,
     IN(COMMAND_STAT), false},
    {"--all-cpus", NULL, "count the whole machine while the command runs, not only the command; also -a", FLAG_ALL_CPUS,
     IN(COMMAND_STAT), false},
    {"--per-cpu", NULL, "count each CPU separately", FLAG_PER_CPU, IN(COMMAND_STAT), false},
    {"--cgroup", "PATTERN", "only matching cgroups, such as *.service or container=web*; repeatable", FLAG_CGROUP,
     IN(COMMAND_STAT), false},
    {"--cgroup", "PATTERN", "only matching cgroups, such as *.service or container=web*", FLAG_CGROUP, IN(COMMAND_TOP),
     false},
    {"--cgroup", "PATTERN", "only processes in a cgroup, such as nginx.service or container=web", FLAG_CGROUP,
     IN(COMMAND_RECORD), false},
    {"--pid", "PID", "only this process and what it starts", FLAG_PID, IN(COMMAND_RECORD), false},
    {"--cpu", "LIST", "only these CPUs, such as 0-3,8", FLAG_CPU, IN(COMMAND_RECORD), false},
    {"--event", "EVENT", "what to sample, such as cycles:u, or off-cpu (default: sampler.event of the configuration)",
     FLAG_EVENT, IN(COMMAND_RECORD), false},
    {"--frequency", "HZ", "samples a second on each CPU (default: sampler.frequency of the configuration)",
     FLAG_FREQUENCY, IN(COMMAND_RECORD), false},
    {"--threshold", "DURATION", "with --event=off-cpu: leave out shorter waits (default: 1ms)", FLAG_THRESHOLD,
     IN(COMMAND_RECORD), false},
    {"--state", "STATE",
     "with --event=off-cpu: sleeping, uninterruptible, stopped, runnable, or blocked, which is all but runnable "
     "(default: all)",
     FLAG_STATE, IN(COMMAND_RECORD), false},
    {"--seconds", "DURATION", "for how long, such as 10, 10s or 5m (default: 10; with a command, until it ends)",
     FLAG_SECONDS, IN(COMMAND_RECORD), false},
    {"--sort", "NAME", "sort cgroups by a metric or an event, largest first unless --order is given", FLAG_SORT,
     IN(COMMAND_STAT), false},
    {"--sort", "NAME", "sort by a column (name, cpu, ipc), largest first unless --order is given", FLAG_SORT,
     IN(COMMAND_TOP), false},
    {"--order", "asc|desc", "with --sort: smallest or largest first", FLAG_ORDER, IN(COMMAND_STAT) | IN(COMMAND_TOP),
     false},
    {"--limit", "N", "only the first N cgroups", FLAG_LIMIT, IN(COMMAND_STAT), false},
    {"--output", "FILE", "print to a file (default: standard output; with a command, standard error)", FLAG_OUTPUT,
     IN(COMMAND_STAT), false},
    {"--output", "FILE", "print to a file (default: standard output)", FLAG_OUTPUT, IN(COMMAND_REPORT), false},
    {"--output", "FILE", "FILE.svg, .folded, .pb.gz or .perf.data, in that format; also -o FILE", FLAG_OUTPUT,
     IN(COMMAND_RECORD), false},
    {"--url", "URL", "a daemon to read, unix:/PATH or http://HOST:PORT (default: own counters)", FLAG_URL,
     IN(COMMAND_TOP), false},
    {"--url", "URL", "with --last: the daemon to read (default: unix:/run/perfcountd.sock)", FLAG_URL, IN(COMMAND_STAT),
     false},
    {"--url", "URL", "a daemon that samples instead (see the manual)", FLAG_URL, IN(COMMAND_RECORD), false},
    {"--help", NULL, "print this and exit", FLAG_HELP, IN_ALL, false},
    {"--version", NULL, "print the version and exit", FLAG_VERSION, IN(COMMAND_RUN), true},
};

void options_done(struct options *options)
{
    free(options->listen);
    free(options->cgroups);
    free(options->joined);
    free(options->arguments);
    *options = (struct options){0};
}

bool options_of_cgroups(const struct options *options)
{
    return options->n_cgroups || options->sort || options->limit;
}

bool options_of_command(const struct options *options)
{
    return options->workload && !options->all_cpus && !options->per_cpu && !options_of_cgroups(options);
}

#define HELP_WIDTH 80

/* Prints the text, breaking lines at blanks. Lines begin at column `indent`, where the cursor is. */
static void print_wrapped(FILE *file, const char *text, size_t indent)
{
    size_t width = HELP_WIDTH - indent;

    while (strlen(text) > width) {
        size_t size = width;
        while (size > 0 && text[size] != ' ')
            size--;
        if (size == 0)
            break;
        fprintf(file, "%.*s\n%*s", (int)size, text, (int)indent, "");
        text += size + 1;
    }
    fprintf(file, "%s\n", text);
}

static void print_commands(FILE *file)
{
    fprintf(file, "perfcountd exports Linux hardware counters to Prometheus and as JSON.\n\n"
                  "usage: perfcountd [COMMAND] [FLAGS]\n\ncommands:\n");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (commands[i].help) {
            fprintf(file, "  %-12s %-12s ", commands[i].name, commands[i].argument);
            print_wrapped(file, commands[i].help, 28);
        }
}

/* Formats the flag with the name of its argument, as "--flag=ARGUMENT". */
static size_t format_flag(size_t i, char *text, size_t size)
{
    const char *argument = flags[i].argument;

    return (size_t)snprintf(text, size, "%s%s%s", flags[i].name, argument ? "=" : "", argument ? argument : "");
}

static void print_flags(FILE *file, enum command command)
{
    size_t width = 0;
    char text[64];

    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (flags[i].commands & IN(command))
            width = MAX(width, format_flag(i, text, sizeof(text)));
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        if (!(flags[i].commands & IN(command)))
            continue;
        format_flag(i, text, sizeof(text));
        fprintf(file, "  %-*s  ", (int)width, text);
        print_wrapped(file, flags[i].help, width + 4);
    }
}

void options_print_help(FILE *file, enum command command)
{
    const char *name = commands[command].name, *argument = commands[command].argument;
    bool all = command == COMMAND_HELP || !commands[command].help;

    if (all)
        print_commands(file);
    else
        fprintf(file, "perfcountd %s: %s\n\nusage: perfcountd %s [FLAGS]%s%s\n", name, commands[command].help, name,
                argument[0] ? " " : "", argument);
    fprintf(file, all ? "\nflags of run (\"perfcountd COMMAND --help\" lists those of a command):\n" : "\nflags:\n");
    print_flags(file, all ? COMMAND_RUN : command);
    fprintf(file, "\nexample: %s\n\nManual: perfcountd(8), perfcountd.yaml(5).\n",
            commands[all ? COMMAND_STAT : command].example);
}

static int parse_command(const char *word, enum command *ret, struct error *error)
{
    struct suggest suggest = {.wrong = word};
    char text[256];

    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        if (str_equal(word, commands[i].name)) {
            *ret = (enum command)i;
            return 0;
        }
        if (commands[i].help)
            suggest_consider(&suggest, commands[i].name);
    }
    return error_set(error, -EINVAL, "unknown command \"%s\"%s", word, suggest_format(&suggest, text, sizeof(text)));
}

static int unknown_flag(const char *argument, enum command command, struct error *error)
{
    char name[64], text[256];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(argument, "="), argument);
    struct suggest suggest = {.wrong = name};
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (flags[i].of_daemon || flags[i].commands & IN(command))
            suggest_consider(&suggest, flags[i].name);
    return error_set(error, -EINVAL, "unknown flag \"%s\"%s", name, suggest_format(&suggest, text, sizeof(text)));
}

static int bad_value(struct error *error, const char *flag, const char *value, const char *expected)
{
    return error_set(error, -EINVAL, "%s: expected %s, found \"%s\"", flag, expected, value);
}

/* Appends the value of a flag that may be repeated. */
static int add_value(char ***values, size_t *n, char *value, struct error *error)
{
    if (array_grow(values, *n) < 0)
        return error_oom(error);
    (*values)[(*n)++] = value;
    return 0;
}

static int parse_duration(const char *value, uint64_t min_ns, uint64_t max_ns, uint64_t *ret)
{
    uint64_t ns;
    int r = number_parse_seconds(value, &ns);

    if (r < 0 || ns < min_ns || ns > max_ns)
        return -EINVAL;
    *ret = ns;
    return 0;
}

/* Applies a flag without an argument. */
static int apply_switch(struct options *options, enum flag_id id)
{
    if (id == FLAG_NO_OPENER)
        options->no_opener = true;
    else if (id == FLAG_SAMPLER)
        options->sampler = true;
    else if (id == FLAG_PROFILES)
        options->profiles = true;
    else if (id == FLAG_PASSWORD)
        options->password = true;
    else if (id == FLAG_UNDO)
        options->undo = true;
    else if (id == FLAG_JSON)
        options->json = true;
    else if (id == FLAG_PER_CPU)
        options->per_cpu = true;
    else if (id == FLAG_ALL_CPUS)
        options->all_cpus = true;
    else if (id == FLAG_HELP)
        options->help = true;
    else
        options->version = true;
    return 0;
}

/* Adds the events from one --event flag, of which `stat` accepts several. */
static int add_events(struct options *options, const char *value, struct error *error)
{
    char *joined = NULL;

    if (options->command == COMMAND_STAT && options->event) {
        if (asprintf(&joined, "%s,%s", options->event, value) < 0)
            return error_oom(error);
        free(options->joined);
        options->joined = joined;
    }
    options->event = joined ? joined : value;
    return 0;
}

/* Stores the arguments of flags unchecked; sampler/record-options.c checks them later. */
static int apply_record_flag(struct options *options, enum flag_id id, const char *value)
{
    if (id == FLAG_PID)
        options->pid = value;
    else if (id == FLAG_CPU)
        options->cpu = value;
    else if (id == FLAG_FREQUENCY)
        options->frequency = value;
    else if (id == FLAG_THRESHOLD)
        options->threshold = value;
    else if (id == FLAG_STATE)
        options->state = value;
    else if (id == FLAG_SECONDS)
        options->seconds = value;
    else
        return apply_switch(options, id);
    return 0;
}

static int apply_count_flag(struct options *options, size_t i, char *value, struct error *error)
{
    const char *name = flags[i].name;

    switch (flags[i].id) {
    case FLAG_INTERVAL:
        return parse_duration(value, 50 * NSEC_PER_MSEC, 3600 * NSEC_PER_SEC, &options->interval_ns) < 0
                   ? bad_value(error, name, value, "a duration from 50ms to 1h")
                   : 0;
    case FLAG_LAST:
        return parse_duration(value, NSEC_PER_SEC, 7 * 86400 * NSEC_PER_SEC, &options->last_ns) < 0
                   ? bad_value(error, name, value, "a duration from 1s to 7d")
                   : 0;
    case FLAG_COUNT:
        return number_parse_u64(value, &options->count) < 0 ? bad_value(error, name, value, "a number") : 0;
    case FLAG_CGROUP:
        return add_value(&options->cgroups, &options->n_cgroups, value, error);
    case FLAG_SORT:
        options->sort = value;
        return *value ? 0 : bad_value(error, name, value, "a metric or an event");
    case FLAG_ORDER:
        options->order = value;
        return str_equal(value, "asc") || str_equal(value, "desc")
                   ? 0
                   : bad_value(error, name, value, "\"asc\" or \"desc\"");
    case FLAG_LIMIT:
        options->limit = value;
        return 0;
    case FLAG_OUTPUT:
        options->output = value;
        return *value ? 0 : bad_value(error, name, value, "the name of a file");
    case FLAG_URL:
        options->url = value;
        return 0;
    case FLAG_EVENT:
        return add_events(options, value, error);
    default:
        return apply_record_flag(options, flags[i].id, value);
    }
}

static int apply_flag(struct options *options, size_t i, char *value, struct error *error)
{
    const char *name = flags[i].name;

    switch (flags[i].id) {
    case FLAG_CONFIG_FILE:
        options->config_file = value;
        return *value ? 0 : bad_value(error, name, value, "the name of a file");
    case FLAG_LISTEN:
        return add_value(&options->listen, &options->n_listen, value, error);
    case FLAG_TELEMETRY_PATH:
        options->telemetry_path = value;
        return 0;
    case FLAG_WEB_CONFIG_FILE:
        options->web_config_file = value;
        return 0;
    case FLAG_SETUP_LISTEN:
        options->setup_listen = value;
        return 0;
    case FLAG_LOG_LEVEL:
        return log_parse_level(value, &options->log_level) < 0
                   ? bad_value(error, name, value, "debug, info, warning or error")
                   : 0;
    case FLAG_LOG_FORMAT:
        return log_parse_format(value, &options->log_format) < 0
                   ? bad_value(error, name, value, "auto, text, json or journal")
                   : 0;
    default:
        return apply_count_flag(options, i, value, error);
    }
}

/*
 * Refuses abbreviated flags, which getopt_long(3) accepts: other exporters have none, and a new flag could make one
 * ambiguous.
 */
static int check_spelling(const char *argument, size_t i, enum command command, struct error *error)
{
    size_t size = strcspn(argument, "=");

    if (size != strlen(flags[i].name))
        return unknown_flag(argument, command, error);
    return 0;
}

/* Returns the row that describes the flag for `command`; getopt_long(3) only finds the flag's first row. */
static size_t row_of_command(size_t i, enum command command)
{
    for (size_t k = i; k < ARRAY_SIZE(flags); k++)
        if (flags[k].id == flags[i].id && flags[k].commands & IN(command))
            return k;
    return i;
}

static size_t row_of_flag(enum flag_id id)
{
    size_t i = 0;

    while (flags[i].id != id)
        i++;
    return i;
}

/* Returns the flag that a letter such as "-o" stands for, or FLAG_WORKLOAD for an unknown letter. */
static enum flag_id flag_of_letter(int letter)
{
    static const struct {
        int letter;
        enum flag_id id;
    } letters[] = {{'a', FLAG_ALL_CPUS}, {'e', FLAG_EVENT}, {'o', FLAG_OUTPUT}};

    for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
        if (letters[i].letter == letter)
            return letters[i].id;
    return FLAG_WORKLOAD;
}

/* Returns whether a command to run may follow "--". */
static bool runs_commands(enum command command)
{
    return command == COMMAND_STAT || command == COMMAND_RECORD;
}

/* Pairs of mutually exclusive flags. `second` may be FLAG_WORKLOAD, for a command to run. */
static const struct {
    enum flag_id first, second;
} exclusions[] = {
    {FLAG_INTERVAL, FLAG_WORKLOAD}, {FLAG_COUNT, FLAG_WORKLOAD}, {FLAG_PER_CPU, FLAG_CGROUP},
    {FLAG_PER_CPU, FLAG_SORT},      {FLAG_PER_CPU, FLAG_LIMIT},  {FLAG_LAST, FLAG_INTERVAL},
    {FLAG_LAST, FLAG_COUNT},        {FLAG_LAST, FLAG_WORKLOAD},  {FLAG_LAST, FLAG_CONFIG_FILE},
    {FLAG_LAST, FLAG_SECONDS},      {FLAG_LAST, FLAG_FREQUENCY}, {FLAG_LAST, FLAG_EVENT},
    {FLAG_LAST, FLAG_ALL_CPUS},     {FLAG_PID, FLAG_WORKLOAD},   {FLAG_PID, FLAG_CGROUP},
    {FLAG_URL, FLAG_WORKLOAD},      {FLAG_UNDO, FLAG_PROFILES},  {FLAG_UNDO, FLAG_PASSWORD},
    {FLAG_UNDO, FLAG_SETUP_LISTEN},
};

static const char *given_flag(enum flag_id id, uint64_t given)
{
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (flags[i].id == id && given >> i & 1)
            return flags[i].name;
    return NULL;
}

/* `given` has a bit for each row of `flags`. */
static int check_flags(const struct options *options, uint64_t given, struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (given >> i & 1 && !flags[i].of_daemon && !(flags[i].commands & IN(options->command)))
            return error_set(error, -EINVAL, "%s cannot be used with \"%s\"", flags[i].name,
                             commands[options->command].name);
    for (size_t i = 0; i < ARRAY_SIZE(exclusions); i++) {
        const char *first = given_flag(exclusions[i].first, given), *second = given_flag(exclusions[i].second, given);
        if (exclusions[i].second == FLAG_WORKLOAD && options->workload)
            second = "a command to run";
        if (first && second)
            return error_set(error, -EINVAL, "%s cannot be used with %s", first, second);
    }
    if (options->command == COMMAND_STAT && options->url && !options->last_ns)
        return error_set(error, -EINVAL, "--url cannot be used without --last");
    if (options->order && !options->sort)
        return error_set(error, -EINVAL, "--order cannot be used without --sort");
    return 0;
}

static int parse_flags(int argc, char **argv, struct options *options, struct error *error)
{
    struct option table[ARRAY_SIZE(flags) + 1] = {0};
    uint64_t given = 0;

    _Static_assert(ARRAY_SIZE(flags) <= 64, "`given` has a bit per row");

    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        table[i] = (struct option){flags[i].name + 2, flags[i].argument ? required_argument : no_argument, NULL,
                                   (int)flags[i].id};
    opterr = 0;
    optind = 0;
    for (;;) {
        int before = optind ? optind : 1, index = -1;
        int id = getopt_long(argc, argv, "+:hao:e:", table, &index);
        if (id == -1) {
            if (!runs_commands(options->command) || before >= argc || !str_equal(argv[before], "--"))
                break;
            if (optind == argc)
                return error_set(error, -EINVAL, "there is no command after \"--\"");
            options->workload = argv + optind;
            break;
        }
        if (id == ':')
            return error_set(error, -EINVAL, "%s needs a value", argv[optind - 1]);
        if (id == 'h')
            options->help = true;
        else if (flag_of_letter(id) != FLAG_WORKLOAD)
            index = (int)row_of_flag(flag_of_letter(id));
        else if (id == '?' || index < 0)
            return unknown_flag(argv[before], options->command, error);
        if (index < 0)
            continue;
        int r = id < FLAG_CONFIG_FILE ? 0 : check_spelling(argv[before], (size_t)index, options->command, error);
        if (r == 0)
            r = apply_flag(options, (size_t)index, optarg, error);
        if (r < 0)
            return r;
        given |= UINT64_C(1) << row_of_command((size_t)index, options->command);
    }
    return check_flags(options, given, error);
}

static int unexpected_argument(const struct options *options, const char *word, struct error *error)
{
    enum command command;
    struct error ignored;
    bool is_command = parse_command(word, &command, &ignored) == 0;

    return error_set(error, -EINVAL, "unexpected argument \"%s\"%s", word,
                     is_command                        ? ": give one command, before the flags"
                     : runs_commands(options->command) ? ": a command to run goes after \"--\""
                                                       : "");
}

/*
 * Handles the commands `help` and `version`, which are equivalent to the flags. `help COMMAND` shows the help of
 * COMMAND, which is passed as `word`.
 */
static int apply_command_word(struct options *options, const char *word, int *rest, struct error *error)
{
    bool is_help = options->command == COMMAND_HELP;

    options->help |= is_help;
    options->version |= options->command == COMMAND_VERSION;
    if (!is_help || !word)
        return 0;
    ++*rest;
    return parse_command(word, &options->command, error);
}

/* Copies the arguments into one block: the NULL-terminated array, followed by the strings. */
static char **copy_arguments(int argc, char *const *argv)
{
    size_t n = (size_t)argc, size = 0;

    for (size_t i = 0; i < n; i++)
        size += strlen(argv[i]) + 1;
    char **copy = malloc((n + 1) * sizeof(*copy) + size);
    if (!copy)
        return NULL;
    char *at = (char *)(copy + n + 1);
    for (size_t i = 0; i < n; i++, at += strlen(at) + 1)
        copy[i] = strcpy(at, argv[i]);
    copy[n] = NULL;
    return copy;
}

/* Appends a reference to the command's help. The flags of `run` are in the general help. */
static void refer_to_help(enum command command, struct error *error)
{
    bool own = command != COMMAND_RUN && command != COMMAND_HELP && commands[command].help;
    char text[sizeof(error->message)];

    snprintf(text, sizeof(text), "%s", error->message);
    error_set(error, -EINVAL, "%.400s (see \"perfcountd %s%s--help\")", text, own ? commands[command].name : "",
              own ? " " : "");
}

int options_parse(int argc, char *const *given, struct options *ret, struct error *error)
{
    char **argv = copy_arguments(argc, given);
    struct options options = {
        .arguments = argv,
        .log_level = LOG_LEVEL_INFO,
        .interval_ns = NSEC_PER_SEC,
        .count = 1,
    };

    if (!argv)
        return error_oom(error);
    bool has_command = argc > 1 && argv[1][0] != '-';
    int r = has_command ? parse_command(argv[1], &options.command, error) : 0;

    if (options.command == COMMAND_TOP)
        options.count = OPTIONS_LIVE;
    if (r == 0)
        r = parse_flags(argc - has_command, argv + has_command, &options, error);
    int rest = optind + has_command;
    if (r == 0 && options.command == COMMAND_CHECK_CONFIG && rest < argc && !options.config_file)
        options.config_file = argv[rest++];
    if (r == 0 && !options.workload)
        r = apply_command_word(&options, rest < argc ? argv[rest] : NULL, &rest, error);
    if (options.help && !has_command)
        options.command = COMMAND_HELP;
    if (r == 0 && rest < argc && !options.workload)
        r = unexpected_argument(&options, argv[rest], error);
    if (r < 0) {
        refer_to_help(options.command, error);
        options_done(&options);
        return r;
    }
    *ret = options;
    return 0;
}

/* --- helpers for the commands --- */

int command_fail(int status, const struct error *error)
{
    fflush(stdout);
    fprintf(stderr, "perfcountd: %s\n", error->message);
    return status;
}

int command_fail_flag(int status, const char *prefix, const struct error *error)
{
    static const char before[] = "parameter \"";
    const char *text = error->message;
    struct error renamed;

    if (!str_starts(text, before))
        return command_fail(status, error);
    text += strlen(before);
    size_t name = strcspn(text, "\"");
    error_set(&renamed, -EINVAL, "--%s%.*s%s", prefix, (int)name, text, text[name] ? text + name + 1 : "");
    return command_fail(status, &renamed);
}

int command_fail_memory(void)
{
    struct error error;

    error_oom(&error);
    return command_fail(EXIT_FAILURE, &error);
}

int command_end_output(FILE *file, const char *name, int status)
{
    bool failed = ferror(file);
    struct error error;

    errno = 0;
    if (fflush(file) == 0 && !failed)
        return status;
    clearerr(file);
    if (errno == 0) { /* the error of an earlier write is unknown, but another write fails for the same reason */
        fputc('\n', file);
        fflush(file);
        clearerr(file);
    }
    error_of_file(&error, errno ? -errno : -EIO, "write", name);
    return command_fail(EXIT_FAILURE, &error);
}

int command_print_json(json_t *document)
{
    _cleanup_(freep) char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;

    json_decref(document);
    if (!text)
        return command_fail_memory();
    puts(text);
    return EXIT_SUCCESS;
}

void command_sleep(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / NSEC_PER_SEC), .tv_nsec = (long)(ns % NSEC_PER_SEC)};

    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time) == EINTR)
        ;
}
