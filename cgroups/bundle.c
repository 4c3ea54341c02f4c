/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.json of an OCI bundle (runtime-spec, config.md), below containerd: a container, whose names are annotations of
 * containerd's plugin for Kubernetes (pkg/cri/annotations/annotations.go) and of nerdctl (pkg/labels/labels.go).
 * Kubernetes and nerdctl leave no label of Compose there.
 */
#include "base/cleanup.h"
#include "cgroups/state-formats.h"

static const struct name_field annotation_fields[] = {
    {"nerdctl/name", NAME_CONTAINER},
    {"com.docker.compose.project", NAME_COMPOSE_PROJECT},
    {"com.docker.compose.service", NAME_COMPOSE_SERVICE},
    {"io.kubernetes.cri.container-name", NAME_CONTAINER},
    {"io.kubernetes.cri.image-name", NAME_IMAGE},
    {"io.kubernetes.cri.sandbox-name", NAME_POD},
    {"io.kubernetes.cri.sandbox-namespace", NAME_NAMESPACE},
};

static int bundle_read(const json_t *document, const char *id, name_found found, void *userdata)
{
    const json_t *annotations = json_object_get(document, "annotations");
    _cleanup_(names_done) struct names names = {0};

    if (!json_is_string(json_object_get(document, "ociVersion")))
        return -EBADMSG;
    int r = name_format_take(annotations, annotation_fields, ARRAY_SIZE(annotation_fields), &names);
    if (r < 0)
        return r;
    names.is_pause = name_format_has(annotations, "io.kubernetes.cri.container-type", "sandbox");
    return found(userdata, id, &names);
}

const struct name_format name_format_bundle = {.read = bundle_read};
