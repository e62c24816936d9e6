/* Tensors as text, as torch prints them:
 *
 *     tensor([[1.0100, 1.0641],
 *             [0.2040, 0.7057]], grad_fn=<MatmulBackward0>)
 *
 * Four digits, columns aligned, scientific where the range asks for it, large tensors summarised.
 */
#ifndef HEED_TENSOR_PRINT_H
#define HEED_TENSOR_PRINT_H

#include <stdio.h>

#include "tensor.h"

HEED_BEGIN_DECLS

/* As torch.set_printoptions, for one call. 0 stands for torch's default; no digits at all cannot be
 * asked for. A threshold of INT_MAX shows everything. */
typedef struct heed_print_options {
    int precision; /* digits behind the point: 4, or give 1 ... 17 */
    int threshold; /* elements above which it is summarised: 1000 */
    int edgeitems; /* shown at each end of a summarised dim: 3 */
    int linewidth; /* characters: 80 */
} heed_print_options;

/* heed_print: on stdout, with a newline. heed_fprint: on any stream, without. A failing call, and
 * any call while an error is pending, prints nothing. Errors of the stream are left to
 * ferror(stream).
 *
 * HEED_ERR_NULL: no tensor, or no stream. HEED_ERR_SCOPE: its value has been freed.
 * HEED_ERR_VALUE: an option below 0, or a precision above 17. */
heed_status heed_print(const heed_tensor *t);
heed_status heed_fprint(FILE *stream, const heed_tensor *t);
heed_status heed_fprint_with(FILE *stream, const heed_tensor *t, heed_print_options options);

/* heed_snprint: into `buffer`, as snprintf: returns the length of the whole text, of which at most
 * size - 1 bytes and a terminating 0 are written; with size 0, buffer may be NULL. 0 on error. */
size_t heed_snprint(char *buffer, size_t size, const heed_tensor *t);
size_t heed_snprint_with(char *buffer, size_t size, const heed_tensor *t,
                         heed_print_options options);

HEED_END_DECLS
#endif
