/* The checks of heed_attention_check. What is tried if the formula does not hold:
 * attention_mistakes.c; the report: attention_report.c. */

#include "check.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { T_MOST = HEED_CHECK_TOKENS };

/* What the check changes in a module, and puts back: flags, and tensors of the state dict. */
struct mode {
    heed_module *module;
    bool training;
    struct mode *next;
};
struct lent {
    heed_tensor *tensor, *value, *grad; /* `value` is a view; grad may be NULL */
};

typedef struct check {
    heed_attention_check_args o;
    heed_attention_report report;
    struct mode *modes; /* of the module and its descendants */
    struct lent *lent;
    int lent_count;
    const struct heed_named_tensors *list; /* the state dict, until the module changes */
    heed_attention_checks which;           /* the check that runs */
    heed_generator generator;              /* at the beginning of each call */
    heed_dtype dtype;                      /* of inputs */
    int64_t tokens;
    double rounding;                 /* relative differences up to this are rounding */
    double least_effect;             /* relative effects up to this are none */
    heed_tensor *x, *other;          /* (B, T, d_model): inputs, and what tokens are replaced by */
    heed_tensor *y;                  /* f(x), f64 (B, T, width), without a graph */
    double scale;                    /* its largest magnitude; NO_SCALE if it is 0 */
    bool guesses_heads;              /* .heads is 0 */
    heed_tensor *weights;            /* of y in a loss: random */
    unsigned allowed[T_MOST];        /* bits: the tokens that a row may see */
    double by_value[T_MOST][T_MOST]; /* effects of replacing token j on row i, relative to y */
} check;

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

/* Notes an option that is not given. */
static void assume(check *c, const char *option)
{
    const size_t length = strlen(c->report.assumed);
    snprintf(c->report.assumed + length, sizeof c->report.assumed - length, "%s%s",
             length > 0 ? "; " : "", option);
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

/* ---- calling f ---- */

/* A copy, which functions may change in place. Of token ids, x has a feature. */
static heed_tensor *copy_for_call(const check *c, heed_tensor *x)
{
    x = c->o.ids > 0 && heed_is_float(x->dtype) ? heed_to(heed_squeeze(x, 2), HEED_I64)
                                                : heed_clone(x);
    return c->o.unbatched ? heed_squeeze(x, 0) : x;
}

/* f(x), .padded(x, mask) if there is a mask, or .step(x, position) if that is not negative: y of
 * (B, T, width), whether or not the function is called with a batch. */
static heed_tensor *call_with(const check *c, heed_tensor *x, heed_tensor *mask, int64_t position)
{
    const char *name = mask != NULL ? ".padded" : position >= 0 ? ".step" : "f";
    heed_tensor *copy = copy_for_call(c, x), *mask_copy = mask ? copy_for_call(c, mask) : NULL;
    heed_set_generator(&c->generator);
    const heed_callback outer = heed_callback_begin();
    heed_tensor *y = mask != NULL    ? c->o.padded(copy, mask_copy, c->o.context)
                     : position >= 0 ? c->o.step(copy, position, c->o.context)
                                     : c->o.f(copy, c->o.context);
    const bool is_open = heed_self.depth != heed_self.outermost;
    heed_callback_end(outer);
    if (y == NULL || heed_blocked()) { /* an error reported by the function takes precedence */
        heed_raise(HEED_ERR_NULL, "attention_check: %s returned NULL without an error", name);
    }
    if (is_open) {
        heed_raise(HEED_ERR_SCOPE, "attention_check: %s leaves a scope open", name);
    }
    if (c->o.module != NULL && ((heed_module *)c->o.module)->lists[1] != c->list) {
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
    y = c->o.unbatched ? heed_unsqueeze(y, 0) : y;
    const bool is_other = c->y != NULL && y->ndim == 3 && y->shape[2] != c->y->shape[2];
    if (y->ndim != 3 || y->shape[0] != x->shape[0] || y->shape[1] != x->shape[1] ||
        y->shape[2] == 0 || !heed_is_float(y->dtype) || is_other) {
        heed_raise(
            HEED_ERR_SHAPE,
            "attention_check: %s gave %s %s for x %s; expected floats (%lld, %lld, any width)%s",
            name, HEED_TEXT(y), heed_dtype_name(y->dtype), HEED_TEXT(x), (long long)x->shape[0],
            (long long)x->shape[1],
            is_other ? ", the same for each T: are these the weights? Return the outputs" : "");
    }
    return y;
}

static heed_tensor *call(const check *c, heed_tensor *x)
{
    return call_with(c, x, NULL, -1);
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
    if (status == HEED_ERR_MEMORY || strstr(heed_error_message(), "the weights?") != NULL) {
        heed_jump();
    }
    return status == HEED_OK ? a.y : NULL;
}

static heed_tensor *leaf_of(heed_tensor *x)
{
    return heed_set_requires_grad(heed_clone(heed_detach(x)), true);
}

/* The tensors of y's graph, y first; of a huge graph those nearest to y. */
static heed_tensor_list graph_of(heed_tensor *y)
{
    enum { MOST_LISTED = 10000 };
    heed_tensor **all = heed_scratch(MOST_LISTED * sizeof(heed_tensor *));
    heed_tensor_list list = {.tensors = all, .count = 1};
    all[0] = y;
    for (int i = 0; i < list.count; i++) {
        for (int j = 0; j < all[i]->input_count; j++) {
            heed_tensor *input = all[i]->inputs[j];
            if (list.count < MOST_LISTED && !heed_is_listed(all, list.count, input)) {
                all[list.count++] = input;
            }
        }
    }
    return list;
}

/* Does f cast to f32, for its softmax for example? Then its rounding is that of f32. */
static bool computes_in_f32(const check *c)
{
    HEED_SCOPE(scope);
    const heed_tensor_list graph = graph_of(call(c, leaf_of(c->x)));
    bool found = false;
    for (int i = 0; i < graph.count; i++) {
        found = found || graph.tensors[i]->dtype == HEED_F32;
    }
    return found;
}

/* f is more than one attention. */
static bool is_more_than_one(const check *c)
{
    return c->o.block || c->o.layers > 1 || c->o.extra_keys || c->o.ids > 0 ||
           c->o.positions == HEED_POSITIONS_ABSOLUTE;
}

/* ---- comparing rows ---- */

/* The larger one; NaN if one is NaN, unlike fmax. */
static double worse(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

/* The largest magnitude; NaN if there is one. */
static double largest(heed_tensor *t)
{
    HEED_SCOPE_NO_GRAD(scope);
    return heed_item(heed_amax(heed_abs(t)));
}

/* The largest difference of two outputs, relative to the largest element of y. */
static double difference(const check *c, heed_tensor *a, heed_tensor *b)
{
    HEED_SCOPE_NO_GRAD(scope);
    return largest(heed_sub(a, b)) / c->scale;
}

/* That of row i of one and row j of the other. */
static double row_difference(const check *c, heed_tensor *a, int64_t i, heed_tensor *b, int64_t j)
{
    HEED_SCOPE_NO_GRAD(scope);
    return difference(c, heed_select(a, 1, i), heed_select(b, 1, j));
}

/* What gradients are relative to: the largest of them. If all of them are far below y, they may be
 * rounding, and their quotients would be arbitrary. */
static double gradient_unit(const check *c, double most)
{
    return worse(most, 0.01 * c->scale);
}

/* x with token j replaced by that of `by` (B, T, d). */
static heed_tensor *replace_token(heed_tensor *x, int64_t j, heed_tensor *by)
{
    heed_tensor *parts[] = {heed_slice(x, 1, 0, j, 1), heed_narrow(by, 1, j, 1),
                            heed_slice(x, 1, j + 1, x->shape[1], 1)};
    return heed_cat(parts, 3, 1);
}

/* ---- repeat, batch ---- */

static void check_repeat(check *c)
{
    if (!isfinite(c->scale)) {
        set(c, HEED_VERDICT_FAILED, (double)NAN,
            "y has NaN or infinity: a row that is blocked everywhere, mask values that overflow, "
            "or -inf filled in after the softmax");
        return;
    }
    const double worst = difference(c, outputs(c, c->x), c->y);
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
    const double random = difference(c, outputs(c, c->x), c->y);
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
    heed_tensor *y = outputs(c, heed_cat(parts, 2, 0));
    heed_tensor *turned = outputs(c, heed_flip(c->x, HEED_DIMS(0)));
    const double worst = difference(c, heed_select(y, 0, 0), heed_select(c->y, 0, 0));
    const double moved = difference(c, heed_select(turned, 0, 0), heed_select(c->y, 0, 1));
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
    unsigned seen[2][T_MOST], before[2][T_MOST]; /* at least, at most */
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const bool allowed = mask != NULL ? !mask[i * n + j] : !c->o.causal || j <= i;
            c->allowed[i] |= (unsigned)allowed << j;
        }
        seen[0][i] = c->allowed[i];
        seen[1][i] = c->allowed[i] | 1U << i;
    }
    for (int layer = 1; layer < c->o.layers; layer++) {
        memcpy(before, seen, sizeof before);
        for (int64_t i = 0; i < n; i++) {
            seen[0][i] = 0;
            for (int64_t j = 0; j < n; j++) {
                seen[0][i] |= sees(c, i, j) ? before[0][j] : 0;
                seen[1][i] |= sees(c, i, j) ? before[1][j] : 0;
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            c->report.expected[i][j] = seen[0][i] >> j & 1 ? '#' : seen[1][i] >> j & 1 ? '?' : '.';
        }
    }
}

/* The gradient of row i of y, weighted at random, with respect to x; zeros if y has no graph. */
static heed_tensor *gradient_of_row(const check *c, heed_tensor *x, int64_t i)
{
    heed_tensor *leaf = leaf_of(x), *y = call(c, leaf), *g = leaf;
    if (!y->requires_grad) {
        return heed_zeros_like(plain(x));
    }
    heed_grad(heed_sum(heed_select(heed_mul(y, c->weights), 1, i)), &leaf, 1, &g, false);
    return plain(g);
}

/* Names the first wrong pair, and counts them. Effects of values show leaks only: a saturated
 * softmax, which hides pairs, is not scaled down there. */
static void judge_effects(check *c)
{
    const bool by_value = c->which == HEED_CHECK_VALUES;
    double(*effect)[T_MOST] = by_value ? c->by_value : c->report.reach;
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

/* Replaces each token. Among small inputs, large tokens of either sign replace it too: they change
 * a maximum over all tokens, and what is saturated for larger inputs. */
static void find_value_effects(check *c)
{
    static const double sizes[] = {1, 0.1, 0.1}, signs[] = {1, 1, -1};
    for (int way = 0; way < (c->o.ids > 0 ? 1 : 3); way++) {
        HEED_SCOPE(scope);
        heed_tensor *x = heed_mul_scalar(c->x, sizes[way]);
        heed_tensor *by = heed_mul_scalar(c->other, signs[way]);
        heed_tensor *before = outputs(c, x);
        for (int64_t j = 0; j < c->tokens; j++) {
            HEED_SCOPE(one);
            heed_tensor *y = outputs(c, replace_token(x, j, by));
            for (int64_t i = 0; i < c->tokens; i++) {
                double *effect = &c->by_value[i][j];
                *effect = worse(*effect, row_difference(c, y, i, before, i));
            }
        }
    }
}

static void check_reach(check *c)
{
    const bool has_ids = c->o.ids > 0; /* they have no gradient */
    double largest_norm = 0;
    bool all = has_ids;
    for (int s = 0; s < SCALES && !all; s++) {
        HEED_SCOPE(scope);
        heed_tensor *x = heed_mul_scalar(c->x, scales[s]);
        double norms[T_MOST][T_MOST]; /* of gradients, over the batch */
        all = true;
        for (int64_t i = 0; i < c->tokens; i++) {
            heed_tensor *squares = heed_square(gradient_of_row(c, x, i));
            for (int64_t j = 0; j < c->tokens; j++) {
                norms[i][j] = sqrt(heed_item(heed_sum(heed_narrow(squares, 1, j, 1))));
                largest_norm = worse(largest_norm, norms[i][j]);
            }
        }
        for (int64_t i = 0; i < c->tokens; i++) {
            for (int64_t j = 0; j < c->tokens; j++) {
                double *to = &c->report.reach[i][j];
                *to = worse(*to, norms[i][j] / gradient_unit(c, largest_norm));
                all = all && (c->report.expected[i][j] != '#' || *to > c->least_effect);
            }
        }
    }
    if (!has_ids && !is_more(largest_norm / gradient_unit(c, largest_norm), c->least_effect)) {
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
            double *to = &c->report.reach[i][j];
            const bool is_dead = c->report.expected[i][j] == '#' && !(*to > c->least_effect);
            *to = has_ids || is_dead ? c->by_value[i][j] : *to;
        }
    }
    judge_effects(c);
}

/* ---- order, equal ---- */

/* x with all tokens but the last in reverse order; of two, both. */
static heed_tensor *reorder(heed_tensor *x)
{
    const int64_t n = x->shape[1], before = n > 2 ? n - 1 : n;
    heed_tensor *parts[] = {heed_flip(heed_narrow(x, 1, 0, before), HEED_DIMS(1)),
                            heed_slice(x, 1, before, n, 1)};
    return heed_cat(parts, 2, 1);
}

/* Does the order of the tokens before it change the last output? */
static bool order_matters(const check *c)
{
    const int64_t last = c->tokens - 1;
    bool has = false;
    for (int s = 0; s < SCALES && !has && last > 1 && c->o.block_mask == NULL; s++) {
        HEED_SCOPE(scope);
        heed_tensor *x = heed_mul_scalar(c->x, scales[s]), *y = outputs(c, x);
        has = row_difference(c, outputs(c, reorder(x)), last, y, last) > c->rounding;
    }
    return has;
}

static void check_order(check *c)
{
    if (c->o.positions != HEED_POSITIONS_NONE) {
        const bool has = order_matters(c);
        const heed_verdict none = /* without a module, a table of zeros may still be trained */
            c->o.module == NULL ? HEED_VERDICT_UNKNOWN : HEED_VERDICT_FAILED;
        set(c, has ? HEED_VERDICT_PASSED : none, 0, "%s",
            has ? "the order of the tokens before it changes the last output, as positions should"
                : "the order of the tokens before it does not change the last output: positions "
                  "have no effect (along the batch or the heads, on q alone, or not added)");
        return;
    }
    judge(c, difference(c, outputs(c, reorder(c->x)), reorder(c->y)), c->rounding,
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
        heed_tensor *g = gradient_of_row(c, x, i), *first = NULL;
        for (int64_t j = 0; j < c->tokens; j++) {
            if (sees(c, i, j)) {
                heed_tensor *share = heed_narrow(g, 1, j, 1);
                first = first == NULL ? share : first;
                worst = worse(worst, largest(heed_sub(share, first)));
                most = worse(most, largest(first));
            }
        }
    }
    return worst / gradient_unit(c, most);
}

static heed_tensor *equal_tokens(const check *c)
{
    return heed_contiguous(heed_expand(heed_narrow(c->x, 1, 0, 1), heed_shape_of_tensor(c->x)));
}

static void check_equal(check *c)
{
    heed_tensor *same = equal_tokens(c), *one = heed_narrow(same, 1, 0, 1);
    heed_tensor *y = outputs(c, same), *other = NULL;
    /* If one token does not fit, rows are compared with each other. */
    if (c->o.block_mask == NULL && (other = outputs_if_any(c, one)) == NULL) {
        heed_error();
    }
    double worst = 0;
    for (int64_t i = 0; i < c->tokens; i++) {
        if (c->allowed[i] != 0) { /* a row without keys has no weights */
            other = other == NULL ? heed_narrow(y, 1, i, 1) : other;
            worst = worse(worst, row_difference(c, y, i, other, 0));
        }
    }
    if (is_more(worst, fmax(c->rounding, CLOSE))) {
        set(c, HEED_VERDICT_FAILED, worst,
            "equal tokens do not give what one of them gives: %sthe weights of a row do not sum to "
            "1 (softmax over another dim, a mask after it, none, a factor of T), or v has "
            "positions",
            c->report.checks[HEED_CHECK_REACH].verdict == HEED_VERDICT_FAILED ? "see reach; or "
                                                                              : "");
    } else if (is_more_than_one(c) || c->o.positions != HEED_POSITIONS_NONE) {
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
        heed_tensor *y = outputs_if_any(c, x);
        if (y == NULL) {
            set(c, HEED_VERDICT_FAILED, 0, "T = %lld fails: %.150s", (long long)t,
                heed_error_message());
            heed_error();
            return;
        }
        const int64_t both = t < c->tokens ? t : c->tokens;
        if (c->o.causal) {
            worst = worse(worst,
                          difference(c, heed_narrow(y, 1, 0, both), heed_narrow(c->y, 1, 0, both)));
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

static void check_padding(check *c)
{
    HEED_SCOPE_NO_GRAD(scope);
    const int64_t batch = c->x->shape[0];
    int64_t length[2] = {0}; /* sequence b has tokens - 1 - b tokens; the rest is padding */
    for (int64_t b = 0; b < batch; b++) {
        length[b] = c->tokens - 1 - b > 0 ? c->tokens - 1 - b : 1;
    }
    heed_tensor *lengths = heed_from_i64(length, HEED_SHAPE(batch));
    heed_tensor *mask = heed_squeeze(heed_padding_block_mask(lengths, c->tokens), 1);
    heed_tensor *y = plain(call_with(c, c->x, mask, -1));
    /* the last token of a causal sequence has an effect on its own row alone */
    const int64_t heard = length[0] - (c->o.causal ? 1 : 0);
    double leak = 0, others = 0, most = 0;
    int64_t dead = -1;
    for (int64_t j = 0; j < c->tokens; j++) { /* effects of token j on other rows, if it is kept */
        heed_tensor *x = replace_token(c->x, j, c->other);
        heed_tensor *change = heed_sub(plain(call_with(c, x, mask, -1)), y);
        double effect = 0;
        for (int64_t b = 0; b < batch; b++) {
            for (int64_t i = 0; i < length[b]; i++) {
                const double of_row =
                    largest(heed_select(heed_select(change, 0, b), 0, i)) / c->scale;
                leak = j >= length[b] ? worse(leak, of_row) : leak;
                effect =
                    j < length[b] && (i != j || length[b] == 1) ? worse(effect, of_row) : effect;
            }
        }
        most = worse(most, effect);
        dead = dead < 0 && j < heard && !(effect > c->least_effect) ? j : dead;
    }
    for (int64_t b = 0; b < batch && c->o.block_mask == NULL; b++) {
        heed_tensor *x = heed_narrow(heed_narrow(c->x, 0, b, 1), 1, 0, length[b]);
        heed_tensor *kept = heed_narrow(heed_narrow(y, 0, b, 1), 1, 0, length[b]);
        others = worse(others, difference(c, outputs(c, x), kept));
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

/* Does y change if the parameter does? */
static bool has_effect(const check *c, heed_tensor *p)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *before = heed_clone(heed_detach(p));
    heed_copy_into(p, heed_add(before, heed_add_scalar(heed_abs(before), 0.1)));
    const bool has = is_more(difference(c, outputs(c, c->x), c->y), c->rounding);
    heed_copy_into(p, before);
    return has;
}

/* The largest element of each parameter's gradient, and of all. A softmax that x saturates hides
 * it: smaller inputs show it. */
static const double *slopes_of(const check *c, heed_tensor *const *trained, int count)
{
    double *each = heed_scratch((size_t)(count + 1) * sizeof *each);
    heed_tensor **grads = heed_scratch((size_t)(count + 1) * sizeof *grads);
    memset(each, 0, (size_t)(count + 1) * sizeof *each);
    for (int s = 0; s < SCALES && count > 0; s++) {
        HEED_SCOPE(scope);
        heed_tensor *y = call(c, leaf_of(heed_mul_scalar(c->x, scales[s])));
        heed_grad(heed_sum(heed_mul(y, c->weights)), trained, count, grads, false);
        for (int i = 0; i < count; i++) {
            each[i] = worse(each[i], largest(plain(grads[i])));
            each[count] = worse(each[count], each[i]);
        }
    }
    return each;
}

static void check_parameters(check *c)
{
    const heed_tensor_list parameters = heed_parameters(c->o.module);
    heed_tensor *leaf = leaf_of(c->x), *y = call(c, leaf);
    if (!y->requires_grad) {
        set(c, HEED_VERDICT_FAILED, 0,
            "y has no graph: heed_detach, or a scope without gradients, cuts it");
        return;
    }
    const heed_tensor_list used = graph_of(y);
    for (int i = 0; i < used.count; i++) {
        const heed_tensor *t = used.tensors[i];
        if (t->op == NULL && t->requires_grad && t != leaf &&
            !heed_is_listed(parameters.tensors, parameters.count, t)) {
            set(c, HEED_VERDICT_FAILED, 0,
                "a tensor %s that requires a gradient is not registered in the module: no "
                "optimiser trains it, no file saves it",
                heed_shape_text(t->ndim, t->shape).text);
            return;
        }
    }
    heed_tensor **trained = heed_scratch((size_t)(parameters.count + 1) * sizeof *trained);
    const char **names = heed_scratch((size_t)(parameters.count + 1) * sizeof *names);
    int count = 0;
    for (int i = 0; i < parameters.count; i++) {
        names[count] = parameters.names[i];
        trained[count] = parameters.tensors[i];
        count += trained[count]->requires_grad && trained[count]->numel > 0;
    }
    const double *slopes = slopes_of(c, trained, count);
    const double least = slopes[count] * (c->rounding > 1e-10 ? 2e-6 : 4e-15);
    for (int i = 0; i < count; i++) {
        heed_tensor *p = trained[i];
        const char *wrong = isnan(slopes[i]) ? "the gradient of %s has NaN" : NULL;
        if (slopes[i] <= least) {
            /* What y is computed with may have no effect: softmax cancels a bias of keys. */
            wrong = has_effect(c, p)
                        ? "%s changes y but receives no gradient: heed_detach, or data "
                          "read from its memory, cuts the graph"
                    : !heed_is_listed(used.tensors, used.count, p) ||
                            (p->ndim > 1 && p->numel > c->o.d_model)
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
        heed_tensor *y = plain(call_with(c, x, NULL, i));
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

static bool is_proven(heed_verdict verdict)
{
    return verdict == HEED_VERDICT_PASSED || verdict == HEED_VERDICT_FAILED;
}

/* Of f, or of one of its parts. If .heads is not given and one head proves nothing, others may. */
static heed_verdict judge_formula(check *c, void *module, const char **text)
{
    static const char *const texts[] = {
        [HEED_VERDICT_SKIPPED] =
            "no matrices have the shapes of W_q, W_k and W_v for .d_model and .heads",
        [HEED_VERDICT_PASSED] = "y is softmax(q k^T / sqrt(d_head)) v W_o^T",
        [HEED_VERDICT_FAILED] = "a known mistake gives the same y",
        [HEED_VERDICT_UNKNOWN] = ("the matrices that are found do not give y by softmax(q k^T / "
                                  "sqrt(d_head)) v W_o^T, nor by a known mistake")};
    heed_attention_question question = {.o = &c->o,
                                        .module = module,
                                        .rounding = fmax(10 * c->rounding, CLOSE),
                                        .x = c->x,
                                        .y = c->y,
                                        .report = &c->report,
                                        .context = c,
                                        .outputs = outputs_if_any};
    const char *why = NULL;
    const heed_verdict found = heed_attention_mistake(&question, &why);
    for (int heads = 2; c->guesses_heads && !is_proven(found) && heads <= 64; heads++) {
        c->o.heads = heads;
        question.brief = true;
        if (c->o.d_model % heads == 0 && is_proven(heed_attention_mistake(&question, &why))) {
            c->guesses_heads = false;
            char option[80];
            snprintf(option, sizeof option,
                     ".heads = %d: so y is the formula, or one with a known mistake", heads);
            assume(c, option);
            return judge_formula(c, module, text);
        }
    }
    c->o.heads = c->guesses_heads ? 1 : c->o.heads;
    *text = found == HEED_VERDICT_FAILED || why == NULL ? texts[found] : why;
    return found;
}

/* Of f, or of each part alone, with inputs of its own. */
static void check_formula(check *c)
{
    const char *text = "";
    heed_verdict worst = HEED_VERDICT_PASSED;
    if (c->o.parts == NULL) {
        worst = judge_formula(c, c->o.module, &text);
        set(c, worst, 0, "%s", text);
        return;
    }
    check part = *c;
    part.o.ids = 0;
    const heed_shape shape = HEED_SHAPE(c->x->shape[0], c->tokens, c->o.d_model);
    part.x = heed_to(heed_randn(shape, HEED_F64), c->dtype);
    for (int i = 0; c->o.parts[i].f != NULL && worst != HEED_VERDICT_FAILED; i++) {
        part.o.f = c->o.parts[i].f;
        part.o.context = c->o.parts[i].module;
        part.y = NULL;
        part.y = outputs(&part, part.x);
        const bool is_head = heed_size(part.y, 2) * c->o.heads == c->o.d_model;
        part.o.heads = c->guesses_heads ? part.o.heads : is_head ? 1 : c->o.heads;
        const heed_verdict verdict = judge_formula(&part, c->o.parts[i].module, &text);
        if (verdict == HEED_VERDICT_FAILED || worst == HEED_VERDICT_PASSED) {
            worst = verdict;
            set(c, verdict, 0, "part %d: %s", i + 1, text);
            memcpy(c->report.mistake, part.report.mistake, sizeof part.report.mistake);
        }
    }
    memcpy(c->report.assumed, part.report.assumed, sizeof part.report.assumed);
}

/* ---- options that are not given ---- */

/* Options that the outputs show. */
static void guess(check *c)
{
    bool is_causal = !c->o.causal && c->o.block_mask == NULL && c->tokens > 2;
    for (int64_t i = 0; i < c->tokens; i++) {
        for (int64_t j = 0; j < c->tokens; j++) {
            const double effect = c->by_value[i][j];
            is_causal = is_causal && (j > i ? effect == 0 : effect > c->least_effect);
        }
    }
    if (is_causal) {
        c->o.causal = true;
        assume(c, ".causal: exactly the later tokens have no effect");
    }
    const char *text;
    check alone = *c, placed = *c;
    placed.o.positions = HEED_POSITIONS_RELATIVE;
    if (c->o.module != NULL && !is_more_than_one(c) && c->o.parts == NULL &&
        c->o.positions == HEED_POSITIONS_NONE && order_matters(c) &&
        !is_proven(judge_formula(&alone, c->o.module, &text))) {
        heed_tensor *y = outputs(c, equal_tokens(c)); /* mistakes with heads change them */
        if (is_proven(judge_formula(&placed, c->o.module, &text)) ||
            difference(c, y, heed_narrow(y, 1, 0, 1)) <= CLOSE) {
            *c = placed;
            assume(c, ".positions = HEED_POSITIONS_RELATIVE: the order of earlier tokens matters");
        }
    }
}

/* Options without which f fails. True if there is one that is left to try. */
static bool guess_call(check *c)
{
    const heed_status status = heed_error_pending();
    const bool casts = status == HEED_ERR_DTYPE && c->dtype == HEED_F64;
    const bool batches =
        (status == HEED_ERR_SHAPE || status == HEED_ERR_DIM) && !c->o.unbatched && c->o.ids == 0;
    if (c->y != NULL || (!casts && !batches)) {
        return false;
    }
    if (casts) {
        c->dtype = HEED_F32;
        assume(c, ".f32: f fails in f64");
    } else {
        c->o.unbatched = true;
        assume(c, ".unbatched: f takes (T, d_model) only");
    }
    return true;
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

/* Lists what give_back needs, in the open scope. Sets the module to eval. */
static void borrow(check *c)
{
    const heed_tensor_list state = heed_state_dict(c->o.module);
    struct lent *lent = heed_scratch((size_t)state.count * sizeof *lent);
    c->list = ((heed_module *)c->o.module)->lists[1];
    c->modes = list_modes(c->o.module, NULL);
    for (int i = 0; i < state.count; i++) {
        heed_tensor *t = state.tensors[i];
        lent[i] = (struct lent){t, heed_detach(t), t->grad};
    }
    for (int i = 0; i < state.count; i++) {
        heed_ref(lent[i].tensor);
        if (lent[i].grad != NULL) {
            heed_ref(lent[i].grad);
        }
    }
    c->lent = lent;
    c->lent_count = state.count;
    heed_eval(c->o.module);
}

/* Gives the module's tensors other memory, of the dtype of inputs. Parameters that are zero get
 * values: what must hold must hold for any, and an output projection that starts at 0 hides all
 * mistakes. */
static void replace_values(const check *c)
{
    HEED_SCOPE_NO_GRAD(scope);
    for (int i = 0; i < c->lent_count; i++) {
        heed_tensor *t = c->lent[i].tensor, *value = heed_clone(c->lent[i].value);
        value = heed_is_float(t->dtype) && c->dtype == HEED_F64 ? heed_to(value, HEED_F64) : value;
        if (t->requires_grad && value->numel > 0 && largest(value) == 0) {
            heed_normal_into(value, 0, 0.3);
        }
        heed_share_storage(t, value);
    }
}

static void give_back(const check *c)
{
    for (int i = 0; i < c->lent_count; i++) {
        heed_share_storage(c->lent[i].tensor, c->lent[i].value);
        heed_replace_grad(c->lent[i].tensor, c->lent[i].grad);
        heed_unref(c->lent[i].tensor);
    }
    for (const struct mode *mode = c->modes; mode != NULL; mode = mode->next) {
        mode->module->training = mode->training;
    }
}

/* ---- all checks ---- */

/* Why a check does not apply; NULL: it does. */
static const char *why_skipped(const check *c)
{
    const heed_attention_check_args *o = &c->o;
    const bool masked = o->block_mask != NULL, placed = o->positions != HEED_POSITIONS_NONE;
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
                               : is_more_than_one(c) && o->parts == NULL
                                   ? "needs attention alone: check what is inside with .parts"
                                   : NULL};
    return why[c->which];
}

static void run_checks(void *context)
{
    check *c = context;
    replace_values(c);
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
    c->scale = worse(NO_SCALE, largest(c->y));
    c->rounding = c->dtype == HEED_F32 || computes_in_f32(c) ? 1e-4 : 1e-10;
    c->least_effect = fmax(1e-9, c->rounding / 10); /* far above rounding of f64 */
    c->weights = heed_to(heed_randn(heed_shape_of_tensor(c->y), c->y->dtype), c->dtype);
    check_repeat(c);
    const bool repeats = c->report.checks[HEED_CHECK_REPEAT].verdict == HEED_VERDICT_PASSED;
    if (repeats) {
        find_value_effects(c);
        guess(c);
        expect_reach(c);
    }
    static void (*const run[])(check * c) = {
        [HEED_CHECK_BATCH] = check_batch,     [HEED_CHECK_REACH] = check_reach,
        [HEED_CHECK_VALUES] = judge_effects,  [HEED_CHECK_ORDER] = check_order,
        [HEED_CHECK_EQUAL] = check_equal,     [HEED_CHECK_LENGTH] = check_length,
        [HEED_CHECK_PADDING] = check_padding, [HEED_CHECK_PARAMETERS] = check_parameters,
        [HEED_CHECK_CACHE] = check_cache,     [HEED_CHECK_FORMULA] = check_formula};
    for (int i = HEED_CHECK_BATCH; i < HEED_ATTENTION_CHECKS; i++) {
        c->which = (heed_attention_checks)i;
        /* The formula names an inverted mask, which closes a row. */
        const bool can = repeats || (i == HEED_CHECK_FORMULA && !isfinite(c->scale));
        const char *why = can ? why_skipped(c) : "needs finite outputs without randomness";
        if (why != NULL) {
            set(c, HEED_VERDICT_SKIPPED, 0, "%s", why);
        } else {
            run[i](c);
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
    check c = {.o = args, .guesses_heads = args.heads == 0};
    char message[1000] = "";
    check_options(&c.o);
    c.dtype = c.o.module != NULL && !c.o.f32 ? HEED_F64 : HEED_F32;
    c.tokens = c.o.block_mask != NULL ? c.o.block_mask->shape[0]
               : c.o.longest < T_MOST ? c.o.longest
                                      : T_MOST;
    c.report.tokens = (int)c.tokens;
    const heed_generator generator = heed_get_generator();
    if (c.o.module != NULL) {
        borrow(&c);
    }
    heed_status status = HEED_OK;
    while (heed_try(run_checks, &c) != HEED_OK) {
        if (status == HEED_OK || status == HEED_ERR_DTYPE || c.y != NULL) { /* else the first */
            status = heed_error_pending();
            snprintf(message, sizeof message, "%s", heed_error_message());
        }
        if (!guess_call(&c)) {
            break;
        }
        heed_error();
    }
    give_back(&c);
    heed_set_generator(&generator);
    if (heed_blocked()) {
        const bool is_ours = strncmp(message, "attention_check: ", 17) == 0;
        heed_error();
        heed_raise(status, "%s%s", is_ours ? "" : "attention_check: f failed: ", message);
    }
    c.report.passed = true;
    for (int i = HEED_ATTENTION_CHECKS - 1; i >= 0; i--) {
        if (c.report.checks[i].verdict == HEED_VERDICT_FAILED) {
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
