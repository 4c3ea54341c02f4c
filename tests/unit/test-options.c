/* SPDX-License-Identifier: Apache-2.0 */
/* The lifetime of strings from the command line. tests/e2e/cli.sh covers the options themselves. */
#include "daemon/options.h"

#include "base/cleanup.h"
#include "tests/unit/test.h"

/* A process that sets its title overwrites all strings of argv (process/child.h). */
TEST(test_strings_outlive_argv)
{
    char argv[][32] = {"perfcountd", "stat", "--config.file=/c", "--web.listen-address=:1", "--cgroup=a*",
                       "--cgroup",   "b*",   "--sort=cycles",    "--output=file",           "--",
                       "sleep",      "1"};
    char *pointers[ARRAY_SIZE(argv) + 1] = {NULL};
    _cleanup_(options_done) struct options options = {0};
    struct error error;

    for (size_t i = 0; i < ARRAY_SIZE(argv); i++)
        pointers[i] = argv[i];
    assert_int_equal(options_parse(ARRAY_SIZE(argv), pointers, &options, &error), 0);
    memset(argv, 0, sizeof(argv));
    memset(pointers, 0, sizeof(pointers));
    assert_string_equal(options.config_file, "/c");
    assert_int_equal(options.n_listen, 1);
    assert_string_equal(options.listen[0], ":1");
    assert_int_equal(options.n_cgroups, 2);
    assert_string_equal(options.cgroups[0], "a*");
    assert_string_equal(options.cgroups[1], "b*");
    assert_string_equal(options.sort, "cycles");
    assert_string_equal(options.output, "file");
    assert_string_equal(options.workload[0], "sleep");
    assert_string_equal(options.workload[1], "1");
    assert_null(options.workload[2]);
}

TEST(test_durations)
{
    static const struct {
        const char *flag;
        int out;
        uint64_t out_ns;
    } cases[] = {
        {"--interval=1", 0, NSEC_PER_SEC},
        {"--interval=0.05", 0, 50 * NSEC_PER_MSEC},
        {"--interval=2m", 0, 120 * NSEC_PER_SEC},
        {"--interval=49ms", -EINVAL, 0},
        {"--interval=0", -EINVAL, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *argv[] = {(char[]){"perfcountd"}, (char[]){"stat"}, (char *)cases[i].flag, NULL};
        _cleanup_(options_done) struct options options = {0};
        struct error error;
        assert_int_equal(options_parse(3, argv, &options, &error), cases[i].out);
        if (cases[i].out == 0)
            assert_true(options.interval_ns == cases[i].out_ns);
    }
}

/* Options that make `stat` count more than the command's processes. `out`: only the command is counted. */
TEST(test_of_command)
{
    static const struct {
        const char *in[3];
        bool out;
    } cases[] = {
        {{"--event=cycles", "--", "true"}, true}, {{"-ecycles", "--", "true"}, true},
        {{"--json", "--", "true"}, true},         {{"-a", "--", "true"}, false},
        {{"--all-cpus", "--", "true"}, false},    {{"--per-cpu", "--", "true"}, false},
        {{"--cgroup=a", "--", "true"}, false},    {{"--sort=ipc", "--", "true"}, false},
        {{"--limit=1", "--", "true"}, false},     {{"-e", "cycles", "--json"}, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *argv[] = {(char[]){"perfcountd"}, (char[]){"stat"},       (char *)cases[i].in[0],
                        (char *)cases[i].in[1], (char *)cases[i].in[2], NULL};
        _cleanup_(options_done) struct options options = {0};
        struct error error;
        assert_int_equal(options_parse(5, argv, &options, &error), 0);
        assert_int_equal(options_of_command(&options), cases[i].out);
        assert_true(!options.event || str_equal(options.event, "cycles"));
    }
}

TEST(test_repeated_events)
{
    char *argv[] = {(char[]){"perfcountd"},
                    (char[]){"stat"},
                    (char[]){"-e"},
                    (char[]){"a,b"},
                    (char[]){"--event=c"},
                    (char[]){"-ed"},
                    NULL};
    _cleanup_(options_done) struct options options = {0};
    struct error error;

    assert_int_equal(options_parse(6, argv, &options, &error), 0);
    assert_string_equal(options.event, "a,b,c,d");
}

TEST_MAIN(NULL, NULL)
