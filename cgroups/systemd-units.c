/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names from systemd: of the machines that systemd-machined(8) knows, by /run/systemd/machines, and descriptions of
 * units, by their files.
 */
#include "cgroups/directory-watch.h"
#include "cgroups/machines.h"
#include "cgroups/name-source.h"
#include "cgroups/path.h"
#include "cgroups/unit-descriptions.h"

struct systemd_source {
    struct directory_watches watches;
    struct machines machines;
    struct unit_descriptions descriptions;
};

/* The program that registered a machine, and what the machine is called as a runtime. */
static const char *const services[][2] = {
    {"systemd-nspawn", "nspawn"},
    {"libvirt-qemu", "libvirt"},
    {"libvirt-lxc", "libvirt"},
    {"systemd-vmspawn", "vmspawn"},
};

static void machine_found(void *userdata, const char *name)
{
    struct systemd_source *systemd = userdata;

    machines_update(&systemd->machines, name);
}

static void machine_gone(void *userdata, const char *name)
{
    struct systemd_source *systemd = userdata;

    machines_remove(&systemd->machines, name);
}

static void machines_cleared(void *userdata)
{
    struct systemd_source *systemd = userdata;

    machines_clear(&systemd->machines);
}

static int set_text(struct names *names, enum name_kind kind, const char *text)
{
    return names_set(names, kind, text, strlen(text));
}

/* libvirt calls the domain "debian" the machine "qemu-1-debian"; the path's name is without its number. */
static int set_machine(const struct registered_machine *machine, struct names *names)
{
    const char *runtime = machine->service, *container = names->texts[NAME_CONTAINER];
    int r = 0;

    if (container && !str_ends(machine->name, container))
        return 0; /* of a container in the machine */
    for (size_t i = 0; i < ARRAY_SIZE(services); i++)
        if (str_equal(services[i][0], machine->service))
            runtime = services[i][1];
    if (!container)
        r = set_text(names, NAME_CONTAINER, machine->name);
    names->source = "systemd";
    return r == 0 && *runtime ? set_text(names, NAME_RUNTIME, runtime) : r;
}

static int systemd_find(void *state, const char *path, struct names *names)
{
    struct systemd_source *systemd = state;
    const char *id = names->texts[NAME_CONTAINER_ID], *description;
    struct path_unit unit;

    if (!path_find_unit(path, &unit))
        return 0;
    const struct registered_machine *machine = unit.of_user ? NULL : machines_find(&systemd->machines, unit.name);
    int r = machine && !id ? set_machine(machine, names) : 0;
    /* The unit of one container has a description that says no more than its id. */
    if (r < 0 || (id && strstr(unit.name, id)))
        return r;
    r = unit_descriptions_find(&systemd->descriptions, &unit, &description);
    return r < 0 || !description ? r : set_text(names, NAME_DESCRIPTION, description);
}

static void systemd_forget(void *state, const char *path)
{
    struct systemd_source *systemd = state;
    struct path_unit unit;

    if (path_find_unit(path, &unit) && unit.is_last)
        unit_descriptions_forget(&systemd->descriptions, &unit);
}

static int systemd_open(struct sys *sys, void **ret, int *ret_fd)
{
    struct systemd_source *systemd = calloc(1, sizeof(*systemd));
    struct directory_listener listener = {systemd, machine_found, machine_gone, machines_cleared};

    if (!systemd)
        return -ENOMEM;
    systemd->machines.sys = sys;
    systemd->descriptions.sys = sys;
    systemd->descriptions.home = getenv("HOME");
    directory_watches_init(&systemd->watches, sys);
    directory_watches_add(&systemd->watches, "/run/systemd/machines", &listener);
    *ret = systemd;
    *ret_fd = systemd->watches.fd;
    return 0;
}

static bool systemd_dispatch(void *state)
{
    struct systemd_source *systemd = state;

    return directory_watches_dispatch(&systemd->watches);
}

static void systemd_close(void *state)
{
    struct systemd_source *systemd = state;

    directory_watches_done(&systemd->watches);
    machines_clear(&systemd->machines);
    unit_descriptions_clear(&systemd->descriptions);
    free(systemd);
}

const struct name_source name_source_systemd = {
    .open = systemd_open,
    .dispatch = systemd_dispatch,
    .find = systemd_find,
    .forget = systemd_forget,
    .close = systemd_close,
};
