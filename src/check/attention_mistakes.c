/* Known mistakes in attention, each as a change of the formula softmax(q k^T / sqrt(d_head)) v
 * W_o^T (Vaswani et al., 2017). All that reproduce a function's outputs from its parameters are
 * named.
 *
 * Names of parameters say which is W_q, W_k, W_v and W_o. Where they do not, all orders are tried,
 * and the scale is solved for: what agrees to rounding is proven. */

#include "check.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the parameters ---- */

typedef enum role { ROLE_Q, ROLE_K, ROLE_V, ROLE_O, ROLE_QKV, ROLE_KV, ROLES, NO_ROLE = -1 } role;

enum { KEY = 128, MATRICES = 40, MOST_UNNAMED = 6, SKETCH = 16 };

typedef struct matrix {
    heed_tensor *weight, *bias; /* (out, in) and (out), f64; bias may be NULL */
    const heed_tensor *tensor;  /* the parameter */
    role hint;                  /* by its name */
    char key[KEY];
    bool one_head, fused; /* all heads use the same rows; a part of a parameter */
    /* Products, as x W^T and as x W; NULL where shapes do not fit. */
    heed_tensor *of_x[2], *to_y[2];
} matrix;

typedef struct weights {
    matrix *from[ROLES]; /* W_o may be NULL */
    int64_t head_dim, kv_heads;
} weights;

typedef struct mistake mistake;

typedef struct problem {
    const heed_attention_question *question;
    const heed_attention_check_args *o;
    heed_tensor *x, *y, *sketch; /* y is the output times the sketch (width, SKETCH) */
    int64_t batch, tokens, width;
    matrix matrices[3 * MATRICES];
    int count;
    bool in_out;          /* parameters are (in, out), as GPT-2's */
    weights w;            /* those that are tried */
    double scale;         /* of scores, found in the outputs; 0: not found */
    bool placed;          /* q and k are turned by positions */
    int64_t first;        /* rows before it are not compared */
    const mistake *given; /* shows in which parameters have which role; or NULL */
} problem;

/* A parameter's name without "weight" or "bias" at its end, in lower case: letters and dots. */
static void key_of(const char *name, char *key)
{
    size_t length = 0;
    for (const char *at = name; *at != '\0' && strcmp(at, "weight") != 0 && strcmp(at, "bias") != 0;
         at++) {
        if ((isalpha((unsigned char)*at) || *at == '.') && length + 1 < KEY) {
            key[length++] = (char)tolower((unsigned char)*at);
        }
    }
    while (length > 0 && key[length - 1] == '.') {
        length--;
    }
    key[length] = '\0';
}

static const char *last_part(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot != NULL ? dot + 1 : key;
}

/* W_q, q_proj, query, to_q, fc_q: what is left without these words tells the role. */
static role role_of(const char *key)
{
    static const char *const words[] = {"projection", "proj", "linear", "lin", "layer",
                                        "fc",         "to",   "weight", "w"};
    static const char *const names[ROLES] = {
        " q qs query queries ", " k ks key keys ",
        " v vs value values ",  "  o out output c concat dense ", /* or nothing: two blanks */
        " in qkv cattn attn ",  " kv "};
    char left[KEY + 2], *at;
    snprintf(left, sizeof left, " %s ", last_part(key));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        while ((at = strstr(left, words[i])) != NULL) {
            memmove(at, at + strlen(words[i]), strlen(at + strlen(words[i])) + 1);
        }
    }
    for (int r = 0; r < ROLES && *key != '\0'; r++) {
        if (strstr(names[r], left) != NULL) {
            return (role)r;
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

/* Adds a matrix, or its thirds for q, k and v, or its halves for k and v. A bias that does not fit
 * is left out. */
static void add_matrix(problem *p, const matrix *m)
{
    const int64_t d = p->o->d_model, rows = m->weight->shape[0];
    const int of_name = m->hint == ROLE_QKV || (m->hint == NO_ROLE && rows == 3 * d) ? 3
                        : m->hint == ROLE_KV                                         ? 2
                                                                                     : 1;
    const int count = m->weight->shape[1] == d && rows % of_name == 0 ? of_name : 1;
    heed_tensor *parts[3], *biases[3] = {NULL};
    heed_chunk(m->weight, count, 0, parts);
    if (m->bias != NULL && m->bias->shape[0] == rows) {
        heed_chunk(m->bias, count, 0, biases);
    }
    for (int i = 0; i < count; i++) {
        matrix *part = &p->matrices[p->count++];
        *part = *m;
        part->weight = parts[i];
        part->bias = biases[i];
        part->hint = count > 1 ? (role)(ROLE_V - count + 1 + i) : m->hint;
        part->fused = count > 1;
    }
}

/* Lists the matrices in order of registration, each with the bias that follows it. Those of (in,
 * out), as GPT-2's, are transposed if their shape shows it. */
static void list_matrices(problem *p)
{
    const heed_tensor_list list = heed_state_dict(p->question->module), /* names tied ones too */
        parameters = heed_parameters(p->question->module);
    const int64_t d = p->o->d_model;
    matrix listed[MATRICES];
    int count = 0;
    for (int i = 0; i < list.count; i++) {
        heed_tensor *t = list.tensors[i], *value = heed_to(heed_detach(t), HEED_F64);
        matrix m = {.tensor = t}, *same = NULL; /* of the same name */
        key_of(list.names[i], m.key);
        m.hint = role_of(m.key);
        for (int j = 0; j < count; j++) {
            const bool of_bias = value->ndim == 1 && m.hint != NO_ROLE && /* q_bias of W_q */
                                 listed[j].hint == m.hint;
            same = of_bias || strcmp(last_part(listed[j].key), last_part(m.key)) == 0 ? &listed[j]
                                                                                      : same;
        }
        if (value->ndim == 1 && same != NULL) {
            append_rows(&same->bias, value);
        }
        if (value->ndim != 2 || value->numel == 0 ||
            !heed_is_listed(parameters.tensors, parameters.count, t)) {
            continue;
        }
        const bool in_out = t->shape[0] == d && t->shape[1] != d &&
                            (t->shape[1] == 3 * d || (m.hint != ROLE_O && m.hint != NO_ROLE));
        m.weight = in_out ? heed_transpose(value, 0, 1) : value;
        p->in_out = p->in_out || in_out;
        const bool of_head = m.weight->shape[0] < d ||
                             (m.hint != NO_ROLE && same != NULL && strcmp(same->key, m.key) == 0);
        if (same != NULL && p->o->heads > 1 && of_head &&
            same->weight->shape[1] == m.weight->shape[1]) {
            same->one_head = same->tensor == t;
            append_rows(&same->weight, m.weight);
        } else if (count < MATRICES) {
            listed[count++] = m;
        }
    }
    for (int i = 0; i < count; i++) {
        if (p->in_out && listed[i].hint == ROLE_O) { /* then so is W_o */
            listed[i].weight = heed_transpose(listed[i].weight, 0, 1);
        }
        add_matrix(p, &listed[i]);
    }
}

/* x times the matrices, and the matrices times the sketch, where shapes fit. */
static void multiply_all(problem *p)
{
    for (int i = 0; i < 2 * p->count; i++) {
        matrix *m = &p->matrices[i / 2];
        heed_tensor *turned = heed_transpose(m->weight, 0, 1);
        heed_tensor *w = i & 1 ? turned : m->weight, *other = i & 1 ? m->weight : turned;
        const bool fits =
            w->shape[1] == p->o->d_model && (m->bias == NULL || m->bias->shape[0] == w->shape[0]);
        m->of_x[i & 1] = fits ? heed_linear(p->x, w, m->bias) : NULL;
        m->to_y[i & 1] = w->shape[0] == p->width ? heed_matmul(other, p->sketch) : NULL;
    }
}

/* True if the shapes of q, k, v and o fit together; sets what follows from them. */
static bool shapes_fit(const problem *p, weights *w)
{
    const matrix *q = w->from[ROLE_Q], *k = w->from[ROLE_K], *v = w->from[ROLE_V],
                 *o = w->from[ROLE_O];
    if (q == NULL || k == NULL || v == NULL || q->of_x[0] == NULL || k->of_x[0] == NULL ||
        v->of_x[0] == NULL) {
        return false;
    }
    const int64_t width = q->weight->shape[0], kv_width = k->weight->shape[0];
    const int64_t heads = p->o->heads;
    w->head_dim = width / heads;
    w->kv_heads = w->head_dim > 0 ? kv_width / w->head_dim : 0;
    return w->kv_heads > 0 && width % heads == 0 && kv_width % w->head_dim == 0 &&
           v->weight->shape[0] == kv_width && heads % w->kv_heads == 0 &&
           (o == NULL || o->weight->shape[1] == width);
}

/* ---- the formula and its changes ---- */

typedef enum part { SCALE, WEIGHTS, TURNS, SOFTMAX, MASK, HEADS, APPLY, OUTPUT, PARTS } part;

/* Values of each part; 0 is right. */
enum { BY_MODEL = 1, NOT_SCALED, BY_WIDTH, MULTIPLIED, BY_HEADS, BY_TOKENS, BY_MODEL_WIDTH, FOUND };
enum { Q_FOR_K = 1, Q_FOR_V, K_FOR_V, K_BY_Q, Q_BY_K, V_BY_K, V_BY_Q, V_IS_X };
enum { KEYS_ALONE = 1, QUERIES_ALONE, MIXED, VALUES_TOO };
enum { OVER_QUERIES = 1, OVER_HEADS, OVER_BATCH, NO_SOFTMAX, TWICE };
enum { NO_MASK = 1, INVERTED, TRANSPOSED, STRICT, LOOSE, AFTER, ADDED_KEEP, ADDED_BLOCK, ZERO };
enum { SPLIT_BY_VIEW = 1, MERGED_BY_VIEW, BOTH_BY_VIEW, ONE_HEAD, MEAN_HEAD, FIRST_HEAD, TILED };
enum { WEIGHTS_TRANSPOSED = 1, DIVIDED_AFTER };
enum { NO_W_O = 1, W_O_TRANSPOSED, X_ADDED };

typedef struct formula {
    int choice[PARTS];
    bool transposed;  /* x W instead of x W^T */
    bool interleaved; /* rotary positions turn neighbours, not halves */
} formula;

struct mistake {
    part part;
    int choice;
    const char *text, *remedy; /* "y equals attention <text>"; %.4g: the scale */
};

static const char turn_alike[] = "turn q and k alike, and nothing else",
                  in_order[] = "check the order of q, k and v",
                  last_dim[] = "apply it to the last dim of (queries, keys)",
                  from_next[] = "block above the diagonal only (heed_triu with diagonal 1)",
                  infinite[] = "add 0 and -inf, or fill with -inf";

static const mistake mistakes[] = {
    {SCALE, NOT_SCALED, "with scores that are not scaled", NULL},
    {SCALE, BY_MODEL, "scaled by sqrt(d_model) = %.4g", NULL},
    {SCALE, BY_WIDTH, "with scores divided by d_head itself = %.4g", NULL},
    {SCALE, MULTIPLIED, "with scores multiplied by sqrt(d_head) = %.4g", NULL},
    {SCALE, BY_HEADS, "scaled by the root of the number of heads = %.4g", NULL},
    {SCALE, BY_TOKENS, "scaled by the root of the number of tokens = %.4g", NULL},
    {SCALE, BY_MODEL_WIDTH, "with scores divided by d_model itself = %.4g", NULL},
    {SCALE, FOUND, "with scores multiplied by %.4g", NULL},
    {WEIGHTS, Q_FOR_K, "with W_q and W_k exchanged (the same as transposed scores)",
     "multiply q by the transposed k"},
    {WEIGHTS, Q_FOR_V, "with W_q and W_v exchanged", in_order},
    {WEIGHTS, K_FOR_V, "with W_k and W_v exchanged", in_order},
    {WEIGHTS, K_BY_Q, "with keys computed by W_q", "compute them by W_k"},
    {WEIGHTS, Q_BY_K, "with queries computed by W_k", "compute them by W_q"},
    {WEIGHTS, V_BY_K, "with values computed by W_k", "compute them by W_v"},
    {WEIGHTS, V_BY_Q, "with values computed by W_q", "compute them by W_v"},
    {WEIGHTS, V_IS_X, "with x itself as values", "multiply x by W_v"},
    {TURNS, KEYS_ALONE, "with rotary positions on keys alone", turn_alike},
    {TURNS, QUERIES_ALONE, "with rotary positions on queries alone", turn_alike},
    {TURNS, MIXED, "with rotary positions of halves for q or k and of pairs for the other",
     turn_alike},
    {TURNS, VALUES_TOO, "with rotary positions on values too", turn_alike},
    {SOFTMAX, OVER_QUERIES, "with the softmax over the queries", last_dim},
    {SOFTMAX, OVER_HEADS, "with the softmax over the heads", last_dim},
    {SOFTMAX, OVER_BATCH, "with the softmax over the batch", last_dim},
    {SOFTMAX, NO_SOFTMAX, "without a softmax", last_dim},
    {SOFTMAX, TWICE, "with the softmax applied twice", "apply it once"},
    {MASK, NO_MASK, "without the mask", "fill blocked scores with -inf before the softmax"},
    {MASK, INVERTED, "with true and false of the mask exchanged",
     "heed_masked_fill fills where the mask is true; docs/attention.md converts masks"},
    {MASK, TRANSPOSED, "with the mask transposed, so that it blocks earlier tokens",
     "rows of the mask are queries and columns are keys"},
    {MASK, STRICT, "with a mask that blocks a token's own key too", from_next},
    {MASK, LOOSE, "with a mask shifted by one, so that each row sees the next token", from_next},
    {MASK, AFTER, "with the mask applied after the softmax",
     "apply it before, so that the weights of a row sum to 1"},
    {MASK, ADDED_KEEP, "with the mask added as 0 and 1 (1 keeps)", infinite},
    {MASK, ADDED_BLOCK, "with the mask added as 0 and 1 (1 blocks)", infinite},
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
    {HEADS, MEAN_HEAD, "with the weights averaged over the heads",
     "each head multiplies its own weights by its values"},
    {HEADS, TILED, "with kv heads tiled instead of repeated",
     "each kv head serves neighbouring heads"},
    {APPLY, WEIGHTS_TRANSPOSED, "with the weights transposed before they are multiplied by v",
     "multiply the weights (queries, keys) by v (keys, d_head)"},
    {APPLY, DIVIDED_AFTER, "with the weights divided by sqrt(d_head) after the softmax",
     "divide the scores, before the softmax"},
    {OUTPUT, NO_W_O, "without W_o", "multiply the merged heads by W_o"},
    {OUTPUT, W_O_TRANSPOSED, "with W_o transposed", "heed_linear multiplies by the transpose"},
    {OUTPUT, X_ADDED, "with x added", "if this residual is intended, set .block"},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

/* (B, heads, T, d_head) -> (B, heads * times, T, d_head): the copies of a head are adjacent, or,
 * if tiled, all heads follow each other several times. */
static heed_tensor *repeat_heads(heed_tensor *t, int64_t times, bool tiled)
{
    const heed_shape shape = HEED_SHAPE(-1, tiled ? times : -1, tiled ? -1 : times, -1, -1);
    return heed_flatten(heed_expand(heed_unsqueeze(t, tiled ? 1 : 2), shape), 1, 2);
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
        return repeat_heads(heed_narrow(split, 1, 0, 1), heads, false);
    }
    return count < heads ? repeat_heads(split, heads / count, f->choice[HEADS] == TILED) : split;
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
    const double by[] = {[0] = p->o->scale != 0 ? 1 / p->o->scale : sqrt(d),
                         [BY_MODEL] = sqrt((double)p->o->d_model),
                         [NOT_SCALED] = 1,
                         [BY_WIDTH] = d,
                         [MULTIPLIED] = 1 / sqrt(d),
                         [BY_HEADS] = sqrt((double)p->o->heads),
                         [BY_TOKENS] = sqrt((double)p->tokens),
                         [BY_MODEL_WIDTH] = (double)p->o->d_model,
                         [FOUND] = 1 / p->scale};
    return by[f->choice[SCALE]];
}

/* The mask (T, T) of a formula, true blocks; NULL: none. */
static heed_tensor *mask_of(const problem *p, const formula *f)
{
    const int choice = f->choice[MASK];
    heed_tensor *mask = p->o->block_mask;
    if (p->o->causal) {
        mask = heed_triu(heed_ones(HEED_SHAPE(p->tokens, p->tokens), HEED_BOOL),
                         choice == STRICT  ? 0
                         : choice == LOOSE ? 2
                                           : 1);
    }
    return mask == NULL || choice == NO_MASK ? NULL
           : choice == INVERTED              ? heed_logical_not(mask)
           : choice == TRANSPOSED            ? heed_transpose(mask, 0, 1)
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
    matrix *const *xs = p->w.from;
    heed_tensor *parts[3];
    for (int i = 0; i < 3; i++) {
        heed_tensor *of_x = roles[i] == NO_ROLE ? p->x : xs[roles[i]]->of_x[f->transposed];
        if (of_x == NULL) {
            return NULL;
        }
        parts[i] = split(p, f, of_x);
    }
    heed_tensor *q = parts[0], *k = parts[1], *v = parts[2];
    if (p->placed && p->w.head_dim % 2 == 0) {
        const int turns = f->choice[TURNS];
        q = turns == KEYS_ALONE ? q : heed_rope(q, .interleaved = f->interleaved);
        k = turns == QUERIES_ALONE
                ? k
                : heed_rope(k, .interleaved = f->interleaved != (turns == MIXED));
        v = turns == VALUES_TOO ? heed_rope(v, .interleaved = f->interleaved) : v;
    }
    const bool is_after = f->choice[APPLY] == DIVIDED_AFTER;
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, -2, -1));
    scores = is_after ? scores : heed_div_scalar(scores, divisor(p, f));
    heed_tensor *percents = percents_of(f, scores, mask_of(p, f));
    if (f->choice[HEADS] == MEAN_HEAD) {
        percents = heed_mean_dim(percents, 1, true);
    }
    if (f->choice[APPLY] == WEIGHTS_TRANSPOSED) {
        percents = heed_transpose(percents, -2, -1);
    }
    percents = is_after ? heed_div_scalar(percents, divisor(p, f)) : percents;
    heed_tensor *y = merge(p, f, heed_matmul(percents, v));
    const matrix *o = f->choice[OUTPUT] == NO_W_O ? NULL : p->w.from[ROLE_O];
    const bool turn = f->transposed != (f->choice[OUTPUT] == W_O_TRANSPOSED);
    heed_tensor *to_y = o != NULL ? o->to_y[turn] : p->sketch;
    if (to_y == NULL || y->shape[2] != to_y->shape[0]) {
        return NULL;
    }
    y = heed_matmul(y, to_y);
    y = o != NULL && o->bias != NULL ? heed_add(y, heed_matmul(o->bias, p->sketch)) : y;
    return f->choice[OUTPUT] == X_ADDED ? heed_add(y, heed_matmul(p->x, p->sketch)) : y;
}

/* How far the formula is from y, relative to y. Rows that its mask blocks everywhere are not
 * compared: implementations differ there. At least half of the rows must be left. */
static double deviation(const problem *p, const formula *f)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *off = attend(p, f), *mask = mask_of(p, f), *y = p->y;
    if (off == NULL) {
        return HUGE_VAL;
    }
    off = heed_sub(off, y);
    if (mask != NULL) {
        heed_tensor *closed = heed_ge_scalar(heed_sum_dim(mask, -1, true), (double)p->tokens);
        if (2 * heed_item(heed_sum(closed)) > (double)p->tokens) {
            return HUGE_VAL;
        }
        off = heed_masked_fill(off, closed, 0);
        y = heed_masked_fill(y, closed, 0);
    }
    const int64_t count = p->tokens - p->first;
    const double size = heed_item(heed_amax(heed_abs(heed_narrow(y, 1, p->first, count))));
    return heed_item(heed_amax(heed_abs(heed_narrow(off, 1, p->first, count)))) / size;
}

/* ---- trying ---- */

/* Can the mistake be made here? Does it differ from the others? */
static bool applies(const problem *p, const mistake *m)
{
    const matrix *q = p->w.from[ROLE_Q], *k = p->w.from[ROLE_K];
    const bool has_any_length =
        p->question->report->checks[HEED_CHECK_LENGTH].verdict == HEED_VERDICT_PASSED;
    switch (m->part) {
    case MASK:
        return p->o->causal || p->o->block_mask != NULL;
    case HEADS:
        return p->o->heads > 1 && (m->choice != ONE_HEAD || p->w.kv_heads == p->o->heads);
    case SCALE:
        return m->choice == FOUND            ? p->scale != 0
               : m->choice == BY_TOKENS      ? !p->o->causal || !has_any_length
               : m->choice == BY_MODEL_WIDTH ? p->w.head_dim != p->o->d_model
                                             : m->choice != BY_HEADS || p->o->heads > 1;
    case TURNS:
        return p->placed;
    case WEIGHTS: /* parts of one parameter may have any order; without names, so may others */
        return m->choice == V_IS_X ? p->o->d_model == p->w.head_dim * p->o->heads
                                   : m->choice > K_FOR_V || (q->hint == ROLE_Q && !k->fused);
    case OUTPUT:
        return m->choice != X_ADDED || p->width == p->o->d_model;
    default:
        return true;
    }
}

static formula with(formula f, const mistake *m)
{
    f.choice[m->part] = m->choice;
    return f;
}

/* Does the formula give y, as x W^T or as x W, and with one or the other kind of rotation? */
static bool gives_y(const problem *p, formula f)
{
    for (int way = 0; way < 4; way++) {
        f.transposed = way & 1;
        f.interleaved = way & 2;
        if ((!f.interleaved || p->placed) && deviation(p, &f) <= p->question->rounding) {
            return true;
        }
    }
    return false;
}

HEED_PRINTF(2, 3)
static void append_text(const problem *p, const char *format, ...)
{
    char *text = p->question->report->mistake;
    const size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, sizeof p->question->report->mistake - length, format, arguments);
    va_end(arguments);
}

/* Adds "y equals attention ...; remedy." or, for another explanation of the same y, "Or ...". a and
 * b may be NULL. */
static void explain(const problem *p, const mistake *a, const mistake *b, int found)
{
    const mistake *all[] = {found == 0 ? p->given : NULL, a, b};
    const char *between = " ";
    append_text(p, "%s", found == 0 ? "y equals attention" : ". Or");
    for (int i = 0; i < 3; i++) {
        if (all[i] != NULL) {
            const formula f = {.choice = {[SCALE] = all[i]->part == SCALE ? all[i]->choice : 0}};
            const double used = divisor(p, &f);
            append_text(p, "%s", between);
            append_text(p, all[i]->text,
                        f.choice[SCALE] == FOUND ? p->scale : fmax(used, 1 / used));
            between = " and ";
        }
    }
    for (int i = 0; i < 3; i++) {
        const mistake *m = all[i];
        if (m != NULL && m->part == SCALE && p->o->scale != 0) {
            append_text(p, "; .scale is %.4g", p->o->scale);
        } else if (m != NULL && m->part == SCALE) {
            append_text(p, "; a head is %lld wide, so divide by sqrt(%lld) = %.4g",
                        (long long)p->w.head_dim, (long long)p->w.head_dim,
                        sqrt((double)p->w.head_dim));
        } else if (m != NULL) {
            append_text(p, "; %s", m->remedy);
        }
    }
}

/* A mistake that shows in which parameters have which role: one parameter in two, or one head's for
 * all. NULL: none. */
static const mistake *judge_roles(const problem *p)
{
    const matrix *q = p->w.from[ROLE_Q], *k = p->w.from[ROLE_K], *v = p->w.from[ROLE_V];
    for (int i = 0; i < MISTAKES; i++) {
        const mistake *m = &mistakes[i];
        const matrix *a = m->choice == V_BY_K ? k : q, *b = m->choice == K_BY_Q ? k : v;
        const bool is_tied = m->choice == K_BY_Q || m->choice == V_BY_K || m->choice == V_BY_Q;
        if (m->part == WEIGHTS ? is_tied && (a == b || (a->tensor == b->tensor && !a->fused))
                               : m->part == HEADS && m->choice == FIRST_HEAD && q->one_head &&
                                     k->one_head && v->one_head) {
            return m;
        }
    }
    return NULL;
}

/* The formula with these weights, then mistakes, then pairs of them. */
static heed_verdict try_all(problem *p, const weights *w)
{
    int found = 0;
    p->w = *w;
    p->given = judge_roles(p);
    if (gives_y(p, (formula){0})) {
        if (p->given == NULL) {
            return HEED_VERDICT_PASSED;
        }
        explain(p, NULL, NULL, found++);
    }
    for (int i = 0; i < MISTAKES && found < (p->given != NULL ? 1 : 2); i++) {
        const mistake *m = &mistakes[i];
        const bool is_number = m->part == SCALE && m->choice == FOUND;
        if ((!is_number || found == 0) && applies(p, m) && gives_y(p, with((formula){0}, m))) {
            explain(p, m, NULL, found++);
        }
    }
    for (int i = 0; i < MISTAKES && found == 0 && !p->question->brief; i++) {
        for (int j = i + 1; j < MISTAKES && found == 0; j++) {
            const mistake *a = &mistakes[i], *b = &mistakes[j];
            if (a->part != b->part && applies(p, a) && applies(p, b) &&
                gives_y(p, with(with((formula){0}, a), b))) {
                explain(p, a, b, found++);
            }
        }
    }
    return found > 0 ? HEED_VERDICT_FAILED : HEED_VERDICT_UNKNOWN;
}

/* ---- without names ---- */

/* The scale of scores with which the formula gives y, or 0. Steps up and down, which become
 * smaller: near the solution, deviations are about as small as the steps. */
static double solve_scale(const problem *p, formula f)
{
    const double right = 1 / sqrt((double)p->w.head_dim), most = p->question->rounding;
    problem q = *p;
    q.scale = right;
    f.choice[SCALE] = FOUND;
    double best = deviation(&q, &f), scale = right;
    for (double step = 4; best > 1e-3 * most && best < 30 * (step - 1);) {
        const double before = scale;
        for (int way = -1; way <= 1; way += 2) {
            q.scale = before * pow(step, way);
            const double off = deviation(&q, &f);
            scale = off < best ? q.scale : scale;
            best = fmin(best, off);
        }
        step = scale == before ? sqrt(step) : step;
    }
    q.scale = 0; /* if y is about a mean of the values, scores prove nothing */
    return best <= most && best < 0.01 * deviation(&q, &f) ? scale : 0;
}

/* Finds roles of the matrices, and the scale: in order of registration first. */
static bool find_roles(problem *p, weights *w)
{
    const int n = p->count;
    for (int i = 0; n <= MOST_UNNAMED && i < n * n * n * (n + 1); i++) {
        const int q = i / (n * n * (n + 1)), k = i / (n * (n + 1)) % n, v = i / (n + 1) % n;
        const int o = (v + 1 + i % (n + 1)) % (n + 1); /* the last: none */
        matrix *m = p->matrices;
        *w = (weights){.from = {&m[q], &m[k], &m[v], o < n ? &m[o] : NULL}};
        if (o == q || o == k || o == v || !shapes_fit(p, w)) {
            continue;
        }
        p->w = *w;
        for (int tiled = 0; tiled < (w->kv_heads < p->o->heads ? 2 : 1); tiled++) {
            p->scale = solve_scale(p, (formula){.choice = {[HEADS] = tiled ? TILED : 0}});
            if (p->scale != 0) {
                return true;
            }
        }
    }
    return false;
}

/* Two tokens, the first of which is 0, as is its key: no rotation changes what the second gets. */
static bool take_two_tokens(problem *p)
{
    if (p->tokens < 2 || p->o->block_mask != NULL) {
        return false;
    }
    heed_tensor *parts[] = {heed_mul_scalar(heed_narrow(p->x, 1, 0, 1), 0),
                            heed_narrow(p->x, 1, 1, 1)};
    heed_tensor *x = heed_cat(parts, 2, 1);
    heed_tensor *y = p->question->outputs(p->question->context, heed_to(x, p->question->x->dtype));
    if (y == NULL) {
        heed_error(); /* a mask of one length, for example */
        return false;
    }
    p->x = x;
    p->y = heed_matmul(y, p->sketch);
    p->tokens = 2;
    p->first = 1;
    multiply_all(p);
    return true;
}

heed_verdict heed_attention_mistake(const heed_attention_question *question, const char **why)
{
    HEED_SCOPE_NO_GRAD(scope);
    problem p = {.question = question,
                 .o = question->o,
                 .x = heed_to(heed_detach(question->x), HEED_F64),
                 .batch = question->x->shape[0],
                 .tokens = question->x->shape[1],
                 .width = question->y->shape[2]};
    const bool placed = p.placed = p.o->positions != HEED_POSITIONS_NONE;
    weights named = {0}, w;
    question->report->mistake[0] = '\0';
    p.sketch = heed_randn(HEED_SHAPE(p.width, SKETCH), HEED_F64);
    p.y = heed_matmul(question->y, p.sketch);
    list_matrices(&p);
    multiply_all(&p);
    for (int i = p.count - 1; i >= 0; i--) { /* the first of a role */
        if (p.matrices[i].hint != NO_ROLE) {
            named.from[p.matrices[i].hint] = &p.matrices[i];
        }
    }
    const bool has_names = shapes_fit(&p, &named);
    heed_verdict verdict = has_names ? try_all(&p, &named) : HEED_VERDICT_UNKNOWN;
    if (verdict != HEED_VERDICT_UNKNOWN || (has_names && question->brief)) {
        return verdict;
    }
    p.placed = false;
    if ((!placed || take_two_tokens(&p)) && find_roles(&p, &w)) {
        *why =
            placed ? "W_v, W_o and the scale are right (two tokens), whatever the positions" : NULL;
        verdict = has_names ? try_all(&p, &named) : verdict;
        return verdict != HEED_VERDICT_UNKNOWN ? verdict : try_all(&p, &w);
    }
    if (placed) {
        *why = "the projections and the scale are not found in the outputs of two tokens";
        return p.count > 0 ? HEED_VERDICT_UNKNOWN : HEED_VERDICT_SKIPPED;
    }
    w = (weights){.from = {&p.matrices[0], &p.matrices[1], &p.matrices[2],
                           p.count > 3 ? &p.matrices[3] : NULL}};
    return has_names                            ? HEED_VERDICT_UNKNOWN
           : p.count < 3 || !shapes_fit(&p, &w) ? HEED_VERDICT_SKIPPED
                                                : try_all(&p, &w);
}
