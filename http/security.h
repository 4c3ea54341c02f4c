/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terms for connections and requests, from the web configuration (config/web-config.h): TLS, passwords, headers.
 *
 * They are immutable and reference-counted: a connection keeps the terms with which it began, while new connections get
 * the terms of the last reload. Code that needs them beyond one iteration of the event loop takes a reference.
 *
 * File versions detect changes of the files that were read, by stat(2), through symbolic links.
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
    int error; /* error of stat(2); if nonzero, the members below are not set */
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed; /* times of the last modification, and of the last change, which includes
                                        * permissions */
};

struct file_versions {
    const struct file_opener *opener; /* opens files on which this process may not call stat(2); NULL: none; borrowed */
    struct file_version items[FILE_VERSIONS_MAX];
    size_t n;
};
/* Whether one of the files was modified, created or removed. */
bool file_versions_changed(const struct file_versions *versions);
void file_versions_done(struct file_versions *versions);

struct security {
    unsigned references;
    struct web_config *config; /* NULL: plain HTTP, open to all */
    struct tls *tls;           /* NULL: plain HTTP */
    char *slow_password;       /* the sentence of the warning; NULL: no password is slow to check */
};

/* Problems that do not prevent serving, but that an operator should fix. */
enum security_warning {
    SECURITY_CERTIFICATE_EXPIRED,
    SECURITY_CLIENTS_UNKNOWN,
    SECURITY_PASSWORD_SLOW,
    SECURITY_HTTP2_UNUSED,
    N_SECURITY_WARNINGS,
};

/*
 * Reads the file, and the certificates that it names, through `opener` (base/file.h). `path` is "" or NULL for no file.
 * On failure the error names the file, with line and column if known. `ret_versions` is also set on failure, to the
 * files that were read: a change of one is a reason to try again. The caller releases it with file_versions_done().
 */
int security_load(const struct file_opener *opener, const char *path, struct security **ret,
                  struct file_versions *ret_versions, struct error *error);
/* The sentence of the warning, or NULL if it does not apply. Borrowed. */
const char *security_warning(const struct security *security, enum security_warning which);
/* Whether clients are asked for a password or a certificate. */
bool security_asks(const struct security *security);
/* Whether clients are served without a password and without a certificate. */
bool security_is_open(const struct security *security);
/* Whether the file exists but contains no settings. */
bool security_is_blank(const struct security *security);
/* The object is freed with its last reference. security_unref() accepts NULL, and returns NULL. */
struct security *security_ref(struct security *security);
struct security *security_unref(struct security *security);
DEFINE_CLEANUP(struct security *, security_unref);

#endif
