/* Shared by the tests of files: a temporary folder per test, and whole-file reads and writes. */
#ifndef HEED_TESTS_FILES_UTIL_H
#define HEED_TESTS_FILES_UTIL_H

#include "tests/common/test_util.h"

/* files_case: a heed_case whose tests each get a temporary folder and must leave no file open. */
TCase *files_case(Suite *suite, const char *name);

/* in_folder: the path of a file in that folder; valid for the next 8 calls.
 * files_in_folder: number of files in it. */
const char *in_folder(const char *name);
int files_in_folder(void);

/* write_bytes, read_bytes: a whole file. read_bytes appends '\0'; free the result. */
void write_bytes(const char *path, const void *bytes, size_t size);
char *read_bytes(const char *path, size_t *size);

/* expect_same_files: both have the same bytes. */
void expect_same_files(const char *path, const char *other);

/* write_header: writes a safetensors file with this header, preceded by its length and followed by
 * `data` zero bytes. */
void write_header(const char *path, const char *header, size_t size, size_t data);

/* save_one, load_one: one tensor, saved as "x". */
void save_one(const char *path, heed_tensor *x);
heed_tensor *load_one(const char *path, const char *name);

#endif
