/* SPDX-License-Identifier: Apache-2.0 */
/* A sampler of this machine and its clients, with a format of a line for each record and symbols that know nothing. */
#ifndef TESTS_UNIT_SAMPLED_H
#define TESTS_UNIT_SAMPLED_H

#include "base/process/child.h"
#include "sampler/stream.h"

/* A fixture for each test. */
struct sampled {
    struct sys sys;
    sd_event *event;
    struct machine *machine;
    struct config_sampler config;
    enum standing admits; /* everybody */
    struct sampler *sampler;
    struct child symboliser;
};
int sampled_begin(void **state);
/* Fails if a descriptor of perf is left. */
int sampled_end(void **state);

/*
 * Lines: "begin N", "sample TIME CPU PID", "dropped N", "pause TIME", "resume TIME", "rescanned",
 * "end REASON RECORDS DROPPED", "malformed N". The second writer needs all symbols at its end.
 */
extern const struct writer writer_lines, writer_settled;

/* The symbols that the sampler uses. */
struct symbols {
    sd_event *event;
    void (*done)(void *userdata);
    const void *cancelled;
    bool all_ended;
};

/* Calls of the sampler that were seen, and settings of the fakes. */
extern struct seen {
    unsigned unsettled; /* how often writer_settled says that symbols are missing */
    unsigned n_scans;
    char renamed[16];        /* "NAME-CPU" of the last record of a name that begins with "renamed" */
    struct symbols *symbols; /* of the last scan */
} seen;

struct reader {
    struct stream *stream;
    struct buffer text;
    unsigned calls;
    bool ended;
};

/* Skips the test if this machine or container does not allow to sample. */
void sampled_start_writer(struct sampled *f, const struct stream_request *request, const struct writer *writer,
                          struct reader *reader);
void sampled_start(struct sampled *f, const struct stream_request *request, struct reader *reader);
/*
 * Runs until an event has happened; the test fails after a minute without it. Readers take bytes in reader_has() and
 * reader_ended() alone.
 */
#define sampled_until(f, condition)                                                                                    \
    do {                                                                                                               \
        time_t limit_ = 0;                                                                                             \
        while (!(condition))                                                                                           \
            sampled_turn((f), #condition, &limit_);                                                                    \
    } while (0)
void sampled_turn(struct sampled *f, const char *condition, time_t *limit);
/* Disables sampling, by which streams end with "end reload"; the text of one that has ended. */
const char *sampled_disable(struct sampled *f, struct reader *reader);

/* For stream_open(). */
void reader_on_ready(void *userdata);
/* Whether it has got a word at least n times. */
bool reader_has(struct reader *reader, const char *word, unsigned n);
bool reader_ended(struct reader *reader);
/* What it has got; until it gets more. */
const char *reader_text_of(struct reader *reader);
void reader_stop(struct reader *reader);

unsigned count_perf_fds(void);
unsigned count_words(const char *text, const char *word);

#endif
