/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/off-cpu.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"

/*
 * The alarm event of one CPU. Each record that the BPF program writes to the alarm raises the interrupt in which the
 * kernel walks the stack.
 */
struct alarm {
    unsigned cpu;
    int fd;
    struct ring *ring;
    uint64_t samples; /* id of the capture's event, to whose ring the samples go */
};

struct off_cpu {
    struct sys *sys;
    struct off_cpu_kernel *kernel;
    const struct record_options *options;
    struct record_layout layout; /* layout of the translated `record` */
    uint32_t number;             /* number that identifies these options to the BPF program */
    bool started;
    struct alarm *alarms;
    size_t n_alarms;
    struct buffer bytes; /* encoded form of `record` */
    struct record record;
    struct off_cpu_wait wait; /* wait described by `record` */
};

DEFINE_CLEANUP(struct off_cpu *, off_cpu_free);

/* --- the function in which tasks wait --- */

#define KALLSYMS_PART ((size_t)64 * 1024)
/* Compilers may append a suffix to the function's name, as in "__schedule.constprop.0". */
#define SCHEDULE " __schedule"

/*
 * Sets `start` and `end` if the lines of /proc/kallsyms contain both __schedule() and the function after it. Returns
 * whether both were found.
 */
static bool find_in_lines(const char *lines, struct off_cpu_kernel *kernel)
{
    const char *found = strstr(lines, SCHEDULE);

    while (found && found[strlen(SCHEDULE)] != '.' && found[strlen(SCHEDULE)] != '\n')
        found = strstr(found + 1, SCHEDULE);
    const char *next = found ? strchr(found, '\n') : NULL;
    if (!next || !strchr(next + 1, ' '))
        return false;
    const char *line = found;
    while (line > lines && line[-1] != '\n')
        line--;
    if (number_parse_hex_n(line, strcspn(line, " "), &kernel->start) < 0 ||
        number_parse_hex_n(next + 1, strcspn(next + 1, " "), &kernel->end) < 0)
        kernel->start = kernel->end = 0;
    return true;
}

/*
 * Reads /proc/kallsyms only up to the end of __schedule(), because the kernel takes a long time to generate the whole
 * file.
 */
static void kernel_look(struct off_cpu_kernel *kernel, struct sys *sys)
{
    _cleanup_(closep) int fd = sys_open_file(sys, "/proc/kallsyms", 0);
    _cleanup_(buffer_done) struct buffer text = {0};
    ssize_t n = fd < 0 ? -1 : 1;

    kernel->looked = true;
    while (n > 0) {
        char *room = buffer_reserve(&text, KALLSYMS_PART + 1);
        n = room ? read(fd, room, KALLSYMS_PART) : -1;
        if (n <= 0)
            break;
        room[n] = '\0';
        buffer_advance(&text, (size_t)n);
        if (find_in_lines(text.data, kernel))
            break;
        /*
         * The last two lines are kept for the next read: the last line may be incomplete, and the line after
         * __schedule() is needed too.
         */
        char *end = text.data + text.size, *last = memrchr(text.data, '\n', text.size);
        char *keep = last ? memrchr(text.data, '\n', (size_t)(last - text.data)) : NULL;
        if (keep) {
            size_t left = (size_t)(end - keep);
            memmove(text.data, keep, left);
            text.size = left;
        }
    }
}

/* --- alarms --- */

static void alarm_close(struct off_cpu *off_cpu, struct alarm *alarm)
{
    ring_free(alarm->ring);
    sys_close(off_cpu->sys, alarm->fd);
}

struct off_cpu *off_cpu_free(struct off_cpu *off_cpu)
{
    if (!off_cpu)
        return NULL;
    if (off_cpu->started)
        off_cpu->kernel->calls->off_cpu_stop(off_cpu->kernel->calls->owner, off_cpu->number);
    while (off_cpu->n_alarms > 0)
        alarm_close(off_cpu, &off_cpu->alarms[--off_cpu->n_alarms]);
    free(off_cpu->alarms);
    buffer_done(&off_cpu->bytes);
    free(off_cpu);
    return NULL;
}

static int alarm_open(struct sys *sys, unsigned cpu, struct alarm *ret)
{
    const struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_BPF_OUTPUT,
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_TIME,
        .wakeup_events = 1,
        .write_backward = 1,
    };
    const struct sys_group group = {
        .attrs = &attr, .n = 1, .pid = -1, .cpu = (int)cpu, .leader = -1, .flags = PERF_FLAG_FD_CLOEXEC};
    int fd;

    sys_open_group(sys, &group, &fd);
    if (fd < 0)
        return fd;
    int r = ring_open_overwritten(sys, fd, 1, &ret->ring);
    if (r < 0) {
        sys_close(sys, fd);
        return r;
    }
    ret->cpu = cpu;
    ret->fd = fd;
    return 0;
}

static bool has_ring(const struct rings *rings, const struct alarm *alarm)
{
    for (size_t i = 0; i < rings->n; i++)
        if (rings->cpu_rings[i]->samples && rings->cpu_rings[i]->ids[0] == alarm->samples)
            return true;
    return false;
}

static bool has_alarm(const struct off_cpu *off_cpu, const struct cpu_ring *cpu_ring)
{
    for (size_t i = 0; i < off_cpu->n_alarms; i++)
        if (off_cpu->alarms[i].samples == cpu_ring->ids[0])
            return true;
    return false;
}

static int add_alarm(struct off_cpu *off_cpu, const struct cpu_ring *cpu_ring)
{
    const struct bpf_calls *calls = off_cpu->kernel->calls;
    struct alarm alarm = {.samples = cpu_ring->ids[0]};
    int r = array_grow(&off_cpu->alarms, off_cpu->n_alarms);

    if (r == 0)
        r = alarm_open(off_cpu->sys, cpu_ring->cpu, &alarm);
    if (r < 0)
        return r;
    off_cpu->alarms[off_cpu->n_alarms++] = alarm;
    return calls->off_cpu_set_cpu(calls->owner, off_cpu->number, cpu_ring->cpu, cpu_ring->fds[0], alarm.fd);
}

int off_cpu_set_rings(struct off_cpu *off_cpu, const struct rings *rings, struct error *error)
{
    size_t n = 0;

    off_cpu->layout = rings->layout;
    off_cpu->layout.sample_type = off_cpu_shown_type(rings->layout.sample_type);
    for (size_t i = 0; i < off_cpu->n_alarms; i++)
        if (has_ring(rings, &off_cpu->alarms[i]))
            off_cpu->alarms[n++] = off_cpu->alarms[i];
        else
            alarm_close(off_cpu, &off_cpu->alarms[i]);
    off_cpu->n_alarms = n;
    for (size_t i = 0; i < rings->n; i++) {
        const struct cpu_ring *cpu_ring = rings->cpu_rings[i];
        int r = cpu_ring->samples && !has_alarm(off_cpu, cpu_ring) ? add_alarm(off_cpu, cpu_ring) : 0;
        if (r < 0)
            return error_set(error, r, "cpu %u: off-CPU time cannot be sampled: %s", cpu_ring->cpu, strerror(-r));
    }
    return 0;
}

/* --- measuring --- */

int off_cpu_open(struct sys *sys, struct off_cpu_kernel *kernel, const struct machine *machine,
                 const struct record_options *options, struct off_cpu **ret, struct error *error)
{
    const struct off_cpu_shape shape = {.cpus = cpuset_end(&machine->possible), .threshold_ns = options->threshold_ns};

    if (!off_cpu_is_available(kernel->calls))
        return error_set(error, -EOPNOTSUPP, "off-CPU time needs a BPF program, which this process cannot load");
    _cleanup_(off_cpu_freep) struct off_cpu *off_cpu = calloc(1, sizeof(*off_cpu));
    if (!off_cpu)
        return error_oom(error);
    *off_cpu = (struct off_cpu){.sys = sys, .kernel = kernel, .options = options};
    int r = kernel->calls->off_cpu_start(kernel->calls->owner, &shape, &off_cpu->number, error);
    if (r < 0)
        return r;
    off_cpu->started = true;
    if (!kernel->looked)
        kernel_look(kernel, sys);
    *ret = steal(off_cpu);
    return 0;
}

struct off_cpu_totals off_cpu_totals(struct off_cpu *off_cpu)
{
    const struct bpf_calls *calls = off_cpu->kernel->calls;
    struct off_cpu_totals totals = {0};

    if (calls->off_cpu_read(calls->owner, off_cpu->number, &totals) < 0)
        return (struct off_cpu_totals){0};
    return totals;
}

/* --- samples --- */

uint64_t off_cpu_shown_type(uint64_t sample_type)
{
    return sample_type & ~(uint64_t)PERF_SAMPLE_RAW;
}

/*
 * Subtracts from the wait the time in states that the options do not ask for. Returns whether any of the wait is left.
 */
static bool choose_states(unsigned states, struct off_cpu_wait *wait)
{
    if (!states)
        return true;
    if (!(states & 1U << OFF_CPU_RUNNABLE)) {
        wait->ns -= wait->runnable_ns;
        wait->runnable_ns = 0;
    }
    if (!(states & 1U << wait->state)) {
        wait->ns = wait->runnable_ns;
        wait->state = OFF_CPU_RUNNABLE;
    }
    return wait->ns > 0;
}

static bool take_wait(const struct off_cpu *off_cpu, const struct record_sample *sample, struct off_cpu_wait *ret)
{
    if (sample->raw_size < sizeof(*ret))
        return false;
    memcpy(ret, sample->raw, sizeof(*ret)); /* copied, because the raw data is not aligned */
    return ret->state < N_OFF_CPU_STATES && ret->runnable_ns <= ret->ns && choose_states(off_cpu->options->states, ret);
}

/*
 * Returns the callchain index of __schedule(), the innermost function that belongs to the wait. The callchain entries
 * before __schedule() are a marker and the functions of the interrupt in which the sample was taken.
 */
static size_t skip_interrupt(const struct off_cpu_kernel *kernel, const struct record_sample *sample)
{
    size_t n = 0;

    while (n < sample->n_callchain && sample->callchain[n] != PERF_CONTEXT_USER) {
        uint64_t ip = sample->callchain[n];
        /* a call at the very end of the function returns to the start of the next function */
        if (ip > kernel->start && ip <= kernel->end)
            return n;
        n++;
    }
    return n > 0; /* if the address of __schedule() is unknown, only the marker is skipped */
}

static void put_word(struct buffer *bytes, uint64_t word)
{
    buffer_append(bytes, &word, sizeof(word));
}

static void put_pair(struct buffer *bytes, uint32_t first, uint32_t second)
{
    const uint32_t pair[2] = {first, second};

    buffer_append(bytes, pair, sizeof(pair));
}

static void put_callchain(const struct record_sample *sample, size_t first, bool in_kernel, struct buffer *bytes)
{
    size_t n = sample->n_callchain - first;

    put_word(bytes, n + in_kernel);
    if (in_kernel)
        put_word(bytes, PERF_CONTEXT_KERNEL);
    buffer_append(bytes, sample->callchain + first, n * sizeof(uint64_t));
}

/* Writes the sample fields that attr_make_leader() asks for, in the kernel's order (perf_event_open(2)). */
static void put_sample(const struct off_cpu *off_cpu, const struct record *record, uint64_t ns, struct buffer *bytes)
{
    const struct record_sample *sample = &record->sample;
    const struct record_options *options = off_cpu->options;
    size_t first = skip_interrupt(off_cpu->kernel, sample);
    bool in_kernel = first < sample->n_callchain && sample->callchain[first] < PERF_CONTEXT_MAX;
    const struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_KERNEL};

    buffer_append(bytes, &header, sizeof(header));
    put_word(bytes, record->id.id);
    put_word(bytes, in_kernel ? sample->callchain[first] : off_cpu->kernel->start);
    put_pair(bytes, record->id.pid, record->id.tid);
    put_word(bytes, record->id.time);
    put_pair(bytes, record->id.cpu, 0);
    put_word(bytes, ns);
    if (options->callchain)
        put_callchain(sample, first, in_kernel, bytes);
    if (options->cgroups)
        put_word(bytes, sample->cgroup);
}

const struct record *off_cpu_translate(struct off_cpu *off_cpu, const struct record *record)
{
    struct buffer *bytes = &off_cpu->bytes;

    if (record->type != PERF_RECORD_SAMPLE)
        return record;
    if (!take_wait(off_cpu, &record->sample, &off_cpu->wait))
        return NULL;
    buffer_clear(bytes);
    put_sample(off_cpu, record, off_cpu->wait.ns, bytes);
    if (bytes->failed || bytes->size > UINT16_MAX)
        return NULL;
    ((struct perf_event_header *)(void *)bytes->data)->size = (uint16_t)bytes->size;
    if (record_decode(bytes->data, bytes->size, &off_cpu->layout, &off_cpu->record) < 0)
        return NULL;
    off_cpu->record.sample.wait = &off_cpu->wait;
    return &off_cpu->record;
}
