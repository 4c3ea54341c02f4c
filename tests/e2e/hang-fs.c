/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A FUSE file system that mirrors a directory and stops answering on command, as a hostile user's or a dead server's
 * might.
 *
 * usage: hang-fs DIRECTORY MOUNTPOINT
 *
 * MOUNTPOINT, which may be DIRECTORY itself, shows the files of DIRECTORY with their owners and modes, to all users.
 * Commands are lines of the standard input:
 *
 *     hang OPERATION [PATH]   from now on OPERATION (getattr, readlink, readdir, open, read, write, flush) does not
 *                             return, for PATH, which is relative to MOUNTPOINT and begins with "/", or for all paths
 *     answer                  all operations return, including those that wait
 *     end                     the same, and the directory is unmounted; the end of the standard input has the same
 *                             effect
 *
 * Lines of the standard output: "mounted" at first, each command once it is in effect, and "waits OPERATION PATH" for
 * each operation that begins to wait. The calling process is then in state D, and no signal ends it before the answer.
 * A lookup is a getattr, too; close(2) is a flush. The kernel caches nothing, so that each operation gets here, except
 * the pages of a file that is open for writing, since a shared mapping needs them.
 * Processes of other process groups never wait, since a daemon of another test may sample the programs of this test.
 * If this process is killed, waiting operations fail with ECONNABORTED; unmount with `umount -l MOUNTPOINT`.
 *
 * Built by: cc -o hang-fs hang-fs.c $(pkg-config --cflags --libs fuse3)
 */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HANGS_MAX 16

static int source;

/* The operations that hang; the condition wakes the waiting threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
    char operation[16], path[4096]; /* "": every path */
} hangs[HANGS_MAX];
static size_t n_hangs;

static bool does_hang(const char *operation, const char *path)
{
    for (size_t i = 0; i < n_hangs; i++)
        if (strcmp(hangs[i].operation, operation) == 0 && (!hangs[i].path[0] || strcmp(hangs[i].path, path) == 0))
            return true;
    return false;
}

static void wait_for_answer(const char *operation, const char *path)
{
    /* The process ID is 0 if the kernel itself sent the request. */
    if (getpgid(fuse_get_context()->pid) != getpgrp())
        return;
    pthread_mutex_lock(&lock);
    if (does_hang(operation, path))
        printf("waits %s %s\n", operation, path);
    while (does_hang(operation, path))
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* Converts a path in the file system to one relative to DIRECTORY. */
static const char *below(const char *path)
{
    return path[1] ? path + 1 : ".";
}

static int hang_getattr(const char *path, struct stat *ret, struct fuse_file_info *file)
{
    (void)file;
    wait_for_answer("getattr", path);
    return fstatat(source, below(path), ret, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int hang_readlink(const char *path, char *ret, size_t size)
{
    wait_for_answer("readlink", path);
    ssize_t n = readlinkat(source, below(path), ret, size - 1);
    if (n < 0)
        return -errno;
    ret[n] = '\0';
    return 0;
}

static int hang_readdir(const char *path, void *entries, fuse_fill_dir_t fill, off_t offset,
                        struct fuse_file_info *file, enum fuse_readdir_flags flags)
{
    const struct dirent *entry;

    (void)offset, (void)file, (void)flags;
    wait_for_answer("readdir", path);
    int fd = openat(source, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory)
        return -errno;
    while ((entry = readdir(directory)))
        fill(entries, entry->d_name, NULL, 0, (enum fuse_fill_dir_flags)0);
    closedir(directory);
    return 0;
}

static int hang_open(const char *path, struct fuse_file_info *file)
{
    wait_for_answer("open", path);
    int access = file->flags & O_ACCMODE, fd = openat(source, below(path), access | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    file->fh = (uint64_t)fd;
    file->direct_io = access == O_RDONLY;
    return 0;
}

static int hang_read(const char *path, char *ret, size_t size, off_t offset, struct fuse_file_info *file)
{
    wait_for_answer("read", path);
    ssize_t n = pread((int)file->fh, ret, size, offset);
    return n < 0 ? -errno : (int)n;
}

static int hang_write(const char *path, const char *bytes, size_t size, off_t offset, struct fuse_file_info *file)
{
    wait_for_answer("write", path);
    ssize_t n = pwrite((int)file->fh, bytes, size, offset);
    return n < 0 ? -errno : (int)n;
}

static int hang_flush(const char *path, struct fuse_file_info *file)
{
    (void)file;
    wait_for_answer("flush", path);
    return 0;
}

static int hang_release(const char *path, struct fuse_file_info *file)
{
    (void)path;
    return close((int)file->fh) < 0 ? -errno : 0;
}

static void obey(char *line)
{
    char *rest = line, *command = strsep(&rest, " "), *operation = strsep(&rest, " ");

    pthread_mutex_lock(&lock);
    if (strcmp(command, "hang") == 0 && operation && n_hangs < HANGS_MAX) {
        snprintf(hangs[n_hangs].operation, sizeof(hangs->operation), "%s", operation);
        snprintf(hangs[n_hangs++].path, sizeof(hangs->path), "%s", rest ? rest : "");
        printf("hang %s%s%s\n", operation, rest ? " " : "", rest ? rest : "");
    } else if (strcmp(command, "answer") == 0) {
        n_hangs = 0;
        printf("answer\n");
    } else {
        warnx("no such command: %s", command);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void *take_commands(void *unused)
{
    char line[sizeof(hangs->path) + 64], answer[] = "answer";

    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "end") == 0)
            break;
        obey(line);
    }
    obey(answer);
    kill(getpid(), SIGTERM); /* fuse_main() unmounts, and returns */
    return unused;
}

static void *hang_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    pthread_t thread;
    sigset_t all, before;

    (void)connection;
    config->use_ino = 1;
    config->attr_timeout = config->entry_timeout = config->negative_timeout = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* only the main thread handles signals */
    if (pthread_create(&thread, NULL, take_commands, NULL) != 0)
        errx(1, "cannot start a thread");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    printf("mounted\n");
    return NULL;
}

static const struct fuse_operations operations = {
    .init = hang_init,
    .getattr = hang_getattr,
    .readlink = hang_readlink,
    .readdir = hang_readdir,
    .open = hang_open,
    .read = hang_read,
    .write = hang_write,
    .flush = hang_flush,
    .release = hang_release,
};

int main(int argc, char *argv[])
{
    /* Since libfuse 3.12 there are at most ten threads by default, and each serves one operation at a time. */
    const char *threads = fuse_version() >= 312 ? ",max_threads=100" : "";
    char options[128];

    if (argc != 3)
        errx(2, "usage: hang-fs DIRECTORY MOUNTPOINT");
    setvbuf(stdout, NULL, _IOLBF, 0);
    source = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (source < 0)
        err(1, "%s", argv[1]);
    snprintf(options, sizeof(options), "fsname=hang-fs,allow_other,default_permissions%s", threads);
    char *arguments[] = {argv[0], argv[2], "-f", "-o", options, NULL};
    return fuse_main(5, arguments, &operations, NULL);
}
