/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses arbitrary bytes as the paths of two cgroups, separated by the first NUL. Their labels must be printable UTF-8
 * and differ, and a reader of the exposition and of JSON must get the label back.
 */
#include "base/json.h"
#include "base/text.h"
#include "cgroups/names.h"
#include "cgroups/path.h"
#include "metrics/metrics.h"
#include "tests/fuzz/fuzz.h"

#define NAME "perf_cgroup_cycles_total{cgroup=\""

/* Reads a label value like a strict parser of the exposition. */
static const char *read_label(const char *at, struct buffer *ret)
{
    for (; *at != '"'; at++) {
        assert(*at && *at != '\n');
        if (*at != '\\') {
            buffer_append_char(ret, *at);
            continue;
        }
        at++;
        assert(*at == 'n' || *at == '"' || *at == '\\');
        buffer_append_char(ret, *at == 'n' ? '\n' : *at);
    }
    return at + 1;
}

/* The text consists of a header and one series. */
static void check_exposition(const char *label, enum exposition format)
{
    static const struct metric metric = {"perf_cgroup_cycles_total", "CPU cycles.", "", METRIC_COUNTER};
    const struct label labels[] = {{"cgroup", label}, {"group", "core"}};
    _cleanup_(buffer_done) struct buffer text = {0}, found = {0};
    struct metrics metrics = {0};

    series_set(metrics_add(&metrics, &metric, 0, 0, labels, ARRAY_SIZE(labels)), 7);
    assert(exposition_write(&text, &metrics, 1, format) == 0);
    buffer_append_char(&text, '\0');
    assert(!text.failed && strlen(text.data) == text.size - 1);
    const char *line = strstr(text.data, "\n" NAME);
    assert(line);
    const char *rest = read_label(line + 1 + strlen(NAME), &found);
    assert(str_starts(rest, ",group=\"core\"} 7\n"));
    assert(found.size == strlen(label) && (!found.size || memcmp(found.data, label, found.size) == 0));
    metrics_done(&metrics);
}

static void check_json(const char *label)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    json_write_string(&text, label);
    assert(!text.failed);
    json_t *value = json_loadb(text.data, text.size, JSON_DECODE_ANY, NULL);
    assert(value && str_equal(json_string_value(value), label));
    json_decref(value);
}

static bool is_taken(const void *userdata, const char *label)
{
    return userdata && str_equal(userdata, label);
}

/* Returns NULL if the label is already taken. */
static char *label_of(const char *path, const char *taken)
{
    char *label = NULL;
    int r = cgroup_label_choose(path, is_taken, taken, &label);

    assert(r == 0 || (r == -EEXIST && taken));
    if (r < 0)
        return NULL;
    assert(utf8_printable_prefix(label, strlen(label)) == strlen(label));
    assert(cgroup_label_is_ambiguous(label) || str_equal(label, path));
    check_exposition(label, EXPOSITION_TEXT);
    check_exposition(label, EXPOSITION_OPENMETRICS);
    check_json(label);
    return label;
}

static void check_pair(const char *first, const char *second)
{
    _cleanup_(freep) char *label = label_of(first, NULL), *other = label_of(second, label);
    _cleanup_(freep) char *distinct = NULL, *other_distinct = NULL;

    assert(label && (!other || !str_equal(label, other)));
    assert(cgroup_label(first, CGROUP_LABEL_DISTINCT, &distinct) == 0);
    assert(cgroup_label(second, CGROUP_LABEL_DISTINCT, &other_distinct) == 0);
    assert(!str_equal(distinct, other_distinct));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *second;
    _cleanup_(freep) char *first = copy_texts(data, size, &second);

    if (!str_equal(first, second))
        check_pair(first, second);
    return 0;
}
