/* argsort sorts each line along dim; sort and topk gather the elements at its indices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../autograd.h"

/* ---- keys: integers that sort like the values, so all dtypes share one comparison ---- */

typedef struct item {
    uint64_t key;
    int64_t place; /* index in its line */
} item;

static const uint64_t sign_bit = UINT64_C(1) << 63;

/* The bits of positive floats, read as integers, sort like their values. The bits of negative
 * floats sort in reverse, after the positive ones. */
static uint64_t key_of_float(double x)
{
    uint64_t bits;
    if (isnan(x)) {
        return UINT64_MAX;
    }
    x = x == 0 ? 0 : x; /* maps -0 to 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits & sign_bit ? ~bits : bits | sign_bit;
}

static uint64_t key_of(const void *line, int64_t i, heed_dtype dtype)
{
    switch (dtype) {
    case HEED_F32:
        return key_of_float((double)((const float *)line)[i]);
    case HEED_F64:
        return key_of_float(((const double *)line)[i]);
    case HEED_I64:
        return (uint64_t)((const int64_t *)line)[i] ^ sign_bit;
    default:
        return ((const bool *)line)[i];
    }
}

/* Equal keys stay in order, so sorting is stable. */
static int compare(const void *a, const void *b)
{
    const item *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->place < y->place ? -1 : 1;
}

/* ---- argsort ---- */

typedef struct argsort_args {
    int dim;
    bool descending;
} argsort_args;

static heed_status argsort_rule(const heed_call *call, heed_result *result)
{
    const argsort_args *args = call->args;
    heed_wrap_dim("argsort", args->dim, result->shape.ndim);
    result->dtype = HEED_I64;
    return HEED_OK;
}

/* Sorts along the last dim: transposes args->dim there and back. */
static heed_status argsort_forward(const heed_call *call, heed_tensor *y)
{
    const argsort_args *args = call->args;
    const int64_t n = y->ndim > 0 ? y->shape[heed_wrapped(args->dim, y->ndim)] : 1;
    if (y->numel == 0) {
        return HEED_OK;
    }
    const heed_tensor *lines = heed_contiguous(heed_transpose(call->inputs[0], args->dim, -1));
    heed_tensor *back = heed_transpose(y, args->dim, -1);
    heed_tensor *places = heed_empty(heed_shape_of_tensor(back), HEED_I64);
    item *items = heed_scratch((size_t)n * sizeof *items);
    const char *line = lines->data;
    int64_t *place = places->data;
    for (int64_t done = 0; done < lines->numel; done += n) {
        for (int64_t i = 0; i < n; i++) {
            const uint64_t key = key_of(line, i, lines->dtype);
            items[i] = (item){args->descending ? ~key : key, i};
        }
        qsort(items, (size_t)n, sizeof *items, compare);
        for (int64_t i = 0; i < n; i++) {
            *place++ = items[i].place;
        }
        line += (size_t)n * heed_dtype_size(lines->dtype);
    }
    heed_copy_elements(places, back);
    return HEED_OK;
}

OPERATION(argsort) = {.name = "argsort",
                      .inputs = 1,
                      .args = "int dim, bool descending",
                      .rule = argsort_rule,
                      .forward = argsort_forward};

/* ---- sort, topk ---- */

/* The first *k elements, or all if k is NULL, of x sorted along dim, and their indices. */
static heed_tensor *take_first(const char *function, heed_tensor *x, const int64_t *k, int dim,
                               bool descending, heed_tensor **indices)
{
    if (indices != NULL) {
        *indices = NULL;
    }
    HEED_DOOR(NULL);
    heed_check_operand(function, "x", x);
    dim = heed_wrap_dim(function, dim, x->ndim);
    const int64_t size = x->ndim > 0 ? x->shape[dim] : 1;
    if (k != NULL && (*k < 0 || *k > size)) {
        heed_raise(HEED_ERR_VALUE, "%s: k is %lld, but x %s has %lld elements in dim %d", function,
                   (long long)*k, HEED_TEXT(x), (long long)size, dim);
    }
    const argsort_args args = {dim, descending};
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *places = heed_apply(&op_argsort, &x, 1, &args, sizeof args);
    if (x->ndim > 0 && k != NULL && *k < size) {
        places = heed_clone(heed_slice(places, dim, 0, *k, 1)); /* clone, to release the rest */
    }
    heed_tensor *values = heed_gather(x, dim, places);
    if (indices != NULL) {
        *indices = heed_scope_keep(&scope, places);
    }
    return heed_scope_end_with(&scope, values);
}

heed_tensor *heed_sort(heed_tensor *x, int dim, bool descending, heed_tensor **indices)
{
    return take_first("sort", x, NULL, dim, descending, indices);
}

heed_tensor *heed_topk(heed_tensor *x, int64_t k, int dim, bool largest, heed_tensor **indices)
{
    return take_first("topk", x, &k, dim, largest, indices);
}
