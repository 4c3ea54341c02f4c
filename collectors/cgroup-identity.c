/* SPDX-License-Identifier: Apache-2.0 */
/* What a cgroup's path says of systemd units and containers: see cgroup-identity.h. */
#include "collectors/cgroup-identity.h"

#include "base/number.h"

#define CONTAINER_ID_SIZE 64

/* How the runtimes name a container's cgroup around its id; systemd's driver makes scopes, cgroupfs bare ids. */
static const struct {
    const char *prefix, *suffix;
} containers[] = {
    {"", ""}, {"docker-", ".scope"}, {"cri-containerd-", ".scope"}, {"crio-", ".scope"}, {"libpod-", ".scope"},
};

static const char *const unit_suffixes[] = {".service", ".scope", ".mount", ".socket", ".swap"};

static bool ends_with(const char *text, size_t size, const char *suffix)
{
    size_t n = strlen(suffix);

    return size > n && memcmp(text + size - n, suffix, n) == 0;
}

static bool is_unit(const char *name, size_t size)
{
    for (size_t i = 0; i < ARRAY_SIZE(unit_suffixes); i++)
        if (ends_with(name, size, unit_suffixes[i]))
            return true;
    return false;
}

/* "\x2d" is "-", as systemd-escape(1) has it. */
static int assign(char **ret, const char *name, size_t size)
{
    char *text = malloc(size + 1), *to = text;
    uint64_t byte;

    if (!text)
        return -ENOMEM;
    for (size_t i = 0; i < size; i++) {
        bool escaped = size - i >= 4 && name[i] == '\\' && name[i + 1] == 'x' &&
                       number_parse_hex_n(name + i + 2, 2, &byte) == 0 && byte != 0;
        *to++ = escaped ? (char)byte : name[i];
        i += escaped ? 3 : 0;
    }
    *to = '\0';
    free(*ret);
    *ret = text;
    return 0;
}

static const char *find_container_id(const char *name, size_t size)
{
    for (size_t i = 0; i < ARRAY_SIZE(containers); i++) {
        size_t before = strlen(containers[i].prefix), after = strlen(containers[i].suffix);
        if (size != before + CONTAINER_ID_SIZE + after || memcmp(name, containers[i].prefix, before) != 0 ||
            memcmp(name + size - after, containers[i].suffix, after) != 0)
            continue;
        if (strspn(name + before, "0123456789abcdef") >= CONTAINER_ID_SIZE)
            return name + before;
    }
    return NULL;
}

static int take(struct cgroup_identity *identity, const char *name, size_t size)
{
    const char *id = find_container_id(name, size);
    int r = id ? assign(&identity->container_id, id, CONTAINER_ID_SIZE) : 0;

    if (r == 0 && is_unit(name, size))
        r = assign(&identity->unit, name, size);
    if (r == 0 && ends_with(name, size, ".slice"))
        r = assign(&identity->slice, name, size);
    return r;
}

void cgroup_identity_done(struct cgroup_identity *identity)
{
    free(identity->unit);
    free(identity->slice);
    free(identity->container_id);
    *identity = (struct cgroup_identity){0};
}

int cgroup_identify(const char *path, struct cgroup_identity *ret)
{
    struct cgroup_identity identity = {.unit = strdup(""), .slice = strdup(""), .container_id = strdup("")};
    int r = identity.unit && identity.slice && identity.container_id ? 0 : -ENOMEM;

    for (const char *name = path; r == 0 && *name; name += strcspn(name, "/")) {
        name += strspn(name, "/");
        r = take(&identity, name, strcspn(name, "/"));
    }
    if (r < 0) {
        cgroup_identity_done(&identity);
        return r;
    }
    *ret = identity;
    return 0;
}
