/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses arbitrary bytes as an event or as groups: nothing crashes, error positions are within the text, names are
 * valid, and help texts exist.
 */
#include "perf/event-parse.h"
#include "tests/fuzz/fuzz.h"

static void check_event(const struct event *event, size_t size)
{
    _cleanup_(freep) char *help = event_help(event);
    struct event named = {0};

    assert(event->text && event->metric && help && event->offset < size && event->precise <= 3);
    assert(event_set_metric(&named, event->metric, NULL) == 0);
    event_done(&named);
    /* An event's text in messages is parsed as the same event. */
    struct event again;
    assert(event_parse(event->text, &again, NULL) == 0);
    assert(again.kind == event->kind && again.config == event->config && again.n_terms == event->n_terms);
    event_done(&again);
}

static void check_error(const struct error *error, size_t size)
{
    assert(error->offset <= size && error->message[0]);
}

/* A group's text in the configuration is parsed as the same group. */
static void check_group(const struct event_list *list, size_t size)
{
    _cleanup_(event_list_done) struct event_list again = {0};

    assert(list->n > 0 && list->offset < size && (!list->name || list->name[0]));
    for (size_t i = 0; i < list->n; i++)
        check_event(&list->events[i], size);
    assert(event_list_parse(list->text, &again, NULL) == 0);
    assert(again.n == list->n && again.modifiers == list->modifiers && strcmp(again.text, list->text) == 0);
}

static void check_sampled(const char *text)
{
    _cleanup_(event_list_done) struct event_list list = {0};
    struct error error = {0};

    if (event_list_parse_sampled(text, &list, &error) < 0)
        check_error(&error, strlen(text));
    for (size_t i = 0; i < list.n; i++) {
        const struct event *event = &list.events[i];
        assert(event->period <= INT64_MAX && event->frequency <= INT64_MAX && !(event->period && event->frequency));
        assert(i == 0 || (!event->period && !event->frequency));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(freep) char *text = copy_text(data, size), *metric = event_metric_name(text);
    _cleanup_(event_groups_done) struct event_groups groups = {0};
    _cleanup_(event_done) struct event event = {0};
    struct error error = {0};

    assert(metric);
    if (event_groups_parse(text, &groups, &error) < 0)
        check_error(&error, strlen(text));
    for (size_t i = 0; i < groups.n; i++)
        check_group(&groups.groups[i], strlen(text));
    check_sampled(text);
    if (event_parse(text, &event, &error) < 0)
        check_error(&error, strlen(text));
    else
        assert(groups.n == 1 && groups.groups[0].n == 1);
    return 0;
}
