/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings of a process: found, cut, put and copied, with each reference to a file; as many as there is room for. */
#include "base/buffer.h"
#include "base/cleanup.h"
#include "symbols/mappings.h"
#include "tests/unit/test.h"

/* Linked with -Wl,--wrap=reallocarray: whether there is memory. */
static bool no_memory;
void *__real_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    return no_memory ? NULL : __real_reallocarray(old, n, size);
}

struct fixture {
    struct sys sys;
    sd_event *event;
    struct images *images;
    struct mappings mappings;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    *state = fixture;
    sys_init(&fixture->sys);
    return sd_event_new(&fixture->event) < 0 || images_new(&fixture->sys, fixture->event, &fixture->images) < 0 ? -1
                                                                                                                : 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    mappings_done(&fixture->mappings);
    assert_int_equal(fixture->mappings.n, 0);
    assert_int_equal(images_bytes(fixture->images), 0); /* no reference is left */
    images_free(fixture->images);
    sd_event_unref(fixture->event);
    free(fixture);
    return 0;
}

static struct image *image_of(struct fixture *fixture, const char *file, uint32_t jit_pid)
{
    const struct image_key key = {.file = file, .jit_pid = jit_pid};
    struct image *image = image_get(fixture->images, &key);

    assert_non_null(image);
    return image;
}

/* From `start` to `end`, with the offset 0x100000 in a file of its own. */
static void put(struct fixture *fixture, uint64_t start, uint64_t end)
{
    char file[32];
    const struct mapping mapping = {.start = start, .end = end, .offset = 0x100000};

    snprintf(file, sizeof(file), "/%llx", (unsigned long long)start);
    mappings_put(&fixture->mappings, &mapping, image_of(fixture, file, 0));
}

/* "START-END FILE+OFFSET" of each. */
static char *list(const struct mappings *mappings)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    for (size_t i = 0; i < mappings->n; i++) {
        const struct mapping *mapping = &mappings->mappings[i];
        assert_ptr_equal(mapping->file, mapping->image->file);
        assert_int_equal(mapping->number, image_number(mapping->image, mapping->offset));
        buffer_appendf(&text, "%s%llx-%llx %s+%llx", i ? ", " : "", (unsigned long long)mapping->start,
                       (unsigned long long)mapping->end, mapping->file, (unsigned long long)mapping->offset);
    }
    return buffer_string(&text);
}

static void test_cut(void **state)
{
    static const struct {
        uint64_t in_start, in_end; /* of 10-20, 20-30 and 40-50 */
        const char *out;
    } cases[] = {
        {0, 0x10, "10-20 /10+100000, 20-30 /20+100000, 40-50 /40+100000"},
        {0x30, 0x40, "10-20 /10+100000, 20-30 /20+100000, 40-50 /40+100000"},
        {0x50, UINT64_MAX, "10-20 /10+100000, 20-30 /20+100000, 40-50 /40+100000"},
        {0x10, 0x20, "20-30 /20+100000, 40-50 /40+100000"},
        {0x20, 0x50, "10-20 /10+100000"},
        {0, UINT64_MAX, ""},
        {0x14, 0x18, "10-14 /10+100000, 18-20 /10+100008, 20-30 /20+100000, 40-50 /40+100000"},
        {0x18, 0x28, "10-18 /10+100000, 28-30 /20+100008, 40-50 /40+100000"},
        {0x18, 0x48, "10-18 /10+100000, 48-50 /40+100008"},
        {0x28, 0x30, "10-20 /10+100000, 20-28 /20+100000, 40-50 /40+100000"},
        {0x40, 0x41, "10-20 /10+100000, 20-30 /20+100000, 41-50 /40+100001"},
        {0x4f, 0x60, "10-20 /10+100000, 20-30 /20+100000, 40-4f /40+100000"},
    };
    struct fixture *fixture = *state;

    mappings_cut(&fixture->mappings, 0, UINT64_MAX);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        put(fixture, 0x40, 0x50);
        put(fixture, 0x10, 0x20);
        put(fixture, 0x20, 0x30);
        mappings_cut(&fixture->mappings, cases[i].in_start, cases[i].in_end);
        _cleanup_(freep) char *text = list(&fixture->mappings);
        assert_string_equal(text, cases[i].out);
        mappings_done(&fixture->mappings);
        assert_int_equal(images_bytes(fixture->images), 0);
    }
}

static void test_find(void **state)
{
    struct fixture *fixture = *state;
    struct mappings *mappings = &fixture->mappings;

    assert_null(mappings_find(mappings, 0));
    put(fixture, 0x10, 0x20);
    put(fixture, 0x20, 0x30);
    put(fixture, 0x40, UINT64_MAX);
    for (unsigned again = 0; again < 2; again++) { /* the last answer is asked first */
        assert_null(mappings_find(mappings, 0xf));
        assert_ptr_equal(mappings_find(mappings, 0x10), &mappings->mappings[0]);
        assert_ptr_equal(mappings_find(mappings, 0x1f), &mappings->mappings[0]);
        assert_ptr_equal(mappings_find(mappings, 0x20), &mappings->mappings[1]);
        assert_null(mappings_find(mappings, 0x30));
        assert_ptr_equal(mappings_find(mappings, UINT64_MAX - 1), &mappings->mappings[2]);
        assert_null(mappings_find(mappings, UINT64_MAX));
    }
    mappings_cut(mappings, 0x20, UINT64_MAX); /* what was asked for last has gone */
    assert_null(mappings_find(mappings, 0x50));
    assert_non_null(mappings_find(mappings, 0x10));
}

/* Memory without a file is distinguished by its address, since /proc has no offset for it. */
static void test_made_at_run_time(void **state)
{
    struct fixture *fixture = *state;
    const struct mapping mapping = {.start = 0x3000, .end = 0x4000};

    mappings_put(&fixture->mappings, &mapping, image_of(fixture, "//anon", 7));
    assert_int_equal(fixture->mappings.mappings[0].offset, 0x3000);
    mappings_cut(&fixture->mappings, 0x3000, 0x3800);
    assert_int_equal(fixture->mappings.mappings[0].offset, 0x3800);
}

/* A child has its own mappings: changes of one process do not change the other. */
static void test_copy(void **state)
{
    struct fixture *fixture = *state;
    struct mappings child = {0}, none = {0};

    mappings_copy(&none, &child);
    assert_int_equal(child.n, 0);
    put(fixture, 0x10, 0x20);
    put(fixture, 0x20, 0x30);
    mappings_copy(&fixture->mappings, &child);
    mappings_cut(&child, 0x18, 0x20);
    mappings_cut(&fixture->mappings, 0x10, 0x20);
    _cleanup_(freep) char *parents = list(&fixture->mappings), *childs = list(&child);
    assert_string_equal(parents, "20-30 /20+100000");
    assert_string_equal(childs, "10-18 /10+100000, 20-30 /20+100000");
    mappings_done(&fixture->mappings);
    assert_string_equal(mappings_find(&child, 0x2f)->file, "/20");
    mappings_done(&child);
}

/* Where there is no room a mapping is not put, and one that is cut within loses its end; the file is let go. */
static void test_room(void **state)
{
    struct fixture *fixture = *state;
    struct mappings *mappings = &fixture->mappings, child = {0};

    assert_int_equal(mappings_bytes(mappings), 0);
    for (uint64_t i = MAPPINGS_MAX; i > 0; i--) {
        put(fixture, i << 12, (i << 12) + 0x800);
        assert_true(mappings_bytes(mappings) >= mappings->n * sizeof(mappings->mappings[0]));
    }
    size_t bytes = images_bytes(fixture->images);
    put(fixture, 0x100, 0x200);
    assert_null(mappings_find(mappings, 0x100));
    mappings_cut(mappings, 0x1200, 0x1400);
    assert_int_equal(mappings->n, MAPPINGS_MAX);
    assert_non_null(mappings_find(mappings, 0x11ff));
    assert_null(mappings_find(mappings, 0x1400));
    assert_int_equal(images_bytes(fixture->images), bytes);
    mappings_copy(mappings, &child);
    assert_int_equal(child.n, MAPPINGS_MAX);
    mappings_done(&child);
    mappings_cut(mappings, 0x2000, 0x3000);
    put(fixture, 0x100, 0x200);
    assert_non_null(mappings_find(mappings, 0x100));
}

/* As where there is no room; all that is there stays. */
static void test_no_memory(void **state)
{
    struct fixture *fixture = *state;
    struct mappings child = {0};

    put(fixture, 0x10, 0x20);
    put(fixture, 0x20, 0x30);
    const struct mapping mapping = {.start = 0x40, .end = 0x50};
    struct image *image = image_of(fixture, "/40", 0);
    no_memory = true;
    mappings_put(&fixture->mappings, &mapping, image);
    mappings_copy(&fixture->mappings, &child);
    mappings_cut(&fixture->mappings, 0x14, 0x18);
    no_memory = false;
    assert_int_equal(child.n, 0);
    mappings_done(&child);
    _cleanup_(freep) char *text = list(&fixture->mappings);
    assert_string_equal(text, "10-14 /10+100000, 20-30 /20+100000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_find, setup, teardown),
        cmocka_unit_test_setup_teardown(test_made_at_run_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_copy, setup, teardown),
        cmocka_unit_test_setup_teardown(test_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
