/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that a cgroup's path has: see path.h.
 *
 * Units are directories of the unit's name: systemd.unit(5) has the suffixes, and systemd's control-group documentation
 * (https://systemd.io/CGROUP_DELEGATION/) says which types have cgroups. In a unit that delegates, and so in a
 * container, systemd's names may appear again; the innermost unit is the one that runs.
 */
#include "collectors/names/path.h"

#include "base/cleanup.h"

#define ID_LENGTH 64

/* A component of the path. */
struct component {
    const char *text;
    size_t length;
};

/* Units other than slices that have cgroups. */
static const char *const unit_suffixes[] = {".service", ".scope", ".socket", ".mount", ".swap"};

/*
 * How the names of containers' cgroups begin and end: "docker-ID.scope" with systemd's driver, "/docker/ID" with that
 * of plain cgroups, where the runtime is named by the directory above or not at all (Kubernetes: ".../podUID/ID").
 */
static const struct {
    const char *prefix, *suffix;
} container_names[] = {
    {"docker-", ".scope"},
    {"cri-containerd-", ".scope"},
    {"nerdctl-", ".scope"},
    {"crio-", ".scope"},
    {"crio-", ""},
    {"libpod-", ".scope"},
    {"libpod-", ""},
    {"libpod-payload-", ""},
    {"", ""},
};

static bool component_ends_with(struct component component, const char *suffix)
{
    size_t length = strlen(suffix);
    return component.length > length && memcmp(component.text + component.length - length, suffix, length) == 0;
}

static bool is_unit(struct component component)
{
    for (size_t i = 0; i < ARRAY_SIZE(unit_suffixes); i++)
        if (component_ends_with(component, unit_suffixes[i]))
            return true;
    return false;
}

static bool is_id(const char *text)
{
    return strspn(text, "0123456789abcdef") >= ID_LENGTH;
}

/* The container's id in a component, NULL where there is none. */
static const char *find_id(struct component component)
{
    for (size_t i = 0; i < ARRAY_SIZE(container_names); i++) {
        size_t prefix = strlen(container_names[i].prefix), suffix = strlen(container_names[i].suffix);
        if (component.length != prefix + ID_LENGTH + suffix)
            continue;
        const char *id = component.text + prefix;
        if (memcmp(component.text, container_names[i].prefix, prefix) == 0 && is_id(id) &&
            memcmp(id + ID_LENGTH, container_names[i].suffix, suffix) == 0)
            return id;
    }
    return NULL;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte of "\x2d" at the start of `text`; -1 where there is none. A NUL ends the text and is not taken. */
static int escaped_byte(const char *text, size_t length)
{
    if (length < 4 || text[0] != '\\' || text[1] != 'x')
        return -1;
    int high = hex_digit(text[2]), low = hex_digit(text[3]);
    return high < 0 || low < 0 || (high | low) == 0 ? -1 : high << 4 | low;
}

/* A "-" stays: only where a name was made of a path does it stand for a slash. */
static int set_unescaped(struct names *names, enum name_kind kind, struct component component)
{
    char text[NAME_SIZE_MAX];
    size_t size = MIN(component.length, sizeof(text)), n = 0;

    /* systemd's cg_escape() puts "_" before names that could be taken for one of the kernel's files. */
    for (size_t i = size && component.text[0] == '_'; i < size;) {
        int byte = escaped_byte(component.text + i, size - i);
        text[n++] = byte < 0 ? component.text[i] : (char)byte;
        i += byte < 0 ? 1 : 4;
    }
    return names_set(names, kind, text, n);
}

/* The next component from `*at` on; false at the end of the path. */
static bool next_component(const char **at, struct component *ret)
{
    *at += strspn(*at, "/");
    if (!**at)
        return false;
    *ret = (struct component){.text = *at, .length = strcspn(*at, "/")};
    *at += ret->length;
    return true;
}

int names_from_path(struct names *names, const char *path)
{
    struct component component, unit = {"", 0}, slice = {"", 0}, id = {"", 0};

    while (next_component(&path, &component)) {
        const char *found = find_id(component);
        if (found)
            id = (struct component){found, ID_LENGTH};
        if (component_ends_with(component, ".slice"))
            slice = component;
        else if (is_unit(component))
            unit = component;
    }
    int r = set_unescaped(names, NAME_UNIT, unit);
    if (r == 0)
        r = set_unescaped(names, NAME_SLICE, slice);
    return r < 0 ? r : names_set(names, NAME_CONTAINER_ID, id.text, id.length);
}
