/* flip, roll, repeat and repeat_interleave compared with plain loops, and with PyTorch in special
 * cases. */
#include "tests/common/reference.h"

/* clang-format off */
static const heed_shape shapes[] = {
    {0, {0}}, {1, {1}}, {1, {300}}, {2, {3, 4}}, {2, {1, 5}}, {2, {5, 1}}, {3, {2, 3, 4}},
    {3, {2, 0, 3}}, {4, {3, 1, 2, 2}}, {8, {1, 2, 1, 2, 3, 1, 1, 2}},
};
/* clang-format on */
enum { SHAPES = sizeof shapes / sizeof *shapes, FORMS = LAYOUTS * HEED_DTYPES };

static heed_tensor *some(heed_shape shape, int form)
{
    return noise(shape, (heed_dtype)(form / LAYOUTS), (enum layout)(form % LAYOUTS), 1);
}

/* The index in x of an element of the result. */
typedef heed_shape origin(heed_shape at, const heed_tensor *x, const void *how);

static void check(const char *what, heed_tensor *y, heed_shape shape, heed_tensor *x, origin *from,
                  const void *how)
{
    expect_kind(y, x->dtype, shape);
    EXPECT(heed_is_contiguous(y) && y->storage != x->storage, "%s gives a view", what);
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        const double goal = element(x, from(at, x, how));
        expect_element(what, element(y, at), goal, 0, x->dtype);
    }
}

/* The index of the i-th element in row-major order. */
static heed_shape unrank(int64_t place, const heed_tensor *x)
{
    heed_shape at = {.ndim = x->ndim};
    for (int i = x->ndim - 1; i >= 0; i--) {
        at.size[i] = place % x->shape[i];
        place /= x->shape[i];
    }
    return at;
}

/* ---- flip ---- */

static heed_shape flipped(heed_shape at, const heed_tensor *x, const void *how)
{
    for (int i = 0; i < x->ndim; i++) {
        at.size[i] = *(const int *)how >> i & 1 ? x->shape[i] - 1 - at.size[i] : at.size[i];
    }
    return at;
}

START_TEST(flip_turns_every_set_of_dims)
{
    const heed_shape shape = shapes[_i];
    for (int form = 0; form < FORMS; form++) {
        heed_tensor *x = some(shape, form);
        for (int set = 0; set < 1 << shape.ndim; set += 1 + (shape.ndim > 4)) {
            heed_dims dims = {0, {0}};
            for (int i = shape.ndim - 1; i >= 0; i--) {
                if (set >> i & 1) {
                    dims.dim[dims.count++] = form % 2 ? i : i - shape.ndim;
                }
            }
            check("flip", heed_flip(x, dims), shape, x, flipped, &set);
        }
        for (int i = 0; i < shape.ndim; i++) {
            ck_assert(
                heed_equal(heed_flip(x, HEED_DIMS(i)), heed_flip(x, HEED_DIMS(i - shape.ndim))));
        }
    }
    EXPECT_VALUES(heed_flip(heed_scalar(5, HEED_F32), HEED_DIMS(-1)), 0, 5);
}
END_TEST

/* ---- roll ---- */

typedef struct rolling {
    heed_shape shifts;
    heed_dims dims;
} rolling;

static int64_t modulo(int64_t a, int64_t n)
{
    return (a % n + n) % n;
}

static heed_shape rolled(heed_shape at, const heed_tensor *x, const void *how)
{
    const rolling *r = how;
    for (int i = 0; i < r->dims.count; i++) {
        const int dim = (r->dims.dim[i] + x->ndim) % x->ndim;
        const int64_t n = x->shape[dim];
        at.size[dim] = modulo(at.size[dim] - modulo(r->shifts.size[i], n), n);
    }
    return at;
}

static heed_shape rolled_flat(heed_shape at, const heed_tensor *x, const void *how)
{
    const int64_t place = rank(heed_shape_of_tensor(x), at);
    return unrank(modulo(place - modulo(*(const int64_t *)how, x->numel), x->numel), x);
}

START_TEST(roll_goes_round)
{
    static const int64_t shifts[] = {0, 1, -1, 2, -7, 1000003, INT64_MAX, INT64_MIN};
    const heed_shape shape = shapes[_i];
    for (int form = 0; form < FORMS; form++) {
        heed_tensor *x = some(shape, form);
        for (int k = 0; k < 8; k++) {
            check("roll", heed_roll(x, shifts[k]), shape, x, rolled_flat, &shifts[k]);
            for (int dim = -shape.ndim; dim < shape.ndim; dim++) {
                const rolling r = {HEED_SHAPE(shifts[k]), HEED_DIMS(dim)};
                check("roll", heed_roll_dim(x, shifts[k], dim), shape, x, rolled, &r);
            }
        }
        if (shape.ndim > 0) {
            const rolling r = {HEED_SHAPE(1, -2, 4), HEED_DIMS(0, -1, 0)};
            check("roll", heed_roll_dims(x, r.shifts, r.dims), shape, x, rolled, &r);
        }
    }
}
END_TEST

/* ---- repeat, repeat_interleave ---- */

static heed_shape repeated(heed_shape at, const heed_tensor *x, const void *how)
{
    heed_shape from = {.ndim = x->ndim};
    (void)how;
    for (int i = 0; i < x->ndim; i++) {
        from.size[i] = at.size[at.ndim - x->ndim + i] % x->shape[i];
    }
    return from;
}

static void check_repeat(heed_tensor *x, heed_shape sizes)
{
    heed_shape shape = sizes;
    for (int i = 0; i < x->ndim; i++) {
        shape.size[sizes.ndim - x->ndim + i] *= x->shape[i];
    }
    check("repeat", heed_repeat(x, sizes), shape, x, repeated, NULL);
}

START_TEST(repeat_tiles)
{
    static const int64_t times[][8] = {{1, 1, 1, 1, 1, 1, 1, 1}, {2, 1, 3, 1, 1, 2, 1, 1},
                                       {1, 3, 1, 2, 1, 1, 1, 2}, {2, 1, 0, 2, 1, 1, 1, 1},
                                       {3, 2, 2, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 3}};
    const heed_shape shape = shapes[_i];
    for (int form = 0; form < FORMS; form++) {
        for (int k = 0; k < 6; k++) {
            for (int ndim = shape.ndim; ndim <= shape.ndim + 2 && ndim <= HEED_MAX_DIMS; ndim++) {
                heed_shape sizes = {.ndim = ndim};
                for (int i = 0; i < ndim; i++) {
                    sizes.size[i] = times[k][i];
                }
                check_repeat(some(shape, form), sizes);
            }
        }
    }
}
END_TEST

typedef struct interleaving {
    int dim;
    const int64_t *origins;
} interleaving;

static heed_shape interleaved(heed_shape at, const heed_tensor *x, const void *how)
{
    const interleaving *r = how;
    (void)x;
    at.size[r->dim] = r->origins[at.size[r->dim]];
    return at;
}

static heed_shape interleaved_flat(heed_shape at, const heed_tensor *x, const void *how)
{
    return unrank(at.size[0] / *(const int64_t *)how, x);
}

/* Index i is repeated times[i % 7] times; equal times also go through the forms with one number. */
static void check_interleave(heed_tensor *x, int dim, const double *times, enum layout layout)
{
    static int64_t origins[2000];
    const int64_t n = x->shape[dim];
    heed_shape shape = heed_shape_of_tensor(x);
    shape.size[dim] = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int j = 0; j < (int)times[i % 7]; j++) {
            origins[shape.size[dim]++] = i;
        }
    }
    double all[300];
    for (int64_t i = 0; i < n; i++) {
        all[i] = times[i % 7];
    }
    const interleaving r = {dim, origins};
    heed_tensor *repeats = lay_out(all, HEED_SHAPE(n), HEED_I64, layout);
    check("repeat_interleave", heed_repeat_interleave_each(x, repeats, dim - x->ndim), shape, x,
          interleaved, &r);
    if (times[0] == times[1]) {
        const int64_t same = (int64_t)times[0];
        check("repeat_interleave", heed_repeat_interleave_dim(x, same, dim), shape, x, interleaved,
              &r);
        heed_tensor *one = heed_full(HEED_SHAPE(1), times[0], HEED_I64);
        check("repeat_interleave", heed_repeat_interleave_each(x, one, dim), shape, x, interleaved,
              &r);
        check("repeat_interleave",
              heed_repeat_interleave_each(x, heed_scalar(times[0], HEED_I64), dim), shape, x,
              interleaved, &r);
    }
}

START_TEST(repeat_interleave_repeats_each)
{
    static const double times[][7] = {{2, 0, 1, 3, 0, 1, 5},
                                      {0, 1, 0, 0, 0, 0, 0},
                                      {1, 1, 1, 1, 1, 1, 1},
                                      {3, 3, 3, 3, 3, 3, 3},
                                      {0, 0, 0, 0, 0, 0, 0}};
    const heed_shape shape = shapes[_i];
    for (int form = 0; form < FORMS; form++) {
        heed_tensor *x = some(shape, form);
        for (int k = 0; k < 5; k++) {
            for (int dim = 0; dim < shape.ndim; dim++) {
                check_interleave(x, dim, times[k], (enum layout)(form % LAYOUTS));
            }
        }
        for (int64_t repeats = 0; repeats < 4; repeats++) {
            check("repeat_interleave", heed_repeat_interleave(x, repeats),
                  HEED_SHAPE(repeats * count_of(shape)), x, interleaved_flat, &repeats);
        }
    }
}
END_TEST

/* ---- as in torch ---- */

START_TEST(rearranged_as_in_torch)
{
    heed_tensor *x = heed_from_f32((float[]){0, 1, 2, 3, 4, 5}, HEED_SHAPE(2, 3));
    EXPECT_VALUES(heed_flip(x, HEED_DIMS(0, 1)), 0, 5, 4, 3, 2, 1, 0);
    EXPECT_VALUES(heed_roll(x, 1), 0, 5, 0, 1, 2, 3, 4);
    EXPECT_VALUES(heed_roll(x, -8), 0, 2, 3, 4, 5, 0, 1);
    EXPECT_VALUES(heed_roll_dim(x, 1, 1), 0, 2, 0, 1, 5, 3, 4);
    EXPECT_VALUES(heed_roll_dims(x, HEED_SHAPE(1, 2), HEED_DIMS(0, 1)), 0, 4, 5, 3, 1, 2, 0);
    EXPECT_VALUES(heed_roll_dims(x, HEED_SHAPE(1, 1), HEED_DIMS(0, 0)), 0, 0, 1, 2, 3, 4, 5);
    const heed_shape one = {1, {1, 1}}; /* what follows the last entry is not read */
    EXPECT_VALUES(heed_roll_dims(x, one, (heed_dims){1, {0, 1}}), 0, 3, 4, 5, 0, 1, 2);
    EXPECT_VALUES(heed_roll_dims(x, one, (heed_dims){1, {0, 99}}), 0, 3, 4, 5, 0, 1, 2);
    EXPECT_VALUES(heed_flip(x, (heed_dims){1, {0, 1}}), 0, 3, 4, 5, 0, 1, 2);
    EXPECT_VALUES(heed_repeat(x, (heed_shape){2, {1, 1, 2}}), 0, 0, 1, 2, 3, 4, 5);
    EXPECT_VALUES(heed_repeat(x, HEED_SHAPE(1, 2)), 0, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
    expect_kind(heed_repeat(x, HEED_SHAPE(0, 2)), HEED_F32, HEED_SHAPE(0, 6));
    expect_kind(heed_repeat(heed_scalar(5, HEED_F32), HEED_SHAPE(3, 0)), HEED_F32,
                HEED_SHAPE(3, 0));
    EXPECT_VALUES(heed_repeat_interleave_dim(x, 2, 1), 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5);
    heed_tensor *repeats = heed_from_i64((int64_t[]){2, 0, 1}, HEED_SHAPE(3));
    EXPECT_VALUES(heed_repeat_interleave_each(x, repeats, 1), 0, 0, 0, 2, 3, 3, 5);
}
END_TEST

/* Intermediate tensors are freed. */
START_TEST(rearranging_leaves_one_tensor)
{
    heed_tensor *x = heed_transpose(heed_ones(HEED_SHAPE(4, 3), HEED_F32), 0, 1);
    heed_tensor *mask = heed_transpose(heed_ones(HEED_SHAPE(4, 3), HEED_BOOL), 0, 1);
    heed_tensor *repeats = heed_ones(HEED_SHAPE(3), HEED_I64);
    const int64_t tensors = heed_live_tensors();
    const heed_tensor *made[] = {heed_roll(x, 2),
                                 heed_roll_dims(x, HEED_SHAPE(1, 1), HEED_DIMS(0, 1)),
                                 heed_repeat(x, HEED_SHAPE(2, 2, 2)),
                                 heed_repeat(x, HEED_SHAPE(1, 1)),
                                 heed_repeat_interleave(x, 2),
                                 heed_repeat_interleave_dim(x, 2, 0),
                                 heed_repeat_interleave_each(x, repeats, 0),
                                 heed_masked_select(x, mask),
                                 heed_one_hot(heed_transpose(repeats, 0, 0), -1)};
    expect_no_error();
    ck_assert_int_eq(heed_live_tensors(), tensors + 1 + (int64_t)(sizeof made / sizeof *made));
}
END_TEST

void add_rearrange_cases(Suite *suite)
{
    TCase *rearrange = heed_case(suite, "rearrange");
    tcase_add_loop_test(rearrange, flip_turns_every_set_of_dims, 0, SHAPES);
    tcase_add_loop_test(rearrange, roll_goes_round, 0, SHAPES);
    tcase_add_loop_test(rearrange, repeat_tiles, 0, SHAPES);
    tcase_add_loop_test(rearrange, repeat_interleave_repeats_each, 0, SHAPES);
    tcase_add_test(rearrange, rearranged_as_in_torch);
    tcase_add_test(rearrange, rearranging_leaves_one_tensor);
}
