/* A file that is read at any place, and the numbers in it (internal to nn): what the readers of
 * safetensors and of .npy share.
 */
#ifndef HEED_NN_INPUT_H
#define HEED_NN_INPUT_H

#include "../../tensor/tensor.h"

/* An open file. Zero but for .fd = -1 is none. Several threads may read one. */
typedef struct heed_input {
    int fd;
    const char *path; /* for errors; the caller keeps it */
    int64_t size;
} heed_input;

/* heed_input_open: opens a regular file; `function` is the name in the sentences of errors, here
 * and below. HEED_ERR_NULL: no path. HEED_ERR_FILE: the system refuses. heed_input_close: whether
 * or not it has been opened. */
heed_status heed_input_open(heed_input *in, const char *function, const char *path);
void heed_input_close(heed_input *in);

/* heed_input_read: `size` bytes from place `at`. HEED_ERR_FILE: the system refuses, or the file has
 * become shorter. */
heed_status heed_input_read(const heed_input *in, const char *function, void *to, int64_t size,
                            int64_t at);

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

/* heed_input_elements: all elements of the contiguous tensor `to`, whose dtype is dtype->as, from
 * what begins at place `at`; `big_endian`: the largest byte of each comes first. */
heed_status heed_input_elements(const heed_input *in, const char *function, heed_tensor *to,
                                const heed_file_dtype *dtype, bool big_endian, int64_t at);

/* heed_count_dim: takes one more dim into a count of elements that begins as HEED_NO_DIMS. False,
 * from then on: no file or memory holds so many; sizes of 0 do not hide that. */
typedef struct heed_dim_count {
    int64_t numel, reach; /* reach: as if sizes of 0 were 1 */
} heed_dim_count;
#define HEED_NO_DIMS ((heed_dim_count){1, 1})
bool heed_count_dim(heed_dim_count *count, int64_t size);

#endif
