/* Grades task 7: backward through one head of attention. */
#define GRADER
#include "task7.h"

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
                   (long long)shape.size[1], grade_sentence("transposed weight"));
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
    char text[200];
    for (int i = 0; i < 3; i++) { /* before other tensors take the place of a freed one */
        if (field(yours, i) != NULL || heed_error_pending() != HEED_OK) {
            grade_answered(names[i], field(yours, i));
        }
    }
    heed_tensor *const given[] = {h->x, h->q, h->k, h->v, h->weights, h->y, dy};
    static const char *const given_names[] = {"x", "q", "k", "v", "weights", "y", "dy"};
    for (int i = 0; i < 7; i++) {
        grade_let(given_names[i], given[i]);
    }
    grade_let_number("T", (double)heed_size(h->x, 1));
    grade_let_number("d_model", (double)heed_size(h->x, 2));
    grade_let_number("d_head", (double)heed_size(h->q, 2));
    for (int i = 0; i < 3; i++) {
        if (field(yours, i) == NULL) {
            if (yours->W_q == NULL && yours->W_k == NULL && yours->W_v == NULL) {
                grade_not_begun("dW_q, dW_k and dW_v are NULL.");
            }
            grade_fail("%s is still NULL.%s", names[i],
                       i == 0 ? " Begin with it: it is the shortest way." : " dW_v is right.");
        }
        struct mistake *mistakes = grade_mistakes("backward", "dW");
        for (struct mistake *m = mistakes; m->why != NULL; m++) {
            m->result = m->result != NULL ? heed_select(m->result, 0, i) : NULL;
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

const struct task task = {7, grade};
