/* What the tests of files share: a folder that comes and goes with each test, bytes in and out, and
 * the parts of the suite `files`. */
#ifndef HEED_TESTS_FILES_UTIL_H
#define HEED_TESTS_FILES_UTIL_H

#include "tests/test_util.h"

/* files_case: a heed_case whose tests have a folder of their own, and leave no file open. */
TCase *files_case(Suite *suite, const char *name);

void add_reference_cases(Suite *suite);
void add_malformed_cases(Suite *suite);
void add_checkpoint_cases(Suite *suite);
void add_training_cases(Suite *suite);
void add_atomic_file_cases(Suite *suite);
void add_npy_cases(Suite *suite);
void add_malformed_npy_cases(Suite *suite);
void add_fault_cases(Suite *suite);

/* in_folder: the path of a file in that folder; the text lives until the 8th call after this.
 * files_in_folder: how many there are. */
const char *in_folder(const char *name);
int files_in_folder(void);

/* write_bytes, read_bytes: a whole file; what was read ends in '\0' and is to be freed. */
void write_bytes(const char *path, const void *bytes, size_t size);
char *read_bytes(const char *path, size_t *size);

/* expect_same_files: byte by byte. */
void expect_same_files(const char *path, const char *other);

/* write_header: a safetensors file of this header, with its length before it, and `data` bytes of
 * zeros behind it. */
void write_header(const char *path, const char *header, size_t size, size_t data);

/* Files that are refused: a header, how many bytes follow it, and what the reader says of it. */
typedef struct refused_header {
    const char *header;
    size_t data;
    const char *words;
} refused_header;

/* expect_error_of_file: an error as expect_error has it, which begins with the function and the
 * path of `file` in that folder. */
void expect_error_of_file(heed_status status, const char *function, const char *words);

/* damage_every_byte: calls `reads` with each byte of `file` changed into each of the 255 others,
 * and in the end with none; returns how often it said that it could, and how many bytes there are.
 */
int damage_every_byte(bool (*reads)(void), int *size);

/* save_one, load_one: one tensor, named "x". */
void save_one(const char *path, heed_tensor *x);
heed_tensor *load_one(const char *path, const char *name);

/* of_all_bits: elements whose bits are of every kind, NaN and minus zero among them. */
heed_tensor *of_all_bits(heed_shape shape, heed_dtype dtype);

/* npy_fixture: the path of the file of that name and variant that numpy wrote; the text lives until
 * the 8th call of in_folder or of this. */
const char *npy_fixture(const char *name, const char *variant);

/* expect_same_bits: a and b have one dtype and one shape and the same bits in their elements. */
void expect_same_bits(heed_tensor *a, heed_tensor *b);

/* expect_same_state: two modules have the same names in their state dicts, and the same bits. */
void expect_same_state(void *a, void *b);

/* become_nobody: from now on this process is no administrator, whom no permission stops; the folder
 * becomes the new user's. */
void become_nobody(void);

#endif
