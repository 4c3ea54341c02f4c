/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/resolver.h"

#include <poll.h>

#include "base/cleanup.h"
#include "cgroups/name-source.h"
#include "cgroups/path.h"

/* In the order in which they are asked: the first source that knows a name gives it. NULL ends the table. */
static const struct name_source *const sources[] = {
    &name_source_kubernetes,
    &name_source_state,
    &name_source_systemd,
    NULL,
};

struct name_book {
    void *states[ARRAY_SIZE(sources)]; /* by index in `sources` */
    int fds[ARRAY_SIZE(sources)];
};

_Static_assert(ARRAY_SIZE(sources) - 1 <= NAME_BOOK_FDS, "there is room for the descriptor of each source");

int name_book_new(struct sys *sys, struct name_book **ret)
{
    struct name_book *book = calloc(1, sizeof(*book));

    if (!book)
        return -ENOMEM;
    int r = 0;
    for (size_t i = 0; sources[i] && r == 0; i++) {
        book->fds[i] = -1;
        r = sources[i]->open(sys, &book->states[i], &book->fds[i]);
    }
    if (r < 0)
        name_book_free(book);
    else
        *ret = book;
    return r;
}

struct name_book *name_book_free(struct name_book *book)
{
    if (!book)
        return NULL;
    for (size_t i = 0; sources[i]; i++)
        if (book->states[i])
            sources[i]->close(book->states[i]);
    free(book);
    return NULL;
}

size_t name_book_fds(const struct name_book *book, int ret[NAME_BOOK_FDS])
{
    size_t n = 0;

    for (size_t i = 0; sources[i]; i++)
        if (book->fds[i] >= 0)
            ret[n++] = book->fds[i];
    return n;
}

/* Usually only the tree of cgroups has changed and no source has work; one poll(2) finds that out. */
bool name_book_dispatch(struct name_book *book)
{
    struct pollfd ready[ARRAY_SIZE(sources)];
    bool changed = false;
    nfds_t n = 0;

    for (; sources[n]; n++)
        ready[n] = (struct pollfd){.fd = book->fds[n], .events = POLLIN};
    int n_ready = poll(ready, n, 0);
    if (n_ready == 0)
        return false;
    for (size_t i = 0; i < n; i++) /* after an error of poll(2) all are asked, or the event loop would spin */
        if (book->fds[i] >= 0 && (n_ready < 0 || ready[i].revents))
            changed |= sources[i]->dispatch(book->states[i]);
    return changed;
}

int name_book_find(struct name_book *book, const char *path, struct names *names)
{
    int r = names_from_path(names, path);

    for (size_t i = 0; sources[i] && r == 0; i++)
        r = sources[i]->find(book->states[i], path, names);
    if (names->texts[NAME_CONTAINER] || !names->texts[NAME_CONTAINER_ID])
        names->unnamed = NULL;
    else if (!names->unnamed)
        names->unnamed = "no source of names here knows the container; doc/names.md has the places that are read";
    return r;
}

void name_book_forget(struct name_book *book, const char *path)
{
    for (size_t i = 0; sources[i]; i++)
        if (sources[i]->forget)
            sources[i]->forget(book->states[i], path);
}
