/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files, found by a part of each, such as the id of a container in the name of its link. */
#ifndef CGROUPS_KUBERNETES_H
#define CGROUPS_KUBERNETES_H

#include "base/util.h"

/* A list drops further names. A node of Kubernetes runs some hundred containers. */
#define NAME_LIST_MAX 16384
/* Bytes that each key has at least, and by which it is found. */
#define NAME_KEY_MIN 16

#endif
