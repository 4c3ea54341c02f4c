/* SPDX-License-Identifier: Apache-2.0 */
/* Functions made at run time: see jit-symbols.h. */
#include "symbols/jit-symbols.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"

#define LINE_SIZE 4096 /* longer lines are cut */

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

int jit_symbols_parse_line(const char *line, struct symbol_list *list)
{
    uint64_t address, size;

    if (!jit_take_hex(&line, &address) || !jit_take_hex(&line, &size))
        return 0;
    return symbol_list_add(list, address, size, SYMBOL_NEWEST, line);
}

/* Skips to the start of a line. */
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

/* Up to `end`, since the process goes on writing. The last line may be incomplete. */
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
