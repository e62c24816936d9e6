/* cross_entropy: log_softmax, then nll_loss where targets are class ids, or a sum of products where
 * they are the probabilities of all classes. */
#include "autograd/elementwise.h"
#include "autograd/loss_parts.h"
#include "autograd/reduce.h"
#include "autograd/shape.h"
#include "tensor/scope.h"

static const char name[] = "cross_entropy";

static heed_status check_options(const heed_cross_entropy_options *options)
{
    const heed_status status =
        heed_check_probability(name, "label_smoothing", options->label_smoothing);
    return status == HEED_OK ? heed_check_reduction(name, options->reduction) : status;
}

/* ---- class ids ---- */

static heed_tensor *of_ids(heed_tensor *logits, heed_tensor *targets,
                           const heed_cross_entropy_options *options)
{
    const heed_nll_args args = {
        .ignore_index = heed_ignored_or_default(options->ignored_target),
        .label_smoothing = options->label_smoothing,
        .function = name,
        .reduction = options->reduction,
    };
    if (heed_check_nll(&args, logits, targets, options->weight) != HEED_OK) {
        return NULL;
    }
    return heed_nll(heed_log_softmax(logits, heed_class_dim(logits)), targets, options->weight,
                    &args);
}

/* ---- class probabilities ---- */

static heed_status check_probabilities(const heed_tensor *logits, const heed_tensor *targets,
                                       const heed_cross_entropy_options *options)
{
    if (logits->ndim == 0 || !heed_same_shape(logits, targets)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: targets %s of %s for logits %s: floats are the probabilities of the "
                         "classes, in the shape of logits; class ids are i64: heed_to(targets, "
                         "HEED_I64)",
                         name, HEED_TEXT(targets), heed_dtype_name(targets->dtype),
                         HEED_TEXT(logits));
    }
    if (logits->dtype != targets->dtype) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: %s with targets of %s; a float with probabilities of the same dtype, "
                         "or with class ids of i64",
                         name, heed_dtype_name(logits->dtype), heed_dtype_name(targets->dtype));
    }
    if (options->ignored_target != NULL && *options->ignored_target >= 0) {
        return heed_fail(
            HEED_ERR_VALUE,
            "%s: ignored_target %lld has no meaning where targets %s are probabilities "
            "of classes; give those rows zeros, or no ignored_target",
            name, (long long)*options->ignored_target, HEED_TEXT(targets));
    }
    return heed_check_weight(name, options->weight, logits);
}

/* weight (C) as a shape that broadcasts to the logits, (C, 1...). */
static heed_tensor *along_classes(heed_tensor *weight, const heed_tensor *logits)
{
    heed_shape shape = heed_shape_of_tensor(weight);
    for (int i = heed_class_dim(logits) + 1; i < logits->ndim; i++) {
        shape.size[shape.ndim++] = 1;
    }
    return heed_reshape(weight, shape);
}

static heed_tensor *of_probabilities(heed_tensor *logits, heed_tensor *targets,
                                     const heed_cross_entropy_options *options)
{
    const int dim = heed_class_dim(logits);
    const double smoothing = options->label_smoothing;
    if (check_probabilities(logits, targets, options) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    if (smoothing > 0) {
        targets = heed_add_scalar(heed_mul_scalar(targets, 1 - smoothing),
                                  smoothing / (double)logits->shape[dim]);
    }
    heed_tensor *products = heed_mul(heed_log_softmax(logits, dim), targets);
    if (options->weight != NULL) {
        products = heed_mul(products, along_classes(options->weight, logits));
    }
    heed_tensor *losses = heed_neg(heed_sum_dim(products, dim, false));
    return heed_scope_end_with(&scope, heed_reduce_losses(losses, options->reduction));
}

/* ---- both ---- */

heed_tensor *heed_cross_entropy_with(heed_tensor *logits, heed_tensor *targets,
                                     heed_cross_entropy_options options)
{
    if (heed_check_operand(name, "logits", logits) != HEED_OK ||
        heed_check_tensor(name, "targets", targets) != HEED_OK ||
        check_options(&options) != HEED_OK) {
        return NULL;
    }
    return heed_is_float(targets->dtype) ? of_probabilities(logits, targets, &options)
                                         : of_ids(logits, targets, &options);
}

heed_tensor *heed_cross_entropy(heed_tensor *logits, heed_tensor *targets)
{
    return heed_cross_entropy_with(logits, targets, (heed_cross_entropy_options){0});
}
