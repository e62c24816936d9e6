/* Atomic replacement of files (internal to nn): a file is written next to the old one under a
 * temporary name, and renamed once it is on disk.
 *
 *     heed_atomic_file file;
 *     heed_atomic_begin(&file, "save_file", path);
 *     heed_atomic_write(&file, data, size);
 *     return heed_atomic_end(&file);
 *
 * After an error the other calls do nothing, and heed_atomic_end removes the temporary file. If a
 * save is killed, the next save of the same file removes its temporary file.
 */
#ifndef HEED_NN_ATOMIC_FILE_H
#define HEED_NN_ATOMIC_FILE_H

#include "../../tensor/tensor.h"

#include <stddef.h>

enum { HEED_LONGEST_PATH = 4096 };

typedef struct heed_atomic_file {
    const char *function, *path; /* for error messages */
    int fd;
    char target[HEED_LONGEST_PATH]; /* path with symbolic links resolved */
    char temporary[HEED_LONGEST_PATH + 40];
} heed_atomic_file;

/* HEED_ERR_FILE: the system reports an error. */
heed_status heed_atomic_begin(heed_atomic_file *file, const char *function, const char *path);
heed_status heed_atomic_write(heed_atomic_file *file, const void *data, size_t size);
heed_status heed_atomic_end(heed_atomic_file *file);

/* heed_atomic_write_tensor: writes the elements of t, any view, in row-major order. `buffer` has
 * heed_write_buffer_size(t) bytes, 0 for a contiguous tensor. Allocate it before heed_atomic_begin,
 * so that afterwards only system calls can fail. */
heed_status heed_atomic_write_tensor(heed_atomic_file *file, const heed_tensor *t, void *buffer);
size_t heed_write_buffer_size(const heed_tensor *t);

#endif
