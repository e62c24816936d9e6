/* flip compared with plain loops. */
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

/* ---- as in torch ---- */

START_TEST(rearranged_as_in_torch)
{
    heed_tensor *x = heed_from_f32((float[]){0, 1, 2, 3, 4, 5}, HEED_SHAPE(2, 3));
    EXPECT_VALUES(heed_flip(x, HEED_DIMS(0, 1)), 0, 5, 4, 3, 2, 1, 0);
    EXPECT_VALUES(heed_flip(x, (heed_dims){1, {0, 1}}), 0, 3, 4, 5, 0, 1, 2);
}
END_TEST

void add_rearrange_cases(Suite *suite)
{
    TCase *rearrange = heed_case(suite, "rearrange");
    tcase_add_loop_test(rearrange, flip_turns_every_set_of_dims, 0, SHAPES);
    tcase_add_test(rearrange, rearranged_as_in_torch);
}
