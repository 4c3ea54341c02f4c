/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/resolver.h"

#include <poll.h>

#include "base/cleanup.h"
#include "cgroups/name-source.h"
#include "cgroups/path.h"

/* The sources in order of precedence: the first that knows a name supplies it. NULL ends the table. */
static const struct name_source *const sources[] = {
    &name_source_kubernetes,
    &name_source_state,
    &name_source_systemd,
    NULL,
};

struct resolver {
    void *states[ARRAY_SIZE(sources)]; /* the state of each source in `sources` */
    int fds[ARRAY_SIZE(sources)];
};

_Static_assert(ARRAY_SIZE(sources) - 1 <= RESOLVER_FDS, "there is room for the descriptor of each source");

int resolver_new(struct sys *sys, const struct state_files *files, struct resolver **ret)
{
    struct resolver *resolver = calloc(1, sizeof(*resolver));

    if (!resolver)
        return -ENOMEM;
    int r = 0;
    for (size_t i = 0; sources[i] && r == 0; i++) {
        resolver->fds[i] = -1;
        r = sources[i]->open(sys, files, &resolver->states[i], &resolver->fds[i]);
    }
    if (r < 0)
        resolver_free(resolver);
    else
        *ret = resolver;
    return r;
}

struct resolver *resolver_free(struct resolver *resolver)
{
    if (!resolver)
        return NULL;
    for (size_t i = 0; sources[i]; i++)
        if (resolver->states[i])
            sources[i]->close(resolver->states[i]);
    free(resolver);
    return NULL;
}

size_t resolver_fds(const struct resolver *resolver, int ret[RESOLVER_FDS])
{
    size_t n = 0;

    for (size_t i = 0; sources[i]; i++)
        if (resolver->fds[i] >= 0)
            ret[n++] = resolver->fds[i];
    return n;
}

/* Usually only the cgroup tree has changed and no source has anything to do. A single poll(2) shows that. */
bool resolver_dispatch(struct resolver *resolver)
{
    struct pollfd ready[ARRAY_SIZE(sources)];
    bool changed = false;
    nfds_t n = 0;

    for (; sources[n]; n++)
        ready[n] = (struct pollfd){.fd = resolver->fds[n], .events = POLLIN};
    int n_ready = poll(ready, n, 0);
    if (n_ready == 0)
        return false;
    for (size_t i = 0; i < n; i++) /* if poll(2) failed, calls all sources, since the event loop would spin otherwise */
        if (resolver->fds[i] >= 0 && (n_ready < 0 || ready[i].revents))
            changed |= sources[i]->dispatch(resolver->states[i]);
    return changed;
}

int resolver_find(struct resolver *resolver, const char *path, struct names *names)
{
    int r = names_from_path(names, path);

    for (size_t i = 0; sources[i] && r == 0; i++)
        r = sources[i]->find(resolver->states[i], path, names);
    if (names->texts[NAME_CONTAINER] || !names->texts[NAME_CONTAINER_ID])
        names->unnamed = NULL;
    else if (!names->unnamed)
        names->unnamed =
            "no name source on this machine knows the container; doc/names.md lists the places that are read";
    return r;
}

void resolver_forget(struct resolver *resolver, const char *path)
{
    for (size_t i = 0; sources[i]; i++)
        if (sources[i]->forget)
            sources[i]->forget(resolver->states[i], path);
}
