/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses arbitrary bytes as the path of a cgroup and, after the first NUL, a unit file: names are short and printable.
 */
#include "base/text.h"
#include "cgroups/path.h"
#include "cgroups/systemd-units.h"
#include "tests/fuzz/fuzz.h"

static void check_names(const char *path)
{
    _cleanup_(names_done) struct names names = {0};

    assert(names_from_path(&names, path) == 0);
    for (size_t i = 0; i < N_NAME_KINDS; i++) {
        const char *text = names.texts[i] ? names.texts[i] : "x";
        assert(*text && strlen(text) <= NAME_SIZE_MAX && utf8_printable_prefix(text, strlen(text)) == strlen(text));
    }
    const char *id = names.texts[NAME_CONTAINER_ID];
    assert(!id || (strlen(id) == 64 && strspn(id, "0123456789abcdef") == 64 && strstr(path, id)));
    assert(!id || !names.texts[NAME_CONTAINER]);
}

static void check_file(const char *text, const char *unit)
{
    _cleanup_(freep) char *found = NULL, *expanded = NULL;
    int r = unit_file_description(text, &found);

    assert(r == -ENOENT || (r == 0 && strlen(found) <= strlen(text) && !strchr(found, '\n')));
    assert(unit_file_expand(found ? found : text, unit, &expanded) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *file;
    _cleanup_(freep) char *text = copy_texts(data, size, &file);
    struct path_unit unit = {0};
    uint32_t user = 0;

    check_names(text);
    assert(!path_find_user(text, &user) || strstr(text, "user.slice/"));
    if (path_find_unit(text, &unit))
        assert(strchr(unit.name, '.') && strstr(text, unit.name));
    check_file(file, unit.name);
    return 0;
}
