/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual machines and containers that are registered with systemd-machined(8), by their unit: what its files in
 * /run/systemd/machines say, which everybody may read and only root may write.
 */
#ifndef CGROUPS_MACHINES_H
#define CGROUPS_MACHINES_H

#include "perf/sys.h"

/* Further ones are dropped. */
#define MACHINES_MAX 1024

struct registered_machine {
    char *name;    /* "debian", "qemu-1-debian" */
    char *unit;    /* "machine-debian.scope", "systemd-nspawn@debian.service" */
    char *service; /* the program that registered it: "systemd-nspawn", "libvirt-qemu"; "" where it did not say */
};

/* Zeroed but for `sys`, it is empty. */
struct machines {
    struct sys *sys;
    struct registered_machine *at;
    size_t n;
};

/* Reads the machine's file again; without one it is forgotten. */
void machines_update(struct machines *machines, const char *name);
void machines_remove(struct machines *machines, const char *name);
void machines_clear(struct machines *machines);
/* NULL where no machine has this unit. */
const struct registered_machine *machines_find(const struct machines *machines, const char *unit);

#endif
