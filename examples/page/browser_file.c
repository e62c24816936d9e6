/* The only file that a program in the browser can open: fopen and stat replace the C library's. */
#include "examples/page/browser_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct {
    char *bytes;
    size_t size;
} file;

__attribute__((export_name("page_file"))) void page_file(void *bytes, size_t size)
{
    file.bytes = bytes;
    file.size = size;
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    if (file.bytes == NULL || strcmp(path, BROWSER_FILE_PATH) != 0 || *mode != 'r') {
        errno = ENOENT;
        return NULL;
    }
    return fmemopen(file.bytes, file.size, "r");
}

int stat(const char *restrict path, struct stat *restrict about)
{
    if (file.bytes == NULL || strcmp(path, BROWSER_FILE_PATH) != 0) {
        errno = ENOENT;
        return -1;
    }
    *about = (struct stat){.st_mode = S_IFREG, .st_size = (off_t)file.size};
    return 0;
}

/* What setjmp needs of emscripten's JavaScript, which the page is without. */
static int high_bits;
void setTempRet0(int value);
int getTempRet0(void);

void setTempRet0(int value)
{
    high_bits = value;
}

int getTempRet0(void)
{
    return high_bits;
}
