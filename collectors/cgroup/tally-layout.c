/* SPDX-License-Identifier: Apache-2.0 */
/* When a tally can go on: see tally-layout.h. */
#include "collectors/cgroup/tally-layout.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"

static char *describe_words(const struct tally_groups *groups)
{
    char *text = strdup("");

    for (size_t i = 0; i < groups->collector.n && text; i++) {
        const struct tally_span *span = &groups->spans[i];
        _cleanup_(freep) char *before = text;
        if (asprintf(&text, "%s%" PRIx64 " %u %u %s\n", before, span->events, span->first_event, span->first_times,
                     span->group->signature) < 0)
            text = NULL;
    }
    return text;
}

static char *describe_wanted(const struct config_cgroup *config)
{
    char *text = strdup(config->per_cpu ? "per_cpu\n" : "");

    for (size_t i = 0; i < config->groups.n && text; i++) {
        _cleanup_(freep) char *before = text;
        if (asprintf(&text, "%s%s\n", before, config->groups.items[i].signature) < 0)
            text = NULL;
    }
    return text;
}

int tally_layout_init(struct tally_layout *layout, const struct tally_groups *groups,
                      const struct collector_context *context)
{
    *layout = (struct tally_layout){
        .wanted = describe_wanted(&context->config->cgroup),
        .words = describe_words(groups),
    };
    return layout->wanted && layout->words ? 0 : -ENOMEM;
}

void tally_layout_done(struct tally_layout *layout)
{
    free(layout->wanted);
    free(layout->words);
    *layout = (struct tally_layout){0};
}

int tally_layout_is_wanted(const struct tally_layout *layout, const struct collector_context *context)
{
    _cleanup_(freep) char *wanted = describe_wanted(&context->config->cgroup);

    return wanted ? str_equal(wanted, layout->wanted) : -ENOMEM;
}
