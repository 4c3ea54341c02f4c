/* SPDX-License-Identifier: Apache-2.0 */
/* The book of names: see book.h. */
#include "collectors/names/book.h"

#include "base/cleanup.h"
#include "base/process/fd.h"
#include "collectors/names/path.h"
#include "collectors/names/source.h"

/* In the order in which they are asked: the first that knows a name gives it. The last row ends the table. */
static const struct name_source *const sources[] = {
    &name_source_state,
    NULL,
};

struct name_book {
    void *states[ARRAY_SIZE(sources)]; /* by source */
    int fd;
};

static int book_open_sources(struct name_book *book, struct sys *sys)
{
    int fds[ARRAY_SIZE(sources)] = {-1};
    bool any = false;
    size_t n = 0;

    for (int r; sources[n]; n++) {
        fds[n] = -1;
        r = sources[n]->open(sys, &book->states[n], &fds[n]);
        if (r < 0)
            return r;
        any |= fds[n] >= 0;
    }
    book->fd = any ? fd_join(fds, n) : -1;
    return any ? MIN(book->fd, 0) : 0;
}

int name_book_new(struct sys *sys, struct name_book **ret)
{
    struct name_book *book = calloc(1, sizeof(*book));

    if (!book)
        return -ENOMEM;
    book->fd = -1;
    int r = book_open_sources(book, sys);
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
    closep(&book->fd);
    for (size_t i = 0; sources[i]; i++)
        if (book->states[i])
            sources[i]->close(book->states[i]);
    free(book);
    return NULL;
}

int name_book_fd(const struct name_book *book)
{
    return book->fd;
}

bool name_book_dispatch(struct name_book *book)
{
    bool changed = false;

    for (size_t i = 0; sources[i]; i++)
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
