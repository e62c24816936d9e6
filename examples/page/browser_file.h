/* The file that the page has opened, in memory: WebAssembly has no file system. browser_file.c
 * defines open, stat, fstat, pread and close for it; it is compiled for WebAssembly only. */
#ifndef HEED_PAGE_BROWSER_FILE_H
#define HEED_PAGE_BROWSER_FILE_H

#include <stddef.h>

#define BROWSER_FILE_PATH "the file"

/* page_file: the bytes that open(BROWSER_FILE_PATH) finds from now on; they are not copied. */
void page_file(const void *bytes, size_t size);

#endif
