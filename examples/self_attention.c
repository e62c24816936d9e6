/* The SelfAttention class from a PyTorch tutorial, in C: the same seed gives the same weights and
 * the same output. Prints every step of the forward pass, then the gradients of sum(output^2).
 *
 *     torch.manual_seed(42)
 *     self_attention = SelfAttention(d_model=2, row_dim=0, col_dim=1)
 *     self_attention(encodings_matrix)
 *
 * Source: "Coding Self-Attention in PyTorch", a lesson of "Attention in Transformers: Concepts and
 * Code in PyTorch" by Josh Starmer (StatQuest, DeepLearning.AI). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "heed.h"

static void show(const char *name, heed_tensor *t)
{
    printf("\n%s\n", name);
    heed_print(t);
}

/* Prints three digits: in f32 the fourth depends on the machine's order of summation. */
static void show_gradient(const char *name, heed_tensor *t)
{
    printf("\n%s\n", name);
    heed_fprint(stdout, t, .precision = 3);
    putchar('\n');
}

/* SelfAttention.forward, printing each step. */
static void show_steps(struct heed_self_attention *m, heed_tensor *token_encodings)
{
    heed_tensor *q = heed_linear_forward(m->W_q, token_encodings);
    heed_tensor *k = heed_linear_forward(m->W_k, token_encodings);
    heed_tensor *v = heed_linear_forward(m->W_v, token_encodings);

    heed_tensor *sims = heed_matmul(q, heed_transpose(k, m->row_dim, m->col_dim));
    heed_tensor *scaled_sims = heed_div_scalar(sims, sqrt((double)heed_size(k, m->col_dim)));
    heed_tensor *attention_percent = heed_softmax(scaled_sims, m->col_dim);

    show("q = W_q(token_encodings)", q);
    show("k = W_k(token_encodings)", k);
    show("v = W_v(token_encodings)", v);
    show("sims = q @ k.T", sims);
    show("scaled_sims = sims / sqrt(d_k)", scaled_sims);
    show("attention_percent = softmax(scaled_sims)", attention_percent);
    show("attention_scores = attention_percent @ v", heed_matmul(attention_percent, v));
}

int main(void)
{
    heed_on_error(heed_die);
    HEED_SCOPE(scope);

    heed_tensor *encodings_matrix =
        heed_from_f32((float[]){1.16f, 0.23f, 0.57f, 1.36f, 4.41f, -2.16f}, HEED_SHAPE(3, 2));
    heed_set_requires_grad(encodings_matrix, true);

    heed_manual_seed(42);
    struct heed_self_attention *self_attention = heed_self_attention_new(2, 0, 1);
    heed_module_print(stdout, self_attention);
    show("W_q.weight transposed", heed_transpose(self_attention->W_q->weight, 0, 1));
    show("W_k.weight transposed", heed_transpose(self_attention->W_k->weight, 0, 1));
    show("W_v.weight transposed", heed_transpose(self_attention->W_v->weight, 0, 1));
    show_steps(self_attention, encodings_matrix);

    heed_tensor *output = heed_self_attention_forward(self_attention, encodings_matrix, NULL);
    show("self_attention(encodings_matrix)", output);
    show("masked: each token attends only to itself and the tokens before it",
         heed_self_attention_forward(self_attention, encodings_matrix, heed_causal_block_mask(3)));

    heed_backward(heed_sum(heed_mul(output, output)));
    show_gradient("W_q.weight.grad of sum(output^2)", self_attention->W_q->weight->grad);
    show_gradient("W_k.weight.grad", self_attention->W_k->weight->grad);
    show_gradient("W_v.weight.grad", self_attention->W_v->weight->grad);
    show_gradient("encodings_matrix.grad", encodings_matrix->grad);

    heed_module_free(self_attention);
    return ferror(stdout) || fflush(stdout) != 0;
}
