/* Products composed of matmul and mul: outer, bmm, addmm. For einsum see einsum.c. */

#include "products.h"

#include <math.h>

#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "elementwise.h"
#include "masking.h"
#include "matmul.h"
#include "operand_checks.h"
#include "view.h"

/* ---- outer ---- */

heed_tensor *heed_outer(heed_tensor *a, heed_tensor *b)
{
    heed_dtype dtype = HEED_F32;
    int64_t numel;
    if (heed_check_operand("outer", "a", a) != HEED_OK ||
        heed_check_operand("outer", "b", b) != HEED_OK) {
        return NULL;
    }
    if (a->ndim != 1 || b->ndim != 1) {
        heed_fail(HEED_ERR_SHAPE, "outer: %s x %s; both must have 1 dim: heed_reshape to (-1)",
                  HEED_TEXT(a), HEED_TEXT(b));
        return NULL;
    }
    const heed_shape shape = HEED_SHAPE(a->shape[0], b->shape[0]);
    if (heed_common_dtype("outer", a->dtype, b->dtype, &dtype) != HEED_OK ||
        heed_count_elements("outer", 2, shape.size, dtype, &numel) != HEED_OK) {
        return NULL;
    }
    return heed_mul(heed_unsqueeze(a, 1), b);
}

/* ---- bmm ---- */

heed_tensor *heed_bmm(heed_tensor *a, heed_tensor *b)
{
    if (heed_check_operand("bmm", "a", a) != HEED_OK ||
        heed_check_operand("bmm", "b", b) != HEED_OK) {
        return NULL;
    }
    if (a->ndim != 3 || b->ndim != 3) {
        heed_fail(HEED_ERR_SHAPE, "bmm: %s x %s; both must have 3 dims; heed_matmul takes others",
                  HEED_TEXT(a), HEED_TEXT(b));
        return NULL;
    }
    if (a->shape[0] != b->shape[0]) {
        heed_fail(HEED_ERR_SHAPE, "bmm: %s x %s: batch sizes differ; heed_matmul broadcasts size 1",
                  HEED_TEXT(a), HEED_TEXT(b));
        return NULL;
    }
    if (a->shape[2] != b->shape[1]) {
        heed_fail(HEED_ERR_SHAPE,
                  "bmm: inner sizes differ: %s x %s; a's last size must equal b's second",
                  HEED_TEXT(a), HEED_TEXT(b));
        return NULL;
    }
    int64_t numel;
    const heed_shape shape = HEED_SHAPE(a->shape[0], a->shape[1], b->shape[2]);
    if (heed_check_factors("bmm", a->dtype, b->dtype) != HEED_OK ||
        heed_count_elements("bmm", 3, shape.size, a->dtype, &numel) != HEED_OK) {
        return NULL;
    }
    return heed_matmul(a, b);
}

/* ---- addmm ---- */

static heed_status check_factor(const char *name, double factor, heed_dtype dtype)
{
    if (dtype == HEED_I64 && factor != floor(factor)) { /* true for NaN too */
        return heed_fail(HEED_ERR_VALUE, "addmm: %s is %g; it must be an integer for i64", name,
                         factor);
    }
    return heed_check_value("addmm", factor, dtype);
}

/* factor * x; 0 * x is 0 even where x is NaN, with gradient 0. */
static heed_tensor *scaled(heed_tensor *x, double factor)
{
    if (factor == 0) {
        return heed_masked_fill(x, heed_ones(HEED_SCALAR, HEED_BOOL), 0);
    }
    return factor == 1 ? x : heed_mul_scalar(x, factor);
}

heed_tensor *heed_addmm(heed_tensor *input, heed_tensor *mat1, heed_tensor *mat2, double beta,
                        double alpha)
{
    if (heed_check_operand("addmm", "input", input) != HEED_OK ||
        heed_check_operand("addmm", "mat1", mat1) != HEED_OK ||
        heed_check_operand("addmm", "mat2", mat2) != HEED_OK) {
        return NULL;
    }
    if (mat1->ndim != 2 || mat2->ndim != 2 || mat1->shape[1] != mat2->shape[0]) {
        heed_fail(HEED_ERR_SHAPE, "addmm: mat1 %s x mat2 %s; they must be (m, k) and (k, n)",
                  HEED_TEXT(mat1), HEED_TEXT(mat2));
        return NULL;
    }
    int64_t numel;
    const heed_shape shape = HEED_SHAPE(mat1->shape[0], mat2->shape[1]);
    if (!heed_broadcasts_to(input, &shape)) {
        heed_fail(HEED_ERR_SHAPE, "addmm: input %s does not broadcast to mat1 x mat2, %s",
                  HEED_TEXT(input), heed_shape_text(shape.ndim, shape.size).text);
        return NULL;
    }
    if (heed_check_factors("addmm", mat1->dtype, mat2->dtype) != HEED_OK ||
        heed_count_elements("addmm", 2, shape.size, mat1->dtype, &numel) != HEED_OK ||
        heed_check_factors("addmm", input->dtype, mat1->dtype) != HEED_OK ||
        check_factor("beta", beta, input->dtype) != HEED_OK ||
        check_factor("alpha", alpha, input->dtype) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *product = scaled(heed_matmul(mat1, mat2), alpha);
    return heed_scope_end_with(&scope, heed_add(scaled(input, beta), product));
}
