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

typedef enum role { ROLE_Q, ROLE_K, ROLE_V, ROLE_O, ROLE_QKV, ROLES, NO_ROLE = -1 } role;

enum { KEY = 64, MATRICES = 40, MOST_UNNAMED = 6, CERTAIN = 4 };

typedef struct matrix {
    heed_tensor *weight, *bias; /* (out, in) and (out), f64; bias may be NULL */
    const heed_tensor *tensor;  /* the parameter */
    role hint;                  /* by its name */
    char key[KEY];
    bool one_head, fused;           /* all heads use the same rows; a third of a parameter */
    heed_tensor *of_x[2], *to_y[2]; /* products, plain and transposed */
} matrix;

typedef struct weights {
    matrix *from[ROLES]; /* the last may be NULL */
    int64_t head_dim, kv_heads;
    bool square; /* each could be used transposed, as x W instead of x W^T */
} weights;

typedef struct mistake mistake;

typedef struct problem {
    const heed_attention_question *question;
    const heed_attention_check_args *o;
    heed_tensor *x, *y, *sketch; /* y (B, T, n) is the output times sketch (width, n) */
    int64_t batch, tokens, width;
    matrix matrices[MATRICES];
    int count;
    bool in_out;                   /* parameters are (in, out), as GPT-2's */
    weights w;                     /* those that are tried */
    double scale;                  /* of scores, found in the outputs; 0: not found */
    bool placed;                   /* q and k are turned by positions */
    int64_t first;                 /* rows before it are not compared */
    const mistake *given[CERTAIN]; /* mistakes that need no trying */
    int given_count;
    char *text;
    size_t size;
} problem;

/* The last part of a parameter's name, without "weight", numbers and punctuation, in lower case. */
static void key_of(const char *name, char *key)
{
    static const char *const ends[] = {"weight", "bias"};
    size_t end = strlen(name), length = 0;
    for (int i = 0; i < 2; i++) {
        const size_t size = strlen(ends[i]);
        end -= end >= size && strcmp(name + end - size, ends[i]) == 0 ? size : 0;
    }
    while (end > 0 && !isalpha((unsigned char)name[end - 1])) {
        end--;
    }
    for (size_t i = 0; i < end && length + 1 < KEY; i++) {
        if (name[i] == '.') {
            length = 0;
        } else if (isalnum((unsigned char)name[i])) {
            key[length++] = (char)tolower((unsigned char)name[i]);
        }
    }
    key[length] = '\0';
}

/* W_q, q_proj, query, to_q, fc_q: what is left without these words tells the role. */
static role role_of(const char *key)
{
    static const char *const words[] = {"projection", "proj", "linear", "lin", "layer",
                                        "fc",         "to",   "weight", "w"};
    static const char *const names[ROLES][7] = {{"q", "qs", "query", "queries"},
                                                {"k", "ks", "key", "keys"},
                                                {"v", "vs", "value", "values"},
                                                {"", "o", "out", "output", "c", "concat", "dense"},
                                                {"in", "qkv", "cattn", "attn"}};
    char left[KEY], *at;
    memcpy(left, key, KEY);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        while ((at = strstr(left, words[i])) != NULL) {
            memmove(at, at + strlen(words[i]), strlen(at + strlen(words[i])) + 1);
        }
    }
    for (int r = 0; r < ROLES; r++) {
        for (int i = 0; i < 7; i++) {
            if (*key != '\0' && names[r][i] != NULL && strcmp(left, names[r][i]) == 0) {
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

/* A parameter as a matrix (out, in), or NULL. Those of (in, out), as GPT-2's, are transposed if
 * their shape shows it. */
static heed_tensor *matrix_of(problem *p, heed_tensor *t, role hint)
{
    const int64_t d = p->o->d_model;
    if (t->ndim != 2 || t->numel == 0) {
        return NULL;
    }
    const bool in_out = t->shape[0] == d && t->shape[1] != d &&
                        (t->shape[1] == 3 * d || (hint != ROLE_O && hint != NO_ROLE));
    p->in_out = p->in_out || in_out;
    return in_out ? heed_transpose(t, 0, 1) : t;
}

static void add_matrix(problem *p, const matrix *m)
{
    if (p->count < MATRICES) {
        p->matrices[p->count++] = *m;
    }
}

static bool is_fused(const problem *p, const matrix *m)
{
    return m->weight->shape[0] % 3 == 0 && m->weight->shape[1] == p->o->d_model &&
           (m->hint == ROLE_QKV || m->weight->shape[0] == 3 * p->o->d_model);
}

/* The thirds of (3 width, in). */
static void add_thirds(problem *p, const matrix *fused)
{
    heed_tensor *thirds[3], *biases[3] = {NULL};
    heed_chunk(fused->weight, 3, 0, thirds);
    if (fused->bias != NULL && fused->bias->shape[0] == fused->weight->shape[0]) {
        heed_chunk(fused->bias, 3, 0, biases);
    }
    for (int i = 0; i < 3; i++) {
        add_matrix(p, &(matrix){.tensor = fused->tensor,
                                .weight = thirds[i],
                                .bias = biases[i],
                                .hint = (role)i,
                                .fused = true});
    }
}

/* Lists the matrices in order of registration, each with the bias that follows it. */
static void list_matrices(problem *p)
{
    const heed_tensor_list list = heed_state_dict(p->question->module),
                           parameters = heed_parameters(p->question->module);
    for (int i = 0; i < list.count; i++) {
        heed_tensor *t = list.tensors[i], *value = heed_to(heed_detach(t), HEED_F64);
        matrix m = {.tensor = t}, *same = NULL;
        key_of(list.names[i], m.key);
        m.hint = role_of(m.key);
        for (int j = 0; j < p->count; j++) {
            const bool of_bias = value->ndim == 1 && m.hint != NO_ROLE && /* q_bias of W_q */
                                 p->matrices[j].hint == m.hint;
            same = of_bias || strcmp(p->matrices[j].key, m.key) == 0 ? &p->matrices[j] : same;
        }
        if (!heed_is_listed(parameters.tensors, parameters.count, t)) {
            continue; /* a buffer */
        }
        if (value->ndim == 1 && same != NULL) {
            append_rows(&same->bias, value);
        }
        m.weight = matrix_of(p, value, m.hint);
        if (m.weight == NULL) {
            continue;
        }
        if (same != NULL && p->o->heads > 1 && m.weight->shape[0] < p->o->d_model &&
            same->weight->shape[1] == m.weight->shape[1]) {
            same->one_head = same->tensor == t;
            append_rows(&same->weight, m.weight);
        } else {
            add_matrix(p, &m);
        }
    }
    matrix listed[MATRICES];
    const int count = p->count;
    memcpy(listed, p->matrices, sizeof listed);
    p->count = 0;
    for (int i = 0; i < count; i++) {
        matrix *m = &listed[i];
        if (p->in_out && m->hint == ROLE_O) { /* then so is W_o */
            m->weight = heed_transpose(m->weight, 0, 1);
        }
        if (is_fused(p, m)) {
            add_thirds(p, m);
        } else {
            add_matrix(p, m);
        }
    }
}

/* True if the shapes of q, k, v and o fit together; sets what follows from them. */
static bool shapes_fit(const problem *p, weights *w)
{
    const int64_t d_model = p->o->d_model, heads = p->o->heads;
    for (int r = 0; r <= ROLE_O; r++) {
        const matrix *m = w->from[r];
        if (m == NULL ? r < ROLE_O
                      : (r < ROLE_O && m->weight->shape[1] != d_model) ||
                            (m->bias != NULL && m->bias->shape[0] != m->weight->shape[0])) {
            return false;
        }
    }
    const matrix *o = w->from[ROLE_O];
    const int64_t width = w->from[ROLE_Q]->weight->shape[0];
    const int64_t kv_width = w->from[ROLE_K]->weight->shape[0];
    w->head_dim = width / heads;
    w->kv_heads = w->head_dim > 0 ? kv_width / w->head_dim : 0;
    w->square = width == d_model && kv_width == d_model;
    return w->kv_heads > 0 && width % heads == 0 && kv_width % w->head_dim == 0 &&
           w->from[ROLE_V]->weight->shape[0] == kv_width && heads % w->kv_heads == 0 &&
           (o == NULL || o->weight->shape[1] == width);
}

/* By the hints of names. */
static bool choose_weights(problem *p, weights *w)
{
    *w = (weights){0};
    for (int i = p->count - 1; i >= 0; i--) { /* the first of a role */
        if (p->matrices[i].hint != NO_ROLE) {
            w->from[p->matrices[i].hint] = &p->matrices[i];
        }
    }
    return shapes_fit(p, w);
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

static heed_tensor *turned(heed_tensor *weight, bool turn)
{
    return turn ? heed_transpose(weight, 0, 1) : weight;
}

/* x times the weights, and the weights of the output times the sketch. */
static void prepare(problem *p)
{
    for (int i = 0; i < 2 * ROLE_QKV; i++) {
        matrix *m = p->w.from[i / 2];
        const int turn = i & 1;
        if (m != NULL && i / 2 < ROLE_O && m->of_x[turn] == NULL && (!turn || p->w.square)) {
            m->of_x[turn] = heed_linear(p->x, turned(m->weight, turn), m->bias);
        }
        if (m != NULL && i / 2 == ROLE_O && m->to_y[turn] == NULL &&
            m->weight->shape[turn] == p->width) {
            m->to_y[turn] = heed_matmul(turned(m->weight, !turn), p->sketch);
        }
    }
}

/* (B, heads, T, d_head) -> (B, heads * times, T, d_head): the copies of a head are adjacent, or,
 * if tiled, all heads follow each other several times. */
static heed_tensor *repeat_heads(heed_tensor *t, int64_t times, bool tiled)
{
    heed_shape shape =
        HEED_SHAPE(heed_size(t, 0), heed_size(t, 1), times, heed_size(t, 2), heed_size(t, 3));
    if (tiled) {
        shape.size[1] = times;
        shape.size[2] = heed_size(t, 1);
    }
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
    matrix *const *xs = p->w.from;
    heed_tensor *q = split(p, f, xs[roles[0]]->of_x[f->transposed]);
    heed_tensor *k = split(p, f, xs[roles[1]]->of_x[f->transposed]);
    heed_tensor *v = split(p, f, roles[2] == NO_ROLE ? p->x : xs[roles[2]]->of_x[f->transposed]);
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
    const matrix *o = p->w.from[ROLE_O];
    if (o != NULL && f->choice[OUTPUT] != NO_W_O) {
        heed_tensor *to_y = o->to_y[f->transposed != (f->choice[OUTPUT] == W_O_TRANSPOSED)];
        if (to_y == NULL || y->shape[2] != to_y->shape[0]) {
            return NULL;
        }
        y = heed_matmul(y, to_y);
        y = o->bias != NULL ? heed_add(y, heed_matmul(o->bias, p->sketch)) : y;
    } else if (y->shape[2] != p->width) {
        return NULL;
    } else {
        y = heed_matmul(y, p->sketch);
    }
    if (f->choice[OUTPUT] == X_ADDED) {
        y = p->width == p->o->d_model ? heed_add(y, heed_matmul(p->x, p->sketch)) : NULL;
    }
    return y;
}

/* How far the formula is from y, relative to y. Rows that its mask blocks everywhere are not
 * compared: implementations differ there. At least half of the rows must be left. */
static double deviation(const problem *p, const formula *f)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *ours = attend(p, f), *mask = mask_of(p, f);
    if (ours == NULL) {
        return HUGE_VAL;
    }
    const double *a = heed_const_data_f64(heed_contiguous(ours)), *b = heed_const_data_f64(p->y);
    const bool *blocks = mask != NULL ? heed_const_data_bool(heed_contiguous(mask)) : NULL;
    const int64_t width = p->y->shape[2];
    double off = 0, scale = 0;
    int64_t rows = 0;
    for (int64_t i = p->first; i < p->tokens; i++) {
        bool any = blocks == NULL;
        for (int64_t j = 0; j < p->tokens && !any; j++) {
            any = !blocks[i * p->tokens + j];
        }
        rows += any;
        for (int64_t n = 0; any && n < p->batch; n++) {
            for (int64_t e = 0; e < width; e++) {
                const int64_t at = (n * p->tokens + i) * width + e;
                if (!isfinite(b[at]) || isnan(a[at])) {
                    return HUGE_VAL;
                }
                off = fmax(off, fabs(a[at] - b[at]));
                scale = fmax(scale, fabs(b[at]));
            }
        }
    }
    return 2 * rows >= p->tokens - p->first && scale > 0 ? off / scale : HUGE_VAL;
}

/* ---- trying ---- */

/* Can the mistake be made here? Does it differ from the others? */
static bool applies(const problem *p, const mistake *m)
{
    const matrix *q = p->w.from[ROLE_Q];
    switch (m->part) {
    case MASK:
        return p->o->causal || p->o->block_mask != NULL;
    case HEADS:
        return p->o->heads > 1;
    case SCALE:
        return m->choice == FOUND            ? p->scale != 0
               : m->choice == BY_TOKENS      ? !p->question->any_length
               : m->choice == BY_MODEL_WIDTH ? p->w.head_dim != p->o->d_model
                                             : m->choice != BY_HEADS || p->o->heads > 1;
    case TURNS:
        return p->placed;
    case WEIGHTS: /* thirds of one parameter may have any order; without names, so may others */
        return m->choice > K_FOR_V || (q->hint == ROLE_Q && !q->fused);
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
        if ((!f.transposed || p->w.square) && (!f.interleaved || p->placed) &&
            deviation(p, &f) <= p->question->rounding) {
            return true;
        }
    }
    return false;
}

HEED_PRINTF(2, 3)
static void append_text(problem *p, const char *format, ...)
{
    const size_t length = strlen(p->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->text + length, p->size - length, format, arguments);
    va_end(arguments);
}

/* Adds "y equals attention ...; remedy." or, for another explanation of the same y, "Or ...". a and
 * b may be NULL. */
static void explain(problem *p, const mistake *a, const mistake *b, int found)
{
    const mistake *all[CERTAIN + 2];
    int count = 0;
    for (; found == 0 && count < p->given_count; count++) {
        all[count] = p->given[count];
    }
    all[count++] = a;
    all[count++] = b;
    append_text(p, "%s", found == 0 ? "y equals attention" : ". Or");
    const char *between = " ";
    for (int i = 0; i < count; i++) {
        if (all[i] != NULL) {
            const formula f = {.choice = {[SCALE] = all[i]->part == SCALE ? all[i]->choice : 0}};
            const double used = divisor(p, &f);
            append_text(p, "%s", between);
            append_text(p, all[i]->text,
                        f.choice[SCALE] == FOUND ? p->scale : fmax(used, 1 / used));
            between = " and ";
        }
    }
    for (int i = 0; i < count; i++) {
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

static void give(problem *p, part where, int choice)
{
    for (int i = 0; i < MISTAKES; i++) {
        if (mistakes[i].part == where && mistakes[i].choice == choice) {
            p->given[p->given_count++] = &mistakes[i];
        }
    }
}

/* Mistakes that show in which parameters have which role. */
static void judge_roles(problem *p)
{
    matrix *const *from = p->w.from;
    p->given_count = 0;
    if (from[ROLE_Q]->one_head && from[ROLE_K]->one_head && from[ROLE_V]->one_head) {
        give(p, HEADS, FIRST_HEAD);
    }
    for (int r = ROLE_K; r <= ROLE_V; r++) {
        for (int s = ROLE_Q; s < r; s++) { /* one parameter in two roles */
            if (from[r] == from[s] || (from[r]->tensor == from[s]->tensor && !from[r]->fused)) {
                give(p, WEIGHTS, r == ROLE_K ? K_BY_Q : s == ROLE_K ? V_BY_K : V_BY_Q);
            }
        }
    }
}

/* The formula with these weights, then mistakes, then pairs of them. */
static heed_verdict try_all(problem *p, const weights *w)
{
    int found = 0;
    p->w = *w;
    prepare(p);
    judge_roles(p);
    if (gives_y(p, (formula){0})) {
        if (p->given_count > 0) {
            explain(p, NULL, NULL, 0);
        }
        return p->given_count > 0 ? HEED_VERDICT_FAILED : HEED_VERDICT_PASSED;
    }
    for (int i = 0; i < MISTAKES && found < (p->given_count > 0 ? 1 : 2); i++) {
        const mistake *m = &mistakes[i];
        const bool is_number = m->part == SCALE && m->choice == FOUND;
        if ((!is_number || found == 0) && applies(p, m) && gives_y(p, with((formula){0}, m))) {
            explain(p, m, NULL, found++);
        }
    }
    for (int i = 0; i < MISTAKES && found == 0; i++) {
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

/* The scale of scores with which the formula gives y, or 0: the best of some, then Gauss-Newton. */
static double solve_scale(const problem *p, formula f)
{
    const double right = 1 / sqrt((double)p->w.head_dim);
    double best = HUGE_VAL, scale = 0;
    f.choice[SCALE] = FOUND;
    problem q = *p;
    for (int i = -3; i <= 3; i++) {
        q.scale = right * pow(4, i);
        const double off = deviation(&q, &f);
        scale = off < best ? q.scale : scale;
        best = fmin(best, off);
    }
    for (int i = 0; i < 12 && best > p->question->rounding && isfinite(best); i++) {
        HEED_SCOPE(scope);
        const double step = 1e-6 * scale;
        q.scale = scale;
        heed_tensor *y = attend(&q, &f);
        q.scale = scale + step;
        heed_tensor *slope = heed_div_scalar(heed_sub(attend(&q, &f), y), step);
        const double by = heed_item(heed_sum(heed_mul(slope, heed_sub(p->y, y)))) /
                          heed_item(heed_sum(heed_square(slope)));
        scale += by;
        q.scale = scale;
        best = deviation(&q, &f);
    }
    const bool is_one = fabs(scale) > 1e-3 * right; /* else a mean of all */
    return is_one && best <= p->question->rounding ? scale : 0;
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
        prepare(p);
        for (int tiled = 0; tiled < (w->kv_heads > 1 && w->kv_heads < p->o->heads ? 2 : 1);
             tiled++) {
            const formula f = {.choice = {[HEADS] = tiled ? TILED : 0}};
            p->scale = solve_scale(p, f);
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
    const heed_attention_question *of = p->question;
    if (p->tokens < 2 || p->o->block_mask != NULL) {
        return false;
    }
    heed_tensor *parts[] = {heed_mul_scalar(heed_narrow(p->x, 1, 0, 1), 0),
                            heed_narrow(p->x, 1, 1, 1)};
    heed_tensor *x = heed_cat(parts, 2, 1);
    heed_tensor *y = of->outputs(of->context, heed_to(x, of->x->dtype));
    if (y == NULL) {
        heed_error(); /* a mask of one length, for example */
    } else {
        for (int i = 0; i < p->count; i++) {
            p->matrices[i].of_x[0] = p->matrices[i].of_x[1] = NULL;
        }
        p->x = x;
        p->y = heed_contiguous(heed_matmul(y, p->sketch));
        p->tokens = 2;
        p->first = 1;
    }
    return y != NULL;
}

heed_verdict heed_attention_mistake(const heed_attention_question *question, const char **why,
                                    char *text, size_t size)
{
    HEED_SCOPE_NO_GRAD(scope);
    const heed_tensor *y = question->y;
    problem p = {.question = question,
                 .o = question->o,
                 .x = heed_to(heed_detach(question->x), HEED_F64),
                 .batch = question->x->shape[0],
                 .tokens = question->x->shape[1],
                 .width = y->shape[2],
                 .text = text,
                 .size = size};
    const int64_t columns = p.width < 16 ? p.width : 16;
    const bool placed = p.placed = p.o->positions != HEED_POSITIONS_NONE;
    weights w;
    *text = '\0';
    const heed_generator generator = heed_get_generator();
    heed_manual_seed(p.o->seed);
    p.sketch = columns == p.width ? heed_eye(p.width, p.width, HEED_F64)
                                  : heed_randn(HEED_SHAPE(p.width, columns), HEED_F64);
    heed_set_generator(&generator);
    p.y = heed_contiguous(heed_matmul((heed_tensor *)y, p.sketch));
    list_matrices(&p);
    const bool has_names = choose_weights(&p, &w);
    heed_verdict verdict = has_names ? try_all(&p, &w) : HEED_VERDICT_UNKNOWN;
    if (verdict != HEED_VERDICT_UNKNOWN) {
        return verdict;
    }
    const weights named = w;
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
