/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an event or a group: nothing crashes, errors point into the text, names are valid, help texts are there.
 */
#include "perf/event/parse.h"
#include "tests/fuzz/fuzz.h"

static void check_event(const struct event *event, size_t size)
{
    _cleanup_(freep) char *help = event_help(event);
    struct event named = {0};

    assert(event->text && event->metric && help && event->offset < size && event->precise <= 3);
    assert(event_set_metric(&named, event->metric, NULL) == 0);
    event_done(&named);
    /* The text in a message can be parsed to the same event. */
    struct event again;
    assert(event_parse(event->text, &again, NULL) == 0);
    assert(again.kind == event->kind && again.config == event->config && again.n_terms == event->n_terms);
    event_done(&again);
}

static void check_error(const struct error *error, size_t size)
{
    assert(error->offset <= size && error->message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(freep) char *text = copy_text(data, size), *metric = event_metric_name(text);
    _cleanup_(event_list_done) struct event_list list = {0};
    _cleanup_(event_done) struct event event = {0};
    struct error error = {0};

    assert(metric);
    if (event_list_parse(text, &list, &error) < 0)
        check_error(&error, strlen(text));
    for (size_t i = 0; i < list.n; i++)
        check_event(&list.events[i], strlen(text));
    if (event_parse(text, &event, &error) < 0)
        check_error(&error, strlen(text));
    else
        assert(list.n == 1);
    return 0;
}
