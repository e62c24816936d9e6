/* Atomic replacement of files. */
#include "atomic_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "file_error.h"

enum { NO_OLD_FILE = -1, MOST_LINKS = 40, TRIES = 1000, MOST_AT_ONCE = 1 << 30 };

/* Removes the temporary file. */
static void discard(heed_atomic_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        file->fd = -1;
    }
    if (*file->temporary != '\0') {
        unlink(file->temporary);
        *file->temporary = '\0';
    }
}

/* Discards first: an error handler may exit the program. */
static heed_status fail(heed_atomic_file *file, const char *what, int error)
{
    discard(file);
    return heed_fail_file(file->function, file->path, what, error);
}

/* Resolves symbolic links: renaming over a link would replace the link, not its target. */
static heed_status find_target(heed_atomic_file *file)
{
    char *target = file->target, link[HEED_LONGEST_PATH];
    if (strlen(file->path) >= sizeof file->target) {
        return fail(file, "find it", ENAMETOOLONG);
    }
    strcpy(target, file->path);
    for (int i = 0; i < MOST_LINKS; i++) {
        const ssize_t length = readlink(target, link, sizeof link - 1);
        if (length < 0) { /* not a link, or no such file yet */
            return errno == EINVAL || errno == ENOENT ? HEED_OK : fail(file, "find it", errno);
        }
        const char *slash = strrchr(target, '/');
        const size_t folder = slash == NULL || *link == '/' ? 0 : (size_t)(slash + 1 - target);
        if (folder + (size_t)length >= sizeof file->target) {
            return fail(file, "find it", ENAMETOOLONG);
        }
        memcpy(target + folder, link, (size_t)length);
        target[folder + (size_t)length] = '\0';
    }
    return fail(file, "find it", ELOOP);
}

/* Sets *mode to the permissions of the old file, which the new one inherits. Checks that the old
 * file is regular and writable, because renaming does not. */
static heed_status check_old(heed_atomic_file *file, int *mode)
{
    struct stat old;
    *mode = NO_OLD_FILE;
    if (stat(file->target, &old) != 0) {
        return errno == ENOENT ? HEED_OK : fail(file, "stat it", errno);
    }
    if (!S_ISREG(old.st_mode)) {
        return heed_fail_at(HEED_ERR_FILE, file->function, file->path, "it is %s",
                            S_ISDIR(old.st_mode) ? "a directory" : "not a regular file");
    }
    if (access(file->target, W_OK) != 0) {
        return fail(file, "write it", errno);
    }
    *mode = (int)(old.st_mode & 0777);
    return HEED_OK;
}

/* ---- temporary files ----
 *
 * They are named TARGET.tmp-HOST-PROCESS-NUMBER, where HOST is a hash of the host's name. Each is
 * locked while it is open. If a save is killed, its temporary file remains. The next save of the
 * same target removes it, but only if all of the following hold:
 *
 *   it is a regular file without other links and belongs to this user
 *   it was created on this host by a process that no longer exists: other hosts may share the
 *     disk, and other threads of this process may be saving
 *   it is not locked: containers may share the host's name but not its process numbers */

/* FNV-1a of the host's name. */
static unsigned host_hash(void)
{
    char name[256] = "";
    uint32_t hash = 2166136261u;
    gethostname(name, sizeof name - 1);
    for (const char *c = name; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    }
    return hash;
}

/* False: another process holds the lock, or the file system has no locks. */
static bool lock(int fd)
{
    return fcntl(fd, F_SETLK, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET}) == 0;
}

/* The process that created this temporary file of the target; 0: another file, or of another
 * host. */
static pid_t process_of(const char *name, const char *target)
{
    const size_t length = strlen(target);
    unsigned host;
    long process, number;
    char again[HEED_LONGEST_PATH + 40];
    if (strncmp(name, target, length) != 0 ||
        sscanf(name + length, ".tmp-%8x-%9ld-%9ld", &host, &process, &number) != 3) {
        return 0;
    }
    snprintf(again, sizeof again, "%s.tmp-%08x-%ld-%ld", target, host_hash(), process, number);
    return strcmp(name, again) == 0 && process > 0 ? (pid_t)process : 0;
}

static void remove_leftover(int folder, const char *name)
{
    struct stat at, named;
    const int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    /* Once the lock is held: another process may have removed or renamed the file before, and given
     * its name to a new one. */
    if (lock(fd) && fstat(fd, &at) == 0 &&
        fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && at.st_dev == named.st_dev &&
        at.st_ino == named.st_ino && S_ISREG(at.st_mode) && at.st_uid == geteuid() &&
        at.st_nlink == 1) {
        unlinkat(folder, name, 0);
    }
    close(fd);
}

/* Failing to remove leftovers is not an error. */
static void remove_leftovers(const heed_atomic_file *file)
{
    const char *slash = strrchr(file->target, '/');
    const char *target = slash != NULL ? slash + 1 : file->target;
    char path[HEED_LONGEST_PATH];
    snprintf(path, sizeof path, "%.*s.", (int)(target - file->target), file->target);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return;
    }
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        const pid_t process = process_of(e->d_name, target);
        if (process != 0 && kill(process, 0) != 0 && errno == ESRCH) {
            remove_leftover(dirfd(folder), e->d_name);
        }
    }
    closedir(folder);
}

static heed_status create(heed_atomic_file *file, int mode)
{
    const unsigned host = host_hash();
    for (int i = 0; i < TRIES && file->fd < 0; i++) {
        snprintf(file->temporary, sizeof file->temporary, "%s.tmp-%08x-%ld-%d", file->target, host,
                 (long)getpid(), i);
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->fd < 0 && errno != EEXIST) {
            break;
        }
    }
    if (file->fd < 0) {
        const int error = errno;
        *file->temporary = '\0'; /* not created here: do not delete it */
        return fail(file, "create a temporary file next to it", error);
    }
    lock(file->fd);
    return mode != NO_OLD_FILE && fchmod(file->fd, (mode_t)mode) != 0
               ? fail(file, "set its permissions", errno)
               : HEED_OK;
}

heed_status heed_atomic_begin(heed_atomic_file *file, const char *function, const char *path)
{
    int mode;
    file->function = function;
    file->path = path;
    file->fd = -1;
    *file->temporary = '\0';
    if (heed_error_pending() || find_target(file) != HEED_OK || check_old(file, &mode) != HEED_OK) {
        return heed_error_pending();
    }
    remove_leftovers(file);
    return create(file, mode);
}

heed_status heed_atomic_write(heed_atomic_file *file, const void *data, size_t size)
{
    while (size > 0 && !heed_error_pending()) {
        const int64_t written =
            heed_write(file->fd, data, size < MOST_AT_ONCE ? size : MOST_AT_ONCE);
        if (written == 0 || (written < 0 && errno != EINTR)) {
            return fail(file, "write it", written == 0 ? EIO : errno);
        }
        if (written > 0) {
            data = (const char *)data + written;
            size -= (size_t)written;
        }
    }
    return heed_error_pending();
}

size_t heed_write_buffer_size(const heed_tensor *t)
{
    return heed_is_contiguous(t) ? 0 : (size_t)t->numel * heed_dtype_size(t->dtype);
}

heed_status heed_atomic_write_tensor(heed_atomic_file *file, const heed_tensor *t, void *buffer)
{
    const void *data = t->data;
    if (heed_write_buffer_size(t) > 0) {
        heed_copy_out(t, buffer, t->numel);
        data = buffer;
    }
    return heed_atomic_write(file, data, (size_t)t->numel * heed_dtype_size(t->dtype));
}

/* ---- committing ---- */

/* The new name must reach the disk too. If the directory cannot be opened or synced, this is left
 * to the system. */
static heed_status sync_directory(heed_atomic_file *file)
{
    char *slash = strrchr(file->target, '/');
    if (slash != NULL) {
        slash[slash == file->target] = '\0'; /* keeps a leading "/" */
    }
    int directory = open(slash != NULL ? file->target : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        return HEED_OK;
    }
    const int error = fsync(directory) != 0 ? errno : 0;
    close(directory);
    return error == EIO ? fail(file, "sync its directory", error) : HEED_OK;
}

static heed_status commit(heed_atomic_file *file)
{
    if (fsync(file->fd) != 0) {
        return fail(file, "sync it", errno);
    }
    const int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0) {
        return fail(file, "close it", errno);
    }
    if (rename(file->temporary, file->target) != 0) {
        return fail(file, "replace it", errno);
    }
    *file->temporary = '\0';
    return sync_directory(file);
}

heed_status heed_atomic_end(heed_atomic_file *file)
{
    if (file->fd >= 0 && !heed_error_pending()) {
        commit(file);
    }
    discard(file);
    return heed_error_pending();
}
