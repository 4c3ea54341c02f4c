/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/systemd-units.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "cgroups/directory-watch.h"
#include "cgroups/name-source.h"
#include "cgroups/path.h"

struct registered_machine {
    char *name;    /* "debian", "qemu-1-debian" */
    char *unit;    /* "machine-debian.scope", "systemd-nspawn@debian.service" */
    char *service; /* the program that registered the machine: "systemd-nspawn", "libvirt-qemu", or "" if unknown */
};

/* Empty if all members but `sys` are zero. */
struct machines {
    struct sys *sys;
    struct registered_machine *at;
    size_t n;
};

/* When this many descriptions are cached, all are dropped and read again when needed. */
#define UNIT_DESCRIPTIONS_MAX 4096

struct kept_description {
    char *unit; /* "ssh.service"; "1000/foo.service" if it belongs to a user's manager */
    char *text; /* the description; NULL if the unit has none */
};

/* Empty if all members but `sys` and `home` are zero. */
struct unit_descriptions {
    struct sys *sys;
    const char *home;            /* home directory of the user of this process; NULL: unknown */
    struct kept_description *at; /* descriptions, sorted by unit */
    size_t n;
};

/* Maximum number of machines; further ones are ignored. */
#define MACHINES_MAX 1024

static void unit_descriptions_clear(struct unit_descriptions *descriptions);

#define BLANKS " \t\r"
#define KEY "Description"

/* --- unit file --- */

/*
 * Returns the next line; a line that ends with a backslash is joined with the next one. Returns NULL at the end of the
 * text or when out of memory.
 */
static char *next_line(const char **at)
{
    struct buffer line = {0};

    while (**at) {
        const char *from = *at;
        size_t length = strcspn(from, "\n");
        char first = from[strspn(from, BLANKS)];
        *at += length + (from[length] == '\n');
        if (first == '#' || first == ';')
            continue;
        bool joins = length && from[length - 1] == '\\';
        buffer_append(&line, from, length - joins);
        if (!joins)
            return buffer_string(&line);
        buffer_append_char(&line, ' ');
    }
    if (line.size)
        return buffer_string(&line);
    buffer_done(&line);
    return NULL;
}

/* Returns the value of "Description = value", in `line`, or NULL if the line has another key. */
static char *find_value(char *line)
{
    size_t length = strlen(line);

    if (!str_starts(line, KEY))
        return NULL;
    char *value = line + strlen(KEY);
    value += strspn(value, BLANKS);
    if (*value != '=')
        return NULL;
    value += 1 + strspn(value + 1, BLANKS);
    while (length && strchr(BLANKS, line[length - 1]) && line + length > value)
        line[--length] = '\0';
    return value;
}

int unit_file_description(const char *text, char **ret)
{
    char *found = NULL, *line;
    bool in_unit = false, failed = false;

    while ((line = next_line(&text))) {
        char *begin = line + strspn(line, BLANKS);
        if (*begin == '[')
            in_unit = str_starts(begin, "[Unit]");
        char *value = in_unit ? find_value(begin) : NULL;
        if (value) {
            free(found);
            found = strdup(value);
            failed = !found;
        }
        free(line);
    }
    if (!found)
        return failed || *text ? -ENOMEM : -ENOENT;
    *ret = found;
    return 0;
}

/* --- specifiers --- */

/*
 * Returns the instance of a unit such as "getty@tty1.service": the text after "@". Returns NULL if the unit has no
 * instance.
 */
static const char *unit_file_instance(const char *unit)
{
    const char *at = strchr(unit, '@');
    return at ? at + 1 : NULL;
}

/* Unescapes like systemd-escape(1) --unescape, which turns "-" into "/". */
static void append_unescaped(struct buffer *buffer, const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        int byte = unit_escaped_byte(text + i, size - i);
        buffer_append_char(buffer, byte >= 0 ? (char)byte : text[i] == '-' ? '/' : text[i]);
        i += byte >= 0 ? 4 : 1;
    }
}

/* The parts of a unit's name. The sizes exclude the suffix. */
struct unit_parts {
    const char *name, *instance, *last; /* parts of the name; `last` follows the last "-" of the prefix */
    size_t size, prefix, instance_size, last_size;
};

static struct unit_parts split_unit(const char *unit)
{
    const char *dot = strrchr(unit, '.'), *instance = unit_file_instance(unit);
    struct unit_parts parts = {.name = unit, .size = dot ? (size_t)(dot - unit) : strlen(unit), .instance = ""};

    parts.prefix = parts.size;
    if (instance && instance <= unit + parts.size) {
        parts.prefix = (size_t)(instance - 1 - unit);
        parts.instance = instance;
        parts.instance_size = (size_t)(unit + parts.size - instance);
    }
    const char *dash = memrchr(unit, '-', parts.prefix);
    parts.last = dash ? dash + 1 : unit;
    parts.last_size = parts.prefix - (size_t)(parts.last - unit);
    return parts;
}

/* Appends the value of a specifier. Returns false if the value does not depend on the unit's name. */
static bool append_specifier(struct buffer *buffer, const struct unit_parts *parts, char specifier)
{
    const struct {
        char specifier;
        const char *text;
        size_t size;
        bool unescape;
    } table[] = {
        {'n', parts->name, strlen(parts->name), false},
        {'N', parts->name, parts->size, false},
        {'p', parts->name, parts->prefix, false},
        {'P', parts->name, parts->prefix, true},
        {'i', parts->instance, parts->instance_size, false},
        {'I', parts->instance, parts->instance_size, true},
        {'j', parts->last, parts->last_size, false},
        {'J', parts->last, parts->last_size, true},
        {'f', parts->instance_size ? parts->instance : parts->name,
         parts->instance_size ? parts->instance_size : parts->prefix, true},
        {'%', "%", 1, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        if (table[i].specifier != specifier)
            continue;
        if (specifier == 'f')
            buffer_append_char(buffer, '/');
        if (table[i].unescape)
            append_unescaped(buffer, table[i].text, table[i].size);
        else
            buffer_append(buffer, table[i].text, table[i].size);
        return true;
    }
    return false;
}

int unit_file_expand(const char *text, const char *unit, char **ret)
{
    struct unit_parts parts = split_unit(unit);
    struct buffer buffer = {0};

    for (; *text; text++)
        if (*text == '%' && append_specifier(&buffer, &parts, text[1]))
            text++;
        else
            buffer_append_char(&buffer, *text);
    char *expanded = buffer_string(&buffer);
    if (!expanded)
        return -ENOMEM;
    *ret = expanded;
    return 0;
}

/* --- unit search --- */

/*
 * A file for the full name takes precedence over the file of the template, and a drop-in over both. Of several
 * drop-ins, the one whose file name sorts last takes precedence; of two with the same file name, the one in the earlier
 * directory. Drop-ins are in "UNIT.d", in the template's ".d" directory, and in the ".d" directories of names that are
 * cut after a dash: "user-.slice.d" is for "user-1000.slice".
 */

#define DROP_INS_MAX 64
#define NAMES_MAX 16
#define KEY_SIZE (UNIT_NAME_SIZE + 11)

/* systemd.unit(5), "Unit File Search Path". "~" is the user's home, "&" the user's directory below /run/user. */
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

/* The file names to look for, and the directories in which to look. */
struct unit_search {
    struct sys *sys;
    const struct path_unit *unit;
    const char *home; /* home directory of the user; NULL unless the unit belongs to the user of this process */
    const char *const *places;
    size_t n_places;
    char names[NAMES_MAX][UNIT_NAME_SIZE]; /* the unit, its template, and names cut after a dash */
    size_t n_files, n_names; /* unit files are searched for under the first n_files names, drop-ins under all */
};

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

/* Makes the path of `name` in a directory. Returns -ENOENT if files in this directory must not be read. */
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

/*
 * Reads the description in a file; *ret is NULL if the file has none. Returns -ENOENT if the file cannot be read, or
 * -ENOMEM.
 */
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

/* Reads the description in the first file that exists. Returns -ENOENT if there is no file. */
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

/* Sorted by file name, without duplicates. */
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

/* Reads the description in the last drop-in that has one. Returns -ENOENT if no drop-in has one. */
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

/* --- descriptions --- */

/* Reads a unit's description; *ret is NULL if it has none. Returns -ENOMEM on failure. */
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

/*
 * Finds a unit's description, which is valid until the next call; *ret is NULL if it has none. Returns -ENOMEM on
 * failure.
 */
static int unit_descriptions_find(struct unit_descriptions *descriptions, const struct path_unit *unit,
                                  const char **ret)
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

/* Forgets the description of a unit that is gone, because the next unit with this name may have another one. */
static void unit_descriptions_forget(struct unit_descriptions *descriptions, const struct path_unit *unit)
{
    char key[KEY_SIZE];
    size_t at = description_position(descriptions, unit, key);

    if (!is_at(descriptions, at, key))
        return;
    kept_description_done(&descriptions->at[at]);
    descriptions->n--;
    memmove(descriptions->at + at, descriptions->at + at + 1, (descriptions->n - at) * sizeof(*descriptions->at));
}

static void unit_descriptions_clear(struct unit_descriptions *descriptions)
{
    for (size_t i = 0; i < descriptions->n; i++)
        kept_description_done(&descriptions->at[i]);
    free(descriptions->at);
    descriptions->at = NULL;
    descriptions->n = 0;
}

/* --- machines --- */

/*
 * machine_save() of systemd's src/machine/machine.c writes lines KEY=VALUE; in a value, a backslash makes the next
 * character stand for itself. The directory also contains links "unit:UNIT" to these files.
 */

#define DIRECTORY "/run/systemd/machines"

/* Returns a copy of the value of the line that begins with `key`, "" if there is none, or NULL if out of memory. */
static char *copy_value(const char *text, const char *key)
{
    const char *line = text;

    while (line && !str_starts(line, key)) {
        line = strchr(line, '\n');
        line += line ? 1 : 0;
    }
    line = line ? line + strlen(key) : "";
    char *value = malloc(strcspn(line, "\n") + 1), *to = value;
    for (; value && *line && *line != '\n'; line++) {
        line += line[0] == '\\' && line[1] && line[1] != '\n';
        *to++ = *line;
    }
    if (value)
        *to = '\0';
    return value;
}

static void registered_machine_done(struct registered_machine *machine)
{
    free(machine->name);
    free(machine->unit);
    free(machine->service);
}

/* Reads a machine's file. Returns -ENODATA if the machine has no unit of its own. */
static int load_machine(struct sys *sys, const char *name, struct registered_machine *ret)
{
    _cleanup_(freep) char *text = NULL;
    int r = sys_read_filef(sys, &text, DIRECTORY "/%s", name);

    if (r < 0)
        return r;
    struct registered_machine machine = {
        .name = strdup(name), .unit = copy_value(text, "SCOPE="), .service = copy_value(text, "SERVICE=")};
    r = machine.name && machine.unit && machine.service ? 0 : -ENOMEM;
    if (r == 0 && !machine.unit[0])
        r = -ENODATA;
    if (r < 0)
        registered_machine_done(&machine);
    else
        *ret = machine;
    return r;
}

static void machines_remove(struct machines *machines, const char *name)
{
    for (size_t i = 0; i < machines->n; i++) {
        if (!str_equal(machines->at[i].name, name))
            continue;
        registered_machine_done(&machines->at[i]);
        machines->at[i] = machines->at[--machines->n];
        return;
    }
}

/* Reads the machine's file again, and forgets the machine if there is no file. */
static void machines_update(struct machines *machines, const char *name)
{
    struct registered_machine machine;

    machines_remove(machines, name);
    if (strchr(name, ':') || machines->n >= MACHINES_MAX || load_machine(machines->sys, name, &machine) < 0)
        return;
    if (array_grow(&machines->at, machines->n) < 0)
        registered_machine_done(&machine);
    else
        machines->at[machines->n++] = machine;
}

static void machines_clear(struct machines *machines)
{
    for (size_t i = 0; i < machines->n; i++)
        registered_machine_done(&machines->at[i]);
    free(machines->at);
    machines->at = NULL;
    machines->n = 0;
}

/* Returns NULL if no machine has this unit. */
static const struct registered_machine *machines_find(const struct machines *machines, const char *unit)
{
    for (size_t i = 0; i < machines->n; i++)
        if (str_equal(machines->at[i].unit, unit))
            return &machines->at[i];
    return NULL;
}

/* --- source --- */

struct systemd_source {
    struct directory_watches watches;
    struct machines machines;
    struct unit_descriptions descriptions;
};

/* Maps the program that registered a machine to the name of its runtime. */
static const char *const services[][2] = {
    {"systemd-nspawn", "nspawn"},
    {"libvirt-qemu", "libvirt"},
    {"libvirt-lxc", "libvirt"},
    {"systemd-vmspawn", "vmspawn"},
};

static void machine_found(void *userdata, const char *name)
{
    struct systemd_source *systemd = userdata;

    machines_update(&systemd->machines, name);
}

static void machine_gone(void *userdata, const char *name)
{
    struct systemd_source *systemd = userdata;

    machines_remove(&systemd->machines, name);
}

static void machines_cleared(void *userdata)
{
    struct systemd_source *systemd = userdata;

    machines_clear(&systemd->machines);
}

static int set_text(struct names *names, enum name_kind kind, const char *text)
{
    return names_set(names, kind, text, strlen(text));
}

/*
 * libvirt registers the domain "debian" as the machine "qemu-1-debian"; the name in the path lacks the prefix with the
 * number.
 */
static int set_machine(const struct registered_machine *machine, struct names *names)
{
    const char *runtime = machine->service, *container = names->texts[NAME_CONTAINER];
    int r = 0;

    if (container && !str_ends(machine->name, container))
        return 0; /* the path belongs to a container inside the machine */
    for (size_t i = 0; i < ARRAY_SIZE(services); i++)
        if (str_equal(services[i][0], machine->service))
            runtime = services[i][1];
    if (!container)
        r = set_text(names, NAME_CONTAINER, machine->name);
    names->source = "systemd";
    return r == 0 && *runtime ? set_text(names, NAME_RUNTIME, runtime) : r;
}

static int systemd_find(void *state, const char *path, struct names *names)
{
    struct systemd_source *systemd = state;
    const char *id = names->texts[NAME_CONTAINER_ID], *description;
    struct path_unit unit;

    if (!path_find_unit(path, &unit))
        return 0;
    const struct registered_machine *machine = unit.of_user ? NULL : machines_find(&systemd->machines, unit.name);
    int r = machine && !id ? set_machine(machine, names) : 0;
    /* The description of a container's own unit contains nothing but its id. */
    if (r < 0 || (id && strstr(unit.name, id)))
        return r;
    r = unit_descriptions_find(&systemd->descriptions, &unit, &description);
    return r < 0 || !description ? r : set_text(names, NAME_DESCRIPTION, description);
}

static void systemd_forget(void *state, const char *path)
{
    struct systemd_source *systemd = state;
    struct path_unit unit;

    if (path_find_unit(path, &unit) && unit.is_last)
        unit_descriptions_forget(&systemd->descriptions, &unit);
}

static int systemd_open(struct sys *sys, const struct state_files *files, void **ret, int *ret_fd)
{
    struct systemd_source *systemd = calloc(1, sizeof(*systemd));
    struct directory_listener listener = {systemd, machine_found, machine_gone, machines_cleared};

    (void)files;
    if (!systemd)
        return -ENOMEM;
    systemd->machines.sys = sys;
    systemd->descriptions.sys = sys;
    systemd->descriptions.home = getenv("HOME");
    directory_watches_init(&systemd->watches, sys);
    directory_watches_add(&systemd->watches, "/run/systemd/machines", &listener);
    *ret = systemd;
    *ret_fd = systemd->watches.fd;
    return 0;
}

static bool systemd_dispatch(void *state)
{
    struct systemd_source *systemd = state;

    return directory_watches_dispatch(&systemd->watches);
}

static void systemd_close(void *state)
{
    struct systemd_source *systemd = state;

    directory_watches_done(&systemd->watches);
    machines_clear(&systemd->machines);
    unit_descriptions_clear(&systemd->descriptions);
    free(systemd);
}

const struct name_source name_source_systemd = {
    .open = systemd_open,
    .dispatch = systemd_dispatch,
    .find = systemd_find,
    .forget = systemd_forget,
    .close = systemd_close,
};
