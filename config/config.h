/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of perfcountd as typed values.
 *
 * Values in perfcountd.yaml override the built-in defaults, and flags override values in the file. A struct config is
 * immutable once the flags are applied. config/keys.h is the table of its keys.
 *
 * Relative paths in a configuration file are relative to the directory of that file. The functions at the end of this
 * header resolve these paths, for this module and for config/web-config.h.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <jansson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "config/values.h"
#include "perf/attr.h"

/* Maximum size of the configuration file in bytes. */
#define CONFIG_FILE_MAX (1024 * 1024)

/*
 * Returns the built-in defaults. The caller frees the defaults with config_free(). On failure returns -ENOMEM with a
 * message.
 */
int config_default(struct config **ret, struct error *error);
/*
 * Reads and parses `path`, which is opened through `opener` (base/file.h). Returns -EINVAL for invalid content, with
 * line and column in `error`; -EFBIG for a file larger than CONFIG_FILE_MAX; errors from open(2) and read(2). The error
 * message does not contain the file name and the position, which config_format_error() puts before the message.
 *
 * `errors`, which may be NULL, collects the errors of all invalid values with their positions, so that a user can fix
 * all values at once. If `errors` is not NULL, *ret gets the valid values, and the function fails only if the file
 * cannot be read or is not YAML, if memory runs out, or if `errors` is full.
 */
int config_load(const struct file_opener *opener, const char *path, struct error_list *errors, struct config **ret,
                struct error *error);
/* Like config_load(), for a string in memory. Pure. */
int config_parse(const char *text, size_t size, struct config **ret, struct error *error);
struct config *config_free(struct config *config);
DEFINE_CLEANUP(struct config *, config_free);

/*
 * Checks the configured events against a machine. Returns -EINVAL, with the most similar names, for a bare event name
 * that no PMU has. Returns -EINVAL for an event of collectors.pmu that no system-wide PMU can have on any machine, such
 * as cycles or a tracepoint. The error has the event's position in the file, except for sampler.event, whose position
 * is not kept: there, the message names the key. A PMU, term or tracepoint that is only missing on this machine is not
 * an error here; the missing event is reported at run time, and the other events are served.
 */
int config_check_events(const struct config *config, struct sys *sys, const struct machine *machine,
                        struct error *error);
/* Like config_check_events(), but checks all events and adds the errors to `errors` until that list is full. */
void config_check_all_events(const struct config *config, struct sys *sys, const struct machine *machine,
                             struct error_list *errors);

/*
 * Calls visit() for each configured event: the events of all groups, of sampler.event and of sampler.tracepoints. The
 * argument `samples` of visit() tells whether the sampler may open the event. Stops when visit() returns nonzero, and
 * returns that value. Returns -ENOMEM when out of memory.
 */
int config_each_event(const struct config *config,
                      int (*visit)(void *userdata, const struct event *event, bool samples), void *userdata);

/*
 * The lowest level of trust at which a client may reload and pause the daemon, and the lowest level at which a client
 * may get samples.
 */
enum trust config_trust_to_operate(const struct config *config);
enum trust config_trust_to_sample(const struct config *config);

/* Returns how many cgroups the engine may count. `engine` must not be ENGINE_AUTO. */
uint64_t config_max_cgroups(const struct config *config, enum config_engine engine);

/*
 * Returns whether the configuration has a deprecated key, which a later version will refuse. `warning`, which may be
 * NULL, gets the position of the deprecated key, and a message that says what to write instead; config_format_error()
 * formats both.
 */
bool config_has_deprecated_key(const struct config *config, struct error *warning);

/*
 * Writes "FILE:LINE:COLUMN: message" to `text`, without the parts that are unknown, and returns `text`. `file` may be
 * NULL. The result is cut off at `size` and always NUL-terminated.
 */
const char *config_format_error(const char *file, const struct error *error, char *text, size_t size);

/*
 * Sets the key `path` ("web.telemetry_path") from the text of a flag. If the key is a list, such as web.listen, the
 * value is appended to the list. The value is checked like a value in the file, and -EINVAL is returned if it is
 * invalid; the error message names neither the key nor the flag.
 */
int config_override(struct config *config, const char *path, const char *value, struct error *error);
/* What the events are counted for: the machine, cgroups, or a command. */
enum config_scope { SCOPE_MACHINE, SCOPE_CGROUPS, SCOPE_COMMAND };
/*
 * Replaces all groups of the collectors by the events that a flag lists, such as "cycles,instructions:u", "{a,b}" or
 * the name of a preset. Events for the machine go to the collector `cpu`, or to `pmu` if their PMU is system-wide;
 * events for cgroups go to `cgroup`; events for a command go to `cpu`. Collectors that get no events are disabled.
 * Returns -EINVAL, with a message but without a position, or -ENOMEM.
 */
int config_set_events(struct config *config, const char *text, const struct machine *machine, enum config_scope scope,
                      struct error *error);
/* Empties a list. Must be called before the first flag that sets the list, because flags append to the list. */
void config_clear_list(struct config *config, const char *path);

/*
 * Returns the JSON document for /api/v1/config. Parsing this document with config_parse() yields an equal
 * configuration. The caller owns the document. Returns NULL when out of memory.
 */
json_t *config_json(const struct config *config);

/* The error message of a reload that finds an empty file, which an editor may be about to write. */
#define CONFIG_BLANK "the file is empty, perhaps because it is being written; write {} for a file that sets nothing"

/* The end of the error message of a failed reload. */
#define CONFIG_KEPT "the previous configuration stays in effect"

/*
 * Reads the whole file into a NUL-terminated string, which the caller frees. Returns the same errors as config_load(),
 * with a message.
 */
int config_read_file(const struct file_opener *opener, const char *path, char **ret_text, size_t *ret_size,
                     struct error *error);

/*
 * Returns the directory part of `path`, or "." if `path` has none. The caller frees the result. Returns NULL when out
 * of memory.
 */
char *config_directory_of(const char *path);
/*
 * Returns `path` below `directory`, or a copy of `path` if it is absolute or the directory is "." or "". The caller
 * frees the result. Returns NULL when out of memory.
 */
char *config_join_path(const char *directory, const char *path);

#endif
