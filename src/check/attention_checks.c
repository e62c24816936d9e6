/* The checks of heed_attention_check. What is tried if the formula does not hold:
 * attention_mistakes.c; the report: attention_report.c. */

#include "check.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { T_MOST = HEED_CHECK_TOKENS };

/* What the check changes in a module, and puts back. */
typedef struct borrowed {
    struct mode {
        heed_module *module;
        bool training;
        struct mode *next;
    } * modes; /* of the module and its descendants */
    struct lent {
        heed_tensor *tensor, *value, *grad; /* `value` is a view; grad may be NULL */
    } * state;                              /* of the state dict */
    int count;
    const struct heed_named_tensors *list; /* the state dict itself, until the module changes */
} borrowed;

typedef struct check {
    heed_attention_check_args o;
    heed_attention_report report;
    borrowed lent;               /* if there is a module */
    heed_attention_checks which; /* the check that runs */
    heed_generator generator;    /* at the beginning of each call */
    heed_dtype dtype;            /* of inputs */
    int64_t tokens;
    double rounding;          /* relative differences up to this are rounding */
    double least_effect;      /* relative effects up to this are none */
    heed_tensor *x, *other;   /* (B, T, d_model): inputs, and what tokens are replaced by */
    heed_tensor *y;           /* f(x), f64 (B, T, width), without a graph */
    double scale;             /* its largest magnitude; NO_SCALE if it is 0 */
    heed_tensor *weights;     /* of y in a loss: random */
    unsigned allowed[T_MOST]; /* bits: the tokens that a row may see */
} check;

/* In f64, relative effects up to this are none; far above rounding. */
static const double LEAST_EFFECT = 1e-9;
static const double NO_SCALE = 1e-300;
/* An epsilon in a normaliser is no mistake: deviations up to this, of what is not a leak. */
static const double CLOSE = 1e-5;

/* A saturated softmax or a dead ReLU hides effects: inputs times these show them. */
enum { SCALES = 4 };
static const double scales[SCALES] = {1, 0.3, 0.1, 0.01};

HEED_PRINTF(4, 5)
static void set(check *c, heed_verdict verdict, double worst, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    c->report.checks[c->which].verdict = verdict;
    c->report.checks[c->which].worst = worst;
    vsnprintf(c->report.checks[c->which].text, sizeof c->report.checks[0].text, format, arguments);
    va_end(arguments);
}

static bool is_more(double worst, double than)
{
    return !(worst <= than); /* true for NaN */
}

/* Wrong if `worst` exceeds rounding. */
static void judge(check *c, double worst, double most, const char *wrong, const char *right)
{
    const bool is_wrong = is_more(worst, most);
    set(c, is_wrong ? HEED_VERDICT_FAILED : HEED_VERDICT_PASSED, worst, "%s",
        is_wrong ? wrong : right);
}

static bool failed(const check *c, heed_attention_checks which)
{
    return c->report.checks[which].verdict == HEED_VERDICT_FAILED;
}

/* ---- calling f ---- */

/* Ends a call of the program's function `name`, which gave y for x. Returns y of (B, T, width),
 * whether or not the function is called with a batch. */
static heed_tensor *end_call(const check *c, heed_callback outer, const char *name,
                             const heed_tensor *x, heed_tensor *y)
{
    const bool is_open = heed_self.depth != heed_self.outermost;
    heed_callback_end(outer);
    if (y == NULL || heed_blocked()) { /* an error reported by the function takes precedence */
        heed_raise(HEED_ERR_NULL, "attention_check: %s returned NULL without an error", name);
    }
    if (is_open) {
        heed_raise(HEED_ERR_SCOPE, "attention_check: %s leaves a scope open", name);
    }
    const heed_module *module = c->o.module;
    if (module != NULL && module->lists[1] != c->lent.list) {
        heed_raise(HEED_ERR_VALUE,
                   "attention_check: %s registers parameters or modules, or replaces them: do so "
                   "once, in the constructor",
                   name);
    }
    if (y->storage == NULL) {
        heed_raise(HEED_ERR_SCOPE,
                   "attention_check: the result of %s belongs to a scope that it has ended; keep "
                   "it with heed_scope_keep",
                   name);
    }
    if (c->o.unbatched) {
        y = heed_unsqueeze(y, 0);
    }
    if (y->ndim != 3 || y->shape[0] != x->shape[0] || y->shape[1] != x->shape[1] ||
        y->shape[2] == 0 || !heed_is_float(y->dtype)) {
        heed_raise(
            HEED_ERR_SHAPE,
            "attention_check: %s gave %s %s for x %s; expected floats (%lld, %lld, any width)",
            name, HEED_TEXT(y), heed_dtype_name(y->dtype), HEED_TEXT(x), (long long)x->shape[0],
            (long long)x->shape[1]);
    }
    if (c->y != NULL && y->shape[2] != c->y->shape[2]) {
        heed_raise(HEED_ERR_SHAPE,
                   "attention_check: %s gave %s for %lld tokens, but %s for %lld: are these the "
                   "weights? Return the outputs",
                   name, HEED_TEXT(y), (long long)x->shape[1], HEED_TEXT(c->y),
                   (long long)c->tokens);
    }
    return y;
}

/* What the function gets: a copy, which it may change in place. Of token ids, x has a feature. */
static heed_tensor *copy_for_call(const check *c, heed_tensor *x)
{
    heed_set_generator(&c->generator);
    x = c->o.ids > 0 && heed_is_float(x->dtype) ? heed_to(heed_squeeze(x, 2), HEED_I64)
                                                : heed_clone(x);
    return c->o.unbatched ? heed_squeeze(x, 0) : x;
}

static heed_tensor *call(const check *c, heed_tensor *x)
{
    heed_tensor *copy = copy_for_call(c, x);
    const heed_callback outer = heed_callback_begin();
    return end_call(c, outer, "f", x, c->o.f(copy, c->o.context));
}

static heed_tensor *plain(heed_tensor *t)
{
    return heed_contiguous(heed_to(heed_detach(t), HEED_F64));
}

/* f(x) as f64, in the caller's scope and without a graph. */
static heed_tensor *outputs(const check *c, heed_tensor *x)
{
    HEED_SCOPE_NO_GRAD(scope);
    return heed_scope_keep(&scope, plain(call(c, x)));
}

typedef struct attempt {
    const check *check;
    heed_tensor *x, *y;
} attempt;

static void attempt_call(void *context)
{
    const attempt *a = context;
    heed_copy_into(a->y, outputs(a->check, a->x));
}

/* The same, or NULL and a pending error if f fails, as one with a mask of one length does. */
static heed_tensor *outputs_if_any(const void *context, heed_tensor *x)
{
    const check *c = context;
    const heed_shape shape = HEED_SHAPE(x->shape[0], x->shape[1], c->y->shape[2]);
    attempt a = {.check = c, .x = x, .y = heed_zeros(shape, HEED_F64)};
    const heed_status status = heed_try(attempt_call, &a);
    if (status == HEED_ERR_MEMORY ||
        (status == HEED_ERR_SHAPE && strstr(heed_error_message(), "the weights?") != NULL)) {
        heed_jump();
    }
    return status == HEED_OK ? a.y : NULL;
}

static heed_tensor *leaf_of(heed_tensor *x)
{
    return heed_set_requires_grad(heed_clone(heed_detach(x)), true);
}

enum { MOST_LISTED = 10000 };
typedef struct graph {
    heed_tensor **tensors; /* scratch memory */
    int count;
} graph;

/* The tensors of y's graph, y first; of a huge graph those nearest to y. */
static graph graph_of(heed_tensor *y)
{
    graph g = {.tensors = heed_scratch(MOST_LISTED * sizeof *g.tensors), .count = 1};
    g.tensors[0] = y;
    for (int i = 0; i < g.count; i++) {
        for (int j = 0; j < g.tensors[i]->input_count; j++) {
            heed_tensor *input = g.tensors[i]->inputs[j];
            if (g.count < MOST_LISTED && !heed_is_listed(g.tensors, g.count, input)) {
                g.tensors[g.count++] = input;
            }
        }
    }
    return g;
}

/* Does f cast to f32, for its softmax for example? Then its rounding is that of f32. */
static bool computes_in_f32(const check *c)
{
    HEED_SCOPE(scope);
    const graph g = graph_of(call(c, leaf_of(c->x)));
    bool found = false;
    for (int i = 0; i < g.count; i++) {
        found = found || g.tensors[i]->dtype == HEED_F32;
    }
    return found;
}

/* ---- comparing rows ---- */

/* Row (b, i) of an output. */
static const double *row(const heed_tensor *y, int64_t b, int64_t i)
{
    return heed_const_data_f64(y) + (b * y->shape[1] + i) * y->shape[2];
}

/* The larger one; NaN if one is NaN, unlike fmax. */
static double worse(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

static double largest(const double *values, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        most = worse(most, fabs(values[i]));
    }
    return most;
}

/* The largest difference of two rows, relative to the largest element of y; NaN if one is NaN. */
static double difference(const check *c, const double *a, const double *b)
{
    double most = 0;
    for (int64_t i = 0; i < c->y->shape[2]; i++) {
        most = worse(most, fabs(a[i] - b[i]));
    }
    return most / c->scale;
}

/* What gradients are relative to: the largest of them. If all of them are far below y, they may be
 * rounding, and their quotients would be arbitrary. */
static double gradient_unit(const check *c, double most)
{
    return worse(most, 0.01 * c->scale);
}

/* The worst difference, over the batch, of row i of y and row j of `other`. */
static double row_difference(const check *c, const heed_tensor *y, int64_t i,
                             const heed_tensor *other, int64_t j)
{
    double worst = 0;
    for (int64_t b = 0; b < y->shape[0]; b++) {
        worst = worse(worst, difference(c, row(y, b, i), row(other, b, j)));
    }
    return worst;
}

/* The worst of all rows, compared with y. */
static double worst_row(const check *c, const heed_tensor *again)
{
    double worst = 0;
    for (int64_t i = 0; i < c->tokens; i++) {
        worst = worse(worst, row_difference(c, again, i, c->y, i));
    }
    return worst;
}

/* ---- inputs ---- */

/* x with token j of every sequence replaced by `by` (B, T, d). */
static heed_tensor *replace_token(heed_tensor *x, int64_t j, heed_tensor *by)
{
    heed_tensor *parts[] = {heed_slice(x, 1, 0, j, 1), heed_narrow(by, 1, j, 1),
                            heed_slice(x, 1, j + 1, x->shape[1], 1)};
    return heed_cat(parts, 3, 1);
}

/* ---- repeat, batch ---- */

static void check_repeat(check *c)
{
    const heed_tensor *again = outputs(c, c->x);
    if (!isfinite(c->scale)) {
        set(c, HEED_VERDICT_FAILED, (double)NAN,
            "y has NaN or infinity: a row that is blocked everywhere, mask values that overflow, "
            "or -inf filled in after the softmax");
        return;
    }
    const double worst = worst_row(c, again);
    if (worst != 0) {
        heed_raise(
            HEED_ERR_VALUE,
            "attention_check: f gives other outputs for the same input (by %.2g), although the "
            "generator is reset before each call: it keeps state, such as a cache, between "
            "calls; reset it at the beginning of f",
            worst);
    }
    /* Does it draw random numbers? Dropout that no heed_eval reaches does. */
    const heed_generator before = c->generator;
    heed_manual_seed(c->o.seed + 12345);
    c->generator = heed_get_generator();
    const double random = worst_row(c, outputs(c, c->x));
    c->generator = before;
    if (random != 0 && c->o.module == NULL) {
        heed_raise(HEED_ERR_VALUE, "attention_check: f draws random numbers: call heed_eval, or "
                                   "pass .module, so that the check does");
    }
    judge(c, random, 0,
          "f draws random numbers in eval mode: dropout that does not read .training, or a module "
          "that is not registered",
          "the same input gives the same output");
}

static void check_batch(check *c)
{
    heed_tensor *parts[] = {heed_narrow(c->x, 0, 0, 1), heed_narrow(c->other, 0, 1, 1)};
    const heed_tensor *y = outputs(c, heed_cat(parts, 2, 0));
    const heed_tensor *turned = outputs(c, heed_flip(c->x, HEED_DIMS(0)));
    double worst = 0, moved = 0;
    for (int64_t i = 0; i < c->tokens; i++) {
        worst = worse(worst, difference(c, row(y, 0, i), row(c->y, 0, i)));
        moved = worse(moved, difference(c, row(turned, 0, i), row(c->y, 1, i)));
    }
    judge(c, worse(worst, moved), c->rounding,
          is_more(worst, c->rounding)
              ? "another sequence of the batch changes this one: a softmax or transpose over the "
                "batch dim, or a reshape that moves elements between sequences"
              : "a sequence gives other outputs at another place in the batch: positions or a mask "
                "along the batch dim",
          "another sequence of the batch changes nothing");
}

/* ---- reach ---- */

static bool sees(const check *c, int64_t i, int64_t j)
{
    return c->allowed[i] >> j & 1;
}

/* What should reach what: the mask, applied `layers` times. A query affects its own row even if its
 * key is blocked; a block passes x on besides. */
static void expect_reach(check *c)
{
    const int64_t n = c->tokens;
    const bool *mask = NULL;
    if (c->o.block_mask != NULL) {
        mask = heed_const_data_bool(heed_contiguous(c->o.block_mask));
    }
    unsigned seen[2][T_MOST], before[T_MOST]; /* at least, at most */
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const bool allowed = mask != NULL ? !mask[i * n + j] : !c->o.causal || j <= i;
            c->allowed[i] |= (unsigned)allowed << j;
        }
        seen[0][i] = c->allowed[i];
        seen[1][i] = c->allowed[i] | 1U << i;
    }
    for (int step = 2; step < 2 * c->o.layers; step++) { /* two for each further layer */
        const int most = step & 1;
        memcpy(before, seen[most], sizeof before);
        for (int64_t i = 0; i < n; i++) {
            seen[most][i] = most ? before[i] : 0;
            for (int64_t j = 0; j < n; j++) {
                seen[most][i] |= sees(c, i, j) ? before[j] : 0;
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            c->report.expected[i][j] = seen[0][i] >> j & 1 ? '#' : seen[1][i] >> j & 1 ? '?' : '.';
        }
    }
}

/* The gradient of row i of y, weighted at random, with respect to x; NULL if y has no graph. */
static const double *gradient_of_row(const check *c, heed_tensor *x, int64_t i)
{
    heed_tensor *leaf = leaf_of(x), *y = call(c, leaf), *g = NULL;
    if (!y->requires_grad) {
        return NULL;
    }
    heed_grad(heed_sum(heed_select(heed_mul(y, c->weights), 1, i)), &leaf, 1, &g, false);
    return heed_const_data_f64(plain(g));
}

/* The norms of this gradient for each token of x, over the whole batch: to[j]. */
static void gradient_norms(const check *c, heed_tensor *x, int64_t i, double *to)
{
    HEED_SCOPE(scope);
    const double *values = gradient_of_row(c, x, i);
    for (int64_t j = 0; j < c->tokens; j++) {
        double squares = 0;
        for (int64_t b = 0; values != NULL && b < x->shape[0]; b++) {
            const double *at = values + (b * c->tokens + j) * x->shape[2];
            for (int64_t k = 0; k < x->shape[2]; k++) {
                squares += at[k] * at[k];
            }
        }
        to[j] = sqrt(squares);
    }
}

/* Names the first wrong pair, and counts them. Effects of values show leaks only: a saturated
 * softmax, which hides pairs, is not scaled down there. */
static void judge_reach(check *c, double (*effect)[T_MOST])
{
    const bool by_value = c->which == HEED_CHECK_VALUES;
    int leaks = 0, dead = 0, leak[2] = {0}, lost[2] = {0};
    bool later = true;
    double worst = 0;
    for (int i = 0; i < c->tokens; i++) {
        for (int j = 0; j < c->tokens; j++) {
            const char expected = c->report.expected[i][j];
            if (expected == '.' && is_more(effect[i][j], 10 * c->rounding)) {
                memcpy(leak, leaks++ == 0 ? (int[]){i, j} : leak, sizeof leak);
                later = later && j > i;
                worst = worse(worst, effect[i][j]);
            } else if (expected == '#' && !(effect[i][j] > c->least_effect)) {
                memcpy(lost, dead++ == 0 ? (int[]){i, j} : lost, sizeof lost);
            }
        }
    }
    if (leaks > 0) {
        set(c, HEED_VERDICT_FAILED, worst,
            "%srow %d sees token %d, which is blocked (%d such pairs%s)",
            by_value ? "replacing tokens: " : "", leak[0], leak[1], leaks,
            later ? ", all of them later tokens" : "");
    } else if (dead > 0 && !by_value) {
        set(c, HEED_VERDICT_FAILED, 0,
            "row %d does not see token %d, which is allowed (%d such pairs)", lost[0], lost[1],
            dead);
    } else {
        set(c, HEED_VERDICT_PASSED, 0, "%s",
            by_value ? "replacing a blocked token changes nothing"
                     : "every allowed token has an effect, no blocked one has");
    }
}

/* Effects of replacing token j on the rows: effect[i][j], relative to y. Among small inputs, large
 * tokens of either sign replace it too: they change a maximum over all tokens, and what is
 * saturated for larger inputs. */
static void value_effects(check *c, double (*effect)[T_MOST])
{
    static const double sizes[] = {1, 0.1, 0.1}, signs[] = {1, 1, -1};
    for (int way = 0; way < (c->o.ids > 0 ? 1 : 3); way++) {
        HEED_SCOPE(scope);
        heed_tensor *x = heed_mul_scalar(c->x, sizes[way]);
        heed_tensor *by = heed_mul_scalar(c->other, signs[way]);
        const heed_tensor *before = outputs(c, x);
        for (int64_t j = 0; j < c->tokens; j++) {
            HEED_SCOPE(one);
            const heed_tensor *y = outputs(c, replace_token(x, j, by));
            for (int64_t i = 0; i < c->tokens; i++) {
                effect[i][j] = worse(effect[i][j], row_difference(c, y, i, before, i));
            }
        }
    }
}

static void check_reach(check *c)
{
    double by_value[T_MOST][T_MOST] = {{0}}, largest_norm = 0;
    expect_reach(c);
    for (int s = 0; s < SCALES && c->o.ids == 0; s++) {
        HEED_SCOPE(scope);
        heed_tensor *x = heed_mul_scalar(c->x, scales[s]);
        double norms[T_MOST][T_MOST];
        bool all = true;
        for (int64_t i = 0; i < c->tokens; i++) {
            gradient_norms(c, x, i, norms[i]);
            largest_norm = worse(largest_norm, largest(norms[i], c->tokens));
        }
        for (int64_t i = 0; i < c->tokens; i++) {
            for (int64_t j = 0; j < c->tokens; j++) {
                double *to = &c->report.reach[i][j];
                *to = worse(*to, norms[i][j] / gradient_unit(c, largest_norm));
                all = all && (c->report.expected[i][j] != '#' || *to > c->least_effect);
            }
        }
        if (all) {
            break;
        }
    }
    value_effects(c, by_value);
    c->which = HEED_CHECK_VALUES;
    judge_reach(c, by_value);
    c->which = HEED_CHECK_REACH;
    const double largest_effect = largest_norm / gradient_unit(c, largest_norm);
    const bool has_gradient = is_more(largest_effect, c->least_effect);
    if (c->o.ids > 0) { /* token ids have no gradient */
        memcpy(c->report.reach, by_value, sizeof by_value);
        judge_reach(c, by_value);
        return;
    }
    if (!has_gradient) {
        const bool is_zero = c->scale == NO_SCALE;
        set(c, is_zero ? HEED_VERDICT_UNKNOWN : HEED_VERDICT_FAILED, 0, "%s",
            is_zero ? "y is 0 for all inputs: cannot tell before a step, if a projection starts at "
                      "0; with .module, parameters that are 0 get values during the check"
                    : "no gradient reaches x: heed_detach, or a scope without gradients, cuts the "
                      "graph");
        return;
    }
    for (int64_t i = 0; i < c->tokens; i++) { /* dead only if values have no effect either */
        for (int64_t j = 0; j < c->tokens; j++) {
            if (c->report.expected[i][j] == '#' && !(c->report.reach[i][j] > c->least_effect)) {
                c->report.reach[i][j] = by_value[i][j];
            }
        }
    }
    judge_reach(c, c->report.reach);
}

/* ---- order, equal ---- */

/* x with its tokens in another order. */
static heed_tensor *reorder(const check *c, heed_tensor *x, const int64_t *order)
{
    return heed_index_select(x, 1,
                             heed_from_values(order, (size_t)c->tokens * sizeof *order,
                                              HEED_SHAPE(c->tokens), HEED_I64));
}

/* With positions, the last output depends on the order of the tokens before it. */
static void check_positions(check *c)
{
    int64_t order[T_MOST];
    double effect = 0;
    for (int64_t i = 0; i < c->tokens; i++) {
        order[i] = i < c->tokens - 1 ? c->tokens - 2 - i : i;
    }
    for (int s = 0; s < SCALES && effect <= c->rounding; s++) {
        HEED_SCOPE(scope);
        heed_tensor *x = heed_mul_scalar(c->x, scales[s]);
        const heed_tensor *before = outputs(c, x), *after = outputs(c, reorder(c, x, order));
        effect = worse(effect, row_difference(c, after, c->tokens - 1, before, c->tokens - 1));
    }
    const bool has = effect > c->rounding;
    const heed_verdict none = /* without a module, a table of zeros may still be trained */
        c->o.module == NULL ? HEED_VERDICT_UNKNOWN : HEED_VERDICT_FAILED;
    set(c, has ? HEED_VERDICT_PASSED : none, 0, "%s",
        has ? "the order of the tokens before it changes the last output, as positions should"
            : "the order of the tokens before it does not change the last output: positions have "
              "no effect (along the batch or the heads instead of the tokens, or not added)");
}

static void check_order(check *c)
{
    int64_t order[T_MOST]; /* odd tokens, then even ones: not symmetric */
    if (c->o.positions != HEED_POSITIONS_NONE) {
        check_positions(c);
        return;
    }
    for (int64_t i = 0; i < c->tokens; i++) {
        order[i] = 2 * i + 1 < c->tokens ? 2 * i + 1 : 2 * (i - c->tokens / 2);
    }
    const heed_tensor *y = outputs(c, reorder(c, c->x, order));
    double worst = 0;
    for (int64_t i = 0; i < c->tokens; i++) {
        worst = worse(worst, row_difference(c, y, i, c->y, order[i]));
    }
    judge(c, worst, c->rounding,
          "tokens in another order give other outputs: heads are split or merged by a reshape "
          "that mixes tokens, or there are positions (.positions) or a mask (.causal)",
          "tokens in another order give the same outputs in that order");
}

/* The largest difference between gradients dy_i/dx_j of allowed j, for all i, in gradient_unit; x
 * has equal tokens. */
static double worst_share(check *c, heed_tensor *x)
{
    double worst = 0, most = 0;
    for (int64_t i = 0; i < c->tokens; i++) {
        HEED_SCOPE(scope);
        const double *values = gradient_of_row(c, x, i);
        const int64_t d = x->shape[2];
        const double *first = NULL;
        for (int64_t j = 0; values != NULL && j < c->tokens; j++) {
            if (!sees(c, i, j)) {
                continue;
            }
            first = first == NULL ? values + j * d : first;
            for (int64_t k = 0; k < d; k++) {
                worst = worse(worst, fabs(values[j * d + k] - first[k]));
                most = worse(most, fabs(first[k]));
            }
        }
    }
    return worst / gradient_unit(c, most);
}

static void check_equal(check *c)
{
    heed_tensor *one = heed_narrow(c->x, 1, 0, 1);
    heed_tensor *same =
        heed_contiguous(heed_expand(one, HEED_SHAPE(c->x->shape[0], c->tokens, c->x->shape[2])));
    const heed_tensor *y = outputs(c, same);
    /* If one token does not fit, rows are compared with each other. */
    const heed_tensor *alone =
        c->o.block_mask == NULL && !failed(c, HEED_CHECK_LENGTH) ? outputs(c, one) : NULL;
    int64_t first = -1;
    double worst = 0;
    for (int64_t i = 0; i < c->tokens; i++) {
        if (c->allowed[i] != 0) { /* a row without keys has no weights */
            first = first < 0 ? i : first;
            const double off =
                difference(c, row(y, 0, i), alone != NULL ? row(alone, 0, 0) : row(y, 0, first));
            worst = worse(worst, off);
        }
    }
    if (is_more(worst, fmax(c->rounding, CLOSE))) {
        set(c, HEED_VERDICT_FAILED, worst,
            "equal tokens do not give what one of them gives: %sthe weights of a row do not sum to "
            "1 (softmax over another dim, a mask after it, none, a factor of T), or v has "
            "positions",
            failed(c, HEED_CHECK_REACH) ? "see reach; or " : "");
    } else if (c->o.block || c->o.layers > 1 || c->o.ids > 0 ||
               c->o.positions != HEED_POSITIONS_NONE) {
        set(c, HEED_VERDICT_PASSED, worst,
            "equal tokens give what one of them gives (shares of gradients: skipped, not a single "
            "layer of attention alone)");
    } else {
        judge(c, worst_share(c, same), fmax(c->rounding * 10, CLOSE),
              "equal tokens do not have equal shares of a gradient: the weights of a row do not "
              "sum to 1 (softmax over another dim), or y is more than attention (a residual, a "
              "gate: set .block)",
              "equal tokens give what one of them gives, and have equal shares");
    }
}

/* ---- length ---- */

static void check_length(check *c)
{
    const int64_t longest = c->o.longest;
    double worst = 0;
    for (int64_t t = 1; t <= longest; t = t < 2 * T_MOST || t == longest ? t + 1 : longest) {
        HEED_SCOPE(scope);
        const int64_t times = (t + c->tokens - 1) / c->tokens; /* the same tokens again */
        heed_tensor *x = heed_expand(heed_unsqueeze(c->x, 1), HEED_SHAPE(-1, times, -1, -1));
        x = heed_contiguous(heed_narrow(heed_flatten(x, 1, 2), 1, 0, t));
        const heed_tensor *y = outputs_if_any(c, x);
        if (y == NULL) {
            set(c, HEED_VERDICT_FAILED, 0, "T = %lld fails: %.150s", (long long)t,
                heed_error_message());
            heed_error();
            return;
        }
        for (int64_t i = 0; c->o.causal && i < t && i < c->tokens; i++) {
            worst = worse(worst, row_difference(c, y, i, c->y, i));
        }
        if (is_more(worst, c->rounding)) {
            set(c, HEED_VERDICT_FAILED, worst,
                "the first rows of T = %lld differ from those of T = %lld: outputs depend on the "
                "length (a scale, a mask aligned to the end, positions counted from the end)",
                (long long)t, (long long)c->tokens);
            return;
        }
    }
    set(c, HEED_VERDICT_PASSED, worst, "T from 1 to %lld%s", (long long)longest,
        c->o.causal ? "; a prefix has the same outputs" : "");
}

/* ---- padding ---- */

/* f(x) with padding; `mask` (B, T), true blocks. */
static heed_tensor *padded(const check *c, heed_tensor *x, heed_tensor *mask)
{
    heed_tensor *copy = copy_for_call(c, x), *mask_copy = copy_for_call(c, mask);
    const heed_callback outer = heed_callback_begin();
    heed_tensor *y = c->o.padded(copy, mask_copy, c->o.context);
    return plain(end_call(c, outer, ".padded", x, y));
}

static void check_padding(check *c)
{
    HEED_SCOPE_NO_GRAD(scope);
    const int64_t batch = c->x->shape[0];
    heed_tensor *mask = heed_zeros(HEED_SHAPE(batch, c->tokens), HEED_BOOL);
    int64_t length[2] = {0}; /* sequence b has tokens - 1 - b tokens; the rest is padding */
    for (int64_t b = 0; b < batch; b++) {
        length[b] = c->tokens - 1 - b > 0 ? c->tokens - 1 - b : 1;
        for (int64_t j = length[b]; j < c->tokens; j++) {
            heed_data_bool(mask)[b * c->tokens + j] = true;
        }
    }
    const heed_tensor *y = padded(c, c->x, mask);
    /* the last token of a causal sequence has an effect on its own row alone */
    const int64_t heard = length[0] - (c->o.causal ? 1 : 0);
    double leak = 0, others = 0, most = 0;
    int64_t dead = -1;
    for (int64_t j = 0; j < c->tokens; j++) { /* effects of token j on other rows, if it is kept */
        const heed_tensor *replaced = padded(c, replace_token(c->x, j, c->other), mask);
        double effect = 0;
        for (int64_t b = 0; b < batch; b++) {
            for (int64_t i = 0; i < length[b]; i++) {
                const double change = difference(c, row(replaced, b, i), row(y, b, i));
                leak = j >= length[b] ? worse(leak, change) : leak;
                effect =
                    j < length[b] && (i != j || length[b] == 1) ? worse(effect, change) : effect;
            }
        }
        most = worse(most, effect);
        dead = dead < 0 && j < heard && !(effect > c->least_effect) ? j : dead;
    }
    for (int64_t b = 0; b < batch && c->o.block_mask == NULL; b++) {
        const heed_tensor *without =
            outputs(c, heed_narrow(heed_narrow(c->x, 0, b, 1), 1, 0, length[b]));
        for (int64_t i = 0; i < length[b]; i++) {
            others = worse(others, difference(c, row(without, 0, i), row(y, b, i)));
        }
    }
    if (dead >= 0 && !is_more(most, c->least_effect)) {
        set(c, HEED_VERDICT_FAILED, leak,
            "tokens that are not padding have no effect: true and false are exchanged");
    } else if (is_more(leak, c->rounding)) {
        set(c, HEED_VERDICT_FAILED, leak,
            "values at padding change other rows: the mask is added as 0 and 1, applied to "
            "queries, or not applied");
    } else if (dead >= 0) {
        set(c, HEED_VERDICT_FAILED, leak,
            "token %lld, which is not padding, has no effect: one token too many is masked",
            (long long)dead);
    } else {
        judge(c, worse(leak, others), fmax(c->rounding, CLOSE),
              "rows differ from those without padding: the causal mask is dropped, or positions "
              "count the padding",
              "padding changes nothing, other tokens do");
    }
}

/* ---- parameters ---- */

/* A leaf that requires a gradient and is neither x nor a parameter; NULL if there is none. */
static const heed_tensor *unregistered(heed_tensor *y, const heed_tensor *x,
                                       heed_tensor_list parameters)
{
    const graph g = graph_of(y);
    const heed_tensor *found = NULL;
    for (int i = 0; i < g.count && found == NULL; i++) {
        const heed_tensor *t = g.tensors[i];
        if (t->op == NULL && t->requires_grad && t != x &&
            !heed_is_listed(parameters.tensors, parameters.count, t)) {
            found = t;
        }
    }
    return found;
}

/* Does y change if the parameter does? */
static bool has_effect(const check *c, heed_tensor *p)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *before = heed_clone(heed_detach(p));
    heed_copy_into(p, heed_add(before, heed_add_scalar(heed_abs(before), 0.1)));
    const heed_tensor *y = outputs(c, c->x);
    const bool has = is_more(worst_row(c, y), c->rounding);
    heed_copy_into(p, before);
    return has;
}

/* The largest element of each parameter's gradient. A softmax that x saturates hides it: smaller
 * inputs show it. */
static const double *slopes_of(const check *c, heed_tensor *const *trained, int count)
{
    double *each = heed_scratch((size_t)(count + 1) * sizeof *each);
    heed_tensor **grads = heed_scratch((size_t)(count + 1) * sizeof *grads);
    for (int s = 0; s < SCALES && count > 0; s++) {
        HEED_SCOPE(scope);
        heed_tensor *y = call(c, leaf_of(heed_mul_scalar(c->x, scales[s])));
        heed_grad(heed_sum(heed_mul(y, c->weights)), trained, count, grads, false);
        for (int i = 0; i < count; i++) {
            const double slope = largest(heed_const_data_f64(plain(grads[i])), trained[i]->numel);
            each[i] = s == 0 ? slope : worse(each[i], slope);
        }
    }
    return each;
}

static void check_parameters(check *c)
{
    const heed_tensor_list parameters = heed_parameters(c->o.module);
    heed_tensor *leaf = leaf_of(c->x);
    heed_tensor *y = call(c, leaf);
    const heed_tensor *stray = unregistered(y, leaf, parameters);
    if (!y->requires_grad) {
        set(c, HEED_VERDICT_FAILED, 0,
            "y has no graph: heed_detach, or a scope without gradients, cuts it");
        return;
    }
    if (stray != NULL) {
        set(c, HEED_VERDICT_FAILED, 0,
            "a tensor %s that requires a gradient is not registered in the module: no optimiser "
            "trains it, no file saves it",
            heed_shape_text(stray->ndim, stray->shape).text);
        return;
    }
    const graph used = graph_of(y);
    heed_tensor **trained = heed_scratch((size_t)(parameters.count + 1) * sizeof *trained);
    const char **names = heed_scratch((size_t)(parameters.count + 1) * sizeof *names);
    int count = 0;
    for (int i = 0; i < parameters.count; i++) {
        if (parameters.tensors[i]->requires_grad && parameters.tensors[i]->numel > 0) {
            names[count] = parameters.names[i];
            trained[count++] = parameters.tensors[i];
        }
    }
    const double *slopes = slopes_of(c, trained, count);
    const double least = largest(slopes, count) * (c->rounding > 1e-10 ? 2e-6 : 4e-15);
    for (int i = 0; i < count; i++) {
        heed_tensor *p = trained[i];
        const char *wrong = isnan(slopes[i]) ? "the gradient of %s has NaN" : NULL;
        if (slopes[i] <= least) {
            /* What y is computed with may have no effect: softmax cancels a bias of keys. */
            wrong = has_effect(c, p)
                        ? "%s changes y but receives no gradient: heed_detach, or data "
                          "read from its memory, cuts the graph"
                    : !heed_is_listed(used.tensors, used.count, p) || p->numel > c->o.d_model
                        ? "%s has neither a gradient nor an effect: it is not used"
                        : NULL;
        }
        if (wrong != NULL) {
            set(c, HEED_VERDICT_FAILED, slopes[i], wrong, names[i]);
            return;
        }
    }
    set(c, HEED_VERDICT_PASSED, 0, "each of %d receives a gradient", count);
}

/* ---- cache ---- */

static void check_cache(check *c)
{
    HEED_SCOPE_NO_GRAD(scope);
    double worst = 0;
    int64_t at = -1;
    for (int64_t n = 0; n < 2 * c->tokens && at < 0; n++) { /* two sequences, one after the other */
        const int64_t i = n % c->tokens;
        heed_tensor *all = n < c->tokens ? c->x : c->other;
        heed_tensor *x = heed_contiguous(heed_narrow(all, 1, i, 1));
        heed_tensor *copy = copy_for_call(c, x);
        const heed_callback outer = heed_callback_begin();
        heed_tensor *y = c->o.step(copy, i, c->o.context);
        y = plain(end_call(c, outer, ".step", x, y));
        worst = worse(worst, row_difference(c, y, 0, n < c->tokens ? c->y : outputs(c, all), i));
        at = is_more(worst, c->rounding) ? n : -1;
    }
    if (at < 0) {
        set(c, HEED_VERDICT_PASSED, worst, "one token at a time gives the same as all at once");
    } else if (at >= c->tokens) {
        set(c, HEED_VERDICT_FAILED, worst,
            "the second sequence differs: the cache of the one before is not cleared");
    } else {
        set(c, HEED_VERDICT_FAILED, worst, "token %lld with a cache differs: %s", (long long)at,
            at == 0 ? "a token must see itself: append its key and value before attending"
                    : "positions are off, the mask is aligned top-left, or old keys are lost");
    }
}

/* ---- formula ---- */

/* Of f, or of one of its parts. */
static heed_verdict judge_formula(check *c, void *module, const char **text)
{
    static const char *const texts[] = {
        [HEED_VERDICT_SKIPPED] = "no matrices that could be W_q, W_k and W_v are found",
        [HEED_VERDICT_PASSED] = "y is softmax(q k^T / sqrt(d_head)) v W_o^T",
        [HEED_VERDICT_FAILED] = "a known mistake gives the same y",
        [HEED_VERDICT_UNKNOWN] = ("y is not softmax(q k^T / sqrt(d_head)) v W_o^T, and no known "
                                  "mistake gives it")};
    const heed_attention_question question = {
        .o = &c->o,
        .module = module,
        .rounding = fmax(10 * c->rounding, CLOSE),
        .x = c->x,
        .y = c->y,
        .any_length =
            c->o.causal && c->report.checks[HEED_CHECK_LENGTH].verdict == HEED_VERDICT_PASSED,
        .context = c,
        .outputs = outputs_if_any};
    const char *why = NULL;
    const heed_verdict found =
        heed_attention_mistake(&question, &why, c->report.mistake, sizeof c->report.mistake);
    *text = found == HEED_VERDICT_FAILED || why == NULL ? texts[found] : why;
    return found;
}

/* Each part alone, with inputs of its own. */
static void check_parts(check *c)
{
    check part = *c;
    part.o.ids = 0;
    const heed_shape shape = HEED_SHAPE(c->x->shape[0], c->tokens, c->o.d_model);
    part.x = heed_to(heed_randn(shape, HEED_F64), c->dtype);
    part.other = heed_to(heed_randn(shape, HEED_F64), c->dtype);
    heed_verdict worst = HEED_VERDICT_PASSED;
    const char *text = "";
    for (int i = 0; c->o.parts[i].f != NULL && worst != HEED_VERDICT_FAILED; i++) {
        part.o.f = c->o.parts[i].f;
        part.o.context = c->o.parts[i].module;
        part.y = NULL;
        part.y = outputs(&part, part.x);
        const heed_verdict verdict = judge_formula(&part, c->o.parts[i].module, &text);
        if (verdict == HEED_VERDICT_FAILED || worst == HEED_VERDICT_PASSED) {
            worst = verdict;
            set(c, verdict, 0, "part %d: %s", i + 1, text);
            memcpy(c->report.mistake, part.report.mistake, sizeof part.report.mistake);
        }
    }
}

static void check_formula(check *c)
{
    const char *text = NULL;
    if (c->o.parts != NULL) {
        check_parts(c);
    } else {
        const heed_verdict found = judge_formula(c, c->o.module, &text);
        set(c, found, 0, "%s", text);
    }
}

/* ---- what is changed during the check, and restored ---- */

static struct mode *list_modes(heed_module *m, struct mode *next)
{
    struct mode *mode = heed_scratch(sizeof *mode);
    *mode = (struct mode){m, m->training, next};
    for (int i = 0; i < m->count; i++) {
        heed_module *child = m->entries[i].child;
        mode = child != NULL ? list_modes(child, mode) : mode;
    }
    return mode;
}

/* What give_back needs, in the open scope. Sets the module to eval. */
static borrowed borrow(heed_module *module)
{
    const heed_tensor_list state = heed_state_dict(module);
    borrowed b = {.modes = list_modes(module, NULL),
                  .state = heed_scratch((size_t)state.count * sizeof *b.state),
                  .count = state.count,
                  .list = module->lists[1]};
    for (int i = 0; i < state.count; i++) {
        heed_tensor *t = state.tensors[i];
        b.state[i] = (struct lent){t, heed_detach(t), t->grad};
    }
    for (int i = 0; i < state.count; i++) {
        heed_ref(b.state[i].tensor);
        if (b.state[i].grad != NULL) {
            heed_ref(b.state[i].grad);
        }
    }
    heed_eval(module);
    return b;
}

/* Gives the module's tensors other memory: f64 unless .f32. Parameters that are zero get values:
 * what must hold must hold for any, and an output projection that starts at 0 hides all mistakes.
 */
static void replace_values(const check *c, const borrowed *b)
{
    HEED_SCOPE_NO_GRAD(scope);
    for (int i = 0; i < b->count; i++) {
        heed_tensor *t = b->state[i].tensor, *value = heed_clone(heed_detach(t));
        value = heed_is_float(t->dtype) && !c->o.f32 ? heed_to(value, HEED_F64) : value;
        if (t->requires_grad && t->numel > 0 && heed_item(heed_amax(heed_abs(value))) == 0) {
            heed_normal_into(value, 0, 0.3);
        }
        heed_share_storage(t, value);
    }
}

static void give_back(const borrowed *b)
{
    for (int i = 0; i < b->count; i++) {
        const struct lent *lent = &b->state[i];
        heed_share_storage(lent->tensor, lent->value);
        heed_replace_grad(lent->tensor, lent->grad);
        heed_unref(lent->tensor);
    }
    for (const struct mode *mode = b->modes; mode != NULL; mode = mode->next) {
        mode->module->training = mode->training;
    }
}

/* ---- all checks ---- */

/* Why a check does not apply; NULL: it does. */
static const char *why_skipped(const check *c)
{
    const heed_attention_check_args *o = &c->o;
    const bool masked = o->block_mask != NULL, placed = o->positions != HEED_POSITIONS_NONE;
    const bool many =
        o->block || o->layers > 1 || o->extra_keys || o->positions == HEED_POSITIONS_ABSOLUTE;
    const bool can_order = !masked && (placed ? c->tokens > 2 : !o->causal && c->tokens > 1);
    const bool can_equal =
        !o->extra_keys && o->positions != HEED_POSITIONS_ABSOLUTE && c->tokens > 1;
    const char *const why[HEED_ATTENTION_CHECKS] = {
        [HEED_CHECK_BATCH] = o->unbatched ? "no batch (.unbatched)" : NULL,
        [HEED_CHECK_ORDER] =
            can_order ? NULL : "needs two tokens and no mask, or three and positions",
        [HEED_CHECK_EQUAL] =
            can_equal ? NULL : "needs two tokens, no absolute positions and no extra keys",
        [HEED_CHECK_LENGTH] = masked ? "the mask has one length" : NULL,
        [HEED_CHECK_PADDING] = o->padded == NULL || c->tokens < 2 ? "no .padded" : NULL,
        [HEED_CHECK_PARAMETERS] = o->module == NULL ? "no .module"
                                  : c->tokens < 3
                                      ? "needs three tokens: with one, q and k learn nothing"
                                      : NULL,
        [HEED_CHECK_CACHE] = o->step == NULL ? "no .step"
                             : o->causal     ? NULL
                                             : "a cache needs .causal",
        [HEED_CHECK_FORMULA] = o->module == NULL                         ? "no .module"
                               : o->parts != NULL && o->parts->f == NULL ? ".parts is empty"
                               : many && o->parts == NULL
                                   ? "needs attention alone: check what is inside with .parts"
                                   : NULL};
    return why[c->which];
}

static void run_checks(void *context)
{
    check *c = context;
    if (c->o.module != NULL) {
        replace_values(c, &c->lent);
    }
    heed_set_grad_enabled(true);
    heed_manual_seed(c->o.seed);
    const int64_t ids = c->o.ids, batch = c->o.unbatched ? 1 : 2;
    const heed_shape shape = HEED_SHAPE(batch, c->tokens, ids > 0 ? 1 : c->o.d_model);
    heed_tensor *x = ids > 0 ? heed_randint(0, ids, shape) : heed_randn(shape, HEED_F64);
    heed_tensor *other = ids > 0 ? heed_randint(1, ids, shape) : heed_randn(shape, HEED_F64);
    if (ids > 0) { /* other ids */
        other = heed_add(x, other);
        other = heed_where(heed_ge_scalar(other, (double)ids), heed_sub_scalar(other, (double)ids),
                           other);
    }
    c->x = heed_to(x, c->dtype);
    c->other = heed_to(other, c->dtype);
    c->generator = heed_get_generator();
    c->y = outputs(c, c->x);
    c->scale = worse(NO_SCALE, largest(row(c->y, 0, 0), c->y->numel));
    c->rounding = c->dtype == HEED_F32 || computes_in_f32(c) ? 1e-4 : 1e-10;
    c->least_effect = fmax(LEAST_EFFECT, c->rounding / 10);
    heed_set_generator(&c->generator);
    c->weights = heed_to(heed_randn(heed_shape_of_tensor(c->y), c->y->dtype), c->dtype);
    check_repeat(c);
    const bool repeats = c->report.checks[HEED_CHECK_REPEAT].verdict == HEED_VERDICT_PASSED;
    static const struct {
        heed_attention_checks which;
        void (*run)(check *c);
    } checks[] = {{HEED_CHECK_BATCH, check_batch},     {HEED_CHECK_VALUES, NULL /* with reach */},
                  {HEED_CHECK_REACH, check_reach},     {HEED_CHECK_ORDER, check_order},
                  {HEED_CHECK_LENGTH, check_length},   {HEED_CHECK_EQUAL, check_equal},
                  {HEED_CHECK_PADDING, check_padding}, {HEED_CHECK_PARAMETERS, check_parameters},
                  {HEED_CHECK_CACHE, check_cache},     {HEED_CHECK_FORMULA, check_formula}};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        c->which = checks[i].which;
        /* The formula names an inverted mask, which closes a row. */
        const bool can = repeats || (c->which == HEED_CHECK_FORMULA && !isfinite(c->scale));
        const char *why = can ? why_skipped(c) : "needs finite outputs without randomness";
        if (why != NULL) {
            set(c, HEED_VERDICT_SKIPPED, 0, "%s", why);
        } else if (checks[i].run != NULL) {
            checks[i].run(c);
        }
    }
}

static void check_options(heed_attention_check_args *o)
{
    const heed_tensor *mask = o->block_mask;
    o->heads = o->heads == 0 ? 1 : o->heads;
    o->layers = o->layers == 0 ? 1 : o->layers;
    o->longest = o->longest == 0 ? T_MOST : o->longest;
    o->seed = o->seed == 0 ? 1 : o->seed;
    if (o->f == NULL) {
        heed_raise(HEED_ERR_NULL, "attention_check: no function to check");
    }
    if (o->d_model < 1 || o->heads < 1 || o->layers < 1 || o->longest < 1) {
        heed_raise(HEED_ERR_VALUE,
                   "attention_check: .d_model is %lld, .heads %d, .layers %d, .longest %lld; "
                   "all must be positive",
                   (long long)o->d_model, o->heads, o->layers, (long long)o->longest);
    }
    if (o->ids < 0 || o->ids == 1) {
        heed_raise(HEED_ERR_VALUE, "attention_check: .ids is %lld; other tokens need 2 ids or more",
                   (long long)o->ids);
    }
    if (mask != NULL &&
        (mask->dtype != HEED_BOOL || mask->ndim != 2 || mask->shape[0] != mask->shape[1] ||
         mask->shape[0] < 1 || mask->shape[0] > T_MOST)) {
        heed_raise(HEED_ERR_SHAPE,
                   "attention_check: .block_mask %s %s must be bool (T, T) with T from 1 to %d",
                   heed_shape_text(mask->ndim, mask->shape).text, heed_dtype_name(mask->dtype),
                   T_MOST);
    }
    if (mask != NULL && o->causal) {
        heed_raise(HEED_ERR_VALUE, "attention_check: give .causal or .block_mask, not both");
    }
    if (o->module != NULL) {
        heed_module_check("attention_check", o->module);
    }
    for (const heed_attention_part *part = o->parts; part != NULL && part->f != NULL; part++) {
        heed_module_check("attention_check: .parts", part->module);
    }
}

heed_status(heed_attention_check)(heed_attention_check_args args)
{
    HEED_DOOR(heed_self.error);
    HEED_SCOPE_NO_GRAD(scope);
    check c = {.o = args};
    char message[1000];
    check_options(&c.o);
    c.dtype = c.o.module != NULL && !c.o.f32 ? HEED_F64 : HEED_F32;
    c.tokens = c.o.block_mask != NULL ? c.o.block_mask->shape[0]
               : c.o.longest < T_MOST ? c.o.longest
                                      : T_MOST;
    c.report.tokens = (int)c.tokens;
    const heed_generator generator = heed_get_generator();
    if (c.o.module != NULL) {
        c.lent = borrow(c.o.module);
    }
    heed_try(run_checks, &c);
    if (c.o.module != NULL) {
        give_back(&c.lent);
    }
    heed_set_generator(&generator);
    if (heed_blocked() && strncmp(heed_error_message(), "attention_check: ", 17) != 0) {
        snprintf(message, sizeof message, "%s", heed_error_message());
        const heed_status status = heed_error();
        heed_raise(status, "attention_check: f failed: %s%s", message,
                   status == HEED_ERR_DTYPE && c.dtype == HEED_F64
                       ? " (the module is cast to f64: f must create tensors with x's dtype, and "
                         "all parameters must be registered; or set .f32)"
                       : "");
    }
    heed_pass_on();
    c.report.passed = true;
    for (int i = HEED_ATTENTION_CHECKS - 1; i >= 0; i--) {
        if (failed(&c, (heed_attention_checks)i)) {
            c.report.passed = false;
            snprintf(message, sizeof message, "%s", c.report.checks[i].text);
        }
    }
    if (args.stream != NULL) {
        heed_attention_report_print(args.stream, &c.report);
    }
    if (args.report != NULL) {
        *args.report = c.report;
    }
    return c.report.passed ? HEED_OK
                           : heed_fail(HEED_ERR_CHECK, "attention_check: %s",
                                       c.report.mistake[0] != '\0' ? c.report.mistake : message);
}
