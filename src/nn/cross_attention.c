/* CrossAttention: the struct begins with a SelfAttention, whose forward takes both inputs. */

#include "cross_attention.h"

#include "arguments.h"
#include "attention_head.h"

HEED_FORGET_WEIGHTS(forget_weights, struct heed_self_attention)

static const heed_module_kind cross_kind = {.name = "CrossAttention",
                                            .size = sizeof(struct heed_cross_attention),
                                            .destroy = forget_weights};

struct heed_cross_attention *heed_cross_attention_new(int64_t d_model)
{
    return heed_cross_attention_new_with(d_model, (heed_cross_attention_options){0});
}

struct heed_cross_attention *heed_cross_attention_new_with(int64_t d_model,
                                                           heed_cross_attention_options options)
{
    return heed_attention_head_new(&cross_kind, "cross_attention", d_model,
                                   options.kv_dim != 0 ? options.kv_dim : d_model, options.head_dim,
                                   -2, -1);
}

heed_tensor *heed_cross_attention_forward(struct heed_cross_attention *m,
                                          heed_tensor *encodings_for_q,
                                          heed_tensor *encodings_for_kv, heed_tensor *block_mask)
{
    return heed_cross_attention_forward_weights(m, encodings_for_q, encodings_for_kv, block_mask,
                                                NULL);
}

heed_tensor *heed_cross_attention_forward_weights(struct heed_cross_attention *m,
                                                  heed_tensor *encodings_for_q,
                                                  heed_tensor *encodings_for_kv,
                                                  heed_tensor *block_mask, heed_tensor **weights)
{
    const heed_head_names name = {"cross_attention_forward", "encodings_for_q", "encodings_for_kv"};
    return heed_attention_head_forward(name, m != NULL ? &m->head : NULL, encodings_for_q,
                                       encodings_for_kv, block_mask, weights);
}
