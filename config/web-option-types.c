/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar types of the web configuration: see web-option-types.h. */
#include "config/web-option-types.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "config/option-types.h"

static int optional_text_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    char **to = option_member(option, base), *copy = text[0] ? strdup(text) : NULL;

    if (text[0] && !copy)
        return error_oom(error);
    free(*to);
    *to = copy;
    return 0;
}

const struct option_type option_optional_text = {"a text", option_read_text, optional_text_parse, NULL,
                                                 option_done_text};

/* The name of a file is a common mistake here. Text before the first block is for people. */
static int pem_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    if (text[0] && !strstr(text, "-----BEGIN "))
        return error_set(error, -EINVAL,
                         "expected PEM, which has a line \"-----BEGIN ...\"; for the name of a file use %s_file",
                         strrchr(option->path, '.') + 1);
    return optional_text_parse(option, text, base, error);
}

const struct option_type option_pem = {"PEM in several lines", option_read_text, pem_parse, NULL, option_done_text};

/* Words besides true and false: the exporters read YAML 1.1. */
static const char *const yes_words[] = {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"};
static const char *const no_words[] = {"n", "N", "no", "No", "NO", "off", "Off", "OFF"};

static bool is_plain_word(const yaml_node_t *n, const char *const *words, size_t n_words)
{
    const char *text = node_text(n);

    return text && n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && str_is_one_of(text, words, n_words);
}

static int yaml11_bool_read(const struct option *option, const struct document *document, const yaml_node_t *n,
                            void *base, struct error *error)
{
    bool yes = is_plain_word(n, yes_words, ARRAY_SIZE(yes_words));

    if (!yes && !is_plain_word(n, no_words, ARRAY_SIZE(no_words)))
        return option_bool.read(option, document, n, base, error);
    *(bool *)option_member(option, base) = yes;
    return 0;
}

const struct option_type option_yaml11_bool = {"true or false", yaml11_bool_read, NULL, NULL, option_done_nothing};

/* One number with its unit, of `size` bytes; Go writes the micro sign, U+00B5 or U+03BC, as well as u. */
static int go_duration_part_parse(const char *text, size_t size, uint64_t *ret)
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

static int go_duration_parse_ns(const char *text, uint64_t *ret)
{
    uint64_t total = 0, ns;

    if (text[strspn(text, "0123456789")] == '\0')
        return number_parse_u64(text, ret);
    while (*text) {
        size_t number = strspn(text, "0123456789."), size = number + strcspn(text + number, "0123456789.");
        int r = go_duration_part_parse(text, size, &ns);
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
    uint64_t ns = 0;
    int r = go_duration_parse_ns(text, &ns);

    return option_set_number(option, text, r, ns,
                             "a duration, numbers with their units (ns, us, ms, s, m, h) as in 100ms or 1m30s", base,
                             error);
}

const struct option_type option_go_duration = {"a duration", option_read_text, go_duration_parse, NULL,
                                               option_done_nothing};
