/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of the source of names `kubernetes` (cgroups/name-source.h), which finds the kubelet's log files by the id or
 * uid in their names.
 */
#ifndef CGROUPS_KUBERNETES_H
#define CGROUPS_KUBERNETES_H

#include "base/util.h"

/* A list drops further names. A Kubernetes node runs some hundred containers. */
#define NAME_LIST_MAX 16384
/* The least length of a key, in bytes. A name is hashed by these first bytes of its key. */
#define NAME_KEY_MIN 16

#endif
