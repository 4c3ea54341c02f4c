/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of the name source `kubernetes` (cgroups/name-source.h), which finds the kubelet's log files by the id or uid
 * in their names.
 */
#ifndef CGROUPS_KUBERNETES_H
#define CGROUPS_KUBERNETES_H

#include "base/util.h"

/* Maximum number of names in a list; further names are dropped. A Kubernetes node runs a few hundred containers. */
#define NAME_LIST_MAX 16384
/* Minimum length of a key, in bytes. Only the first NAME_KEY_MIN bytes of a key are hashed. */
#define NAME_KEY_MIN 16

#endif
