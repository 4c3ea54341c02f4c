/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/testdata.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "config/config.h"

#define SIZE_LIMIT ((size_t)1 << 20)
#define DIVIDER "---\n"

const char *testdata_path(const char *name, char path[512])
{
    const char *srcdir = getenv("srcdir"); /* automake's test driver sets this variable */

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

char *testdata_read(const char *name)
{
    char path[512];

    return read_file(testdata_path(name, path));
}

size_t testdata_each(const char *pattern, void (*check)(const char *path))
{
    _cleanup_(globfree) glob_t files = {0};
    char path[512];

    if (glob(testdata_path(pattern, path), 0, NULL, &files) != 0)
        fail_msg("%s: no test data", path);
    for (size_t i = 0; i < files.gl_pathc; i++)
        check(files.gl_pathv[i]);
    return files.gl_pathc;
}

void testdata_expect(const char *path, const char *suffix, const char *text)
{
    char beside[512];

    snprintf(beside, sizeof(beside), "%.*s%s", (int)(strrchr(path, '.') - path), path, suffix);
    _cleanup_(freep) char *expected = read_file(beside);
    size_t size = strlen(text);
    if (!str_starts(expected, text) || !str_equal(expected + size, "\n"))
        fail_msg("%s gives\n%s\ninstead of\n%s", path, text, expected);
}

/* Replaces each <FF> with the byte of that value, in place. Returns the new size of the text. */
static size_t unescape(char *text)
{
    char *out = text;
    unsigned byte;
    int size;

    for (const char *in = text; *in; out++)
        if (sscanf(in, "<%2X>%n", &byte, &size) == 1 && size == 4 && in[3] == '>') {
            *out = (char)byte;
            in += size;
        } else {
            *out = *in++;
        }
    *out = '\0';
    return (size_t)(out - text);
}

/* Returns the last "---" line of the text. The input may contain other "---" lines, which start a YAML document. */
static char *find_divider(char *text)
{
    char *found = NULL;

    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (str_starts(line, DIVIDER))
            found = line;
    }
    return found;
}

void testdata_cases(const char *table, void (*check)(const struct testdata_case *test))
{
    static const char begin[] = "\n=== ";
    _cleanup_(freep) char *text = testdata_read(table);
    char *next = strstr(text, begin);

    text[strlen(text) - 1] = '\0'; /* removes the final newline */
    if (!next)
        fail_msg("%s: no cases", table);
    while (next) {
        char *name = next + strlen(begin), *input = strchr(name, '\n') + 1;
        next = strstr(input - 1, begin);
        if (next)
            *next = '\0';
        input[-1] = '\0';
        char *divider = find_divider(input);
        if (!divider)
            fail_msg("%s: %s has no line ---", table, name);
        *divider = '\0';
        check(&(struct testdata_case){name, input, unescape(input), divider + strlen(DIVIDER)});
    }
}

static void format_all(struct error_list *errors, struct buffer *text)
{
    char line[1024];

    error_list_sort(errors);
    for (size_t i = 0; i < errors->n; i++)
        buffer_appendf(text, "%s%s", i ? "\n" : "", config_format_error(NULL, &errors->items[i], line, sizeof(line)));
    buffer_append_char(text, '\0');
}

void testdata_refused(const struct testdata_case *test, testdata_load load)
{
    char path[] = "/tmp/testdata-XXXXXX", line[1024];
    _cleanup_(error_list_done) struct error_list errors = {0};
    _cleanup_(buffer_done) struct buffer text = {0};
    struct error error = {0}, last = {0};
    int fd = mkstemp(path);

    assert_int_equal(write(fd, test->input, test->size), test->size);
    close(fd);
    /* The error that stops the load is returned, but is not in the list. */
    if (load(path, &errors, &last) < 0)
        assert_int_equal(error_list_add(&errors, &last), 0);
    int r = load(path, NULL, &error), r_without_error = load(path, NULL, NULL);
    unlink(path);
    assert_int_equal(r, -EINVAL);
    assert_int_equal(r_without_error, -EINVAL);
    format_all(&errors, &text);
    if (!str_equal(text.data, test->expected))
        fail_msg("%s gives\n%s\ninstead of\n%s", test->name, text.data, test->expected);
    config_format_error(NULL, &error, line, sizeof(line));
    if (!strstr(test->expected, line))
        fail_msg("%s stops at\n%s\ninstead of\n%s", test->name, line, test->expected);
}
