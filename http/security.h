/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of a few files, so that a change of one is noticed: by stat(2), through symbolic links.
 *
 * The conditions for connections and requests, from the web configuration (config/web-config.h). Counted and immutable,
 * so that a connection keeps what it began with while new ones get what a reload brought. A holder beyond one turn of
 * the event loop takes a reference.
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
    int error; /* of stat(2), else: */
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed; /* changed: rights as well */
};

struct file_versions {
    const struct file_opener *opener; /* opens files that this process may not stat; NULL: none. Borrowed */
    struct file_version items[FILE_VERSIONS_MAX];
    size_t n;
};
/* Whether one of the files has changed, gone or come. */
bool file_versions_changed(const struct file_versions *versions);
void file_versions_done(struct file_versions *versions);

struct security {
    unsigned references;
    struct web_config *config; /* NULL: plain HTTP, open to all */
    struct tls *tls;           /* NULL: plain HTTP */
    char *slow_password;       /* a sentence; NULL: no password is slow */
};

/* Problems that an operator should fix although it serves, each a sentence or NULL. */
enum security_warning {
    SECURITY_CERTIFICATE_EXPIRED,
    SECURITY_CLIENTS_UNKNOWN,
    SECURITY_PASSWORD_SLOW,
    SECURITY_HTTP2_UNUSED,
    N_SECURITY_WARNINGS,
};

/*
 * Reads the file, and the certificates that it names, which `opener` opens (base/file.h); "" or NULL for no file. The
 * error's sentence names the file (and line and column where there is one). `ret_versions` is set on failure too, to
 * the files that were read: when one changes, it is worth another try. The caller ends it.
 */
int security_load(const struct file_opener *opener, const char *path, struct security **ret,
                  struct file_versions *ret_versions, struct error *error);
const char *security_warning(const struct security *security, enum security_warning which);
/* Whether a client is asked for a password or a certificate. */
bool security_asks(const struct security *security);
/* Whether a client without either is let in. */
bool security_is_open(const struct security *security);
/* Whether its file is empty, which sets nothing. */
bool security_is_blank(const struct security *security);
/* The last reference frees it. security_unref() takes NULL, and returns it. */
struct security *security_ref(struct security *security);
struct security *security_unref(struct security *security);
DEFINE_CLEANUP(struct security *, security_unref);

#endif
