/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scrapes over HTTP in each format, with and without compression, on one connection and on several. A response with
 * status 200 must have exactly the series and JSON members of the run without faults, and values that the machine has
 * counted. Otherwise the response must be an error message, or the connection must be closed.
 */
#undef NDEBUG
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/faults/run.h"
#include "tests/faults/served-daemon.h"
#include "tests/unit/fake-machine.h"

#define CONFIG                                                                                                         \
    "collectors:\n"                                                                                                    \
    "  self: {enabled: false}\n"                                                                                       \
    "  cgroup: {enabled: false}\n"                                                                                     \
    "  cpu: {groups: [{name: core, events: \"{cycles,instructions}\"}]}\n"
#define GZIP "Accept-Encoding: gzip\r\n"
#define STEP_NS UINT64_C(1000000)
#define RATES_NS (2 * NSEC_PER_SEC)

#define CYCLES "perf_cpu_cycles_total"
#define N_CPUS 4

/* The requests in order, and the expected status of each response. */
static const struct question {
    const char *request, *headers;
    unsigned status;
} questions[] = {
    {"GET /metrics", "", 200},
    {"GET /metrics", GZIP, 200},
    {"GET /metrics", "Accept: application/openmetrics-text\r\n", 200},
    {"HEAD /metrics", "", 200},
    {"GET /api/v1/counters", "", 200},
    {"GET /api/v1/counters?event=cycles", GZIP, 200},
    {"GET /api/v1/rates?seconds=2", "", 200}, /* RATES_NS */
    {"GET /api/v1/status", "", 200},
    {"GET /api/v1/pmus", "", 200},
    {"GET /api/v1/metrics", GZIP, 200},
    {"GET /api/v1/cgroups", "", 200},
    {"GET /api/v1/config", "", 200},
    {"GET /api/v1/events", GZIP, 200},
    {"GET /", "Accept: text/html\r\n", 200},
    {"GET /page/app.js", GZIP, 200},
    {"GET /-/ready", "", 200},
    {"POST /api/v1/pmus", "Content-Length: 0\r\n", 405},
    {"GET /api/v1/counters?cpu=x", "", 400},
};

struct scrapes {
    struct served_daemon served;
    char *forms[ARRAY_SIZE(questions)]; /* responses under a fault, with numbers replaced; NULL: unexpected status */
    uint64_t highest[N_CPUS];           /* highest number of cycles served */
    bool recovered;
};

/* Returns the text with each number replaced by "#", since numbers differ between runs. The caller frees it. */
static char *form_of(const char *text)
{
    char *form = malloc(strlen(text) + 1), *to = form;

    assert(form);
    while (*text) {
        size_t n = *text >= '0' && *text <= '9' ? strspn(text, "0123456789.e+-") : 0;
        *to++ = n ? '#' : *text;
        text += MAX(n, (size_t)1);
    }
    *to = '\0';
    return form;
}

/*
 * A CPU's cycles never decrease, and never exceed those of the elapsed time. Values that are missing because a read
 * failed are skipped.
 */
static void check_cycles(struct scrapes *scrapes, const char *text)
{
    const struct fake_sys *fake = scrapes->served.simulated->fake;
    uint64_t rate = fake->rates[0].count, most = (fake->monotonic_ns - SIMULATED_BEGIN_NS) * rate, cycles;
    unsigned cpu;

    while ((text = strstr(text, CYCLES))) {
        text += strlen(CYCLES);
        if (sscanf(text, "{cpu=\"%u\",%*[^}]} %" SCNu64, &cpu, &cycles) != 2)
            continue;
        fault_expect(cpu < N_CPUS && cycles >= scrapes->highest[cpu], "the cycles of CPU %u fall to %" PRIu64, cpu,
                     cycles);
        fault_expect(cycles <= most && cycles % rate == 0, "CPU %u has never had %" PRIu64 " cycles", cpu, cycles);
        scrapes->highest[cpu] = cycles;
    }
}

/* Checks that a complete response is either right or an error message. */
static void check_answer(struct scrapes *scrapes, size_t i)
{
    struct client *client = &scrapes->served.clients[0];
    const char *text = client_text(client);

    fault_expect(text, "%s: the body is corrupt", questions[i].request);
    if (client->status == questions[i].status && !client->head) {
        faults_hold();
        scrapes->forms[i] = form_of(text);
        faults_release();
        check_cycles(scrapes, text);
        return;
    }
    fault_expect(client->status == questions[i].status || client->status == 500 || client->status == 503,
                 "%s: status %u: %.200s", questions[i].request, client->status, text);
    fault_expect(client->head || client->body_size > 10, "%s: %u without an explanation", questions[i].request,
                 client->status);
}

static void ask(struct scrapes *scrapes, size_t i)
{
    struct served_daemon *served = &scrapes->served;

    faults_hold();
    fake_advance(served->simulated->fake, STEP_NS);
    faults_release();
    served_daemon_ask(served, 0, questions[i].request, questions[i].headers);
    client_step(&served->clients[0]);
    /*
     * A request for rates reads the counters twice: time must pass in between, and the requested interval must expire.
     */
    served_daemon_turn(served, 8);
    faults_hold();
    fake_advance(served->simulated->fake, STEP_NS);
    faults_release();
    faults_pass(RATES_NS);
    served_daemon_wait(served);
}

static void *scrapes_prepare(void)
{
    struct scrapes *scrapes = calloc(1, sizeof(*scrapes));

    assert(scrapes);
    served_daemon_init(&scrapes->served, fake_machine_one_pmu(), 1);
    served_daemon_set_config(&scrapes->served, "", false, CONFIG);
    served_daemon_start(&scrapes->served);
    return scrapes;
}

static void scrapes_act(void *state)
{
    struct scrapes *scrapes = state;

    for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
        ask(scrapes, i);
        if (scrapes->served.clients[0].outcome == CLIENT_ANSWERED)
            check_answer(scrapes, i);
        if (faults_last() && scrapes->served.clients[0].outcome == CLIENT_WAITS)
            break; /* the daemon would not answer the remaining requests either */
    }
}

/* Opens a new connection. A reload retries events that were permanently refused. */
static void scrapes_recover(void *state)
{
    struct scrapes *scrapes = state;
    struct error error;

    scrapes->recovered = true;
    client_disconnect(&scrapes->served.clients[0]);
    faults_pass(2 * NSEC_PER_SEC);
    if (!faults_are_of_memory())
        fault_expect(daemon_reload(served_daemon_of(&scrapes->served), &error) == 0, "%s", error.message);
    served_daemon_turn(&scrapes->served, 20);
}

/* Repeats all requests. Without a fault, all responses must be right. */
static void scrapes_describe(void *state, struct buffer *out)
{
    struct scrapes *scrapes = state;
    struct client *client = &scrapes->served.clients[0];
    uint64_t first[N_CPUS] = {0};

    for (size_t i = 0; i < ARRAY_SIZE(questions) && scrapes->recovered; i++) {
        ask(scrapes, i);
        fault_expect(client->outcome == CLIENT_ANSWERED, "%s: no response after the fault", questions[i].request);
        fault_expect(client->status == questions[i].status, "%s: status %u after the fault: %.200s",
                     questions[i].request, client->status, client_text(client));
        _cleanup_(freep) char *form = form_of(client->head ? "" : client_text(client));
        if (scrapes->forms[i] && faults_are_of_memory())
            compare_texts(questions[i].request, scrapes->forms[i], form);
        check_cycles(scrapes, client_text(client));
        if (i == 0)
            memcpy(first, scrapes->highest, sizeof(first));
        buffer_appendf(out, "%s\n%s\n", questions[i].request, form);
    }
    for (size_t cpu = 0; cpu < N_CPUS && scrapes->recovered; cpu++)
        buffer_appendf(out, "cycles of CPU %zu: %" PRIu64 "\n", cpu, scrapes->highest[cpu] - first[cpu]);
}

static void scrapes_finish(void *state)
{
    struct scrapes *scrapes = state;

    served_daemon_stop(&scrapes->served);
    for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
        free(scrapes->forms[i]);
    free(scrapes);
}

const struct scenario scenarios_of_http[] = {
    {"http", scrapes_prepare, scrapes_act, scrapes_recover, scrapes_describe, scrapes_finish, .asks = 1},
    {.name = NULL},
};
