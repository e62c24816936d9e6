/* Files: errors, opening, locks, reading, and atomic replacement (internal). `function` is the
 * public function, for error messages.
 */
#ifndef HEED_NN_FILE_IO_H
#define HEED_NN_FILE_IO_H

#include "../tensor/tensor.h"

/* ---- errors; names and paths are shown by heed_show_name and heed_show_path ---- */

/* heed_fail_at: "function: path: " and the formatted rest, truncated to about 600 bytes.
 * heed_fail_in: "function: path: 'name': " and the rest; a name of NULL is omitted.
 * heed_fail_file: HEED_ERR_FILE: "function: path: cannot `what`: `the system's reason`". */
#define heed_fail_at(status, function, path, ...)                                                  \
    heed_fail_in(status, function, path, NULL, __VA_ARGS__)
heed_status heed_fail_in(heed_status status, const char *function, const char *path,
                         const char *name, const char *format, ...) HEED_PRINTF(5, 6);
heed_status heed_fail_file(const char *function, const char *path, const char *what, int error);

/* ---- opening and locking ---- */

/* heed_open: open(2) with O_CLOEXEC and the permissions 0666. The descriptor is above 2: in a
 * program whose stderr is closed, a file with descriptor 2 would receive its messages. Nothing else
 * in the library opens files (make layers). */
int heed_open(const char *path, int flags);

/* heed_claim: locks a file that stays open for writing, until it is closed. HEED_ERR_FILE: a
 * descriptor of this or another process has locked it. Succeeds without a lock if the file system
 * has none. */
heed_status heed_claim(const char *function, const char *path, int fd);

/* ---- reading bytes and tensor elements at any offset ---- */

/* An open file, or none if fd is -1. Several threads may read from it. */
typedef struct heed_file_reader {
    int fd;
    const char *path; /* for error messages; owned by the caller */
    int64_t size;
} heed_file_reader;

/* heed_reader_open: opens a regular file. HEED_ERR_NULL: no path. HEED_ERR_FILE: the system reports
 * an error. heed_reader_close: may also be called after a failed open. */
heed_status heed_reader_open(heed_file_reader *in, const char *function, const char *path);
void heed_reader_close(heed_file_reader *in);

/* heed_reader_read: reads `size` bytes at offset `at`. HEED_ERR_FILE: the system reports an error,
 * or the file is too short. */
heed_status heed_reader_read(const heed_file_reader *in, const char *function, void *to,
                             int64_t size, int64_t at);

/* How to decode the elements of a file. */
typedef enum heed_decoding {
    HEED_DECODE_COPY,
    HEED_DECODE_BOOL, /* any nonzero byte is true */
    HEED_DECODE_F16,
    HEED_DECODE_BF16,
    HEED_DECODE_I32
} heed_decoding;

typedef struct heed_file_dtype {
    const char *name; /* in the format */
    int bits;         /* of an element */
    heed_dtype as;    /* HEED_DTYPES: not supported */
    heed_decoding decoding;
} heed_file_dtype;

/* heed_reader_elements: reads all elements of the contiguous tensor `to`, whose dtype is dtype->as,
 * starting at offset `at`. */
heed_status heed_reader_elements(const heed_file_reader *in, const char *function, heed_tensor *to,
                                 const heed_file_dtype *dtype, int64_t at);

/* ---- atomic replacement ----
 *
 * A file is written next to the old one under a temporary name, and renamed once it is on disk.
 *
 *     heed_atomic_file file;
 *     heed_atomic_begin(&file, "save_file", path);
 *     heed_atomic_write(&file, data, size);
 *     return heed_atomic_end(&file);
 *
 * After an error the other calls do nothing, and heed_atomic_end removes the temporary file. If a
 * save is killed, its temporary file remains. */

enum { HEED_LONGEST_PATH = 4096 };

typedef struct heed_atomic_file {
    const char *function, *path; /* for error messages */
    int fd;
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
