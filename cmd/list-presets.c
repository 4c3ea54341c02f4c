/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd list-presets [--json]`: each preset, and what it becomes on the PMUs of this machine. */
#include "base/buffer.h"
#include "base/cleanup.h"
#include "cmd/presets.h"
#include "cmd/table.h"
#include "daemon/command.h"

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* "PREFIX a,b", or nothing where the list is empty. */
static void print_names(const char *prefix, const json_t *names, enum table_style style)
{
    const json_t *name;
    size_t i;

    json_array_foreach(names, i, name)
        table_print_styled(stdout, style, "%s%s", i ? "," : prefix, json_string_value(name));
}

static void print_pmu(const json_t *pmu)
{
    const json_t *events = json_object_get(pmu, "events");

    printf("    %s, CPU %s:", text_of(pmu, "pmu"), text_of(pmu, "cpus"));
    print_names(" ", events, TABLE_PLAIN);
    if (json_array_size(events) == 0)
        printf(" no events");
    print_names("; left out: ", json_object_get(pmu, "left_out"), TABLE_DIM);
    putchar('\n');
}

static void print_preset(const json_t *preset)
{
    const json_t *pmu, *pmus = json_object_get(preset, "pmus");
    size_t i;

    table_print_styled(stdout, TABLE_BOLD, "%s", text_of(preset, "preset"));
    printf(": %s", text_of(preset, "description"));
    print_names(" (for collectors.", json_object_get(preset, "collectors"), TABLE_PLAIN);
    puts(")");
    json_array_foreach(pmus, i, pmu) print_pmu(pmu);
    if (i == 0)
        puts("    no PMU of this machine is for it");
}

int command_list_presets(const struct options *options)
{
    _cleanup_(session_done) struct session session = {0};
    struct error error = {0};
    const json_t *preset;
    size_t i;

    sys_init(&session.sys);
    if (session_load(&session, options, &error) < 0)
        return command_fail(EXIT_BAD_USAGE, &error);
    json_t *listing = presets_list(session.machine);
    if (!listing)
        return command_fail_memory();
    if (options->json)
        return command_print_json(listing);
    json_array_foreach(listing, i, preset) print_preset(preset);
    json_decref(listing);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
