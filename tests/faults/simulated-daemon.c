/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/faults/simulated-daemon.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "daemon/run.h"
#include "daemon/session.h"
#include "metrics/metrics.h"
#include "tests/faults/faults.h"
#include "tests/faults/faulty-sys.h"
#include "tests/faults/run.h"

#define CONFIG_FILE "/etc/perfcountd.yaml"
#define TURNS_MAX 1000
/* Longer than any delay between two retries, and longer than a removed cgroup lingers. */
#define WAIT_S 61

struct simulated *simulated_new(struct fake_sys *fake, const char *config)
{
    struct simulated *simulated = calloc(1, sizeof(*simulated));

    fault_expect(simulated, "out of memory");
    simulated->fake = fake;
    fake->monotonic_ns = SIMULATED_BEGIN_NS;
    simulated->n_descriptors = residue_now().descriptors;
    simulated->options = (struct options){.config_file = CONFIG_FILE, .no_opener = true};
    truth_init(&simulated->truth, fake);
    simulated_write_config(simulated, config);
    return simulated;
}

void simulated_free(void *state)
{
    struct simulated *simulated = state;

    simulated_stop(simulated);
    truth_done(&simulated->truth);
    fake_sys_free(simulated->fake);
    free(simulated);
}

void simulated_write_config(struct simulated *simulated, const char *config)
{
    faults_hold();
    fake_file(simulated->fake, CONFIG_FILE, "%s\n", config);
    faults_release();
}

/* --- the stages of daemon/run.c --- */

static int split_off(struct daemon *daemon, struct error *error)
{
    const struct privileged_calls calls = session_privileged_calls(&daemon->session);
    _cleanup_(config_freep) struct config *config = NULL;
    int r = settings_read(daemon->options, &daemon->session.sys, &config, error);

    daemon->session.terms = (struct fd_budget_terms){.limit = 65536, .inherited = STDERR_FILENO + 1, .serves = true};
    if (r == 0)
        r = privsep_new(daemon->options, config, &calls, NULL, &daemon->privsep, error);
    daemon->service.files = settings_files(&daemon->session.sys);
    return r;
}

static int load(struct daemon *daemon, struct error *error)
{
    int r = session_load(&daemon->session, daemon->options, error);

    return r < 0 ? r : session_divide_descriptors(&daemon->session, error);
}

static int make_event_loop(struct daemon *daemon, struct error *error)
{
    int r = daemon_watch(daemon);

    return r < 0 ? error_set(error, r, "the event loop cannot start") : 0;
}

static int drop_and_open(struct daemon *daemon, struct error *error)
{
    daemon->session.children = (struct children){.symboliser = &daemon->symboliser};
    return session_open(&daemon->session, error);
}

bool simulated_start(struct simulated *simulated)
{
    static int (*const stages[])(struct daemon * daemon, struct error * error) = {
        split_off, load, make_event_loop, daemon_listen, drop_and_open,
    };
    struct daemon *daemon = &simulated->daemon;
    struct error error = {0};
    int r = 0;

    *daemon = (struct daemon){.options = &simulated->options};
    daemon->symboliser = CHILD_NONE;
    serving_init(daemon);
    faulty_sys_init(&daemon->session.sys, simulated->fake);
    faulty_bpf_init(&daemon->session.bpf, simulated->fake);
    simulated->runs = true;
    truth_restart(&simulated->truth);
    for (size_t i = 0; i < ARRAY_SIZE(stages) && r == 0; i++)
        r = stages[i](daemon, &error);
    if (r == 0) {
        daemon_count(daemon);
        return true;
    }
    fault_expect(error.message[0], "the daemon does not start (%d) and gives no reason", r);
    said_add(error.message);
    simulated_stop(simulated);
    return false;
}

void simulated_stop(void *state)
{
    struct simulated *simulated = state;

    if (simulated->runs)
        daemon_done(&simulated->daemon);
    simulated->runs = false;
}

/* --- events --- */

void simulated_turn(struct simulated *simulated)
{
    unsigned n = 0;

    if (!simulated->runs)
        return;
    while (sd_event_run(simulated->daemon.event, 0) > 0)
        fault_expect(++n < TURNS_MAX, "the event loop never becomes idle");
}

void simulated_pass(struct simulated *simulated, uint64_t seconds)
{
    faults_pass(seconds * NSEC_PER_SEC);
    truth_advance(&simulated->truth, seconds * NSEC_PER_SEC);
    simulated_turn(simulated);
}

void simulated_scrape(struct simulated *simulated)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    struct error error;

    if (!simulated->runs)
        return;
    const struct snapshot *snapshot = simulated->daemon.service.read(&simulated->daemon, UINT32_MAX, true);
    truth_check(&simulated->truth, snapshot);
    exposition_write(&text, &snapshot->metrics, UINT32_MAX, EXPOSITION_TEXT);
    /* The server does this when a client requests samples. */
    sampler_admit(simulated->daemon.sampler, TRUST_OPERATOR, &error);
}

/* Returns whether a failure is reported. */
static bool reports_failures(const struct simulated *simulated)
{
    const struct registry *registry = simulated->daemon.session.registry;
    struct collector_status status;
    bool any = registry_failures(registry)->n > 0;

    for (size_t i = 0; registry_status(registry, i, &status); i++)
        any |= status.enabled && !status.successful;
    return any || simulated->daemon.reload_error[0];
}

void simulated_recover(void *state)
{
    struct simulated *simulated = state;
    struct error error = {0};

    /* A file that was read as empty at the start is a valid configuration, but not the right one. */
    if (simulated->runs && simulated->daemon.session.config->blank)
        simulated_stop(simulated);
    if (!simulated->runs)
        fault_expect(simulated_start(simulated), "the daemon does not start, although nothing fails any more");
    for (unsigned i = 0; i < 8; i++)
        simulated_pass(simulated, WAIT_S);
    simulated_scrape(simulated);
    simulated_pass(simulated, WAIT_S);
    if (reports_failures(simulated))
        fault_expect(daemon_reload(&simulated->daemon, &error) == 0, "the reload failed: %s", error.message);
    simulated_scrape(simulated);
}

/* --- description --- */

#define ROUND_NS 1000
/* The collector self is read at most once a second. */
#define BEFORE_NS (2 * NSEC_PER_SEC)
#define AMOUNTS_MAX 512

/* A value summed over the parts of a group. */
struct amount {
    char key[160];
    uint64_t value;
};

struct amounts {
    struct amount items[AMOUNTS_MAX];
    size_t n;
};

static void run_round(struct simulated *simulated)
{
    char path[8];

    truth_advance(&simulated->truth, ROUND_NS);
    for (unsigned i = 1; i <= 4; i++) {
        snprintf(path, sizeof(path), "/c%u", i);
        for (unsigned cpu = 0; cpu < 2; cpu++)
            if (cpuset_has(&simulated->fake->online, cpu))
                truth_run(&simulated->truth, path, cpu, (i + cpu) * ROUND_NS);
    }
    simulated_scrape(simulated);
}

/* Removes a suffix like "-2" from a group's name. */
static void cut_part(char *group)
{
    size_t length = strlen(group);

    if (length > 2 && group[length - 2] == '-' && group[length - 1] >= '2' && group[length - 1] <= '9')
        group[length - 2] = '\0';
}

static uint64_t *find_amount(struct amounts *amounts, const struct row *row, const char *what)
{
    char key[sizeof(amounts->items[0].key)], group[64];

    snprintf(group, sizeof(group), "%s", row->group);
    cut_part(group);
    snprintf(key, sizeof(key), "%s %s %s %s cpu %d: %s", row->collector_name, row->cgroup ? row->cgroup : "", group,
             row->pmu, row->cpu, what);
    for (size_t i = 0; i < amounts->n; i++)
        if (str_equal(amounts->items[i].key, key))
            return &amounts->items[i].value;
    fault_expect(amounts->n < AMOUNTS_MAX, "too many rows for this test");
    struct amount *amount = &amounts->items[amounts->n++];
    memcpy(amount->key, key, sizeof(key));
    amount->value = 0;
    return &amount->value;
}

static void add_up(struct amounts *amounts, const struct snapshot *snapshot, bool states)
{
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (row->removed)
            continue;
        *find_amount(amounts, row, "descriptors") += states ? row->n_descriptors : 0;
        if (states && (row->state != ROW_COUNTING || row->absent))
            (*find_amount(amounts, row, row->absent ? "absent" : row_state_name(row->state)))++;
        for (size_t k = 0; k < row->n_counters; k++)
            if (row->counters[k].known)
                *find_amount(amounts, row, row->counters[k].event) += row->counters[k].value;
    }
}

static void describe_growth(struct amounts *before, const struct amounts *after, struct buffer *out)
{
    for (size_t i = 0; i < after->n; i++) {
        uint64_t then = 0;
        for (size_t k = 0; k < before->n; k++)
            if (str_equal(before->items[k].key, after->items[i].key))
                then = before->items[k].value;
        buffer_appendf(out, "%s +%" PRIu64 "\n", after->items[i].key, after->items[i].value - then);
    }
}

/* Also removes the suffix in a label like `group="core-2"`. */
static void cut_label(char *line)
{
    char *group = strstr(line, ",group=\""), *end = group ? strchr(group + 8, '"') : NULL;

    if (!end)
        return;
    char rest[512];
    snprintf(rest, sizeof(rest), "%s", end);
    *end = '\0';
    cut_part(group);
    strcpy(group + strlen(group), rest);
}

/* Writes the lines of the exposition without their values. */
static void describe_series(const struct snapshot *snapshot, struct buffer *out)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    char *line, *at;

    exposition_write(&text, &snapshot->metrics, UINT32_MAX, EXPOSITION_TEXT);
    buffer_append_char(&text, '\0');
    at = text.data;
    while ((line = strsep(&at, "\n"))) {
        char *space = strrchr(line, ' ');
        if (line[0] == '#' || !space)
            continue;
        *space = '\0';
        cut_label(line);
        buffer_appendf(out, "%s\n", line);
    }
}

static void describe_open(const struct simulated *simulated, struct buffer *out)
{
    struct residue now = residue_now();
    char path[PATH_MAX];
    ino_t inodes[5];
    size_t n = 0;
    struct stat st;

    /* Counts only the watches of cgroups. State files are on the real machine, where other programs change them. */
    for (unsigned i = 0; i < ARRAY_SIZE(inodes); i++) {
        snprintf(path, sizeof(path), "%s/sys/fs/cgroup/c%u", simulated->fake->root, i);
        if (i == 0)
            *strrchr(path, '/') = '\0';
        if (stat(path, &st) == 0)
            inodes[n++] = st.st_ino;
    }

    buffer_appendf(out, "%u events, %u pages, %" PRIu64 " descriptors, %zu watches\n", simulated->fake->n_open,
                   simulated->fake->n_mapped, now.descriptors - simulated->n_descriptors,
                   residue_count_watches(inodes, n));
}

void simulated_describe(void *state, struct buffer *out)
{
    struct simulated *simulated = state;
    struct amounts before = {.n = 0}, after = {.n = 0};

    if (!simulated->runs) {
        buffer_appendf(out, "nothing runs: %u events are open\n", simulated->fake->n_open);
        return;
    }
    const struct snapshot *snapshot = registry_read(simulated->daemon.session.registry, 0, 0);
    truth_advance(&simulated->truth, BEFORE_NS);
    run_round(simulated);
    add_up(&before, snapshot, false);
    run_round(simulated);
    add_up(&after, snapshot, true);
    describe_growth(&before, &after, out);
    describe_series(snapshot, out);
    describe_open(simulated, out);
}
