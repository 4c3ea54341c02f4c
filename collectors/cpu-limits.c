/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/cpu-limits.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/number.h"
#include "metrics/own-metrics.h"

/* --- table --- */

struct limit {
    enum own_metric metric;
    const char *directory, *entries; /* sysfs directory, and a pattern for the names of its entries */
    const char *value;               /* file with the number, in the entry's directory */
    uint64_t scale;                  /* the series' value is the number in `value` times this */
    const char *full;                /* file with the divisor, in the entry's directory, or NULL */
    /*
     * File in the entry's directory that lists CPUs; the entry then has one series for each listed CPU. NULL for one
     * series with the labels `device` and `type`.
     */
    const char *cpus;
    /*
     * File in the entry's directory with the entry's type, and the pattern that the type must match; NULL accepts any
     * type.
     */
    const char *type, *types;
    bool constant; /* the number never changes and is read only once */
};

#define KHZ 1000

/*
 * Raspberry Pi's soc:firmware/get_throttled is not read: since 4.19 the vendor kernel logs a warning with a stack trace
 * whenever a process reads it (drivers/firmware/raspberrypi.c). The hwmon device rpi_volt also reports under-voltage.
 */
static const struct limit table[] = {
    /* Documentation/hwmon/raspberrypi-hwmon.rst: "Voltage low critical alarm (only for undervoltage)". */
    {
        .metric = OWN_UNDER_VOLTAGE,
        .directory = "/sys/class/hwmon",
        .entries = "hwmon*",
        .value = "in0_lcrit_alarm",
        .scale = 1,
        .type = "name",
        .types = "rpi_volt",
    },
    /*
     * Documentation/ABI/testing/sysfs-class-thermal. drivers/thermal/cpufreq_cooling.c registers "cpufreq-cpu0" since
     * 5.12 and "thermal-cpufreq-0" before.
     */
    {
        .metric = OWN_CPU_COOLING,
        .directory = "/sys/class/thermal",
        .entries = "cooling_device*",
        .value = "cur_state",
        .scale = OWN_RATIO_UNITS,
        .full = "max_state",
        .type = "type",
        .types = "*cpu*",
    },
    /*
     * Documentation/admin-guide/pm/cpufreq.rst: the value includes the limits that thermal governors and firmware set.
     */
    {
        .metric = OWN_CPU_FREQUENCY_LIMIT,
        .directory = "/sys/devices/system/cpu/cpufreq",
        .entries = "policy*",
        .value = "scaling_max_freq",
        .scale = KHZ,
        .cpus = "related_cpus",
    },
    /*
     * Documentation/admin-guide/pm/cpufreq.rst: "Maximum possible operating frequency the CPUs belonging to this policy
     * can run at".
     */
    {
        .metric = OWN_CPU_FREQUENCY_MAX,
        .directory = "/sys/devices/system/cpu/cpufreq",
        .entries = "policy*",
        .value = "cpuinfo_max_freq",
        .scale = KHZ,
        .cpus = "related_cpus",
        .constant = true,
    },
};

/* --- files --- */

/* In bytes. */
#define FILE_MAX 4096
/*
 * Maximum number of files for each row of the table. Boards have a few cpufreq policies; a server may have one per CPU.
 */
#define FILES_MAX 32

struct limit_file {
    const struct limit *of;
    char *path;
    struct kept_file kept;
    uint64_t full;
    struct series **series;
    int *cpus; /* the CPU of each series, or -1 if a series has none */
    size_t n_series;
};

void cpu_limits_done(const struct collector_env *env, struct cpu_limits *limits)
{
    for (size_t i = 0; i < limits->n; i++) {
        struct limit_file *file = &limits->files[i];
        for (size_t k = 0; k < file->n_series; k++)
            metrics_remove(&env->snapshot->metrics, file->series[k]);
        free(file->series);
        free(file->cpus);
        free(file->path);
        kept_file_close(env->sys, &file->kept);
    }
    free(limits->files);
    buffer_done(&limits->text);
    free(env->snapshot->clock_limits.cpus);
    env->snapshot->clock_limits = (struct clock_limits){0};
    *limits = (struct cpu_limits){0};
}

/* Returns -EINVAL if the file does not contain a number. */
static int read_number(struct sys *sys, const char *path, uint64_t *ret)
{
    _cleanup_(freep) char *text = NULL;
    int r = sys_read_file(sys, path, &text);

    return r < 0 ? r : number_parse_u64(text, ret);
}

static int file_add_series(const struct collector_env *env, struct limit_file *file, const struct label *labels,
                           size_t n_labels, int cpu)
{
    if (array_grow(&file->series, file->n_series) < 0 || array_grow(&file->cpus, file->n_series) < 0)
        return -ENOMEM;
    struct series *series =
        own_metrics_add(&env->snapshot->metrics, file->of->metric, env->collector, labels, n_labels);
    if (!series)
        return -ENOMEM;
    file->cpus[file->n_series] = cpu;
    file->series[file->n_series++] = series;
    return 0;
}

/* Adds the CPUs of `list`, which are separated by spaces, as in sysfs. */
static int file_add_cpus(const struct collector_env *env, struct limit_file *file, char *list)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};

    for (char *at = list; *at; at++)
        *at = *at == ' ' ? ',' : *at;
    int r = cpuset_parse(list, &cpus, NULL);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    cpuset_intersect(&cpus, &env->machine->possible);
    CPUSET_FOREACH (cpu, &cpus) {
        char number[16];
        snprintf(number, sizeof(number), "%d", cpu);
        r = file_add_series(env, file, &(struct label){"cpu", number}, 1, cpu);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Hides the series if `value` is NULL or too large. */
static void file_set(const struct limit_file *file, const uint64_t *value)
{
    uint64_t scaled;
    bool known = value && !__builtin_mul_overflow(*value, file->of->scale, &scaled);

    for (size_t k = 0; k < file->n_series; k++) {
        if (known)
            series_set(file->series[k], file->full ? MIN(scaled / file->full, (uint64_t)OWN_RATIO_UNITS) : scaled);
        else
            file->series[k]->visible = false;
    }
}

/* Adds the file of an entry and its series. A file that cannot be read at the moment gets no series. */
static int file_init(const struct collector_env *env, struct limit_file *file, const char *entry)
{
    const struct limit *limit = file->of;
    _cleanup_(freep) char *type = NULL, *cpus = NULL;
    uint64_t value;
    int r = 0;

    if (limit->type)
        r = sys_read_filef(env->sys, &type, "%s/%s/%s", limit->directory, entry, limit->type);
    if (r < 0 || (type && !glob_match(limit->types, type)))
        return r == -ENOMEM ? r : 0;
    if (asprintf(&file->path, "%s/%s/%s", limit->directory, entry, limit->value) < 0) {
        file->path = NULL;
        return -ENOMEM;
    }
    r = read_number(env->sys, file->path, &value);
    if (r == 0 && limit->full) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s/%s", limit->directory, entry, limit->full);
        r = read_number(env->sys, path, &file->full);
        if (r == 0 && file->full == 0)
            return 0;
    }
    if (r == 0 && limit->cpus)
        r = sys_read_filef(env->sys, &cpus, "%s/%s/%s", limit->directory, entry, limit->cpus);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    if (cpus)
        r = file_add_cpus(env, file, cpus);
    else
        r = file_add_series(env, file, (const struct label[]){{"device", entry}, {"type", type ? type : ""}}, 2, -1);
    file_set(file, r == 0 ? &value : NULL);
    return r;
}

static int limit_open(const struct collector_env *env, const struct limit *limit, struct cpu_limits *limits)
{
    char **entries;
    size_t n, n_files = 0;
    int r = sys_list_directory(env->sys, limit->directory, &entries, &n);

    if (r < 0)
        return r == -ENOMEM ? r : 0;
    for (size_t i = 0; r == 0 && i < n && n_files < FILES_MAX; i++) {
        if (!glob_match(limit->entries, entries[i]))
            continue;
        r = array_grow(&limits->files, limits->n);
        if (r < 0)
            break;
        struct limit_file *file = &limits->files[limits->n++];
        *file = (struct limit_file){.of = limit};
        r = file_init(env, file, entries[i]);
        n_files += file->n_series > 0;
        if (r == 0 && file->n_series == 0) {
            free(file->cpus);
            free(file->path);
            limits->n--;
        }
    }
    strings_free(entries, n);
    return r;
}

/*
 * Returns whether the machine has a core PMU. Without a core PMU no cycles are counted, so the limits would explain
 * nothing.
 */
static bool has_core_pmu(const struct machine *machine)
{
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (machine->pmus[i]->scope == PMU_CORE && !machine->pmus[i]->absent)
            return true;
    return false;
}

int cpu_limits_open(const struct collector_env *env, struct cpu_limits *ret)
{
    int r = 0;

    for (size_t i = 0; has_core_pmu(env->machine) && r == 0 && i < ARRAY_SIZE(table); i++)
        r = limit_open(env, &table[i], ret);
    return r;
}

static int file_read_number(struct sys *sys, struct limit_file *file, struct buffer *text, uint64_t *ret)
{
    int r = kept_file_read(sys, &file->kept, file->path, FILE_MAX, text);

    if (r < 0)
        return r;
    if (text->size && text->data[text->size - 1] == '\n')
        text->data[text->size - 1] = '\0';
    r = number_parse_u64(text->data, ret);
    if (r < 0)
        kept_file_close(sys, &file->kept);
    return r;
}

/* --- limits in the snapshot --- */

/*
 * Returns the entry of a CPU, or NULL if memory runs out. If memory runs out, the CPU's limit is unknown until the next
 * reading.
 */
static struct clock_limit *clock_limit_of(struct clock_limits *limits, int cpu)
{
    while (limits->n <= (size_t)cpu) {
        if (array_grow(&limits->cpus, limits->n) < 0)
            return NULL;
        limits->cpus[limits->n++] = (struct clock_limit){0};
    }
    return &limits->cpus[cpu];
}

static void take_frequency(struct clock_limits *to, const struct limit_file *file)
{
    for (size_t k = 0; k < file->n_series; k++) {
        struct clock_limit *limit = clock_limit_of(to, file->cpus[k]);
        uint64_t hz = file->series[k]->visible ? file->series[k]->value : 0;
        if (limit && file->of->metric == OWN_CPU_FREQUENCY_MAX)
            limit->max_hz = hz;
        else if (limit)
            limit->limit_hz = hz;
    }
}

static bool is_active(const struct limit_file *file)
{
    return file->n_series > 0 && file->series[0]->visible && file->series[0]->value > 0;
}

/* Adds to each CPU's lost time what the limits have taken away since the last reading. */
static void add_lost(struct clock_limits *to, uint64_t passed_ns)
{
    for (size_t i = 0; i < to->n; i++) {
        struct clock_limit *limit = &to->cpus[i];
        limit->known = limit->max_hz > 0 && limit->limit_hz > 0;
        if (!limit->known || limit->limit_hz >= limit->max_hz)
            continue;
        limit->lost_ns += muldiv(passed_ns, limit->max_hz - limit->limit_hz, limit->max_hz).whole;
        to->causes |= CLOCK_LIMIT_SET;
    }
}

static void show_in_snapshot(const struct collector_env *env, struct cpu_limits *limits)
{
    struct clock_limits *to = &env->snapshot->clock_limits;
    uint64_t now_ns = sys_now(env->sys, CLOCK_MONOTONIC);

    to->causes = 0;
    for (size_t i = 0; i < limits->n; i++) {
        const struct limit_file *file = &limits->files[i];
        if (file->of->metric == OWN_CPU_FREQUENCY_LIMIT || file->of->metric == OWN_CPU_FREQUENCY_MAX)
            take_frequency(to, file);
        else if (is_active(file))
            to->causes |= file->of->metric == OWN_CPU_COOLING ? CLOCK_COOLING : CLOCK_UNDER_VOLTAGE;
    }
    add_lost(to, limits->last_ns ? now_ns - limits->last_ns : 0);
    limits->last_ns = now_ns;
}

void cpu_limits_collect(const struct collector_env *env, struct cpu_limits *limits)
{
    uint64_t value;

    for (size_t i = 0; i < limits->n; i++) {
        struct limit_file *file = &limits->files[i];
        if (!file->of->constant)
            file_set(file, file_read_number(env->sys, file, &limits->text, &value) == 0 ? &value : NULL);
    }
    if (limits->n > 0)
        show_in_snapshot(env, limits);
}
