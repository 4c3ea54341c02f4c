/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the sources that tests read: see fixture.h. */
#include "tests/unit/fixture.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "config/config.h"

#define SIZE_LIMIT ((size_t)1 << 20)

const char *fixture_path(const char *name, char path[512])
{
    const char *srcdir = getenv("srcdir"); /* from automake's test driver */

    snprintf(path, 512, "%s/%s", srcdir ? srcdir : "..", name);
    return path;
}

static char *read_file(const char *path)
{
    char *text = NULL;

    if (file_read(AT_FDCWD, path, SIZE_LIMIT, &text, NULL) < 0)
        fail_msg("%s: cannot be read", path);
    return text;
}

char *fixture_read(const char *name)
{
    char path[512];

    return read_file(fixture_path(name, path));
}

size_t fixture_each(const char *pattern, void (*check)(const char *path))
{
    _cleanup_(globfree) glob_t files = {0};
    char path[512];

    if (glob(fixture_path(pattern, path), 0, NULL, &files) != 0)
        fail_msg("%s: no fixtures", path);
    for (size_t i = 0; i < files.gl_pathc; i++)
        check(files.gl_pathv[i]);
    return files.gl_pathc;
}

void fixture_expect(const char *path, const char *suffix, const char *text)
{
    char beside[512];

    snprintf(beside, sizeof(beside), "%.*s%s", (int)(strrchr(path, '.') - path), path, suffix);
    _cleanup_(freep) char *expected = read_file(beside);
    size_t size = strlen(text);
    if (!str_starts(expected, text) || !str_equal(expected + size, "\n"))
        fail_msg("%s gives\n%s\nand not\n%s", path, text, expected);
}

void fixture_refused(const char *path, int (*load)(const char *path, struct error *error))
{
    struct error error = {0};
    char text[1024];

    if (load(path, &error) != -EINVAL)
        fail_msg("%s is taken", path);
    fixture_expect(path, ".error", config_format_error(NULL, &error, text, sizeof(text)));
    assert_int_equal(load(path, NULL), -EINVAL);
}
