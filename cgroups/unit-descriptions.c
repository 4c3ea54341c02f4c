/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions of systemd's units: see unit-descriptions.h.
 *
 * A file for the whole name goes before that of the template; a drop-in goes before the file, the drop-in whose name is
 * the last before others, and of two with one name that of the directory that comes first. A drop-in is in "UNIT.d", in
 * that of the template, or in one whose name ends at a dash: "user-.slice.d" is for "user-1000.slice".
 */
#include "cgroups/unit-descriptions.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cgroups/unit-file.h"

#define DROP_INS_MAX 64
#define NAMES_MAX 16
#define KEY_SIZE (UNIT_NAME_SIZE + 11)

/* systemd.unit(5), "Unit File Search Path": "~" is the home of the user, "&" the directory below /run/user. */
static const char *const system_places[] = {
    "/etc/systemd/system.control",   "/run/systemd/system.control",  "/run/systemd/transient",
    "/run/systemd/generator.early",  "/etc/systemd/system",          "/etc/systemd/system.attached",
    "/run/systemd/system",           "/run/systemd/system.attached", "/run/systemd/generator",
    "/usr/local/lib/systemd/system", "/lib/systemd/system",          "/usr/lib/systemd/system",
    "/run/systemd/generator.late",
};

static const char *const user_places[] = {
    "~/.config/systemd/user.control",
    "&/systemd/user.control",
    "&/systemd/transient",
    "&/systemd/generator.early",
    "~/.config/systemd/user",
    "/etc/xdg/systemd/user",
    "/etc/systemd/user",
    "&/systemd/user",
    "/run/systemd/user",
    "&/systemd/generator",
    "~/.local/share/systemd/user",
    "/usr/local/share/systemd/user",
    "/usr/share/systemd/user",
    "/usr/local/lib/systemd/user",
    "/lib/systemd/user",
    "/usr/lib/systemd/user",
    "&/systemd/generator.late",
};

/* The names to look for, and the places. */
struct unit_search {
    struct sys *sys;
    const struct path_unit *unit;
    const char *home; /* NULL where the unit is not of the user that this process runs as */
    const char *const *places;
    size_t n_places;
    char names[NAMES_MAX][UNIT_NAME_SIZE]; /* the unit, its template, names that end at a dash */
    size_t n_files, n_names;               /* the first of them have files; all have drop-ins */
};

/* --- the names --- */

static void search_add_name(struct unit_search *search, const char *start, size_t size, const char *suffix)
{
    if (search->n_names < NAMES_MAX && size + strlen(suffix) < UNIT_NAME_SIZE)
        snprintf(search->names[search->n_names++], UNIT_NAME_SIZE, "%.*s%s", (int)size, start, suffix);
}

static struct unit_search search_begin(const struct unit_descriptions *descriptions, const struct path_unit *unit)
{
    const char *name = unit->name, *instance = unit_file_instance(name), *suffix = strrchr(name, '.');
    struct unit_search search = {.sys = descriptions->sys, .unit = unit};
    size_t prefix = instance ? (size_t)(instance - 1 - name) : (size_t)(suffix - name);

    search.places = unit->of_user ? user_places : system_places;
    search.n_places = unit->of_user ? ARRAY_SIZE(user_places) : ARRAY_SIZE(system_places);
    search.home = unit->of_user && unit->user == geteuid() ? descriptions->home : NULL;
    search_add_name(&search, name, strlen(name), "");
    if (instance)
        search_add_name(&search, name, prefix + 1, suffix);
    search.n_files = search.n_names;
    for (size_t i = prefix; i > 1; i--)
        if (name[i - 1] == '-')
            search_add_name(&search, name, i, suffix);
    return search;
}

/* -ENOENT where it is not read. */
static int search_path(const struct unit_search *search, size_t place, const char *name, char *ret, size_t size)
{
    const char *path = search->places[place];
    int n;

    if ((path[0] == '~' || path[0] == '&') && !search->home)
        return -ENOENT;
    if (path[0] == '~')
        n = snprintf(ret, size, "%s%s/%s", search->home, path + 1, name);
    else if (path[0] == '&')
        n = snprintf(ret, size, "/run/user/%" PRIu32 "%s/%s", search->unit->user, path + 1, name);
    else
        n = snprintf(ret, size, "%s/%s", path, name);
    return n < 0 || (size_t)n >= size ? -ENOENT : 0;
}

/* --- the unit's file --- */

/* Of a file: 0 and NULL where it is one without a description. */
static int read_description(struct sys *sys, const char *path, char **ret)
{
    _cleanup_(freep) char *text = NULL;
    char *found = NULL;
    int r = sys_read_file(sys, path, &text);

    if (r == 0)
        r = unit_file_description(text, &found);
    else if (r != -ENOMEM)
        return -ENOENT;
    if (r < 0 && r != -ENOENT)
        return r;
    *ret = found;
    return 0;
}

/* The first file there is. -ENOENT. */
static int find_in_file(const struct unit_search *search, char **ret)
{
    char path[PATH_MAX];

    for (size_t n = 0; n < search->n_files; n++)
        for (size_t i = 0; i < search->n_places; i++) {
            if (search_path(search, i, search->names[n], path, sizeof(path)) < 0)
                continue;
            int r = read_description(search->sys, path, ret);
            if (r != -ENOENT)
                return r;
        }
    return -ENOENT;
}

/* --- drop-ins --- */

/* Sorted by the files' names, each once. */
struct drop_in_list {
    char *paths[DROP_INS_MAX];
    size_t n;
};

static void drop_ins_done(struct drop_in_list *drop_ins)
{
    for (size_t i = 0; i < drop_ins->n; i++)
        free(drop_ins->paths[i]);
}

static const char *file_name(const char *path)
{
    return strrchr(path, '/') + 1;
}

static int drop_ins_add(struct drop_in_list *drop_ins, const char *directory, const char *name)
{
    size_t at = array_search(drop_ins->n, i, strcmp(file_name(drop_ins->paths[i]), name) < 0);
    char path[PATH_MAX];

    if (drop_ins->n == DROP_INS_MAX || !str_ends(name, ".conf") ||
        (at < drop_ins->n && str_equal(file_name(drop_ins->paths[at]), name)))
        return 0;
    int n = snprintf(path, sizeof(path), "%s/%s", directory, name);
    if (n < 0 || (size_t)n >= sizeof(path))
        return 0;
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    memmove(drop_ins->paths + at + 1, drop_ins->paths + at, (drop_ins->n - at) * sizeof(*drop_ins->paths));
    drop_ins->paths[at] = copy;
    drop_ins->n++;
    return 0;
}

static int list_drop_ins(const struct unit_search *search, size_t place, const char *name,
                         struct drop_in_list *drop_ins)
{
    char directory[UNIT_NAME_SIZE + 2], path[PATH_MAX], **names;
    size_t n;

    snprintf(directory, sizeof(directory), "%s.d", name);
    if (search_path(search, place, directory, path, sizeof(path)) < 0)
        return 0;
    int r = sys_list_directory(search->sys, path, &names, &n);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = drop_ins_add(drop_ins, path, names[i]);
    strings_free(names, n);
    return r;
}

/* Of the last drop-in that has one. -ENOENT. */
static int find_in_drop_ins(const struct unit_search *search, char **ret)
{
    _cleanup_(drop_ins_done) struct drop_in_list drop_ins = {0};
    int r = 0;

    for (size_t i = 0; i < search->n_places && r == 0; i++)
        for (size_t n = 0; n < search->n_names && r == 0; n++)
            r = list_drop_ins(search, i, search->names[n], &drop_ins);
    for (size_t i = drop_ins.n; i > 0 && r == 0; i--) {
        char *found = NULL;
        r = read_description(search->sys, drop_ins.paths[i - 1], &found);
        if (r == -ENOENT)
            r = 0;
        if (!found)
            continue;
        *ret = found;
        return 0;
    }
    return r < 0 ? r : -ENOENT;
}

/* --- what is kept --- */

/* *ret is NULL where the unit has none. -ENOMEM. */
static int load_description(const struct unit_descriptions *descriptions, const struct path_unit *unit, char **ret)
{
    struct unit_search search = search_begin(descriptions, unit);
    _cleanup_(freep) char *text = NULL;
    int r = find_in_drop_ins(&search, &text);

    if (r == -ENOENT)
        r = find_in_file(&search, &text);
    if (r < 0 && r != -ENOENT)
        return r;
    if (text && *text)
        return unit_file_expand(text, unit->name, ret);
    *ret = NULL;
    return 0;
}

static size_t description_position(const struct unit_descriptions *descriptions, const struct path_unit *unit,
                                   char key[KEY_SIZE])
{
    if (unit->of_user)
        snprintf(key, KEY_SIZE, "%" PRIu32 "/%s", unit->user, unit->name);
    else
        snprintf(key, KEY_SIZE, "%s", unit->name);
    return array_search(descriptions->n, i, strcmp(descriptions->at[i].unit, key) < 0);
}

static bool is_at(const struct unit_descriptions *descriptions, size_t at, const char *key)
{
    return at < descriptions->n && str_equal(descriptions->at[at].unit, key);
}

static int keep_description(struct unit_descriptions *descriptions, size_t at, const char *key, char *text)
{
    struct kept_description kept = {.unit = strdup(key), .text = text};

    if (!kept.unit || array_grow(&descriptions->at, descriptions->n) < 0) {
        free(kept.unit);
        return -ENOMEM;
    }
    memmove(descriptions->at + at + 1, descriptions->at + at, (descriptions->n - at) * sizeof(*descriptions->at));
    descriptions->at[at] = kept;
    descriptions->n++;
    return 0;
}

int unit_descriptions_find(struct unit_descriptions *descriptions, const struct path_unit *unit, const char **ret)
{
    _cleanup_(freep) char *text = NULL;
    char key[KEY_SIZE];

    if (descriptions->n >= UNIT_DESCRIPTIONS_MAX)
        unit_descriptions_clear(descriptions);
    size_t at = description_position(descriptions, unit, key);
    if (!is_at(descriptions, at, key)) {
        int r = load_description(descriptions, unit, &text);
        if (r == 0)
            r = keep_description(descriptions, at, key, text);
        if (r < 0)
            return r;
        text = NULL;
    }
    *ret = descriptions->at[at].text;
    return 0;
}

static void kept_description_done(struct kept_description *kept)
{
    free(kept->unit);
    free(kept->text);
}

void unit_descriptions_forget(struct unit_descriptions *descriptions, const struct path_unit *unit)
{
    char key[KEY_SIZE];
    size_t at = description_position(descriptions, unit, key);

    if (!is_at(descriptions, at, key))
        return;
    kept_description_done(&descriptions->at[at]);
    descriptions->n--;
    memmove(descriptions->at + at, descriptions->at + at + 1, (descriptions->n - at) * sizeof(*descriptions->at));
}

void unit_descriptions_clear(struct unit_descriptions *descriptions)
{
    for (size_t i = 0; i < descriptions->n; i++)
        kept_description_done(&descriptions->at[i]);
    free(descriptions->at);
    descriptions->at = NULL;
    descriptions->n = 0;
}
