/* Printing: the expected texts are what torch 1.13 and torch 2.15 print for the same tensors. */
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tests/common/test_util.h"

/* ---- helpers ---- */

/* A tensor of `values`, or of 0, 1, 2, ... if NULL. */
static heed_tensor *make(heed_dtype dtype, heed_shape shape, const double *values)
{
    heed_tensor *t = heed_tensor_new("make", &shape, dtype);
    ck_assert_ptr_nonnull(t);
    for (int64_t i = 0; i < t->numel; i++) {
        double value = values != NULL ? values[i] : (double)i;
        if (dtype == HEED_F32) {
            ((float *)t->data)[i] = (float)value;
        } else if (dtype == HEED_F64) {
            ((double *)t->data)[i] = value;
        } else if (dtype == HEED_I64) {
            ((int64_t *)t->data)[i] = (int64_t)value;
        } else {
            ((bool *)t->data)[i] = value != 0;
        }
    }
    return t;
}

static heed_tensor *view(const heed_tensor *t, heed_shape shape, heed_shape strides, int64_t offset)
{
    heed_tensor *v = heed_tensor_view("view", t, shape.ndim, shape.size, strides.size, offset);
    ck_assert_ptr_nonnull(v);
    return v;
}

typedef struct options {
    int precision, linewidth;
} options;

static void expect(const heed_tensor *t, options o, const char *expected)
{
    char text[4096];
    size_t length = heed_snprint(text, sizeof text, t, o.precision, o.linewidth);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(length, strlen(expected));
    ck_assert(!heed_error_pending());
}

static const options none;

/* ---- values, shapes, dtypes and options ---- */

/* clang-format off */
#define V(...)  (const double[]){__VA_ARGS__}
#define FIVE(x) x, x, x, x, x
#define ALL(x)  V(FIVE(x), FIVE(x), FIVE(x), FIVE(x), FIVE(x))
#define QNAN    ((double)NAN)
#define INF     ((double)INFINITY)

static const struct example {
    heed_dtype dtype;
    heed_shape shape;
    const double *values; /* NULL: 0, 1, 2, ... */
    options options;
    const char *text;
} examples[] = {
    /* plain numbers */
    {HEED_F32, {2, {2, 2}}, V(1.01, 1.0641, 0.204, 0.7057), {0},
     "tensor([[1.0100, 1.0641],\n"
     "        [0.2040, 0.7057]])"},
    {HEED_F32, {0, {0}}, V(3.5), {0}, "tensor(3.5000)"},
    {HEED_F32, {0, {0}}, V(3), {0}, "tensor(3.)"},
    {HEED_F32, {0, {0}}, V(-0.0), {0}, "tensor(-0.)"},
    {HEED_F32, {0, {0}}, V(QNAN), {0}, "tensor(nan)"},
    {HEED_F32, {0, {0}}, V(1e-07), {0}, "tensor(1.0000e-07)"},
    {HEED_F64, {0, {0}}, V(2.5), {0}, "tensor(2.5000, dtype=torch.float64)"},
    {HEED_I64, {0, {0}}, V(-7), {0}, "tensor(-7)"},
    {HEED_BOOL, {0, {0}}, V(1), {0}, "tensor(True)"},
    {HEED_F32, {1, {3}}, V(1, 2, 3), {0}, "tensor([1., 2., 3.])"},
    {HEED_F32, {1, {3}}, V(-1, 0, 10), {0}, "tensor([-1.,  0., 10.])"},
    {HEED_F32, {1, {2}}, V(0.0, -0.0), {0}, "tensor([0., -0.])"},
    {HEED_F32, {1, {2}}, V(-0.5, -0.25), {0}, "tensor([-0.5000, -0.2500])"},
    {HEED_F32, {1, {3}}, V(-0.0, 0.5, -0.5), {0}, "tensor([-0.0000,  0.5000, -0.5000])"},
    {HEED_F32, {1, {2}}, V(0.00015, 0.99995), {0}, "tensor([1.5000e-04, 9.9995e-01])"},
    {HEED_F32, {1, {2}}, V(9.99995, 99.99999), {0}, "tensor([ 10.0000, 100.0000])"},
    {HEED_F64, {1, {2}}, V(1, 2), {0}, "tensor([1., 2.], dtype=torch.float64)"},
    {HEED_I64, {2, {2, 3}}, V(1, -20, 300, 0, 5, -6), {0},
     "tensor([[  1, -20, 300],\n"
     "        [  0,   5,  -6]])"},
    {HEED_BOOL, {1, {2}}, V(1, 0), {0}, "tensor([ True, False])"},

    /* NaN and infinities, which do not affect the width */
    {HEED_F32, {1, {3}}, V(QNAN, INF, -INF), {0}, "tensor([nan, inf, -inf])"},
    {HEED_F32, {1, {3}}, V(1, QNAN, -INF), {0}, "tensor([1., nan, -inf])"},
    {HEED_F32, {1, {3}}, V(1.5, QNAN, -INF), {0}, "tensor([1.5000,    nan,   -inf])"},
    {HEED_F32, {1, {3}}, V(1e-05, QNAN, INF), {0}, "tensor([1.0000e-05,        nan,        inf])"},
    {HEED_F32, {1, {2}}, V(QNAN, 0), {0}, "tensor([nan, 0.])"},

    /* scientific: a ratio over 1000, a number over 1e8, or a fraction under 1e-4 */
    {HEED_F32, {1, {2}}, V(0.001, 1.001), {0}, "tensor([1.0000e-03, 1.0010e+00])"},
    {HEED_F32, {1, {2}}, V(0.5, 500), {0}, "tensor([  0.5000, 500.0000])"},
    {HEED_F32, {1, {2}}, V(1, 1000), {0}, "tensor([   1., 1000.])"},
    {HEED_F32, {1, {2}}, V(1, 1001), {0}, "tensor([1.0000e+00, 1.0010e+03])"},
    {HEED_F32, {1, {1}}, V(100000000.0), {0}, "tensor([100000000.])"},
    {HEED_F64, {1, {1}}, V(100000001), {0}, "tensor([1.0000e+08], dtype=torch.float64)"},
    {HEED_F32, {1, {1}}, V(123456.78), {0}, "tensor([123456.7812])"},
    {HEED_F64, {1, {1}}, V(0.0001), {0}, "tensor([0.0001], dtype=torch.float64)"},
    {HEED_F32, {1, {1}}, V(0.0001), {0}, "tensor([1.0000e-04])"},
    {HEED_F64, {1, {1}}, V(9.999e-05), {0}, "tensor([9.9990e-05], dtype=torch.float64)"},
    {HEED_F32, {1, {2}}, V(1e-45, 3.4028234663852886e+38), {0}, "tensor([1.4013e-45, 3.4028e+38])"},
    {HEED_F64, {1, {2}}, V(5e-324, 1), {0},
     "tensor([4.9407e-324,  1.0000e+00], dtype=torch.float64)"},
    {HEED_F64, {1, {2}}, V(1e+100, 1), {0},
     "tensor([1.0000e+100,  1.0000e+00], dtype=torch.float64)"},
    {HEED_F64, {1, {2}}, V(9.99999e+99, 1e+98), {0},
     "tensor([1.0000e+100,  1.0000e+98], dtype=torch.float64)"},
    {HEED_F32, {1, {3}}, V(1e-09, 0, -1), {0}, "tensor([ 1.0000e-09,  0.0000e+00, -1.0000e+00])"},

    /* no elements */
    {HEED_F32, {1, {0}}, NULL, {0}, "tensor([])"},
    {HEED_I64, {1, {0}}, NULL, {0}, "tensor([], dtype=torch.int64)"},
    {HEED_F32, {2, {2, 0}}, NULL, {0}, "tensor([], size=(2, 0))"},
    {HEED_I64, {2, {0, 3}}, NULL, {0}, "tensor([], size=(0, 3), dtype=torch.int64)"},
    {HEED_F64, {3, {2, 0, 4}}, NULL, {0}, "tensor([], size=(2, 0, 4), dtype=torch.float64)"},

    /* many dims, and wrapped lines */
    {HEED_F32, {3, {2, 1, 2}}, V(1, 2, 3, 4), {0},
     "tensor([[[1., 2.]],\n\n"
     "        [[3., 4.]]])"},
    {HEED_I64, {4, {2, 2, 1, 2}}, NULL, {0},
     "tensor([[[[0, 1]],\n\n"
     "         [[2, 3]]],\n\n\n"
     "        [[[4, 5]],\n\n"
     "         [[6, 7]]]])"},
    {HEED_I64, {8, {1, 1, 1, 1, 1, 1, 2, 1}}, NULL, {0},
     "tensor([[[[[[[[0],\n"
     "              [1]]]]]]]])"},
    {HEED_I64, {1, {20}}, NULL, {0},
     "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
     "        18, 19])"},
    {HEED_F32, {1, {25}}, ALL(0), {0},
     "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., "
     "0., 0., 0.,\n"
     "        0.])"},
    {HEED_I64, {2, {2, 20}}, NULL, {0},
     "tensor([[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
     "         18, 19],\n"
     "        [20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37,\n"
     "         38, 39]])"},

    /* summarised */
    {HEED_I64, {1, {1001}}, NULL, {0},
     "tensor([   0,    1,    2,  ...,  998,  999, 1000])"},
    {HEED_I64, {1, {1001}}, NULL, {.linewidth = 40},
     "tensor([   0,    1,    2,  ...,  998,\n"
     "         999, 1000])"},
    {HEED_I64, {2, {501, 2}}, NULL, {0},
     "tensor([[   0,    1],\n"
     "        [   2,    3],\n"
     "        [   4,    5],\n"
     "        ...,\n"
     "        [ 996,  997],\n"
     "        [ 998,  999],\n"
     "        [1000, 1001]])"},
    {HEED_I64, {2, {2, 501}}, NULL, {0},
     "tensor([[   0,    1,    2,  ...,  498,  499,  500],\n"
     "        [ 501,  502,  503,  ...,  999, 1000, 1001]])"},
    {HEED_I64, {3, {7, 1, 150}}, NULL, {0},
     "tensor([[[   0,    1,    2,  ...,  147,  148,  149]],\n"
     "\n"
     "        [[ 150,  151,  152,  ...,  297,  298,  299]],\n"
     "\n"
     "        [[ 300,  301,  302,  ...,  447,  448,  449]],\n"
     "\n"
     "        ...,\n"
     "\n"
     "        [[ 600,  601,  602,  ...,  747,  748,  749]],\n"
     "\n"
     "        [[ 750,  751,  752,  ...,  897,  898,  899]],\n"
     "\n"
     "        [[ 900,  901,  902,  ..., 1047, 1048, 1049]]])"},
    {HEED_I64, {2, {6, 200}}, NULL, {0},
     "tensor([[   0,    1,    2,  ...,  197,  198,  199],\n"
     "        [ 200,  201,  202,  ...,  397,  398,  399],\n"
     "        [ 400,  401,  402,  ...,  597,  598,  599],\n"
     "        [ 600,  601,  602,  ...,  797,  798,  799],\n"
     "        [ 800,  801,  802,  ...,  997,  998,  999],\n"
     "        [1000, 1001, 1002,  ..., 1197, 1198, 1199]])"},

    /* options */
    {HEED_F32, {1, {2}}, V(0.34, 0.66), {.precision = 1}, "tensor([0.3, 0.7])"},
    {HEED_F64, {1, {2}}, V(0.3333333333333333, -0.6666666666666666), {.precision = 17},
     "tensor([ 0.33333333333333331, -0.66666666666666663], dtype=torch.float64)"},
    {HEED_F32, {1, {2}}, V(1e-06, 0.25), {.precision = 2}, "tensor([1.00e-06, 2.50e-01])"},
    {HEED_F32, {1, {2}}, V(1, 2), {.precision = 8}, "tensor([1., 2.])"},
    {HEED_F32, {2, {1, 2}}, V(0.25, 0.5), {.linewidth = 1},
     "tensor([[0.2500,\n"
     "         0.5000]])"},
    {HEED_F32, {1, {3}}, V(0.25, 0.5, 0.75), {.linewidth = 23},
     "tensor([0.2500, 0.5000,\n"
     "        0.7500])"},
    {HEED_F32, {1, {3}}, V(0.25, 0.5, 0.75), {.linewidth = 31}, "tensor([0.2500, 0.5000, 0.7500])"},

    /* the dtype on a separate line */
    {HEED_F64, {2, {2, 7}}, ALL(0.5), {0},
     "tensor([[0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000],\n"
     "        [0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000]],\n"
     "       dtype=torch.float64)"},
    {HEED_F64, {1, {2}}, V(1, 2), {.linewidth = 37},
     "tensor([1., 2.],\n"
     "       dtype=torch.float64)"},
    {HEED_F64, {1, {2}}, V(1, 2), {.linewidth = 38}, "tensor([1., 2.], dtype=torch.float64)"},
};
/* clang-format on */

enum { EXAMPLES = sizeof examples / sizeof examples[0] };

START_TEST(an_example_prints_as_in_torch)
{
    const struct example *e = &examples[_i];
    expect(make(e->dtype, e->shape, e->values), e->options, e->text);
}
END_TEST

START_TEST(i64_prints_exactly)
{
    heed_tensor *t = make(HEED_I64, HEED_SHAPE(3), NULL);
    memcpy(t->data, (int64_t[]){INT64_MAX, INT64_MIN, 9007199254740993}, 3 * sizeof(int64_t));
    expect(t, none, "tensor([ 9223372036854775807, -9223372036854775808,     9007199254740993])");
}
END_TEST

START_TEST(views_print_what_they_show)
{
    heed_tensor *t = make(HEED_F32, HEED_SHAPE(3, 4), NULL);
    expect(view(t, HEED_SHAPE(2, 2), HEED_SHAPE(8, 2), 1), none,
           "tensor([[ 1.,  3.],\n        [ 9., 11.]])");
    expect(view(t, HEED_SHAPE(2, 3), HEED_SHAPE(0, 1), 5), none,
           "tensor([[5., 6., 7.],\n        [5., 6., 7.]])");
    expect(view(t, HEED_SCALAR, HEED_SCALAR, 11), none, "tensor(11.)");
}
END_TEST

/* ---- the graph ---- */

START_TEST(leaves_say_that_they_require_grad)
{
    heed_tensor *t = make(HEED_F32, HEED_SHAPE(2), V(1.5, 2));
    t->requires_grad = true;
    expect(t, none, "tensor([1.5000, 2.0000], requires_grad=True)");
    expect(t, (options){.linewidth = 44}, "tensor([1.5000, 2.0000],\n       requires_grad=True)");
    t = make(HEED_F64, HEED_SHAPE(0), NULL);
    t->requires_grad = true;
    expect(t, none, "tensor([], dtype=torch.float64, requires_grad=True)");
    t = make(HEED_F64, HEED_SHAPE(2, 0, 4), NULL);
    t->requires_grad = true;
    expect(t, (options){.linewidth = 46},
           "tensor([], size=(2, 0, 4),\n       dtype=torch.float64, requires_grad=True)");
    expect(t, (options){.linewidth = 45},
           "tensor([], size=(2, 0, 4),\n       dtype=torch.float64,\n       requires_grad=True)");
}
END_TEST

START_TEST(results_say_which_operation_made_them)
{
    static const char *const names[][3] = {
        /* name, torch's name */
        {"mul", NULL, "tensor(2., grad_fn=<MulBackward0>)"},
        {"mul_scalar", "mul", "tensor(2., grad_fn=<MulBackward0>)"},
        {"log_softmax", NULL, "tensor(2., grad_fn=<LogSoftmaxBackward0>)"},
        {"log1p", NULL, "tensor(2., grad_fn=<Log1PBackward0>)"},
        {"exp2", NULL, "tensor(2., grad_fn=<Exp2Backward0>)"},
        {"masked_fill", NULL, "tensor(2., grad_fn=<MaskedFillBackward0>)"},
    };
    heed_tensor *t = make(HEED_F32, HEED_SCALAR, V(2));
    t->requires_grad = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const heed_op op = {.name = names[i][0], .torch = names[i][1]};
        t->op = &op;
        expect(t, none, names[i][2]);
    }
    t->op = NULL;
    t->requires_grad = false;
    heed_tensor *x = heed_set_requires_grad(heed_scalar(2, HEED_F32), true);
    expect(heed_pow_scalar(x, 2), none, "tensor(4., grad_fn=<PowBackward0>)");
}
END_TEST

/* ---- output ---- */

START_TEST(snprint_cuts_and_counts_like_snprintf)
{
    const char *whole = "tensor([0, 1])";
    heed_tensor *t = make(HEED_I64, HEED_SHAPE(2), NULL);
    ck_assert_uint_eq(heed_snprint(NULL, 0, t), strlen(whole));
    for (size_t size = 1; size <= strlen(whole) + 2; size++) {
        char text[32];
        memset(text, '#', sizeof text);
        ck_assert_uint_eq(heed_snprint(text, size, t), strlen(whole));
        size_t written = size <= strlen(whole) ? size - 1 : strlen(whole);
        ck_assert_int_eq(memcmp(text, whole, written), 0);
        ck_assert_int_eq(text[written], '\0');
        ck_assert_int_eq(text[written + 1], '#');
    }
}
END_TEST

START_TEST(print_writes_to_stdout_and_ends_the_line)
{
    char text[64] = "";
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    heed_status status = heed_print(make(HEED_BOOL, HEED_SHAPE(2), NULL));
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    ck_assert_int_eq(status, HEED_OK);
    rewind(file);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
    ck_assert_str_eq(text, "tensor([False,  True])\n");
    fclose(file);
}
END_TEST

/* ---- errors ---- */

START_TEST(errors_print_nothing)
{
    static const options refused[] = {{.precision = 18}, {.precision = -1}, {.linewidth = -1}};
    heed_tensor *t = make(HEED_I64, HEED_SHAPE(2), NULL);
    for (int i = 0; i < 3; i++) {
        char text[8] = "before";
        ck_assert_uint_eq(
            heed_snprint(text, sizeof text, t, refused[i].precision, refused[i].linewidth), 0);
        ck_assert_str_eq(text, "");
        ck_assert_int_eq(heed_print(t), HEED_ERR_VALUE); /* still pending: nothing is printed */
        ck_assert_int_eq(heed_error(), HEED_ERR_VALUE);
    }
    FILE *read_only = fopen("/dev/null", "r");
    ck_assert_int_eq(heed_fprint(read_only, t), HEED_OK); /* ferror tells */
    ck_assert(ferror(read_only) != 0);
    fclose(read_only);
}
END_TEST

void add_print_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "print");
    tcase_add_loop_test(tests, an_example_prints_as_in_torch, 0, EXAMPLES);
    tcase_add_test(tests, i64_prints_exactly);
    tcase_add_test(tests, views_print_what_they_show);
    tcase_add_test(tests, leaves_say_that_they_require_grad);
    tcase_add_test(tests, results_say_which_operation_made_them);
    tcase_add_test(tests, snprint_cuts_and_counts_like_snprintf);
    tcase_add_test(tests, print_writes_to_stdout_and_ends_the_line);
    tcase_add_test(tests, errors_print_nothing);
}
