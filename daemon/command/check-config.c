/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd check-config [FILE]`: "FILE:LINE:COLUMN: what is wrong", or "FILE: ok". */
#include "base/cleanup.h"
#include "daemon/command/command.h"
#include "http/auth/security.h"
#include "opener/user.h"

static void print_warnings(const char *file, const struct security *security)
{
    for (int i = 0; i < N_SECURITY_WARNINGS; i++) {
        const char *warning = security_warning(security, (enum security_warning)i);
        if (warning)
            fprintf(stderr, "%s: warning: %s\n", file, warning);
    }
}

/* Certificates that it names included. */
static int check_web_config(const char *file, struct error *error)
{
    _cleanup_(security_unrefp) struct security *security = NULL;
    _cleanup_(file_versions_done) struct file_versions stamps = {0};

    int r = security_load(NULL, file, &security, &stamps, error);
    if (r == 0)
        print_warnings(file, security);
    return r;
}

static void print_deprecated(const struct config *config)
{
    char place[512];
    struct error warning;

    if (!config_has_deprecated_key(config, &warning))
        return;
    error_prefix(&warning, "warning");
    fprintf(stderr, "%s\n", config_format_error(config->file, &warning, place, sizeof(place)));
}

/* Only where this is root, who alone can become another user. */
static int check_user(const struct config *config, struct error *error)
{
    struct user user;
    int r = user_choose(config->user, &user, error);

    if (r < 0 && config->file)
        error_prefix(error, "%.200s", config->file);
    return r;
}

int command_check_config(const struct options *options)
{
    _cleanup_(session_done) struct session session = {0};
    struct error error = {0};

    sys_init(&session.sys);
    if (session_load(&session, options, &error) < 0 || check_user(session.config, &error) < 0 ||
        check_web_config(session.config->web.config_file, &error) < 0) {
        /* The position comes first, as editors expect. */
        fprintf(stderr, "%s\n", error.message);
        return EXIT_BAD_USAGE;
    }
    print_deprecated(session.config);
    printf("%s: ok\n", session.config->file ? session.config->file : "built-in configuration");
    if (session.config->web.config_file[0])
        printf("%s: ok\n", session.config->web.config_file);
    return EXIT_SUCCESS;
}
