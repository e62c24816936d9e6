/* Random tensors: checks arguments, walks memory in torch's order and draws numbers; saves and
 * restores the thread's generator.
 *
 * generator.c generates the numbers. Everything that can fail comes before the first draw, so a
 * failing call leaves the generator unchanged. */
#include "random.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../broadcast_walk.h"
#include "../check.h"
#include "../create.h"
#include "../map.h"
#include "../read.h"
#include "../scope_list.h"
#include "../shape.h"
#include "generator.h"

/* ---- the thread's generator ---- */

void heed_manual_seed(uint64_t seed)
{
    heed_seed_generator(heed_generator_of_thread(), seed);
}

heed_generator heed_get_generator(void)
{
    return *heed_generator_of_thread();
}

static bool known_flavor(heed_random_flavor flavor)
{
    return (unsigned)flavor <= HEED_RANDOM_TORCH_2_PLAIN;
}

heed_status heed_set_generator(const heed_generator *generator)
{
    if (generator == NULL) {
        return heed_fail(HEED_ERR_NULL, "set_generator: generator is NULL");
    }
    if (generator->seeded && (generator->next < 0 || generator->next > HEED_GENERATOR_WORDS ||
                              !known_flavor(generator->flavor))) {
        return heed_fail(HEED_ERR_VALUE,
                         "set_generator: next is %d and flavor %d, which is invalid; pass a "
                         "value returned by heed_get_generator",
                         generator->next, (int)generator->flavor);
    }
    *heed_generator_of_thread() = *generator;
    return heed_self.error;
}

heed_status heed_set_random_flavor(heed_random_flavor flavor)
{
    if (!known_flavor(flavor)) {
        return heed_fail(HEED_ERR_VALUE,
                         "set_random_flavor: %d is not a flavor; state.h lists them", (int)flavor);
    }
    heed_generator_of_thread()->flavor = flavor;
    return heed_self.error;
}

/* ---- generator state as a tensor ----
 *
 * The 5056 bytes of state that torch keeps for a generator, eight bytes per element:
 *
 *     0          the seed
 *     1          lower half: number of words left before the twist, plus 1; upper half: 1 (seeded)
 *     2          the index of the next word
 *     3 ... 626  the words
 *     628        the bits of the cached normal number, if element 630 is 1
 */

enum { WORDS = HEED_GENERATOR_WORDS };
enum { SEED = 0, LEFT = 1, NEXT = 2, FIRST = 3, NORMAL = 628, HAS_NORMAL = 630, ALL = 632 };

heed_tensor *heed_get_rng_state(void)
{
    heed_tensor *t = heed_tensor_create("get_rng_state", HEED_SHAPE(ALL), HEED_I64);
    if (t == NULL) {
        return NULL;
    }
    const heed_generator *g = heed_generator_of_thread();
    const bool fresh = g->next == WORDS && g->state[0] == (uint32_t)g->seed;
    int64_t *to = t->data;
    memset(to, 0, ALL * sizeof *to);
    memcpy(&to[SEED], &g->seed, sizeof g->seed);
    to[LEFT] = (fresh ? 1 : WORDS + 1 - g->next) | INT64_C(1) << 32;
    to[NEXT] = fresh ? 0 : g->next;
    for (int i = 0; i < WORDS; i++) {
        to[FIRST + i] = g->state[i];
    }
    to[HAS_NORMAL] = g->has_normal;
    if (g->has_normal) {
        memcpy(&to[NORMAL], &g->normal, sizeof g->normal);
    }
    return t;
}

/* Returns false if this is not a valid generator state. */
static bool read_state(const int64_t *from, heed_generator *g)
{
    const uint64_t both = (uint64_t)from[LEFT];
    const int64_t left = (int64_t)(both & UINT32_MAX), next = from[NEXT];
    const bool fresh = left == 1 && next == 0;
    if (both >> 32 != 1 || left < 1 || left > WORDS || (!fresh && next != WORDS + 1 - left)) {
        return false;
    }
    for (int i = 0; i < WORDS; i++) {
        if (from[FIRST + i] < 0 || from[FIRST + i] > UINT32_MAX) {
            return false;
        }
        g->state[i] = (uint32_t)from[FIRST + i];
    }
    memcpy(&g->seed, &from[SEED], sizeof g->seed);
    g->next = fresh ? WORDS : (int)next;
    g->has_normal = from[HAS_NORMAL] != 0;
    memcpy(&g->normal, &from[NORMAL], sizeof g->normal);
    g->seeded = true;
    return true;
}

heed_status heed_set_rng_state(const heed_tensor *state)
{
    const char *name = "set_rng_state";
    int64_t values[ALL];
    if (heed_blocked() || heed_check_tensor(name, "state", state) != HEED_OK) {
        return heed_self.error;
    }
    if (state->dtype != HEED_I64) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: state is %s; it must be i64, like the result of heed_get_rng_state",
                         name, heed_dtype_name(state->dtype));
    }
    if (state->ndim != 1 || state->numel != ALL) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: state %s; it must be (%d), like the result of heed_get_rng_state",
                         name, HEED_TEXT(state), ALL);
    }
    heed_generator g = heed_get_generator();
    if (heed_copy_out(state, values, ALL) == HEED_OK && !read_state(values, &g)) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: not a generator state; pass one returned by heed_get_rng_state",
                         name);
    }
    return heed_error_pending() ? heed_error_pending() : heed_set_generator(&g);
}

/* ---- fills ---- */

/* The fill for each dtype; NULL if not supported. */
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

enum { BLOCK = 16 }; /* this many contiguous normal numbers or more are drawn in blocks */

/* torch fills a non-contiguous target in memory order, by descending stride, so a transposed matrix
 * receives the same numbers as the matrix it is a view of. */
static void fill_tensor(const heed_tensor *t, heed_random_fill *fill, double a, double b)
{
    heed_generator *g = heed_generator_of_thread();
    if (heed_is_row_major(t)) {
        fill(g, t->data, t->numel, 1, a, b);
        return;
    }
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

static void fill_normal(const heed_tensor *t, double mean, double std)
{
    bool blocks = t->numel >= BLOCK && heed_is_row_major(t);
    fill_tensor(t, (blocks ? normal_block : normal)[t->dtype], mean, std);
}

/* ---- new tensors: created before anything is drawn ---- */

static heed_status check_float(const char *function, heed_dtype dtype)
{
    if (!heed_is_float(dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "%s: dtype %s; use f32 or f64, or heed_randint for i64",
                         function, heed_dtype_name(dtype));
    }
    return HEED_OK;
}

/* Uniform in [0, 1), or normal with mean 0 and standard deviation 1. */
static void fill_standard(const heed_tensor *t, bool is_normal)
{
    if (is_normal) {
        fill_normal(t, 0.0, 1.0);
    } else {
        fill_tensor(t, uniform[t->dtype], 0.0, 1.0);
    }
}

static heed_tensor *draw(const char *function, heed_shape shape, heed_dtype dtype, bool is_normal)
{
    if (heed_blocked() || check_float(function, dtype) != HEED_OK) {
        return NULL;
    }
    heed_tensor *t = heed_tensor_create(function, shape, dtype);
    if (t != NULL) {
        fill_standard(t, is_normal);
    }
    return t;
}

heed_tensor *heed_rand(heed_shape shape, heed_dtype dtype)
{
    return draw("rand", shape, dtype, false);
}

heed_tensor *heed_randn(heed_shape shape, heed_dtype dtype)
{
    return draw("randn", shape, dtype, true);
}

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
        return draw(function, heed_shape_of_tensor(x), x->dtype, is_normal);
    }
    heed_tensor *y = heed_tensor_create(function, heed_shape_of_tensor(x), x->dtype);
    heed_tensor *drawn = y != NULL ? heed_tensor_like(NULL, y) : NULL;
    if (drawn == NULL) {
        return NULL;
    }
    heed_dense_strides(x, drawn->strides);
    fill_standard(drawn, is_normal);
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

/* ---- probabilities ---- */

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
                         "%s: t %s is expanded, so its elements share memory; fill the tensor "
                         "it is a view of, or a copy",
                         function, HEED_TEXT(t));
    }
    return HEED_OK;
}

/* True if the dtype of t can represent both numbers. */
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
                         "uniform_into: from %g to %g in %s; low must not be above high, and low, "
                         "high and high - low must be finite",
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
                         "normal_into: mean %g and std %g in %s; both must be finite, and std "
                         "must not be negative",
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
                         "of a 1: for dropout, 1 minus the dropout rate",
                         p);
    }
    heed_raise_version(t);
    fill_tensor(t, bernoulli[t->dtype], p, 1.0);
    return HEED_OK;
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
