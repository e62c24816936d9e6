/* Lesson 5: self-attention step by step, as a document builds it with numpy; then the gradients,
 * from which the weights learn.
 *
 *     build/lesson5_step_by_step
 *
 * The document draws its weights with np.random.randn and shows no numbers. The weights here are
 * those of torch.manual_seed(42) and torch.randn(d_model, d_k, dtype=torch.float64).
 *
 * Sources: "Lesson 6: Attention in Code, Step-by-Step", a page of a course on GitHub, without an
 * author; its next page is "The Feedforward Layer (Transformer Feedforward Module)". The formula is
 * from Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762, section 3.2.1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "heed.h"

static void show(const char *name, heed_tensor *t)
{
    printf("%s\n", name);
    heed_fprint(stdout, t, .precision = 8);
    printf("\n\n");
}

static void show_shape(const char *name, heed_tensor *t)
{
    printf("%s shape: %s\n", name, heed_shape_text(t->ndim, t->shape).text);
}

/* ---- Parts 1 to 5 ---- */

/* Input: 3 words, each with a 4-dimensional embedding. */
static heed_tensor *make_embeddings(void)
{
    return heed_from_f64((double[]){1, 0, 1, 0,  /* word 1 */
                                    0, 1, 0, 1,  /* word 2 */
                                    1, 1, 0, 0}, /* word 3 */
                         HEED_SHAPE(3, 4));
}

/* Part 4. exp may overflow; heed_softmax first subtracts the maximum of the row. */
static heed_tensor *softmax(heed_tensor *x)
{
    heed_tensor *e = heed_exp(x);
    return heed_div(e, heed_sum_dim(e, -1, true));
}

static heed_tensor *step_by_step(heed_tensor *embeddings, int64_t d_k)
{
    const int64_t d_model = heed_size(embeddings, 1);
    heed_tensor *W_Q = heed_randn(HEED_SHAPE(d_model, d_k), HEED_F64);
    heed_tensor *W_K = heed_randn(HEED_SHAPE(d_model, d_k), HEED_F64);
    heed_tensor *W_V = heed_randn(HEED_SHAPE(d_model, d_k), HEED_F64);
    printf("--- Part 1: Setup and Initialization\n\n");
    show_shape("Embeddings", embeddings);
    show_shape("W_Q", W_Q);
    show_shape("W_K", W_K);
    show_shape("W_V", W_V);

    heed_tensor *Q = heed_matmul(embeddings, W_Q);
    heed_tensor *K = heed_matmul(embeddings, W_K);
    heed_tensor *V = heed_matmul(embeddings, W_V);
    printf("\n--- Part 2: Creating Q, K, and V. Each row belongs to a word\n\n");
    show_shape("Q matrix", Q);
    show_shape("K matrix", K);
    show_shape("V matrix", V);

    heed_tensor *scores = heed_matmul(Q, heed_transpose(K, 0, 1));
    heed_tensor *scaled_scores = heed_div_scalar(scores, sqrt((double)d_k));
    printf("\n--- Part 3: Calculating Attention Scores\n\n");
    show_shape("Raw scores", scores);
    show("Scaled scores:", scaled_scores);

    heed_tensor *attention_weights = softmax(scaled_scores);
    printf("--- Part 4: Applying Softmax\n\n");
    show_shape("Attention weights", attention_weights);
    show("Attention weights (each row sums to 1):", attention_weights);

    heed_tensor *output = heed_matmul(attention_weights, V);
    printf("--- Part 5: Producing the Output\n\n");
    show_shape("Output", output);
    show("Final output of the attention layer:", output);
    return output;
}

/* ---- Putting It All Together ---- */

/* softmax(Q K^T / sqrt(d_k)) V for W = {W_Q, W_K, W_V}; also returns the attention weights. */
static heed_tensor *attend_weights(heed_tensor *const *W, heed_tensor *X,
                                   heed_tensor **attention_weights)
{
    heed_tensor *Q = heed_matmul(X, W[0]), *K = heed_matmul(X, W[1]), *V = heed_matmul(X, W[2]);
    heed_tensor *scores = heed_matmul(Q, heed_transpose(K, 0, 1));
    heed_tensor *scaled_scores = heed_div_scalar(scores, sqrt((double)heed_size(K, 1)));
    *attention_weights = heed_softmax(scaled_scores, -1);
    return heed_matmul(*attention_weights, V);
}

/* Returns only the output, with the signature that heed_gradcheck requires. X is the embeddings. */
static heed_tensor *attend(heed_tensor *const *W, void *X)
{
    heed_tensor *attention_weights;
    return attend_weights(W, X, &attention_weights);
}

/* The document's function, which draws the weights itself. Also returns them, so that they can be
 * trained. */
static heed_tensor *self_attention(heed_tensor *embeddings, int64_t d_k,
                                   heed_tensor **attention_weights, heed_tensor *W[3])
{
    const int64_t d_model = heed_size(embeddings, 1);
    for (int i = 0; i < 3; i++) {
        W[i] = heed_randn(HEED_SHAPE(d_model, d_k), HEED_F64);
        heed_set_requires_grad(W[i], true);
    }
    return attend_weights(W, embeddings, attention_weights);
}

/* ---- gradients, which the document leaves out ---- */

/* The distance of the output from a target: (1, 0, 0) for the first word, (0, 1, 0) for the second,
 * (0, 0, 1) for the third. */
static heed_tensor *loss_of(heed_tensor *output)
{
    return heed_mse_loss(output, heed_eye(3, 3, HEED_F64));
}

/* Compares the derivative of every output with respect to every weight with a finite difference. If
 * a derivative is wrong, even only in its sign or its sixth digit, the program ends with a message
 * that names it. */
static void check_gradients(heed_tensor *X, heed_tensor *W[3])
{
    const double atol = 1e-8, rtol = 1e-6;
    heed_gradcheck(attend, X, W, 3, .eps = 1e-6, .atol = atol, .rtol = rtol);
    const int64_t weights = W[0]->numel + W[1]->numel + W[2]->numel, outputs = 9;
    printf(
        "heed_gradcheck: %lld outputs by %lld weights, %lld derivatives; the differences are at\n"
        "most %g + %g of the derivative.\n\n",
        (long long)outputs, (long long)weights, (long long)(outputs * weights), atol, rtol);
}

static const char *yes_if_close(heed_tensor *a, heed_tensor *b)
{
    return heed_allclose(a, b, 0, 1e-12, false) ? "yes" : "no";
}

/* Computes what heed_backward computes, from the output back to the weights. If dY is the gradient
 * of Y = A B, that of A is dY B^T and that of B is A^T dY. */
static void derive_by_hand(heed_tensor *X, heed_tensor *W[3], heed_tensor *dY)
{
    const double scale = 1 / sqrt((double)heed_size(W[1], 1));
    heed_tensor *Q = heed_matmul(X, W[0]), *K = heed_matmul(X, W[1]), *V = heed_matmul(X, W[2]);
    heed_tensor *A =
        heed_softmax(heed_mul_scalar(heed_matmul(Q, heed_transpose(K, 0, 1)), scale), -1);
    heed_tensor *X_T = heed_transpose(X, 0, 1);

    heed_tensor *dW_V = heed_matmul(heed_transpose(heed_matmul(A, X), 0, 1), dY);
    /* softmax: dS = A * (dA - the mean of dA over the row, weighted by A) */
    heed_tensor *dA = heed_matmul(dY, heed_transpose(V, 0, 1));
    heed_tensor *average = heed_sum_dim(heed_mul(A, dA), -1, true);
    heed_tensor *dS = heed_mul(A, heed_sub(dA, average));
    heed_tensor *dQK = heed_mul_scalar(dS, scale); /* of Q K^T */
    heed_tensor *dW_Q = heed_matmul(X_T, heed_matmul(dQK, K));
    heed_tensor *dW_K = heed_matmul(X_T, heed_matmul(heed_transpose(dQK, 0, 1), Q));

    printf("By hand, with A the attention weights and S the scaled scores:\n");
    printf("  dW_V = (A X)^T dY                                same as heed_backward: %s\n",
           yes_if_close(dW_V, W[2]->grad));
    printf("  dA = dY V^T    dS = A * (dA - sum(A * dA))\n");
    printf("  dW_Q = X^T dS K / sqrt(d_k)                      same as heed_backward: %s\n",
           yes_if_close(dW_Q, W[0]->grad));
    printf("  dW_K = X^T dS^T Q / sqrt(d_k)                    same as heed_backward: %s\n\n",
           yes_if_close(dW_K, W[1]->grad));
}

int main(void)
{
    heed_on_error(heed_die);
    HEED_SCOPE(scope);
    printf("Self-attention as the document builds it, step by step; then the gradients.\n\n");
    heed_tensor *embeddings = make_embeddings();

    heed_manual_seed(42);
    heed_tensor *output = step_by_step(embeddings, 3);

    heed_tensor *W[3], *weights;
    heed_manual_seed(42);
    heed_tensor *final_output = self_attention(embeddings, 3, &weights, W);
    printf("--- Final Function Output ---\n\n");
    show("Final output:", heed_detach(final_output));
    show("Attention weights:", heed_detach(weights));
    printf("self_attention(embeddings, d_k=3) gives the same output: %s\n\n",
           yes_if_close(output, final_output));

    printf("--- Gradients, which the document leaves out\n\n");
    heed_retain_grad(final_output); /* like torch's retain_grad(): dY below */
    heed_tensor *loss = loss_of(final_output);
    heed_backward(loss);
    printf("loss %.8f\n\n", heed_item(loss));
    show("W_Q.grad", W[0]->grad);
    show("W_K.grad", W[1]->grad);
    show("W_V.grad", W[2]->grad);
    check_gradients(embeddings, W);
    derive_by_hand(embeddings, W, final_output->grad);

    for (int i = 0; i < 3; i++) {
        W[i] = heed_sub(W[i], heed_mul_scalar(W[i]->grad, 0.1));
    }
    printf("A small step against the gradients, W - 0.1 W.grad: loss %.8f\n",
           heed_item(loss_of(attend(W, embeddings))));
    return ferror(stdout) || fflush(stdout) != 0;
}
