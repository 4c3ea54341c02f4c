/* SPDX-License-Identifier: Apache-2.0 */
/* The accounts whose container runtimes make cgroups: see account.h. */
#include "cgroups/account.h"

#include <pwd.h>
#include <stdio.h>

#include "base/cleanup.h"

int account_find_home(struct sys *sys, uint32_t user, char *ret, size_t size)
{
    _cleanup_(closep) int fd = sys->open_file(sys, "/etc/passwd", 0);
    const struct passwd *entry;

    if (fd < 0)
        return fd;
    _cleanup_(fclosep) FILE *file = fdopen(fd, "r");
    if (!file)
        return -errno;
    fd = -1;
    while ((entry = fgetpwent(file)))
        if (entry->pw_uid == user && entry->pw_dir[0] == '/') {
            if (strlen(entry->pw_dir) >= size)
                return -ENAMETOOLONG;
            strcpy(ret, entry->pw_dir);
            return 0;
        }
    return -ENOENT;
}

void accounts_done(struct accounts *accounts)
{
    for (size_t i = 0; i < accounts->n; i++)
        free(accounts->items[i]);
    free(accounts->items);
    *accounts = (struct accounts){0};
}

struct account *accounts_find(struct accounts *accounts, struct sys *sys, uint32_t user)
{
    size_t n_places = 0;

    for (size_t i = 0; i < accounts->n; i++)
        if (accounts->items[i]->user == user)
            return accounts->items[i];
    while (state_place(n_places))
        n_places++;
    if (array_grow(&accounts->items, accounts->n) < 0)
        return NULL;
    struct account *account = calloc(1, sizeof(*account) + n_places * sizeof(account->lists[0]));
    if (!account)
        return NULL;
    account->user = user;
    if (user)
        account_find_home(sys, user, account->home, sizeof(account->home));
    accounts->items[accounts->n++] = account;
    return account;
}

void accounts_drop(struct accounts *accounts, uint32_t user)
{
    for (size_t i = 0; i < accounts->n; i++)
        if (accounts->items[i]->user == user) {
            free(accounts->items[i]);
            accounts->items[i] = accounts->items[--accounts->n];
            return;
        }
}
