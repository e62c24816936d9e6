/* What all reductions share (internal): which dims they take away, the shape of what is left, and
 * the way back from the result's shape to the input's. With them what works along one dim.
 */
#ifndef HEED_AUTOGRAD_REDUCTION_H
#define HEED_AUTOGRAD_REDUCTION_H

#include "../../tensor/kernels/kernels.h"
#include "../op.h"

/* The arguments of a reduction, or the first member of its arguments. */
typedef struct heed_reduce_args {
    heed_dims dims; /* none: all */
    bool keepdim;
} heed_reduce_args;

#define HEED_ALL_DIMS ((heed_dims){0, {0}})

/* heed_reduced_dims: the dims that a call reduces, as a bit set. */
heed_status heed_reduced_dims(const heed_call *call, unsigned *set);

/* heed_reduction_rule: the result's shape; its dtype is left as it is. heed_float_reduction_rule: the
 * same for reductions of floats alone. heed_refuse_nothing: the same for reductions that have no
 * answer over no elements. */
heed_status heed_reduction_rule(const heed_call *call, heed_result *result);
heed_status heed_float_reduction_rule(const heed_call *call, heed_result *result);
heed_status heed_refuse_nothing(const heed_call *call, heed_result *result);

/* heed_count_reduced: how many elements of x go into one of the result. */
double heed_count_reduced(const heed_tensor *x, unsigned set);

/* heed_fold_reduced: y = kernel(x) over the dims that a call reduces, x's elements cast to `as`. */
heed_status heed_fold_reduced(const heed_call *call, heed_fold_kernel *kernel, const void *args,
                              heed_dtype as, heed_tensor *y);

/* heed_map_along: y = kernel(x), line by line, for a call whose only argument is the dim. */
heed_status heed_map_along(const heed_call *call, heed_line_kernel *kernel, heed_tensor *y);

/* ---- for derivatives ---- */

/* heed_keep_dims: t, of the result's shape, with the reduced dims as size 1: it broadcasts against
 * the input. heed_spread: t in the shape of the input, repeated along the reduced dims without a copy. */
heed_tensor *heed_keep_dims(const heed_vjp *v, heed_tensor *t);
heed_tensor *heed_spread(const heed_vjp *v, heed_tensor *t);

/* heed_divide_among: g in equal parts among the elements of each line that are true in `chosen`, a
 * bool of the input's shape; 0 for the others. A line without any is NaN. */
heed_tensor *heed_divide_among(const heed_vjp *v, heed_tensor *chosen);

/* heed_count_of_node: how many elements of the input went into one of the result. */
double heed_count_of_node(const heed_vjp *v);

/* ---- public functions ---- */

/* Defines heed_name, heed_name_dim and heed_name_dims of the operation op_name, which takes no
 * other arguments. */
#define HEED_REDUCTION_FORMS(name)                                                                 \
    heed_tensor *heed_##name##_dims(heed_tensor *x, heed_dims dims, bool keepdim)                  \
    {                                                                                              \
        const heed_reduce_args args = {dims, keepdim};                                             \
        return heed_apply(&op_##name, &x, 1, &args, sizeof args);                                  \
    }                                                                                              \
    heed_tensor *heed_##name##_dim(heed_tensor *x, int dim, bool keepdim)                          \
    {                                                                                              \
        return heed_##name##_dims(x, HEED_DIMS(dim), keepdim);                                     \
    }                                                                                              \
    heed_tensor *heed_##name(heed_tensor *x)                                                       \
    {                                                                                              \
        return heed_##name##_dims(x, HEED_ALL_DIMS, false);                                        \
    }

#endif
