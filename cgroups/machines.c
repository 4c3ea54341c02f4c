/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machines that systemd-machined(8) knows: see machines.h.
 *
 * machine_save() of systemd's src/machine/machine.c writes lines KEY=VALUE; in a value a backslash makes the next
 * character stand for itself. Beside them, links "unit:UNIT" lead to the files.
 */
#include "cgroups/machines.h"

#include "base/cleanup.h"

#define DIRECTORY "/run/systemd/machines"

/* The value of a line that begins with `key`, "" where there is none; NULL when out of memory. */
static char *copy_value(const char *text, const char *key)
{
    const char *line = text;

    while (line && !str_starts(line, key)) {
        line = strchr(line, '\n');
        line += line ? 1 : 0;
    }
    line = line ? line + strlen(key) : "";
    char *value = malloc(strcspn(line, "\n") + 1), *to = value;
    for (; value && *line && *line != '\n'; line++) {
        line += line[0] == '\\' && line[1] && line[1] != '\n';
        *to++ = *line;
    }
    if (value)
        *to = '\0';
    return value;
}

static void registered_machine_done(struct registered_machine *machine)
{
    free(machine->name);
    free(machine->unit);
    free(machine->service);
}

/* -ENODATA where the machine has no unit of its own. */
static int load_machine(struct sys *sys, const char *name, struct registered_machine *ret)
{
    _cleanup_(freep) char *text = NULL;
    int r = sys_read_filef(sys, &text, DIRECTORY "/%s", name);

    if (r < 0)
        return r;
    struct registered_machine machine = {
        .name = strdup(name), .unit = copy_value(text, "SCOPE="), .service = copy_value(text, "SERVICE=")};
    r = machine.name && machine.unit && machine.service ? 0 : -ENOMEM;
    if (r == 0 && !machine.unit[0])
        r = -ENODATA;
    if (r < 0)
        registered_machine_done(&machine);
    else
        *ret = machine;
    return r;
}

void machines_remove(struct machines *machines, const char *name)
{
    for (size_t i = 0; i < machines->n; i++) {
        if (!str_equal(machines->at[i].name, name))
            continue;
        registered_machine_done(&machines->at[i]);
        machines->at[i] = machines->at[--machines->n];
        return;
    }
}

void machines_update(struct machines *machines, const char *name)
{
    struct registered_machine machine;

    machines_remove(machines, name);
    if (strchr(name, ':') || machines->n >= MACHINES_MAX || load_machine(machines->sys, name, &machine) < 0)
        return;
    if (array_grow(&machines->at, machines->n) < 0)
        registered_machine_done(&machine);
    else
        machines->at[machines->n++] = machine;
}

void machines_clear(struct machines *machines)
{
    for (size_t i = 0; i < machines->n; i++)
        registered_machine_done(&machines->at[i]);
    free(machines->at);
    machines->at = NULL;
    machines->n = 0;
}

const struct registered_machine *machines_find(const struct machines *machines, const char *unit)
{
    for (size_t i = 0; i < machines->n; i++)
        if (str_equal(machines->at[i].unit, unit))
            return &machines->at[i];
    return NULL;
}
