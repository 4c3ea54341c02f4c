/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar types of the web configuration: see web-option-types.h. Users and headers are in web-map-types.c. */
#include "config/web-option-types.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "config/option-types.h"

static void *member(const struct option *option, const void *base)
{
    return (char *)base + option->offset;
}

static void nothing_to_free(const struct option *option, void *base)
{
    (void)option;
    (void)base;
}

static void text_done(const struct option *option, void *base)
{
    freep(member(option, base));
    *(char **)member(option, base) = NULL;
}

static int blank_text_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    char **to = member(option, base), *copy = text[0] ? strdup(text) : NULL;

    if (text[0] && !copy)
        return error_oom(error);
    free(*to);
    *to = copy;
    return 0;
}

const struct option_type option_optional_text = {"a text", option_read_text, blank_text_parse, NULL, text_done};

/* A file's name here is a common mistake; what precedes the first block is text for people. */
static int pem_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    if (text[0] && !strstr(text, "-----BEGIN "))
        return error_set(error, -EINVAL,
                         "expected PEM, which has a line \"-----BEGIN ...\"; the name of a file goes to %s_file",
                         strrchr(option->path, '.') + 1);
    return blank_text_parse(option, text, base, error);
}

const struct option_type option_pem = {"PEM in several lines", option_read_text, pem_parse, NULL, text_done};

/* Besides true and false; the exporters' reader speaks YAML 1.1. */
static const char *const yes_words[] = {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"};
static const char *const no_words[] = {"n", "N", "no", "No", "NO", "off", "Off", "OFF"};

static bool is_plain_word(const node *n, const char *const *words, size_t n_words)
{
    const char *text = node_text(n);

    for (size_t i = 0; text && n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && i < n_words; i++)
        if (str_equal(text, words[i]))
            return true;
    return false;
}

static int switch_read(const struct option *option, const struct document *document, const node *n, void *base,
                       struct error *error)
{
    bool yes = is_plain_word(n, yes_words, ARRAY_SIZE(yes_words));

    if (!yes && !is_plain_word(n, no_words, ARRAY_SIZE(no_words)))
        return option_bool.read(option, document, n, base, error);
    *(bool *)member(option, base) = yes;
    return 0;
}

const struct option_type option_yaml11_bool = {"true or false", switch_read, NULL, NULL, nothing_to_free};

/* One number with its unit, of `size` bytes; Go writes the micro sign, U+00B5 or U+03BC, as well as u. */
static int duration_part(const char *text, size_t size, uint64_t *ret)
{
    char part[64];
    size_t number = strspn(text, "0123456789.");
    bool micro = str_starts(text + number, "\xc2\xb5") || str_starts(text + number, "\xce\xbc");

    if (number == 0 || size >= sizeof(part) || text[size - 1] == 'd') /* Go has no days */
        return -EINVAL;
    if (micro)
        snprintf(part, sizeof(part), "%.*su%.*s", (int)number, text, (int)(size - number - 2), text + number + 2);
    else
        snprintf(part, sizeof(part), "%.*s", (int)size, text);
    return number_parse_duration(part, ret);
}

static int parse_duration(const char *text, uint64_t *ret)
{
    uint64_t total = 0, ns;

    if (text[strspn(text, "0123456789")] == '\0')
        return number_parse_u64(text, ret);
    while (*text) {
        size_t number = strspn(text, "0123456789."), size = number + strcspn(text + number, "0123456789.");
        int r = duration_part(text, size, &ns);
        if (r < 0)
            return r;
        if (__builtin_add_overflow(total, ns, &total))
            return -ERANGE;
        text += size;
    }
    *ret = total;
    return 0;
}

static int go_duration_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    uint64_t ns;
    int r = parse_duration(text, &ns);

    if (r == -ERANGE || (r == 0 && (ns < option->min || ns > option->max)))
        return error_set(error, -EINVAL, "%s is out of range, %s", text, option->range);
    if (r < 0)
        return error_set(error, -EINVAL,
                         "expected a duration, numbers with their units (ns, us, ms, s, m, h) as in 100ms or 1m30s, "
                         "found \"%s\"",
                         text);
    *(uint64_t *)member(option, base) = ns;
    return 0;
}

const struct option_type option_go_duration = {"a duration", option_read_text, go_duration_parse, NULL,
                                               nothing_to_free};
