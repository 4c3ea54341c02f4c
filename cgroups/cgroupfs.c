/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/cgroupfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define OPEN_FLAGS (O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)

/* --- directories --- */

static int directory_open_at(int dir_fd, const char *path, int flags)
{
    int fd = openat(dir_fd, path, flags | OPEN_FLAGS);
    return fd < 0 ? -errno : fd;
}

/* Opens a path below `root_fd`, in several steps if it is longer than PATH_MAX. */
static int directory_open_path(int root_fd, const char *path)
{
    _cleanup_(closep) int base = -1;
    size_t left = strlen(path);

    while (left >= PATH_MAX) {
        char piece[PATH_MAX];
        size_t length = PATH_MAX - 1;
        while (path[length] != '/')
            length--;
        memcpy(piece, path, length);
        piece[length] = '\0';
        int next = directory_open_at(base < 0 ? root_fd : base, piece, O_PATH);
        if (next < 0)
            return next;
        if (base >= 0)
            close(base);
        base = next;
        path += length + 1;
        left -= length + 1;
    }
    return directory_open_at(base < 0 ? root_fd : base, left ? path : ".", O_RDONLY);
}

int cgroup_directory_open(const struct cgroup_root *root, const char *path, uint64_t inode)
{
    _cleanup_(closep) int fd = directory_open_path(root->fd, path + 1);
    struct stat status;

    if (fd < 0)
        return fd;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (status.st_ino != inode || status.st_dev != root->device)
        return -ESTALE;
    return steal_fd(&fd);
}

bool cgroup_directory_is_gone(int error)
{
    return error == -ENOENT || error == -ESTALE || error == -ENOTDIR || error == -ENODEV || error == -ELOOP;
}

int cgroup_directory_find(const struct cgroup_root *root, int fd, const char *name, uint64_t *ret_inode)
{
    struct stat status;

    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return cgroup_directory_is_gone(-errno) ? 0 : -errno;
    if (!S_ISDIR(status.st_mode) || status.st_dev != root->device)
        return 0;
    *ret_inode = status.st_ino;
    return 1;
}

static bool is_candidate(const struct dirent *item)
{
    if (item->d_type != DT_DIR && item->d_type != DT_UNKNOWN)
        return false;
    return !str_equal(item->d_name, ".") && !str_equal(item->d_name, "..");
}

/*
 * A directory with two links, its name and its own ".", has no subdirectories. kernfs counts links in this way; some
 * file systems do not.
 */
static bool has_no_directories(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_nlink == 2;
}

int cgroup_directory_list(const struct cgroup_root *root, int *fd,
                          void (*found)(void *userdata, const char *name, uint64_t inode), void *userdata)
{
    _cleanup_(closep) int own = steal_fd(fd);
    uint64_t inode;
    int unknown = 0;

    if (has_no_directories(own))
        return 0;
    _cleanup_(closedirp) DIR *directory = fdopendir(own);
    if (!directory)
        return -errno;
    int dir_fd = steal_fd(&own);
    for (;;) {
        errno = 0;
        const struct dirent *item = readdir(directory);
        if (!item)
            return errno ? -errno : unknown;
        int r = is_candidate(item) ? cgroup_directory_find(root, dir_fd, item->d_name, &inode) : 0;
        if (r > 0)
            found(userdata, item->d_name, inode);
        else if (r < 0)
            unknown = r;
    }
}

/* --- all directories --- */

struct walk {
    struct cgroup_root root;
    struct found_directory {
        char *path;
        uint64_t inode;
    } * found; /* directories in the order in which they are visited */
    size_t n, at;
    bool failed; /* set when out of memory */
};

static void walk_done(struct walk *walk)
{
    for (; walk->at < walk->n; walk->at++)
        free(walk->found[walk->at].path);
    free(walk->found);
    closep(&walk->root.fd);
}

/* Adds a directory and takes ownership of `path`, which is NULL if the caller ran out of memory. */
static void walk_add(struct walk *walk, char *path, uint64_t inode)
{
    if (!path || array_grow(&walk->found, walk->n) < 0) {
        walk->failed = true;
        free(path);
        return;
    }
    walk->found[walk->n++] = (struct found_directory){.path = path, .inode = inode};
}

static void walk_on_found(void *userdata, const char *name, uint64_t inode)
{
    struct walk *walk = userdata;
    const char *parent = walk->found[walk->at].path;
    char *path;

    if (walk->n >= CGROUP_WALK_MAX || strlen(parent) + strlen(name) >= PATH_MAX)
        return;
    if (asprintf(&path, "%s/%s", str_equal(parent, "/") ? "" : parent, name) < 0)
        path = NULL;
    walk_add(walk, path, inode);
}

int cgroup_walk(const char *root, bool (*visit)(void *userdata, const char *path, uint64_t inode), void *userdata)
{
    _cleanup_(walk_done) struct walk walk = {.root.fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    struct stat status;

    if (walk.root.fd < 0 || fstat(walk.root.fd, &status) < 0)
        return -errno;
    walk.root.device = status.st_dev;
    walk_add(&walk, strdup("/"), status.st_ino);
    for (; walk.at < walk.n && !walk.failed; walk.at++) {
        const struct found_directory found = walk.found[walk.at];
        int fd = visit(userdata, found.path, found.inode) ? cgroup_directory_open(&walk.root, found.path, found.inode)
                                                          : -ENOENT;
        if (fd >= 0)
            cgroup_directory_list(&walk.root, &fd, walk_on_found, &walk);
        free(found.path);
    }
    return walk.failed ? -ENOMEM : 0;
}

/* --- hierarchy --- */

/* Maximum size of mountinfo, in bytes: a container host has thousands of mounts. */
#define MOUNTINFO_MAX (16 * 1024 * 1024)
/* The initial cgroup namespace: PROC_CGROUP_INIT_INO in include/linux/proc_ns.h. */
#define INITIAL_NAMESPACE "cgroup:[4026531835]"

/* Pointers to the fields of a mountinfo line (proc_pid_mountinfo(5)). */
struct mount {
    char *root, *point, *type, *options;
};

void hierarchy_done(struct hierarchy *hierarchy)
{
    free(hierarchy->path);
    hierarchy->path = NULL;
}

static bool is_octal_escape(const char *text)
{
    for (size_t i = 0; i < 3; i++)
        if (text[i] < '0' || text[i] > '7')
            return false;
    return true;
}

/* mountinfo escapes a blank, a line break and a backslash as a backslash and three octal digits. */
static void mount_unescape(char *text)
{
    char *to = text;

    while (*text) {
        if (text[0] == '\\' && is_octal_escape(text + 1)) {
            *to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
            text += 4;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
}

/*
 * The fields are: id, parent, device, root, mount point, options, any number of optional fields, "-", type, source,
 * super options.
 */
static bool mount_parse(char *line, struct mount *ret)
{
    struct mount mount = {0};
    char *field;

    for (size_t i = 0; i < 3; i++)
        strsep(&line, " ");
    mount.root = strsep(&line, " ");
    mount.point = strsep(&line, " ");
    while ((field = strsep(&line, " ")) && !str_equal(field, "-"))
        continue;
    mount.type = strsep(&line, " ");
    strsep(&line, " ");
    mount.options = line;
    if (!mount.options)
        return false;
    mount_unescape(mount.root);
    mount_unescape(mount.point);
    *ret = mount;
    return true;
}

static bool has_option(const char *options, const char *option)
{
    size_t length = strlen(option);

    for (const char *at = options; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, option, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* The ranks of mounts, from unsuitable to most suitable. */
enum { USELESS, PART_OF_V2, WHOLE_V2, OUTSIDE_V2, PART_OF_V1, WHOLE_V1, OUTSIDE_V1 };

/*
 * Inside a cgroup namespace, mountinfo shows the namespace's root as "/", and a directory above it, as in a mount of
 * the host, as "/..".
 */
static int mount_rank(const struct mount *mount)
{
    bool whole = str_equal(mount->root, "/");
    bool outside = str_equal(mount->root, "/..") || str_starts(mount->root, "/../");

    if (str_equal(mount->type, "cgroup") && has_option(mount->options, "perf_event"))
        return outside ? OUTSIDE_V1 : whole ? WHOLE_V1 : PART_OF_V1;
    if (str_equal(mount->type, "cgroup2"))
        return outside ? OUTSIDE_V2 : whole ? WHOLE_V2 : PART_OF_V2;
    return USELESS;
}

static int none_found(struct error *error, bool v1)
{
    if (v1)
        return error_set(
            error, -ENOENT,
            "perf cannot count in any of the mounted cgroup hierarchies: they have only cgroup v1 controllers "
            "other than perf_event; mount cgroup v2, as in \"mkdir -p /sys/fs/cgroup/unified && mount -t "
            "cgroup2 cgroup2 /sys/fs/cgroup/unified\"");
    return error_set(error, -ENOENT,
                     "no cgroup file system is mounted; mount one with \"mount -t cgroup2 cgroup2 /sys/fs/cgroup\", or "
                     "give a container the host's /sys/fs/cgroup");
}

int hierarchy_parse(const char *mountinfo, struct hierarchy *ret, struct error *error)
{
    _cleanup_(freep) char *text = strdup(mountinfo);
    struct mount mount, best = {0};
    int best_rank = USELESS;
    bool v1 = false;
    char *line;

    if (!text)
        return error_oom(error);
    for (char *rest = text; (line = strsep(&rest, "\n"));) {
        if (!mount_parse(line, &mount))
            continue;
        int rank = mount_rank(&mount);
        v1 |= str_equal(mount.type, "cgroup");
        if (rank <= best_rank)
            continue;
        best = mount;
        best_rank = rank;
    }
    if (best_rank == USELESS)
        return none_found(error, v1);
    char *path = strdup(best.point);
    if (!path)
        return error_oom(error);
    *ret = (struct hierarchy){
        .kind = best_rank >= PART_OF_V1 ? HIERARCHY_V1 : HIERARCHY_V2,
        .path = path,
        .outside = best_rank == OUTSIDE_V2 || best_rank == OUTSIDE_V1,
        .namespaced = best_rank != WHOLE_V2 && best_rank != WHOLE_V1,
    };
    return 0;
}

/*
 * Inside a cgroup namespace, mountinfo shows the namespace's root as "/". Only the namespace's inode number reveals
 * that this is not the kernel's root.
 */
static bool in_namespace(const struct sys *sys)
{
    char path[PATH_MAX], target[64];

    snprintf(path, sizeof(path), "%s/proc/self/ns/cgroup", sys->root);
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    if (n < 0)
        return false;
    target[n] = '\0';
    return !str_equal(target, INITIAL_NAMESPACE);
}

static bool has_file(const char *directory, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

/*
 * Whether this is the kernel's root cgroup: in v1, it alone has a file release_agent; in v2, it alone lacks the file
 * cgroup.type.
 */
static bool is_root_cgroup(const char *path, enum hierarchy_kind kind)
{
    return has_file(path, "release_agent") || (kind == HIERARCHY_V2 && !has_file(path, "cgroup.type"));
}

int hierarchy_find(struct sys *sys, struct hierarchy *ret, struct error *error)
{
    _cleanup_(hierarchy_done) struct hierarchy found = {0};
    _cleanup_(freep) char *mountinfo = NULL;
    char path[PATH_MAX], *rooted;

    snprintf(path, sizeof(path), "%s/proc/self/mountinfo", sys->root);
    int r = file_read(AT_FDCWD, path, MOUNTINFO_MAX, &mountinfo, NULL);
    if (r < 0)
        return error_set(error, r, "cannot read %s, which lists the cgroup mounts: %s%s", path, strerror(-r),
                         r == -ENOENT ? "; is /proc mounted?" : "");
    r = hierarchy_parse(mountinfo, &found, error);
    if (r < 0)
        return r;
    if (asprintf(&rooted, "%s%s", sys->root, found.path) < 0)
        return error_oom(error);
    *ret = (struct hierarchy){
        .kind = found.kind,
        .path = rooted,
        .outside = found.outside,
        .namespaced = found.outside ? !is_root_cgroup(rooted, found.kind) : found.namespaced || in_namespace(sys),
    };
    return 0;
}
