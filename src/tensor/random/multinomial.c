/* multinomial: draws categories with given probabilities, by the same two methods as torch.
 *
 * With replacement, a uniform random number is looked up in the cumulative sums of the
 * probabilities. Without replacement, the categories race: each gets an exponentially distributed
 * time, with its probability as the rate. The first to finish is a draw with these probabilities;
 * the next ones are draws without replacement. The time is q / p, where q is
 * exponential with rate 1, so torch takes the categories with the largest p / q.
 *
 * Both methods compute in the dtype of p. Here, f32 arithmetic is done in double and rounded after
 * each operation; the results are bit-identical. */

#include "multinomial.h"

#include <float.h>

#include "../blocks.h"
#include "../check.h"
#include "../scope_list.h"
#include "../shape.h"
#include "generator.h"
#include "random.h"

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
    /* torch 2 also races for a single sample with replacement. */
    const bool race =
        !replacement || (num_samples == 1 && heed_random_torch_2(heed_generator_of_thread()));
    heed_tensor *t = heed_tensor_create("multinomial", shape, HEED_I64);
    if (t == NULL || check_rows(p, replacement ? 1 : num_samples, race) != HEED_OK) {
        return NULL;
    }
    const heed_status status =
        race ? draw_by_race(p, num_samples, t->data) : draw_replacing(p, num_samples, t->data);
    return status == HEED_OK ? t : NULL;
}
