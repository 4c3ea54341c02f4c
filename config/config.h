/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The typed configuration: the values of perfcountd.yaml, which replace the defaults and are replaced by the flags.
 * Immutable once loaded. config/keys.h is the table of its keys.
 *
 * The text of a configuration file, and paths that are relative to its directory.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <jansson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "config/values.h"
#include "perf/attr.h"

/* The largest file that is read, in bytes. */
#define CONFIG_FILE_MAX (1024 * 1024)

/* The built-in default. */
int config_default(struct config **ret, struct error *error);
/*
 * Reads `path`, which `opener` opens (base/file.h). -EINVAL for bad content, with line and column in the error; errors
 * of open(2) and read(2); -EFBIG above CONFIG_FILE_MAX. The message does not repeat the file and the position:
 * config_format_error() puts them before it.
 */
int config_load(const struct file_opener *opener, const char *path, struct config **ret, struct error *error);
/*
 * The same for a person who wants to know all that is wrong: `errors` get the errors of values, each at its position,
 * and the configuration is what remains. It fails where the file cannot be read or is not YAML.
 */
int config_load_all(const struct file_opener *opener, const char *path, struct error_list *errors, struct config **ret,
                    struct error *error);
/* config_load() for a text in memory. Pure. */
int config_parse(const char *text, size_t size, struct config **ret, struct error *error);
struct config *config_free(struct config *config);
DEFINE_CLEANUP(struct config *, config_free);

/*
 * Checks the events against a machine: -EINVAL, with the nearest names, for a bare name that no PMU knows, and for an
 * event of collectors.pmu that cannot belong to a PMU of the system on any machine (cycles, a tracepoint). The error
 * has the position in the file, except for sampler.event, which it names instead. A PMU, term or tracepoint that is
 * only missing on this machine is no error: it is reported at run time, and the rest is served.
 */
int config_check_events(const struct config *config, struct sys *sys, const struct machine *machine,
                        struct error *error);
/* The same for all events: adds the errors to the list, as many as it takes. */
void config_check_all_events(const struct config *config, struct sys *sys, const struct machine *machine,
                             struct error_list *errors);

/*
 * Calls `visit` for each event of the configuration: of its groups, of sampler.event and of sampler.tracepoints, with
 * `samples` where the sampler may open the event. Stops where `visit` does not return 0, and returns that. -ENOMEM.
 */
int config_each_event(const struct config *config,
                      int (*visit)(void *userdata, const struct event *event, bool samples), void *userdata);

/* The lowest standing of clients that may reload and pause, and of clients that may have samples. */
enum standing config_standing_to_operate(const struct config *config);
enum standing config_standing_to_sample(const struct config *config);

/* The most cgroups that an engine, which is not ENGINE_AUTO, may count. */
uint64_t config_max_cgroups(const struct config *config, enum config_engine engine);

/*
 * Whether it has a key that a later version will refuse: `warning`, which may be NULL, gets the position and what to
 * write instead, for config_format_error().
 */
bool config_has_deprecated_key(const struct config *config, struct error *warning);

/* "FILE:LINE:COLUMN: message", without the parts that are unknown. `text` is always NUL-terminated. */
const char *config_format_error(const char *file, const struct error *error, char *text, size_t size);

/*
 * Sets a value by a flag: replaces web.telemetry_path..., adds to a list such as web.listen; `path` is a key's path.
 * -EINVAL by the same checks as in the file, with a sentence that names neither key nor flag.
 */
int config_override(struct config *config, const char *path, const char *value, struct error *error);
/* Empties web.listen, before the first --web.listen-address. */
void config_clear_listen(struct config *config);

/*
 * The configuration as /api/v1/config shows it, which config_parse() reads as the same configuration; the caller owns
 * it. NULL when out of memory.
 */
json_t *config_json(const struct config *config);

/* Of a file that had settings when it was read before. */
#define CONFIG_BLANK "the file is empty, as one is that is being written; where it is to set nothing, write {} into it"

/* The whole text, NUL-terminated; the caller frees it. Errors of config_load(), with a sentence. */
int config_read_file(const struct file_opener *opener, const char *path, char **ret_text, size_t *ret_size,
                     struct error *error);

/* The directory of `path`, "." where it names none; NULL when out of memory. The caller frees it. */
char *config_directory_of(const char *path);
/* `path` below `directory`; unchanged where it is absolute, or the directory is "." or "". Likewise. */
char *config_join_path(const char *directory, const char *path);

#endif
