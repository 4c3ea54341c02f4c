/* SPDX-License-Identifier: Apache-2.0 */
/* All that a server listens on: see listeners.h. */
#include "http/listeners.h"

static void listener_list_done(struct listener_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        listener_free(list->items[i]);
    free(list->items);
    *list = (struct listener_list){0};
}

static struct listener *listener_list_find(const struct listener_list *list, const char *address)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_equal(listener_address(list->items[i]), address))
            return list->items[i];
    return NULL;
}

static bool listener_list_has(const struct listener_list *list, const struct listener *listener)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i] == listener)
            return true;
    return false;
}

/* Makes room for `n` more. */
static int listener_list_reserve(struct listener_list *list, size_t n)
{
    struct listener **larger = reallocarray(list->items, list->n + n + 1, sizeof(*larger));

    if (!larger)
        return -ENOMEM;
    list->items = larger;
    return 0;
}

void listeners_done(struct listeners *listeners)
{
    listener_list_done(&listeners->active);
    listener_list_done(&listeners->retired);
}

void listeners_leave(struct listeners *listeners)
{
    for (size_t i = 0; listeners->adopted && i < listeners->active.n; i++)
        listener_leave(listeners->active.items[i]);
}

/* A change in the making: all of it is opened before any of it takes effect. */
struct listeners_plan {
    struct listeners *listeners;
    const struct mhd_terms *terms;
    struct listener_list wanted; /* each is an active listener, or new */
};

static int listeners_plan_init(struct listeners_plan *plan, struct listeners *listeners, const struct mhd_terms *terms,
                               size_t n, struct error *error)
{
    size_t n_active = listeners->active.n;

    *plan = (struct listeners_plan){.listeners = listeners, .terms = terms};
    if (listener_list_reserve(&plan->wanted, MAX(n, n_active)) == 0 &&
        listener_list_reserve(&listeners->retired, n_active) == 0)
        return 0;
    free(plan->wanted.items);
    return error_oom(error);
}

/* The listener of an address: the active one, or another in its place, or a new one. */
static int listeners_plan_address(struct listeners_plan *plan, const char *address, struct error *error)
{
    struct listeners *listeners = plan->listeners;
    struct listener *before = listener_list_find(&listeners->active, address), *listener = before;
    int r = 0;

    if (listener_list_find(&plan->wanted, address))
        return 0;
    if (!before)
        r = listener_open(listeners->site, listeners->connections, address, plan->terms, &listener, error);
    else if (!listener_is_on(before, plan->terms))
        r = listener_succeed(before, plan->terms, &listener, error);
    if (r == 0)
        plan->wanted.items[plan->wanted.n++] = listener;
    return r;
}

static int listeners_plan_active(struct listeners_plan *plan, struct error *error)
{
    const struct listener_list *active = &plan->listeners->active;
    int r = 0;

    for (size_t i = 0; i < active->n && r == 0; i++)
        r = listeners_plan_address(plan, listener_address(active->items[i]), error);
    return r;
}

static int listeners_plan_adopted(struct listeners_plan *plan, const int *fds, size_t n, struct error *error)
{
    struct listeners *listeners = plan->listeners;
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        struct listener **place = &plan->wanted.items[plan->wanted.n];
        r = listener_adopt(listeners->site, listeners->connections, fds[i], plan->terms, place, error);
        plan->wanted.n += r == 0;
    }
    return r;
}

/* Frees the new listeners, and leaves the active ones. */
static void listeners_plan_drop(struct listeners_plan *plan)
{
    struct listener_list *wanted = &plan->wanted;
    size_t n = 0;

    for (size_t i = 0; i < wanted->n; i++)
        if (!listener_list_has(&plan->listeners->active, wanted->items[i]))
            wanted->items[n++] = wanted->items[i];
    wanted->n = n;
    listener_list_done(wanted);
}

static void listeners_on_empty(struct listener *listener, void *userdata)
{
    struct listener_list *retired = &((struct listeners *)userdata)->retired;

    for (size_t i = 0; i < retired->n; i++)
        if (retired->items[i] == listener) {
            retired->items[i] = retired->items[--retired->n];
            listener_free(listener);
            return;
        }
}

static void listeners_retire(struct listeners *listeners, struct listener *old, const struct listener_list *wanted)
{
    struct listener *successor = listener_list_find(wanted, listener_address(old));

    if (successor)
        listener_inherit(successor, old);
    listeners->retired.items[listeners->retired.n++] = old;
    listener_retire(old, listeners_on_empty, listeners);
}

/* Carries the plan out; or drops it, where `r` is an error. */
static int listeners_plan_done(struct listeners_plan *plan, int r)
{
    struct listeners *listeners = plan->listeners;

    if (r < 0) {
        listeners_plan_drop(plan);
        return r;
    }
    for (size_t i = 0; i < listeners->active.n; i++)
        if (!listener_list_has(&plan->wanted, listeners->active.items[i]))
            listeners_retire(listeners, listeners->active.items[i], &plan->wanted);
    free(listeners->active.items);
    listeners->active = plan->wanted;
    return 0;
}

int listeners_change(struct listeners *listeners, const struct mhd_terms *terms, char *const *addresses, size_t n,
                     struct error *error)
{
    struct listeners_plan plan;

    int r = listeners_plan_init(&plan, listeners, terms, n, error);
    if (r < 0)
        return r;
    if (!addresses || listeners->adopted)
        r = listeners_plan_active(&plan, error);
    else
        for (size_t i = 0; i < n && r == 0; i++)
            r = listeners_plan_address(&plan, addresses[i], error);
    return listeners_plan_done(&plan, r);
}

int listeners_adopt(struct listeners *listeners, const struct mhd_terms *terms, const int *fds, size_t n,
                    struct error *error)
{
    struct listeners_plan plan;

    int r = listeners_plan_init(&plan, listeners, terms, n, error);
    if (r < 0)
        return r;
    r = listeners_plan_done(&plan, listeners_plan_adopted(&plan, fds, n, error));
    if (r < 0)
        return r;
    listeners->adopted = true;
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
    return 0;
}
