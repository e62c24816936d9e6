/* Whole files, for suites and fuzzers. */
#ifndef HEED_TESTS_BYTES_H
#define HEED_TESTS_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* bytes_of: the bytes of a file and '\0', to be freed; NULL if it cannot be read. */
static inline char *bytes_of(const char *path, size_t *size)
{
    struct stat about;
    char *bytes = NULL;
    FILE *file = fopen(path, "rb");
    if (file != NULL && fstat(fileno(file), &about) == 0) {
        *size = (size_t)about.st_size;
        bytes = calloc(*size + 1, 1);
        if (fread(bytes, 1, *size, file) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

/* first_difference: the place of the first byte in which two files differ, -1 if there is none, or
 * -2 if one of them cannot be read. */
static inline int64_t first_difference(const char *path, const char *other)
{
    size_t size = 0, other_size = 0, same = 0;
    char *bytes = bytes_of(path, &size), *other_bytes = bytes_of(other, &other_size);
    const bool both = bytes != NULL && other_bytes != NULL;
    while (both && same < size && same < other_size && bytes[same] == other_bytes[same]) {
        same++;
    }
    free(bytes);
    free(other_bytes);
    return !both ? -2 : same == size && same == other_size ? -1 : (int64_t)same;
}

#endif
