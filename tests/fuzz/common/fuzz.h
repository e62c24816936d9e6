/* Shared by the fuzzers. Each tests/fuzz/NAME.c defines fuzz_seeds and fuzz_one; common/fuzz.c
 * calls fuzz_one for libFuzzer (make fuzz). */
#ifndef HEED_TESTS_FUZZ_H
#define HEED_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* Valid inputs to start from, the last one {NULL, 0}. */
typedef struct fuzz_seed {
    const char *bytes;
    size_t size;
} fuzz_seed;
#define FUZZ_SEED(text)                                                                            \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }
extern const fuzz_seed fuzz_seeds[];

/* fuzz_one: checks one input, of 1 byte or more, in an open scope. It must leave no error pending,
 * no memory allocated, no descriptor open, and no temporary file of a save. */
void fuzz_one(const uint8_t *data, size_t size);

/* must: ends the program if the condition is false. */
#define must(holds) fuzz_must(holds, #holds, __FILE__, __LINE__)
void fuzz_must(bool holds, const char *condition, const char *file, int line);

/* must_fail: an error with a message must be pending; clears it. must_fail_printably: the message
 * must also have no control characters, whatever names are in the file. */
heed_status must_fail(void);
heed_status must_fail_printably(void);

/* fuzz_path: the path of a file in a temporary folder, removed after each input; valid for the next
 * 8 calls. fuzz_file: creates it from two pieces. */
const char *fuzz_path(const char *name);
const char *fuzz_file(const char *name, const void *first, size_t first_size, const void *rest,
                      size_t rest_size);

/* must_equal_tensors: both have the same dtype, shape and bits. */
void must_equal_tensors(const heed_tensor *a, const heed_tensor *b);

#endif
