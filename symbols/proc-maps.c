/* SPDX-License-Identifier: Apache-2.0 */
/* A line of /proc/PID/maps: see proc-maps.h. */
#include "symbols/proc-maps.h"

#include <sys/mman.h>

#include "base/number.h"

#define DELETED " (deleted)"

/* Parses the hexadecimal number before `end`, and moves `at` behind that. */
static bool maps_take_hex(char **at, char end, uint64_t *ret)
{
    char *stop = strchr(*at, end);

    if (!stop || number_parse_hex_n(*at, (size_t)(stop - *at), ret) < 0)
        return false;
    *at = stop + 1;
    return true;
}

static bool maps_take_protection(char **at, struct mapping *mapping)
{
    static const struct {
        char character;
        uint32_t bit;
    } bits[] = {{'r', PROT_READ}, {'w', PROT_WRITE}, {'x', PROT_EXEC}};
    const char *text = *at;

    if (strnlen(text, 5) < 5 || text[4] != ' ')
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(bits); i++) {
        if (text[i] == bits[i].character)
            mapping->protection |= bits[i].bit;
        else if (text[i] != '-')
            return false;
    }
    mapping->flags = text[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
    *at += 5;
    return true;
}

static bool is_octal_escape(const char *text)
{
    for (int i = 0; i < 3; i++)
        if (text[i] < '0' || text[i] > '7')
            return false;
    return true;
}

/* Today the kernel escapes only newlines. */
static void maps_unescape(char *text)
{
    char *to = text;

    while (*text)
        if (text[0] == '\\' && is_octal_escape(text + 1)) {
            *to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
            text += 4;
        } else {
            *to++ = *text++;
        }
    *to = '\0';
}

bool proc_maps_is_anonymous(const char *file)
{
    static const char *const begins[] = {"//anon", "[anon:", "/dev/zero", "/anon_hugepage"};

    for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
        if (str_starts(file, begins[i]))
            return true;
    return false;
}

void proc_maps_strip_deleted(char *file)
{
    size_t size = strlen(file), mark = strlen(DELETED);

    if (size > mark && str_equal(file + size - mark, DELETED))
        file[size - mark] = '\0';
}

int proc_maps_parse_line(char *line, struct mapping *ret)
{
    struct mapping mapping = {0};
    uint64_t device_major, device_minor;

    if (!maps_take_hex(&line, '-', &mapping.start) || !maps_take_hex(&line, ' ', &mapping.end) ||
        mapping.end <= mapping.start || !maps_take_protection(&line, &mapping) ||
        !maps_take_hex(&line, ' ', &mapping.offset) || !maps_take_hex(&line, ':', &device_major) ||
        !maps_take_hex(&line, ' ', &device_minor))
        return -EBADMSG;
    size_t digits = strspn(line, "0123456789");
    if (number_parse_u64_n(line, digits, &mapping.inode) < 0)
        return -EBADMSG;
    line += digits;
    line += strspn(line, " ");
    maps_unescape(line);
    proc_maps_strip_deleted(line);
    mapping.major = (uint32_t)device_major;
    mapping.minor = (uint32_t)device_minor;
    mapping.file = *line ? line : "//anon";
    *ret = mapping;
    return 0;
}
