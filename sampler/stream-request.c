/* SPDX-License-Identifier: Apache-2.0 */
/* What a client asks for: see stream-request.h. */
#include "sampler/stream-request.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"

/* More than any kernel has (include/linux/threads.h). */
#define PID_LIMIT (4 * 1024 * 1024)
#define TEXT_MAX 8192

static int set_number(const char *name, const char *value, uint64_t max, uint64_t *ret, struct error *error)
{
    uint64_t number;
    int r = number_parse_u64(value, &number);

    if (r < 0 || number == 0 || number > max)
        return error_set(error, -EINVAL, "%s: expected a whole number from 1 to %" PRIu64 ", found \"%.64s\"", name,
                         max, value);
    *ret = number;
    return 0;
}

static int set_text(const char *name, const char *value, char **ret, struct error *error)
{
    size_t size = strlen(value);

    if (size == 0 || size > TEXT_MAX)
        return error_set(error, -EINVAL, "%s: %s", name, size ? "the text is too long" : "the text is empty");
    char *copy = strdup(value);
    if (!copy)
        return error_oom(error);
    free(*ret);
    *ret = copy;
    return 0;
}

static int set_seconds(struct stream_request *request, const char *name, const char *value, struct error *error)
{
    double seconds;

    if (number_parse_double(value, &seconds) < 0 || !(seconds >= 0.001))
        return error_set(error, -EINVAL, "%s: expected a number of at least 0.001, found \"%.64s\"", name, value);
    request->seconds = seconds;
    return 0;
}

static int set_event(struct stream_request *request, const char *name, const char *value, struct error *error)
{
    return set_text(name, value, &request->event, error);
}

static int set_frequency(struct stream_request *request, const char *name, const char *value, struct error *error)
{
    return set_number(name, value, INT64_MAX, &request->frequency, error);
}

static int set_period(struct stream_request *request, const char *name, const char *value, struct error *error)
{
    return set_number(name, value, INT64_MAX, &request->period, error);
}

static int set_cpus(struct stream_request *request, const char *name, const char *value, struct error *error)
{
    return set_text(name, value, &request->cpus, error);
}

static int set_cgroup(struct stream_request *request, const char *name, const char *value, struct error *error)
{
    return set_text(name, value, &request->cgroup, error);
}

static int set_pid(struct stream_request *request, const char *name, const char *value, struct error *error)
{
    uint64_t pid = 0;
    int r = set_number(name, value, PID_LIMIT, &pid, error);

    if (r == 0)
        request->pid = (uint32_t)pid;
    return r;
}

static int set_max(struct stream_request *request, const char *name, const char *value, struct error *error)
{
    return set_number(name, value, INT64_MAX, &request->max, error);
}

static int set_read(struct stream_request *request, const char *name, const char *value, struct error *error)
{
    if (!str_equal(value, "0") && !str_equal(value, "1"))
        return error_set(error, -EINVAL, "%s: expected 0 or 1, found \"%.64s\"", name, value);
    request->read = value[0] == '1';
    return 0;
}

static const struct {
    const char *name;
    int (*set)(struct stream_request *request, const char *name, const char *value, struct error *error);
} parameters[] = {
    {"seconds", set_seconds}, {"event", set_event}, {"frequency", set_frequency},
    {"period", set_period},   {"cpu", set_cpus},    {"cgroup", set_cgroup},
    {"pid", set_pid},         {"max", set_max},     {"read", set_read},
};

const char *const stream_record_parameters[] = {"seconds", "event", "frequency", "period", "cpu",
                                                "cgroup",  "pid",   "max",       "read",   NULL};
const char *const stream_profile_parameters[] = {"seconds", "event",  "frequency", "period",
                                                 "cpu",     "cgroup", "pid",       NULL};

int stream_request_set(struct stream_request *request, const char *name, const char *value, struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
        if (str_equal(parameters[i].name, name))
            return parameters[i].set(request, name, value, error);
    return error_set(error, -EINVAL, "unknown parameter \"%.64s\"", name);
}

void stream_request_done(struct stream_request *request)
{
    free(request->event);
    free(request->cpus);
    free(request->cgroup);
    *request = (struct stream_request){0};
}
