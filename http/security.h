/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The security settings that apply to connections and requests, from the web configuration (config/web-config.h): TLS,
 * passwords and headers.
 *
 * The settings are immutable and reference-counted: a connection keeps the settings with which it began, while new
 * connections get the settings of the last reload. Code that needs the settings for longer than one iteration of the
 * event loop must take a reference.
 *
 * File versions, from stat(2), which follows symbolic links, show whether the files that were read have changed.
 */
#ifndef HTTP_SECURITY_H
#define HTTP_SECURITY_H

#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "config/web-config.h"
#include "http/tls.h"

#define FILE_VERSIONS_MAX 4

struct file_version {
    char *path;
    int error; /* error from stat(2); unless it is 0, the members below are not set */
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed; /* times of the last modification and status change */
};

struct file_versions {
    const struct file_opener *opener; /* used for files that this process may not stat; may be NULL */
    struct file_version items[FILE_VERSIONS_MAX];
    size_t n;
};
/* Returns whether one of the files was modified, created or removed. */
bool file_versions_changed(const struct file_versions *versions);
void file_versions_done(struct file_versions *versions);

struct security {
    unsigned references;
    struct web_config *config; /* NULL for plain HTTP that is open to all */
    struct tls *tls;           /* NULL for plain HTTP */
    char *slow_password;       /* warning about a slow password check, or NULL */
};

/* Problems that an operator should fix, but that do not prevent serving clients. */
enum security_warning {
    SECURITY_CERTIFICATE_EXPIRED,
    SECURITY_CLIENTS_UNKNOWN,
    SECURITY_PASSWORD_SLOW,
    SECURITY_HTTP2_UNUSED,
    N_SECURITY_WARNINGS,
};

/*
 * Reads the web configuration file `path`, and the certificates that it names, through `opener` (base/file.h). If
 * `path` is "" or NULL, there is no file. On failure the error names the file, with line and column if known. Even on
 * failure, `ret_versions` is set to the versions of the files that were read: if one of them changes, the caller should
 * try again. The caller releases `ret_versions` with file_versions_done().
 */
int security_load(const struct file_opener *opener, const char *path, struct security **ret,
                  struct file_versions *ret_versions, struct error *error);
/* Returns the text of the warning, or NULL if there is no such problem. Borrowed. */
const char *security_warning(const struct security *security, enum security_warning which);
/* Returns whether clients are asked for a password or a certificate. */
bool security_asks(const struct security *security);
/* Returns whether clients must have a certificate. */
bool security_requires_certificate(const struct security *security);
/* Returns whether clients are served without a password and without a certificate. */
bool security_is_open(const struct security *security);
/* Returns whether the web configuration file exists but contains no settings. */
bool security_is_blank(const struct security *security);
/* A struct security is freed when its last reference is released. security_unref() accepts NULL, and returns NULL. */
struct security *security_ref(struct security *security);
struct security *security_unref(struct security *security);
DEFINE_CLEANUP(struct security *, security_unref);

#endif
