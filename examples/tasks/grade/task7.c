/* Grades task 7: backward through one head of attention. */
#define GRADER
#include "task7.h"

static const char transposed_weight[] =
    "It is transposed. The rows of a weight are its outputs, and so are those of its gradient.";

/* Mistakes of the backward; those that change dW_v come first. */
static const struct {
    const char *kind, *why;
} kinds[] = {
    {"weights not transposed",
     "The attention weights are not transposed. Row i of y takes v_j with weight (i, j), so v_j "
     "gets what all rows i send back: a column, not a row."},
    {"mask forgotten", "The mask is forgotten on the way back. A blocked pair of tokens has no "
                       "effect on y, so nothing may flow back through it."},
    {"weight transposed", transposed_weight},
    {"first sequence",
     "Only the first sequence is in it. The weight was used for each sequence of the batch."},
    {"mean of sequences",
     "The mean over the batch is taken. The loss depends on the weight through each sequence, "
     "and these effects add up. (A loss that is a mean has divided dy already.)"},
    {"sign", "The sign is wrong: this is a step that lowers the loss, not its gradient."},
    {"dy for dv", "dy is used as the gradient of v, as if each token saw itself alone. On the way "
                  "from v to y are the attention weights."},
    {"scale missing", "The scale is missing. The forward divides the scores by sqrt(d_head), so "
                      "what flows back through them is divided, too."},
    {"scale of model", "The scale is sqrt(d_model); the forward divides by sqrt(d_head)."},
    {"scale inverted",
     "The gradient is multiplied by sqrt(d_head). If y = s / c, then ds = dy / c."},
    {"scale of tokens",
     "The scale is the root of the number of tokens; the forward divides by sqrt(d_head)."},
    {"softmax missing", "The derivative of softmax is left out: the gradient of the attention "
                        "weights is used as that of the scores."},
    {"softmax factor only", "Half of softmax's derivative is missing: a score also changes the sum "
                            "by which its whole row is divided. Task 6 has the formula."},
    {"softmax diagonal",
     "Of softmax's derivative that is the diagonal alone, weights (1 - weights): a score also "
     "changes the other weights of its row. Task 6 has the formula."},
    {"softmax wrong dim", "The sum in softmax's derivative runs over the queries. The softmax "
                          "divides each query's row, so the sum runs over its keys."},
    {"softmax wrong factor", "The last factor of softmax's derivative is missing: a pair whose "
                             "weight is 0 must get the gradient 0."},
    {"softmax sign", "The second term of softmax's derivative has the wrong sign: where one weight "
                     "grows, the others must shrink. Task 6 has the formula."},
    {"softmax unweighted", "The sum in softmax's derivative is taken without the weights. How much "
                           "does each weight change? Task 6 has the formula."},
    {"dweights from y", "The gradient of the attention weights is computed from y. It comes from "
                        "dy: a gradient depends on what the loss does with y."},
    {"always causal", "Gradients of later tokens are set to 0, and here is no mask. Where there is "
                      "one, a blocked weight is 0 already."},
    {"dscores transposed",
     "The gradient of the scores has its rows and columns exchanged here. Rows are queries: "
     "query i collects from its row, key j from its column."},
    {"own side", "The wrong factor: the score is q_i k_j, so if q_i changes, it changes by k_j "
                 "times that, and the other way round."},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static heed_tensor *transposed(heed_tensor *x)
{
    return heed_transpose(x, -2, -1);
}

static heed_tensor *of_softmax(heed_tensor *weights, heed_tensor *dweights, const char *kind)
{
    const int dim = is(kind, "softmax wrong dim") ? -2 : -1;
    heed_tensor *product = heed_mul(weights, dweights);
    heed_tensor *sum = heed_sum_dim(product, dim, true);
    return is(kind, "softmax missing")        ? dweights
           : is(kind, "softmax factor only")  ? product
           : is(kind, "softmax wrong factor") ? heed_sub(dweights, sum)
           : is(kind, "softmax sign")         ? heed_mul(weights, heed_add(dweights, sum))
           : is(kind, "softmax unweighted")
               ? heed_mul(weights, heed_sub(dweights, heed_sum_dim(dweights, dim, true)))
           : is(kind, "softmax diagonal") ? heed_sub(product, heed_mul(product, weights))
                                          : heed_mul(weights, heed_sub(dweights, sum));
}

static heed_tensor *of_weight(heed_tensor *dy, heed_tensor *x, const char *kind)
{
    heed_tensor *all = heed_matmul(transposed(dy), x); /* (B, d_head, d_model) */
    heed_tensor *d = is(kind, "first sequence")      ? heed_select(all, 0, 0)
                     : is(kind, "mean of sequences") ? heed_mean_dim(all, 0, false)
                                                     : heed_sum_dim(all, 0, false);
    return is(kind, "sign") ? heed_neg(d) : is(kind, "weight transposed") ? transposed(d) : d;
}

static struct gradients derive(const struct head *h, heed_tensor *dy, const char *kind)
{
    const double d_head = (double)heed_size(h->q, -1), d_model = (double)heed_size(h->x, -1);
    const double tokens = (double)heed_size(h->x, 1);
    heed_tensor *q = h->q, *k = h->k, *weights = h->weights;
    if (is(kind, "mask forgotten")) {
        heed_tensor *scores = heed_div_scalar(heed_matmul(q, transposed(k)), sqrt(d_head));
        weights = heed_softmax(scores, -1);
    }
    heed_tensor *through = is(kind, "weights not transposed") ? weights : transposed(weights);
    heed_tensor *dv = is(kind, "dy for dv") ? dy : heed_matmul(through, dy);
    heed_tensor *from = is(kind, "dweights from y") ? h->y : dy;
    heed_tensor *dscores = of_softmax(weights, heed_matmul(from, transposed(h->v)), kind);
    dscores = is(kind, "always causal") ? heed_tril(dscores, 0) : dscores;
    dscores = heed_div_scalar(dscores, is(kind, "scale missing")     ? 1
                                       : is(kind, "scale of model")  ? sqrt(d_model)
                                       : is(kind, "scale of tokens") ? sqrt(tokens)
                                       : is(kind, "scale inverted")  ? 1 / sqrt(d_head)
                                                                     : sqrt(d_head));
    heed_tensor *rows = is(kind, "dscores transposed") ? transposed(dscores) : dscores;
    heed_tensor *dq = of_weight(heed_matmul(rows, is(kind, "own side") ? q : k), h->x, kind);
    heed_tensor *dk =
        of_weight(heed_matmul(transposed(rows), is(kind, "own side") ? k : q), h->x, kind);
    return (struct gradients){dq, dk, of_weight(dv, h->x, kind)};
}

static heed_tensor *field(const struct gradients *d, int i)
{
    return i == 0 ? d->W_v : i == 1 ? d->W_q : d->W_k;
}

static bool is_finite(heed_tensor *x)
{
    return isfinite(heed_item(heed_sum(heed_mul_scalar(x, 0)))) != 0;
}

static const char *const names[] = {"dW_v", "dW_q", "dW_k"};

/* Whether yours of one weight is what is right for another; NULL if not. */
static const char *of_another(char *text, size_t size, int i, const struct gradients *yours,
                              const struct gradients *right)
{
    for (int j = 0; j < 3; j++) {
        if (j != i && grade_equal(field(yours, i), field(right, j))) {
            const bool swapped =
                field(yours, j) != NULL && grade_equal(field(yours, j), field(right, i));
            snprintf(text, size,
                     swapped ? "%s and %s are swapped."
                             : "Your %s is the right %s. Is a line copied, and one name in it "
                               "still that of the other?",
                     names[i], names[j]);
            return text;
        }
    }
    return NULL;
}

/* Shapes first: they say most. */
static void check_shape(const char *name, heed_tensor *yours, const heed_tensor *weight)
{
    const heed_shape shape = heed_shape_of_tensor(weight),
                     other = {2, {shape.size[1], shape.size[0]}};
    if (yours->ndim == 3 && heed_size(yours, -2) == shape.size[0] &&
        heed_size(yours, -1) == shape.size[1]) {
        grade_fail("%s has a gradient for each sequence, (%lld, %lld, %lld). All of them use the "
                   "same weight: one gradient is wanted, with what all contribute.",
                   name, (long long)heed_size(yours, 0), (long long)shape.size[0],
                   (long long)shape.size[1]);
    }
    if (!grade_has_shape(yours, shape) && grade_has_shape(yours, other)) {
        grade_fail("%s is (%lld, %lld), the transpose of its weight's shape (%lld, %lld). %s", name,
                   (long long)other.size[0], (long long)other.size[1], (long long)shape.size[0],
                   (long long)shape.size[1], transposed_weight);
    }
    grade_returned(name, yours, shape);
}

static void compare(const struct head *h, heed_tensor *dy, const struct gradients *yours,
                    const struct gradients *right)
{
    static const char *const otherwise[] = {
        "It is none of the common mistakes. dW_v needs two lines of the forward: y = weights v, "
        "and v = x W_v^T. Take a single token (T = 1), whose weight is 1, and go through them.",
        "dW_v is right. dW_q needs three more: from y to the weights, through the softmax, and "
        "from the scores to q. Begin with the middle one: what it gives sums to 0 in each row.",
        "dW_v and dW_q are right, so the gradient of the scores seems to be right, too: look at "
        "the step from it to k."};
    heed_tensor *const weights[] = {h->W_v, h->W_q, h->W_k};
    struct gradients wrong[KINDS];
    char text[200];
    for (int i = 0; i < 3; i++) { /* before other tensors take the place of a freed one */
        if (field(yours, i) != NULL || heed_error_pending() != HEED_OK) {
            grade_answered(names[i], field(yours, i));
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        wrong[kind] = derive(h, dy, kinds[kind].kind);
    }
    for (int i = 0; i < 3; i++) {
        if (field(yours, i) == NULL) {
            if (yours->W_q == NULL && yours->W_k == NULL && yours->W_v == NULL) {
                grade_not_begun("dW_q, dW_k and dW_v are NULL.");
            }
            grade_fail("%s is still NULL.%s", names[i],
                       i == 0 ? " Begin with it: it is the shortest way." : " dW_v is right.");
        }
        struct mistake mistakes[KINDS + 1] = {{NULL, NULL}};
        for (int kind = 0; kind < KINDS; kind++) {
            mistakes[kind] = (struct mistake){field(&wrong[kind], i), kinds[kind].why};
        }
        check_shape(names[i], field(yours, i), weights[i]);
        if (grade_matches(names[i], field(yours, i), field(right, i))) {
            continue;
        }
        if (heed_size(h->x, 0) == 1) {
            grade_show_tensor("x", h->x, NULL);
            grade_show_tensor("weights", h->weights, NULL);
            grade_show_tensor("dy", dy, NULL);
        }
        const char *other = of_another(text, sizeof text, i, yours, right);
        if (other == NULL && h->block_mask != NULL && !is_finite(field(yours, i))) {
            other = "It is not finite. The forward hides a score by -inf, because exp(-inf) is 0. "
                    "On the way back no exp follows: what may flow to a blocked score is 0. What "
                    "does the derivative of softmax give, where the weight is 0?";
        }
        grade_compare(names[i], field(yours, i), field(right, i), other != NULL ? NULL : mistakes,
                      other != NULL ? other : otherwise[i]);
    }
}

static heed_tensor *leaf(heed_tensor *x)
{
    return heed_set_requires_grad(heed_clone(x), true);
}

/* What heed_backward computes; also the y of the head. */
static struct gradients by_heed(const struct head *h, heed_tensor *dy, heed_tensor **y)
{
    struct head own = {.x = h->x, .W_q = leaf(h->W_q), .W_k = leaf(h->W_k), .W_v = leaf(h->W_v)};
    own.q = heed_linear(h->x, own.W_q, NULL);
    own.k = heed_linear(h->x, own.W_k, NULL);
    own.v = heed_linear(h->x, own.W_v, NULL);
    heed_tensor *mask = h->block_mask != NULL ? heed_logical_not(h->block_mask) : NULL;
    *y = heed_scaled_dot_product_attention(own.q, own.k, own.v, mask);
    heed_backward(heed_sum(heed_mul(*y, dy)));
    *y = heed_detach(*y);
    return (struct gradients){own.W_q->grad, own.W_k->grad, own.W_v->grad};
}

static void check(heed_tensor *x, heed_tensor *const W[3], bool causal, heed_tensor *dy)
{
    struct head h = {.x = x, .W_q = W[0], .W_k = W[1], .W_v = W[2]};
    h.block_mask = causal ? heed_causal_block_mask(heed_size(x, 1)) : NULL;
    heed_tensor *y;
    const struct gradients right = by_heed(&h, dy, &y);
    const bool enabled = heed_set_grad_enabled(false);
    head_forward(&h);
    grade_compare("y", h.y, y, NULL, "The forward was given and right; something has changed it.");
    const struct gradients yours = head_backward(&h, dy);
    compare(&h, dy, &yours, &right);
    heed_set_grad_enabled(enabled);
}

static void grade_size(int batch, int tokens, int d_model, int d_head, bool causal)
{
    grade_case("%d sequence%s of %d token%s, d_model = %d, d_head = %d, %s", batch,
               batch == 1 ? "" : "s", tokens, tokens == 1 ? "" : "s", d_model, d_head,
               causal ? "causal" : "no mask");
    HEED_SCOPE(scope);
    heed_tensor *W[3], *x = heed_randn(HEED_SHAPE(batch, tokens, d_model), HEED_F64);
    for (int i = 0; i < 3; i++) {
        W[i] = heed_randn(HEED_SHAPE(d_head, d_model), HEED_F64);
    }
    check(x, W, causal, heed_randn(HEED_SHAPE(batch, tokens, d_head), HEED_F64));
}

static void grade(void)
{
    grade_case("1 sequence of 3 tokens, d_model = 2, d_head = 2, no mask");
    HEED_SCOPE(scope);
    heed_tensor *x = heed_from_f64((double[]){1, 0, 0, 1, 1, 1}, HEED_SHAPE(1, 3, 2));
    heed_tensor *W[] = {heed_from_f64((double[]){1, 2, 0, -1}, HEED_SHAPE(2, 2)),
                        heed_from_f64((double[]){0, 1, 1, 0}, HEED_SHAPE(2, 2)),
                        heed_from_f64((double[]){1, 0, 2, -1}, HEED_SHAPE(2, 2))};
    heed_tensor *dy = heed_from_f64((double[]){1, 0, 0, -1, 2, 1}, HEED_SHAPE(1, 3, 2));
    check(x, W, false, dy);
    grade_case("the same with a causal mask");
    check(x, W, true, dy);
    heed_manual_seed(1);
    grade_size(2, 3, 4, 2, true);
    grade_size(2, 4, 2, 3, false);
    grade_size(3, 1, 3, 2, true); /* one token: dW_q and dW_k are 0 */
    for (int i = 0; i < 24; i++) {
        grade_size(1 + i % 3, 1 + i % 5, 1 + i % 7, 1 + i / 2 % 6, i % 4 < 2);
    }
}

const struct task task = {
    7,
    "attention, backward",
    {"Begin at the end. y = weights v is a matrix product, so dy gives the gradients of weights "
     "and of v; that of v leads to dW_v at once. Write the shape behind each tensor.",
     "The gradient of the weights goes through the softmax (task 6, along the keys), then through "
     "the division by sqrt(d_head), then through the product q k^T, whose second factor is "
     "transposed. For q = x W_q^T of one sequence, dW_q = dq^T x; then add up the sequences."},
    grade,
    {"The mask is part of the forward. Why need no line of the backward mention it?",
     "A sequence has one token. What are dW_q and dW_k, whatever dy is, and why?"}};
