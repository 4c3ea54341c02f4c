/* SPDX-License-Identifier: Apache-2.0 */
/* The derived metrics as JSON: see availability-json.h. */
#include "formats/availability-json.h"

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
            collectors = json_array_add(collectors, json_string(targets[i].collector));
    return collectors;
}

/* The ways of writing an event. Returns `spellings` with them, as json_object_add() does. */
static json_t *add_spellings(json_t *spellings, const char *name)
{
    json_t *texts = json_array();
    const char *spelling;

    for (size_t k = 1; (spelling = derived_spelling(name, k)); k++)
        texts = json_array_add(texts, json_string(spelling));
    if (texts && json_array_size(texts) == 0) {
        json_decref(texts);
        return spellings;
    }
    return json_object_add(spellings, name, texts);
}

static json_t *formula_json(const struct derived_formula *formula, json_t **spellings)
{
    json_t *events = json_array();
    struct formula parsed = {.n_names = 0};

    formula_parse(formula->text, &parsed, NULL);
    for (size_t i = 0; i < parsed.n_names; i++) {
        events = json_array_add(events, json_string(parsed.names[i]));
        *spellings = add_spellings(*spellings, parsed.names[i]);
    }
    return json_pack("{s:s, s:s?, s:o, s:s, s:b}", "formula", formula->text, "pmu", formula->pmu, "events", events,
                     "source", formula->source, "seen", formula->seen);
}

static json_t *metric_json(const struct derived_metric *metric, json_t **spellings)
{
    json_t *formulas = json_array();

    for (size_t i = 0; metric->formulas[i].text; i++)
        formulas = json_array_add(formulas, formula_json(&metric->formulas[i], spellings));
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", metric->name, "unit", metric->unit, "help", metric->help,
                     "collectors", collectors_of(metric), "formulas", formulas);
}

json_t *derived_json(void)
{
    json_t *metrics = json_array(), *spellings = json_object();
    const struct derived_metric *metric;

    for (size_t i = 0; (metric = derived_at(i)); i++)
        metrics = json_array_add(metrics, metric_json(metric, &spellings));
    return json_pack("{s:o, s:o}", "metrics", metrics, "spellings", spellings);
}

/* --- what is available here --- */

static json_t *texts_json(const char *const *texts, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        array = json_array_add(array, json_text(texts[i]));
    return array;
}

static json_t *missing_json(const struct availability *availability)
{
    json_t *array = json_array();

    for (size_t i = 0; i < availability->n_missing; i++)
        array = json_array_add(array, json_string(availability->missing[i]));
    return array;
}

static json_t *message_json(const struct availability *availability)
{
    const struct buffer *message = &availability->message;

    if (message->failed)
        return NULL;
    return message->size ? json_stringn(message->data, message->size) : json_string("");
}

/* The member `key` of an object, an array, which is made where it is missing. */
static json_t *member_array(json_t *object, const char *key)
{
    if (!json_object_get(object, key))
        json_object_set_new(object, key, json_array());
    return json_object_get(object, key);
}

/* A document in the making: a part of it that finds no memory is the end of it. */
struct survey {
    json_t *document;
    bool failed;
};

static json_t *metric_of(const json_t *document, const char *name)
{
    json_t *metric = NULL;
    size_t i;

    json_array_foreach(json_object_get(document, "metrics"), i,
                       metric) if (str_equal(json_string_value(json_object_get(metric, "name")), name)) break;
    return metric;
}

static json_t *available_json(const struct availability *availability)
{
    return json_pack("{s:s, s:s, s:o, s:s}", "collector", availability->collector, "pmu", availability->pmu, "groups",
                     texts_json(availability->groups, availability->n_groups), "formula", availability->formula->text);
}

static json_t *absent_json(const struct availability *availability)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "collector", availability->collector, "pmu", availability->pmu,
                     "reason", absence_name(availability->absence), "events", missing_json(availability), "message",
                     message_json(availability));
}

static void add_availability(void *userdata, const struct availability *availability)
{
    struct survey *survey = userdata;
    json_t *metric = metric_of(survey->document, availability->metric->name);
    json_t *available = member_array(metric, "available"), *absent = member_array(metric, "absent");

    if (availability->absence == ABSENCE_NONE)
        survey->failed |= json_array_append_new(available, available_json(availability)) < 0 || !absent;
    else
        survey->failed |= json_array_append_new(absent, absent_json(availability)) < 0 || !available;
}

/* Takes the document, and has all availabilities added to it. */
static json_t *survey_all(json_t *document, struct registry *registry, const struct machine *machine,
                          availability_visit add)
{
    struct survey survey = {.document = document};

    if (document && (availability_each(registry, machine, add, &survey) < 0 || survey.failed)) {
        json_decref(document);
        return NULL;
    }
    return document;
}

json_t *availability_json(struct registry *registry, const struct machine *machine)
{
    return survey_all(derived_json(), registry, machine, add_availability);
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
    return json_array_append_new(list, entry) == 0 ? entry : NULL;
}

static void add_to_summary(void *userdata, const struct availability *availability)
{
    const char *list = availability->absence == ABSENCE_NONE ? "available" : "absent";
    struct survey *survey = userdata;
    json_t *entry = summary_entry(json_object_get(survey->document, list), availability);
    json_t *metric = json_pack("{s:s, s:o, s:o}", "name", availability->metric->name, "events",
                               missing_json(availability), "message", message_json(availability));

    survey->failed |= json_array_append_new(json_object_get(entry, "metrics"), metric) < 0;
}

json_t *availability_json_summarize(struct registry *registry, const struct machine *machine)
{
    return survey_all(json_pack("{s:[], s:[]}", "available", "absent"), registry, machine, add_to_summary);
}
