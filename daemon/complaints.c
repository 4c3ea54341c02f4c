/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator has to mend, told once: see complaints.h. */
#include "daemon/complaints.h"

#include <stdio.h>

#include "daemon/log.h"

void complaints_done(struct complaints *complaints)
{
    strings_free(complaints->told, complaints->n);
    *complaints = (struct complaints){0};
}

static int add(struct complaints *complaints, char *sentence)
{
    if (!sentence || array_grow(&complaints->told, complaints->n) < 0) {
        free(sentence);
        return -ENOMEM;
    }
    complaints->told[complaints->n++] = sentence;
    return 0;
}

/* A collector that could not open or read anything at all. */
static int add_collectors(struct complaints *complaints, const struct registry *registry)
{
    struct collector_status status;
    char *sentence;
    int r = 0;

    for (size_t i = 0; r == 0 && registry_status(registry, i, &status); i++) {
        if (!status.enabled || status.successful || !status.error[0])
            continue;
        if (asprintf(&sentence, "collector %s: %s", status.name, status.error) < 0)
            return -ENOMEM;
        r = add(complaints, sentence);
    }
    return r;
}

static bool was_told(const struct complaints *complaints, const char *sentence)
{
    for (size_t i = 0; i < complaints->n; i++)
        if (str_equal(complaints->told[i], sentence))
            return true;
    return false;
}

void complaints_tell(struct complaints *complaints, const struct registry *registry)
{
    struct complaints now = {0};

    if (failures_sentences(registry_failures(registry), &now.told, &now.n) < 0 || add_collectors(&now, registry) < 0) {
        complaints_done(&now);
        return;
    }
    for (size_t i = 0; i < now.n; i++)
        if (!was_told(complaints, now.told[i]))
            log_warning("%s", now.told[i]);
    complaints_done(complaints);
    *complaints = now;
}
