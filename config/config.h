/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of perfcountd as typed values.
 *
 * Values of perfcountd.yaml replace the built-in defaults, and flags replace values of the file. A struct config is
 * immutable once the flags are applied. config/keys.h is the table of its keys.
 *
 * Relative paths in a configuration file are relative to the directory of that file; the functions for this at the end
 * also serve config/web-config.h.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <jansson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "config/values.h"
#include "perf/attr.h"

/* The largest configuration file that is read, in bytes. */
#define CONFIG_FILE_MAX (1024 * 1024)

/* Returns the built-in defaults. The caller frees them with config_free(). -ENOMEM with a message. */
int config_default(struct config **ret, struct error *error);
/*
 * Reads and parses `path`, which `opener` opens (base/file.h). Returns -EINVAL for bad content, with line and column in
 * `error`; errors of open(2) and read(2); -EFBIG above CONFIG_FILE_MAX. The message does not contain the file and the
 * position: config_format_error() puts them before it.
 *
 * `errors` (may be NULL) collects all errors, for a person who wants to fix them at once: it gets the error of each bad
 * value with its position, and the configuration has the remaining values. Then the function fails only if the file
 * cannot be read or is not YAML, or if memory or `errors` is exhausted.
 */
int config_load(const struct file_opener *opener, const char *path, struct error_list *errors, struct config **ret,
                struct error *error);
/* Like config_load(), for a text in memory. Pure. */
int config_parse(const char *text, size_t size, struct config **ret, struct error *error);
struct config *config_free(struct config *config);
DEFINE_CLEANUP(struct config *, config_free);

/*
 * Checks the events against a machine. Returns -EINVAL for a bare name that no PMU has, with the nearest names, and for
 * an event of collectors.pmu that no machine can have on a system-wide PMU (cycles, a tracepoint). The error has the
 * position in the file; for sampler.event, whose position is not kept, the message names the key instead. A PMU, term
 * or tracepoint that is only missing on this machine is not an error: it is reported at run time, and the other events
 * are served.
 */
int config_check_events(const struct config *config, struct sys *sys, const struct machine *machine,
                        struct error *error);
/* Like config_check_events(), but checks all events and adds the errors to `errors` until it is full. */
void config_check_all_events(const struct config *config, struct sys *sys, const struct machine *machine,
                             struct error_list *errors);

/*
 * Calls visit() for each event of the configuration: the events of all groups, of sampler.event and of
 * sampler.tracepoints. `samples` is true if the sampler may open the event. Stops when visit() returns nonzero, and
 * returns that value. Returns -ENOMEM on failure of its own.
 */
int config_each_event(const struct config *config,
                      int (*visit)(void *userdata, const struct event *event, bool samples), void *userdata);

/* The lowest trust with which a client may reload and pause, and with which it may have samples. */
enum trust config_trust_to_operate(const struct config *config);
enum trust config_trust_to_sample(const struct config *config);

/* The number of cgroups that an engine may count. `engine` is not ENGINE_AUTO. */
uint64_t config_max_cgroups(const struct config *config, enum config_engine engine);

/*
 * Returns whether the configuration has a deprecated key, which a later version will refuse. `warning`, which may be
 * NULL, gets the key's position and what to write instead, for config_format_error().
 */
bool config_has_deprecated_key(const struct config *config, struct error *warning);

/*
 * Writes "FILE:LINE:COLUMN: message" to `text`, without the parts that are unknown, and returns `text`. `file` may be
 * NULL. The result is cut off at `size` and always NUL-terminated.
 */
const char *config_format_error(const char *file, const struct error *error, char *text, size_t size);

/*
 * Sets the key `path` ("web.telemetry_path") from the text of a flag. A value for a list, such as web.listen, is
 * appended. Returns -EINVAL after the same checks as in the file; the sentence about a bad value names neither the key
 * nor the flag.
 */
int config_override(struct config *config, const char *path, const char *value, struct error *error);
/* What config_set_events() sets the events for: the machine, cgroups, or a command. */
enum config_scope { SCOPE_MACHINE, SCOPE_CGROUPS, SCOPE_COMMAND };
/*
 * Replaces all groups of the collectors by the events of a flag, as in "cycles,instructions:u", "{a,b}" or the name of
 * a preset. Events of the machine go to the collector `cpu`, or to `pmu` if their PMU is system-wide; events of cgroups
 * go to `cgroup`; events of a command go to `cpu`. The other collectors are disabled. Returns -EINVAL with a message,
 * which has no position; -ENOMEM.
 */
int config_set_events(struct config *config, const char *text, const struct machine *machine, enum config_scope scope,
                      struct error *error);
/* Empties a list. Called before the first flag that sets the list, because flags append. */
void config_clear_list(struct config *config, const char *path);

/*
 * Returns the configuration as /api/v1/config shows it. config_parse() reads the document as the same configuration.
 * The caller owns it. NULL when out of memory.
 */
json_t *config_json(const struct config *config);

/* Why a reload refuses an empty file: an editor may be about to write it. */
#define CONFIG_BLANK "the file is empty, perhaps because it is being written; write {} for a file that sets nothing"

/* What a failed reload adds to its error. */
#define CONFIG_KEPT "the previous configuration stays in effect"

/*
 * Reads the whole file into a NUL-terminated text, which the caller frees. Errors are those of config_load(), with a
 * sentence.
 */
int config_read_file(const struct file_opener *opener, const char *path, char **ret_text, size_t *ret_size,
                     struct error *error);

/* Returns the directory part of `path`, or "." if it has none. The caller frees it. NULL when out of memory. */
char *config_directory_of(const char *path);
/*
 * Returns `path` below `directory`, or a copy of `path` if it is absolute or the directory is "." or "". The caller
 * frees it. NULL when out of memory.
 */
char *config_join_path(const char *directory, const char *path);

#endif
