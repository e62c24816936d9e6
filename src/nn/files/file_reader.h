/* Reads bytes and tensor elements at any offset of a file (internal to nn). Shared by the
 * safetensors and .npy readers.
 */
#ifndef HEED_NN_FILE_READER_H
#define HEED_NN_FILE_READER_H

#include "../../tensor/tensor.h"

/* An open file, or none if fd is -1. Several threads may read from it. */
typedef struct heed_file_reader {
    int fd;
    const char *path; /* for error messages; owned by the caller */
    int64_t size;
} heed_file_reader;

/* heed_reader_open: opens a regular file; `function` is the name in error messages, here and below.
 * HEED_ERR_NULL: no path. HEED_ERR_FILE: the system reports an error. heed_reader_close: may also
 * be called after a failed open. */
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
                                 const heed_file_dtype *dtype, bool big_endian, int64_t at);

/* heed_count_dim: multiplies an element count, initially HEED_NO_DIMS, by another dim. Returns
 * false once the count exceeds the size of any file or memory, even if another size is 0. */
typedef struct heed_dim_count {
    int64_t numel, reach; /* reach: counts sizes of 0 as 1 */
} heed_dim_count;
#define HEED_NO_DIMS ((heed_dim_count){1, 1})
bool heed_count_dim(heed_dim_count *count, int64_t size);

#endif
