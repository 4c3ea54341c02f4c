/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files that are odd, missing or very large. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "config/config.h"
#include "tests/unit/test.h"

static int make_directory(void **state)
{
    static char path[32];

    strcpy(path, "/tmp/test-config-XXXXXX");
    *state = path;
    return mkdtemp(path) ? 0 : -1;
}

static int remove_directory(void **state)
{
    return rmdir(*state);
}

static void assert_load_error(const char *path, int code, const char *message)
{
    struct config *config = NULL;
    struct error error = {0};

    assert_int_equal(config_load(NULL, path, &config, &error), code);
    assert_string_equal(error.message, message);
    assert_int_equal(error.line, 0);
    assert_null(config);
}

static void test_odd_files(void **state)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/f", (char *)*state);
    assert_load_error(path, -ENOENT, "there is no such file");
    assert_load_error(*state, -EISDIR, "this is a directory, but a file is expected");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_load_error(path, -ESPIPE, "this is a pipe or socket, but a file is expected");
    unlink(path);
    assert_int_equal(symlink("f", path), 0);
    assert_load_error(path, -ELOOP, "the file cannot be read: Too many levels of symbolic links");
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0);
    assert_int_equal(ftruncate(fd, 100 * 1024 * 1024), 0);
    close(fd);
    if (geteuid() != 0)
        assert_load_error(path, -EACCES, "permission denied: this user may not read the file");
    chmod(path, 0600);
    assert_load_error(path, -EFBIG, "the file is larger than 1 MiB, which is too large for a configuration");
    unlink(path);
}

/* A path in the file is relative to the directory of the file; a path of a flag is not. */
static void test_web_config_file(void **state)
{
    static const struct {
        const char *in, *out; /* `out` follows the directory where it is relative */
    } cases[] = {{"web.yml", "/web.yml"}, {"../web.yml", "/../web.yml"}, {"\"\"", NULL}};
    char path[64], expected[128];

    snprintf(path, sizeof(path), "%s/f", (char *)*state);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fprintf(file, "web: {config_file: %s}\n", cases[i].in);
        fclose(file);
        assert_int_equal(config_load(NULL, path, &config, NULL), 0);
        snprintf(expected, sizeof(expected), "%s%s", (char *)*state, cases[i].out ? cases[i].out : "");
        assert_string_equal(config->web.config_file, cases[i].out ? expected : "");
        assert_int_equal(config_override(config, "web.config_file", "x.yml", NULL), 0);
        assert_string_equal(config->web.config_file, "x.yml");
    }
    unlink(path);
}

/* `n` times the text; the caller frees it. */
static char *repeat(const char *text, size_t n)
{
    struct buffer buffer = {0};

    for (size_t i = 0; i < n; i++)
        buffer_append_text(&buffer, text);
    return buffer_string(&buffer);
}

/* libyaml compares each anchor with all earlier ones, so that a file full of anchors would take minutes. */
static void test_anchors(void **state)
{
    static const struct {
        unsigned n;
        const char *out; /* NULL: it is a configuration */
    } cases[] = {{60, NULL}, {257, "there are more than 256 anchors"}, {80000, "there are more than 256 anchors"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        struct buffer buffer = {0};
        struct error error = {0};
        buffer_append_text(&buffer, "collectors: {cgroup: {exclude: [");
        for (unsigned k = 0; k < cases[i].n; k++)
            buffer_appendf(&buffer, "&a%x /%x, ", k, k);
        buffer_append_text(&buffer, "/x]}}");
        _cleanup_(freep) char *text = buffer_string(&buffer);
        int r = config_parse(text, strlen(text), &config, &error);
        if (r != (cases[i].out ? -EINVAL : 0) || !str_equal(error.message, cases[i].out ?: ""))
            fail_msg("%u: %d, %u:%u: %s", cases[i].n, r, error.line, error.column, error.message);
    }
}

/* Texts that grow in the reader are refused or read, without delay or harm. */
static void test_bombs(void **state)
{
    (void)state;
    static const struct {
        const char *head, *repeated, *tail;
        size_t n;
        int out;
    } cases[] = {
        {"", "[", "", 10000, -EINVAL},
        {"", "{a: ", "", 10000, -EINVAL},
        {"", "[", "]", 100000, -EINVAL},
        {"", "- ", "x", 100000, -EINVAL},
        {"", "? ", "x", 100000, -EINVAL},
        {"web: {listen: ", "[", "", 10000, -EINVAL},
        {"collectors: {cpu: {groups: [{name: a, events: ", "{event: ", "", 10000, -EINVAL},
        {"a: &a [x]\nb: &b [", "*a,", "]\nc: [*b,*b]\n", 100000, -EINVAL},
        {"", "a: 1\n", "", 100000, -EINVAL},
        {"", "#\n", "", 500000, 0},
        {"collectors: {cpu: {cpus: \"0", ",1", "\"}}", 100000, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        _cleanup_(freep) char *middle = repeat(cases[i].repeated, cases[i].n);
        struct buffer buffer = {0};
        struct error error = {0};
        buffer_appendf(&buffer, "%s%s%s", cases[i].head, middle, cases[i].tail);
        _cleanup_(freep) char *text = buffer_string(&buffer);
        int r = config_parse(text, strlen(text), &config, &error);
        if (r != cases[i].out)
            fail_msg("case %zu: %d, %u:%u: %s", i, r, error.line, error.column, error.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_odd_files, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_web_config_file, make_directory, remove_directory),
        cmocka_unit_test(test_anchors),
        cmocka_unit_test(test_bombs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
