/* Random numbers: bit for bit those of PyTorch 1.13.1 and 2.15.0 (random.h, which
 * make_random.py made), and the generator behind them. */
#include "tensor/random.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "random_util.h"
#include "test_util.h"

Suite *random_suite(void);

/* ---- the table ---- */

/* clang-format off */
enum method {
    RAND, RANDN, MIXED, RAND_LIKE, RANDN_LIKE, UNIFORM, NORMAL, BERNOULLI_INTO, BERNOULLI, RANDINT,
    RANDPERM
};
/* clang-format on */
enum layout { SCALAR, FLAT, TRANSPOSED, COLUMN, PERMUTED, STEPPED, EXPANDED, TIED };
enum { FLAVORS = 4, MOST = 2048 };

#define ALIKE(method, layout, dtype, n, a, b, first, last, sum)                                    \
    APART(method, layout, dtype, n, a, b, first, last, sum, sum, sum, sum)
/* clang-format off */
#define APART(method, layout, dtype, n, a, b, first, last, ...) \
    {#method " " #layout " " #dtype " " #n, method, layout, dtype, n, a, b, first, last, \
     {__VA_ARGS__}},
/* clang-format on */
static const struct golden {
    const char *name;
    enum method method;
    enum layout layout;
    heed_dtype dtype;
    int64_t n;
    double a, b, first, last;
    uint64_t sum[FLAVORS];
} goldens[] = {
#include "tests/fixtures/random.h"
};
static const uint64_t seeds[] = {SEEDS};

enum { GOLDENS = sizeof goldens / sizeof *goldens, SEED_COUNT = sizeof seeds / sizeof *seeds };

static heed_tensor *target(enum layout layout, heed_dtype dtype, int64_t n)
{
    switch (layout) {
    case SCALAR:
        return heed_empty(HEED_SCALAR, dtype);
    case FLAT:
        return heed_empty(HEED_SHAPE(n), dtype);
    case TRANSPOSED:
        return view(heed_empty(HEED_SHAPE(n, 5), dtype), HEED_SHAPE(5, n), HEED_SHAPE(1, 5));
    case COLUMN:
        return view(heed_empty(HEED_SHAPE(n, 2), dtype), HEED_SHAPE(n), HEED_SHAPE(2));
    case PERMUTED:
        return view(heed_empty(HEED_SHAPE(2, 3, n), dtype), HEED_SHAPE(n, 2, 3),
                    HEED_SHAPE(1, 3 * n, n));
    case STEPPED:
        return view(heed_empty(HEED_SHAPE(2 * n, 10), dtype), HEED_SHAPE(5, n), HEED_SHAPE(2, 20));
    case EXPANDED:
        return view(heed_empty(HEED_SHAPE(3 * n), dtype), HEED_SHAPE(n, 5, 3), HEED_SHAPE(1, 0, n));
    case TIED:
        return view(heed_empty(HEED_SHAPE(n + 2), dtype), HEED_SHAPE(3, n), HEED_SHAPE(1, 1));
    }
    return NULL;
}

static heed_tensor *probabilities(enum layout layout, heed_dtype dtype, int64_t n)
{
    heed_tensor *p = heed_rand(HEED_SHAPE(n, 5), dtype);
    return layout == TRANSPOSED ? view(p, HEED_SHAPE(5, n), HEED_SHAPE(1, 5)) : p;
}

static heed_tensor *draw(const struct golden *row)
{
    heed_shape shape = row->layout == SCALAR ? HEED_SCALAR : HEED_SHAPE(row->n);
    heed_tensor *t = NULL;
    switch (row->method) {
    case RAND:
        return heed_rand(shape, row->dtype);
    case RANDN:
    case MIXED:
        return heed_randn(shape, row->dtype);
    case RAND_LIKE:
        return heed_rand_like(target(row->layout, row->dtype, row->n));
    case RANDN_LIKE:
        return heed_randn_like(target(row->layout, row->dtype, row->n));
    case UNIFORM:
        t = target(row->layout, row->dtype, row->n);
        ck_assert_int_eq(heed_uniform_into(t, row->a, row->b), HEED_OK);
        return t;
    case NORMAL:
        t = target(row->layout, row->dtype, row->n);
        ck_assert_int_eq(heed_normal_into(t, row->a, row->b), HEED_OK);
        return t;
    case BERNOULLI_INTO:
        t = target(row->layout, row->dtype, row->n);
        ck_assert_int_eq(heed_bernoulli_into(t, row->a), HEED_OK);
        return t;
    case BERNOULLI:
        return heed_bernoulli(probabilities(row->layout, row->dtype, row->n));
    case RANDINT:
        return heed_randint((int64_t)row->a, (int64_t)row->b, shape);
    case RANDPERM:
        return heed_randperm(row->n);
    }
    return NULL;
}

typedef union elements {
    float f32[MOST];
    double f64[MOST];
    int64_t i64[MOST];
    bool boolean[MOST];
    unsigned char bytes[MOST * sizeof(double)];
} elements;

static int64_t append(elements *all, int64_t count, const heed_tensor *t)
{
    ck_assert_ptr_nonnull(t);
    ck_assert_int_le(count + t->numel, MOST);
    size_t at = (size_t)count * heed_dtype_size(t->dtype);
    ck_assert_int_eq(heed_copy_out(t, all->bytes + at, t->numel), HEED_OK);
    return count + t->numel;
}

/* What a row draws, element by element in logical order. */
static int64_t draw_elements(const struct golden *row, elements *all)
{
    int64_t count = append(all, 0, draw(row));
    if (row->method == MIXED) { /* the second of a pair waits across rand and blocks of 16 */
        count = append(all, count, heed_rand(HEED_SHAPE(2), row->dtype));
        count = append(all, count, heed_randn(HEED_SHAPE(3), row->dtype));
        count = append(all, count, heed_randn(HEED_SHAPE(16), row->dtype));
        count = append(all, count, heed_randn(HEED_SHAPE(1), row->dtype));
    }
    return count;
}

static double element(const elements *all, heed_dtype dtype, int64_t i)
{
    return dtype == HEED_F32   ? (double)all->f32[i]
           : dtype == HEED_F64 ? all->f64[i]
           : dtype == HEED_I64 ? (double)all->i64[i]
                               : (double)all->boolean[i];
}

/* Do the last bits depend on libm's logarithm, sine and cosine? They are glibc's. */
static bool exact_here(const struct golden *row, heed_random_flavor flavor)
{
#if defined __GLIBC__ && defined __x86_64__
    (void)row, (void)flavor;
    return true;
#else
    bool plain = flavor == HEED_RANDOM_TORCH_1_PLAIN || flavor == HEED_RANDOM_TORCH_2_PLAIN;
    bool normal = row->method == RANDN || row->method == MIXED || row->method == NORMAL;
    return !normal || (row->dtype == HEED_F32 && !plain);
#endif
}

static void check_golden(const struct golden *row, heed_random_flavor flavor)
{
    static elements all;
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    ck_assert_int_eq(heed_set_random_flavor(flavor), HEED_OK);
    for (int i = 0; i < SEED_COUNT; i++) {
        heed_scope inner;
        heed_scope_begin(&inner);
        heed_manual_seed(seeds[i]);
        int64_t count = draw_elements(row, &all);
        sum = fnv(all.bytes, (size_t)count * heed_dtype_size(row->dtype), sum);
        if (seeds[i] == 42 && count > 0 && flavor == HEED_RANDOM_TORCH_1) {
            double first = element(&all, row->dtype, 0);
            double last = element(&all, row->dtype, count - 1);
            double allowed = exact_here(row, flavor) ? 0.0 : 1e-14;
            ck_assert_msg(fabs(first - row->first) <= allowed, "%s: first %a, not %a", row->name,
                          first, row->first);
            ck_assert_msg(fabs(last - row->last) <= allowed, "%s: last %a, not %a", row->name, last,
                          row->last);
        }
        ck_assert_int_eq(heed_scope_end(&inner), HEED_OK);
    }
    ck_assert_msg(sum == row->sum[flavor] || !exact_here(row, flavor), "%s: flavor %d: %016llx",
                  row->name, (int)flavor, (unsigned long long)sum);
}

START_TEST(numbers_are_those_of_torch)
{
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        check_golden(&goldens[_i], (heed_random_flavor)flavor);
    }
}
END_TEST

/* The same once more where one can read it. */
START_TEST(seed_42_gives_what_torch_prints)
{
    heed_manual_seed(42);
    EXPECT_F32(heed_rand(HEED_SHAPE(4), HEED_F32), 0x1.c3b8ccp-1f, 0x1.d47b66p-1f, 0x1.880d70p-2f,
               0x1.eb2a1cp-1f);
    heed_manual_seed(42);
    EXPECT_F32(heed_randn(HEED_SHAPE(4), HEED_F32), 0x1.58c55cp-2f, 0x1.07cd3ap-3f, 0x1.e02dcep-3f,
               0x1.d7b8d8p-3f);
    heed_manual_seed(42);
    heed_tensor *t = heed_randn(HEED_SHAPE(2, 8), HEED_F32);
    EXPECT_F32(view(t, HEED_SHAPE(8), HEED_SHAPE(1)), 0x1.ed4a52p+0f, 0x1.7cbea6p+0f,
               0x1.cd2acep-1f, -0x1.0d81b6p+1f, 0x1.5b59aap-1f, -0x1.3c0b22p+0f, -0x1.60cf0cp-5f,
               -0x1.9acb74p+0f);
    heed_manual_seed(42);
    EXPECT_I64(heed_randperm(10), 2, 6, 1, 8, 4, 5, 0, 9, 3, 7);
    heed_manual_seed(42);
    EXPECT_I64(heed_randint(0, 100, HEED_SHAPE(10)), 42, 67, 76, 14, 26, 35, 20, 24, 50, 13);
    heed_manual_seed(42);
    t = heed_empty(HEED_SHAPE(10), HEED_I64);
    heed_bernoulli_into(t, 0.5);
    EXPECT_I64(t, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1);
}
END_TEST

/* ---- the generator ---- */

static void *draw_first(void *out)
{
    heed_scope inner;
    heed_scope_begin(&inner);
    heed_copy_out(heed_rand(HEED_SHAPE(2), HEED_F32), out, 2);
    heed_scope_end(&inner);
    return NULL;
}

START_TEST(unseeded_it_is_a_fresh_torch_generator)
{
    static const float expected[] = {0x1.11b5d8p-2f, 0x1.bebc08p-1f};
    float numbers[2];
    pthread_t thread;
    heed_manual_seed(1);
    ck_assert_int_eq(pthread_create(&thread, NULL, draw_first, numbers), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_mem_eq(numbers, expected, sizeof expected);
    ck_assert_int_eq(heed_set_generator(&unseeded), HEED_OK);
    draw_first(numbers);
    ck_assert_mem_eq(numbers, expected, sizeof expected);
    heed_manual_seed(67280421310721);
    draw_first(numbers);
    ck_assert_mem_eq(numbers, expected, sizeof expected);
}
END_TEST

START_TEST(only_the_lower_half_of_a_seed_counts)
{
    heed_manual_seed(UINT64_C(42) << 32 | 7);
    heed_generator a = heed_get_generator();
    heed_manual_seed(7);
    heed_generator b = heed_get_generator();
    ck_assert(same_generator(&a, &b));
}
END_TEST

START_TEST(a_saved_generator_goes_on_where_it_was)
{
    heed_manual_seed(3);
    heed_set_random_flavor(HEED_RANDOM_TORCH_2_PLAIN);
    heed_randn(HEED_SHAPE(701), HEED_F32);
    heed_randn(HEED_SHAPE(3), HEED_F32);
    heed_generator saved = heed_get_generator();
    ck_assert(saved.has_normal);
    float first[20], second[20];
    heed_copy_out(heed_randn(HEED_SHAPE(4, 5), HEED_F32), first, 20);
    heed_manual_seed(4);
    ck_assert(!heed_get_generator().has_normal);
    heed_set_random_flavor(HEED_RANDOM_TORCH_1);
    ck_assert_int_eq(heed_set_generator(&saved), HEED_OK);
    heed_copy_out(heed_randn(HEED_SHAPE(4, 5), HEED_F32), second, 20);
    ck_assert_mem_eq(first, second, sizeof first);
}
END_TEST

START_TEST(what_is_no_generator_is_refused)
{
    heed_generator g = heed_get_generator();
    EXPECT_ERROR(heed_set_generator(NULL), HEED_ERR_NULL, "set_generator: generator is NULL");
    g.next = 625;
    EXPECT_ERROR(heed_set_generator(&g), HEED_ERR_VALUE, "set_generator: next is 625");
    g.next = -1;
    EXPECT_ERROR(heed_set_generator(&g), HEED_ERR_VALUE, "set_generator: next is -1");
    g.next = 0;
    g.flavor = (heed_random_flavor)9;
    EXPECT_ERROR(heed_set_generator(&g), HEED_ERR_VALUE, "flavor 9");
    EXPECT_ERROR(heed_set_random_flavor((heed_random_flavor)4), HEED_ERR_VALUE, "4 is no flavor");
}
END_TEST

static void *draw_in_thread(void *out)
{
    heed_scope inner;
    heed_scope_begin(&inner);
    heed_manual_seed(11);
    for (int i = 0; i < 50; i++) {
        heed_copy_out(heed_randn(HEED_SHAPE(20), HEED_F32), (float *)out + (ptrdiff_t)20 * i, 20);
    }
    heed_scope_end(&inner);
    return NULL;
}

START_TEST(each_thread_has_a_generator_of_its_own)
{
    static float numbers[3][1000];
    pthread_t threads[2];
    heed_manual_seed(5);
    heed_generator before = heed_get_generator();
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, draw_in_thread, numbers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
    heed_generator after = heed_get_generator();
    ck_assert(same_generator(&before, &after));
    draw_in_thread(numbers[2]);
    ck_assert_mem_eq(numbers[0], numbers[1], sizeof numbers[0]);
    ck_assert_mem_eq(numbers[0], numbers[2], sizeof numbers[0]);
}
END_TEST

Suite *random_suite(void)
{
    Suite *suite = suite_create("random");
    TCase *tests = tcase_create("random");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, numbers_are_those_of_torch, 0, GOLDENS);
    tcase_add_test(tests, seed_42_gives_what_torch_prints);
    tcase_add_test(tests, unseeded_it_is_a_fresh_torch_generator);
    tcase_add_test(tests, only_the_lower_half_of_a_seed_counts);
    tcase_add_test(tests, a_saved_generator_goes_on_where_it_was);
    tcase_add_test(tests, what_is_no_generator_is_refused);
    tcase_add_test(tests, each_thread_has_a_generator_of_its_own);
    suite_add_tcase(suite, tests);
    return suite;
}
