/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 (RFC 3629): see utf8.h. */
#include "base/utf8.h"

/* Each row: the range of the first byte, the range of the second, how many bytes in all (RFC 3629, section 4). */
static const struct {
    unsigned char first_low, first_high, second_low, second_high, size;
} forms[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

size_t utf8_character(const char *text, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)text;

    for (size_t i = 0; size && i < ARRAY_SIZE(forms); i++) {
        if (bytes[0] < forms[i].first_low || bytes[0] > forms[i].first_high)
            continue;
        if (forms[i].size > size)
            return 0;
        if (forms[i].size > 1 && (bytes[1] < forms[i].second_low || bytes[1] > forms[i].second_high))
            return 0;
        for (size_t k = 2; k < forms[i].size; k++)
            if ((bytes[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].size;
    }
    return 0;
}

size_t utf8_valid_prefix(const char *text, size_t size)
{
    size_t offset = 0, length;

    while (offset < size && (length = utf8_character(text + offset, size - offset)) > 0)
        offset += length;
    return offset;
}

/* Valid characters beyond ASCII that are not printable. Each row: the first bytes, then the range of the last. */
static const struct {
    const char *first;
    unsigned char last_low, last_high;
} unprintable[] = {
    {"\xc2", 0x80, 0x9f},     /* C1 controls, among them the line break U+0085 */
    {"\xe2\x80", 0xa8, 0xa9}, /* U+2028 and U+2029, line and paragraph separator */
    {"\xef\xbb", 0xbf, 0xbf}, /* U+FEFF, the byte order mark */
    {"\xef\xbf", 0xbe, 0xbf}, /* U+FFFE, U+FFFF */
};

static bool is_printable(const char *character, size_t length)
{
    unsigned char last = (unsigned char)character[length - 1];

    if (length == 1)
        return last >= 0x20 && last != 0x7f;
    for (size_t i = 0; i < ARRAY_SIZE(unprintable); i++)
        if (length == strlen(unprintable[i].first) + 1 && memcmp(character, unprintable[i].first, length - 1) == 0 &&
            last >= unprintable[i].last_low && last <= unprintable[i].last_high)
            return false;
    return true;
}

size_t utf8_printable_character(const char *text, size_t size)
{
    size_t length = utf8_character(text, size);

    return length && is_printable(text, length) ? length : 0;
}

size_t utf8_printable_prefix(const char *text, size_t size)
{
    size_t offset = 0, length;

    while (offset < size && (length = utf8_printable_character(text + offset, size - offset)) > 0)
        offset += length;
    return offset;
}

size_t utf8_copy_printable(char *to, size_t room, const char *text, size_t size)
{
    size_t n = 0;

    for (size_t at = 0; at < size;) {
        size_t length = utf8_printable_character(text + at, size - at);
        size_t part = length ? length : strlen(UTF8_REPLACEMENT);
        if (n + part >= room)
            break;
        memcpy(to + n, length ? text + at : UTF8_REPLACEMENT, part);
        n += part;
        at += MAX(length, (size_t)1);
    }
    to[n] = '\0';
    return n;
}
