/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's functions: see kallsyms.h. */
#include "symbols/kallsyms.h"

#include <unistd.h>

#include "base/number.h"

#define CHUNK (64 * 1024)

static int add_line(struct symbol_list *list, uint64_t address, char type, char *name, const char *module)
{
    if (str_starts(name, "__pfx_")) /* padding before a function */
        return 0;
    if (!strchr("tTwW", type)) /* not a function */
        return symbol_list_add_end(list, address);
    if (module) /* "name\0[module]" becomes one */
        name[strlen(name)] = ' ';
    enum symbol_rank rank = type == 'T' ? SYMBOL_GLOBAL : type == 't' ? SYMBOL_LOCAL : SYMBOL_WEAK;
    return symbol_list_add(list, address, 0, rank, name);
}

int kallsyms_parse_line(char *line, struct symbol_list *list, bool *ret_shown)
{
    uint64_t address;

    char *blank = strchr(line, ' ');
    if (!blank || number_parse_hex_n(line, (size_t)(blank - line), &address) < 0)
        return 0;
    if (blank[1] == '\0' || blank[2] != ' ')
        return 0;
    if (address == 0)
        return 0;
    char *name = blank + 3, *tab = strchr(name, '\t');
    if (tab)
        *tab = '\0';
    bool in_module = tab && tab[1] == '[';
    int r = add_line(list, address, blank[1], name, in_module ? tab + 1 : NULL);
    if (r == 0 && strchr("tTwW", blank[1]))
        *ret_shown = true;
    return r;
}

/* Parses the complete lines in `size` bytes. Returns the number of their bytes, or -errno. */
static ssize_t parse_lines(char *text, size_t size, struct symbol_list *list, bool *shown)
{
    size_t at = 0;

    for (char *end; (end = memchr(text + at, '\n', size - at)); at = (size_t)(end - text) + 1) {
        *end = '\0';
        int r = kallsyms_parse_line(text + at, list, shown);
        if (r < 0)
            return r;
    }
    return (ssize_t)at;
}

int kallsyms_read(int fd, struct symbol_list *list)
{
    char text[CHUNK];
    size_t size = 0;
    bool shown = false;

    for (;;) {
        ssize_t n = read(fd, text + size, sizeof(text) - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return shown ? 0 : -EACCES;
        size += (size_t)n;
        ssize_t used = parse_lines(text, size, list, &shown);
        if (used < 0)
            return (int)used;
        if (used == 0 && size == sizeof(text))
            return -EBADMSG;
        size -= (size_t)used;
        memmove(text, text + used, size);
    }
}
