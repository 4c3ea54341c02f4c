/* SPDX-License-Identifier: Apache-2.0 */
/* The derived metrics as JSON: see availability-json.h. */
#include "daemon/availability/availability-json.h"

#include "base/cleanup.h"
#include "base/json.h"

static const struct {
    enum derived_target target;
    const char *collector;
} targets[] = {{DERIVED_CPU, "cpu"}, {DERIVED_PMU, "pmu"}, {DERIVED_CGROUP, "cgroup"}};

/* --- the table --- */

static json_t *collectors_of(const struct derived_metric *metric)
{
    json_t *collectors = json_array();

    for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
        if (metric->targets & targets[i].target)
            json_array_append_new(collectors, json_string(targets[i].collector));
    return collectors;
}

static json_t *formula_json(const struct derived_formula *formula, json_t *spellings)
{
    json_t *events = json_array();
    struct formula parsed = {.n_names = 0};

    formula_parse(formula->text, &parsed, NULL);
    for (size_t i = 0; i < parsed.n_names; i++) {
        const char *name = parsed.names[i], *spelling;
        json_array_append_new(events, json_string(name));
        for (size_t k = 1; (spelling = derived_spelling(name, k)); k++) {
            if (k == 1)
                json_object_set_new(spellings, name, json_array());
            json_array_append_new(json_object_get(spellings, name), json_string(spelling));
        }
    }
    return json_pack("{s:s, s:s?, s:o, s:s, s:b}", "formula", formula->text, "pmu", formula->pmu, "events", events,
                     "source", formula->source, "seen", formula->seen);
}

static json_t *metric_json(const struct derived_metric *metric, json_t *spellings)
{
    json_t *formulas = json_array();

    for (size_t i = 0; metric->formulas[i].text; i++)
        json_array_append_new(formulas, formula_json(&metric->formulas[i], spellings));
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", metric->name, "unit", metric->unit, "help", metric->help,
                     "collectors", collectors_of(metric), "formulas", formulas);
}

json_t *derived_json(void)
{
    json_t *metrics = json_array(), *spellings = json_object();
    const struct derived_metric *metric;

    for (size_t i = 0; (metric = derived_at(i)); i++)
        json_array_append_new(metrics, metric_json(metric, spellings));
    return json_pack("{s:o, s:o}", "metrics", metrics, "spellings", spellings);
}

/* --- what is available here --- */

static json_t *texts_json(const char *const *texts, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_text(texts[i]));
    return array;
}

static json_t *missing_json(const struct availability *availability)
{
    json_t *array = json_array();

    for (size_t i = 0; i < availability->n_missing; i++)
        json_array_append_new(array, json_string(availability->missing[i]));
    return array;
}

static json_t *message_json(const struct availability *availability)
{
    const struct buffer *message = &availability->message;

    return message->size ? json_stringn(message->data, message->size) : json_string("");
}

/* The member `key` of an object, an array, which is made where it is missing. */
static json_t *member_array(json_t *object, const char *key)
{
    if (!json_object_get(object, key))
        json_object_set_new(object, key, json_array());
    return json_object_get(object, key);
}

static void add_availability(void *userdata, const struct availability *availability)
{
    json_t *metrics = json_object_get(userdata, "metrics"), *metric = NULL;
    size_t i;

    json_array_foreach(metrics, i, metric) if (str_equal(json_string_value(json_object_get(metric, "name")),
                                                         availability->metric->name)) break;
    json_t *available = member_array(metric, "available"), *absent = member_array(metric, "absent");
    if (availability->absence == ABSENCE_NONE)
        json_array_append_new(available, json_pack("{s:s, s:s, s:o, s:s}", "collector", availability->collector, "pmu",
                                                   availability->pmu, "groups",
                                                   texts_json(availability->groups, availability->n_groups), "formula",
                                                   availability->formula->text));
    else
        json_array_append_new(absent,
                              json_pack("{s:s, s:s, s:s, s:o, s:o}", "collector", availability->collector, "pmu",
                                        availability->pmu, "reason", absence_name(availability->absence), "events",
                                        missing_json(availability), "message", message_json(availability)));
}

json_t *availability_json(struct registry *registry, const struct machine *machine)
{
    json_t *document = derived_json();

    if (document && availability_each(registry, machine, add_availability, document) < 0) {
        json_decref(document);
        return NULL;
    }
    return document;
}

/* --- in short --- */

static bool has_text(const json_t *object, const char *key, const char *text)
{
    return str_equal(json_string_value(json_object_get(object, key)), text);
}

/* The entry of a list for this collector, PMU and reason. */
static json_t *summary_entry(json_t *list, const struct availability *availability)
{
    const char *reason = absence_name(availability->absence);
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry) if (has_text(entry, "collector", availability->collector) &&
                                           has_text(entry, "pmu", availability->pmu) &&
                                           has_text(entry, "reason", reason)) return entry;
    entry = json_pack("{s:s, s:s, s:s, s:[]}", "collector", availability->collector, "pmu", availability->pmu, "reason",
                      reason, "metrics");
    json_array_append_new(list, entry);
    return entry;
}

static void add_to_summary(void *userdata, const struct availability *availability)
{
    const char *list = availability->absence == ABSENCE_NONE ? "available" : "absent";
    json_t *metrics = json_object_get(summary_entry(json_object_get(userdata, list), availability), "metrics");

    json_array_append_new(metrics, json_pack("{s:s, s:o, s:o}", "name", availability->metric->name, "events",
                                             missing_json(availability), "message", message_json(availability)));
}

json_t *availability_json_summarize(struct registry *registry, const struct machine *machine)
{
    json_t *summary = json_pack("{s:[], s:[]}", "available", "absent");

    if (summary && availability_each(registry, machine, add_to_summary, summary) < 0) {
        json_decref(summary);
        return NULL;
    }
    return summary;
}
