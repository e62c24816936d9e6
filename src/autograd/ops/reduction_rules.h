/* Shared by the reductions: their arguments, rules, forward and derivatives (internal). Defined in
 * reductions.c. */
#ifndef HEED_AUTOGRAD_REDUCTION_RULES_H
#define HEED_AUTOGRAD_REDUCTION_RULES_H

#include "../../tensor/kernels/kernels.h"
#include "../op.h"

/* The arguments of a reduction, or the first member of its argument struct. */
typedef struct heed_reduce_args {
    heed_dims dims; /* empty: all dims */
    bool keepdim;
} heed_reduce_args;
#define HEED_REDUCE_ARGS "dims dims, bool keepdim"

#define HEED_ALL_DIMS    ((heed_dims){0, {0}})

/* heed_reduced_shape: the shape of x with each dim in the set reduced to size 1 if keepdim, else
 * removed. */
heed_shape heed_reduced_shape(const heed_tensor *x, unsigned set, bool keepdim);

/* Rules, which set the shape of the result; its dtype stays x's. heed_nonempty_rule: for reductions
 * that are undefined without elements. heed_number_rule: likewise, and without bool. */
heed_status heed_reduction_rule(const heed_call *call, heed_result *result);
heed_status heed_nonempty_rule(const heed_call *call, heed_result *result);
heed_status heed_number_rule(const heed_call *call, heed_result *result);

/* heed_fold_reduced: y = kernel(x) over the reduced dims, with x's elements cast to `as`. */
heed_status heed_fold_reduced(const heed_call *call, heed_reduce_kernel *kernel, const void *args,
                              heed_dtype as, heed_tensor *y);

/* heed_keep_dims: t, which has the result's shape, with the reduced dims restored with size 1, so
 * that it broadcasts with the input. */
heed_tensor *heed_keep_dims(const heed_vjp *v, heed_tensor *t);

/* heed_divide_among: divides g equally among the elements that are true in `chosen`, a bool tensor
 * of the input's shape; the others get 0. If none is true, all get NaN. */
heed_tensor *heed_divide_among(const heed_vjp *v, heed_tensor *chosen);

/* heed_divide_among_extremes: the gradient of max, min and median over all elements: among those
 * equal to y; if y is NaN, among the NaN elements. */
void heed_divide_among_extremes(const heed_vjp *v);

/* Defines the operation op_name. Arguments: those in addition to HEED_REDUCE_ARGS, its functions,
 * and the values that its gradient reads. */
#define HEED_REDUCTION(id, arguments, rule_of, forward_of, backward_of, saved)                     \
    HEED_OPERATION(id) = {.name = #id,                                                             \
                          .inputs = 1,                                                             \
                          .args = HEED_REDUCE_ARGS arguments,                                      \
                          .rule = rule_of,                                                         \
                          .forward = forward_of,                                                   \
                          .backward = backward_of,                                                 \
                          .saves = {saved}};
enum { HEED_SAVES_BOTH = HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT };

/* Defines heed_name, of all dims. */
#define HEED_WHOLE_FORM(name)                                                                      \
    heed_tensor *heed_##name(heed_tensor *x)                                                       \
    {                                                                                              \
        const heed_reduce_args args = {HEED_ALL_DIMS, false};                                      \
        return heed_apply(&op_##name, &x, 1, &args, sizeof args);                                  \
    }

/* Defines heed_name_dim and heed_name in terms of heed_name_dims. HEED_REDUCTION_FORMS defines all
 * three for the operation op_name, which takes no other arguments. */
#define HEED_SHORT_FORMS(name)                                                                     \
    heed_tensor *heed_##name##_dim(heed_tensor *x, int dim, bool keepdim)                          \
    {                                                                                              \
        return heed_##name##_dims(x, HEED_DIMS(dim), keepdim);                                     \
    }                                                                                              \
    heed_tensor *heed_##name(heed_tensor *x)                                                       \
    {                                                                                              \
        return heed_##name##_dims(x, HEED_ALL_DIMS, false);                                        \
    }
#define HEED_REDUCTION_FORMS(name)                                                                 \
    heed_tensor *heed_##name##_dims(heed_tensor *x, heed_dims dims, bool keepdim)                  \
    {                                                                                              \
        const heed_reduce_args args = {dims, keepdim};                                             \
        return heed_apply(&op_##name, &x, 1, &args, sizeof args);                                  \
    }                                                                                              \
    HEED_SHORT_FORMS(name)

#endif
