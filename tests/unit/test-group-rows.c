/* SPDX-License-Identifier: Apache-2.0 */
/* An event with a unit has the same name, unit and value in every format. */
#include "base/cleanup.h"
#include "formats/counters.h"
#include "metrics/metrics.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

/* drivers/devfreq/event/rockchip-dfi.c, drivers/perf/amlogic/meson_ddr_pmu_core.c and meson_g12_ddr_pmu.c of 6.12. */
static const struct {
    const char *pmu, *path, *text;
} files[] = {
    {"rockchip_ddr", "format/event", "config:0-7"},
    {"rockchip_ddr", "events/cycles", "event=0x0"},
    {"rockchip_ddr", "events/read-bytes", "event=0x1"},
    {"rockchip_ddr", "events/read-bytes.unit", "MB"},
    {"rockchip_ddr", "events/read-bytes.scale", "9.536743164e-07"},
    {"rockchip_ddr", "events/bytes", "event=0xb"},
    {"rockchip_ddr", "events/bytes.unit", "MB"},
    {"rockchip_ddr", "events/bytes.scale", "9.536743164e-07"},
    {"meson_ddr_bw", "format/event", "config:0-7"},
    {"meson_ddr_bw", "events/total_rw_bytes", "event=0x00"},
    {"meson_ddr_bw", "events/total_rw_bytes.unit", "MB"},
    {"meson_ddr_bw", "events/total_rw_bytes.scale", "1.52587890625e-05"},
};

#define COUNTS 1000000000007ULL

static const struct {
    const char *in_event, *out_family, *out_unit, *out_value, *out_json;
} served[] = {
    {"rockchip_ddr/cycles/", "perf_pmu_cycles", "", "1000000000007", "1000000000007"},
    {"rockchip_ddr/read-bytes/", "perf_pmu_read_bytes", "bytes", "1000000000007", "1000000000007"},
    {"rockchip_ddr/bytes/", "perf_pmu_bytes", "bytes", "1000000000007", "1000000000007"},
    {"meson_ddr_bw/total_rw_bytes/", "perf_pmu_total_rw_bytes", "bytes", "16000000000112", "16000000000112"},
    {"power/energy-pkg/", "perf_pmu_energy_pkg_joules", "joules", "232.83064365549944", "232.83064365549944"},
};

static struct fake_sys *make_machine(void)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    fake_add_pmu(fake, "rockchip_ddr", 30, "cpumask", "0");
    fake_add_pmu(fake, "meson_ddr_bw", 31, "cpumask", "0");
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        fake_pmu_file(fake, files[i].pmu, files[i].path, files[i].text);
    return fake;
}

static void expect_line(const char *text, const char *format, ...) PRINTF_LIKE(2, 3);
static void expect_line(const char *text, const char *format, ...)
{
    char *wanted;
    va_list list;

    va_start(list, format);
    assert_true(vasprintf(&wanted, format, list) >= 0);
    va_end(list);
    if (!strstr(text, wanted))
        fail_msg("there is no \"%s\" in\n%s", wanted, text);
    free(wanted);
}

static char *exposition_text(const struct snapshot *snapshot, enum exposition format)
{
    _cleanup_(buffer_done) struct buffer buffer = {0};

    assert_int_equal(exposition_write(&buffer, &snapshot->metrics, UINT32_MAX, format), 0);
    return buffer_string(&buffer);
}

static char *counters_text(const struct snapshot *snapshot)
{
    _cleanup_(buffer_done) struct buffer buffer = {0};

    assert_int_equal(counters_write(&buffer, snapshot, NULL, "host"), 0);
    return buffer_string(&buffer);
}

static void check_served(const struct snapshot *snapshot, const char *family, const char *unit, const char *value,
                         const char *json)
{
    _cleanup_(freep) char *text = exposition_text(snapshot, EXPOSITION_TEXT);
    _cleanup_(freep) char *openmetrics = exposition_text(snapshot, EXPOSITION_OPENMETRICS);
    _cleanup_(freep) char *counters = counters_text(snapshot);

    expect_line(text, "# HELP %s_total Event ", family);
    expect_line(text, "\n%s_total{cpu=\"0\",pmu=", family);
    expect_line(text, "} %s\n", value);
    expect_line(openmetrics, "# TYPE %s counter\n", family);
    expect_line(openmetrics, "} %s\n", value);
    if (unit[0])
        expect_line(openmetrics, "# UNIT %s %s\n", family, unit);
    expect_line(counters, "\"unit\": \"%s\", \"value\": %s, \"raw\": %llu,", unit, json, COUNTS);
}

TEST(test_served)
{
    for (size_t i = 0; i < ARRAY_SIZE(served); i++) {
        _cleanup_(freep) char *config = NULL;
        struct rig rig;
        assert_true(asprintf(&config,
                             "collectors: {cpu: {enabled: false}, self: {enabled: false}, pmu: {groups: [{name: g, "
                             "events: %s}]}}",
                             served[i].in_event) > 0);
        rig_init(&rig, make_machine(), config);
        fake_advance(rig.fake, COUNTS);
        check_served(rig_read(&rig), served[i].out_family, served[i].out_unit, served[i].out_value, served[i].out_json);
        rig_done(&rig);
    }
}

TEST_MAIN(NULL, NULL)
