/* The header of a .npy file: what it says of the array (internal to nn).
 */
#ifndef HEED_NN_NPY_HEADER_H
#define HEED_NN_NPY_HEADER_H

#include "input.h"

enum {
    HEED_NPY_MOST_HEADER = 10000, /* bytes, as numpy.load has it */
    HEED_NPY_WRITTEN = 320        /* room for a header that Heed writes */
};

typedef struct heed_npy_header {
    const heed_file_dtype *dtype;
    bool big_endian, fortran;
    heed_shape shape;
    int64_t numel;
} heed_npy_header;

/* heed_npy_header_read: reads a header of `length` bytes, which it may come to change, of that
 * version of the format. Errors name function and path. */
heed_status heed_npy_header_read(heed_npy_header *header, const char *function, const char *path,
                                 char *text, size_t length, int version);

/* heed_npy_header_write: all that stands before the data, as numpy writes it; how many bytes. */
size_t heed_npy_header_write(char text[HEED_NPY_WRITTEN], heed_dtype dtype, heed_shape shape);

#endif
