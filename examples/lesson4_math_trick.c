/* Lesson 4: the mathematical trick of self-attention.
 *
 *     build/lesson4_math_trick
 *
 * The mean of a token and all tokens before it can be computed by a loop, by one product with a
 * triangular matrix, or by a softmax over rows of zeros and -inf. The third way is the trick:
 * replace the zeros with numbers that depend on the tokens, and the mean becomes attention.
 *
 * The notebook sets no seed. PyTorch uses only 32 bits of a seed, so all 2^32 seeds were tried (two
 * minutes on one core). Only one gives the first five numbers of x, and it gives all the others
 * too.
 *
 * Sources: the notebook "Self Attention's Math Trick", without an author, cells [1] to [21]; [...]
 * below are its cell numbers. It follows "Let's build GPT: from scratch, in code, spelled out" by
 * Andrej Karpathy (https://www.youtube.com/watch?v=kCc8FmEb1nY). The scale is from Vaswani et al.,
 * "Attention Is All You Need", 2017, arXiv:1706.03762, section 3.2.1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "heed.h"

static const uint64_t notebooks_seed = 1679566660;

static void show(const char *name, heed_tensor *t)
{
    printf("\n%s\n", name);
    heed_print(t);
}

static void show_size(heed_tensor *t)
{
    printf("\ntorch.Size([");
    for (int i = 0; i < t->ndim; i++) {
        printf("%s%lld", i > 0 ? ", " : "", (long long)t->shape[i]);
    }
    printf("])\n");
}

static const char *allclose(heed_tensor *a, heed_tensor *b)
{
    return heed_allclose(a, b, 1e-5, 1e-8, false) ? "True" : "False"; /* torch's tolerances */
}

/* ---- the mean of all tokens so far, in three ways: x (B, T, C) -> (B, T, C) ---- */

/* [2] The definition, as a loop. */
static heed_tensor *mean_by_loop(heed_tensor *x)
{
    heed_tensor *xbow = heed_zeros_like(x);
    for (int64_t batch = 0; batch < heed_size(x, 0); batch++) {
        for (int64_t token = 0; token < heed_size(x, 1); token++) {
            heed_tensor *token_sub_sequence =
                heed_slice(heed_select(x, 0, batch), 0, 0, token + 1, 1);
            heed_copy_into(heed_select(heed_select(xbow, 0, batch), 0, token),
                           heed_mean_dim(token_sub_sequence, 0, false));
        }
    }
    show("[2] xbow, by a loop", xbow);
    return xbow;
}

/* [3], [4] Row t of the weights is 1 / (t + 1) up to the diagonal and 0 after it. The (T, T)
 * weights broadcast over the batch. */
static heed_tensor *mean_by_matrix(heed_tensor *x)
{
    const int64_t T = heed_size(x, 1);
    heed_tensor *weights = heed_tril(heed_ones(HEED_SHAPE(T, T), HEED_F32), 0);
    weights = heed_div(weights, heed_sum_dim(weights, 1, true));
    show("[3] weights = tril / sum(tril, 1)", weights);
    heed_tensor *mean = heed_matmul(weights, x);
    show("[4] weights @ x", mean);
    return mean;
}

/* [6] e^0 is 1 and e^-inf is 0, so softmax turns zeros and -inf into the same weights. Equal scores
 * give equal weights; attention will replace the zeros with scores that differ. */
static heed_tensor *mean_by_softmax(heed_tensor *x)
{
    const int64_t T = heed_size(x, 1);
    heed_tensor *tril = heed_tril(heed_ones(HEED_SHAPE(T, T), HEED_F32), 0);
    show("[6] tril", tril);
    heed_tensor *weights = heed_zeros(HEED_SHAPE(T, T), HEED_F32);
    weights = heed_masked_fill(weights, heed_eq_scalar(tril, 0), -(double)INFINITY);
    show("[6] weights = masked_fill(zeros, tril == 0, -inf)", weights);
    weights = heed_softmax(weights, -1);
    show("[6] weights = softmax(weights, dim=-1)", weights);
    heed_tensor *mean = heed_matmul(weights, x);
    show("[6] softmaxBowWOW = weights @ x", mean);
    return mean;
}

/* ---- a head ---- */

enum { B = 4, T = 8, C = 32, HEAD_SIZE = 16 };

struct head {
    heed_tensor *x;                          /* (B, T, C) */
    struct heed_linear *key, *query, *value; /* (..., C) -> (..., HEAD_SIZE) */
};

/* (B, T, T): the dot product of each query with each key, times scale. */
static heed_tensor *scores(const struct head *h, double scale)
{
    heed_tensor *K = heed_linear_forward(h->key, h->x);   /* (B, T, HEAD_SIZE) */
    heed_tensor *Q = heed_linear_forward(h->query, h->x); /* (B, T, HEAD_SIZE) */
    return heed_mul_scalar(heed_matmul(Q, heed_transpose(K, -2, -1)), scale);
}

/* The softmax of [6], with scores instead of zeros. */
static heed_tensor *attention(const struct head *h, double scale)
{
    heed_tensor *blocked = heed_causal_block_mask(T); /* tril == 0 */
    return heed_softmax(heed_masked_fill(scores(h, scale), blocked, -(double)INFINITY), -1);
}

/* [21] Judging by its number, this is the 15th run of the cell, after [7] to [20]. Each run draws
 * x, key and query. The first 14 runs draw exactly as many numbers as lie between the x of [1] and
 * the one shown. */
static struct head draw_head(void)
{
    struct head h = {.x = NULL};
    for (int run = 7; run <= 21; run++) {
        heed_module_free(h.key);
        heed_module_free(h.query);
        h.x = heed_randn(HEED_SHAPE(B, T, C), HEED_F32);
        h.key = heed_linear_new(C, HEAD_SIZE, .no_bias = true);
        h.query = heed_linear_new(C, HEAD_SIZE, .no_bias = true);
    }
    h.value = heed_linear_new(C, HEAD_SIZE, .no_bias = true);
    return h;
}

static void show_head(const struct head *h, double scale)
{
    printf("\n[21] A single head: x %s, key, query and value Linear(%d, %d, bias=False).\n"
           "The notebook's output is weights @ x, from a run before the scale was added:\n",
           heed_shape_text(h->x->ndim, h->x->shape).text, C, HEAD_SIZE);
    heed_tensor *blend = heed_matmul(attention(h, 1), h->x);
    show_size(blend);
    show("[21] weights @ x, without head_size ** -0.5", blend);

    heed_tensor *V = heed_linear_forward(h->value, h->x);
    heed_tensor *out = heed_matmul(attention(h, scale), V);
    printf("\nThe final version of the cell scales, and multiplies by V: out = weights @ V has "
           "shape %s.\n",
           heed_shape_text(out->ndim, out->shape).text);
    show("out[0], the first two tokens", heed_slice(heed_select(out, 0, 0), 0, 0, 2, 1));
}

/* The weights of the first element of the batch, in percent. */
static void show_map(const char *title, heed_tensor *weights)
{
    static const char *const tokens[T] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    printf("\n%s\n", title);
    heed_heat_map(stdout, heed_select(weights, 0, 0), tokens, tokens, HEED_COLOR_AUTO);
}

/* ---- why head_size ** -0.5 ---- */

static double var(heed_tensor *x)
{
    heed_tensor *squares = heed_square(heed_sub(x, heed_mean(x)));
    return heed_item(heed_sum(squares)) / (double)(x->numel - 1);
}

/* The largest weight of each row, averaged over all rows. */
static double sharpness(heed_tensor *weights)
{
    return heed_item(heed_mean(heed_amax_dim(weights, -1, false)));
}

/* A score is a sum of head_size products. If the factors have variance 1, each product has variance
 * 1 and the sum has variance head_size. The larger the scores, the more weight goes to one token:
 * softmax approaches one-hot rows, through which almost no gradient passes. */
static void show_variance(void)
{
    printf("\nWhy head_size ** -0.5: queries and keys with variance 1, and 8 weights per row\n\n"
           "             variance of             largest weight of a row\n"
           "  head_size  q @ k.T    scaled       of q @ k.T    scaled\n");
    for (int64_t head_size = 4; head_size <= 256; head_size *= 4) {
        heed_tensor *q = heed_randn(HEED_SHAPE(1024, T, head_size), HEED_F32);
        heed_tensor *k = heed_randn(HEED_SHAPE(1024, T, head_size), HEED_F32);
        heed_tensor *products = heed_matmul(q, heed_transpose(k, -2, -1));
        heed_tensor *scaled = heed_mul_scalar(products, pow((double)head_size, -0.5));
        printf("%11lld %8.1f %9.2f %16.2f %9.2f\n", (long long)head_size, var(products),
               var(scaled), sharpness(heed_softmax(products, -1)),
               sharpness(heed_softmax(scaled, -1)));
    }
}

int main(void)
{
    heed_on_error(heed_die);
    HEED_SCOPE(scope);

    printf("The notebook's cells in C: the mean of all tokens so far in three ways, and a head.\n");
    heed_manual_seed(notebooks_seed);
    heed_tensor *x = heed_rand(HEED_SHAPE(4, 8, 2), HEED_F32);
    show_size(x);
    show("[1] x = torch.rand(B, T, C)", x);
    heed_tensor *xbow = mean_by_loop(x), *by_matrix = mean_by_matrix(x);
    printf("\n[5] allclose(xbow, weights @ x): %s\n", allclose(xbow, by_matrix));
    heed_tensor *by_softmax = mean_by_softmax(x);
    printf("\nallclose(xbow, softmaxBowWOW): %s\n", allclose(xbow, by_softmax));
    printf("allclose(weights @ x, softmaxBowWOW): %s\n", allclose(by_matrix, by_softmax));

    struct head h = draw_head();
    const double scale = pow(HEAD_SIZE, -0.5);
    show_head(&h, scale);
    printf("\nThe variance of query @ key.T is %.2f; with the scale it is %.2f.\n",
           var(scores(&h, 1)), var(scores(&h, scale)));
    show_map("Without the scale (rows attend to columns, in percent)", attention(&h, 1));
    show_map("With the scale: the weights are more even", attention(&h, scale));
    show_variance();

    heed_module_free(h.key);
    heed_module_free(h.query);
    heed_module_free(h.value);
    return ferror(stdout) || fflush(stdout) != 0;
}
