/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/state-formats.h"

#include "base/cleanup.h"

/* A member of a JSON object, and the kind of name that its text gives. */
struct name_field {
    const char *key;
    enum name_kind kind;
};

/* --- document --- */

static const struct state_parser *const formats[N_STATE_FORMATS] = {
    [STATE_DOCKER] = &state_parser_docker,
    [STATE_STORAGE] = &state_parser_storage,
    [STATE_BUNDLE] = &state_parser_bundle,
};

struct name_finding {
    const struct state_place *place;
    name_found found;
    void *userdata;
};

static int found_one(void *userdata, const char *id, struct names *names)
{
    const struct name_finding *finding = userdata;
    const char *runtime = finding->place->source;
    int r = names->texts[NAME_RUNTIME] ? 0 : names_set(names, NAME_RUNTIME, runtime, strlen(runtime));

    return r < 0 ? r : finding->found(finding->userdata, id, names);
}

/* jansson's scanner reports a failed allocation as a wrong token (2.14, load.c), so failures are recorded here. */
static bool memory_was_short;

static void *malloc_noting(size_t size)
{
    void *memory = malloc(size);

    memory_was_short |= !memory;
    return memory;
}

int state_document_read(const struct state_request *request, const char *content, size_t size, name_found found,
                        void *userdata)
{
    const struct state_place *place = state_place(request->place);
    struct name_finding finding = {.place = place, .found = found, .userdata = userdata};

    if (!place)
        return -EBADMSG;
    if (size == 0 && !state_place_is_of_one(place)) /* the file of a store without containers is empty */
        return 0;
    memory_was_short = false;
    json_set_alloc_funcs(malloc_noting, free);
    /* Resource limits may be as large as 2^64 - 1, which does not fit into a jansson integer. */
    _cleanup_(json_decrefp) json_t *document =
        json_loadb(content, size, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
    if (!document)
        return memory_was_short ? -ENOMEM : -EBADMSG;
    return formats[place->format]->read(document, request->id, found_one, &finding);
}

/* --- members --- */

/*
 * If `object` is an object, sets each name that it contains; a later field replaces an earlier one. Returns -ENOMEM on
 * failure.
 */
static int state_parser_take(const json_t *object, const struct name_field *fields, size_t n, struct names *names)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        const json_t *text = json_object_get(object, fields[i].key);
        if (json_string_length(text))
            r = names_set(names, fields[i].kind, json_string_value(text), json_string_length(text));
    }
    return r;
}

/* Whether the value of the member `key` of `object` is `text`. */
static bool state_parser_has(const json_t *object, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value && str_equal(value, text);
}

/* --- OCI bundle --- */

/*
 * config.json of an OCI bundle (runtime-spec, config.md), below containerd: one container. The names in it are
 * annotations of containerd's Kubernetes plugin (pkg/cri/annotations/annotations.go) and of nerdctl
 * (pkg/labels/labels.go). Neither Kubernetes nor nerdctl writes Compose labels into this file.
 */

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
    int r = state_parser_take(annotations, annotation_fields, ARRAY_SIZE(annotation_fields), &names);
    if (r < 0)
        return r;
    names.is_pause = state_parser_has(annotations, "io.kubernetes.cri.container-type", "sandbox");
    return found(userdata, id, &names);
}

const struct state_parser state_parser_bundle = {.read = bundle_read};

/* --- docker --- */

/*
 * config.v2.json of docker, moby and balenaEngine (moby, container/container.go: Container): one container. Compose and
 * cri-dockerd write their names in labels (compose, pkg/api/labels.go; cri-dockerd, core/labels.go).
 */

static const struct name_field config_fields[] = {
    {"Image", NAME_IMAGE},
};

static const struct name_field label_fields[] = {
    {"io.kubernetes.container.name", NAME_CONTAINER},     {"io.kubernetes.pod.name", NAME_POD},
    {"io.kubernetes.pod.namespace", NAME_NAMESPACE},      {"com.docker.compose.project", NAME_COMPOSE_PROJECT},
    {"com.docker.compose.service", NAME_COMPOSE_SERVICE},
};

/* Sets the container's name, which docker writes with a slash: "/grafana". Returns -EBADMSG if there is none. */
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
        r = state_parser_take(config, config_fields, ARRAY_SIZE(config_fields), &names);
    if (r == 0)
        r = state_parser_take(labels, label_fields, ARRAY_SIZE(label_fields), &names);
    if (r < 0)
        return r;
    names.is_pause = state_parser_has(labels, "io.kubernetes.docker.type", "podsandbox");
    return found(userdata, id, &names);
}

const struct state_parser state_parser_docker = {.read = docker_read};

/* --- containers/storage --- */

/*
 * containers.json of containers/storage (containers.go: Container): all containers of a store. The runtime that owns
 * the store writes more names in `metadata`, a string that contains JSON: podman adds the image
 * (libpod/storage.go: RuntimeContainerMetadata); CRI-O adds the image and the pod (internal/storage/runtime.go, the
 * same name). podman-rename(1) changes `names` but not the metadata.
 */

static const struct name_field podman_fields[] = {
    {"name", NAME_CONTAINER},
    {"image-name", NAME_IMAGE},
};

/* "metadata-name" is the name in Kubernetes; "name" is "k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT". */
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

/* CRI-O names a pod "k8s_POD_NAMESPACE_UID_ATTEMPT". Kubernetes names contain no underscores. */
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

    names->is_pause = state_parser_has(metadata, "pod-id", json_string_value(id));
    int r = names_set(names, NAME_RUNTIME, "cri-o", strlen("cri-o"));
    if (r == 0)
        r = state_parser_take(metadata, crio_fields, ARRAY_SIZE(crio_fields), names);
    return r == 0 ? split_pod_name(pod_name, names) : r;
}

/*
 * The podman container that holds a pod's namespaces is named after the pod's id, "63c4292d1879-infra", and has an
 * image that podman builds itself.
 */
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

    int r = state_parser_take(metadata, podman_fields, ARRAY_SIZE(podman_fields), names);
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
    json_array_foreach (document, i, container) {
        r = read_container(container, found, userdata);
        if (r != 0)
            break;
    }
    return r;
}

const struct state_parser state_parser_storage = {.read = storage_read};
