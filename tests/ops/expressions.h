/* Helpers for the expressions of rows, included by table.c alone. */
#ifndef HEED_TESTS_OPS_EXPRESSIONS_H
#define HEED_TESTS_OPS_EXPRESSIONS_H

#include <math.h>
#include <string.h>

#include "heed.h"

/* ---- the generator, as torch.get_rng_state().view(torch.int64) ---- */

static heed_tensor *torch_state(void)
{
    const heed_generator g = heed_get_generator();
    const bool fresh = g.next == 624 && g.state[0] == (uint32_t)g.seed;
    int64_t to[632] = {(int64_t)g.seed, (fresh ? 1 : 625 - g.next) | INT64_C(1) << 32,
                       fresh ? 0 : g.next};
    for (int i = 0; i < 624; i++) {
        to[3 + i] = g.state[i];
    }
    memcpy(&to[628], &(double){g.has_normal ? g.normal : 0}, sizeof to[628]);
    to[630] = g.has_normal;
    return heed_from_i64(to, HEED_SHAPE(632));
}

/* ---- views, so that gradients pass through them ---- */

static heed_tensor *turned(heed_tensor *x)
{
    return heed_transpose(x, -2, -1);
}

static heed_tensor *by_f32(heed_tensor *x)
{
    return heed_to(heed_to(x, HEED_F32), HEED_F64);
}

/* ---- joining and splitting ---- */

static heed_tensor *cat(heed_tensor *a, heed_tensor *b, heed_tensor *c, int dim)
{
    return heed_cat((heed_tensor *[]){a, b, c}, c == NULL ? 2 : 3, dim);
}

static heed_tensor *stack(heed_tensor *a, heed_tensor *b, int dim)
{
    return heed_stack((heed_tensor *[]){a, b}, b == NULL ? 1 : 2, dim);
}

static heed_tensor *chunk_part(heed_tensor *x, int chunks, int dim, int i)
{
    heed_tensor *parts[4];
    heed_chunk(x, chunks, dim, parts);
    return parts[i];
}

/* Concatenates the parts in reverse order without the first, which gets no gradient. */
static heed_tensor *join_parts(heed_tensor **parts, int count, int dim)
{
    heed_tensor *turned[4];
    for (int i = 1; i < count; i++) {
        turned[i - 1] = parts[count - i];
    }
    return count > 1 ? heed_cat(turned, count - 1, dim) : parts[0];
}

static heed_tensor *chunk(heed_tensor *x, int chunks, int dim)
{
    heed_tensor *parts[4];
    return join_parts(parts, heed_chunk(x, chunks, dim, parts), dim);
}

/* The product of all chunks, which have equal sizes: curved in each. */
static heed_tensor *product_of_chunks(heed_tensor *x, int chunks, int dim)
{
    heed_tensor *parts[4], *y = NULL;
    const int count = heed_chunk(x, chunks, dim, parts);
    for (int i = 0; i < count; i++) {
        y = i == 0 ? parts[0] : heed_mul(y, parts[i]);
    }
    return y;
}

/* ---- attention ---- */

/* Each head of t (heads, T, d) twice, for two heads of q that share it. */
static heed_tensor *doubled_heads(heed_tensor *t)
{
    const heed_shape shape = HEED_SHAPE(heed_size(t, 0), 2, heed_size(t, 1), heed_size(t, 2));
    return heed_flatten(heed_expand(heed_unsqueeze(t, 1), shape), 0, 1);
}

/* bool (3, 3), true above the diagonal. */
static heed_tensor *above_diagonal(void)
{
    const bool mask[] = {false, true, true, false, false, true, false, false, false};
    return heed_from_bool(mask, HEED_SHAPE(3, 3));
}

static heed_tensor *causal(heed_tensor *x)
{
    return heed_masked_fill(x, above_diagonal(), -HUGE_VAL);
}

static heed_tensor *attention(heed_tensor *q, heed_tensor *k, heed_tensor *v)
{
    heed_tensor *sims = heed_matmul(q, heed_transpose(k, -2, -1));
    heed_tensor *scaled = heed_div_scalar(sims, sqrt((double)heed_size(k, -1)));
    return heed_matmul(heed_softmax(scaled, -1), v);
}

/* (rows, columns), partly true; row 1 is all false. */
static heed_tensor *keep_some(int64_t rows, int64_t columns)
{
    heed_tensor *mask = heed_zeros(HEED_SHAPE(rows, columns), HEED_BOOL);
    bool *keep = heed_data_bool(mask);
    for (int64_t i = 0; keep != NULL && i < rows * columns; i++) {
        keep[i] = i / columns != 1 && (i / columns + i % columns) % 3 != 0;
    }
    return mask;
}

/* Float mask (3, n) whose row 1 is all -inf. */
static heed_tensor *with_closed_row(heed_tensor *bias)
{
    const bool row[] = {false, true, false};
    return heed_masked_fill(bias, heed_from_bool(row, HEED_SHAPE(3, 1)), -HUGE_VAL);
}

/* Result and weights, concatenated. */
static heed_tensor *with_weights(heed_tensor *q, heed_tensor *k, heed_tensor *v, heed_tensor *mask,
                                 double dropout_p)
{
    heed_tensor *weights,
        *y = heed_scaled_dot_product_attention(q, k, v, mask, dropout_p, false, 0, &weights);
    return heed_cat((heed_tensor *[]){y, weights}, 2, -1);
}

static heed_tensor *weights_alone(heed_tensor *q, heed_tensor *k, heed_tensor *mask)
{
    heed_tensor *weights;
    heed_scaled_dot_product_attention(q, k, k, mask, 0, false, 0, &weights);
    return weights;
}

#endif
