/* SPDX-License-Identifier: Apache-2.0 */
/*
 * containers.json of containers/storage (containers.go: Container): all containers of a store. Its owner leaves more in
 * `metadata`, a text that is JSON: podman (libpod/storage.go: RuntimeContainerMetadata) the image, CRI-O
 * (internal/storage/runtime.go, the same name) also the pod. podman-rename(1) changes `names`, and not the metadata.
 */
#include "base/cleanup.h"
#include "cgroups/state-files.h"
#include "cgroups/state-formats.h"

static const struct name_field podman_fields[] = {
    {"name", NAME_CONTAINER},
    {"image-name", NAME_IMAGE},
};

/* "metadata-name" is that of Kubernetes; "name" is "k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT". */
static const struct name_field crio_fields[] = {
    {"metadata-name", NAME_CONTAINER},
    {"image-name", NAME_IMAGE},
    {"pod-name", NAME_POD},
    {"namespace", NAME_NAMESPACE},
};

static bool is_id(const json_t *id)
{
    return json_string_length(id) == STATE_ID_LENGTH &&
           strspn(json_string_value(id), "0123456789abcdef") == STATE_ID_LENGTH;
}

/* CRI-O's name of a pod is "k8s_POD_NAMESPACE_UID_ATTEMPT"; names of Kubernetes have no underscore. */
static int split_pod_name(const json_t *pod_name, struct names *names)
{
    static const char prefix[] = "k8s_";
    const char *pod = json_string_value(pod_name);

    if (!pod || !str_starts(pod, prefix))
        return 0;
    pod += strlen(prefix);
    size_t pod_size = strcspn(pod, "_");
    const char *namespace = pod + pod_size + (pod[pod_size] == '_');
    int r = pod_size ? names_set(names, NAME_POD, pod, pod_size) : 0;
    return r < 0 || !*namespace ? r : names_set(names, NAME_NAMESPACE, namespace, strcspn(namespace, "_"));
}

static int take_crio(const json_t *metadata, const json_t *id, struct names *names)
{
    const json_t *pod_name = json_object_get(metadata, "pod-name");

    names->is_pause = name_format_has(metadata, "pod-id", json_string_value(id));
    int r = names_set(names, NAME_RUNTIME, "cri-o", strlen("cri-o"));
    if (r == 0)
        r = name_format_take(metadata, crio_fields, ARRAY_SIZE(crio_fields), names);
    return r == 0 ? split_pod_name(pod_name, names) : r;
}

/* podman names what holds a pod's namespaces "63c4292d1879-infra", by the pod's id, and makes its image. */
static bool is_infra(const struct names *names)
{
    static const char suffix[] = "-infra", image[] = "localhost/podman-pause:";
    const char *name = names->texts[NAME_CONTAINER], *from = names->texts[NAME_IMAGE];

    if (from && str_starts(from, image))
        return true;
    return name && strspn(name, "0123456789abcdef") == 12 && str_equal(name + 12, suffix);
}

static int take_podman(const json_t *container, const json_t *metadata, struct names *names)
{
    const json_t *name = json_array_get(json_object_get(container, "names"), 0);

    int r = name_format_take(metadata, podman_fields, ARRAY_SIZE(podman_fields), names);
    if (r == 0 && json_string_length(name))
        r = names_set(names, NAME_CONTAINER, json_string_value(name), json_string_length(name));
    names->is_pause = is_infra(names);
    return r;
}

static int read_container(const json_t *container, name_found found, void *userdata)
{
    const json_t *id = json_object_get(container, "id"), *text = json_object_get(container, "metadata");
    _cleanup_(names_done) struct names names = {0};
    _cleanup_(json_decrefp) json_t *metadata =
        json_loadb(json_string_value(text), json_string_length(text), JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);

    if (!is_id(id))
        return 0;
    int r = json_is_string(json_object_get(metadata, "pod-id")) ? take_crio(metadata, id, &names)
                                                                : take_podman(container, metadata, &names);
    return r == 0 ? found(userdata, json_string_value(id), &names) : r;
}

static int storage_read(const json_t *document, const char *id, name_found found, void *userdata)
{
    const json_t *container;
    size_t i;
    int r = 0;

    (void)id;
    if (!json_is_array(document))
        return -EBADMSG;
    json_array_foreach(document, i, container)
    {
        r = read_container(container, found, userdata);
        if (r != 0)
            break;
    }
    return r;
}

const struct name_format name_format_storage = {.read = storage_read};
