/* SPDX-License-Identifier: Apache-2.0 */
/* Terms into words: see attr-terms.h. */
#include "perf/attr-terms.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "perf/event-term.h"
#include "perf/generic-events.h"
#include "perf/pfm.h"

/* Terms that every PMU has: whole words. */
static const char *const word_names[ATTR_WORDS] = {"config", "config1", "config2", "config3"};

/* Terms of probes are not in `format/`. "func" and "path" are text (perf_event_open(2)), which has no word. */
#define TEXT (-1)
static const struct {
    const char *pmu, *term;
    int word;
} probe_terms[] = {
    {"kprobe", "func", TEXT}, {"kprobe", "addr", 2},   {"kprobe", "offset", 2},
    {"uprobe", "path", TEXT}, {"uprobe", "offset", 2},
};

static bool lay_probe(const struct pmu *pmu, const struct event_term *term, struct attr_words *words)
{
    for (size_t i = 0; i < ARRAY_SIZE(probe_terms); i++) {
        if (!str_equal(probe_terms[i].pmu, pmu->name) || !str_equal(probe_terms[i].term, term->name))
            continue;
        if (probe_terms[i].word == TEXT)
            words->text = term->text;
        else
            words->words[probe_terms[i].word] = term->value;
        return true;
    }
    return false;
}

/* The number of the word that a term sets as a whole, or -1. A format of that name comes first. */
static int whole_word(const struct pmu *pmu, const char *name)
{
    for (int i = 0; i < ATTR_WORDS; i++)
        if (str_equal(word_names[i], name) && !pmu_find_format(pmu, name))
            return i;
    return -1;
}

static int unknown_term(const struct pmu *pmu, const char *name, size_t offset, struct error *error)
{
    struct suggest suggest = {.wrong = name};
    const char *reason = defects_find(&pmu->defects, name);
    char nearest[256];

    if (reason)
        return error_set_at(error, -EINVAL, offset, "\"%s\" of PMU \"%s\" cannot be used: %s", name, pmu->name, reason);
    for (size_t i = 0; i < pmu->n_events; i++)
        suggest_consider(&suggest, pmu->events[i].name);
    for (size_t i = 0; i < pmu->n_formats; i++)
        suggest_consider(&suggest, pmu->formats[i].name);
    for (size_t i = 0; i < ATTR_WORDS; i++)
        suggest_consider(&suggest, word_names[i]);
    return error_set_at(error, -ENOENT, offset, "PMU \"%s\" has no event or term \"%s\"%s", pmu->name, name,
                        suggest_format(&suggest, nearest, sizeof(nearest)));
}

/* The kernel refuses a threshold above the CPU's maximum without a reason. */
static int check_threshold(const struct pmu *pmu, const char *name, uint64_t value, size_t offset, struct error *error)
{
    if (!str_equal(name, "threshold") || value <= pmu->threshold_max)
        return 0;
    if (pmu->threshold_max == 0)
        return error_set_at(error, -EINVAL, offset,
                            "the CPUs of PMU \"%s\" have no thresholds (caps/threshold_max is 0)", pmu->name);
    return error_set_at(error, -EINVAL, offset,
                        "the threshold %" PRIu64 " is too large: PMU \"%s\" has at most %" PRIu64
                        " (caps/threshold_max)",
                        value, pmu->name, pmu->threshold_max);
}

static int lay_term(const struct pmu *pmu, const char *name, uint64_t value, size_t offset, struct attr_words *words,
                    struct error *error)
{
    const struct pmu_format *format = pmu_find_format(pmu, name);
    int word = whole_word(pmu, name);

    if (word >= 0) {
        words->words[word] = value;
        return 0;
    }
    if (!format)
        return unknown_term(pmu, name, offset, error);
    int r = check_threshold(pmu, name, value, offset, error);
    if (r < 0)
        return r;
    if (pmu_format_deposit(format, value, &words->words[format->word]) < 0)
        return error_set_at(error, -EINVAL, offset,
                            "the value 0x%" PRIx64 " of \"%s\" is too large: PMU \"%s\" has %d bits for it", value,
                            name, pmu->name, __builtin_popcountll(format->bits));
    return 0;
}

/* "cpu/r1a/": the whole config, where the PMU has nothing of that name. */
static bool is_raw(const struct pmu *pmu, const struct event_term *term, uint64_t *ret_config)
{
    return !term->text && !pmu_find_format(pmu, term->name) &&
           generic_parse_raw(term->name, strlen(term->name), ret_config) == 0;
}

static bool has_value(const struct event *event, const char *name)
{
    for (size_t i = 0; i < event->n_terms; i++)
        if (str_equal(event->terms[i].name, name) && event->terms[i].text)
            return true;
    return false;
}

/* Lays the terms of an event that sysfs names. "?" as a value stands for one that the user of the event must give. */
static int lay_named(const struct event *event, const struct pmu *pmu, const struct pmu_event *named, size_t offset,
                     struct attr_words *words, struct error *error)
{
    _cleanup_(event_terms_done) struct event_terms terms = {0};

    int r = event_terms_parse_text(named->terms, &terms, error);
    for (size_t i = 0; r == 0 && i < terms.n; i++) {
        const struct event_term *term = &terms.terms[i];
        if (!term->text || term->numeric)
            r = lay_term(pmu, term->name, term->value, offset, words, error);
        else if (!str_equal(term->text, "?"))
            return error_set_at(error, -EINVAL, offset,
                                "event \"%s\" of PMU \"%s\" has a term that is not a number, \"%s=%s\"", named->name,
                                pmu->name, term->name, term->text);
        else if (!has_value(event, term->name))
            return error_set_at(error, -EINVAL, offset,
                                "event \"%s\" of PMU \"%s\" needs a value for \"%s\": %s/%s,%s=.../", named->name,
                                pmu->name, term->name, pmu->name, named->name, term->name);
    }
    if (r < 0)
        return r;
    words->scale = named->scale;
    words->unit = named->unit;
    return 0;
}

static const struct pmu_event *event_of_term(const struct pmu *pmu, const struct event_term *term)
{
    return term->text ? NULL : pmu_find_event(pmu, term->name);
}

/* Named events first, then whole words, then single terms, whatever their order: the more exact term wins. */
static int lay_terms(const struct event *event, const struct pmu *pmu, struct attr_words *words, struct error *error)
{
    enum { NAMED, WHOLE, SINGLE, N_PASSES };

    for (int pass = NAMED; pass < N_PASSES; pass++)
        for (size_t i = 0; i < event->n_terms; i++) {
            const struct event_term *term = &event->terms[i];
            const struct pmu_event *named = event_of_term(pmu, term);
            uint64_t config;
            bool raw = is_raw(pmu, term, &config);
            int own = named ? NAMED : raw || whole_word(pmu, term->name) >= 0 ? WHOLE : SINGLE, r = 0;
            if (own != pass)
                continue;
            if (lay_probe(pmu, term, words))
                continue;
            if (named)
                r = lay_named(event, pmu, named, term->offset, words, error);
            else if (raw)
                words->words[0] = config;
            else
                r = lay_term(pmu, term->name, term->value, term->offset, words, error);
            if (r < 0)
                return r;
        }
    return 0;
}

/* Lays a name of sysfs, or else of libpfm4. */
static int lay_event_name(const struct event *event, const struct pmu *pmu, struct attr_words *words,
                          struct error *error)
{
    const struct pmu_event *named = pmu_find_event(pmu, event->name);
    struct pfm_words found;

    if (named)
        return lay_named(event, pmu, named, event->offset, words, error);
    /* The number of a file that is garbled may be another than libpfm4's. */
    if (defects_find(&pmu->defects, event->name) || pfm_encode(pmu, event->name, &found) < 0)
        return unknown_term(pmu, event->name, event->offset, error);
    if (!pmu_has_number(pmu, found.words[0]))
        return error_set_at(error, -ENOENT, event->offset,
                            "the CPUs of PMU \"%s\" do not implement \"%s\": sysfs lists the events that they have",
                            pmu->name, event->name);
    memcpy(words->words, found.words, sizeof(found.words));
    return 0;
}

int attr_words_build(const struct event *event, const struct pmu *pmu, struct attr_words *ret, struct error *error)
{
    struct attr_words words = {.scale = 1, .unit = ""};
    int r;

    if (event->kind == EVENT_NAME)
        r = lay_event_name(event, pmu, &words, error);
    else
        r = lay_terms(event, pmu, &words, error);
    if (r < 0)
        return r;
    *ret = words;
    return 0;
}
