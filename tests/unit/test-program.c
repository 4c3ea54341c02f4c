/* SPDX-License-Identifier: Apache-2.0 */
/* The path of a program: this one's, and that of a copy in a directory whose name a shell would split. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/process/program.h"
#include "tests/unit/test.h"

static char own_path[4096];

static void run(const char *command, char *text, int size)
{
    FILE *pipe = popen(command, "r");

    assert_non_null(pipe);
    assert_non_null(fgets(text, size, pipe));
    assert_int_equal(pclose(pipe), 0);
}

static void test_path(void **state)
{
    char text[PROGRAM_PATH_MAX + 1];

    (void)state;
    program_path(text, sizeof(text));
    assert_string_equal(text, own_path);
}

static void test_hostile_path(void **state)
{
    char directory[] = "/tmp/test program;$(x).XXXXXX", command[3 * sizeof(own_path)], text[PROGRAM_PATH_MAX + 1];

    (void)state;
    if (runs_emulated())
        skip_because("a shell here starts no program of another architecture");
    assert_non_null(mkdtemp(directory));
    snprintf(command, sizeof(command), "cp '%s' '%s/x' && '%s/x' print", own_path, directory, directory);
    run(command, text, sizeof(text));
    assert_string_equal(text, "$(command -v perfcountd)");
    snprintf(command, sizeof(command), "rm -r '%s' && echo done", directory);
    run(command, text, sizeof(text));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_hostile_path),
    };
    char text[PROGRAM_PATH_MAX + 1];

    (void)argv;
    if (argc > 1) {
        program_path(text, sizeof(text));
        return fputs(text, stdout) < 0;
    }
    if (readlink("/proc/self/exe", own_path, sizeof(own_path) - 1) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
