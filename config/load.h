/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration file as a text, and paths that are relative to where it is. */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include "base/error.h"
#include "base/file.h"

/* The whole text, NUL-terminated, for the caller to free. Errors as of config_load(), with their sentence. */
int config_read_file(const struct file_opener *opener, const char *path, char **ret_text, size_t *ret_size,
                     struct error *error);

/* The directory of `path`, "." where it names none; NULL when out of memory. The caller frees it. */
char *config_directory_of(const char *path);
/* `path` as seen from `directory`; as it is where it is absolute, or the directory is "." or "". Likewise. */
char *config_join_path(const char *directory, const char *path);

#endif
