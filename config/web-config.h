/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web configuration file of Prometheus exporters (prometheus/exporter-toolkit, docs/web-configuration.md), which
 * configures TLS, passwords, headers and a rate limit. A struct web_config is immutable once it is loaded.
 *
 * This module checks only the content of the file itself. The caller checks the certificates, and whether GnuTLS
 * supports the TLS settings (http/).
 */
#ifndef CONFIG_WEB_CONFIG_H
#define CONFIG_WEB_CONFIG_H

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "config/web-values.h"

/*
 * Reads and parses `path`, which is opened through `opener` (base/file.h). Returns -EINVAL for invalid content, with
 * line and column in `error`, or an error from open(2) or read(2). As with config_load(), the error message does not
 * contain the file name and the position. `errors`, which may be NULL, collects the errors of all invalid values. The
 * content of the file is erased from memory afterwards.
 */
int web_config_load(const struct file_opener *opener, const char *path, struct error_list *errors,
                    struct web_config **ret, struct error *error);
/* Like web_config_load(), for a string in memory. Relative paths in the string are relative to `directory`. Pure. */
int web_config_parse(const char *text, size_t size, const char *directory, struct web_config **ret,
                     struct error *error);
struct web_config *web_config_free(struct web_config *config);
DEFINE_CLEANUP(struct web_config *, web_config_free);

#endif
