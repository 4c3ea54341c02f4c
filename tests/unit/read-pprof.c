/* SPDX-License-Identifier: Apache-2.0 */
/* A pprof profile as a reader has it: see read-pprof.h. */
#include "tests/unit/read-pprof.h"

#include "base/util.h"
#include "tests/unit/test.h"

struct bytes {
    const uint8_t *at, *end;
};

struct field {
    unsigned number, wire_type;
    uint64_t value;     /* of wire type 0 */
    struct bytes bytes; /* of wire type 2 */
};

static uint64_t read_varint(struct bytes *bytes)
{
    uint64_t value = 0;

    for (unsigned shift = 0;; shift += 7) {
        assert_true(shift < 64);
        assert_true(bytes->at < bytes->end);
        value |= (uint64_t)(*bytes->at & 0x7f) << shift;
        if (*bytes->at++ < 0x80)
            return value;
    }
}

static bool read_field(struct bytes *bytes, struct field *field)
{
    if (bytes->at == bytes->end)
        return false;
    uint64_t tag = read_varint(bytes);
    *field = (struct field){.number = (unsigned)(tag >> 3), .wire_type = tag & 7, .value = read_varint(bytes)};
    if (field->wire_type == 0)
        return true;
    assert_int_equal(field->wire_type, 2);
    assert_true(field->value <= (uint64_t)(bytes->end - bytes->at));
    field->bytes = (struct bytes){bytes->at, bytes->at + field->value};
    bytes->at += field->value;
    return true;
}

/* Reads a message whose fields 1 to `n` are numbers into `n` numbers of 64 bits. */
static void read_numbers(struct bytes bytes, void *numbers, size_t n)
{
    struct field field;

    while (read_field(&bytes, &field)) {
        assert_int_equal(field.wire_type, 0);
        assert_in_range(field.number, 1, n);
        ((uint64_t *)numbers)[field.number - 1] = field.value;
    }
}

/* Reads packed numbers. Returns their number. */
static size_t read_packed(struct field field, uint64_t *numbers, size_t n)
{
    size_t i = 0;

    assert_int_equal(field.wire_type, 2);
    while (field.bytes.at < field.bytes.end) {
        assert_true(i < n);
        numbers[i++] = read_varint(&field.bytes);
    }
    return i;
}

static void read_sample(struct bytes bytes, struct read_sample *sample)
{
    uint64_t ids[READ_NUMBERS_MAX];
    struct field field;

    while (read_field(&bytes, &field))
        switch (field.number) {
        case 1:
            assert_null(sample->location_id);
            sample->n_location_id = read_packed(field, ids, ARRAY_SIZE(ids));
            sample->location_id = calloc(sample->n_location_id + 1, sizeof(ids[0]));
            memcpy(sample->location_id, ids, sample->n_location_id * sizeof(ids[0]));
            break;
        case 2:
            sample->n_value = read_packed(field, (uint64_t *)sample->value, ARRAY_SIZE(sample->value));
            break;
        default:
            assert_int_equal(field.number, 3);
            assert_true(sample->n_label < READ_LABELS_MAX);
            read_numbers(field.bytes, &sample->label[sample->n_label++], 3);
        }
}

static void read_location(struct bytes bytes, struct read_location *location)
{
    struct field field;

    while (read_field(&bytes, &field)) {
        assert_in_range(field.number, 1, 4);
        if (field.number < 4) {
            ((uint64_t *)location)[field.number - 1] = field.value;
            continue;
        }
        read_numbers(field.bytes, &location->function_id, 1);
        location->n_line++;
    }
}

#define READ_APPEND(array, n)                                                                                          \
    ({                                                                                                                 \
        assert_int_equal(array_grow(&(array), (n)), 0);                                                                \
        memset(&(array)[n], 0, sizeof((array)[0]));                                                                    \
        &(array)[(n)++];                                                                                               \
    })

static void read_profile_number(struct read_pprof *profile, const struct field *field)
{
    int64_t *numbers[] = {[9] = &profile->time_nanos,
                          [10] = &profile->duration_nanos,
                          [12] = &profile->period,
                          [14] = &profile->default_sample_type};

    if (field->number >= ARRAY_SIZE(numbers) || !numbers[field->number])
        fail_msg("a profile has field %u", field->number);
    assert_int_equal(field->wire_type, 0);
    *numbers[field->number] = (int64_t)field->value;
}

static void read_profile_field(struct read_pprof *profile, const struct field *field)
{
    switch (field->number) {
    case 1:
        assert_true(profile->n_sample_type < ARRAY_SIZE(profile->sample_type));
        read_numbers(field->bytes, &profile->sample_type[profile->n_sample_type++], 2);
        break;
    case 2:
        read_sample(field->bytes, READ_APPEND(profile->sample, profile->n_sample));
        break;
    case 3:
        read_numbers(field->bytes, READ_APPEND(profile->mapping, profile->n_mapping), 7);
        break;
    case 4:
        read_location(field->bytes, READ_APPEND(profile->location, profile->n_location));
        break;
    case 5:
        read_numbers(field->bytes, READ_APPEND(profile->function, profile->n_function), 3);
        break;
    case 6:
        *READ_APPEND(profile->string_table, profile->n_string_table) =
            strndup((const char *)field->bytes.at, (size_t)(field->bytes.end - field->bytes.at));
        break;
    case 11:
        read_numbers(field->bytes, &profile->period_type, 2);
        break;
    case 13:
        profile->n_comment += read_packed(*field, (uint64_t *)&profile->comment[profile->n_comment],
                                          ARRAY_SIZE(profile->comment) - profile->n_comment);
        break;
    default:
        read_profile_number(profile, field);
    }
}

struct read_pprof *read_pprof(const uint8_t *bytes, size_t size)
{
    struct read_pprof *profile = calloc(1, sizeof(*profile));
    struct bytes rest = {bytes, bytes + size};
    struct field field;

    assert_non_null(profile);
    while (read_field(&rest, &field))
        read_profile_field(profile, &field);
    return profile;
}

void read_pprof_free(struct read_pprof *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < profile->n_sample; i++)
        free(profile->sample[i].location_id);
    for (size_t i = 0; i < profile->n_string_table; i++)
        free(profile->string_table[i]);
    free(profile->sample);
    free(profile->mapping);
    free(profile->location);
    free(profile->function);
    free(profile->string_table);
    free(profile);
}
