/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of this machine: see symbolised.h. */
#include "tests/unit/symbolised.h"

#include <stdio.h>
#include <time.h>

#include "symbols/symboliser/elf-symbols.h"
#include "tests/unit/test.h"

int symbolised_begin(void **state)
{
    struct symbolised *fixture = calloc(1, sizeof(*fixture));

    *state = fixture;
    sys_init(&fixture->sys);
    strcpy(fixture->directory, "/tmp/test-symbols-XXXXXX");
    return !mkdtemp(fixture->directory) || sd_event_new(&fixture->event) < 0 ||
                   symbols_new(&fixture->sys, fixture->event, &fixture->symbols) < 0
               ? -1
               : 0;
}

int symbolised_end(void **state)
{
    struct symbolised *fixture = *state;
    char command[64];

    symbols_free(fixture->symbols);
    sd_event_unref(fixture->event);
    snprintf(command, sizeof(command), "rm -rf %s", fixture->directory);
    int r = system(command);
    free(fixture);
    return r;
}

void symbolised_count(void *userdata)
{
    ((struct symbolised *)userdata)->calls++;
}

void symbolised_run(struct symbolised *fixture, int calls, int seconds)
{
    time_t end = time(NULL) + seconds + 1;

    while (fixture->calls < calls && time(NULL) < end)
        assert_true(sd_event_run(fixture->event, 100000) >= 0);
}

void symbolised_scan(struct symbolised *fixture, uint32_t pid)
{
    fixture->calls = 0;
    assert_int_equal(symbols_scan(fixture->symbols, pid, symbolised_count, fixture), 0);
    symbolised_run(fixture, 1, 20);
    assert_int_equal(fixture->calls, 1);
}

void symbolised_wait(struct symbolised *fixture)
{
    fixture->calls = 0;
    assert_int_equal(symbols_when_idle(fixture->symbols, symbolised_count, fixture), 0);
    symbolised_run(fixture, 1, 20);
    assert_int_equal(fixture->calls, 1);
    assert_false(symbols_pending(fixture->symbols));
}

struct frame symbolised_resolve(struct symbolised *fixture, uint32_t pid, uint64_t ip)
{
    struct frame frame;

    symbols_resolve(fixture->symbols, pid, false, ip, &frame);
    symbolised_wait(fixture);
    symbols_resolve(fixture->symbols, pid, false, ip, &frame);
    return frame;
}

void symbolised_need_libdw(void)
{
    if (!str_equal(elf_symbols_built(), "yes"))
        skip_because("perfcountd is built without libdw");
}
