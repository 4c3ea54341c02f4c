/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of the product in this run: see said.h. */
#include "tests/faults/said.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "daemon/log/log.h"
#include "tests/faults/faults.h"

static int said_fd = -1;

int said_begin(int fd)
{
    said_fd = fd;
    log_configure(LOG_LEVEL_WARNING, LOG_FORMAT_TEXT);
    return dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0 ? -errno : 0;
}

void said_add(const char *sentence)
{
    fprintf(stderr, "now warning %s\n", sentence);
}

/* All of it; the caller frees it. */
static char *said_text(void)
{
    struct stat st = {0};

    fflush(stdout);
    fault_expect(fstat(said_fd, &st) == 0, "fstat: %s", strerror(errno));
    char *text = calloc(1, (size_t)st.st_size + 1);
    fault_expect(text, "out of memory");
    fault_expect(pread(said_fd, text, (size_t)st.st_size, 0) >= 0, "pread: %s", strerror(errno));
    return text;
}

/* The sentence of a line of the log, behind its time and its level; NULL for another line. */
static const char *sentence_of(const char *line)
{
    static const char *const levels[] = {" warning ", " error   "};

    for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
        const char *at = strstr(line, levels[i]);
        if (at && at - line < 40)
            return at + strlen(levels[i]);
    }
    return NULL;
}

/* The next sentence of `*at`, which it cuts into lines; NULL behind the last. */
static const char *said_next(char **at)
{
    const char *sentence = NULL;
    char *line;

    while (!sentence && (line = strsep(at, "\n")))
        sentence = sentence_of(line);
    return sentence;
}

size_t said_count(void)
{
    _cleanup_(freep) char *text = said_text();
    char *at = text;
    size_t n = 0;

    while (said_next(&at))
        n++;
    return n;
}

bool said_has(const char *part)
{
    _cleanup_(freep) char *text = said_text();
    const char *sentence;
    char *at = text;

    while ((sentence = said_next(&at)))
        if (strstr(sentence, part))
            return true;
    return false;
}

void said_check_repeats(unsigned max)
{
    _cleanup_(freep) char *text = said_text();
    const char *sentences[1000], *sentence;
    unsigned counts[ARRAY_SIZE(sentences)] = {0};
    char *at = text;
    size_t n = 0;

    while ((sentence = said_next(&at)) && n < ARRAY_SIZE(sentences)) {
        size_t i = 0;
        sentences[n++] = sentence;
        while (!str_equal(sentences[i], sentence))
            i++;
        fault_expect(++counts[i] <= max, "it was said more than %u times: %s", max, sentence);
    }
}
