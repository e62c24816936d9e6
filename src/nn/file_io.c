/* Reads files with pread, so that threads can share them, decodes elements (half precision, i32),
 * and replaces files atomically. */
#include "file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../tensor/create.h"
#include "../tensor/read.h"
#include "../tensor/text.h"
#include "arguments.h"

enum { MOST_AT_ONCE = 1 << 30, CHUNK = 512, NO_OLD_FILE = -1, TRIES = 1000 };

/* ---- errors ---- */

heed_status heed_fail_in(heed_status status, const char *function, const char *path,
                         const char *name, const char *format, ...)
{
    char what[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return heed_fail(status, "%s: %s: %s%s%s%s", function, heed_show_path(path).text,
                     name != NULL ? "'" : "", name != NULL ? heed_show_name(name).text : "",
                     name != NULL ? "': " : "", what);
}

heed_status heed_fail_file(const char *function, const char *path, const char *what, int error)
{
    char reason[100] = "";
    if (strerror_r(error, reason, sizeof reason) != 0) {
        snprintf(reason, sizeof reason, "error %d", error);
    }
    return heed_fail_at(HEED_ERR_FILE, function, path, "cannot %s: %s%s", what, reason,
                        error == EFBIG ? "; ulimit -f or the file system limits its size" : "");
}

/* ---- opening and locking ---- */

/* Moves a descriptor above 2. */
static int move_up(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) {
        return fd;
    }
    const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
    close(fd);
    errno = error;
    return above;
}

int heed_open(const char *path, int flags)
{
    return move_up(open(path, flags | O_CLOEXEC, 0666));
}

/* Locks by flock belong to the open file: unlike locks by fcntl, they also exclude other threads,
 * and closing another descriptor of the file keeps them. */
heed_status heed_claim(const char *function, const char *path, int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
               ? HEED_OK
               : heed_fail_at(HEED_ERR_FILE, function, path,
                              "another watch is writing it; choose another file, or end that run");
}

/* ---- reading bytes ---- */

static heed_status check_regular(const char *function, const char *path, mode_t mode)
{
    return S_ISREG(mode) ? HEED_OK
                         : heed_fail_at(HEED_ERR_FILE, function, path, "it is %s",
                                        S_ISDIR(mode) ? "a directory" : "not a regular file");
}

heed_status heed_reader_open(heed_file_reader *in, const char *function, const char *path)
{
    struct stat about;
    *in = (heed_file_reader){.fd = -1, .path = path};
    if (heed_check_not_null(function, "the path", path) != HEED_OK) {
        return heed_error_pending();
    }
    in->fd = heed_open(path, O_RDONLY | O_NONBLOCK); /* a pipe must not block */
    if (in->fd < 0 || fstat(in->fd, &about) != 0) {
        return heed_fail_file(function, path, in->fd < 0 ? "open it" : "stat it", errno);
    }
    in->size = about.st_size;
    return check_regular(function, path, about.st_mode);
}

void heed_reader_close(heed_file_reader *in)
{
    if (in->fd >= 0) {
        close(in->fd);
        in->fd = -1;
    }
}

heed_status heed_reader_read(const heed_file_reader *in, const char *function, void *to,
                             int64_t size, int64_t at)
{
    while (size > 0) {
        const ssize_t got =
            pread(in->fd, to, (size_t)(size < MOST_AT_ONCE ? size : MOST_AT_ONCE), (off_t)at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return heed_fail_file(function, in->path, "read it", errno);
        }
        if (got == 0) {
            return heed_fail_at(HEED_ERR_FILE, function, in->path,
                                "it was truncated while open: it ends at byte %lld", (long long)at);
        }
        to = (char *)to + got;
        size -= got;
        at += got;
    }
    return HEED_OK;
}

/* ---- reading numbers ---- */

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Half precision: 1 sign bit, 5 exponent bits, 10 fraction bits. */
static float from_f16(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h >> 15) << 31, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 0) {
        const float value = ldexpf((float)fraction, -24); /* zero and subnormals, below 2^-14 */
        return sign != 0 ? -value : value;
    }
    if (exponent == 31) {
        return from_bits(sign | 0x7f800000 | fraction << 13); /* inf and NaN */
    }
    return from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

heed_status heed_reader_elements(const heed_file_reader *in, const char *function, heed_tensor *to,
                                 const heed_file_dtype *dtype, int64_t at)
{
    unsigned char chunk[4 * CHUNK];
    const int64_t size = dtype->bits / 8;
    if (dtype->decoding == HEED_DECODE_COPY || dtype->decoding == HEED_DECODE_BOOL) {
        /* The same size in memory as in the file: read in place. */
        if (heed_reader_read(in, function, to->data, to->numel * size, at) != HEED_OK) {
            return heed_error_pending();
        }
        unsigned char *bytes = to->data;
        for (int64_t i = 0; i < to->numel && dtype->decoding == HEED_DECODE_BOOL; i++) {
            bytes[i] = bytes[i] != 0;
        }
        return HEED_OK;
    }
    for (int64_t i = 0, n; i < to->numel; i += n) {
        n = to->numel - i < CHUNK ? to->numel - i : CHUNK;
        if (heed_reader_read(in, function, chunk, n * size, at + i * size) != HEED_OK) {
            return heed_error_pending();
        }
        for (int64_t j = 0; j < n; j++) {
            uint16_t half;
            int32_t whole;
            if (dtype->decoding == HEED_DECODE_I32) {
                memcpy(&whole, chunk + j * size, sizeof whole);
                ((int64_t *)to->data)[i + j] = whole;
            } else { /* bfloat16 is the upper half of a float */
                memcpy(&half, chunk + j * size, sizeof half);
                ((float *)to->data)[i + j] = dtype->decoding == HEED_DECODE_F16
                                                 ? from_f16(half)
                                                 : from_bits((uint32_t)half << 16);
            }
        }
    }
    return HEED_OK;
}

/* ---- replacing a file ---- */

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

/* Sets *mode to the permissions of the old file, which the new one inherits. Checks that the old
 * file is regular and writable, because renaming does not. */
static heed_status check_old(heed_atomic_file *file, int *mode)
{
    struct stat old;
    *mode = NO_OLD_FILE;
    if (stat(file->path, &old) != 0) {
        return errno == ENOENT ? HEED_OK : fail(file, "stat it", errno);
    }
    if (check_regular(file->function, file->path, old.st_mode) != HEED_OK) {
        return heed_error_pending();
    }
    if (access(file->path, W_OK) != 0) {
        return fail(file, "write it", errno);
    }
    *mode = (int)(old.st_mode & 0777);
    return HEED_OK;
}

/* ---- temporary files, PATH.tmp.PROCESS.NUMBER: threads may save the same path ---- */

static heed_status create(heed_atomic_file *file, int mode)
{
    for (int i = 0; i < TRIES && file->fd < 0; i++) {
        snprintf(file->temporary, sizeof file->temporary, "%s.tmp.%ld.%d", file->path,
                 (long)getpid(), i);
        file->fd = heed_open(file->temporary, O_WRONLY | O_CREAT | O_EXCL);
        if (file->fd < 0 && errno != EEXIST) {
            break;
        }
    }
    if (file->fd < 0) {
        const int error = errno;
        *file->temporary = '\0'; /* not created here: do not delete it */
        return fail(file, "create a temporary file next to it", error);
    }
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
    if (!heed_error_pending() && strlen(path) >= HEED_LONGEST_PATH) {
        return fail(file, "find it", ENAMETOOLONG);
    }
    return heed_error_pending() || check_old(file, &mode) != HEED_OK ? heed_error_pending()
                                                                     : create(file, mode);
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
    char folder[HEED_LONGEST_PATH];
    const char *slash = strrchr(file->path, '/');
    const int length = slash == NULL ? 0 : slash == file->path ? 1 : (int)(slash - file->path);
    snprintf(folder, sizeof folder, "%.*s", length, file->path);
    const int directory = heed_open(length > 0 ? folder : ".", O_RDONLY | O_DIRECTORY);
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
    if (rename(file->temporary, file->path) != 0) {
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
