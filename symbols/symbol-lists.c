/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/symbol-lists.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"

/* --- perf-PID.map --- */

#define LINE_SIZE 4096 /* longer lines are truncated */

static bool jit_take_hex(const char **at, uint64_t *ret)
{
    const char *blank = strchr(*at, ' '), *digits = *at;

    if (str_starts(digits, "0x"))
        digits += 2;
    if (!blank || blank < digits || number_parse_hex_n(digits, (size_t)(blank - digits), ret) < 0)
        return false;
    *at = blank + 1;
    return true;
}

/* Adds the function of a line, without its newline. Ignores malformed lines. Returns -ENOMEM on failure. Pure. */
static int jit_symbols_parse_line(const char *line, struct symbol_list *list)
{
    uint64_t address, size;

    if (!jit_take_hex(&line, &address) || !jit_take_hex(&line, &size))
        return 0;
    return symbol_list_add(list, address, size, SYMBOL_NEWEST, line);
}

/* Skips all but the last JIT_SYMBOLS_BYTES_MAX bytes, and then the rest of the current line. */
static int skip_to_end(FILE *file, off_t size, struct symbol_list *list)
{
    int character;

    if (size <= (off_t)JIT_SYMBOLS_BYTES_MAX)
        return 0;
    list->was_cut = true;
    if (fseeko(file, size - (off_t)JIT_SYMBOLS_BYTES_MAX, SEEK_SET) < 0)
        return -errno;
    while ((character = getc(file)) != EOF && character != '\n')
        continue;
    return 0;
}

/*
 * Reads lines up to offset `end`, the size of the file at the start: the process may still be writing. Ignores an
 * incomplete last line.
 */
static int read_lines(FILE *file, off_t end, struct symbol_list *list)
{
    char line[LINE_SIZE];
    bool begins = true;
    int r = 0;

    while (r == 0 && ftello(file) < end && fgets(line, sizeof(line), file)) {
        size_t size = strlen(line);
        bool ends = size && line[size - 1] == '\n';
        if (ends)
            line[size - 1] = '\0';
        if (begins && (ends || size == sizeof(line) - 1))
            r = jit_symbols_parse_line(line, list);
        begins = ends;
    }
    return r;
}

int jit_symbols_read(int fd, struct symbol_list *list)
{
    _cleanup_(closep) int own = dup(fd);
    _cleanup_(fclosep) FILE *file = own < 0 ? NULL : fdopen(own, "r");
    struct stat status;

    if (!file)
        return -ENOMEM;
    own = -1;
    if (fstat(fd, &status) < 0)
        return -errno;
    int r = skip_to_end(file, status.st_size, list);
    return r < 0 ? r : read_lines(file, status.st_size, list);
}

/* --- /proc/kallsyms --- */

#define CHUNK (64 * 1024) /* bytes per read(2) */

static int add_line(struct symbol_list *list, uint64_t address, char type, char *name, const char *module)
{
    if (str_starts(name, "__pfx_")) /* the padding before a function (CONFIG_CALL_PADDING) */
        return 0;
    if (!strchr("tTwW", type)) /* the symbol is not a function */
        return symbol_list_add_end(list, address);
    if (module) /* turns "name\0[module]" into "name [module]" */
        name[strlen(name)] = ' ';
    enum symbol_rank rank = type == 'T' ? SYMBOL_GLOBAL : type == 't' ? SYMBOL_LOCAL : SYMBOL_WEAK;
    return symbol_list_add(list, address, 0, rank, name);
}

/*
 * Adds the function of a line such as "ffffffff81000000 T name\t[module]", without its newline. Modifies the line.
 * Ignores malformed lines. Sets *ret_shown to true if the line shows the address of a function. Returns -ENOMEM on
 * failure.
 */
static int kallsyms_parse_line(char *line, struct symbol_list *list, bool *ret_shown)
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

/* Parses the complete lines in `text` of `size` bytes. Returns the number of bytes parsed, or -ENOMEM. */
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
