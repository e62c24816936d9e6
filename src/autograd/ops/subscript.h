/* Several dims of a tensor at once, as between the brackets of x[1:, ::2] in Python. */
#ifndef HEED_AUTOGRAD_SUBSCRIPT_H
#define HEED_AUTOGRAD_SUBSCRIPT_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_index: as torch's x[...] with integers, ranges, an ellipsis and None, given as a string:
 *
 *     heed_index(x, "1:, ::2")        x[1:, ::2]
 *     heed_index(x, "0, ..., -1")     x[0, ..., -1]
 *     heed_index(x, "None, :-1")      x[None, :-1]
 *
 *   -1               the index of a dim, which is removed; a negative index counts from the end
 *   start:end:step   a part of a dim, clipped as in heed_slice; each number may be omitted
 *   ...              all dims that the other parts leave, as if `:` were repeated
 *   None             a new dim of size 1
 *
 * A view, composed of heed_select, heed_slice and heed_unsqueeze; x itself if the string selects
 * all of it. Indices in tensors: index.h.                          dx = g in the part, else 0
 *
 * HEED_ERR_VALUE: any other text, or a step below 1. HEED_ERR_DIM: more indices and ranges than x
 * has dims. HEED_ERR_INDEX: an index outside its dim. HEED_ERR_SHAPE: more than 8 dims. */
heed_tensor *heed_index(heed_tensor *x, const char *text);

HEED_END_DECLS
#endif
