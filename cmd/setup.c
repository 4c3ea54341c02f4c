/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `perfcountd setup` makes a user an operator, and lets the installed service take profiles, ask for a password or
 * listen on other addresses. With `--undo`, the command reverts these changes.
 *
 * Setup writes files of its own, drop-ins for the units and a web configuration file, and refuses to run if other files
 * already have these names. The only other file that it changes is a web configuration in use: it appends users, and
 * keeps TLS and all other settings. In a list, setup records each file with a checksum, each new member of the group,
 * and the group itself. Undo follows the list, but keeps files that have been changed since setup wrote them.
 */
#include <crypt.h>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/number.h"
#include "base/text.h"
#include "config/address.h"
#include "config/web-config.h"
#include "daemon/options.h"
#include "daemon/session.h"

extern char **environ;

#define GROUP "perfcountd"
#define LOGIN "perfcountd" /* name of the user in the web configuration */
#define UNITS "/etc/systemd/system"
#define SERVICE_DROPINS UNITS "/perfcountd.service.d"
#define SERVICE_FILE SERVICE_DROPINS "/50-setup.conf"
#define SOCKET_FILE UNITS "/perfcountd.socket.d/50-setup.conf"
#define CONFIG_DIRECTORY SYSCONFDIR "/perfcountd"
#define WEB_FILE CONFIG_DIRECTORY "/web.yml"
#define LIST_FILE CONFIG_DIRECTORY "/setup.list"
#define DEFAULT_FILE "/etc/default/perfcountd" /* file that EnvironmentFile= in the unit names */
#define FILE_MAX ((size_t)1 << 20)
#define PASSWORD_SIZE 20
#define USERS_MARK "# Added by \"perfcountd setup\"; \"perfcountd setup --undo\" removes it.\n"
#define MARK "# Written by \"perfcountd setup\"; \"perfcountd setup --undo\" removes it.\n"

/* Directives that the unit needs for samples with all names; contrib/systemd/sampler.conf explains each directive. */
static const char sampler_directives[] =
    "AmbientCapabilities=CAP_SYS_PTRACE CAP_CHECKPOINT_RESTORE CAP_SYSLOG\n"
    "CapabilityBoundingSet=CAP_SYS_PTRACE CAP_CHECKPOINT_RESTORE CAP_SYSLOG\n"
    "ProtectProc=noaccess\n"
    "ProtectKernelLogs=no\n"
    "SystemCallFilter=~syslog\n"
    "InaccessiblePaths=-/proc/kmsg -/dev/kmsg\n"
    "ProtectKernelTunables=no\n"
    "ReadOnlyPaths=/sys -/proc/sys -/proc/sysrq-trigger -/proc/latency_stats -/proc/mtrr -/proc/acpi -/proc/bus "
    "-/proc/fs -/proc/irq\n"
    "InaccessiblePaths=-/proc/kcore\n";

struct setup {
    const struct options *options;
    char *exec;   /* command line of the installed unit */
    char *flags;  /* `exec` with the value of $ARGS from DEFAULT_FILE inserted */
    char *web;    /* path of the web configuration in use, or NULL if setup creates WEB_FILE */
    char *head;   /* the content of the file `web` before setup appended users */
    bool has_tls; /* the web configuration has TLS */
    /*
     * What setup has done: "file CHECKSUM PATH", "directory PATH", "group NAME", "member USER", and "tail CHECKSUM SIZE
     * PATH" for a file that had SIZE bytes before setup appended to it.
     */
    struct buffer list;
};

static void setup_done(struct setup *setup)
{
    free(setup->exec);
    free(setup->flags);
    free(setup->web);
    free(setup->head);
    buffer_done(&setup->list);
}

/* --- files --- */

static uint64_t checksum(const char *text, size_t size)
{
    return hash_mix_bytes(size, text, size);
}

/* A file's owner and mode. */
struct access {
    mode_t mode;
    uid_t user;
    gid_t group;
};

/* Replaces the file atomically, so that a crash leaves the old file. */
static int write_file(const char *path, const char *text, size_t size, const struct access *access, struct error *error)
{
    _cleanup_(freep) char *new = NULL;
    int r = 0;

    if (asprintf(&new, "%s.new", path) < 0)
        return error_oom(error);
    _cleanup_(closep) int fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_of_file(error, -errno, "write", new);
    errno = EIO;
    if (write(fd, text, size) != (ssize_t)size || fchown(fd, access->user, access->group) < 0 ||
        fchmod(fd, access->mode) < 0 || fsync(fd) < 0 || rename(new, path) < 0) {
        r = error_of_file(error, -errno, "write", path);
        unlink(new);
    }
    return r;
}

static int write_list(const struct setup *setup, struct error *error)
{
    return write_file(LIST_FILE, setup->list.data, setup->list.size, &(struct access){.mode = 0644}, error);
}

/* Creates the missing directories on the path, and records them in the list. */
static int make_directories(struct setup *setup, const char *path, struct error *error)
{
    _cleanup_(freep) char *copy = strdup(path);

    if (!copy)
        return error_oom(error);
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0755) == 0)
            buffer_appendf(&setup->list, "directory %s\n", copy);
        else if (errno != EEXIST)
            return error_set(error, -errno, "cannot create the directory %s: %s", copy, strerror(errno));
        *slash = '/';
    }
    return 0;
}

/* Removes a file's entry from the list, because the file is about to be written again. */
static void forget_file(struct setup *setup, const char *path)
{
    struct buffer kept = {0};
    size_t size;

    for (const char *line = setup->list.data, *end = line + setup->list.size; line < end; line += size) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size = newline ? (size_t)(newline - line) + 1 : (size_t)(end - line);
        size_t n = strlen(path) + 1;
        if (size > n && line[size - n - 1] == ' ' && memcmp(line + size - n, path, n - 1) == 0 &&
            (str_starts(line, "file ") || str_starts(line, "tail ")))
            continue;
        buffer_append(&kept, line, size);
    }
    buffer_done(&setup->list);
    setup->list = kept;
}

/* Writes one of setup's own files, which begins with MARK, and records the file in the list. */
static int add_file(struct setup *setup, const char *path, const char *content, mode_t mode, gid_t group,
                    struct error *error)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    buffer_append_text(&text, MARK);
    buffer_append_text(&text, content);
    forget_file(setup, path);
    int r = text.failed ? error_oom(error) : make_directories(setup, path, error);
    if (r < 0)
        return r;
    /* The list is written before the file, so that undo knows every file even if the list cannot be written. */
    buffer_appendf(&setup->list, "file %016llx %s\n", (unsigned long long)checksum(text.data, text.size), path);
    r = setup->list.failed ? error_oom(error) : write_list(setup, error);
    if (r == 0)
        r = write_file(path, text.data, text.size, &(struct access){.mode = mode, .group = group}, error);
    if (r == 0)
        printf("wrote %s\n", path);
    return r;
}

/* Appends `tail` to the web configuration in use, and records the file's previous size in the list. */
static int extend_file(struct setup *setup, const char *tail, struct error *error)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    size_t head = strlen(setup->head);
    struct stat status;

    buffer_append(&text, setup->head, head);
    buffer_append_text(&text, tail);
    if (text.failed)
        return error_oom(error);
    if (stat(setup->web, &status) < 0)
        return error_of_file(error, -errno, "read", setup->web);
    const struct access access = {status.st_mode & 07777, status.st_uid, status.st_gid};
    forget_file(setup, setup->web);
    buffer_appendf(&setup->list, "tail %016llx %zu %s\n", (unsigned long long)checksum(text.data, text.size), head,
                   setup->web);
    int r = setup->list.failed ? error_oom(error) : write_list(setup, error);
    if (r == 0)
        r = write_file(setup->web, text.data, text.size, &access, error);
    if (r == 0)
        printf("added a user to %s\n", setup->web);
    return r;
}

/* --- checks before anything is written --- */

/* Returns whether setup wrote the file and nobody has changed it since. */
static bool is_own_file(const struct setup *setup, const char *path)
{
    _cleanup_(freep) char *text = NULL, *line = NULL;
    size_t size;

    if (file_read(AT_FDCWD, path, FILE_MAX, &text, &size) < 0 ||
        asprintf(&line, "file %016llx %s\n", (unsigned long long)checksum(text, size), path) < 0)
        return false;
    return setup->list.size && memmem(setup->list.data, setup->list.size, line, strlen(line));
}

static int check_free(const struct setup *setup, const char *path, struct error *error)
{
    struct stat status;

    if ((lstat(path, &status) < 0 && errno == ENOENT) || is_own_file(setup, path))
        return 0;
    return error_set(error, -EEXIST,
                     "%s already exists, and \"perfcountd setup\" did not write it; nothing was changed", path);
}

/*
 * Copies the value of the last line "KEY=VALUE" that has a value; `key` includes the "=". Returns -ENOENT if there is
 * none.
 */
static int find_value(const char *text, const char *key, char **ret, struct error *error)
{
    const char *found = NULL;

    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (str_starts(line, key) && line[strlen(key)] != '\n')
            found = line + strlen(key);
    if (!found)
        return -ENOENT;
    *ret = strndup(found, strcspn(found, "\n"));
    return *ret ? 0 : error_oom(error);
}

/*
 * Sets setup->flags as systemd expands $ARGS: the words of ARGS, without their quotes, are inserted into the command
 * line.
 */
static int load_flags(struct setup *setup, struct error *error)
{
    _cleanup_(freep) char *text = NULL, *args = NULL;
    int r = 0;

    if (strstr(setup->exec, "$ARGS") && file_read(AT_FDCWD, DEFAULT_FILE, FILE_MAX, &text, NULL) == 0)
        r = find_value(text, "ARGS=", &args, error);
    if (r < 0 && r != -ENOENT)
        return r;
    if (asprintf(&setup->flags, "%s %s", setup->exec, args ? args : "") < 0) {
        setup->flags = NULL;
        return error_oom(error);
    }
    for (char *quote = setup->flags; (quote = strpbrk(quote, "\"'"));)
        *quote = ' ';
    return 0;
}

/* Finds the command line of the installed service, which the drop-in repeats with additional flags. */
static int load_unit(struct setup *setup, struct error *error)
{
    static const char *const directories[] = {UNITS, "/run/systemd/system", "/usr/local/lib/systemd/system",
                                              "/usr/lib/systemd/system", "/lib/systemd/system"};

    for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
        _cleanup_(freep) char *text = NULL;
        char path[128];
        snprintf(path, sizeof(path), "%s/perfcountd.service", directories[i]);
        if (file_read(AT_FDCWD, path, FILE_MAX, &text, NULL) < 0)
            continue;
        int r = find_value(text, "ExecStart=", &setup->exec, error);
        return r < 0 ? r : load_flags(setup, error);
    }
    return error_set(error, -ENOENT, "perfcountd.service is not installed: install the perfcountd package");
}

static bool systemd_runs(void)
{
    return access("/run/systemd/system", F_OK) == 0;
}

/* Refuses to run without systemd, as in a container, where no running daemon would read the files. */
static int check_systemd(const struct options *options, struct error *error)
{
    if (systemd_runs())
        return 0;
    return error_set(
        error, -ENOTSUP, "systemd is not running here; nothing was changed: start perfcountd with%s%s%s",
        options->profiles ? " --sampler.enabled" : "", options->setup_listen ? " --web.listen-address=ADDRESS" : "",
        options->password ? " --web.config.file=FILE, a file with basic_auth_users as in perfcountd.yaml(5)" : "");
}

/* Refuses to run if another drop-in sets the command line, because the file names would decide which one wins. */
static int check_dropins(struct error *error)
{
    DIR *directory = opendir(SERVICE_DROPINS);
    struct dirent *entry;
    int r = 0;

    while (directory && r == 0 && (entry = readdir(directory))) {
        _cleanup_(freep) char *text = NULL, *exec = NULL;
        if (str_equal(entry->d_name, "50-setup.conf") || entry->d_name[0] == '.' ||
            file_read(dirfd(directory), entry->d_name, FILE_MAX, &text, NULL) < 0)
            continue;
        if (find_value(text, "ExecStart=", &exec, error) == 0)
            r = error_set(error, -EEXIST,
                          SERVICE_DROPINS "/%s sets ExecStart=; nothing was changed: add the flags there",
                          entry->d_name);
    }
    if (directory)
        closedir(directory);
    return r;
}

/* --- a web configuration in use --- */

/*
 * Copies the value of a flag in the command line; *ret is NULL if the flag is missing. Returns -ENOMEM with a message.
 */
static int find_flag(const char *exec, const char *flag, char **ret, struct error *error)
{
    const char *found = strstr(exec, flag);

    *ret = found ? strndup(found + strlen(flag), strcspn(found + strlen(flag), " ")) : NULL;
    return found && !*ret ? error_oom(error) : 0;
}

/*
 * Finds the web configuration: the file named in the unit's command line or in the configuration, or else WEB_FILE if
 * it exists.
 */
static int find_web(struct setup *setup, struct error *error)
{
    _cleanup_(config_freep) struct config *config = NULL;
    _cleanup_(freep) char *file = NULL;
    struct options options = *setup->options;
    struct sys sys;

    int r = find_flag(setup->flags, " --web.config.file=", &setup->web, error);
    if (r == 0 && !setup->web)
        r = find_flag(setup->flags, " --config.file=", &file, error);
    if (r < 0 || setup->web)
        return r;
    sys_init(&sys);
    if (file)
        options.config_file = file;
    r = settings_read(&options, &sys, &config, error);
    if (r < 0)
        return r;
    const char *path = config->web.config_file && *config->web.config_file ? config->web.config_file : WEB_FILE;
    if (str_equal(path, WEB_FILE) && access(path, F_OK) < 0)
        return 0;
    setup->web = strdup(path);
    return setup->web ? 0 : error_oom(error);
}

/*
 * Returns the size that the file had before setup appended users, or `size` if setup appended nothing or the file has
 * been changed since.
 */
static size_t head_size(const struct setup *setup, const char *path, const char *text, size_t size)
{
    _cleanup_(freep) char *start = NULL, *end = NULL;
    uint64_t head;

    if (!setup->list.size || asprintf(&start, "tail %016llx ", (unsigned long long)checksum(text, size)) < 0)
        return size;
    const char *found = memmem(setup->list.data, setup->list.size, start, strlen(start));
    if (!found || asprintf(&end, " %s\n", path) < 0)
        return size;
    const char *number = found + strlen(start);
    size_t digits = strspn(number, "0123456789");
    if (!str_starts(number + digits, end) || number_parse_u64_n(number, digits, &head) < 0)
        return size;
    return MIN((size_t)head, size);
}

/* Checks that setup->head has no users, and that appending users makes a valid web configuration. */
static int check_head(struct setup *setup, struct error *error)
{
    _cleanup_(web_config_freep) struct web_config *before = NULL, *after = NULL;
    _cleanup_(buffer_done) struct buffer text = {0};

    int r = web_config_parse(setup->head, strlen(setup->head), "/", &before, error);
    if (r == 0 && before->n_users)
        return error_set(error, -EEXIST, "%s already has basic_auth_users; nothing was changed", setup->web);
    buffer_appendf(&text, "%s\nbasic_auth_users: {" LOGIN ": $2y$10$%053d}\n", setup->head, 0);
    if (r == 0)
        r = text.failed ? error_oom(error) : web_config_parse(text.data, text.size, "/", &after, error);
    if (r < 0) {
        error_prefix(error, "%s: cannot add a user; nothing was changed", setup->web);
        return r;
    }
    setup->has_tls = before->tls.enabled;
    return 0;
}

/*
 * Checks the web configuration in use. If setup created it, setup->web becomes NULL, so that setup writes it again.
 */
static int check_web(struct setup *setup, struct error *error)
{
    struct stat status;
    size_t size;
    int r = find_web(setup, error);

    if (r < 0 || !setup->web)
        return r;
    if (is_own_file(setup, setup->web)) {
        free(steal(setup->web));
        return 0;
    }
    if (setup->web[0] != '/' || lstat(setup->web, &status) < 0 || !S_ISREG(status.st_mode))
        return error_set(
            error, -EINVAL,
            "%s, the web configuration in use, is not a regular file: add basic_auth_users there; nothing was changed",
            setup->web);
    r = file_read(AT_FDCWD, setup->web, FILE_MAX, &setup->head, &size);
    if (r < 0)
        return error_of_file(error, r, "read", setup->web);
    setup->head[head_size(setup, setup->web, setup->head, size)] = '\0';
    return check_head(setup, error);
}

static int check_all(struct setup *setup, struct error *error)
{
    const struct options *options = setup->options;
    struct address address;
    bool of_service = options->profiles || options->password || options->setup_listen;
    int r = of_service ? check_systemd(options, error) : 0;

    if (r == 0)
        r = load_unit(setup, error);
    if (r == 0 && (options->profiles || options->password))
        r = check_dropins(error);
    if (r == 0 && (options->profiles || options->password))
        r = check_free(setup, SERVICE_FILE, error);
    if (r == 0 && options->password)
        r = check_web(setup, error);
    if (r == 0 && options->setup_listen)
        r = check_free(setup, SOCKET_FILE, error);
    if (r == 0 && options->setup_listen && (r = address_parse(options->setup_listen, &address, error)) < 0)
        error_prefix(error, "--listen");
    return r;
}

/* --- system commands --- */

/* Runs a program and waits for it to exit. Returns the exit status, or -errno if the program cannot be run. */
static int run_program(const char *const *argv)
{
    int status;
    pid_t pid;

    fflush(stdout);
    int r = posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);
    if (r != 0)
        return -r;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int run_or_fail(const char *const *argv, struct error *error)
{
    int r = run_program(argv);

    if (r == 0)
        return 0;
    if (r < 0)
        return error_set(error, r, "cannot run %s: %s", argv[0], strerror(-r));
    return error_set(error, -EIO, "%s %s ended with status %d", argv[0], argv[1], r);
}

static int restart_service(struct error *error)
{
    static const char *const reload[] = {"systemctl", "daemon-reload", NULL};
    static const char *const restart[] = {"systemctl", "restart", "perfcountd.socket", "perfcountd.service", NULL};

    if (!systemd_runs()) {
        printf("systemd is not running here, so nothing was restarted\n");
        return 0;
    }
    int r = run_or_fail(reload, error);
    if (r == 0)
        r = run_or_fail(restart, error);
    if (r == 0)
        printf("restarted perfcountd.service\n");
    return r;
}

/* --- steps of setup --- */

static int add_group(struct setup *setup, struct error *error)
{
    static const char *const argv[] = {"groupadd", "--system", GROUP, NULL};

    if (getgrnam(GROUP))
        return 0;
    int r = run_or_fail(argv, error);
    if (r < 0)
        return r;
    buffer_appendf(&setup->list, "group " GROUP "\n");
    printf("made the group " GROUP "\n");
    return write_list(setup, error);
}

static bool is_member(const char *user)
{
    const struct group *group = getgrnam(GROUP);

    for (char **member = group ? group->gr_mem : NULL; member && *member; member++)
        if (str_equal(*member, user))
            return true;
    return false;
}

/* Makes the user who called sudo(8) an operator. */
static int add_member(struct setup *setup, struct error *error)
{
    const char *user = getenv("SUDO_USER");

    if (!user || str_equal(user, "root") || !getpwnam(user) || is_member(user))
        return 0;
    const char *const argv[] = {"gpasswd", "--add", user, GROUP, NULL};
    int r = run_or_fail(argv, error);
    if (r < 0)
        return r;
    buffer_appendf(&setup->list, "member %s\n", user);
    printf("%s will be an operator from the next login on, through /run/perfcountd.sock\n", user);
    return write_list(setup, error);
}

/* Generates a random password without characters that look alike. */
static int make_password(char password[PASSWORD_SIZE + 1], struct error *error)
{
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789"; /* 32 characters */
    unsigned char bytes[PASSWORD_SIZE];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return error_set(error, -EIO, "the kernel cannot provide random numbers");
    for (size_t i = 0; i < PASSWORD_SIZE; i++)
        password[i] = letters[bytes[i] % (sizeof(letters) - 1)];
    password[PASSWORD_SIZE] = '\0';
    explicit_bzero(bytes, sizeof(bytes));
    return 0;
}

static int add_password(struct setup *setup, struct error *error)
{
    _cleanup_(freep) struct crypt_data *data = calloc(1, sizeof(*data));
    const struct group *group = getgrnam(GROUP);
    char password[PASSWORD_SIZE + 1], setting[CRYPT_GENSALT_OUTPUT_SIZE], content[256];

    if (!data)
        return error_oom(error);
    int r = make_password(password, error);
    if (r < 0)
        return r;
    const char *hash = crypt_gensalt_rn("$2y$", 10, NULL, 0, setting, sizeof(setting))
                           ? crypt_rn(password, setting, data, sizeof(*data))
                           : NULL;
    if (!hash)
        return error_set(error, -ENOTSUP, "libcrypt cannot hash a password: %s", strerror(errno));
    snprintf(content, sizeof(content), "%s%sbasic_auth_users:\n  " LOGIN ": %s\n",
             setup->web && !str_ends(setup->head, "\n") ? "\n" : "", setup->web ? USERS_MARK : "", hash);
    if (setup->web)
        r = extend_file(setup, content, error);
    else
        r = add_file(setup, WEB_FILE, content, 0640, group ? group->gr_gid : 0, error);
    if (r == 0)
        printf(
            "once the service has restarted, all clients need this password, including Prometheus and, on "
            "/run/perfcountd.sock, everyone but root; it is shown only here:\n"
            "    user:     " LOGIN "\n    password: %s\n%s",
            password,
            setup->has_tls
                ? ""
                : "clients send it unencrypted, unless you set up TLS: see tls_server_config in perfcountd.yaml(5)\n");
    explicit_bzero(password, sizeof(password));
    explicit_bzero(data, sizeof(*data));
    return r;
}

/* Writes the service's drop-in, keeping flags from an earlier setup. */
static int add_service_file(struct setup *setup, struct error *error)
{
    _cleanup_(freep) char *before = NULL;
    _cleanup_(buffer_done) struct buffer content = {0};

    bool again = file_read(AT_FDCWD, SERVICE_FILE, FILE_MAX, &before, NULL) == 0;
    bool profiles = setup->options->profiles || (again && strstr(before, " --sampler.enabled"));
    /*
     * The drop-in must name WEB_FILE, unless another web configuration is in use or the command line already names a
     * web configuration.
     */
    bool names_web = setup->options->password && (!setup->web || str_equal(setup->web, WEB_FILE)) &&
                     !strstr(setup->flags, " --web.config.file=");
    bool password = names_web || (again && strstr(before, " --web.config.file=" WEB_FILE) &&
                                  !strstr(setup->flags, " --web.config.file="));
    buffer_appendf(&content, "[Service]\nExecStart=\nExecStart=%s%s%s\n", setup->exec,
                   profiles ? " --sampler.enabled" : "", password ? " --web.config.file=" WEB_FILE : "");
    buffer_append_text(&content, profiles ? sampler_directives : "");
    buffer_append_char(&content, '\0');
    return content.failed ? error_oom(error) : add_file(setup, SERVICE_FILE, content.data, 0644, 0, error);
}

/* Writes the socket's drop-in, whose ListenStream= takes a port, an address with a port, or a path. */
static int add_socket_file(struct setup *setup, struct error *error)
{
    const char *address = setup->options->setup_listen;
    char content[512];

    if (str_starts(address, "unix:"))
        address += strlen("unix:");
    else if (address[0] == ':')
        address++;
    snprintf(content, sizeof(content), "[Socket]\nListenStream=\nListenStream=%s\nListenStream=/run/perfcountd.sock\n",
             address);
    return add_file(setup, SOCKET_FILE, content, 0644, 0, error);
}

/*
 * Returns the first address in the socket's drop-in, in the syntax of address_parse(), or NULL if the drop-in has no
 * address.
 */
static char *find_listen(void)
{
    static const char key[] = "\nListenStream=";
    _cleanup_(freep) char *text = NULL;
    char *address = NULL;

    if (file_read(AT_FDCWD, SOCKET_FILE, FILE_MAX, &text, NULL) < 0)
        return NULL;
    for (const char *at = text; !address && (at = strstr(at, key));) {
        at += strlen(key);
        int size = (int)strcspn(at, "\n");
        bool is_port = (int)strspn(at, "0123456789") == size;
        if (size && asprintf(&address, "%s%.*s", is_port ? ":" : *at == '/' ? "unix:" : "", size, at) < 0)
            return NULL;
    }
    return address;
}

static void print_page(const struct setup *setup)
{
    _cleanup_(freep) char *listen = find_listen(), *url = NULL;
    struct address address;

    if (address_parse(listen ? listen : ":10298", &address, NULL) == 0)
        url = address_format((const struct sockaddr *)&address.socket, address.size);
    bool has_page = url && str_starts(url, "http:");
    printf("the service takes profiles: %s%s%ssee perfcountd(8)\n",
           !has_page        ? ""
           : setup->has_tls ? "open https"
                            : "open http",
           has_page ? url + strlen("http") : "", has_page ? " in a browser, or " : "");
}

static int setup_apply(struct setup *setup, struct error *error)
{
    const struct options *options = setup->options;
    bool of_service = options->profiles || options->password || options->setup_listen;
    int r = make_directories(setup, LIST_FILE, error);
    size_t before = setup->list.size;

    if (r == 0)
        r = add_group(setup, error);
    if (r == 0)
        r = add_member(setup, error);
    if (r == 0 && options->password)
        r = add_password(setup, error);
    if (r == 0 && (options->profiles || options->password))
        r = add_service_file(setup, error);
    if (r == 0 && options->setup_listen)
        r = add_socket_file(setup, error);
    if (r == 0 && of_service)
        r = restart_service(error);
    if (r == 0 && options->profiles)
        print_page(setup);
    if (r == 0 && !of_service && setup->list.size == before)
        printf("nothing to do: the group " GROUP " exists, and sudo names no user who is not in it yet; see "
               "\"perfcountd setup --help\" for what else can be set up\n");
    return r;
}

/* --- undo --- */

static void undo_file(const char *sum_and_path)
{
    _cleanup_(freep) char *text = NULL;
    const char *path = strchr(sum_and_path, ' ');
    uint64_t sum;
    size_t size;

    if (!path || number_parse_hex_n(sum_and_path, (size_t)(path - sum_and_path), &sum) < 0)
        return;
    path++;
    int r = file_read(AT_FDCWD, path, FILE_MAX, &text, &size);
    if (r == -ENOENT)
        return;
    if (r < 0 || checksum(text, size) != sum)
        printf("left %s: it has been changed since\n", path);
    else if (unlink(path) == 0)
        printf("removed %s\n", path);
    else
        printf("left %s: %s\n", path, strerror(errno));
}

static void undo_tail(const char *sum_size_and_path)
{
    _cleanup_(freep) char *text = NULL;
    const char *number = strchr(sum_size_and_path, ' '), *path = number ? strchr(number + 1, ' ') : NULL;
    struct stat status;
    struct error error;
    uint64_t sum, head;
    size_t size;

    if (!path || number_parse_hex_n(sum_size_and_path, (size_t)(number - sum_size_and_path), &sum) < 0 ||
        number_parse_u64_n(number + 1, (size_t)(path - number - 1), &head) < 0)
        return;
    path++;
    if (file_read(AT_FDCWD, path, FILE_MAX, &text, &size) < 0 || stat(path, &status) < 0)
        return;
    const struct access access = {status.st_mode & 07777, status.st_uid, status.st_gid};
    if (checksum(text, size) != sum || head > size)
        printf("left the user in %s: it has been changed since\n", path);
    else if (write_file(path, text, (size_t)head, &access, &error) == 0)
        printf("removed the user from %s\n", path);
    else
        printf("left the user in %s: %s\n", path, error.message);
}

static void undo_member(const char *user)
{
    const char *const argv[] = {"gpasswd", "--delete", user, GROUP, NULL};

    if (is_member(user) && run_program(argv) == 0)
        printf("%s is no longer an operator\n", user);
}

static void undo_group(const char *name)
{
    const char *const argv[] = {"groupdel", name, NULL};

    if (getgrnam(name) && run_program(argv) == 0)
        printf("removed the group %s\n", name);
}

static void undo_line(const char *line)
{
    static const struct {
        const char *word;
        void (*undo)(const char *rest);
    } kinds[] = {{"file ", undo_file}, {"tail ", undo_tail}, {"member ", undo_member}, {"group ", undo_group}};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (str_starts(line, kinds[i].word))
            kinds[i].undo(line + strlen(kinds[i].word));
}

/* Reverts the steps in `list`, the last one first, and then removes empty directories. `list` must not be empty. */
static void undo_list(char *list)
{
    static const char word[] = "directory ";
    char *end = list + strlen(list), *line;

    end += end[-1] != '\n';
    for (char *c = list; c < end; c++)
        if (*c == '\n')
            *c = '\0';
    for (size_t pass = 0; pass < 2; pass++) {
        for (char *next = end; next > list; next = line) {
            for (line = next - 1; line > list && line[-1]; line--)
                ;
            if (pass == 0)
                undo_line(line);
            else if (str_starts(line, word))
                rmdir(line + strlen(word));
        }
        if (pass == 0)
            unlink(LIST_FILE);
    }
}

static int setup_undo(struct setup *setup, struct error *error)
{
    _cleanup_(freep) char *list = buffer_string(&setup->list);

    if (!list)
        return error_oom(error);
    if (!*list) {
        printf("nothing to undo: " LIST_FILE " does not exist\n");
        return 0;
    }
    bool has_files = strstr(list, "file ") || strstr(list, "tail ");
    undo_list(list);
    return has_files ? restart_service(error) : 0;
}

int command_setup(const struct options *options)
{
    _cleanup_(setup_done) struct setup setup = {.options = options};
    _cleanup_(freep) char *list = NULL;
    struct error error;
    size_t size;

    if (geteuid() != 0) {
        error_set(&error, -EPERM, "setup changes the system: run \"sudo perfcountd setup\"");
        return command_fail(EXIT_FAILURE, &error);
    }
    int r = file_read(AT_FDCWD, LIST_FILE, FILE_MAX, &list, &size);
    if (r < 0 && r != -ENOENT) {
        error_of_file(&error, r, "read", LIST_FILE);
        return command_fail(EXIT_FAILURE, &error);
    }
    if (r == 0)
        buffer_append(&setup.list, list, size);
    umask(022);
    if (options->undo)
        r = setup_undo(&setup, &error);
    else if ((r = check_all(&setup, &error)) == 0)
        r = setup_apply(&setup, &error);
    return r < 0 ? command_fail(EXIT_FAILURE, &error) : EXIT_SUCCESS;
}
