/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/kubernetes.h"

#include <limits.h>

#include "base/intern.h"
#include "cgroups/directory-watch.h"
#include "cgroups/name-source.h"
#include "cgroups/path.h"
#include "cgroups/state-files.h"

/* The position of the key in a file name. */
struct name_key {
    size_t at, size;
};

/* A hash table of file names, indexed by key. Empty if zeroed. */
struct name_list {
    struct name_item **buckets;
    size_t n, size; /* `size` is the number of buckets: a power of two, or 0 */
};

/* --- name list --- */

struct name_item {
    struct name_item *next; /* next item in the same bucket */
    struct name_key key;
    char name[];
};

/*
 * Returns the bucket of the names whose keys have the same first bytes as `key`. The list's buckets must have been
 * allocated.
 */
static struct name_item **list_bucket(const struct name_list *list, const char *key)
{
    uint64_t words[NAME_KEY_MIN / sizeof(uint64_t)], hash = 0;

    memcpy(words, key, sizeof(words));
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        hash = hash_mix(hash, words[i]);
    return &list->buckets[hash_fold(hash) & (list->size - 1)];
}

/* Doubles the number of buckets, or allocates the first ones. */
static int list_grow(struct name_list *list)
{
    struct name_list larger = {.n = list->n, .size = list->size ? 2 * list->size : 16};

    larger.buckets = calloc(larger.size, sizeof(struct name_item *));
    if (!larger.buckets)
        return -ENOMEM;
    for (size_t i = 0; i < list->size; i++)
        for (struct name_item *item = list->buckets[i], *next; item; item = next) {
            struct name_item **bucket = list_bucket(&larger, item->name + item->key.at);
            next = item->next;
            item->next = *bucket;
            *bucket = item;
        }
    free(list->buckets);
    *list = larger;
    return 0;
}

/* Returns the pointer to the name, or the end of its bucket. */
static struct name_item **list_place(const struct name_list *list, const char *name, struct name_key key)
{
    struct name_item **at = list_bucket(list, name + key.at);

    while (*at && !str_equal((*at)->name, name))
        at = &(*at)->next;
    return at;
}

/* A name that is already in the list is not added again. Returns -ENOSPC if the list is full, or -ENOMEM. */
static int name_list_add(struct name_list *list, const char *name, struct name_key key)
{
    size_t size = strlen(name) + 1;

    if (list->n == list->size && list->n < NAME_LIST_MAX && list_grow(list) < 0)
        return -ENOMEM;
    struct name_item **place = list_place(list, name, key);
    if (*place)
        return 0;
    if (list->n >= NAME_LIST_MAX)
        return -ENOSPC;
    struct name_item *item = malloc(sizeof(*item) + size);
    if (!item)
        return -ENOMEM;
    item->next = NULL;
    item->key = key;
    memcpy(item->name, name, size);
    *place = item;
    list->n++;
    return 0;
}

static void name_list_remove(struct name_list *list, const char *name, struct name_key key)
{
    struct name_item **place = list->n ? list_place(list, name, key) : NULL;

    if (!place || !*place)
        return;
    struct name_item *item = *place;
    *place = item->next;
    free(item);
    list->n--;
}

/*
 * Returns the name whose key is `key` or, because a long name may have been truncated, a prefix of `key`. Returns NULL
 * if there is none.
 */
static const char *name_list_find(const struct name_list *list, const char *key, size_t size)
{
    if (list->n == 0 || size < NAME_KEY_MIN)
        return NULL;
    for (const struct name_item *item = *list_bucket(list, key); item; item = item->next)
        if (item->key.size <= size && memcmp(item->name + item->key.at, key, item->key.size) == 0)
            return item->name;
    return NULL;
}

static void name_list_clear(struct name_list *list)
{
    for (size_t i = 0; i < list->size; i++)
        for (struct name_item *item = list->buckets[i], *next; item; item = next) {
            next = item->next;
            free(item);
        }
    free(list->buckets);
    *list = (struct name_list){0};
}

/* --- file names --- */

/*
 * The names of Kubernetes containers and pods are part of the names that the kubelet gives its log links and log
 * directories:
 *
 *     /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log      legacyLogSymlink() of pkg/kubelet/kuberuntime/legacy.go
 *     /var/log/pods/NAMESPACE_POD_UID                         BuildPodLogsDirectory() of kuberuntime/helpers.go
 *
 * Only these names are read: no link is followed, no other directory is opened, and no log is read.
 *
 * Names of pods, namespaces and containers consist of lower-case letters, digits, "-" and "." (DNS). A name with any
 * other character is not the kubelet's. If the name of a link would be too long, the kubelet truncates it and thus the
 * id at its end.
 */

#define LINK_END ".log"
#define UID_MAX 36 /* "01234567-89ab-cdef-0123-456789abcdef"; a static pod has 32 digits */

struct text_part {
    const char *text;
    size_t size;
};

/* The parts of a link or directory name. */
struct log_name {
    struct text_part pod, namespace;
    struct text_part container; /* empty for a directory */
    struct text_part key;       /* the container id of a link, or the pod uid of a directory */
};

/* The file names in one of the kubelet's two directories. */
struct log_names {
    bool (*parse)(const char *name, struct log_name *ret); /* returns false if the name is not the kubelet's */
    struct name_list list;
    bool full; /* the list is full, and some names were dropped */
};

struct kubernetes_source {
    struct directory_watches watches;
    size_t links_watch;
    struct log_names links, pods;
};

static bool is_dns_name(struct text_part part)
{
    for (size_t i = 0; i < part.size; i++)
        if (!part.text[i] || !strchr("abcdefghijklmnopqrstuvwxyz0123456789-.", part.text[i]))
            return false;
    return part.size > 0;
}

/*
 * Cuts the part before the character `end` off *text, which then begins after that character. Returns false if the part
 * is not a DNS name.
 */
static bool cut_part(const char **text, char end, struct text_part *ret)
{
    const char *found = strchr(*text, end);

    if (!found)
        return false;
    *ret = (struct text_part){*text, (size_t)(found - *text)};
    *text = found + 1;
    return is_dns_name(*ret);
}

static bool parse_link(const char *name, struct log_name *ret)
{
    size_t length = strlen(name), end = strlen(LINK_END);

    if (length <= end || !str_equal(name + length - end, LINK_END) || !cut_part(&name, '_', &ret->pod) ||
        !cut_part(&name, '_', &ret->namespace))
        return false;
    const char *dash = strrchr(name, '-');
    if (!dash)
        return false;
    ret->container = (struct text_part){name, (size_t)(dash - name)};
    ret->key = (struct text_part){dash + 1, strlen(dash + 1) - end};
    bool whole = ret->key.size == STATE_ID_LENGTH;
    bool cut = length == NAME_MAX && ret->key.size >= NAME_KEY_MIN && ret->key.size < STATE_ID_LENGTH;
    return (whole || cut) && is_dns_name(ret->container) && strspn(ret->key.text, "0123456789abcdef") == ret->key.size;
}

static bool parse_pod(const char *name, struct log_name *ret)
{
    if (!cut_part(&name, '_', &ret->namespace) || !cut_part(&name, '_', &ret->pod))
        return false;
    ret->container = (struct text_part){"", 0};
    ret->key = (struct text_part){name, strlen(name)};
    return ret->key.size >= NAME_KEY_MIN && ret->key.size <= UID_MAX &&
           strspn(name, "0123456789abcdef-") == ret->key.size;
}

/* --- directories --- */

static struct name_key key_of(const char *name, const struct log_name *parts)
{
    return (struct name_key){(size_t)(parts->key.text - name), parts->key.size};
}

static void log_names_found(void *userdata, const char *name)
{
    struct log_names *names = userdata;
    struct log_name parts;

    if (names->parse(name, &parts))
        names->full |= name_list_add(&names->list, name, key_of(name, &parts)) < 0;
}

static void log_names_gone(void *userdata, const char *name)
{
    struct log_names *names = userdata;
    struct log_name parts;

    if (names->parse(name, &parts))
        name_list_remove(&names->list, name, key_of(name, &parts));
}

static void log_names_cleared(void *userdata)
{
    struct log_names *names = userdata;

    name_list_clear(&names->list);
    names->full = false;
}

static size_t log_names_watch(struct kubernetes_source *kubernetes, struct log_names *names, const char *path)
{
    struct directory_listener listener = {names, log_names_found, log_names_gone, log_names_cleared};

    return directory_watches_add(&kubernetes->watches, path, &listener);
}

/* --- cgroups --- */

static int set_part(struct names *names, enum name_kind kind, struct text_part part)
{
    return names_set(names, kind, part.text, part.size);
}

/*
 * Finds the pod by the uid in the path: "kubepods-burstable-podUID.slice" with the systemd driver, where "_" stands for
 * "-", and "podUID" with the cgroupfs driver. Returns the name of the pod's directory, or NULL.
 */
static const char *find_pod(const struct kubernetes_source *kubernetes, const char *path)
{
    char uid[UID_MAX + 1];

    for (const char *at = path; (at = strstr(at, "pod")); at++) {
        size_t size = strspn(at + 3, "0123456789abcdef-_");
        if (size > UID_MAX || at == path || (at[-1] != '/' && at[-1] != '-'))
            continue;
        for (size_t i = 0; i < size; i++)
            uid[i] = at[3 + i] == '_' ? '-' : at[3 + i];
        const char *name = name_list_find(&kubernetes->pods.list, uid, size);
        if (name)
            return path_is_in_container(path, at) ? NULL : name;
    }
    return NULL;
}

/* Sets the names of the container, pod and namespace that a file name contains. */
static int set_names(struct names *names, const struct log_names *from, const char *name)
{
    struct log_name parts;
    int r = 0;

    if (!from->parse(name, &parts))
        return 0;
    if (parts.container.size) {
        r = set_part(names, NAME_CONTAINER, parts.container);
        names->source = "kubernetes";
    }
    if (r == 0)
        r = set_part(names, NAME_POD, parts.pod);
    return r < 0 ? r : set_part(names, NAME_NAMESPACE, parts.namespace);
}

static const char *why_unnamed(const struct kubernetes_source *kubernetes)
{
    static const char *const sentences[N_DIRECTORY_STATES] = {
        [DIRECTORY_MISSING] = "there is no directory /var/log/containers, where the kubelet names containers; a "
                              "perfcountd in a container needs the node's /var/log",
        [DIRECTORY_LISTED] = "no link in /var/log/containers has its id: it is the pod's pause container, or the "
                             "kubelet has not created the link yet",
        [DIRECTORY_UNWATCHED] =
            "no link in /var/log/containers has its id, and new links are not noticed, because inotify is not "
            "available; raise fs.inotify.max_user_instances or fs.inotify.max_user_watches and restart",
        [DIRECTORY_REFUSED] = "users other than root can write to /var/log/containers, so its names are not trusted; "
                              "change its owner to root and its mode to 0755",
        [DIRECTORY_UNREADABLE] =
            "/var/log/containers cannot be listed; give perfcountd permission to read it (mode 0755)",
    };
    enum directory_state state = kubernetes->watches.at[kubernetes->links_watch].state;

    return kubernetes->links.full ? "/var/log/containers has too many names; remove dangling links" : sentences[state];
}

static int kubernetes_find(void *state, const char *path, struct names *names)
{
    const struct kubernetes_source *kubernetes = state;
    const char *id = names->texts[NAME_CONTAINER_ID];
    uint32_t user;

    /*
     * A user or a container may create a cgroup with the id of another container, so that id is not trusted. The name
     * of the pod around the container is still reliable.
     */
    if (path_find_user(path, &user) && user != 0)
        return 0;
    const char *link = id && !path_is_nested(path) ? name_list_find(&kubernetes->links.list, id, strlen(id)) : NULL;
    const char *pod = link ? NULL : find_pod(kubernetes, path);
    int r = 0;
    if (link)
        r = set_names(names, &kubernetes->links, link);
    else if (pod)
        r = set_names(names, &kubernetes->pods, pod);
    if (r == 0 && id && !names->texts[NAME_CONTAINER] && strstr(path, "kubepods"))
        names->unnamed = why_unnamed(kubernetes);
    return r;
}

/* --- source --- */

static int kubernetes_open(struct sys *sys, const struct state_files *files, void **ret, int *ret_fd)
{
    struct kubernetes_source *kubernetes = calloc(1, sizeof(*kubernetes));

    (void)files;
    if (!kubernetes)
        return -ENOMEM;
    directory_watches_init(&kubernetes->watches, sys);
    kubernetes->links.parse = parse_link;
    kubernetes->pods.parse = parse_pod;
    kubernetes->links_watch = log_names_watch(kubernetes, &kubernetes->links, "/var/log/containers");
    log_names_watch(kubernetes, &kubernetes->pods, "/var/log/pods");
    *ret = kubernetes;
    *ret_fd = kubernetes->watches.fd;
    return 0;
}

static bool kubernetes_dispatch(void *state)
{
    struct kubernetes_source *kubernetes = state;
    bool changed = directory_watches_dispatch(&kubernetes->watches);

    if (kubernetes->links.full && kubernetes->links.list.n < NAME_LIST_MAX / 2)
        directory_watches_rescan(&kubernetes->watches);
    return changed;
}

static void kubernetes_close(void *state)
{
    struct kubernetes_source *kubernetes = state;

    directory_watches_done(&kubernetes->watches);
    name_list_clear(&kubernetes->links.list);
    name_list_clear(&kubernetes->pods.list);
    free(kubernetes);
}

const struct name_source name_source_kubernetes = {
    .open = kubernetes_open,
    .dispatch = kubernetes_dispatch,
    .find = kubernetes_find,
    .close = kubernetes_close,
};
