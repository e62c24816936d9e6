/* Gradient checks: compares first and second derivatives with finite differences, in f64, of some
 * operations, of attention, and of a loss. */
#include <math.h>
#include <stdio.h>

#include "heed.h"

static heed_tensor *softmax(heed_tensor *const *in, void *context)
{
    (void)context;
    return heed_softmax(in[0], -1);
}

static heed_tensor *matmul(heed_tensor *const *in, void *context)
{
    (void)context;
    return heed_matmul(in[0], heed_transpose(in[1], -2, -1));
}

static heed_tensor *gelu(heed_tensor *const *in, void *context)
{
    (void)context;
    return heed_gelu(heed_add(in[0], heed_mul(in[0], in[1])));
}

/* The class with weights that are inputs, so that their derivatives are checked too. */
static heed_tensor *attention(heed_tensor *const *in, void *context)
{
    (void)context;
    heed_tensor *q = heed_linear(in[0], in[1], NULL);
    heed_tensor *k = heed_linear(in[0], in[2], NULL);
    heed_tensor *v = heed_linear(in[0], in[3], NULL);
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, -2, -1));
    heed_tensor *mask = heed_causal_block_mask(heed_size(scores, -1));
    scores = heed_masked_fill(heed_div_scalar(scores, sqrt((double)heed_size(k, -1))), mask,
                              (double)-INFINITY);
    return heed_matmul(heed_softmax(scores, -1), v);
}

static heed_tensor *class(heed_tensor *const *in, void *context)
{
    heed_tensor *mask = heed_causal_block_mask(heed_size(in[0], -2));
    return heed_self_attention_forward(context, in[0], mask);
}

static heed_tensor *loss(heed_tensor *const *in, void *context)
{
    heed_tensor *targets = heed_from_i64((int64_t[]){3, 0, 1}, HEED_SHAPE(3));
    return heed_cross_entropy(attention(in, context), targets);
}

static void check(const char *name, heed_function *f, void *context, heed_tensor **in, int count)
{
    HEED_SCOPE(scope);
    heed_gradcheck(f, context, in, count);
    heed_gradgradcheck(f, context, in, count);
    printf("%-10s first and second derivatives agree\n", name);
}

int main(void)
{
    heed_on_error(heed_die); /* ends the program at the first derivative that differs */
    heed_manual_seed(42);
    HEED_SCOPE(scope);
    struct heed_self_attention *m = heed_self_attention_new(4, -2, -1);
    heed_module_to(&m->module, HEED_F64);
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(3, 4), HEED_F64), true);
    heed_tensor *in[] = {x, m->W_q->weight, m->W_k->weight, m->W_v->weight};
    heed_tensor *two[] = {x, heed_set_requires_grad(heed_ones(HEED_SHAPE(4), HEED_F64), true)};

    check("softmax", softmax, NULL, in, 1);
    check("matmul", matmul, NULL, in, 2);
    check("gelu", gelu, NULL, two, 2);
    check("attention", attention, NULL, in, 4);
    check("class", class, m, in, 1);
    check("loss", loss, NULL, in, 4);
    return heed_module_free(m) != HEED_OK || fflush(stdout) != 0;
}
