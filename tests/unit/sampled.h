/* SPDX-License-Identifier: Apache-2.0 */
/* A sampler of this machine and its clients, with a format of a line for each record and symbols that know nothing. */
#ifndef TESTS_UNIT_SAMPLED_H
#define TESTS_UNIT_SAMPLED_H

#include "sampler/stream.h"

/* A fixture for each test. */
struct sampled {
    struct sys sys;
    sd_event *event;
    struct machine *machine;
    struct config_sampler config;
    enum standing admits; /* everybody */
    struct sampler *sampler;
};
int sampled_begin(void **state);
/* Fails if a descriptor of perf is left. */
int sampled_end(void **state);

/*
 * Lines: "begin N", "sample TIME CPU PID" and a long one, "dropped N", "pause TIME", "resume TIME", "rescanned",
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
    size_t room;             /* that the sampler leaves for tables of symbols */
    char renamed[16];        /* "NAME-CPU" of the last record of a name that begins with "renamed" */
    struct symbols *symbols; /* of the last scan */
} seen;

struct reader {
    struct stream *stream;
    struct buffer text; /* ends with NUL after reader_text_of() */
    unsigned calls;
    bool lazy; /* takes nothing */
    bool ended;
};

/* Skips the test if this machine or container does not allow to sample. */
void sampled_start_writer(struct sampled *f, const struct stream_request *request, const struct writer *writer,
                          struct reader *reader);
void sampled_start(struct sampled *f, const struct stream_request *request, struct reader *reader);
/* Runs until all readers that are not lazy have ended, at most for `seconds`; busy, so that clocks tick on a CPU. */
void sampled_run(struct sampled *f, double seconds, struct reader *const *readers, size_t n);

/* For stream_open(). */
void reader_on_ready(void *userdata);
void reader_drain(struct reader *reader);
void reader_stop(struct reader *reader);
/* The text of a reader that has ended. */
char *reader_text_of(struct reader *reader);

unsigned count_perf_fds(void);
unsigned count_words(const char *text, const char *word);
double monotonic_seconds(void);

#endif
