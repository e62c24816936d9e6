#include "tests/common/reductions.h"

#include <math.h>
#include <stdlib.h>

/* clang-format off */
const heed_shape reduction_shapes[REDUCTION_SHAPES] = {
    {0, {0}}, {1, {0}}, {1, {1}}, {1, {700}}, {2, {3, 600}}, {2, {600, 3}}, {3, {2, 0, 3}},
    {4, {2, 3, 4, 5}}, {4, {3, 1, 300, 2}}, {4, {1, 2, 2, 270}}, {4, {5, 4, 0, 1}},
    {8, {2, 1, 2, 2, 1, 2, 3, 2}},
};
/* clang-format on */

heed_tensor *alike(heed_shape shape, heed_dtype dtype, enum layout layout, bool nan)
{
    const int64_t count = count_of(shape);
    double *values = calloc((size_t)count + 1, sizeof *values);
    for (int64_t i = 0; i < count; i++) {
        values[i] = (double)(i * 7 % 11 % 5 - 2);
        if (nan && i % 13 == 5) {
            values[i] = (double)NAN;
        }
    }
    heed_tensor *t = lay_out(values, shape, dtype, layout);
    free(values);
    return t;
}

/* The elements of x, in row-major order, that reduce to the element of y at `at`, an index into x's
 * shape that is 0 in the dims of `set`. */
static int64_t line_of(const heed_tensor *x, unsigned set, heed_shape at, double *line)
{
    heed_shape reduced = heed_shape_of_tensor(x);
    int64_t n = 0;
    for (int i = 0; i < reduced.ndim; i++) {
        reduced.size[i] = set >> i & 1 ? reduced.size[i] : 1;
    }
    for (heed_shape in = first_index(reduced); in.ndim >= 0; next_index(reduced, &in)) {
        heed_shape from = at;
        for (int i = 0; i < reduced.ndim; i++) {
            from.size[i] += in.size[i];
        }
        line[n++] = element(x, from);
    }
    return n;
}

static void expect_fold(const reduction *r, heed_tensor *y, const heed_tensor *x, unsigned set,
                        heed_shape kept, bool keepdim)
{
    double *line = calloc((size_t)x->numel + 1, sizeof *line);
    for (heed_shape at = first_index(kept); at.ndim >= 0; next_index(kept, &at)) {
        heed_shape to = at;
        to.ndim = 0;
        for (int i = 0; i < kept.ndim; i++) {
            if (keepdim || !(set >> i & 1)) {
                to.size[to.ndim++] = at.size[i];
            }
        }
        const int64_t n = line_of(x, set, at, line);
        double goal = r->reference(line, n, x->dtype), found = element(y, to), size = 1;
        for (int64_t i = 0; i < n; i++) {
            size = fmax(size, fabs(line[i]));
        }
        const bool is_f32 = y->dtype == HEED_F32;
        const double slack = is_f32 ? r->slack[0] * 0x1p-23 : r->slack[1] * 0x1p-52;
        EXPECT(within_ulps(found, goal, r->ulps, y->dtype) || fabs(found - goal) <= slack * size,
               "%s of %s is %.17g, not %.17g", r->name, heed_dtype_name(x->dtype), found, goal);
    }
    free(line);
}

void check_reduction(const reduction *r, heed_tensor *x, unsigned set)
{
    const heed_shape shape = heed_shape_of_tensor(x);
    heed_shape kept = shape, rest = {0, {0}};
    heed_dims dims = {0, {0}};
    const unsigned reduced = set == 0 ? (1u << shape.ndim) - 1 : set;
    bool nothing = false;
    for (int i = 0; i < shape.ndim; i++) {
        if (set >> i & 1) {
            dims.dim[dims.count++] = i % 2 ? i : i - shape.ndim;
        }
        if (reduced >> i & 1) {
            nothing = nothing || shape.size[i] == 0;
            kept.size[i] = 1;
        } else {
            rest.size[rest.ndim++] = shape.size[i];
        }
    }
    for (int keepdim = 0; keepdim < 2; keepdim++) {
        heed_tensor *y = r->apply(x, dims, keepdim);
        if (r->result[x->dtype] == HEED_DTYPES || (nothing && r->refuses_nothing)) {
            EXPECT(y == NULL, "%s accepts what it must reject", r->name);
            expect_error(r->result[x->dtype] == HEED_DTYPES ? HEED_ERR_DTYPE : HEED_ERR_SHAPE,
                         r->name);
            continue;
        }
        expect_kind(y, r->result[x->dtype], keepdim ? kept : rest);
        expect_fold(r, y, x, reduced, kept, keepdim);
    }
}

void check_all_reductions(const reduction *r, heed_tensor *x)
{
    for (unsigned set = 0; set < 1u << x->ndim; set++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        check_reduction(r, x, set);
        heed_scope_end(&scope);
    }
}

void check_reduction_everywhere(const reduction *r)
{
    for (int i = 0; i < REDUCTION_SHAPES; i++) {
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
                check_all_reductions(r, noise(reduction_shapes[i], dtype, layout, 12));
                check_all_reductions(r, alike(reduction_shapes[i], dtype, layout, false));
            }
        }
    }
}
