/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker's config.v2.json, as moby, balenaEngine and docker write it (moby, container/container.go: Container): a
 * container. Compose and cri-dockerd leave their names in labels (compose, pkg/api/labels.go; cri-dockerd,
 * core/labels.go).
 */
#include "base/cleanup.h"
#include "cgroups/state-formats.h"

static const struct name_field config_fields[] = {
    {"Image", NAME_IMAGE},
};

static const struct name_field label_fields[] = {
    {"io.kubernetes.container.name", NAME_CONTAINER},     {"io.kubernetes.pod.name", NAME_POD},
    {"io.kubernetes.pod.namespace", NAME_NAMESPACE},      {"com.docker.compose.project", NAME_COMPOSE_PROJECT},
    {"com.docker.compose.service", NAME_COMPOSE_SERVICE},
};

/* "/grafana" */
static int take_name(const json_t *name, struct names *names)
{
    const char *text = json_string_value(name);
    size_t size = json_string_length(name), slash = size && text[0] == '/';

    return size ? names_set(names, NAME_CONTAINER, text + slash, size - slash) : -EBADMSG;
}

static int docker_read(const json_t *document, const char *id, name_found found, void *userdata)
{
    const json_t *config = json_object_get(document, "Config"), *labels = json_object_get(config, "Labels");
    _cleanup_(names_done) struct names names = {0};

    int r = take_name(json_object_get(document, "Name"), &names);
    if (r == 0)
        r = name_format_take(config, config_fields, ARRAY_SIZE(config_fields), &names);
    if (r == 0)
        r = name_format_take(labels, label_fields, ARRAY_SIZE(label_fields), &names);
    if (r < 0)
        return r;
    names.is_pause = name_format_has(labels, "io.kubernetes.docker.type", "podsandbox");
    return found(userdata, id, &names);
}

const struct name_format name_format_docker = {.read = docker_read};
