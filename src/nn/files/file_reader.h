/* Reads bytes and elements of tensors at any offset of a file (internal to nn): what the readers of
 * safetensors and of .npy share.
 */
#ifndef HEED_NN_FILE_READER_H
#define HEED_NN_FILE_READER_H

#include "../../tensor/tensor.h"

/* An open file. Zero but for .fd = -1 is none. Several threads may read one. */
typedef struct heed_file_reader {
    int fd;
    const char *path; /* for errors; the caller keeps it */
    int64_t size;
} heed_file_reader;

/* heed_reader_open: opens a regular file; `function` is the name in the sentences of errors, here
 * and below. HEED_ERR_NULL: no path. HEED_ERR_FILE: the system refuses. heed_reader_close: whether
 * or not it has been opened. */
heed_status heed_reader_open(heed_file_reader *in, const char *function, const char *path);
void heed_reader_close(heed_file_reader *in);

/* heed_reader_read: `size` bytes from offset `at`. HEED_ERR_FILE: the system refuses, or the file
 * has become shorter. */
heed_status heed_reader_read(const heed_file_reader *in, const char *function, void *to,
                             int64_t size, int64_t at);

/* How a file holds elements, and what they are read as. */
typedef enum heed_decoding {
    HEED_DECODE_COPY,
    HEED_DECODE_BOOL, /* a byte that may be anything: true for all but 0 */
    HEED_DECODE_F16,
    HEED_DECODE_BF16,
    HEED_DECODE_I32
} heed_decoding;

typedef struct heed_file_dtype {
    const char *name; /* in the format */
    int bits;         /* of an element */
    heed_dtype as;    /* HEED_DTYPES: Heed has nothing for it */
    heed_decoding decoding;
} heed_file_dtype;

/* heed_reader_elements: all elements of the contiguous tensor `to`, whose dtype is dtype->as, from
 * offset `at` on; `big_endian`: the most significant byte of each comes first. */
heed_status heed_reader_elements(const heed_file_reader *in, const char *function, heed_tensor *to,
                                 const heed_file_dtype *dtype, bool big_endian, int64_t at);

/* heed_count_dim: multiplies one more dim into a count of elements, which begins as HEED_NO_DIMS.
 * False once no file or memory could hold them; a size of 0 does not hide that. */
typedef struct heed_dim_count {
    int64_t numel, reach; /* reach: as if sizes of 0 were 1 */
} heed_dim_count;
#define HEED_NO_DIMS ((heed_dim_count){1, 1})
bool heed_count_dim(heed_dim_count *count, int64_t size);

#endif
