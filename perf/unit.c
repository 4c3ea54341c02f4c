/* SPDX-License-Identifier: Apache-2.0 */
/* Units of drivers: see unit.h. */
#include "perf/unit.h"

#include "perf/event.h"

/* One NAME is `scale` of BASE; for bytes by powers of 1000, `binary` is what it is by powers of 1024, else 0. */
struct known_unit {
    const char *name, *base;
    double scale, binary;
};

/* tests/unit/test-pmu.c lists the drivers of Linux that write a unit. "M" is i915's, of cycles. */
static const struct known_unit units[] = {
    {"Joules", "joules", 1, 0},    {"J", "joules", 1, 0},
    {"Bytes", "bytes", 1, 0},      {"B", "bytes", 1, 0},
    {"KiB", "bytes", 0x1p10, 0},   {"MiB", "bytes", 0x1p20, 0},
    {"GiB", "bytes", 0x1p30, 0},   {"KB", "bytes", 1e3, 0x1p10},
    {"MB", "bytes", 1e6, 0x1p20},  {"GB", "bytes", 1e9, 0x1p30},
    {"ns", "seconds", 1e-9, 0},    {"us", "seconds", 1e-6, 0},
    {"ms", "seconds", 1e-3, 0},    {"s", "seconds", 1, 0},
    {"seconds", "seconds", 1, 0},  {"Hz", "hertz", 1, 0},
    {"KHz", "hertz", 1e3, 0},      {"MHz", "hertz", 1e6, 0},
    {"GHz", "hertz", 1e9, 0},      {"W", "watts", 1, 0},
    {"Watts", "watts", 1, 0},      {"mW", "watts", 1e-3, 0},
    {"mWatts", "watts", 1e-3, 0},  {"V", "volts", 1, 0},
    {"C", "celsius", 1, 0},        {"%", "ratio", 1e-2, 0},
    {"percent", "ratio", 1e-2, 0}, {"M", "", 1e6, 0},
};

static const struct known_unit *unit_find(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (str_equal(units[i].name, text))
            return &units[i];
    return NULL;
}

bool unit_is_base(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (text[0] && str_equal(units[i].base, text))
            return true;
    return false;
}

/* Drivers write scales with ten digits or more. */
#define ROUNDING 1e-9
/* Doubles have every whole number up to it. */
#define WHOLE_MAX 0x1p53

/* The whole number that `amount` is but for rounding; 0: none. */
static double whole_number(double amount)
{
    if (!(amount >= 0.5 && amount < WHOLE_MAX))
        return 0;
    double whole = (double)(uint64_t)(amount + 0.5), off = amount > whole ? amount - whole : whole - amount;
    return off <= whole * ROUNDING ? whole : 0;
}

static double count_bytes(const struct known_unit *unit, double scale)
{
    double as_written = whole_number(scale * unit->scale), binary = whole_number(scale * unit->binary);

    return as_written > 0 ? as_written : binary > 0 ? binary : scale * unit->scale;
}

int unit_resolve(const char *text, double scale, char **ret_base, double *ret_scale)
{
    const struct known_unit *unit = unit_find(text);
    bool has_letter = strpbrk(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

    char *base = unit ? strdup(unit->base) : has_letter ? event_metric_name(text) : strdup("");
    if (!base)
        return -ENOMEM;
    *ret_base = base;
    if (!unit)
        *ret_scale = scale;
    else
        *ret_scale = str_equal(base, "bytes") ? count_bytes(unit, scale) : scale * unit->scale;
    return 0;
}
