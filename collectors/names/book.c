/* SPDX-License-Identifier: Apache-2.0 */
/* The book of names: see book.h. */
#include "collectors/names/book.h"

#include "base/cleanup.h"
#include "collectors/names/path.h"

struct name_book {
    struct sys *sys;
};

int name_book_new(struct sys *sys, struct name_book **ret)
{
    struct name_book *book = calloc(1, sizeof(*book));

    if (!book)
        return -ENOMEM;
    book->sys = sys;
    *ret = book;
    return 0;
}

struct name_book *name_book_free(struct name_book *book)
{
    free(book);
    return NULL;
}

int name_book_fd(const struct name_book *book)
{
    (void)book;
    return -1;
}

bool name_book_dispatch(struct name_book *book)
{
    (void)book;
    return false;
}

int name_book_find(struct name_book *book, const char *path, struct names *names)
{
    (void)book;
    return names_from_path(names, path);
}

void name_book_forget(struct name_book *book, const char *path)
{
    (void)book;
    (void)path;
}
