/* Optimiser updates: checks, then one kernel pass over all tensors. */
#include "optim_update.h"

#include <math.h>

#include "check.h"
#include "grain.h"
#include "handle.h"
#include "kernels/kernels.h"
#include "parallel.h"
#include "shape.h"
#include "thread.h"

/* Checks that p is a contiguous float, and that its gradient or state s matches it. */
static heed_status check_pair(const char *function, const heed_tensor *p, const char *name,
                              const heed_tensor *s)
{
    if (heed_check_tensor(function, "p", p) != HEED_OK ||
        heed_check_tensor(function, name, s) != HEED_OK) {
        return heed_self.error;
    }
    if (s->dtype != p->dtype || !heed_is_float(p->dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "%s: p is %s, %s is %s; both must be f32, or both f64",
                         function, heed_dtype_name(p->dtype), name, heed_dtype_name(s->dtype));
    }
    return heed_has_sizes(s, p->ndim, p->shape) && heed_is_row_major(p) && heed_is_row_major(s)
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE,
                           "%s: p %s and %s %s must have the same shape and be contiguous",
                           function, HEED_TEXT(p), name, HEED_TEXT(s));
}

/* Quicker: true if p and its states pass check_pair, as in every ordinary step. */
static inline bool match(const heed_tensor *p, const heed_tensor *const *states, int count)
{
    bool same = p != NULL && p->storage != NULL && heed_is_float(p->dtype) && heed_is_row_major(p);
    for (int k = 0; same && k < count; k++) {
        const heed_tensor *s = states[k];
        same = s != NULL && s->storage != NULL && s->dtype == p->dtype && s->ndim == p->ndim;
        for (int i = 0; same && i < p->ndim; i++) {
            same = s->shape[i] == p->shape[i] && s->strides[i] == p->strides[i];
        }
    }
    return same;
}

/* ---- pieces, split across threads ---- */

/* Processes the elements [from, from + n) of an update's tensors. */
typedef void piece_work(const heed_update *u, int64_t from, int64_t n, const void *step);

typedef struct job {
    const heed_update *all;
    int count;
    piece_work *work;
    const void *step;
} job;

/* Elements per piece. A thread takes a grain of pieces, from one parameter or from many small ones.
 * Piece boundaries do not depend on the number of threads. */
enum { PIECE = 2048, PIECES_OF_GRAIN = HEED_GRAIN_OF_UPDATES / PIECE };

static int64_t pieces_of(const heed_tensor *t)
{
    return (t->numel + PIECE - 1) / PIECE;
}

/* Runs pieces [first, end), numbered across all tensors. */
static void run_pieces(void *context, int64_t first, int64_t end)
{
    const job *j = context;
    int64_t before = 0;
    for (int i = 0; i < j->count && before < end; i++) {
        const heed_tensor *p = j->all[i].p;
        const int64_t count = pieces_of(p), from = first > before ? first - before : 0;
        const int64_t to = end - before < count ? end - before : count;
        if (from < to) {
            const int64_t past = to * PIECE < p->numel ? to * PIECE : p->numel;
            j->work(&j->all[i], from * PIECE, past - from * PIECE, j->step);
        }
        before += count;
    }
}

static void run(const heed_update *all, int count, piece_work *work, const void *step)
{
    job j = {all, count, work, step};
    int64_t pieces = 0, elements = 0;
    for (int i = 0; i < count; i++) {
        pieces += pieces_of(all[i].p);
        elements += all[i].p->numel;
    }
    /* The number of pieces would overestimate the work of many small tensors. */
    if (elements < 2 * HEED_GRAIN_OF_UPDATES) {
        run_pieces(&j, 0, pieces);
    } else {
        heed_parallel_for(pieces, PIECES_OF_GRAIN, run_pieces, &j);
    }
}

/* The address of element i. */
static void *at(const heed_tensor *t, int64_t i)
{
    return (char *)t->data + (size_t)i * heed_dtype_size(t->dtype);
}

/* ---- optimisers ---- */

static heed_status check_list(const char *name, const heed_update *all, int count, const void *step)
{
    if (heed_blocked()) {
        return heed_self.error;
    }
    if (count < 0) {
        return heed_fail(HEED_ERR_VALUE, "%s: count is %d; it must be 0 or more", name, count);
    }
    if (step == NULL || (all == NULL && count > 0)) {
        return heed_fail(HEED_ERR_NULL, "%s: %s is NULL", name,
                         step == NULL ? "step" : "the list of parameters");
    }
    return HEED_OK;
}

static void sgd_piece(const heed_update *u, int64_t from, int64_t n, const void *terms)
{
    heed_kernels_for(u->p->dtype)
        ->sgd(n, at(u->p, from), at(u->g, from), u->b != NULL ? at(u->b, from) : NULL, terms);
}

heed_status heed_sgd_update_all(const heed_update *all, int count, const heed_sgd_step *step)
{
    static const char name[] = "sgd_update";
    if (check_list(name, all, count, step) != HEED_OK) {
        return heed_self.error;
    }
    for (int i = 0; i < count; i++) {
        const heed_update *u = &all[i];
        if (!match(u->p, (const heed_tensor *[]){u->g, u->b}, u->b != NULL ? 2 : 1) &&
            (check_pair(name, u->p, "g", u->g) != HEED_OK ||
             (u->b != NULL && check_pair(name, u->p, "b", u->b) != HEED_OK))) {
            return heed_self.error;
        }
        if (u->b == NULL && step->momentum != 0) {
            return heed_fail(HEED_ERR_NULL, "%s: b is NULL, but momentum needs it", name);
        }
    }
    const heed_sgd_terms terms = {.lr = step->lr,
                                  .decay = step->weight_decay,
                                  .momentum = step->momentum,
                                  .fresh = 1 - step->dampening,
                                  .first = step->first,
                                  .nesterov = step->nesterov};
    run(all, count, sgd_piece, &terms);
    for (int i = 0; i < count; i++) {
        heed_raise_version(all[i].p);
        if (all[i].b != NULL) {
            heed_raise_version(all[i].b);
        }
    }
    return HEED_OK;
}

static void adam_piece(const heed_update *u, int64_t from, int64_t n, const void *terms)
{
    heed_kernels_for(u->p->dtype)
        ->adam(n, at(u->p, from), at(u->g, from), at(u->m, from), at(u->v, from), terms);
}

/* Both betas at once. */
typedef double betas __attribute__((vector_size(16)));
typedef int64_t masks __attribute__((vector_size(16)));

/* The upper half of the bits of x (Veltkamp). */
static inline betas upper(betas x)
{
    const betas shifted = x * 0x1.0000002p+27;
    return shifted - (shifted - x);
}

/* What rounding a * b to `product` lost (Dekker, Numerische Mathematik 18, 1971). */
static inline betas lost(betas a, betas b, betas product)
{
    const betas a_up = upper(a), a_low = a - a_up, b_up = upper(b), b_low = b - b_up;
    return a_up * b_up - product + (a_up * b_low + a_low * b_up) + a_low * b_low;
}

/* x^n for 0 <= x <= 1, n >= 1, by repeated squaring: y + y_rest and x + x_rest are rounded once, at
 * the end, to the nearest double. (pow depends on libm and on the processor.) Results below 2^-200
 * are inexact; 1 - x^n is then 1. */
static betas power(betas x, int64_t n)
{
    betas y = {1, 1}, y_rest = {0, 0}, x_rest = {0, 0};
    for (;; n /= 2) {
        if (n % 2 != 0) {
            const betas product = y * x;
            y_rest = lost(y, x, product) + (y * x_rest + y_rest * x);
            y = product;
        }
        if (n < 2) {
            return y + y_rest;
        }
        const betas square = x * x;
        x_rest = lost(x, x, square) + 2 * x * x_rest;
        x = (betas)((masks)square & (masks)(square > 0x1p-200)); /* subnormal numbers are slow */
    }
}

heed_status heed_adam_update_all(const heed_update *all, int count, const heed_adam_step *step)
{
    static const char name[] = "adam_update";
    if (check_list(name, all, count, step) != HEED_OK) {
        return heed_self.error;
    }
    if (step->t < 1) {
        return heed_fail(HEED_ERR_VALUE, "%s: t is %lld; steps are counted from 1", name,
                         (long long)step->t);
    }
    for (int i = 0; i < count; i++) {
        const heed_update *u = &all[i];
        if (!match(u->p, (const heed_tensor *[]){u->g, u->m, u->v}, 3) &&
            (check_pair(name, u->p, "g", u->g) != HEED_OK ||
             check_pair(name, u->p, "m", u->m) != HEED_OK ||
             check_pair(name, u->p, "v", u->v) != HEED_OK)) {
            return heed_self.error;
        }
    }
    const betas decayed = power((betas){step->beta1, step->beta2}, step->t);
    const heed_adam_terms terms = {
        .decay = step->decoupled ? 0 : step->weight_decay,
        .new1 = 1 - step->beta1,
        .new2 = 1 - step->beta2,
        .beta2 = step->beta2,
        .shrink = step->decoupled ? 1 - step->lr * step->weight_decay : 1,
        .size = step->lr / (1 - decayed[0]),
        .correction = 1 / sqrt(1 - decayed[1]),
        .eps = step->eps,
    };
    run(all, count, adam_piece, &terms);
    for (int i = 0; i < count; i++) {
        heed_raise_version(all[i].p);
        heed_raise_version(all[i].m);
        heed_raise_version(all[i].v);
    }
    return HEED_OK;
}
