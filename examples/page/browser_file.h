/* The file that the page has opened, in memory: WebAssembly has no file system. browser_file.c
 * defines fopen and stat for it; it is compiled for WebAssembly only. */
#ifndef HEED_PAGE_BROWSER_FILE_H
#define HEED_PAGE_BROWSER_FILE_H

#include <stddef.h>

#define BROWSER_FILE_PATH "the file"

/* page_file: the bytes that fopen(BROWSER_FILE_PATH) finds from now on; they are not copied. */
void page_file(void *bytes, size_t size);

#endif
