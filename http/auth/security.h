/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What connections and requests must satisfy, from the web configuration (config/web-config.h). Counted and immutable,
 * so that a connection keeps what it began with while new ones get what a reload brought. Who holds it beyond one turn
 * of the event loop takes a reference.
 */
#ifndef HTTP_AUTH_SECURITY_H
#define HTTP_AUTH_SECURITY_H

#include "config/web-config.h"
#include "http/auth/file-versions.h"
#include "http/tls/tls.h"

struct security {
    unsigned references;
    struct web_config *config; /* NULL: plain HTTP, open to all */
    struct tls *tls;           /* NULL: plain HTTP */
    char *slow_password;       /* a sentence; NULL: none is */
};

/* What an operator has to mend although it serves, each a sentence or NULL. */
enum security_warning { SECURITY_CERTIFICATE_EXPIRED, SECURITY_PASSWORD_SLOW, N_SECURITY_WARNINGS };

/*
 * Reads the file, and the certificates that it names, which `opener` opens (base/file.h); "" or NULL for no file. The
 * error's sentence names the file (and line and column where there is one). `ret_stamps` is set on failure too, to what
 * was looked at: when that changes, it is worth another try. The caller ends it.
 */
int security_load(const struct file_opener *opener, const char *path, struct security **ret,
                  struct file_versions *ret_stamps, struct error *error);
const char *security_warning(const struct security *security, enum security_warning which);
/* Whether a client is asked for a password or a certificate. */
bool security_asks(const struct security *security);
/* The last who lets go of it frees it. security_unref() takes NULL, and returns it. */
struct security *security_ref(struct security *security);
struct security *security_unref(struct security *security);
DEFINE_CLEANUP(struct security *, security_unref);

#endif
