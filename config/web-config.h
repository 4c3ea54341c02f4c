/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web configuration file of the Prometheus exporters (prometheus/exporter-toolkit, docs/web-configuration.md): TLS,
 * passwords, headers and a rate limit. A struct web_config is immutable once it is loaded.
 *
 * Loading checks only the text. The caller checks the certificates, and whether GnuTLS supports what the TLS section
 * asks for (http/).
 */
#ifndef CONFIG_WEB_CONFIG_H
#define CONFIG_WEB_CONFIG_H

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "config/web-values.h"

/*
 * Reads and parses `path`, which `opener` opens (base/file.h). Returns -EINVAL for bad content, with line and column in
 * `error`; errors of open(2) and read(2). As with config_load(), the message does not contain the file and the
 * position. `errors` (may be NULL) collects all errors of values. The text is erased from memory afterwards.
 */
int web_config_load(const struct file_opener *opener, const char *path, struct error_list *errors,
                    struct web_config **ret, struct error *error);
/* Like web_config_load(), for a text in memory, whose relative paths are below `directory`. Pure. */
int web_config_parse(const char *text, size_t size, const char *directory, struct web_config **ret,
                     struct error *error);
struct web_config *web_config_free(struct web_config *config);
DEFINE_CLEANUP(struct web_config *, web_config_free);

#endif
