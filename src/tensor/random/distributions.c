/* Tensors like another, integers in a range, permutations, and Bernoulli, exponential and
 * multinomial draws; uniform_normal.c has the numbers that initialise models.
 *
 * Everything that can fail comes before the first draw, so a failing call leaves the generator
 * unchanged. */
#include <float.h>
#include <math.h>

#include "../blocks.h"
#include "../check.h"
#include "../elements.h"
#include "../handle.h"
#include "../read.h"
#include "../shape.h"
#include "generator.h"

/* ---- the layout of another tensor ---- */

/* torch's result has the memory layout of x and is filled in memory order. Ours is contiguous:
 * numbers are drawn into memory laid out like torch's, then copied. Reads only the shape, strides
 * and dtype of x, whose value may have been freed. */
static heed_tensor *draw_like(const char *function, const heed_tensor *x, bool is_normal)
{
    if (heed_blocked() || heed_check_scope(function) != HEED_OK) {
        return NULL;
    }
    if (x == NULL) {
        heed_fail(HEED_ERR_NULL, "%s: x is NULL", function);
        return NULL;
    }
    if (!heed_is_float(x->dtype)) {
        heed_fail(HEED_ERR_DTYPE, "%s: x is %s; it must be f32 or f64; cast it with heed_to",
                  function, heed_dtype_name(x->dtype));
        return NULL;
    }
    if (heed_is_row_major(x)) {
        return heed_draw_standard(function, heed_shape_of_tensor(x), x->dtype, is_normal);
    }
    heed_tensor *y = heed_tensor_create(function, heed_shape_of_tensor(x), x->dtype);
    heed_tensor *drawn = y != NULL ? heed_tensor_like(NULL, y) : NULL;
    if (drawn == NULL) {
        return NULL;
    }
    heed_dense_strides(x, drawn->strides);
    heed_fill_standard(drawn, is_normal);
    heed_copy_elements(drawn, y);
    heed_unref(drawn);
    return y;
}

heed_tensor *heed_rand_like(const heed_tensor *x)
{
    return draw_like("rand_like", x, false);
}

heed_tensor *heed_randn_like(const heed_tensor *x)
{
    return draw_like("randn_like", x, true);
}

/* ---- integers ---- */

/* Checks that the dtype can represent every integer in [low, high). */
static heed_status check_range(int64_t low, int64_t high, heed_dtype dtype)
{
    if (low >= high) {
        return heed_fail(HEED_ERR_VALUE,
                         "randint: low %lld is not below high %lld; high is exclusive",
                         (long long)low, (long long)high);
    }
    const int64_t most = dtype == HEED_BOOL  ? 1
                         : dtype == HEED_F32 ? (int64_t)1 << 24
                         : dtype == HEED_F64 ? (int64_t)1 << 53
                                             : INT64_MAX;
    if (dtype != HEED_I64 && (low < (dtype == HEED_BOOL ? 0 : -most) || high - 1 > most)) {
        return heed_fail(HEED_ERR_VALUE,
                         "randint: %s cannot hold all integers from %lld to %lld; draw them "
                         "as i64",
                         heed_dtype_name(dtype), (long long)low, (long long)(high - 1));
    }
    return HEED_OK;
}

heed_tensor *heed_randint(int64_t low, int64_t high, heed_shape shape, heed_dtype dtype)
{
    if (heed_blocked() || check_range(low, high, dtype) != HEED_OK) {
        return NULL;
    }
    heed_tensor *t = heed_tensor_create("randint", shape, dtype);
    if (t == NULL) {
        return NULL;
    }
    heed_generator *g = heed_generator_of_thread();
    /* Draws one word, or two if the remainder of one would be too biased; torch 2 switches to two
     * at a smaller range. */
    const uint64_t range = (uint64_t)high - (uint64_t)low;
    const bool is_wide = range >> (heed_random_torch_2(g) ? 28 : 32) != 0;
    for (int64_t i = 0; i < t->numel; i++) {
        const uint64_t drawn = is_wide ? heed_draw_u64(g) : heed_draw_u32(g);
        const int64_t number = (int64_t)(drawn % range + (uint64_t)low);
        if (dtype == HEED_I64) {
            ((int64_t *)t->data)[i] = number;
        } else {
            heed_set_number_at(t, i, (double)number); /* exact, see check_range */
        }
    }
    return t;
}

heed_tensor *heed_randperm(int64_t n)
{
    if (heed_blocked()) {
        return NULL;
    }
    if (n < 0) {
        heed_fail(HEED_ERR_VALUE, "randperm: n is %lld; it must be 0 or more", (long long)n);
        return NULL;
    }
    heed_tensor *t = heed_tensor_create("randperm", HEED_SHAPE(n), HEED_I64);
    if (t == NULL) {
        return NULL;
    }
    heed_generator *g = heed_generator_of_thread();
    int64_t *to = t->data;
    if (n >= UINT32_MAX / 20 && heed_random_torch_2(g)) {
        /* Draws two words per number and puts it at a random position among the numbers so far. */
        for (int64_t i = 0; i < n; i++) {
            const int64_t j = (int64_t)(heed_draw_u64(g) % (uint64_t)(i + 1));
            to[i] = to[j];
            to[j] = i;
        }
        return t;
    }
    for (int64_t i = 0; i < n; i++) {
        to[i] = i;
    }
    /* One word per number, even if n exceeds 2^32. */
    for (int64_t i = 0; i < n - 1; i++) {
        const int64_t j = i + (int64_t)(heed_draw_u32(g) % (uint64_t)(n - i)), moved = to[i];
        to[i] = to[j];
        to[j] = moved;
    }
    return t;
}

/* ---- Bernoulli ---- */

heed_tensor *heed_bernoulli(const heed_tensor *p)
{
    if (heed_blocked() || heed_check_tensor("bernoulli", "p", p) != HEED_OK ||
        heed_check_random_dtype("bernoulli", p->dtype) != HEED_OK) {
        return NULL;
    }
    heed_tensor *t = heed_tensor_create("bernoulli", heed_shape_of_tensor(p), p->dtype);
    if (t == NULL) {
        return NULL;
    }
    heed_copy_elements(p, t);
    for (int64_t i = 0; i < t->numel; i++) {
        const double value = heed_number_at(t, i);
        if (!(value >= 0.0 && value <= 1.0)) { /* true for NaN */
            heed_fail(HEED_ERR_VALUE,
                      "bernoulli: element %lld of p %s is %g, which is outside [0, 1]; apply "
                      "heed_sigmoid to scores",
                      (long long)i, HEED_TEXT(p), value);
            return NULL;
        }
    }
    /* torch draws one word per element of an f32 tensor p, but two if p is a single number. */
    heed_generator *g = heed_generator_of_thread();
    for (int64_t i = 0; i < t->numel; i++) {
        const double drawn = t->dtype == HEED_F32 ? (double)heed_draw_f32(g) : heed_draw_f64(g);
        heed_set_number_at(t, i, drawn < heed_number_at(t, i));
    }
    return t;
}

/* The fraction drawn is below a if its 53 bits are below a * 2^53. This comparison needs no floats,
 * and is vectorised a block at a time. */
enum { DRAWS = 256 };

#define BERNOULLI(dtype, type)                                                                     \
    void heed_fill_bernoulli_##dtype(heed_generator *g, void *out, int64_t count, int64_t step,    \
                                     double a, double b)                                           \
    {                                                                                              \
        type *to = out;                                                                            \
        const type value[2] = {0, (type)b}; /* a branch would be mispredicted */                   \
        const int64_t limit = (int64_t)ceil(a * 0x1p53);                                           \
        uint32_t words[2 * DRAWS];                                                                 \
        for (int64_t start = 0; start < count; start += DRAWS, to += step * DRAWS) {               \
            const int part = count - start < DRAWS ? (int)(count - start) : DRAWS;                 \
            heed_draw_words(g, words, 2 * part);                                                   \
            for (int i = 0; i < part; i++) {                                                       \
                const uint32_t upper = words[2 * i] & 0x1fffffu, lower = words[2 * i + 1];         \
                to[i * step] = value[((int64_t)upper << 32 | lower) < limit];                      \
            }                                                                                      \
        }                                                                                          \
    }

BERNOULLI(f32, float)
BERNOULLI(f64, double)
BERNOULLI(i64, int64_t)
BERNOULLI(bool, bool)

static heed_random_fills bernoulli = {[HEED_F32] = heed_fill_bernoulli_f32,
                                      [HEED_F64] = heed_fill_bernoulli_f64,
                                      [HEED_I64] = heed_fill_bernoulli_i64,
                                      [HEED_BOOL] = heed_fill_bernoulli_bool};

heed_status heed_bernoulli_into(heed_tensor *t, double p)
{
    if (heed_blocked() || heed_check_random_target("bernoulli_into", t, bernoulli) != HEED_OK) {
        return heed_self.error;
    }
    if (!(p >= 0.0 && p <= 1.0)) {
        return heed_fail(HEED_ERR_VALUE,
                         "bernoulli_into: p is %g, which is outside [0, 1]; it is the probability "
                         "of a 1: for dropout, 1 minus the dropout rate",
                         p);
    }
    heed_raise_version(t);
    heed_fill_random(t, bernoulli[t->dtype], p, 1.0);
    return HEED_OK;
}

/* ---- exponential ---- */

/* torch computes in double even for a float target, and rounds at the end. */
#define EXPONENTIAL(dtype, type)                                                                   \
    static void fill_exponential_##dtype(heed_generator *g, void *out, int64_t count,              \
                                         int64_t step, double a, double b)                         \
    {                                                                                              \
        type *to = out;                                                                            \
        (void)b;                                                                                   \
        for (int64_t i = 0; i < count; i++) {                                                      \
            to[i * step] = (type)(-1.0 / a * heed_log_of_rest(g, heed_draw_f64(g)));               \
        }                                                                                          \
    }

EXPONENTIAL(f32, float)
EXPONENTIAL(f64, double)

static heed_random_fills exponential = {
    [HEED_F32] = fill_exponential_f32, [HEED_F64] = fill_exponential_f64};

heed_status heed_exponential_into(heed_tensor *t, double rate)
{
    if (heed_blocked() || heed_check_random_target("exponential_into", t, exponential) != HEED_OK) {
        return heed_self.error;
    }
    if (!(rate > 0.0)) {
        return heed_fail(HEED_ERR_VALUE,
                         "exponential_into: the rate %g is not above 0; it is 1 / mean", rate);
    }
    heed_raise_version(t);
    heed_fill_random(t, exponential[t->dtype], rate, 0.0);
    return HEED_OK;
}

/* ---- multinomial: two methods, as in torch ----
 *
 * With replacement, a uniform random number is looked up in the cumulative sums of the
 * probabilities. Without replacement, the categories race: each gets an exponentially distributed
 * time, with its probability as the rate. The first to finish is a draw with these probabilities;
 * the next ones are draws without replacement. The time is q / p, where q is
 * exponential with rate 1, so torch takes the categories with the largest p / q.
 *
 * Both methods compute in the dtype of p. Here, f32 arithmetic is done in double and rounded after
 * each operation; the results are bit-identical. */

enum { MOST_CATEGORIES = 1 << 24 }; /* torch's limit: floats represent integers exactly up to it */

static int64_t count_rows(const heed_tensor *p)
{
    return p->ndim == 2 ? p->shape[0] : 1;
}

static int64_t count_categories(const heed_tensor *p)
{
    return p->shape[p->ndim - 1];
}

static double element(const heed_tensor *t, int64_t row, int64_t category)
{
    const int64_t row_stride = t->ndim == 2 ? t->strides[0] : 0;
    return heed_number_at(t, row * row_stride + category * t->strides[t->ndim - 1]);
}

static double round_as(const heed_tensor *t, double x)
{
    return t->dtype == HEED_F32 ? (double)(float)x : x;
}

/* ---- checks ---- */

static heed_status check_arguments(const heed_tensor *p, int64_t num_samples, bool replacement)
{
    if (!heed_is_float(p->dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "multinomial: p is %s; probabilities are f32 or f64",
                         heed_dtype_name(p->dtype));
    }
    if (p->ndim != 1 && p->ndim != 2) {
        return heed_fail(HEED_ERR_SHAPE,
                         "multinomial: p %s has %d dims; give probabilities (n), or rows of them "
                         "(rows, n)",
                         HEED_TEXT(p), p->ndim);
    }
    const int64_t categories = count_categories(p);
    if (categories < 1 || categories > MOST_CATEGORIES) {
        return heed_fail(HEED_ERR_SHAPE,
                         "multinomial: p %s has %lld categories; it must have 1 to 2^24",
                         HEED_TEXT(p), (long long)categories);
    }
    if (num_samples < 1 || (!replacement && num_samples > categories)) {
        return heed_fail(HEED_ERR_VALUE,
                         "multinomial: %lld samples of %lld categories; draw 1 or more, and at "
                         "most one per category without replacement",
                         (long long)num_samples, (long long)categories);
    }
    return HEED_OK;
}

static heed_status check_rows(const heed_tensor *p, int64_t needed, bool race)
{
    for (int64_t row = 0; row < count_rows(p); row++) {
        int64_t possible = 0;
        double sum = 0.0;
        for (int64_t i = 0; i < count_categories(p); i++) {
            const double x = element(p, row, i);
            if (!(x >= 0.0 && x <= DBL_MAX)) { /* true for NaN */
                return heed_fail(HEED_ERR_VALUE,
                                 "multinomial: the probability of category %lld in row %lld of p "
                                 "%s is %g; apply heed_softmax to scores",
                                 (long long)i, (long long)row, HEED_TEXT(p), x);
            }
            possible += x > 0.0;
            sum = round_as(p, sum + x);
        }
        if (possible < needed) {
            return heed_fail(HEED_ERR_VALUE,
                             "multinomial: row %lld of p %s has %lld probabilities above 0; it "
                             "needs at least %lld",
                             (long long)row, HEED_TEXT(p), (long long)possible, (long long)needed);
        }
        if (!race && sum > DBL_MAX) {
            return heed_fail(HEED_ERR_VALUE,
                             "multinomial: the sum of row %lld of p %s overflows %s; scale p "
                             "down",
                             (long long)row, HEED_TEXT(p), heed_dtype_name(p->dtype));
        }
    }
    return HEED_OK;
}

/* ---- with replacement ---- */

static heed_status draw_replacing(const heed_tensor *p, int64_t num_samples, int64_t *to)
{
    const int64_t categories = count_categories(p);
    const size_t size = (size_t)categories * sizeof(double);
    heed_generator *g = heed_generator_of_thread();
    double *sums = heed_alloc_sized(size);
    for (int64_t row = 0; row < count_rows(p) && sums != NULL; row++) {
        double sum = 0.0;
        for (int64_t i = 0; i < categories; i++) {
            sums[i] = sum = round_as(p, sum + element(p, row, i));
        }
        for (int64_t i = 0; i < categories; i++) {
            sums[i] = round_as(p, sums[i] / sum);
        }
        sums[categories - 1] = 1.0;
        for (int64_t i = 0; i < num_samples; i++) {
            const double u = heed_draw_f64(g);
            int64_t low = 0, high = categories; /* binary search for the first sum not below u */
            while (low < high) {
                const int64_t middle = low + (high - low) / 2;
                if (sums[middle] < u) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            *to++ = low;
        }
    }
    heed_free_sized(sums, size);
    return heed_error_pending();
}

/* ---- the race: a heap of categories, fastest first ---- */

typedef struct runner {
    double speed; /* p / q */
    int64_t category;
} runner;

/* Orders by descending speed, then by category. */
static bool before(runner a, runner b)
{
    return a.speed > b.speed || (a.speed == b.speed && a.category < b.category);
}

/* Moves the runner at `place` down the heap until both its children are slower. */
static void sink(runner *heap, int64_t count, int64_t place)
{
    const runner falling = heap[place];
    for (int64_t next = 2 * place + 1; next < count; next = 2 * place + 1) {
        if (next + 1 < count && before(heap[next + 1], heap[next])) {
            next++;
        }
        if (!before(heap[next], falling)) {
            break;
        }
        heap[place] = heap[next];
        place = next;
    }
    heap[place] = falling;
}

/* As in torch, q has the memory layout of p and is drawn in that order. */
static heed_status draw_by_race(const heed_tensor *p, int64_t num_samples, int64_t *to)
{
    const size_t size = (size_t)count_categories(p) * sizeof(runner);
    runner *heap = heed_alloc_sized(size);
    heed_tensor *q =
        heap != NULL ? heed_tensor_new("multinomial", p->ndim, p->shape, p->dtype) : NULL;
    if (q != NULL) {
        heed_dense_strides(p, q->strides);
        heed_exponential_into(q, 1.0);
        for (int64_t row = 0; row < count_rows(p); row++) {
            int64_t count = 0;
            for (int64_t i = 0; i < count_categories(p); i++) {
                const double x = element(p, row, i);
                if (x > 0.0) { /* categories with probability 0 do not take part */
                    heap[count++] = (runner){round_as(p, x / element(q, row, i)), i};
                }
            }
            for (int64_t i = count / 2 - 1; i >= 0; i--) {
                sink(heap, count, i);
            }
            for (int64_t i = 0; i < num_samples; i++) {
                *to++ = heap[0].category;
                heap[0] = heap[--count];
                sink(heap, count, 0);
            }
        }
        heed_unref(q);
    }
    heed_free_sized(heap, size);
    return heed_error_pending();
}

heed_tensor *heed_multinomial(const heed_tensor *p, int64_t num_samples, bool replacement)
{
    if (heed_blocked() || heed_check_tensor("multinomial", "p", p) != HEED_OK ||
        check_arguments(p, num_samples, replacement) != HEED_OK) {
        return NULL;
    }
    const heed_shape shape =
        p->ndim == 2 ? HEED_SHAPE(p->shape[0], num_samples) : HEED_SHAPE(num_samples);
    heed_tensor *t = heed_tensor_create("multinomial", shape, HEED_I64);
    /* torch 2 also races for a single sample with replacement. */
    const bool race = !replacement || (num_samples == 1 && t != NULL &&
                                       heed_random_torch_2(heed_generator_of_thread()));
    if (t == NULL || check_rows(p, replacement ? 1 : num_samples, race) != HEED_OK) {
        return NULL;
    }
    const heed_status status =
        race ? draw_by_race(p, num_samples, t->data) : draw_replacing(p, num_samples, t->data);
    return status == HEED_OK ? t : NULL;
}
