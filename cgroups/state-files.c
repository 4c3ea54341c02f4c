/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/state-files.h"

#include <stdio.h>

#include "base/intern.h"

#define BUNDLES "/io.containerd.runtime.v2.task/"

/* Path of the list of containers in a containers/storage store for one storage driver (driver.Name() of drivers/). */
#define STORAGE(root, driver)                                                                                          \
    {                                                                                                                  \
        "podman", STATE_STORAGE, root "/" driver "-containers/containers.json"                                         \
    }
/* Path of the list of containers that `podman run --rm` has created in such a store. */
#define VOLATILE(root, driver)                                                                                         \
    {                                                                                                                  \
        "podman", STATE_STORAGE, root "/" driver "-containers/volatile-containers.json"                                \
    }
#define DOCKER(root)                                                                                                   \
    {                                                                                                                  \
        "docker", STATE_DOCKER, root "/containers/%/config.v2.json"                                                    \
    }
#define BUNDLE(state, namespace)                                                                                       \
    {                                                                                                                  \
        "containerd", STATE_BUNDLE, state BUNDLES namespace "/%/config.json"                                           \
    }

#define GRAPH "/var/lib/containers/storage"
#define RUN "/run/containers/storage"
#define USER_GRAPH "~/.local/share/containers/storage"
#define USER_RUN "&/containers"

/*
 * Sources. Docker: cmd/dockerd/config_unix.go of moby for the roots, daemon/container.go for the file;
 * bin/dockerd-wrapper of the docker snap; balenaEngine; contrib/dockerd-rootless.sh. Podman and CRI-O: types/options.go
 * and containers.go of containers/storage; volatile-containers.json is below the graph root, or below the run root if
 * the store is transient (transient_store in storage.conf(5)). containerd: its option --state, and
 * runtime/v2/bundle.go; k3s and RKE2; k0s (pkg/component/worker/containerd); the MicroK8s snap (args/containerd);
 * nerdctl (containerd-rootless.sh binds /run/containerd to a directory of the user).
 */
static const struct state_place places[] = {
    DOCKER("/var/lib/docker"),
    DOCKER("/var/snap/docker/common/var-lib-docker"),
    DOCKER("/var/lib/balena-engine"),
    DOCKER("~/.local/share/docker"),
    STORAGE(GRAPH, "overlay"),
    STORAGE(GRAPH, "vfs"),
    STORAGE(GRAPH, "btrfs"),
    STORAGE(GRAPH, "zfs"),
    VOLATILE(GRAPH, "overlay"),
    VOLATILE(GRAPH, "vfs"),
    VOLATILE(GRAPH, "btrfs"),
    VOLATILE(GRAPH, "zfs"),
    VOLATILE(RUN, "overlay"),
    VOLATILE(RUN, "vfs"),
    VOLATILE(RUN, "btrfs"),
    VOLATILE(RUN, "zfs"),
    STORAGE(USER_GRAPH, "overlay"),
    STORAGE(USER_GRAPH, "vfs"),
    STORAGE(USER_GRAPH, "btrfs"),
    VOLATILE(USER_GRAPH, "overlay"),
    VOLATILE(USER_GRAPH, "vfs"),
    VOLATILE(USER_GRAPH, "btrfs"),
    VOLATILE(USER_RUN, "overlay"),
    VOLATILE(USER_RUN, "vfs"),
    VOLATILE(USER_RUN, "btrfs"),
    BUNDLE("/run/containerd", "k8s.io"),
    BUNDLE("/run/containerd", "default"),
    BUNDLE("/run/k3s/containerd", "k8s.io"),
    BUNDLE("/run/k0s/containerd", "k8s.io"),
    BUNDLE("/var/snap/microk8s/common/run/containerd", "k8s.io"),
    BUNDLE("&/containerd", "default"),
};

const struct state_place *state_place(size_t n)
{
    return n < ARRAY_SIZE(places) ? &places[n] : NULL;
}

bool state_place_is_of_user(const struct state_place *place)
{
    return place->path[0] == '~' || place->path[0] == '&';
}

bool state_place_is_of_one(const struct state_place *place)
{
    return strchr(place->path, '%') != NULL;
}

static bool id_is_valid(const char *id)
{
    return strlen(id) == STATE_ID_LENGTH && strspn(id, "0123456789abcdef") == STATE_ID_LENGTH;
}

static bool request_is_valid(const struct state_request *request, const struct state_place *place)
{
    if (!memchr(request->id, '\0', sizeof(request->id)) || !memchr(request->home, '\0', sizeof(request->home)))
        return false;
    if (state_place_is_of_one(place) ? !id_is_valid(request->id) : *request->id != '\0')
        return false;
    if (state_place_is_of_user(place))
        return request->user != 0 && (place->path[0] != '~' || request->home[0] == '/');
    return request->user == 0 && *request->home == '\0';
}

int state_request_path(const struct state_request *request, char *ret, size_t size)
{
    const struct state_place *place = state_place(request->place);
    char user[STATE_HOME_MAX] = "", path[STATE_PATH_MAX];

    if (!place || !request_is_valid(request, place))
        return -EINVAL;
    if (place->path[0] == '~')
        memcpy(user, request->home, sizeof(user));
    else if (place->path[0] == '&')
        snprintf(user, sizeof(user), "/run/user/%u", (unsigned)request->user);
    const char *rest = place->path + state_place_is_of_user(place), *mark = strchr(rest, '%');
    int before = mark ? (int)(mark - rest) : (int)strlen(rest);
    int n = snprintf(path, sizeof(path), "%s%.*s%s%s", user, before, rest, request->id, mark ? mark + 1 : "");
    if (n < 0 || (size_t)n >= MIN(sizeof(path), size) || strstr(path, "/../") || strstr(path, "/./"))
        return -EINVAL;
    memcpy(ret, path, (size_t)n + 1);
    return 0;
}

uint64_t state_file_version(const struct stat *status)
{
    const uint64_t facts[] = {
        status->st_dev,
        status->st_ino,
        (uint64_t)status->st_size,
        (uint64_t)status->st_mtim.tv_sec,
        (uint64_t)status->st_mtim.tv_nsec,
        (uint64_t)status->st_ctim.tv_sec,
        (uint64_t)status->st_ctim.tv_nsec,
    };
    uint64_t version = 0;

    for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
        version = hash_mix(version, facts[i]);
    return version ? version : 1;
}
