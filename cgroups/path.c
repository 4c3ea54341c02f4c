/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/path.h"

#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cgroups/state-files.h"

/* --- names --- */

/*
 * Units are directories with the unit's name: systemd.unit(5) lists the suffixes, and systemd's control-group
 * documentation (https://systemd.io/CGROUP_DELEGATION/) says which types have cgroups. Inside a unit that delegates,
 * and so inside a container, unit names may appear again; the innermost unit is the one to which the processes belong.
 */

/* A component of a path, or a part of one; not NUL-terminated. */
struct component {
    const char *text;
    size_t length;
};

/* The result of the path components parsed so far. */
struct path_walk {
    struct component unit, slice, id, container;
    bool escaped; /* the container's name is part of a unit's name and escaped like it */
    const char *runtime;
    bool nested; /* the container is in another container */
};

/* Suffixes of the units that have cgroups, except slices. */
static const char *const unit_suffixes[] = {".service", ".scope", ".socket", ".mount", ".swap"};

/*
 * The names of containers' cgroups, as a prefix and a suffix around an id. With the systemd driver, the name is
 * "docker-ID.scope". With the cgroupfs driver, it is "/docker/ID": the parent directory names the runtime, if anything
 * does (on Kubernetes, ".../podUID/ID"). Anything may precede a prefix that begins with ":": runc creates a plain
 * cgroup "SLICE:RUNTIME:ID" if it gets a name for the systemd driver but does not use that driver.
 */
static const struct {
    const char *prefix, *suffix, *parent, *runtime;
} id_forms[] = {
    {"docker-", ".scope", NULL, "docker"},
    {"cri-containerd-", ".scope", NULL, "containerd"},
    {"nerdctl-", ".scope", NULL, "containerd"},
    {"crio-", ".scope", NULL, "cri-o"},
    {"crio-", "", NULL, "cri-o"},
    {"libpod-", ".scope", NULL, "podman"},
    {"libpod-", "", NULL, "podman"},
    {"libpod-payload-", "", NULL, "podman"},
    {":docker:", "", NULL, "docker"},
    {":cri-containerd:", "", NULL, "containerd"},
    {":crio:", "", NULL, "cri-o"},
    {":libpod:", "", NULL, "podman"},
    {"", "", "docker", "docker"},
    {"", "", "default", "containerd"},
    {"", "", NULL, NULL},
};

/*
 * The forms of containers that are identified by name. LXC, and so Incus and LXD: lxc.cgroup.dir.container in
 * lxc.container.conf(5), and "/lxc/NAME" before LXC 4.0. systemd-nspawn and libvirt: machine.slice of
 * systemd-machined(8), and "/machine/NAME.libvirt-qemu" without systemd (https://libvirt.org/cgroups.html).
 * containerd's ctr: "/NAMESPACE/NAME", which is only recognized for its default namespace.
 */
static const struct {
    const char *prefix, *suffix, *parent, *runtime;
    const char *dash; /* how libvirt writes "-" in the name; NULL: not a libvirt form */
    bool at_root;     /* `parent` must be the first component of the path */
} name_forms[] = {
    {"lxc.payload.", "", NULL, "lxc", NULL, false},
    {"", "", "lxc", "lxc", NULL, false},
    {"systemd-nspawn@", ".service", NULL, "nspawn", NULL, false},
    {"machine-", ".scope", NULL, NULL, "\\x2d", false},
    {"", ".libvirt-qemu", NULL, "libvirt", "-", false},
    {"", ".libvirt-lxc", NULL, "libvirt", "-", false},
    {"", "", "default", "containerd", NULL, true},
};

static bool component_is(struct component component, const char *text)
{
    return component.length == strlen(text) && memcmp(component.text, text, component.length) == 0;
}

static bool component_starts_with(struct component component, const char *prefix)
{
    size_t length = strlen(prefix);
    return component.length > length && memcmp(component.text, prefix, length) == 0;
}

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

/* systemd's cg_escape() puts "_" before names that could be mistaken for kernel files. */
static struct component as_unit(struct component component)
{
    size_t escape = component.length > 0 && component.text[0] == '_';
    return (struct component){component.text + escape, component.length - escape};
}

static bool is_id(const char *text)
{
    return strspn(text, "0123456789abcdef") >= STATE_ID_LENGTH;
}

/* Sets the container's id if the component has an id. Returns whether it has one. */
static bool take_id(struct path_walk *walk, struct component component, struct component parent)
{
    for (size_t i = 0; i < ARRAY_SIZE(id_forms); i++) {
        const char *prefix = id_forms[i].prefix, *suffix = id_forms[i].suffix;
        size_t before = strlen(prefix), around = before + STATE_ID_LENGTH + strlen(suffix);
        if (prefix[0] == ':' ? component.length < around : component.length != around)
            continue;
        const char *id = component.text + component.length - around + before;
        if (memcmp(id - before, prefix, before) != 0 || !is_id(id) ||
            memcmp(id + STATE_ID_LENGTH, suffix, strlen(suffix)) != 0 ||
            (id_forms[i].parent && !component_is(parent, id_forms[i].parent)))
            continue;
        walk->nested |= walk->container.length || (walk->id.length && memcmp(walk->id.text, id, STATE_ID_LENGTH) != 0);
        walk->id = (struct component){id, STATE_ID_LENGTH};
        walk->container = (struct component){"", 0};
        walk->runtime = id_forms[i].runtime;
        return true;
    }
    return false;
}

/*
 * libvirt's machine names begin with the driver and a number: "qemu-1-". Returns the length of that prefix, or 0.
 * `dash` is how "-" is written in the name.
 */
static size_t libvirt_prefix(struct component name, const char *dash)
{
    static const char *const drivers[] = {"qemu", "lxc", "xen", "ch"};

    for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
        char prefix[16];
        size_t length = (size_t)snprintf(prefix, sizeof(prefix), "%s%s", drivers[i], dash);
        if (!component_starts_with(name, prefix))
            continue;
        size_t digits = strspn(name.text + length, "0123456789"), end = length + digits + strlen(dash);
        if (digits && end < name.length && memcmp(name.text + length + digits, dash, strlen(dash)) == 0)
            return end;
    }
    return 0;
}

/* Sets the container's name if the component has one. */
static void take_container(struct path_walk *walk, struct component component, struct component parent, size_t depth)
{
    for (size_t i = 0; i < ARRAY_SIZE(name_forms); i++) {
        const char *prefix = name_forms[i].prefix, *suffix = name_forms[i].suffix;
        if (component.length <= strlen(prefix) + strlen(suffix) ||
            (*prefix && !component_starts_with(component, prefix)) ||
            (*suffix && !component_ends_with(component, suffix)) ||
            (name_forms[i].parent && !component_is(parent, name_forms[i].parent)) ||
            (name_forms[i].at_root && depth != 1))
            continue;
        struct component name = {component.text + strlen(prefix), component.length - strlen(prefix) - strlen(suffix)};
        size_t libvirt = name_forms[i].dash ? libvirt_prefix(name, name_forms[i].dash) : 0;
        walk->nested |= walk->container.length || walk->id.length;
        walk->id = (struct component){"", 0};
        walk->container = (struct component){name.text + libvirt, name.length - libvirt};
        walk->escaped = is_unit(component);
        walk->runtime = libvirt ? "libvirt" : name_forms[i].runtime;
        return;
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int unit_escaped_byte(const char *text, size_t size)
{
    if (size < 4 || text[0] != '\\' || text[1] != 'x')
        return -1;
    int high = hex_digit(text[2]), low = hex_digit(text[3]);
    return high < 0 || low < 0 || (high | low) == 0 ? -1 : high << 4 | low;
}

/* A "-" is kept: it stands for a slash only in names that were made from paths. */
static int set_unescaped(struct names *names, enum name_kind kind, struct component component)
{
    char text[NAME_SIZE_MAX];
    size_t size = MIN(component.length, sizeof(text)), n = 0;

    for (size_t i = 0; i < size;) {
        int byte = unit_escaped_byte(component.text + i, size - i);
        text[n++] = byte < 0 ? component.text[i] : (char)byte;
        i += byte < 0 ? 1 : 4;
    }
    return names_set(names, kind, text, n);
}

/* Returns the next component from `*at` on, or false at the end of the path. */
static bool next_component(const char **at, struct component *ret)
{
    *at += strspn(*at, "/");
    if (!**at)
        return false;
    *ret = (struct component){.text = *at, .length = strcspn(*at, "/")};
    *at += ret->length;
    return true;
}

static int set_found(struct names *names, const struct path_walk *walk)
{
    int r = set_unescaped(names, NAME_UNIT, as_unit(walk->unit));

    if (r == 0)
        r = set_unescaped(names, NAME_SLICE, as_unit(walk->slice));
    if (r == 0)
        r = names_set(names, NAME_CONTAINER_ID, walk->id.text, walk->id.length);
    if (r == 0 && walk->escaped)
        r = set_unescaped(names, NAME_CONTAINER, walk->container);
    else if (r == 0)
        r = names_set(names, NAME_CONTAINER, walk->container.text, walk->container.length);
    if (r == 0 && walk->runtime)
        r = names_set(names, NAME_RUNTIME, walk->runtime, strlen(walk->runtime));
    names->source = names->texts[NAME_CONTAINER] ? "path" : NULL;
    return r;
}

/* Walks through the components before `end`, or through all components if `end` is NULL. */
static struct path_walk walk_path(const char *path, const char *end)
{
    static const struct component none = {"", 0};
    struct path_walk walk = {.unit = none, .slice = none, .id = none, .container = none};
    struct component component, parent = none;

    for (size_t depth = 0; next_component(&path, &component) && (!end || path <= end); depth++) {
        if (!take_id(&walk, component, parent))
            take_container(&walk, component, parent, depth);
        if (component_ends_with(component, ".slice"))
            walk.slice = component;
        else if (is_unit(component))
            walk.unit = component;
        parent = component;
    }
    return walk;
}

int names_from_path(struct names *names, const char *path)
{
    struct path_walk walk = walk_path(path, NULL);
    return set_found(names, &walk);
}

bool path_is_nested(const char *path)
{
    return walk_path(path, NULL).nested;
}

bool path_is_in_container(const char *path, const char *part)
{
    struct path_walk walk = walk_path(path, part);
    return walk.id.length || walk.container.length;
}

/* Reads the UID between `prefix` and `suffix` in the component. */
static bool read_user(struct component component, const char *prefix, const char *suffix, uint32_t *ret)
{
    uint64_t user = 0;

    if (!component_starts_with(component, prefix) || !component_ends_with(component, suffix) ||
        component.length <= strlen(prefix) + strlen(suffix))
        return false;
    for (size_t i = strlen(prefix); i < component.length - strlen(suffix); i++) {
        char digit = component.text[i];
        user = user * 10 + (uint64_t)(digit - '0');
        if (digit < '0' || digit > '9' || user >= UINT32_MAX)
            return false;
    }
    *ret = (uint32_t)user;
    return true;
}

bool path_find_user(const char *path, uint32_t *ret)
{
    struct component component;

    return next_component(&path, &component) && component_is(component, "user.slice") &&
           next_component(&path, &component) && read_user(component, "user-", ".slice", ret);
}

/*
 * A service manager creates slices, and units in them. Cgroups below a unit are created by others, such as a user's
 * service manager.
 */
bool path_find_unit(const char *path, struct path_unit *ret)
{
    struct path_unit found = {0};
    bool manages = true, is_user = false;
    struct component component;

    while (next_component(&path, &component)) {
        bool is_slice = component_ends_with(component, ".slice");
        found.is_last = false;
        if (!manages || (!is_slice && !is_unit(component)) || component.length >= sizeof(found.name))
            break;
        component = as_unit(component);
        memcpy(found.name, component.text, component.length);
        found.name[component.length] = '\0';
        found.of_user = is_user;
        found.is_last = true;
        manages = is_slice;
        if (!is_user && !is_slice && read_user(component, "user@", ".service", &found.user))
            manages = is_user = true;
    }
    if (found.name[0])
        *ret = found;
    return found.name[0] != '\0';
}

/* --- label --- */

#define TAIL "#"

/*
 * Appends a suffix with two characters for each U+FFFD of the label, so that no two paths get the same label and
 * suffix.
 */
static void append_suffix(struct buffer *label, const char *path)
{
    size_t size = strlen(path);
    const char *separator = TAIL;

    for (size_t at = 0; at < size;) {
        size_t length = utf8_printable_character(path + at, size - at);
        bool replaced = length == 0, is_replacement = str_starts(path + at, UTF8_REPLACEMENT);
        if (replaced || is_replacement) {
            buffer_append_text(label, separator);
            separator = "";
        }
        if (replaced)
            buffer_appendf(label, "%02x", (unsigned char)path[at]);
        else if (is_replacement)
            buffer_append_text(label, "--");
        at += MAX(length, (size_t)1);
    }
}

int cgroup_label(const char *path, enum cgroup_label kind, char **ret)
{
    _cleanup_(buffer_done) struct buffer label = {0};

    escape_append(&label, path, ESCAPE_NOTHING);
    if (kind == CGROUP_LABEL_DISTINCT)
        append_suffix(&label, path);
    char *text = buffer_string(&label);
    if (!text)
        return -ENOMEM;
    *ret = text;
    return 0;
}

bool cgroup_label_is_ambiguous(const char *label)
{
    return strstr(label, UTF8_REPLACEMENT) != NULL;
}

int cgroup_label_choose(const char *path, bool (*is_taken)(const void *userdata, const char *label),
                        const void *userdata, char **ret)
{
    bool is_printable = utf8_printable_prefix(path, strlen(path)) == strlen(path);
    _cleanup_(freep) char *label = NULL, *distinct = NULL;
    int r = cgroup_label(path, CGROUP_LABEL_PLAIN, &label);

    /* A label without U+FFFD is the path itself, which no other cgroup has. */
    if (r == 0 && cgroup_label_is_ambiguous(label) && (is_printable || is_taken(userdata, label))) {
        r = cgroup_label(path, CGROUP_LABEL_DISTINCT, &distinct);
        if (r == 0 && is_taken(userdata, distinct))
            r = -EEXIST;
    }
    if (r == 0)
        *ret = distinct ? steal(distinct) : steal(label);
    return r;
}
