/* Products made of matmul and mul: outer, bmm, addmm. */
#include "../../tensor/check.h"
#include "../../tensor/read.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "matmul.h"

#include <math.h>

#include "../../tensor/create.h"
#include "../../tensor/scope.h"
#include "elementwise.h"
#include "promote.h"
#include "shape.h"

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
    if (heed_promote("outer", a->dtype, b->dtype, &dtype) != HEED_OK ||
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
        heed_fail(HEED_ERR_SHAPE, "bmm: %s x %s: batches differ; heed_matmul repeats one of size 1",
                  HEED_TEXT(a), HEED_TEXT(b));
        return NULL;
    }
    if (a->shape[2] != b->shape[1]) {
        heed_fail(HEED_ERR_SHAPE, "bmm: inner sizes differ: %s x %s; a's last must be b's second",
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

static heed_status check_addmm(const heed_tensor *input, const heed_tensor *mat1,
                               const heed_tensor *mat2)
{
    if (mat1->ndim != 2 || mat2->ndim != 2 || mat1->shape[1] != mat2->shape[0]) {
        return heed_fail(HEED_ERR_SHAPE, "addmm: mat1 %s x mat2 %s; they must be (m, k) and (k, n)",
                         HEED_TEXT(mat1), HEED_TEXT(mat2));
    }
    int64_t numel;
    const heed_shape y = HEED_SHAPE(mat1->shape[0], mat2->shape[1]);
    if (!heed_broadcasts_to(input, &y)) {
        return heed_fail(HEED_ERR_SHAPE, "addmm: input %s does not broadcast to mat1 x mat2, %s",
                         HEED_TEXT(input), heed_shape_text(y.ndim, y.size).text);
    }
    if (heed_check_factors("addmm", mat1->dtype, mat2->dtype) != HEED_OK ||
        heed_count_elements("addmm", y.ndim, y.size, mat1->dtype, &numel) != HEED_OK) {
        return heed_self.error;
    }
    return heed_check_factors("addmm", input->dtype, mat1->dtype);
}

static heed_status check_factor(const char *name, double factor, heed_dtype dtype)
{
    if (dtype == HEED_I64 && factor != floor(factor)) { /* NaN too */
        return heed_fail(HEED_ERR_VALUE, "addmm: %s is %g; i64 takes whole numbers", name, factor);
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
        heed_check_operand("addmm", "mat2", mat2) != HEED_OK ||
        check_addmm(input, mat1, mat2) != HEED_OK ||
        check_factor("beta", beta, input->dtype) != HEED_OK ||
        check_factor("alpha", alpha, input->dtype) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *product = scaled(heed_matmul(mat1, mat2), alpha);
    return heed_scope_end_with(&scope, heed_add(scaled(input, beta), product));
}
