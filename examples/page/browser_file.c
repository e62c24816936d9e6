/* The only file that a program in the browser can open. These definitions replace the C library's;
 * open returns different numbers, so that several readers can have it open. */
#include "examples/page/browser_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST = 100 }; /* descriptors below belong to the C library */

static struct {
    const char *bytes;
    size_t size;
    int opened;
} file;

__attribute__((export_name("page_file"))) void page_file(const void *bytes, size_t size)
{
    file.bytes = bytes;
    file.size = size;
}

int open(const char *path, int flags, ...)
{
    if (file.bytes == NULL || strcmp(path, BROWSER_FILE_PATH) != 0 ||
        (flags & O_ACCMODE) != O_RDONLY) {
        errno = ENOENT;
        return -1;
    }
    return FIRST + file.opened++ % FIRST;
}

int fstat(int fd, struct stat *about)
{
    if (fd < FIRST) {
        errno = EBADF;
        return -1;
    }
    *about = (struct stat){.st_mode = S_IFREG, .st_size = (off_t)file.size};
    return 0;
}

int stat(const char *path, struct stat *about)
{
    const int fd = open(path, O_RDONLY);
    return fd < 0 ? -1 : fstat(fd, about);
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    if (fd < FIRST || at < 0) {
        errno = EBADF;
        return -1;
    }
    const size_t left = (size_t)at < file.size ? file.size - (size_t)at : 0;
    const size_t count = size < left ? size : left;
    memcpy(to, file.bytes + at, count);
    return (ssize_t)count;
}

int close(int fd)
{
    return fd < FIRST ? -1 : 0;
}
