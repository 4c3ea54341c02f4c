/* SPDX-License-Identifier: Apache-2.0 */
/* The containers whose cgroups were asked about: see container.h. */
#include "cgroups/container.h"

#include "base/cleanup.h"

static struct container *container_free(struct container *container)
{
    if (!container)
        return NULL;
    for (size_t i = 0; i < container->n_paths; i++)
        free(container->paths[i]);
    free(container->paths);
    names_done(&container->names);
    free(container);
    return NULL;
}
DEFINE_CLEANUP(struct container *, container_free);

void containers_done(struct containers *containers)
{
    for (size_t i = 0; i < containers->n; i++)
        container_free(containers->items[i]);
    free(containers->items);
    *containers = (struct containers){0};
}

static int container_compare(const struct container *container, uint32_t user, const char *id)
{
    if (container->user != user)
        return container->user < user ? -1 : 1;
    return strcmp(container->id, id);
}

/* Its index, or that of the first behind its place. */
static size_t containers_search(const struct containers *containers, uint32_t user, const char *id)
{
    return array_search(containers->n, i, container_compare(containers->items[i], user, id) < 0);
}

static bool containers_have(const struct containers *containers, size_t i, uint32_t user, const char *id)
{
    return i < containers->n && container_compare(containers->items[i], user, id) == 0;
}

struct container *containers_find(const struct containers *containers, uint32_t user, const char *id)
{
    size_t i = containers_search(containers, user, id);

    return containers_have(containers, i, user, id) ? containers->items[i] : NULL;
}

bool containers_have_user(const struct containers *containers, uint32_t user)
{
    size_t i = containers_search(containers, user, "");

    return i < containers->n && containers->items[i]->user == user;
}

static size_t container_find_path(const struct container *container, const char *path)
{
    size_t i = 0;

    while (i < container->n_paths && !str_equal(container->paths[i], path))
        i++;
    return i;
}

static int container_add_path(struct container *container, const char *path)
{
    if (container_find_path(container, path) < container->n_paths)
        return 0;
    if (array_grow(&container->paths, container->n_paths) < 0)
        return -ENOMEM;
    container->paths[container->n_paths] = strdup(path);
    if (!container->paths[container->n_paths])
        return -ENOMEM;
    container->n_paths++;
    return 0;
}

int containers_add(struct containers *containers, uint32_t user, const char *id, const char *path,
                   struct container **ret)
{
    _cleanup_(container_freep) struct container *added = NULL;
    size_t i = containers_search(containers, user, id);

    if (containers_have(containers, i, user, id)) {
        *ret = containers->items[i];
        return container_add_path(*ret, path);
    }
    added = calloc(1, sizeof(*added));
    if (!added || container_add_path(added, path) < 0 || array_grow(&containers->items, containers->n) < 0)
        return -ENOMEM;
    memcpy(added->id, id, STATE_ID_LENGTH);
    added->user = user;
    added->place = -1;
    memmove(&containers->items[i + 1], &containers->items[i], (containers->n - i) * sizeof(containers->items[0]));
    containers->n++;
    *ret = containers->items[i] = steal(added);
    return 0;
}

void containers_forget(struct containers *containers, uint32_t user, const char *id, const char *path)
{
    size_t i = containers_search(containers, user, id);

    if (!containers_have(containers, i, user, id))
        return;
    struct container *container = containers->items[i];
    size_t k = container_find_path(container, path);
    if (k == container->n_paths)
        return;
    free(container->paths[k]);
    container->paths[k] = container->paths[--container->n_paths];
    if (container->n_paths > 0)
        return;
    container_free(container);
    containers->n--;
    memmove(&containers->items[i], &containers->items[i + 1], (containers->n - i) * sizeof(containers->items[0]));
}

static bool names_are_enough(const struct names *names)
{
    return names->texts[NAME_CONTAINER] || names->is_pause;
}

bool container_is_named(const struct container *container)
{
    return container->place >= 0 && names_are_enough(&container->names);
}

bool container_take(struct container *container, uint32_t place, struct names *names)
{
    bool is_better = !container_is_named(container) ? container->place < 0 || names_are_enough(names)
                                                    : names_are_enough(names) && (int)place < container->place;

    if ((int)place != container->place && !is_better)
        return false;
    bool changed = container->place < 0 || !names_equal(&container->names, names);
    names_done(&container->names);
    container->names = *names;
    container->place = (int)place;
    *names = (struct names){0};
    return changed;
}
