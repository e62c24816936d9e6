/* Shared by the tests of nn.MultiheadAttention: a small module and its inputs. */
#ifndef HEED_TESTS_MULTIHEAD_UTIL_H
#define HEED_TESTS_MULTIHEAD_UTIL_H

#include "tests/common/test_util.h"

static const heed_multihead_attention_forward_options no_masks = {0};

static inline heed_tensor *randn(heed_shape shape)
{
    return heed_set_requires_grad(heed_randn(shape, HEED_F32), true);
}

/* embed_dim 4, 2 heads, kdim 3, vdim 5; 3 sequences of 4 queries and 6 keys. */
enum { BATCH = 3, L = 4, S = 6, WIDTH = 4, HEADS = 2 };

typedef struct attention {
    struct heed_multihead_attention *m;
    heed_tensor *in[3];
} attention;

static inline attention begin(heed_multihead_attention_options options)
{
    options.kdim = 3;
    options.vdim = 5;
    heed_manual_seed(8);
    attention a = {.m = heed_multihead_attention_new_with(WIDTH, HEADS, options)};
    heed_tensor_list list = heed_parameters(a.m);
    for (int i = 0; i < list.count; i++) {
        heed_normal_into(list.tensors[i], 0, 0.7); /* biases too, which start at 0 */
    }
    const int64_t sizes[] = {WIDTH, 3, 5};
    for (int i = 0; i < 3; i++) {
        const int64_t length = i == 0 ? L : S;
        a.in[i] = randn(options.batch_first ? HEED_SHAPE(BATCH, length, sizes[i])
                                            : HEED_SHAPE(length, BATCH, sizes[i]));
    }
    return a;
}

static inline heed_tensor *forward(const attention *a,
                                   heed_multihead_attention_forward_options options)
{
    return heed_multihead_attention_forward_with(a->m, a->in[0], a->in[1], a->in[2], options);
}

static inline heed_tensor *weights_of(const attention *a,
                                      heed_multihead_attention_forward_options options)
{
    heed_tensor *weights;
    heed_multihead_attention_forward_weights_with(a->m, a->in[0], a->in[1], a->in[2], &weights,
                                                  options);
    return weights;
}

static inline void end(const attention *a)
{
    heed_module_free(a->m);
}

#endif
