/* Known mistakes in attention, each as a change of the formula softmax(q k^T / sqrt(d_head)) v
 * W_o^T (Vaswani et al., 2017). All that reproduce a function's outputs from its parameters are
 * named. */

#include "check.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the parameters, by name ---- */

typedef enum role { ROLE_Q, ROLE_K, ROLE_V, ROLE_O, ROLE_QKV, ROLES, NO_ROLE = -1 } role;

typedef struct weights {
    heed_tensor *weight[ROLES], *bias[ROLES]; /* (out, in) and (out); or NULL */
    int64_t head_dim, kv_heads;
    bool square;   /* each could be used transposed, as x W instead of x W^T */
    bool one_head; /* q, k and v of all heads are the same parameters */
} weights;

/* True, and shortens the text, if it ends like that. */
static bool drop_end(const char *text, size_t *length, const char *end)
{
    const size_t size = strlen(end);
    const bool ends = *length >= size && strncmp(text + *length - size, end, size) == 0;
    *length -= ends ? size : 0;
    return ends;
}

/* The role of a parameter from the last part of its name, without punctuation and "weight" or
 * "bias": W_q, q_proj, query, to_q, wq. */
static role role_of(const char *name)
{
    static const char *const names[ROLES][9] = {
        {"wq", "q", "qproj", "query", "toq", "queryproj", "wquery", "queries"},
        {"wk", "k", "kproj", "key", "tok", "keyproj", "wkey", "keys"},
        {"wv", "v", "vproj", "value", "tov", "valueproj", "wvalue", "values"},
        {"wo", "o", "oproj", "outproj", "proj", "cproj", "toout", "out", "output"},
        {"inproj", "qkv", "wqkv", "cattn", "toqkv", "qkvproj"},
    };
    char plain[64];
    size_t end = strlen(name), length = 0;
    if (drop_end(name, &end, "weight") || drop_end(name, &end, "bias")) {
        drop_end(name, &end, ".");
    }
    for (size_t i = 0; i < end && length + 1 < sizeof plain; i++) {
        if (name[i] == '.') {
            length = 0;
        } else if (isalnum((unsigned char)name[i])) {
            plain[length++] = (char)tolower((unsigned char)name[i]);
        }
    }
    plain[length] = '\0';
    for (int r = 0; r < ROLES; r++) {
        for (size_t i = 0; i < sizeof names[r] / sizeof *names[r]; i++) {
            if (names[r][i] != NULL && strcmp(plain, names[r][i]) == 0) {
                return (role)r;
            }
        }
    }
    return NO_ROLE;
}

/* Separate heads are joined: rows in order. */
static void append_rows(heed_tensor **to, heed_tensor *rows)
{
    heed_tensor *both[] = {*to, rows};
    *to = *to == NULL ? rows : heed_cat(both, 2, 0);
}

/* True if the module has W_q, W_k and W_v, with shapes that fit. */
static bool find_weights(const heed_attention_check_args *o, weights *w)
{
    const int64_t d_model = o->d_model;
    const int heads = o->heads;
    bool in_out = false, again[ROLES] = {false};
    *w = (weights){0};
    const heed_tensor_list list = heed_state_dict(o->module),
                           parameters = heed_parameters(o->module);
    for (int i = 0; i < list.count; i++) {
        const role r = role_of(list.names[i]);
        heed_tensor *t = list.tensors[i], *p = heed_to(heed_detach(t), HEED_F64);
        if (r == NO_ROLE || !heed_is_listed(parameters.tensors, parameters.count, t) ||
            p->ndim > 2 || p->ndim < 1) {
            continue;
        }
        for (int before = 0; before < i; before++) { /* a parameter under several names */
            again[r] = again[r] || (list.tensors[before] == t && role_of(list.names[before]) == r);
        }
        /* Matrices (in, out), as GPT-2's, are transposed if the shape of one shows it. */
        const bool is_wide =
            p->ndim == 2 && r != ROLE_O && p->shape[0] == d_model && p->shape[1] != d_model;
        in_out = in_out || is_wide;
        append_rows(p->ndim == 2 ? &w->weight[r] : &w->bias[r],
                    is_wide ? heed_transpose(p, 0, 1) : p);
    }
    if (in_out && w->weight[ROLE_O] != NULL) {
        w->weight[ROLE_O] = heed_transpose(w->weight[ROLE_O], 0, 1);
    }
    if (w->weight[ROLE_QKV] != NULL && w->weight[ROLE_QKV]->shape[0] % 3 == 0) {
        heed_chunk(w->weight[ROLE_QKV], 3, 0, w->weight);
        if (w->bias[ROLE_QKV] != NULL && w->bias[ROLE_QKV]->shape[0] % 3 == 0) {
            heed_chunk(w->bias[ROLE_QKV], 3, 0, w->bias);
        }
    }
    for (int r = 0; r < ROLE_O; r++) {
        const heed_tensor *weight = w->weight[r], *bias = w->bias[r];
        if (weight == NULL || weight->shape[1] != d_model || weight->shape[0] == 0 ||
            (bias != NULL && bias->shape[0] != weight->shape[0])) {
            return false;
        }
    }
    const int64_t width = w->weight[ROLE_Q]->shape[0], kv_width = w->weight[ROLE_K]->shape[0];
    w->head_dim = width / heads;
    if (w->head_dim == 0 || width % heads != 0 || kv_width % w->head_dim != 0 ||
        w->weight[ROLE_V]->shape[0] != kv_width || heads % (kv_width / w->head_dim) != 0 ||
        (w->weight[ROLE_O] != NULL && w->weight[ROLE_O]->shape[1] != width)) {
        return false;
    }
    w->kv_heads = kv_width / w->head_dim;
    w->square = width == d_model && kv_width == d_model;
    w->one_head =
        heads > 1 && (again[ROLE_QKV] || (again[ROLE_Q] && again[ROLE_K] && again[ROLE_V]));
    return true;
}

/* ---- the formula and its changes ---- */

typedef enum part { SCALE, WEIGHTS, SOFTMAX, MASK, HEADS, APPLY, OUTPUT, PARTS } part;

/* Values of each part; 0 is right. */
enum { BY_MODEL = 1, NOT_SCALED, BY_WIDTH, MULTIPLIED, BY_HEADS, BY_TOKENS };
enum { Q_FOR_K = 1, Q_FOR_V, K_FOR_V, K_BY_Q, Q_BY_K, V_BY_K, V_BY_Q, V_IS_X };
enum { OVER_QUERIES = 1, OVER_HEADS, OVER_BATCH, NO_SOFTMAX, TWICE };
enum { NO_MASK = 1, INVERTED, TRANSPOSED, STRICT, LOOSE, AFTER, ADDED_KEEP, ADDED_BLOCK, ZERO };
enum { SPLIT_BY_VIEW = 1, MERGED_BY_VIEW, BOTH_BY_VIEW, ONE_HEAD, MEAN_OF_HEADS, FIRST_HEAD };
enum { WEIGHTS_TRANSPOSED = 1 };
enum { NO_W_O = 1, W_O_TRANSPOSED, X_ADDED };

typedef struct formula {
    int choice[PARTS];
    bool transposed; /* x W instead of x W^T */
} formula;

typedef struct mistake {
    part part;
    int choice;
    const char *text, *remedy; /* "y equals attention <text>" */
} mistake;

static const mistake mistakes[] = {
    {SCALE, NOT_SCALED, "with scores that are not scaled", NULL},
    {SCALE, BY_MODEL, "scaled by sqrt(d_model)", NULL},
    {SCALE, BY_WIDTH, "with scores divided by d_head itself", NULL},
    {SCALE, MULTIPLIED, "with scores multiplied by sqrt(d_head)", NULL},
    {SCALE, BY_HEADS, "scaled by the root of the number of heads", NULL},
    {SCALE, BY_TOKENS, "scaled by the root of the number of tokens", NULL},
    {WEIGHTS, Q_FOR_K, "with W_q and W_k exchanged (the same as transposed scores)",
     "multiply q by the transposed k"},
    {WEIGHTS, Q_FOR_V, "with W_q and W_v exchanged", "check the order of q, k and v"},
    {WEIGHTS, K_FOR_V, "with W_k and W_v exchanged", "check the order of q, k and v"},
    {WEIGHTS, K_BY_Q, "with keys computed by W_q", "compute them by W_k"},
    {WEIGHTS, Q_BY_K, "with queries computed by W_k", "compute them by W_q"},
    {WEIGHTS, V_BY_K, "with values computed by W_k", "compute them by W_v"},
    {WEIGHTS, V_BY_Q, "with values computed by W_q", "compute them by W_v"},
    {WEIGHTS, V_IS_X, "with x itself as values", "multiply x by W_v"},
    {SOFTMAX, OVER_QUERIES, "with the softmax over the queries",
     "apply it to the last dim of (queries, keys), so that the weights of a row sum to 1"},
    {SOFTMAX, OVER_HEADS, "with the softmax over the heads",
     "apply it to the last dim of (queries, keys)"},
    {SOFTMAX, OVER_BATCH, "with the softmax over the batch",
     "apply it to the last dim of (queries, keys)"},
    {SOFTMAX, NO_SOFTMAX, "without a softmax", "apply it to the last dim of the scores"},
    {SOFTMAX, TWICE, "with the softmax applied twice", "apply it once"},
    {MASK, NO_MASK, "without the mask", "fill blocked scores with -inf before the softmax"},
    {MASK, INVERTED, "with true and false of the mask exchanged",
     "heed_masked_fill fills where the mask is true; docs/attention.md converts masks"},
    {MASK, TRANSPOSED, "with the mask transposed, so that it blocks earlier tokens",
     "rows of the mask are queries and columns are keys"},
    {MASK, STRICT, "with a mask that blocks a token's own key too",
     "block above the diagonal only (heed_triu with diagonal 1)"},
    {MASK, LOOSE, "with a mask shifted by one, so that each row sees the next token",
     "block from the diagonal + 1 on (heed_triu with diagonal 1)"},
    {MASK, AFTER, "with the mask applied after the softmax",
     "apply it before, so that the weights of a row sum to 1"},
    {MASK, ADDED_KEEP, "with the mask added as 0 and 1 (1 keeps)",
     "add 0 and -inf, or fill with -inf"},
    {MASK, ADDED_BLOCK, "with the mask added as 0 and 1 (1 blocks)",
     "add 0 and -inf, or fill with -inf"},
    {MASK, ZERO, "with blocked scores set to 0", "a score of 0 has weight e^0 = 1: use -inf"},
    {HEADS, SPLIT_BY_VIEW, "with heads split by a reshape alone",
     "reshape to (B, T, heads, d_head), then transpose dims 1 and 2"},
    {HEADS, MERGED_BY_VIEW, "with heads merged without transposing back",
     "transpose (B, heads, T, d_head) to (B, T, heads, d_head) before the reshape"},
    {HEADS, BOTH_BY_VIEW, "with heads split and merged by a reshape alone",
     "reshape to (B, T, heads, d_head) and transpose dims 1 and 2; transpose back before merging"},
    {HEADS, ONE_HEAD, "with a single head", "split q, k and v into heads"},
    {HEADS, FIRST_HEAD, "with the parameters of one head for all heads",
     "each head has rows of W_q, W_k and W_v of its own"},
    {HEADS, MEAN_OF_HEADS, "with the weights averaged over the heads",
     "each head multiplies its own weights by its values"},
    {APPLY, WEIGHTS_TRANSPOSED, "with the weights transposed before they are multiplied by v",
     "multiply the weights (queries, keys) by v (keys, d_head)"},
    {OUTPUT, NO_W_O, "without W_o", "multiply the merged heads by W_o"},
    {OUTPUT, W_O_TRANSPOSED, "with W_o transposed", "heed_linear multiplies by the transpose"},
    {OUTPUT, X_ADDED, "with x added", "if this residual is intended, set .block"},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

typedef struct problem {
    weights w;
    heed_tensor *x, *y;
    const heed_attention_check_args *o;
    double rounding;
    int64_t batch, tokens;
} problem;

static heed_tensor *project(const problem *p, const formula *f, role r)
{
    heed_tensor *weight = p->w.weight[r];
    return heed_linear(p->x, f->transposed ? heed_transpose(weight, 0, 1) : weight, p->w.bias[r]);
}

/* (B, heads, T, d_head) -> (B, heads * times, T, d_head): the copies of a head are adjacent. */
static heed_tensor *repeat_heads(heed_tensor *t, int64_t times)
{
    const heed_shape shape =
        HEED_SHAPE(heed_size(t, 0), heed_size(t, 1), times, heed_size(t, 2), heed_size(t, 3));
    return heed_flatten(heed_expand(heed_unsqueeze(t, 2), shape), 1, 2);
}

/* (B, T, count * d_head) -> (B, heads, T, d_head) */
static heed_tensor *split(const problem *p, const formula *f, heed_tensor *t)
{
    const int64_t width = heed_size(t, 2);
    const int64_t heads = f->choice[HEADS] == ONE_HEAD ? 1 : p->o->heads;
    const int64_t count =
        width == p->w.kv_heads * p->w.head_dim && heads > 1 ? p->w.kv_heads : heads;
    const int64_t head_dim = width / count;
    heed_tensor *split;
    if (f->choice[HEADS] == SPLIT_BY_VIEW || f->choice[HEADS] == BOTH_BY_VIEW) {
        split = heed_reshape(t, HEED_SHAPE(p->batch, count, p->tokens, head_dim));
    } else {
        split =
            heed_transpose(heed_reshape(t, HEED_SHAPE(p->batch, p->tokens, count, head_dim)), 1, 2);
    }
    if (f->choice[HEADS] == FIRST_HEAD) {
        return repeat_heads(heed_narrow(split, 1, 0, 1), heads);
    }
    return count < heads ? repeat_heads(split, heads / count) : split;
}

/* (B, heads, T, d_head) -> (B, T, heads * d_head) */
static heed_tensor *merge(const problem *p, const formula *f, heed_tensor *t)
{
    if (f->choice[HEADS] != MERGED_BY_VIEW && f->choice[HEADS] != BOTH_BY_VIEW) {
        t = heed_transpose(t, 1, 2);
    }
    return heed_reshape(t, HEED_SHAPE(p->batch, p->tokens, -1));
}

/* The number that scores are divided by. */
static double divisor(const problem *p, const formula *f)
{
    const double d =
        (double)(f->choice[HEADS] == ONE_HEAD ? p->w.head_dim * p->o->heads : p->w.head_dim);
    const double by[] = {[0] = sqrt(d),
                         [BY_MODEL] = sqrt((double)p->o->d_model),
                         [NOT_SCALED] = 1,
                         [BY_WIDTH] = d,
                         [MULTIPLIED] = 1 / sqrt(d),
                         [BY_HEADS] = sqrt((double)p->o->heads),
                         [BY_TOKENS] = sqrt((double)p->tokens)};
    return by[f->choice[SCALE]];
}

/* The mask (T, T) of a formula, true blocks; NULL: none. */
static heed_tensor *mask_of(const problem *p, const formula *f)
{
    heed_tensor *ones = heed_ones(HEED_SHAPE(p->tokens, p->tokens), HEED_BOOL);
    heed_tensor *mask = p->o->block_mask;
    if (p->o->causal) {
        const int choice = f->choice[MASK];
        mask = heed_triu(ones, choice == STRICT ? 0 : choice == LOOSE ? 2 : 1);
    }
    if (mask == NULL || f->choice[MASK] == NO_MASK) {
        return NULL;
    }
    return f->choice[MASK] == INVERTED     ? heed_logical_not(mask)
           : f->choice[MASK] == TRANSPOSED ? heed_transpose(mask, 0, 1)
                                           : mask;
}

static heed_tensor *percents_of(const formula *f, heed_tensor *scores, heed_tensor *mask)
{
    static const int dims[] = {-1, [OVER_QUERIES] = -2, [OVER_HEADS] = 1, [OVER_BATCH] = 0, -1, -1};
    const int softmax = f->choice[SOFTMAX], how = f->choice[MASK];
    const bool after = mask != NULL && (how == AFTER || (how < AFTER && softmax == NO_SOFTMAX));
    if (mask != NULL && (how == ADDED_KEEP || how == ADDED_BLOCK)) {
        heed_tensor *ones = how == ADDED_KEEP ? heed_logical_not(mask) : mask;
        scores = heed_add(scores, heed_to(ones, HEED_F64));
    } else if (mask != NULL && !after) {
        scores = heed_masked_fill(scores, mask, how == ZERO ? 0 : (double)-INFINITY);
    }
    heed_tensor *percents =
        softmax == NO_SOFTMAX ? scores : heed_safe_softmax(scores, dims[softmax]);
    percents = softmax == TWICE ? heed_safe_softmax(percents, -1) : percents;
    return after ? heed_masked_fill(percents, mask, 0) : percents;
}

/* The outputs of a formula, (B, T, width). NULL if its shapes do not fit. */
static heed_tensor *attend(const problem *p, const formula *f)
{
    static const role by[][3] = {
        [0] = {ROLE_Q, ROLE_K, ROLE_V},       [Q_FOR_K] = {ROLE_K, ROLE_Q, ROLE_V},
        [Q_FOR_V] = {ROLE_V, ROLE_K, ROLE_Q}, [K_FOR_V] = {ROLE_Q, ROLE_V, ROLE_K},
        [K_BY_Q] = {ROLE_Q, ROLE_Q, ROLE_V},  [Q_BY_K] = {ROLE_K, ROLE_K, ROLE_V},
        [V_BY_K] = {ROLE_Q, ROLE_K, ROLE_K},  [V_BY_Q] = {ROLE_Q, ROLE_K, ROLE_Q},
        [V_IS_X] = {ROLE_Q, ROLE_K, NO_ROLE}};
    const role *roles = by[f->choice[WEIGHTS]];
    const bool needs_equal_heads = f->choice[WEIGHTS] != 0 || f->choice[HEADS] == ONE_HEAD;
    if ((needs_equal_heads && p->w.kv_heads != p->o->heads) ||
        (roles[2] == NO_ROLE && p->o->d_model != p->w.head_dim * p->o->heads)) {
        return NULL;
    }
    heed_tensor *q = split(p, f, project(p, f, roles[0]));
    heed_tensor *k = split(p, f, project(p, f, roles[1]));
    heed_tensor *v = split(p, f, roles[2] == NO_ROLE ? p->x : project(p, f, roles[2]));
    heed_tensor *scores = heed_div_scalar(heed_matmul(q, heed_transpose(k, -2, -1)), divisor(p, f));
    heed_tensor *percents = percents_of(f, scores, mask_of(p, f));
    if (f->choice[HEADS] == MEAN_OF_HEADS) {
        percents = heed_mean_dim(percents, 1, true);
    }
    if (f->choice[APPLY] == WEIGHTS_TRANSPOSED) {
        percents = heed_transpose(percents, -2, -1);
    }
    heed_tensor *y = merge(p, f, heed_matmul(percents, v)), *w_o = p->w.weight[ROLE_O];
    if (w_o != NULL && f->choice[OUTPUT] != NO_W_O) {
        const bool turned = f->transposed != (f->choice[OUTPUT] == W_O_TRANSPOSED);
        if (turned && w_o->shape[0] != w_o->shape[1]) {
            return NULL;
        }
        y = heed_linear(y, turned ? heed_transpose(w_o, 0, 1) : w_o, p->w.bias[ROLE_O]);
    }
    if (y->shape[2] != p->y->shape[2] ||
        (f->choice[OUTPUT] == X_ADDED && y->shape[2] != p->o->d_model)) {
        return NULL;
    }
    return f->choice[OUTPUT] == X_ADDED ? heed_add(y, p->x) : y;
}

/* Does the formula give y? Rows that its mask blocks everywhere are not compared: implementations
 * differ there. At least half of the rows must be left. */
static bool gives_y(const problem *p, const formula *f)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *ours = attend(p, f), *mask = mask_of(p, f);
    if (ours == NULL) {
        return false;
    }
    const double *a = heed_const_data_f64(heed_contiguous(ours)), *b = heed_const_data_f64(p->y);
    const bool *blocks = mask != NULL ? heed_const_data_bool(heed_contiguous(mask)) : NULL;
    const int64_t width = p->y->shape[2];
    double off = 0, scale = 0;
    int64_t rows = 0;
    for (int64_t i = 0; i < p->tokens; i++) {
        bool any = blocks == NULL;
        for (int64_t j = 0; j < p->tokens && !any; j++) {
            any = !blocks[i * p->tokens + j];
        }
        rows += any;
        for (int64_t n = 0; any && n < p->batch; n++) {
            for (int64_t e = 0; e < width; e++) {
                const int64_t at = (n * p->tokens + i) * width + e;
                if (!isfinite(b[at])) {
                    return false;
                }
                off = fmax(off, fabs(a[at] - b[at]));
                scale = fmax(scale, fabs(b[at]));
            }
        }
    }
    return 2 * rows >= p->tokens && off <= p->rounding * scale;
}

/* ---- trying ---- */

/* Can the mistake be made here, and differ from the formula? */
static bool applies(const problem *p, const mistake *m)
{
    const bool has_mask = p->o->causal || p->o->block_mask != NULL;
    return m->part == MASK
               ? has_mask && ((m->choice != STRICT && m->choice != LOOSE) || p->o->causal)
           : m->part == HEADS  ? p->o->heads > 1
           : m->part == OUTPUT ? p->w.weight[ROLE_O] != NULL || m->choice == X_ADDED
           : m->part == SCALE && m->choice == BY_MODEL     ? p->w.head_dim != p->o->d_model
           : m->part == SCALE && m->choice == BY_HEADS     ? p->o->heads > 1
           : m->part == SOFTMAX && m->choice == OVER_HEADS ? p->o->heads > 1
           : m->part == SOFTMAX && m->choice == OVER_BATCH ? p->batch > 1
                                                           : true;
}

static bool gives_y_with(const problem *p, const mistake *a, const mistake *b)
{
    formula f = {.transposed = false};
    if (a != NULL) {
        f.choice[a->part] = a->choice;
    }
    if (b != NULL) {
        f.choice[b->part] = b->choice;
    }
    formula turned = f;
    turned.transposed = true;
    return gives_y(p, &f) || (p->w.square && gives_y(p, &turned));
}

HEED_PRINTF(3, 4)
static void append(char *text, size_t size, const char *format, ...)
{
    const size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

/* Adds "y equals attention ...; remedy." or, for another explanation of the same y, "Or ...". b may
 * be NULL. */
static void explain(const problem *p, const mistake *a, const mistake *b, int found, char *text,
                    size_t size)
{
    const mistake *both[] = {a, b};
    append(text, size, "%s", found == 0 ? "y equals attention" : ". Or");
    for (int i = 0; i < 2 && both[i] != NULL; i++) {
        append(text, size, "%s %s", i > 0 ? " and" : "", both[i]->text);
        if (both[i]->part == SCALE && both[i]->choice != NOT_SCALED) {
            formula f = {.choice = {[SCALE] = both[i]->choice}};
            const double used = divisor(p, &f);
            append(text, size, " = %.4g", used < 1 ? 1 / used : used);
        }
    }
    for (int i = 0; i < 2 && both[i] != NULL; i++) {
        if (both[i]->part == SCALE) {
            append(text, size, "; a head is %lld wide, so divide by sqrt(%lld) = %.4g",
                   (long long)p->w.head_dim, (long long)p->w.head_dim, sqrt((double)p->w.head_dim));
        } else {
            append(text, size, "; %s", both[i]->remedy);
        }
    }
}

heed_verdict heed_attention_mistake(const heed_attention_check_args *o, double rounding,
                                    heed_tensor *x, heed_tensor *y, char *text, size_t size)
{
    HEED_SCOPE_NO_GRAD(scope);
    problem p = {.x = heed_to(heed_detach(x), HEED_F64),
                 .y = y,
                 .o = o,
                 .rounding = rounding,
                 .batch = x->shape[0],
                 .tokens = x->shape[1]};
    *text = '\0';
    if (!find_weights(o, &p.w)) {
        return HEED_VERDICT_SKIPPED;
    }
    if (!p.w.one_head && gives_y_with(&p, NULL, NULL)) {
        return HEED_VERDICT_PASSED;
    }
    int found = 0;
    for (int i = 0; i < MISTAKES && found < (p.w.one_head ? 1 : 2); i++) {
        if (applies(&p, &mistakes[i]) && gives_y_with(&p, &mistakes[i], NULL)) {
            explain(&p, &mistakes[i], NULL, found++, text, size);
        }
    }
    for (int i = 0; i < MISTAKES && found == 0; i++) {
        for (int j = i + 1; j < MISTAKES && found == 0; j++) {
            if (mistakes[i].part != mistakes[j].part && applies(&p, &mistakes[i]) &&
                applies(&p, &mistakes[j]) && gives_y_with(&p, &mistakes[i], &mistakes[j])) {
                explain(&p, &mistakes[i], &mistakes[j], found++, text, size);
            }
        }
    }
    return found > 0 ? HEED_VERDICT_FAILED : HEED_VERDICT_UNKNOWN;
}
