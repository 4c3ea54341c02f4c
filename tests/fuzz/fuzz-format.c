/* SPDX-License-Identifier: Apache-2.0 */
/* Parses arbitrary bytes as texts from sysfs: CPU lists, term formats, and event terms. */
#include "perf/event-term.h"
#include "perf/pmu.h"
#include "tests/fuzz/fuzz.h"

static void check_error(const struct error *error, const char *text)
{
    assert(error->offset <= strlen(text) && error->message[0]);
}

/* Writing a set and parsing it again results in the same set. */
static void try_cpuset(const char *text)
{
    _cleanup_(cpuset_done) struct cpuset set = {0}, again = {0};
    struct error error = {0};
    size_t n = 0;

    if (cpuset_parse(text, &set, &error) < 0) {
        check_error(&error, text);
        return;
    }
    _cleanup_(freep) char *written = cpuset_format(&set);
    assert(written && cpuset_parse(written, &again, NULL) == 0 && cpuset_equal(&set, &again));
    CPUSET_FOREACH (cpu, &set) {
        assert(cpuset_has(&set, (unsigned)cpu));
        n++;
    }
    assert(n == cpuset_count(&set));
}

/* The largest value that fits sets all bits of the format; the next larger value does not fit. */
static void try_format(const char *text)
{
    struct pmu_format format;
    struct error error = {0};
    uint64_t word = 0;

    if (pmu_format_parse(text, &format, &error) < 0) {
        check_error(&error, text);
        return;
    }
    int n = __builtin_popcountll(format.bits);
    assert(format.word < 4 && n > 0);
    assert(pmu_format_deposit(&format, UINT64_MAX >> (64 - n), &word) == 0 && word == format.bits);
    assert(n == 64 || pmu_format_deposit(&format, UINT64_C(1) << n, &word) == -ERANGE);
}

static void try_terms(const char *text)
{
    _cleanup_(event_terms_done) struct event_terms terms = {0};
    struct error error = {0};

    if (event_terms_parse_text(text, &terms, &error) < 0) {
        check_error(&error, text);
        return;
    }
    assert(terms.n > 0);
    for (size_t i = 0; i < terms.n; i++)
        assert(terms.terms[i].name[0] && terms.terms[i].offset < strlen(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(freep) char *text = copy_text(data, size);

    try_cpuset(text);
    try_format(text);
    try_terms(text);
    return 0;
}
