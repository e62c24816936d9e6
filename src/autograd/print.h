/* Prints tensors as torch does:
 *
 *     tensor([[1.0100, 1.0641],
 *             [0.2040, 0.7057]], grad_fn=<MatmulBackward0>)
 *
 * Elements have four decimals and are aligned in columns; wide ranges are shown in scientific
 * notation. Of tensors with more than 1000 elements, three items are shown at each end of a dim.
 */
#ifndef HEED_AUTOGRAD_PRINT_H
#define HEED_AUTOGRAD_PRINT_H

#include <stdio.h>

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* Like torch.set_printoptions, but for one call. 0 selects torch's default, so a precision of 0 is
 * not available. */
typedef struct heed_print_options {
    int precision; /* digits after the point: 1 ... 17, default 4 */
    int linewidth; /* characters per line: default 80 */
} heed_print_options;

/* heed_print: prints to stdout, with a newline.
 * heed_fprint: prints to any stream, without a newline.
 * On error, or while an error is pending, they print nothing. For stream errors, check
 * ferror(stream).
 *
 * HEED_ERR_NULL: the tensor or the stream is NULL. HEED_ERR_SCOPE: the value has been freed.
 * HEED_ERR_VALUE: an option is negative, or the precision is above 17. */
heed_status heed_print(const heed_tensor *t);
heed_status heed_fprint(FILE *stream, const heed_tensor *t, heed_print_options options);

/* heed_snprint: prints into `buffer`, like snprintf: returns the length of the full text, and
 * writes at most size - 1 bytes of it and a terminating 0. With size 0, buffer may be NULL. Returns
 * 0 on error. */
size_t heed_snprint(char *buffer, size_t size, const heed_tensor *t, heed_print_options options);

HEED_END_DECLS
#endif
