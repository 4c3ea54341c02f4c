/* SPDX-License-Identifier: Apache-2.0 */
/* A client's request: see stream-request.h. */
#include "sampler/stream-request.h"

#include <inttypes.h>

#include "base/number.h"

/* More than any kernel has (include/linux/threads.h). */
#define PID_LIMIT (4 * 1024 * 1024)
#define TEXT_MAX 8192

struct parameter {
    const char *name;
    int (*parse)(const struct parameter *parameter, const char *value, void *field, struct error *error);
    size_t offset; /* of the field in the request */
    uint64_t max;  /* of a number */
};

static int parse_u64(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    uint64_t number;
    int r = number_parse_u64(value, &number);

    if (r < 0 || number == 0 || number > parameter->max)
        return error_set(error, -EINVAL, "expected a whole number from 1 to %" PRIu64 ", found \"%.64s\"",
                         parameter->max, value);
    *(uint64_t *)field = number;
    return 0;
}

static int parse_pid(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    uint64_t pid = 0;
    int r = parse_u64(parameter, value, &pid, error);

    if (r == 0)
        *(uint32_t *)field = (uint32_t)pid;
    return r;
}

static int parse_seconds(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    double seconds;

    (void)parameter;
    if (number_parse_double(value, &seconds) < 0 || !(seconds >= 0.001))
        return error_set(error, -EINVAL, "expected a number of at least 0.001, found \"%.64s\"", value);
    *(double *)field = seconds;
    return 0;
}

static int parse_flag(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    (void)parameter;
    if (!str_equal(value, "0") && !str_equal(value, "1"))
        return error_set(error, -EINVAL, "expected 0 or 1, found \"%.64s\"", value);
    *(bool *)field = value[0] == '1';
    return 0;
}

static int parse_text(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    size_t size = strlen(value);
    char **text = field;

    (void)parameter;
    if (size == 0 || size > TEXT_MAX)
        return error_set(error, -EINVAL, "the text is %s", size ? "too long" : "empty");
    char *copy = strdup(value);
    if (!copy)
        return error_oom(error);
    free(*text);
    *text = copy;
    return 0;
}

#define FIELD(field) offsetof(struct stream_request, field)

static const struct parameter parameters[] = {
    {"seconds", parse_seconds, FIELD(seconds), 0},
    {"event", parse_text, FIELD(event), 0},
    {"frequency", parse_u64, FIELD(frequency), INT64_MAX},
    {"period", parse_u64, FIELD(period), INT64_MAX},
    {"cpu", parse_text, FIELD(cpus), 0},
    {"cgroup", parse_text, FIELD(cgroup), 0},
    {"pid", parse_pid, FIELD(pid), PID_LIMIT},
    {"max", parse_u64, FIELD(max), INT64_MAX},
    {"read", parse_flag, FIELD(read), 0},
};

const char *const stream_record_parameters[] = {"seconds", "event", "frequency", "period", "cpu",
                                                "cgroup",  "pid",   "max",       "read",   NULL};
const char *const stream_profile_parameters[] = {"seconds", "event",  "frequency", "period",
                                                 "cpu",     "cgroup", "pid",       NULL};

int stream_request_set(struct stream_request *request, const char *name, const char *value, struct error *error)
{
    const struct parameter *parameter = parameters;

    while (parameter < parameters + ARRAY_SIZE(parameters) && !str_equal(parameter->name, name))
        parameter++;
    if (parameter == parameters + ARRAY_SIZE(parameters))
        return error_set(error, -EINVAL, "unknown parameter \"%.64s\"", name);
    int r = parameter->parse(parameter, value, (char *)request + parameter->offset, error);
    if (r == -EINVAL)
        error_prefix(error, "parameter \"%s\"", name);
    return r;
}

void stream_request_done(struct stream_request *request)
{
    free(request->event);
    free(request->cpus);
    free(request->cgroup);
    *request = (struct stream_request){0};
}
