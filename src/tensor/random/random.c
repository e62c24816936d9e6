/* Tensors of random numbers: arguments checked, memory walked in torch's order, numbers drawn.
 *
 * What a number is made of is in generator.c and normal.c. Nothing is drawn before everything that
 * can fail has succeeded, so a call that fails leaves the generator where it was. */

#include "random.h"

#include <float.h>
#include <math.h>

#include "../walk.h"
#include "generator.h"

/* The fill for each dtype; NULL where there is none. */
typedef heed_random_fill *const fills[HEED_DTYPES];

static fills uniform = {[HEED_F32] = heed_fill_uniform_f32, [HEED_F64] = heed_fill_uniform_f64};
static fills normal = {[HEED_F32] = heed_fill_normal_f32, [HEED_F64] = heed_fill_normal_f64};
static fills normal_block = {
    [HEED_F32] = heed_fill_normal_block_f32, [HEED_F64] = heed_fill_normal_block_f64};
static fills bernoulli = {[HEED_F32] = heed_fill_bernoulli_f32,
                          [HEED_F64] = heed_fill_bernoulli_f64,
                          [HEED_I64] = heed_fill_bernoulli_i64,
                          [HEED_BOOL] = heed_fill_bernoulli_bool};

static fills exponential = {
    [HEED_F32] = heed_fill_exponential_f32, [HEED_F64] = heed_fill_exponential_f64};

enum { BLOCK = 16 }; /* as many contiguous normal numbers are made in blocks */

/* ---- walking ---- */

/* torch walks a target that is not contiguous in the order of its memory, so that a transposed
 * matrix receives the numbers of the matrix it is a view of: dims by falling stride. */
static void fill_view(const heed_tensor *t, heed_random_fill *fill, double a, double b)
{
    int64_t size[HEED_MAX_DIMS], stride[HEED_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) {
        int at = i;
        for (; at > 0 && stride[at - 1] < t->strides[i]; at--) {
            size[at] = size[at - 1];
            stride[at] = stride[at - 1];
        }
        size[at] = t->shape[i];
        stride[at] = t->strides[i];
    }
    heed_generator *g = heed_generator_of_thread();
    walk w = {0};
    heed_walk_lane(&w, t->data, stride, t->dtype, t->ndim);
    if (!heed_walk_begin(&w, t->ndim, size)) {
        return;
    }
    int64_t step = run_stride(&w, 0) / (int64_t)heed_dtype_size(t->dtype);
    do {
        fill(g, w.lane[0].at, run_length(&w), step, a, b);
    } while (heed_walk_next(&w));
}

static void fill_tensor(const heed_tensor *t, heed_random_fill *fill, double a, double b)
{
    if (heed_is_contiguous(t)) {
        fill(heed_generator_of_thread(), t->data, t->numel, 1, a, b);
    } else {
        fill_view(t, fill, a, b);
    }
}

static void fill_normal(const heed_tensor *t, double mean, double std)
{
    bool blocks = t->numel >= BLOCK && heed_is_contiguous(t);
    fill_tensor(t, (blocks ? normal_block : normal)[t->dtype], mean, std);
}

/* ---- new tensors: in their scope before they are filled; without a scope nothing is drawn ---- */

static heed_status check_float(const char *function, heed_dtype dtype)
{
    if (!heed_is_float(dtype)) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: dtype %s; these numbers are f32 or f64, and heed_randint makes i64",
                         function, heed_dtype_name(dtype));
    }
    return HEED_OK;
}

heed_tensor *heed_rand(heed_shape shape, heed_dtype dtype)
{
    if (heed_blocked() || check_float("rand", dtype) != HEED_OK) {
        return NULL;
    }
    heed_tensor *t = heed_tensor_create("rand", shape, dtype);
    if (t != NULL) {
        fill_tensor(t, uniform[dtype], 0.0, 1.0);
    }
    return t;
}

heed_tensor *heed_randn(heed_shape shape, heed_dtype dtype)
{
    if (heed_blocked() || check_float("randn", dtype) != HEED_OK) {
        return NULL;
    }
    heed_tensor *t = heed_tensor_create("randn", shape, dtype);
    if (t != NULL) {
        fill_normal(t, 0.0, 1.0);
    }
    return t;
}

/* One word, or two where the remainder of one would be too uneven: torch 2 sees that sooner. */
static uint64_t draw_below(heed_generator *g, uint64_t range)
{
    uint64_t wide = heed_random_torch_2(g) ? UINT64_C(1) << 28 : UINT64_C(1) << 32;
    return (range >= wide ? heed_draw_u64(g) : heed_draw_u32(g)) % range;
}

heed_tensor *heed_randint(int64_t low, int64_t high, heed_shape shape)
{
    if (heed_blocked()) {
        return NULL;
    }
    if (low >= high) {
        heed_fail(HEED_ERR_VALUE, "randint: low %lld is not below high %lld, which is excluded",
                  (long long)low, (long long)high);
        return NULL;
    }
    heed_tensor *t = heed_tensor_create("randint", shape, HEED_I64);
    if (t == NULL) {
        return NULL;
    }
    heed_generator *g = heed_generator_of_thread();
    uint64_t range = (uint64_t)high - (uint64_t)low;
    int64_t *to = t->data;
    for (int64_t i = 0; i < t->numel; i++) {
        to[i] = (int64_t)(draw_below(g, range) + (uint64_t)low);
    }
    return t;
}

/* One word for each number, even where there are more numbers than words. */
static void permute(heed_generator *g, int64_t *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = i;
    }
    for (int64_t i = 0; i < n - 1; i++) {
        int64_t j = i + (int64_t)(heed_draw_u32(g) % (uint64_t)(n - i));
        int64_t moved = to[i];
        to[i] = to[j];
        to[j] = moved;
    }
}

/* Two words for each, and each number goes to a place among those before it. */
static void permute_many(heed_generator *g, int64_t *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t j = (int64_t)(heed_draw_u64(g) % (uint64_t)(i + 1));
        to[i] = to[j];
        to[j] = i;
    }
}

heed_tensor *heed_randperm(int64_t n)
{
    if (heed_blocked()) {
        return NULL;
    }
    if (n < 0) {
        heed_fail(HEED_ERR_VALUE, "randperm: n is %lld; give how many numbers to permute",
                  (long long)n);
        return NULL;
    }
    heed_tensor *t = heed_tensor_create("randperm", HEED_SHAPE(n), HEED_I64);
    if (t == NULL) {
        return NULL;
    }
    heed_generator *g = heed_generator_of_thread();
    if (n >= UINT32_MAX / 20 && heed_random_torch_2(g)) {
        permute_many(g, t->data, n);
    } else {
        permute(g, t->data, n);
    }
    return t;
}

/* ---- probabilities ---- */

/* A contiguous tensor as probabilities: element i as double. */
static double probability(const heed_tensor *p, int64_t i)
{
    return p->dtype == HEED_F32 ? (double)((const float *)p->data)[i]
                                : ((const double *)p->data)[i];
}

static heed_status check_probabilities(const heed_tensor *p)
{
    for (int64_t i = 0; i < p->numel; i++) {
        double value = probability(p, i);
        if (!(value >= 0.0 && value <= 1.0)) { /* NaN too */
            return heed_fail(HEED_ERR_VALUE,
                             "bernoulli: element %lld of p %s is %g, which is outside [0, 1]; for "
                             "scores take heed_sigmoid of them",
                             (long long)i, HEED_TEXT(p), value);
        }
    }
    return HEED_OK;
}

/* Unlike a single p, torch compares a tensor of floats with draws of one word. */
static void replace_by_draws(heed_tensor *t)
{
    heed_generator *g = heed_generator_of_thread();
    if (t->dtype == HEED_F32) {
        float *to = t->data;
        for (int64_t i = 0; i < t->numel; i++) {
            to[i] = (float)(heed_draw_f32(g) < to[i]);
        }
    } else {
        double *to = t->data;
        for (int64_t i = 0; i < t->numel; i++) {
            to[i] = (double)(heed_draw_f64(g) < to[i]);
        }
    }
}

heed_tensor *heed_bernoulli(const heed_tensor *p)
{
    if (heed_blocked() || heed_check_tensor("bernoulli", "p", p) != HEED_OK ||
        check_float("bernoulli", p->dtype) != HEED_OK) {
        return NULL;
    }
    heed_tensor *t = heed_tensor_create("bernoulli", heed_shape_of_tensor(p), p->dtype);
    if (t == NULL) {
        return NULL;
    }
    heed_copy_elements(p, t);
    if (check_probabilities(t) != HEED_OK) {
        return NULL;
    }
    replace_by_draws(t);
    return t;
}

/* ---- in place ---- */

static heed_status check_target(const char *function, const heed_tensor *t, fills fill)
{
    if (heed_check_tensor(function, "t", t) != HEED_OK) {
        return heed_self.error;
    }
    if (fill[t->dtype] == NULL) {
        return check_float(function, t->dtype);
    }
    if (heed_is_expanded(t)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: t %s is expanded: its elements share memory; fill the tensor it "
                         "is a view of, or a copy",
                         function, HEED_TEXT(t));
    }
    return HEED_OK;
}

/* Can the dtype of t hold both numbers? */
static bool fits(const heed_tensor *t, double a, double b)
{
    double largest = t->dtype == HEED_F32 ? (double)FLT_MAX : DBL_MAX;
    return fabs(a) <= largest && fabs(b) <= largest; /* false for NaN */
}

heed_status heed_uniform_into(heed_tensor *t, double low, double high)
{
    if (heed_blocked() || check_target("uniform_into", t, uniform) != HEED_OK) {
        return heed_self.error;
    }
    if (!(low <= high) || !fits(t, low, high) || !fits(t, high - low, 0.0)) {
        return heed_fail(HEED_ERR_VALUE,
                         "uniform_into: from %g to %g in %s; low must not be above high, and both "
                         "and their distance finite",
                         low, high, heed_dtype_name(t->dtype));
    }
    heed_raise_version(t);
    fill_tensor(t, uniform[t->dtype], low, high);
    return HEED_OK;
}

heed_status heed_normal_into(heed_tensor *t, double mean, double std)
{
    if (heed_blocked() || check_target("normal_into", t, normal) != HEED_OK) {
        return heed_self.error;
    }
    if (!(std >= 0.0) || !fits(t, mean, std)) {
        return heed_fail(HEED_ERR_VALUE,
                         "normal_into: mean %g and std %g in %s; both must be finite, and std not "
                         "below 0",
                         mean, std, heed_dtype_name(t->dtype));
    }
    heed_raise_version(t);
    fill_normal(t, mean, std);
    return HEED_OK;
}

heed_status heed_bernoulli_into(heed_tensor *t, double p)
{
    if (heed_blocked() || check_target("bernoulli_into", t, bernoulli) != HEED_OK) {
        return heed_self.error;
    }
    if (!(p >= 0.0 && p <= 1.0)) {
        return heed_fail(HEED_ERR_VALUE,
                         "bernoulli_into: p is %g, which is outside [0, 1]; it is the probability "
                         "of a 1, which for dropout is 1 - dropout",
                         p);
    }
    heed_raise_version(t);
    fill_tensor(t, bernoulli[t->dtype], p, 1.0);
    return HEED_OK;
}

void heed_fill_noise(heed_tensor *t, double p, double value)
{
    fill_tensor(t, bernoulli[t->dtype], p, value);
}

heed_status heed_exponential_into(heed_tensor *t, double rate)
{
    if (heed_blocked() || check_target("exponential_into", t, exponential) != HEED_OK) {
        return heed_self.error;
    }
    if (!(rate > 0.0)) {
        return heed_fail(HEED_ERR_VALUE,
                         "exponential_into: the rate %g is not above 0; it is 1 / mean", rate);
    }
    heed_raise_version(t);
    fill_tensor(t, exponential[t->dtype], rate, 0.0);
    return HEED_OK;
}
