/* Random numbers: bit for bit those of PyTorch 2.15.0 (random.h, made by make_random.py), drawn by
 * the generator, by initialisers and by the constructors of modules; and the generator itself. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/test_util.h"

/* clang-format off */
enum method {
    RAND, RANDN, MIXED, UNIFORM, NORMAL, RANDINT, RANDPERM, MULTINOMIAL, DROPOUT,
    LINEAR, LINEARS, EMBEDDING, ATTENTION, HEADS
};
/* clang-format on */
enum layout { SCALAR, FLAT, TRANSPOSED, COLUMN, PERMUTED, STEPPED, ZEROS };

#define GOLDEN(method, layout, dtype, n, a, b, first, last, sum, each)                             \
    {#method " " #layout " " #dtype " " #n " " #a " " #b,                                          \
     method,                                                                                       \
     layout,                                                                                       \
     dtype,                                                                                        \
     n,                                                                                            \
     a,                                                                                            \
     b,                                                                                            \
     first,                                                                                        \
     last,                                                                                         \
     sum,                                                                                          \
     each},
typedef struct golden {
    const char *name;
    enum method method;
    enum layout layout;
    heed_dtype dtype;
    int64_t n;
    double a, b, first, last;
    uint64_t sum;     /* over all seeds */
    const char *each; /* the first four hex digits of each seed's checksum */
} golden;
static const golden goldens[] = {
#include "tests/fixtures/random.h"
};
static const uint64_t seeds[] = {SEEDS};

enum { GOLDENS = sizeof goldens / sizeof *goldens, SEED_COUNT = sizeof seeds / sizeof *seeds };

/* ---- checksum of the numbers that a row draws ---- */

typedef struct stream {
    uint64_t sum;
    int64_t count;
    double first, last;
} stream;

static double element(const heed_tensor *t, int64_t i)
{
    const void *data = t->data;
    return t->dtype == HEED_F32   ? (double)((const float *)data)[i]
           : t->dtype == HEED_F64 ? ((const double *)data)[i]
           : t->dtype == HEED_I64 ? (double)((const int64_t *)data)[i]
                                  : (double)((const bool *)data)[i];
}

static void take(stream *s, heed_tensor *t)
{
    heed_tensor *row_by_row = heed_contiguous(t);
    ck_assert_msg(row_by_row != NULL, "%s", heed_error_message());
    s->sum = fnv(row_by_row->data, (size_t)t->numel * heed_dtype_size(t->dtype), s->sum);
    if (t->numel > 0) {
        s->first = s->count == 0 ? element(row_by_row, 0) : s->first;
        s->last = element(row_by_row, t->numel - 1);
        s->count += t->numel;
    }
}

/* ---- tensors ---- */

static heed_tensor *view(const heed_tensor *t, heed_shape shape, heed_shape strides)
{
    return heed_tensor_view("view", t, shape.ndim, shape.size, strides.size, 0);
}

static heed_tensor *target(const golden *row)
{
    const int64_t n = row->n;
    const heed_dtype dtype = row->dtype;
    switch (row->layout) {
    case TRANSPOSED:
        return view(heed_empty(HEED_SHAPE(n, 5), dtype), HEED_SHAPE(5, n), HEED_SHAPE(1, 5));
    case COLUMN:
        return view(heed_empty(HEED_SHAPE(n, 2), dtype), HEED_SHAPE(n), HEED_SHAPE(2));
    case PERMUTED:
        return view(heed_empty(HEED_SHAPE(2, 3, n), dtype), HEED_SHAPE(n, 2, 3),
                    HEED_SHAPE(1, 3 * n, n));
    case STEPPED:
        return view(heed_empty(HEED_SHAPE(2 * n, 10), dtype), HEED_SHAPE(5, n), HEED_SHAPE(2, 20));
    default:
        return heed_empty(HEED_SHAPE(n), dtype);
    }
}

static heed_tensor *probabilities(const golden *row, int64_t rows, int64_t columns)
{
    heed_tensor *p =
        heed_rand(rows > 0 ? HEED_SHAPE(rows, columns) : HEED_SHAPE(columns), row->dtype);
    return row->layout == ZEROS ? heed_relu(heed_add_scalar(p, -0.375)) : p;
}

static heed_tensor *filled(const golden *row)
{
    heed_tensor *t = target(row);
    const heed_status status = row->method == UNIFORM ? heed_uniform_into(t, row->a, row->b)
                                                      : heed_normal_into(t, row->a, row->b);
    ck_assert_int_eq(status, HEED_OK);
    return t;
}

static heed_tensor *dropped(const golden *row)
{
    heed_tensor *x = target(row);
    heed_fill_into(x, 1);
    return heed_dropout(x, row->a, row->b != 0);
}

static heed_tensor *draw_tensor(const golden *row)
{
    const heed_shape shape = row->layout == SCALAR ? HEED_SCALAR : HEED_SHAPE(row->n);
    const int64_t a = (int64_t)row->a, b = (int64_t)row->b;
    switch (row->method) {
    case RAND:
        return heed_rand(shape, row->dtype);
    case RANDN:
        return heed_randn(shape, row->dtype);
    case RANDINT:
        return heed_randint(a, b, shape);
    case RANDPERM:
        return heed_randperm(row->n);
    case MULTINOMIAL:
        return heed_multinomial(probabilities(row, b, a), row->n);
    case DROPOUT:
        return dropped(row);
    default:
        return filled(row);
    }
}

/* The second number of a normal pair stays cached across rand and blocks of 16. */
static void take_mixed(stream *s, const golden *row)
{
    take(s, heed_randn(HEED_SHAPE(row->n), row->dtype));
    take(s, heed_rand(HEED_SHAPE(2), row->dtype));
    take(s, heed_randn(HEED_SHAPE(3), row->dtype));
    take(s, heed_randn(HEED_SHAPE(16), row->dtype));
    take(s, heed_randn(HEED_SHAPE(1), row->dtype));
}

/* ---- modules ---- */

static void *new_module(const golden *row)
{
    const int64_t n = row->n, a = (int64_t)row->a;
    switch (row->method) {
    case LINEAR:
        return heed_linear_new(a, n, .no_bias = row->b == 0);
    case EMBEDDING:
        return heed_embedding_new(n, a);
    case ATTENTION:
        return heed_self_attention_new(n, 0, 1);
    default:
        return heed_multi_head_new(n, (int)a, 0, 1);
    }
}

static void take_parameters(stream *s, const golden *row)
{
    void *m = new_module(row);
    const heed_tensor_list list = heed_parameters(m);
    ck_assert_int_gt(list.count, 0);
    for (int i = 0; i < list.count; i++) {
        take(s, list.tensors[i]);
    }
    heed_module_free(m);
}

/* For each fan_in from 1 to n the first and last weight and the bias, to check the bounds. */
static void take_linears(stream *s, int64_t n)
{
    for (int64_t fan_in = 1; fan_in <= n; fan_in++) {
        heed_scope layer;
        heed_scope_begin(&layer);
        struct heed_linear *m = heed_linear_new(fan_in, 1);
        ck_assert_ptr_nonnull(m);
        take(s, heed_narrow(m->weight, 1, 0, 1));
        take(s, heed_narrow(m->weight, 1, fan_in - 1, 1));
        take(s, m->bias);
        heed_module_free(m);
        ck_assert_int_eq(heed_scope_end(&layer), HEED_OK);
    }
}

static void take_row(stream *s, const golden *row)
{
    switch (row->method) {
    case MIXED:
        take_mixed(s, row);
        break;
    case LINEARS:
        take_linears(s, row->n);
        break;
    case LINEAR:
    case EMBEDDING:
    case ATTENTION:
    case HEADS:
        take_parameters(s, row);
        break;
    default:
        take(s, draw_tensor(row));
    }
}

/* ---- the comparison ---- */

/* Must the bits match here? Doubles that depend on libm's log, sin and cos are glibc's on x86. */
static bool exact_here(const golden *row)
{
#if defined __GLIBC__ && defined __x86_64__
    (void)row;
    return true;
#else
    switch (row->method) {
    case RANDN:
    case MIXED:
    case NORMAL:
    case EMBEDDING:
        return row->dtype == HEED_F32;
    default:
        return true;
    }
#endif
}

static void check_ends(const golden *row, const stream *s)
{
    const double allowed = exact_here(row) ? 0.0 : 1e-14;
    ck_assert_msg(fabs(s->first - row->first) <= allowed, "%s: first %a, not %a", row->name,
                  s->first, row->first);
    ck_assert_msg(fabs(s->last - row->last) <= allowed, "%s: last %a, not %a", row->name, s->last,
                  row->last);
}

/* The checksum of the numbers that the row draws with this seed. */
static uint64_t sum_of_seed(const golden *row, uint64_t seed)
{
    heed_scope inner;
    heed_scope_begin(&inner);
    heed_manual_seed(seed);
    stream s = {.sum = FNV_BASIS};
    take_row(&s, row);
    if (seed == 42 && s.count > 0) {
        check_ends(row, &s);
    }
    take(&s, heed_randint(0, 1 << 27, HEED_SHAPE(1))); /* the generator's position */
    ck_assert_int_eq(heed_scope_end(&inner), HEED_OK);
    return s.sum;
}

START_TEST(numbers_are_those_of_torch)
{
    const golden *row = &goldens[_i];
    const char *each = row->each;
    const bool exact = exact_here(row);
    uint64_t all = FNV_BASIS;
    for (int i = 0; i < SEED_COUNT; i++) {
        if (row->method == LINEARS && seeds[i] != 42) {
            continue; /* it draws 8 million numbers: one seed is enough */
        }
        const uint64_t sum = sum_of_seed(row, seeds[i]);
        char digits[5];
        snprintf(digits, sizeof digits, "%04x", (unsigned)(sum >> 48));
        ck_assert_msg(strncmp(digits, each, 4) == 0 || !exact, "%s: seed %lld differs", row->name,
                      (long long)seeds[i]);
        each += 4;
        all = fnv(&sum, sizeof sum, all);
    }
    ck_assert_msg(*each == '\0', "%s: the fixture has more seeds", row->name);
    ck_assert_msg(all == row->sum || !exact, "%s: %016llx", row->name, (unsigned long long)all);
}
END_TEST

/* ---- distributions ---- */

static bool same_generator(const heed_generator *a, const heed_generator *b)
{
    return memcmp(a->state, b->state, sizeof a->state) == 0 && a->next == b->next &&
           a->has_normal == b->has_normal && (!a->has_normal || a->normal == b->normal);
}

START_TEST(nothing_is_drawn_for_an_empty_tensor)
{
    heed_manual_seed(1);
    const heed_generator before = heed_get_generator();
    const heed_shape none = HEED_SHAPE(3, 0, 2);
    ck_assert_int_eq(heed_rand(none, HEED_F32)->numel, 0);
    ck_assert_int_eq(heed_randn(none, HEED_F64)->numel, 0);
    ck_assert_int_eq(heed_randint(0, 5, none)->numel, 0);
    ck_assert_int_eq(heed_randperm(0)->numel, 0);
    ck_assert_int_eq(heed_randperm(1)->numel, 1);
    heed_tensor *t = heed_empty(none, HEED_F32);
    ck_assert_int_eq(heed_uniform_into(t, 0, 1), HEED_OK);
    ck_assert_int_eq(heed_normal_into(t, 0, 1), HEED_OK);
    expect_shape(heed_multinomial(heed_empty(HEED_SHAPE(0, 4), HEED_F32), 2), HEED_SHAPE(0, 2));
    const heed_generator after = heed_get_generator();
    ck_assert(same_generator(&before, &after));
}
END_TEST

START_TEST(numbers_stay_in_their_range)
{
    heed_tensor *t = heed_randint(INT64_MIN, INT64_MAX, HEED_SHAPE(1000));
    int64_t below = 0;
    for (int64_t i = 0; i < t->numel; i++) {
        ck_assert_int_lt(heed_const_data_i64(t)[i], INT64_MAX);
        below += heed_const_data_i64(t)[i] < 0;
    }
    ck_assert(below > 400 && below < 600);
    ck_assert_int_eq(heed_item_i64(heed_randint(INT64_MAX - 1, INT64_MAX, HEED_SHAPE(1))),
                     INT64_MAX - 1);
    ck_assert_int_eq(heed_item_i64(heed_randint(INT64_MIN, INT64_MIN + 1, HEED_SHAPE(1))),
                     INT64_MIN);
    t = heed_empty(HEED_SHAPE(3), HEED_F32);
    heed_uniform_into(t, 2, 2);
    EXPECT_VALUES(t, 0, 2, 2, 2);
    heed_normal_into(t, -3, 0);
    EXPECT_VALUES(t, 0, -3, -3, -3);
}
END_TEST

/* Categories of probability 0 are never drawn, even if the others are tiny or all drawn. */
START_TEST(what_has_no_probability_is_never_drawn)
{
    heed_tensor *p = heed_from_f64((double[]){0, 1, 0, 1e-300, 0, 5e299, 0, 0}, HEED_SHAPE(8));
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(heed_item_i64(heed_multinomial(p, 1)), 5);
        EXPECT_VALUES(heed_multinomial(p, 3), 0, 5, 1, 3);
    }
}
END_TEST

/* Without replacement, categories are drawn in the order of p / q, where q is exponential. In f32,
 * some of these ratios are equal; then the lower category comes first. */
START_TEST(equal_categories_come_in_order)
{
    enum { N = 20000 };
    heed_manual_seed(5);
    const double *u = heed_const_data_f64(heed_rand(HEED_SHAPE(N), HEED_F64));
    heed_manual_seed(5);
    const int64_t *drawn =
        heed_const_data_i64(heed_multinomial(heed_ones(HEED_SHAPE(N), HEED_F32), N));
    int equal = 0;
    for (int i = 1; i < N; i++) {
        const float fast = (float)(1 / (double)(float)-log1p(-u[drawn[i - 1]]));
        const float slow = (float)(1 / (double)(float)-log1p(-u[drawn[i]]));
        ck_assert(fast > slow || (fast == slow && drawn[i - 1] < drawn[i]));
        equal += fast == slow;
    }
    ck_assert_int_gt(equal, 0);
}
END_TEST

#define EXPECT_REFUSED(call, status, words)                                                        \
    (void)(call);                                                                                  \
    expect_error(status, words)

/* More than tests/misuse/tensor.def has; none of them draws. */
START_TEST(ranges_without_numbers_are_refused)
{
    const heed_generator before = heed_get_generator();
    heed_tensor *t = heed_zeros(HEED_SHAPE(2), HEED_F32), *d = heed_zeros(HEED_SHAPE(2), HEED_F64);
    const double nan = (double)NAN, inf = (double)INFINITY;
    EXPECT_REFUSED(heed_randn(HEED_SHAPE(2), HEED_BOOL), HEED_ERR_DTYPE, "randn: dtype bool");
    EXPECT_REFUSED(heed_rand(HEED_SHAPE(2), (heed_dtype)17), HEED_ERR_DTYPE, "rand: ");
    EXPECT_REFUSED(heed_uniform_into(heed_zeros(HEED_SHAPE(2), HEED_I64), 0, 1), HEED_ERR_DTYPE,
                   "uniform_into: t, i64 of shape (2), must be f32");
    EXPECT_REFUSED(heed_uniform_into(t, nan, 0), HEED_ERR_VALUE, "uniform_into: from nan");
    EXPECT_REFUSED(heed_uniform_into(t, 0, inf), HEED_ERR_VALUE, "uniform_into: from 0");
    EXPECT_REFUSED(heed_uniform_into(t, 0, 1e39), HEED_ERR_VALUE, "in f32");
    EXPECT_REFUSED(heed_uniform_into(t, -3e38, 3e38), HEED_ERR_VALUE, "high - low must be finite");
    EXPECT_REFUSED(heed_uniform_into(d, -1e308, 1e308), HEED_ERR_VALUE, "in f64");
    EXPECT_REFUSED(heed_normal_into(t, 0, nan), HEED_ERR_VALUE, "std nan");
    EXPECT_REFUSED(heed_normal_into(d, inf, 1), HEED_ERR_VALUE, "mean inf");
    EXPECT_REFUSED(heed_randint(0, 1, HEED_SHAPE(INT64_MAX, 2)), HEED_ERR_OVERFLOW, "randint: ");
    EXPECT_REFUSED(heed_randperm(INT64_MAX), HEED_ERR_OVERFLOW, "randperm: ");
    const heed_generator after = heed_get_generator();
    ck_assert(same_generator(&before, &after));
    ck_assert_int_eq(heed_uniform_into(d, 0, 1e39), HEED_OK);
}
END_TEST

/* ---- the generator ---- */

static void *draw_first(void *out)
{
    HEED_SCOPE(inner);
    heed_copy_out(heed_rand(HEED_SHAPE(2), HEED_F32), out, 2);
    return NULL;
}

START_TEST(unseeded_it_is_a_fresh_torch_generator)
{
    static const float expected[] = {0x1.11b5d8p-2f, 0x1.bebc08p-1f};
    static const heed_generator unseeded = {.seeded = false};
    float numbers[2];
    pthread_t thread;
    heed_manual_seed(1);
    const heed_generator before = heed_get_generator();
    ck_assert_int_eq(pthread_create(&thread, NULL, draw_first, numbers), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_mem_eq(numbers, expected, sizeof expected);
    const heed_generator after = heed_get_generator(); /* each thread has one of its own */
    ck_assert(same_generator(&before, &after));
    ck_assert_int_eq(heed_set_generator(&unseeded), HEED_OK);
    draw_first(numbers);
    ck_assert_mem_eq(numbers, expected, sizeof expected);
    heed_manual_seed(67280421310721);
    draw_first(numbers);
    ck_assert_mem_eq(numbers, expected, sizeof expected);
}
END_TEST

START_TEST(a_saved_generator_goes_on_where_it_was)
{
    heed_manual_seed(3);
    heed_randn(HEED_SHAPE(701), HEED_F32);
    heed_randn(HEED_SHAPE(3), HEED_F32);
    heed_generator saved = heed_get_generator();
    ck_assert(saved.has_normal);
    heed_tensor *first = heed_randn(HEED_SHAPE(4, 5), HEED_F32);
    heed_manual_seed(4);
    ck_assert(!heed_get_generator().has_normal);
    ck_assert_int_eq(heed_set_generator(&saved), HEED_OK);
    expect_same_bits(heed_randn(HEED_SHAPE(4, 5), HEED_F32), first);
    static const int outside[] = {625, -1};
    for (int i = 0; i < 2; i++) {
        saved.next = outside[i];
        ck_assert_int_eq(heed_set_generator(&saved), HEED_ERR_VALUE);
        expect_error(HEED_ERR_VALUE, "set_generator: not a value");
    }
}
END_TEST

void add_random_numbers_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "random_numbers");
    tcase_add_loop_test(tests, numbers_are_those_of_torch, 0, GOLDENS);
    tcase_add_test(tests, nothing_is_drawn_for_an_empty_tensor);
    tcase_add_test(tests, numbers_stay_in_their_range);
    tcase_add_test(tests, what_has_no_probability_is_never_drawn);
    tcase_add_test(tests, equal_categories_come_in_order);
    tcase_add_test(tests, ranges_without_numbers_are_refused);
    tcase_add_test(tests, unseeded_it_is_a_fresh_torch_generator);
    tcase_add_test(tests, a_saved_generator_goes_on_where_it_was);
}
